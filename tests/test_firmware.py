"""Firmware end to end: deployed, built, and run on this machine and in QEMU, beside the program that it was made of."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from arm_ethosu import EthosUCompileSpec
from arm_ethosu.firmware import FIRMWARE
from arm_ethosu.firmware.kernels import ALIASES, KERNELS
from arm_ethosu.firmware.templates import FOLDER
from arm_tosa_core import lower
from arm_tosa_core.cli.main import app
from arm_tosa_core.exir.pte import delegates
from arm_tosa_core.exir.pte_steps import method
from arm_tosa_core.testing.harness import exported
from arm_tosa_core.tosa import reference_model
from arm_tosa_core.tosa.loader import load
from benchmarks.firmware_size import code_sizes

ethosu = pytest.importorskip("arm_runtime.ethosu")

CASES = {
    "host": ("host", "ethos-u55-128", "int8"),
    "QEMU": ("mps3-an547", "ethos-u55-128", "int8"),
    "QEMU, Cortex-M7": ("mps2-an500", "ethos-u55-128", "int8"),
    "QEMU, 16 bits": ("mps3-an547", "ethos-u85-256", "int16x8"),
}


class Net(torch.nn.Module):
    """A convolution, a pool and a linear layer, of two inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.last = torch.nn.Linear(8, 5)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        out = torch.relu(self.first(x)) + y
        return self.last(out.mean((2, 3))), torch.tanh(out)


def invoke(*words: object) -> Any:
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exit_code == 0, done.output + str(done.exception)
    return done.output


@pytest.mark.parametrize("case", CASES)
def test_firmware_gives_the_programs_bits(case: str, tmp_path: Path) -> None:
    board, target, scheme = CASES[case]
    if board != "host" and (shutil.which("qemu-system-arm") is None or shutil.which("arm-none-eabi-gcc") is None):
        pytest.skip("apt-get install gcc-arm-none-eabi libstdc++-arm-none-eabi-newlib qemu-system-arm")
    torch.manual_seed(0)
    inputs = (torch.randn(1, 3, 8, 8), torch.randn(1, 8, 8, 8))
    spec = EthosUCompileSpec(target)
    (tmp_path / "net.pte").write_bytes(lower(exported(Net().eval(), inputs, spec, scheme), spec).buffer)
    words = []
    for index, array in enumerate(inputs):
        np.save(tmp_path / f"x{index}.npy", array.numpy())
        words += ["--input", tmp_path / f"x{index}.npy"]
    said = json.loads(
        invoke(
            "deploy",
            "--json",
            tmp_path / "net.pte",
            "--board",
            board,
            "-o",
            tmp_path / "firmware",
        )
    )
    assert {row["part"] for row in said["memory"]} == {"net: commands", "net: weights", "arena"}
    invoke("run", tmp_path / "firmware", *words, "--output", tmp_path / "firmware.npy")
    invoke("run", tmp_path / "net.pte", *words, "--output", tmp_path / "pte.npy")
    for index in range(2):
        one, other = (np.load(tmp_path / f"{name}_{index}.npy") for name in ("firmware", "pte"))
        assert one.dtype == other.dtype == np.float32 and np.array_equal(one, other)
        assert one.min() < one.max(), "of a constant, a comparison says nothing"


