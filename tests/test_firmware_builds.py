"""Firmware built for a Cortex-M: what building says, how large the code is, and what a checker finds in it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from arm_cortex_m.firmware.c_text import FOLDER
from arm_cortex_m.kernels import FILES
from benchmarks.firmware_size import code_sizes
from build_tools import require
from firmware_words import deployed_words, invoke, net_pte

CONFIGURE = ["cmake", "--preset", "board", "-DCMAKE_COMPILE_WARNING_AS_ERROR=ON"]


@pytest.fixture(scope="module")
def without_npu(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A firmware for Cortex-M55 on the null device, and what building it said."""
    require("cmake", "arm-none-eabi-gcc")
    folder = tmp_path_factory.mktemp("null")
    (folder / "net.pte").write_bytes(net_pte("ethos-u55-128", "int8"))
    firmware = deployed_words(folder, "mps3-an547")
    invoke("deploy", folder / "net.pte", folder / "words.pt2", "--board", "mps3-an547", "-o", firmware)
    subprocess.run([*CONFIGURE, "-DNPU=null"], cwd=firmware, check=True, capture_output=True, timeout=300)
    return firmware, build(firmware).stdout


def build(firmware: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["cmake", "--build", "build"], cwd=firmware, capture_output=True, text=True, timeout=300)


def test_a_board_to_fill_in_builds(tmp_path: Path) -> None:
    """And stays as it is filled in."""
    require("cmake", "arm-none-eabi-gcc")
    firmware = deployed_words(tmp_path, "generic")
    script = firmware / "boards" / "generic" / "memory.ld"
    script.write_text(script.read_text().replace("LENGTH = 2M", "LENGTH = 1M"))
    deployed_words(tmp_path, "generic")
    assert "LENGTH = 1M" in script.read_text()
    subprocess.run([*CONFIGURE, "-DNPU=null"], cwd=firmware, check=True, capture_output=True, timeout=300)
    done = build(firmware)
    assert done.returncode == 0 and re.search(r"FLASH: +\d+ \w?B +1 MB", done.stdout), done.stderr


def test_building_prints_what_lies_where(without_npu: tuple[Path, str]) -> None:
    _, said = without_npu
    used = {name: int(size) for name, size in re.findall(r"^ +(\w+): +(\d+) \w?B ", said, re.MULTILINE)}
    assert used.keys() == {"ITCM", "DTCM", "SRAM", "DDR"} and used["SRAM"] > 0 and used["DDR"] > 0


#: A board, a target, and the memories that its mode wants the constants and the arena in.
PLACES = {
    "weights in flash": ("mps3-an547", "ethos-u55-128", "DDR", "SRAM"),
    "weights in SRAM": ("mps3-an547", "ethos-u85-256", "SRAM", "SRAM"),
    "weights in DRAM": ("mps2-an500", "ethos-u65-256", "PSRAM", "SRAM"),
    "weights in SRAM, on a chip without DRAM": ("generic", "ethos-u65-256", "SRAM", "SRAM"),
}


@pytest.mark.parametrize("case", PLACES)
def test_the_linker_follows_the_memory_mode(case: str, tmp_path: Path) -> None:
    """Constants are in flash when the power comes, wherever they are to lie."""
    require("cmake", "arm-none-eabi-gcc")
    board, target, constants_in, arena_in = PLACES[case]
    (tmp_path / "net.pte").write_bytes(net_pte(target, "int8"))
    firmware = tmp_path / "firmware"
    invoke("deploy", tmp_path / "net.pte", "--board", board, "-o", firmware)
    subprocess.run([*CONFIGURE, "-DNPU=null"], cwd=firmware, check=True, capture_output=True, timeout=300)
    done = build(firmware)
    assert done.returncode == 0, done.stderr
    script = (firmware / "boards" / board / "memory.ld").read_text()
    starts = {name: int(at, 16) for name, at in re.findall(r"(\w+) \(\w+\) : ORIGIN = (\w+)", script)}
    flash = dict(re.findall(r'REGION_ALIAS\("(\w+)", (\w+)\)', script))["MODEL_FLASH"]

    def region(address: str) -> str:
        return max((name for name in starts if starts[name] <= int(address, 16)), key=starts.__getitem__)

    command = ["arm-none-eabi-objdump", "-h", str(firmware / "build" / "firmware.elf")]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = {
        name: (size, lies, loaded)
        for name, size, lies, loaded in re.findall(r"(\.model_\w+) +(\w+) +(\w+) +(\w+)", listed)
    }
    size, lies, loaded = found[".model_flash"]
    assert (region(lies), region(loaded)) == (constants_in, flash) and int(size, 16) > 1000
    assert region(found[".model_sram"][1]) == arena_in


