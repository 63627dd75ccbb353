"""C programs that call kernels of whole operators on given inputs, for the host and for QEMU's boards."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arm_cortex_m.firmware.c_text import FOLDER
from arm_cortex_m.firmware.formats.sources import model_files, processor_files, with_sources
from arm_cortex_m.firmware.model import Model
from arm_cortex_m.kernels import FILES, Call
from arm_tosa_core.tosa.dtypes import numpy_dtype

_Array = np.ndarray[Any, Any]
_TYPES = {"int8": "int8_t", "int16": "int16_t", "int32": "int32_t", "bool": "uint8_t"}
_INCLUDE = ["-I", str(FILES), "-I", str(FOLDER / "boards")]


@dataclass(frozen=True)
class Case:
    """A call, what it reads, and what it has to make."""

    call: Call
    inputs: Sequence[_Array]
    wanted: _Array


@dataclass(frozen=True)
class Machine:
    """A machine of QEMU: its core, and where code and data lie."""

    name: str
    flags: tuple[str, ...]
    flash: str = "ORIGIN = 0x00000000, LENGTH = 4M"
    data: str = "FLASH"
    ram: str = "ORIGIN = 0x20000000, LENGTH = 4M"


MACHINES: Mapping[str, Machine] = {
    "cortex-m55": Machine(
        "mps3-an547",
        ("-mcpu=cortex-m55", "-mfloat-abi=hard"),
        "ORIGIN = 0x00000000, LENGTH = 512K",
        "DDR",
        "ORIGIN = 0x21000000, LENGTH = 4M",
    ),
    "cortex-m7": Machine("mps2-an500", ("-mcpu=cortex-m7", "-mfloat-abi=hard", "-mfpu=fpv5-d16")),
    "cortex-m4": Machine("mps2-an386", ("-mcpu=cortex-m4", "-mfloat-abi=soft")),
    "cortex-m3": Machine("mps2-an385", ("-mcpu=cortex-m3", "-mfloat-abi=soft")),
}

_SCRIPT = """
MEMORY {{
    FLASH (rx) : {machine.flash}
    DDR (rwx) : ORIGIN = 0x60000000, LENGTH = 16M
    RAM (rw) : {machine.ram}
}}
ENTRY(start)
SECTIONS {{
    .text : {{ KEEP(*(.vectors)) *(.text*) }} > FLASH
    .rodata : {{ *(.rodata*) }} > {machine.data}
    .ARM.exidx : {{ *(.ARM.exidx* .ARM.extab*) }} > FLASH
    .data : {{ data_start = .; *(.data*) . = ALIGN(4); data_end = .; }} > RAM AT > {machine.data}
    data_load = LOADADDR(.data);
    .bss (NOLOAD) : {{ bss_start = .; *(.bss* COMMON) . = ALIGN(16); bss_end = .; }} > RAM
    end = .;
    stack_top = ORIGIN(RAM) + LENGTH(RAM);
}}
"""

_MAIN = """
#include "board.h"
#include "tosa_kernels.h"
{includes}
#include <string.h>

void board_exit(int status);

{cases}
int main(void) {{
    int wrong = 0;

{runs}
    return wrong != 0;
}}
"""

#: One byte more than the result and the scratch memory take, to see that nothing is written behind them.
_CASE = """
{arrays}
static int8_t output{number}[{size} + 1];
_Alignas(8) static int8_t scratch{number}[{scratch} + 1];
static const struct {function} call{number} = {{
{fields}
}};