class Words(torch.nn.Module):
    """Attention over the words of a sentence: Ethos-U55 has neither a table of words nor products of 16 bits."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(50, 16)
        self.query, self.key, self.value, self.last = (torch.nn.Linear(16, 16) for _ in range(4))

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        x = self.table(words)
        weights = torch.softmax(self.query(x) @ self.key(x).transpose(1, 2) / 4, -1)
        return self.last(weights @ self.value(x))


WORDS = torch.arange(8)[None] * 6


def deployed_words(folder: Path, board: str) -> Path:
    """The firmware of this network, from its program: a .pte keeps for ExecuTorch what is not on the NPU."""
    torch.manual_seed(0)
    program = exported(Words().eval(), (WORDS,), EthosUCompileSpec("ethos-u55-128"), "int16x8")
    torch.export.save(program, folder / "words.pt2")
    invoke("deploy", folder / "words.pt2", "--target", "ethos-u55-128", "--board", board, "-o", folder / "firmware")
    return folder / "firmware"


def wanted_of_words(folder: Path) -> np.ndarray[Any, Any]:
    """What the delegates give: the NPU's on the functional model, the processor's on the TOSA reference model."""
    spec = EthosUCompileSpec("ethos-u55-128")
    program = torch.export.load(folder / "words.pt2")
    pte = lower(program, spec, remainder=FIRMWARE.remainder()).buffer
    steps, payloads = method(pte), delegates(pte)
    assert {each.backend_id for each in payloads} == {"EthosUBackend", "TOSABackend"}
    values: dict[int, Any] = {}
    for call in steps.calls:
        if call.operator == "dim_order_ops::_to_dim_order_copy.out":
            values[call.arguments[-1]] = WORDS.numpy().astype(np.int32)
        elif call.operator:
            scale, zero_point = (steps.values[number] for number in call.arguments[1:3])
            whole = values[call.arguments[0]].astype(np.int32) - zero_point
            return whole.astype(np.float32) * np.float32(scale)
        else:
            known = [number for number in call.arguments if number in values]
            made = call.arguments[len(known) :]
            own = [values[number] for number in known]
            payload = payloads[call.delegate].payload
            if payloads[call.delegate].backend_id == "EthosUBackend":
                results = ethosu.run(payload, own)
            else:  # it wants the shapes of memory, which a transposed tensor does not have in PyTorch
                shapes = [tensor.shape for tensor in load(payload).inputs]
                own = [array.reshape(shape) for array, shape in zip(own, shapes, strict=True)]
                results = reference_model.run(payload, own)
            for number, result in zip(made, results, strict=True):
                tensor = steps.tensor(number)
                values[number] = np.asarray(result).view(tensor.dtype).reshape(tensor.shape)
    raise AssertionError("the program ends with a conversion to real numbers")


def test_what_is_not_on_the_npu_is_computed_in_c(tmp_path: Path) -> None:
    if shutil.which("qemu-system-arm") is None or shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("apt-get install gcc-arm-none-eabi libstdc++-arm-none-eabi-newlib qemu-system-arm")
    firmware = deployed_words(tmp_path, "mps3-an547")
    np.save(tmp_path / "x.npy", WORDS.numpy())
    invoke("run", firmware, "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy")
    made, wanted = np.load(tmp_path / "y.npy"), wanted_of_words(tmp_path)
    assert made.dtype == np.float32 and np.array_equal(made.ravel(), wanted.ravel())
    assert np.unique(made).size > 50


def test_wrong_data_is_an_error_and_no_crash(tmp_path: Path) -> None:
    """On this machine, under the sanitizers: a word that the table lacks, and a damaged command stream."""
    firmware = deployed_words(tmp_path, "host")
    flags = "-fsanitize=address,undefined -fno-sanitize-recover=all -Werror"
    configure = ["cmake", "--preset", "board", f"-DCMAKE_C_FLAGS={flags}", f"-DCMAKE_EXE_LINKER_FLAGS={flags}"]

    def run(words: np.ndarray[Any, Any]) -> subprocess.CompletedProcess[str]:
        for command in (configure, ["cmake", "--build", "build", "--parallel", "2"]):
            subprocess.run(command, cwd=firmware, check=True, capture_output=True, timeout=600)
        (tmp_path / "words_input0.bin").write_bytes(words.astype(np.int32).tobytes())
        return subprocess.run([firmware / "build" / "firmware"], cwd=tmp_path, capture_output=True, text=True)

    right = run(WORDS.numpy())
    assert right.returncode == 0 and "words: done" in right.stdout, right.stderr
    for word in (50, -1):
        wrong = WORDS.numpy().copy()
        wrong[0, 3] = word
        done = run(wrong)
        assert done.returncode == 1 and "words: words_run failed" in done.stdout, done.stderr
    assert "words, output0: 128 numbers agree with the TOSA reference model" in invoke("verify", firmware)
    data = firmware / "models" / "words_data.c"
    lines = data.read_text().splitlines()
    (start,) = (number for number, line in enumerate(lines) if "words_constant0[" in line)
    rows = range(start + 1, lines.index("};", start))
    right_rows = [lines[row] for row in rows]
    for row in rows:
        lines[row] = "    " + "7, " * lines[row].count(",")
    data.write_text("\n".join(lines) + "\n")
    other = CliRunner().invoke(app, ["verify", str(firmware)])
    assert other.exit_code == 1 and "differ: does not agree" in other.output
    for row, line in zip(rows, right_rows, strict=True):
        lines[row] = line
    (start,) = (number for number, line in enumerate(lines) if "words_commands0[" in line)
    lines[start + 4] = "    " + ", ".join(["0xff"] * 16) + ","
    data.write_text("\n".join(lines) + "\n")
    done = run(WORDS.numpy())
    assert done.returncode == 1 and "words: words_run failed" in done.stdout, done.stderr


def test_the_page_lists_the_kernels() -> None:
    page = Path(__file__).parent.parent / "docs" / "explanation" / "firmware.md"
    rows = [line for line in page.read_text().splitlines() if line.startswith("|") and "`" in line]
    assert sorted(" ".join(row.split("`")[1] for row in rows).split()) == sorted([*KERNELS, *ALIASES])


@pytest.fixture(scope="module")
def without_npu(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A firmware for Cortex-M55 on the null device, and what building it said."""
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi")
    folder = tmp_path_factory.mktemp("null")
    inputs = (torch.randn(1, 3, 8, 8), torch.randn(1, 8, 8, 8))
    spec = EthosUCompileSpec("ethos-u55-128")
    (folder / "net.pte").write_bytes(lower(exported(Net().eval(), inputs, spec, "int8"), spec).buffer)
    firmware = deployed_words(folder, "mps3-an547")
    invoke("deploy", folder / "net.pte", folder / "words.pt2", "--board", "mps3-an547", "-o", firmware)
    configure = ["cmake", "--preset", "board", "-DNPU=null", "-DCMAKE_COMPILE_WARNING_AS_ERROR=ON"]
    subprocess.run(configure, cwd=firmware, check=True, capture_output=True, timeout=300)
    return firmware, build(firmware).stdout