def test_building_prints_a_bound_of_the_stack(without_npu: tuple[Path, str]) -> None:
    firmware, said = without_npu
    bounds = {name: int(size) for name, size in re.findall(r"Stack of (\w+)_run: at most (\d+) bytes", said)}
    objects = firmware / "build" / "CMakeFiles" / "models.dir"
    # A function of processor/ calls others of its file.
    called = [
        sum(int(line.split("\t")[1]) for line in file.read_text().splitlines())
        for file in (objects / "processor").glob("*.su")
    ]
    assert called
    for name in ("net", "words"):
        lines = [line.split("\t") for line in (objects / "models" / f"{name}.c.su").read_text().splitlines()]
        sizes = {where.rpartition(":")[2]: int(size) for where, size, kind in lines if kind == "static"}
        assert len(sizes) == len(lines)
        run = sizes.pop(f"{name}_run")
        del sizes[f"{name}_init"]
        assert bounds[name] == run + max([*sizes.values(), *called]) and 0 < bounds[name] < 512


def test_building_prints_the_code_of_operators_on_the_processor(without_npu: tuple[Path, str]) -> None:
    """All that the model has, and together no more than its functions."""
    firmware, said = without_npu
    ((whole, kernels, listed),) = re.findall(r"Code of words\.c: (\d+) bytes, of which .* take (\d+), (.*)", said)
    sizes = {name: int(size) for name, size in (each.split() for each in listed.split(", "))}
    names = re.findall(r"TOSA_KERNEL static \w+ (\w+)\(", (firmware / "models" / "words.c").read_text())
    assert sizes.keys() == set(names) and names and min(sizes.values()) > 4
    assert sum(sizes.values()) == int(kernels) < int(whole)
    # GCC calls what it adapted to its callers gather_kernel0.constprop.0
    linked = {name.partition(".")[0]: size for name, size in sizes_of(firmware).items()}
    assert {name: linked[name] for name in names} == sizes
    assert re.search(r"Code of net\.c: \d+ bytes$", said, re.MULTILINE), "all of it is on the NPU"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("net_run\t48\tstatic", "add_kernel0\t16\tstatic", "add_kernel1\t8\tstatic"), "at most 64 bytes"),
        # GCC adapts functions to their callers, and moves the stack within a function, by amounts that it knows.
        (("net_run\t48\tstatic", "add_kernel0.constprop\t16\tstatic"), "at most 64 bytes"),
        (("net_run\t320\tdynamic,bounded", "add_kernel0\t8\tstatic"), "at most 328 bytes"),
        (("net_run\t48\tdynamic",), "net_run\t48\tdynamic: stack without a bound"),
    ],
)
def test_a_stack_has_a_bound_or_it_is_an_error(lines: tuple[str, ...], said: str, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "net.c.su").write_text("".join(f"net.c:1:2:{line}\n" for line in lines))
    words = [f"-DOBJECTS={tmp_path}", "-DMODELS=net", "-P", FOLDER / "cmake" / "costs.cmake"]
    done = subprocess.run(["cmake", *words], capture_output=True, text=True)
    assert said in done.stdout + done.stderr and (done.returncode != 0) == ("without" in said)


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
    "bugprone-signed-char-misuse",  # numbers, no characters
    "cert-str34-c",  # the same
    "bugprone-signed-bitwise",  # of TOSA: processor/tosa_math.h says what it expects of the compiler
    "clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling",  # asks for memcpy_s, which newlib lacks
    "misc-include-cleaner",  # asks for a header for each name
)


def test_clang_tidy_has_nothing_to_say(tmp_path: Path) -> None:
    require("clang-tidy")
    firmware = deployed_words(tmp_path, "host")
    kinds = ("bugprone", "cert", "clang-analyzer", "concurrency", "misc", "performance", "portability")
    checks = ",".join(["-*", *(f"{kind}-*" for kind in kinds), *(f"-{check}" for check in NOT_KEPT)])
    sources = [str(firmware / name) for name in ("models/words.c", "app/main.c", "npu/null.c", "boards/host/host.c")]
    sources += sorted(map(str, FILES.glob("*.c")))
    include = [f"-I{firmware / name}" for name in (".", "common", "npu", "processor", "boards")]
    command = ["clang-tidy", "--quiet", f"--checks={checks}", "--warnings-as-errors=*", *sources, "--", "-std=c11"]
    done = subprocess.run([*command, *include], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
