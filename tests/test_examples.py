"""The scripts of ``examples/`` run as their first lines say."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from example_scripts import FOLDER


def _run(script: str, *arguments: str | Path, site: str = "") -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, str(FOLDER / script), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PATH": path, "OMP_NUM_THREADS": "1", "PYTHONPATH": _search_path(site)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def _search_path(site: str) -> str:
    """``PYTHONPATH`` with another folder at its end."""
    return os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH", ""), site]))


def test_digits(tmp_path: Path) -> None:
    """The demo, with fewer epochs and fewer digits judged."""
    pytest.importorskip("arm_runtime", reason="the demo runs its programs: nox builds arm-runtime-cpp")
    out = tmp_path / "with a space"
    printed = _run("digits.py", "--out", out, "--epochs", "3", "--judged", "60")
    rows = {row["target"]: row for row in json.loads((out / "results.json").read_text())}
    assert list(rows) == ["tosa", "ethos-u55-128", "ethos-u85-256", "vgf"]
    for target, row in rows.items():
        assert target in printed
        assert row["delegated"] > 5 and row["on_cpu"] == 0
        assert row["top1_float"] > 90
        assert abs(row["top1_reference"] - row["top1_float"]) < 5
        if target == "tosa":
            assert row["top1_run"] is None
        else:
            assert row["top1_run"] == row["top1_reference"] and row["same_scores"]
        assert (row["cycles"] is not None) == (row["sram_kib"] is not None) == target.startswith("ethos")
        assert row["pte_bytes"] == (out / target / "digits.pte").stat().st_size
        assert [path.parent.name for path in (out / target).rglob(f"{target}.tosa")] == ["delegate_0"]
    assert list((out / "vgf").rglob("*.vgf"))
    assert str(out) in printed
    if shutil.which("qemu-system-arm") and shutil.which("arm-none-eabi-g++"):
        top1 = rows["ethos-u55-128"]["top1_run"]
        words = " ".join(printed.split())
        assert re.search(
            rf"in QEMU: top-1 {top1:.1f} %, scores equal to those of digits.pte\. ELF: [\d,]+ bytes", words
        )
    else:
        assert "Firmware was not built: " in printed


def test_spoken_word(tmp_path: Path) -> None:
    """Words of voices that the training did not have, read from .wav files by the firmware."""
    pytest.importorskip("arm_runtime", reason="the example runs firmware: nox builds arm-runtime-cpp")
    if not (shutil.which("qemu-system-arm") and shutil.which("arm-none-eabi-g++")):
        pytest.skip("apt-get install gcc-arm-none-eabi libstdc++-arm-none-eabi-newlib qemu-system-arm")
    printed = _run("spoken_word.py", "--out", tmp_path, "--voices", "40")
    heard = re.findall(r"^said (\w+), heard (\w+)$", printed, re.MULTILINE)
    assert len({said for said, _ in heard}) == 5 and sum(said == word for said, word in heard) >= 4, printed


def test_ethosu_flow(tmp_path: Path) -> None:
    from arm_tosa_core.exir.pte import delegates

    _run("ethosu_flow.py", tmp_path / "model.pte")
    (delegate,) = delegates((tmp_path / "model.pte").read_bytes())
    assert delegate.backend_id == "EthosUBackend"
    assert delegate.payload.startswith(b"vela_bin_stream")


def test_vgf_flow(tmp_path: Path) -> None:
    from arm_tosa_core.exir.pte import delegates

    _run("vgf_flow.py", tmp_path / "model.pte", tmp_path / "model.vgf")
    (delegate,) = delegates((tmp_path / "model.pte").read_bytes())
    assert delegate.backend_id == "VgfBackend"
    assert (tmp_path / "model.vgf").read_bytes() == delegate.payload


def test_upscaled_frames(tmp_path: Path) -> None:
    """Shorter, and better than bilinear all the same."""
    pytest.importorskip("arm_runtime", reason="the example runs its VGF: nox builds arm-runtime-cpp")
    printed = _run("upscaled_frames.py", "--out", tmp_path, "--steps", "40", "--frames", "8")
    found = re.search(r"bilinear ([\d.]+) dB, ours ([\d.]+) dB", printed)
    assert found, printed
    assert float(found[2]) > float(found[1]) + 1
    assert (tmp_path / "frames.png").read_bytes().startswith(b"\x89PNG")


def test_vulkan_frame(tmp_path: Path) -> None:
    """Its pictures are those that a session makes of the same scene; those of two queues are the same bytes."""
    arm_runtime = pytest.importorskip("arm_runtime", reason="the example links its library: nox builds arm-runtime-cpp")
    if shutil.which("c++") is None or not Path("/usr/include/vulkan/vulkan_raii.hpp").is_file():
        pytest.skip("apt-get install g++ libvulkan-dev")
    _run("vulkan_frame/network.py", "--width", "64", "--height", "36", "--steps", "20", "--out", tmp_path / "a.vgf")
    cmake, renderer = str(Path(sys.executable).with_name("cmake")), tmp_path / "build" / "vulkan_frame"
    glslang, package = Path(sys.executable).with_name("glslangValidator"), arm_runtime.FOLDER / "lib/cmake/arm_vgf"
    settings = (f"-Darm_vgf_DIR={package}", f"-DGLSLANG={glslang}", "-DCMAKE_COMPILE_WARNING_AS_ERROR=ON")
    checks = "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT"
    (tmp_path / "vk_layer_settings.txt").write_text(f"khronos_validation.enables = {checks}\n")
    layers = Path("/usr/share/vulkan/explicit_layer.d")
    watched = {"VK_LAYER_PATH": str(layers), "VK_LAYER_SETTINGS_PATH": str(tmp_path)}
    if (layers / "VkLayer_khronos_validation.json").is_file():
        watched["VK_INSTANCE_LAYERS"] = "VK_LAYER_KHRONOS_validation"
    for step in (
        [cmake, "-S", str(FOLDER / "vulkan_frame"), "-B", str(tmp_path / "build"), *settings],
        [cmake, "--build", str(tmp_path / "build")],
        [str(renderer), str(tmp_path / "a.vgf"), "5", str(tmp_path / "out")],
        [str(renderer), str(tmp_path / "a.vgf"), "5", str(tmp_path / "apart"), "--async"],
    ):
        env = os.environ | watched
        done = subprocess.run(step, env=env, capture_output=True, text=True, timeout=300, check=False)
        said = done.stdout + done.stderr
        assert done.returncode == 0 and "VUID" not in said and "SYNC-HAZARD" not in said, said[-3000:]
    assert "64 x 36 to 128 x 72" in done.stdout
    assert re.search(r"5 frames, ms .*\n.*\nscene +[\d.]+ +[\d.]+\nnetwork +[\d.]+ +[\d.]+\ncopy ", done.stdout)
    made = runpy.run_path(str(FOLDER / "vulkan_frame" / "network.py"))
    program = (tmp_path / "a.vgf").read_bytes()
    history = np.zeros((1, 4, 72, 128), np.float32)
    for number in range(5):
        shift = made["jitter"](number, 64, 36)
        color, motion = made["scene"](64, 36, made["STEP"] * number, shift)
        given = [color.half().float().numpy(), motion.half().float().numpy(), shift.numpy(), history]
        (history,) = import_module("arm_runtime.vgf").run(program, given)
        written = (tmp_path / f"out_{number:04d}.ppm").read_bytes()
        assert written == (tmp_path / f"apart_{number:04d}.ppm").read_bytes()
        header, texels = written.split(b"\n255\n", 1)
        assert header == b"P6\n128 72"
        picture = np.frombuffer(texels, np.uint8).reshape(72, 128, 3) / 255
        # All but a few texels at edges, where two ways of rounding decide for another.
        away = np.abs(picture - history[0, :3].clip(0, 1).transpose(1, 2, 0))
        assert np.quantile(away, 0.97) < 0.01


def test_the_page_of_the_renderer_shows_code_of_the_example() -> None:
    """What it says of timeline semaphores is compiled and run: by the test above."""

    def lines(text: str) -> str:
        return "\n".join(line.strip() for line in text.strip().splitlines())

    page = (FOLDER.parent / "docs" / "how-to" / "vgf-in-your-renderer.md").read_text()
    section = page.partition("\n### A queue for the network\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```cpp\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    code = lines((FOLDER / "vulkan_frame" / "main.cpp").read_text())
    assert len(blocks) == 3 and all(lines(block) in code for block in blocks)


#: What each example must print, least SQNR in dB, and how many of its decisions must be as in float or right.
TRAINED = {
    "picture.py": (["chelsea.png: Egyptian cat", "coffee.png: espresso"], 20, (3, 3)),
    "pitch.py": (["sung A4, heard 68.99"], 12, (8, 8)),
    "face.py": (["astronaut.png: a face", "left eye at 203, 100", "50 of 50 faces and 0 of 50"], 35, (99, 100)),
    "voice_activity.py": (["0.00 to  6.75 s: silence", "6.75 to  7."], 15, (430, 437)),
    "text_line.py": (["read as 'invoice 2026-11-25 '", "read as 'Speed limit 60 km/h '"], 8, (140, 160)),
}


@pytest.mark.parametrize("script", TRAINED)
def test_trained_network(script: str) -> None:
    pytest.importorskip("arm_runtime", reason="the example runs its program: nox builds arm-runtime-cpp")
    site = os.environ.get("EXAMPLES_SITE")
    if site is None:
        pytest.skip("no packages of the examples: set EXAMPLES_SITE to where examples/requirements.txt is installed")
    found, least_db, (right, count) = TRAINED[script]
    printed = _run(script, site=site)
    for text in found:
        assert text in printed
    decisions = re.search(r"(\d+) of (\d+) (?:frames |places |notes |decisions )?(?:as in float|right)", printed)
    assert decisions is not None and int(decisions[1]) >= right and int(decisions[2]) == count
    assert float(re.search(r"SQNR ([\d.]+) dB", printed)[1]) > least_db  # type: ignore[index]
    assert "0 operators on the CPU" in printed


def test_language_model(tmp_path: Path) -> None:
    """With few steps, after which it writes next to nothing."""
    pytest.importorskip("arm_runtime", reason="the example runs its program: nox builds arm-runtime-cpp")
    printed = _run("language_model.py", "--steps", "5", "--out", tmp_path / "lm")
    assert "decode: 1 delegates, 0 operators on the CPU" in printed and "\nThe statement " in printed
    assert (tmp_path / "lm" / "lm.pte").stat().st_size > 100_000
    assert json.loads((tmp_path / "lm" / "tokenizer.json").read_text())["model"]["type"] == "BPE"