def build(firmware: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["cmake", "--build", "build"], cwd=firmware, capture_output=True, text=True, timeout=300)


def test_a_board_to_fill_in_builds(tmp_path: Path) -> None:
    """And stays as it is filled in."""
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi")
    firmware = deployed_words(tmp_path, "generic")
    script = firmware / "boards" / "generic" / "memory.ld"
    script.write_text(script.read_text().replace("LENGTH = 2M", "LENGTH = 1M"))
    deployed_words(tmp_path, "generic")
    assert "LENGTH = 1M" in script.read_text()
    configure = ["cmake", "--preset", "board", "-DNPU=null", "-DCMAKE_COMPILE_WARNING_AS_ERROR=ON"]
    subprocess.run(configure, cwd=firmware, check=True, capture_output=True, timeout=300)
    done = build(firmware)
    assert done.returncode == 0 and re.search(r"FLASH: +\d+ \w?B +1 MB", done.stdout), done.stderr


def test_building_prints_what_lies_where(without_npu: tuple[Path, str]) -> None:
    _, said = without_npu
    used = {name: int(size) for name, size in re.findall(r"^ +(\w+): +(\d+) \w?B ", said, re.MULTILINE)}
    assert used.keys() == {"ITCM", "DTCM", "SRAM", "DDR"} and used["SRAM"] > 0 and used["DDR"] > 0