static int run{number}(void) {{
    output{number}[{size}] = 85;
    scratch{number}[{scratch}] = 85;
    {function}(&call{number}, ({kind} *)(void *)output{number}{arguments});
    return memcmp(output{number}, wanted{number}, {size}) != 0 || output{number}[{size}] != 85 ||
           scratch{number}[{scratch}] != 85;
}}
"""

_HOST = """
#include "board.h"
#include <stdio.h>
void board_exit(int status);
void board_print(const char *line) { puts(line); }
void board_exit(int status) { (void)status; }
"""


def _array(name: str, data: _Array) -> str:
    listed = ",".join("INT32_MIN" if value == -(2**31) else str(value) for value in data.reshape(-1).tolist())
    aligned = "_Alignas(8) " if data.dtype == np.int8 else ""
    return f"{aligned}static const {_TYPES[data.dtype.name]} {name}[{data.size}] = {{{listed}}};"


def case_text(number: int, case: Case) -> str:
    """The function ``runN``, which is 0 if the result is the one wanted, and what it needs."""
    arrays, fields = [_array(f"wanted{number}", case.wanted)], []
    for position, data in enumerate(case.inputs):
        arrays.append(_array(f"input{number}_{position}", data))
    for index, (name, value) in enumerate(case.call.fields.items()):
        if isinstance(value, np.ndarray):
            arrays.append(_array(f"constant{number}_{index}", value))
            fields.append(f"    .{name} = constant{number}_{index},")
        else:
            fields.append(f"    .{name} = {value},")
    arguments = [f"input{number}_{position}" for position in range(len(case.inputs))]
    if case.call.scratch:
        arguments.append(f"scratch{number}")
    return _CASE.format(
        arrays="\n".join(arrays),
        number=number,
        size=case.wanted.nbytes,
        scratch=case.call.scratch,
        function=case.call.function,
        kind=_TYPES[numpy_dtype(case.call.output.dtype).name],
        fields="\n".join(fields),
        arguments="".join(f", {argument}" for argument in arguments),
    )


def source_of(cases: Mapping[str, Case]) -> str:
    """A program that runs all cases and prints the names of those whose results are others."""
    headers = sorted({case.call.source.replace(".c", ".h") for case in cases.values()})
    return _MAIN.format(
        includes="\n".join(f'#include "{header}"' for header in headers),
        cases="\n".join(case_text(number, case) for number, case in enumerate(cases.values())),
        runs="\n".join(
            f'    if (run{number}() != 0) {{ board_print("{name}"); wrong = 1; }}' for number, name in enumerate(cases)
        ),
    )


def wrong_cases(
    folder: Path, cases: Mapping[str, Case], options: Sequence[str], machine: Machine | None = None
) -> list[str]:
    """Builds and runs them under the sanitizers, or on a machine of QEMU; the names of those that are wrong.

    Args:
        options: of the compiler.
    """
    (folder / "main.c").write_text(source_of(cases))
    called = set().union(*(with_sources(case.call.source) for case in cases.values()))
    sources = ["main.c", *(str(FILES / name) for name in sorted(called))]
    if machine is not None:
        build(folder, [*options, "-O2", *sources], machine)
        status, text = run(folder, machine)
    else:
        (folder / "host.c").write_text(_HOST)
        sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
        _done(["gcc", *options, *sanitizers, *_INCLUDE, "-o", "program", "host.c", *sources], folder)
        status, text = _run(["./program"], folder)
    assert status == bool(text), text[:3000] or status
    return text.splitlines()


def build(folder: Path, words: Sequence[str], machine: Machine) -> None:
    """Makes ``program`` for a machine, with the boards' start-up.

    Args:
        words: options of the compiler, and C sources.
    """
    (folder / "memory.ld").write_text(_SCRIPT.format(machine=machine))
    board = [str(FOLDER / "shared" / "cortex-m" / name) for name in ("start.c", "semihosting.c")]
    link = ["-nostartfiles", "--specs=nano.specs", "--specs=nosys.specs", "-Tmemory.ld", "-Wl,--gc-sections"]
    _done(["arm-none-eabi-gcc", "-mthumb", *machine.flags, *_INCLUDE, *link, "-o", "program", *words, *board], folder)


def objects_of(folder: Path, model: Model, machine: Machine) -> list[str]:
    """Objects of a model whose sources are in the folder, with the compiler's options that firmware is built with."""
    placed = '-DMODEL_FLASH=__attribute__((section(".rodata.model"),aligned(16)))'
    out = []
    for level, files in (("-O2", processor_files([model])), ("-Os", model_files(model))):
        options = [*machine.flags, level, placed, "-I.", "-Icommon", "-Iprocessor", "-c", *files]
        if files:
            _done(["arm-none-eabi-gcc", "-mthumb", *options], folder)
        out += [f"{Path(file).stem}.o" for file in files]
    return out


def run(folder: Path, machine: Machine, options: Sequence[str] = ()) -> tuple[int, str]:
    """Runs ``program``: its exit status and what it printed."""
    command = ["qemu-system-arm", "-M", machine.name, "-nographic", "-monitor", "none", "-serial", "none", *options]
    return _run([*command, "-semihosting-config", "enable=on,target=native", "-kernel", "program"], folder)


def _run(command: Sequence[str], folder: Path) -> tuple[int, str]:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout + done.stderr


def _done(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[:3000]
