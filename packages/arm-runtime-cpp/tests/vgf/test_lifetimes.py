"""What a Vulkan loader in front of the real one counts: errors leak no instance and no device, users share one of each,
and runs of other sizes neither allocate memory nor compile pipelines."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sized_operators import ROWS
from test_sizes import sized_vgf
from test_unknown_sizes import said, unknown
from vgf_files import Load, graph_vgf

from arm_tosa_core.tosa.ir import DType

Watch = Callable[..., tuple["subprocess.CompletedProcess[str]", Counter[str]]]


@pytest.fixture
def watch(vgf: Any, cmake_build: Callable[..., Path]) -> Watch:
    """Runs Python code in a process of its own, with a VGF at hand; counts what was made and destroyed."""
    data = graph_vgf("ABS", DType.INT32, 4)
    ctypes.CDLL("libvulkan.so.1")  # the dynamic linker knows where it is
    paths = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines()}
    (real,) = (path for path in paths if Path(path).name.startswith("libvulkan.so.1"))
    loader = cmake_build("host", "vgf_watched_loader") / "tests" / "vgf" / "watched_loader"

    def run(code: str, **env: str) -> tuple[subprocess.CompletedProcess[str], Counter[str]]:
        libraries = os.pathsep.join(filter(None, (str(loader), os.environ.get("LD_LIBRARY_PATH"))))
        given = {**os.environ, "ARM_VGF_DEVICE": "", "WATCHED_LOADER": real, "LD_LIBRARY_PATH": libraries, **env}
        command = [sys.executable, "-c", f"from arm_runtime.vgf import Session\nvgf = {data!r}\n{code}"]
        done = subprocess.run(command, env=given, capture_output=True, text=True, timeout=300, check=False)
        said = (line.removeprefix("watched: ") for line in done.stderr.splitlines() if line.startswith("watched: "))
        return done, Counter(said)

    return run


def test_a_lost_device_is_opened_anew(watch: Watch) -> None:
    """By the next session; that on the lost one says so in each run."""
    done, count = watch("""if True:
        import os
        import numpy as np
        from arm_runtime.vgf import VgfError
        x = np.arange(-2, 2, dtype=np.int32)
        old = Session(vgf, engine="compute")
        assert old.run([x])[0].tolist() == [2, 1, 0, 1]
        os.environ["WATCHED_LOST"] = "1"
        for _ in range(2):
            try:
                old.run([x])
            except VgfError as error:
                print(error)
        del os.environ["WATCHED_LOST"]
        new = Session(vgf, engine="compute")
        old.close()
        assert new.run([x])[0].tolist() == [2, 1, 0, 1]
    """)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["vkQueueSubmit: the device was lost (VkResult -4)"] * 2
    assert count["instance made"] == 2 and count["instance destroyed"] == 0


@pytest.mark.parametrize(
    ("engine", "fault", "name", "said", "devices"),
    [
        ("compute", "FAILING", "vkEnumeratePhysicalDevices", ": initialization failed (VkResult -3)", 0),
        ("compute", "FAILING", "vkCreatePipelineCache", ": out of host memory (VkResult -1)", 1),
        ("layer", "MISSING", "vkCreateTensorARM", "the Vulkan driver has no ", 1),
    ],
)
def test_an_error_leaks_neither(
    layer: Load, watch: Watch, engine: str, fault: str, name: str, said: str, devices: int
) -> None:
    """What was made before a function that is missing or fails is destroyed again."""
    done, count = watch(f"Session(vgf, engine={engine!r})", **{f"WATCHED_{fault}": name})
    said = f"{name}{said}" if fault == "FAILING" else f"{said}{name}"
    assert done.returncode == 1 and f"VgfError: {said}" in done.stderr
    assert count["instance made"] == count["instance destroyed"] > 0
    assert count["device made"] == count["device destroyed"] == devices


@pytest.mark.parametrize("engine", ["compute", "layer"])
def test_shaders_stay_within_their_buffers(layer: Load, watch: Watch, engine: str) -> None:
    """A shader of a VGF that reaches beyond a buffer is stopped by the device."""
    _, count = watch(f"Session(vgf, engine={engine!r})")
    assert count["robust buffers"] == count["device made"] == 1


USERS = """
from executorch.runtime import Runtime
programs = [Runtime.get().load_program({pte!r}) for _ in range(2)]
kept = [Session(vgf), Session(vgf), *(program.load_method("forward") for program in programs)]
"""


def test_sessions_and_delegates_share_one_device(watch: Watch, pte: Path) -> None:
    """Two of each make one device, and one instance that stays: another that had no device for them may be gone."""
    done, count = watch(USERS.format(pte=str(pte)))
    assert done.returncode == 0, done.stderr
    assert (count["device made"], count["device destroyed"]) == (1, 0)
    assert count["instance made"] - count["instance destroyed"] == 1


def test_other_options_make_another_device(watch: Watch) -> None:
    """The control of the test above: a second device is seen."""
    _, count = watch("kept = [Session(vgf), Session(vgf, device=0)]")
    assert count["device made"] == 2
    assert count["instance made"] - count["instance destroyed"] == 2


SIZES = """
import sys
import numpy as np
with Session({vgf!r}, engine="compute", sizes={sizes!r}) as session:
    (x,) = session.inputs
    print("watched: loaded", file=sys.stderr, flush=True)
    for size in range({least}, {most} + 1):
        shape = [size if text == "n" else int(text) for text in x.sizes]
        (y,) = session.run([np.ones(shape, x.dtype)])
        assert y.shape == tuple(size if text == "n" else int(text) for text in session.outputs[0].sizes)
    print("watched: ran", file=sys.stderr, flush=True)
"""


@pytest.mark.parametrize("known", [True, False], ids=["bounds", "unknown"])
@pytest.mark.parametrize(("operator", "varies"), [("CONV2D", "batch"), ("REDUCE_SUM", "along the axis")])
def test_other_sizes_neither_allocate_nor_compile(watch: Watch, operator: str, varies: str, known: bool) -> None:
    (row,) = (row for row in ROWS if (row.operator, row.varies) == (operator, varies))
    vgf = sized_vgf(row.graph, row.least, row.most) if known else unknown(row.graph)
    sizes = None if known else said(row)
    done, count = watch(SIZES.format(vgf=vgf, sizes=sizes, least=row.least, most=row.most))
    assert done.returncode == 0, done.stderr
    assert count["memory allocated"] and count["pipelines made"]  # when it is loaded
    while_running = done.stderr.partition("watched: loaded\n")[2].partition("watched: ran\n")[0]
    assert while_running == ""