def test_building_prints_a_bound_of_the_stack(without_npu: tuple[Path, str]) -> None:
    firmware, said = without_npu
    bounds = {name: int(size) for name, size in re.findall(r"Stack of (\w+)_run: at most (\d+) bytes", said)}
    objects = firmware / "build" / "CMakeFiles" / "models.dir"
    for name in ("net", "words"):
        lines = [line.split("\t") for line in (objects / "models" / f"{name}.c.su").read_text().splitlines()]
        sizes = {where.rpartition(":")[2]: int(size) for where, size, kind in lines if kind == "static"}
        assert len(sizes) == len(lines)
        run = sizes.pop(f"{name}_run")
        del sizes[f"{name}_init"]
        assert bounds[name] == run + max(sizes.values(), default=0) and 0 < bounds[name] < 512


def test_a_stack_without_a_bound_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "net.c.su").write_text("net.c:1:2:net_run\t48\tdynamic\n")
    words = [f"-DOBJECTS={tmp_path}", "-DMODELS=net", "-P", FOLDER / "cmake" / "stack.cmake"]
    done = subprocess.run(["cmake", *words], capture_output=True, text=True)
    assert done.returncode != 0 and "net_run takes stack without a bound" in done.stderr


def test_nothing_takes_memory_from_a_heap(without_npu: tuple[Path, str]) -> None:
    firmware, _ = without_npu
    assert not {"malloc", "_malloc_r", "_sbrk"} & set(sizes_of(firmware))
    main = firmware / "app" / "main.c"
    before = main.read_text()
    main.write_text(
        "#include <stdlib.h>\nvoid *volatile taken;\n" + before.replace("return ", "taken = malloc(4); return ", 1)
    )
    done = build(firmware)
    main.write_text(before)
    assert build(firmware).returncode == 0
    assert done.returncode != 0 and "something calls malloc, and firmware has no heap" in done.stderr + done.stdout


def sizes_of(firmware: Path) -> dict[str, int]:
    command = ["arm-none-eabi-nm", "--print-size", str(firmware / "build" / "firmware.elf")]
    symbols = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {line.split()[3]: int(line.split()[1], 16) for line in symbols.splitlines() if len(line.split()) == 4}


def test_without_an_npu_everything_else_is_small(without_npu: tuple[Path, str]) -> None:
    """Code in bytes; the null device is one instruction."""
    firmware, _ = without_npu
    sizes = sizes_of(firmware)
    code = code_sizes((firmware / "build" / "firmware.map").read_text(), "net")
    assert 0 < sizes["net_init"] + sizes["net_run"] <= code["model"] <= code["code"] <= 3 * 1024


#: What the sources do not keep to, and why.
NOT_KEPT = (
    "bugprone-easily-swappable-parameters",  # of arithmetic
    "bugprone-signed-bitwise",  # of TOSA: processor/tosa_math.h says what it expects of the compiler
    "clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling",  # asks for memcpy_s, which newlib lacks
    "misc-include-cleaner",  # asks for a header for each name
)


def test_clang_tidy_has_nothing_to_say(tmp_path: Path) -> None:
    if shutil.which("clang-tidy") is None:
        pytest.skip("no clang-tidy: pip install clang-tidy")
    firmware = deployed_words(tmp_path, "host")
    kinds = ("bugprone", "cert", "clang-analyzer", "concurrency", "misc", "performance", "portability")
    checks = ",".join(["-*", *(f"{kind}-*" for kind in kinds), *(f"-{check}" for check in NOT_KEPT)])
    sources = [str(firmware / name) for name in ("models/words.c", "app/main.c", "npu/null.c", "boards/host/host.c")]
    include = [f"-I{firmware / name}" for name in (".", "npu", "processor", "boards")]
    command = ["clang-tidy", "--quiet", f"--checks={checks}", "--warnings-as-errors=*", *sources, "--", "-std=c11"]
    done = subprocess.run([*command, *include], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
