"""A model's C library: that compilers take it without a warning, and what its functions return."""

from __future__ import annotations

import ctypes
import dataclasses
import subprocess
from pathlib import Path
from typing import Any

import pytest
from firmware_kit import WARNINGS, compile_project, model, program, project, words

from arm_cortex_m.firmware.board import find_board
from arm_cortex_m.firmware.library import library
from arm_cortex_m.firmware.memory import arena_bytes
from arm_cortex_m.firmware.model import identifier
from arm_ethosu.firmware import FIRMWARE
from arm_tosa_core.plugin.firmware import Program
from arm_tosa_core.support.errors import UsageError
from build_tools import require

STATUS = ["OK", "NULL_POINTER", "NOT_INITIALIZED", "ARENA_TOO_SMALL", "ARENA_MISALIGNED", "NPU_FAILED"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The C library on the null device, as this machine's shared library, with every warning an error."""
    require("cc")
    folder = tmp_path_factory.mktemp("library")
    FIRMWARE.deploy({"net": Program(program())}, "ethos-u55-128", "host", folder)
    sources = [str(folder / name) for name in ("models/net.c", "models/net_data.c", "npu/null.c")]
    command = [
        "cc",
        *WARNINGS,
        "-shared",
        "-fPIC",
        "-o",
        str(folder / "net.so"),
        f"-I{folder}",
        f"-I{folder / 'common'}",
        f"-I{folder / 'npu'}",
        *sources,
    ]
    subprocess.run(command, check=True, timeout=120)
    return ctypes.CDLL(str(folder / "net.so"))


class Pointers(ctypes.Structure):
    _fields_ = [("first", ctypes.c_void_p), ("second", ctypes.c_void_p)]


class Instance(ctypes.Structure):
    _fields_ = [("arena", ctypes.c_void_p)]


def test_every_error_has_its_code(built: Any) -> None:
    size = arena_bytes([model()])
    memory = (ctypes.c_uint8 * (size + 32))()
    arena = -(-ctypes.addressof(memory) // 32) * 32
    instance, data = Instance(), (ctypes.c_uint8 * 4096)()
    some, none = Pointers(ctypes.addressof(data), ctypes.addressof(data)), Pointers(ctypes.addressof(data), None)

    def init(instance: Any, arena: int | None, size: int) -> str:
        return STATUS[built.net_init(instance, ctypes.c_void_p(arena), ctypes.c_size_t(size))]

    def run(instance: Any, inputs: Any, outputs: Any) -> str:
        return STATUS[built.net_run(instance, inputs, outputs)]

    one, given, lacking = ctypes.byref(instance), ctypes.byref(some), ctypes.byref(none)
    assert run(one, given, given) == "NOT_INITIALIZED"
    assert init(None, arena, size) == init(one, None, size) == "NULL_POINTER"
    assert init(one, arena, size - 1) == "ARENA_TOO_SMALL"
    assert init(one, arena + 16, size) == "ARENA_MISALIGNED"
    assert run(one, given, given) == "NOT_INITIALIZED", "an arena that was refused is not used"
    assert init(one, arena, size) == "OK"
    assert run(None, given, given) == run(one, None, given) == run(one, given, None) == "NULL_POINTER"
    assert run(one, lacking, given) == run(one, given, lacking) == "NULL_POINTER"
    assert run(one, given, given) == "OK"


def test_the_library_calls_nothing_but_memcpy(built: Any) -> None:
    folder = Path(built._name).parent
    compiled, include = folder / "net.o", [f"-I{folder / name}" for name in ("common", "npu")]
    subprocess.run(
        ["cc", "-Os", "-c", "-o", str(compiled), *include, str(folder / "models/net.c")],
        check=True,
    )
    symbols = subprocess.run(
        ["nm", "--undefined-only", str(compiled)], capture_output=True, text=True, check=True
    ).stdout
    names = {line.split()[-1] for line in symbols.splitlines()}
    own = {"npu_run", "net_commands0", "net_weights0"}
    assert own <= names <= own | {"memcpy", "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail"}


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_compilers_have_nothing_to_say(compiler: str, tmp_path: Path) -> None:
    compile_project([words(), model()], compiler, tmp_path)


def test_a_model_without_weights_has_no_array_of_them(tmp_path: Path) -> None:
    steps = tuple(dataclasses.replace(job, weights=b"") for job in model().jobs)
    files = library(dataclasses.replace(model(), steps=steps))
    assert "net_weights" not in files["net.c"] + files["net_data.c"]
    assert ".weights = NULL," in files["net.c"]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("MobileNet-v2", "mobilenet_v2"),
        ("2nd try", "model_2nd_try"),
        ("--", "model"),
        ("int", "int"),
        ("npu", "model_npu"),
        ("ethosu", "model_ethosu"),
    ],
)
def test_names_become_identifiers(name: str, wanted: str) -> None:
    assert identifier(name) == wanted


NAMES = ("int", "memcpy", "string", "model", "inputs", "value0", "gather_kernel0", "npu_job_0", "tosa", "board", "main")


@pytest.mark.parametrize("compiler", ["gcc", "g++", "clang"])
def test_a_model_may_have_the_name_of_anything_in_c(compiler: str, tmp_path: Path) -> None:
    compile_project([dataclasses.replace(words(), name=name) for name in NAMES], compiler, tmp_path)


@pytest.mark.parametrize("names", [("net", "net"), ("net", "net_data")])
def test_models_of_one_name_are_refused(names: tuple[str, str]) -> None:
    with pytest.raises(UsageError, match=rf"models/net\w*\.\w: in C their names are {', '.join(names)}\. Give each"):
        project([dataclasses.replace(model(), name=name) for name in names], find_board("host"))
