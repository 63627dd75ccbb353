"""Firmware as sources: what is written, that compilers take it without a warning, and what its functions return."""

from __future__ import annotations

import ctypes
import dataclasses
import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from arm_ethosu import EthosUCompileSpec
from arm_ethosu.firmware import FIRMWARE
from arm_ethosu.firmware.arena import Arena, arena_bytes
from arm_ethosu.firmware.board import find_board
from arm_ethosu.firmware.c_text import float_text
from arm_ethosu.firmware.formats import project
from arm_ethosu.firmware.library import library
from arm_ethosu.firmware.memory import memory_map
from arm_ethosu.firmware.model import Model, Port, identifier
from arm_ethosu.firmware.ports import as_integers, real
from arm_ethosu.firmware.program import model_of
from arm_ethosu.firmware.templates import FOLDER
from arm_tosa_core import lower
from arm_tosa_core.plugin.firmware import Program
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.testing.harness import exported

WARNINGS = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
STATUS = ["OK", "NULL_POINTER", "NOT_INITIALIZED", "ARENA_TOO_SMALL", "ARENA_MISALIGNED", "NPU_FAILED"]


class Net(torch.nn.Module):
    """Two inputs, two outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Conv2d(3, 4, 3)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        out = torch.relu(self.layer(x) + y)
        return out, out.mean((2, 3))


@cache
def program(target: str = "ethos-u55-128") -> bytes:
    torch.manual_seed(0)
    inputs = (torch.randn(1, 3, 8, 8), torch.randn(1, 4, 6, 6))
    spec = EthosUCompileSpec(target)
    return lower(exported(Net().eval(), inputs, spec, "int8"), spec).buffer


@cache
def model(target: str = "ethos-u55-128") -> Model:
    return model_of("net", Program(program(target)), target)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The C library on the null device, as this machine's shared library, with every warning an error."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler: apt-get install build-essential")
    folder = tmp_path_factory.mktemp("library")
    FIRMWARE.deploy({"net": Program(program())}, "ethos-u55-128", "host", folder)
    sources = [str(folder / name) for name in ("models/net.c", "models/net_data.c", "npu/null.c")]
    command = [
        compiler,
        *WARNINGS,
        "-shared",
        "-fPIC",
        "-o",
        str(folder / "net.so"),
        f"-I{folder}",
        f"-I{folder / 'npu'}",
        *sources,
    ]
    subprocess.run(command, check=True, timeout=120)
    return ctypes.CDLL(str(folder / "net.so"))


def test_a_program_has_the_ports_of_its_model() -> None:
    found = model()
    assert [(port.name, port.shape, port.dtype) for port in found.inputs + found.outputs] == [
        ("input0", (1, 3, 8, 8), "int8"),
        ("input1", (1, 4, 6, 6), "int8"),
        ("output0", (1, 4, 6, 6), "int8"),
        ("output1", (1, 4), "int8"),
    ]
    (job,) = found.jobs
    assert all(port.scale and port.program_dtype == "float32" for port in found.inputs + found.outputs)
    assert all(offset + value.size <= job.scratch for value, offset in job.inputs + job.outputs)


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
    compiled = folder / "net.o"
    subprocess.run(
        ["cc", "-Os", "-c", "-o", str(compiled), "-I", str(folder / "npu"), str(folder / "models/net.c")], check=True
    )
    symbols = subprocess.run(
        ["nm", "--undefined-only", str(compiled)], capture_output=True, text=True, check=True
    ).stdout
    names = {line.split()[-1] for line in symbols.splitlines()}
    own = {"npu_run", "net_commands0", "net_weights0"}
    assert own <= names <= own | {"memcpy", "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail"}


class Words(torch.nn.Module):
    """A table of words, which stays on the processor, before a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.last = torch.nn.Embedding(50, 16), torch.nn.Linear(16, 16)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return self.last(torch.relu(self.table(words)))


@cache
def words() -> Model:
    inputs, spec = (torch.arange(8)[None],), EthosUCompileSpec("ethos-u55-128")
    program = exported(Words().eval(), inputs, spec, "int8")
    return model_of("words", Program(lower(program, spec, remainder=FIRMWARE.remainder()).buffer), "ethos-u55-128")


def test_a_table_of_words_is_on_the_processor() -> None:
    found = words()
    assert [step.op.name for step in found.operators] == ["GATHER"] and len(found.jobs) == 1
    assert [(port.dtype, port.program_dtype) for port in found.inputs] == [("int32", "int64")]
    assert "#define WORDS_CONSTANTS_BYTES 800u" in library(found)["words.h"]


def test_what_is_in_use_at_one_time_has_places_of_its_own() -> None:
    found = words()
    arena, (job,) = Arena(found), found.jobs
    ((value, at),) = arena.values.items()
    assert at % 16 == 0 and not (at < arena.scratch(job) + job.scratch and arena.scratch(job) < at + value.size)
    assert arena.size >= job.scratch + value.size


#: Arm's driver, and instructions of Cortex-M: compiled in test_firmware_driver.py.
NEEDS_A_CORE = ("core_driver.c", "cache_cortex_m.c")


def compile_project(models: list[Model], compiler: str, folder: Path) -> None:
    """Every C file of a firmware, with all warnings as errors; for C++, a file that includes the models' headers."""
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}: apt-get install {compiler}")
    for path, body in project(models, find_board("host")).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(body)
    include = [f"-I{folder / name}" for name in (".", "npu", "processor", "boards")]
    sources, warnings = [path for path in folder.rglob("*.c") if path.name not in NEEDS_A_CORE], WARNINGS
    if compiler.endswith("++"):
        (folder / "all.cpp").write_text("".join(f'#include "models/{model.name}.h"\n' for model in models))
        sources, warnings = [folder / "all.cpp"], WARNINGS[1:]
    done = subprocess.run(
        [compiler, *warnings, "-fsyntax-only", *include, *map(str, sources)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_compilers_have_nothing_to_say(compiler: str, tmp_path: Path) -> None:
    compile_project([words(), model()], compiler, tmp_path)


def test_same_programs_same_bytes() -> None:
    one, other = (
        project([model_of("net", Program(program()), "ethos-u55-128")], find_board("mps3-an547")) for _ in range(2)
    )
    assert one == other and len(one) > 15


@pytest.mark.parametrize(
    ("target", "constants", "arena"),
    [("ethos-u55-128", "OffChipFlash", "Sram"), ("ethos-u65-256", "Dram", "Dram"), ("ethos-u85-256", "Sram", "Sram")],
)
def test_the_memory_map_says_what_vela_planned_for(target: str, constants: str, arena: str) -> None:
    rows = {part: where for part, where, _ in memory_map([model(target)])}
    assert rows == {
        "net: commands": f"flash (.model_flash), planned for {constants}",
        "net: weights": f"flash (.model_flash), planned for {constants}",
        "arena": f"SRAM (.model_sram), planned for {arena}",
    }


def test_the_fast_memory_of_dedicated_sram_is_in_the_arena() -> None:
    found = model("ethos-u65-256")
    (job,) = found.jobs
    assert job.fast_scratch == 384 * 1024
    assert f".fast_scratch_size = {job.fast_scratch}u," in library(found)["net.c"]
    assert arena_bytes([found]) >= job.scratch + job.fast_scratch


def test_a_fast_memory_of_unknown_size_is_refused() -> None:
    inputs = (torch.randn(1, 3, 8, 8), torch.randn(1, 4, 6, 6))
    spec = EthosUCompileSpec("ethos-u85-256", memory_mode="Dedicated_Sram")
    pte = lower(exported(Net().eval(), inputs, spec, "int8"), spec).buffer
    with pytest.raises(UsageError, match="net: the memory mode 'Dedicated_Sram' does not say how large"):
        model_of("net", Program(pte), "ethos-u85-256")


def test_a_model_without_weights_has_no_array_of_them(tmp_path: Path) -> None:
    steps = tuple(dataclasses.replace(job, weights=b"") for job in model().jobs)
    files = library(dataclasses.replace(model(), steps=steps))
    assert "net_weights" not in files["net.c"] + files["net_data.c"]
    assert ".weights = NULL," in files["net.c"]


def test_deploying_again_keeps_what_the_user_wrote(tmp_path: Path) -> None:
    def deploy(board: str = "host") -> Any:
        return FIRMWARE.deploy({"net": Program(program())}, "ethos-u55-128", board, tmp_path)

    deploy()
    (tmp_path / "app" / "mine.c").write_text("int mine;\n")
    assert list(deploy().changed) == []
    done = deploy("mps3-an547")
    assert "boards/host/host.c" in done.removed and not (tmp_path / "boards" / "host" / "host.c").exists()
    assert (tmp_path / "app" / "mine.c").read_text() == "int mine;\n"
    (tmp_path / "app" / "main.c").write_text("/* changed */\n")
    deploy()
    deploy()
    assert (tmp_path / "app" / "main.c").read_text() == "/* changed */\n", "the application is the user's"
    (tmp_path / "models" / "net.c").write_text("/* changed */\n")
    with pytest.raises(UsageError, match=r"models/net\.c would be overwritten"):
        deploy("mps3-an547")
    assert (tmp_path / "boards" / "host" / "host.c").exists(), "nothing was written"


def test_a_folder_of_an_earlier_version_can_be_deployed_into(tmp_path: Path) -> None:
    """Its manifest does not tell of references; one that is damaged is named, with what to do."""
    programs = {"net": Program(program())}
    FIRMWARE.deploy(programs, "ethos-u55-128", "host", tmp_path)
    manifest = tmp_path / "arm-firmware.json"
    said = json.loads(manifest.read_text())
    del said["models"][0]["reference"]
    manifest.write_text(json.dumps(said))
    assert list(FIRMWARE.deploy(programs, "ethos-u55-128", "host", tmp_path).changed) == []
    manifest.write_text("{}")
    with pytest.raises(UsageError, match=r"arm-firmware\.json is damaged: KeyError: 'board'\. Deploy into"):
        FIRMWARE.deploy(programs, "ethos-u55-128", "host", tmp_path)


def test_what_firmware_cannot_run_is_named() -> None:
    class Left(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.sort(torch.relu(x) * 3)[0]

    inputs = (torch.randn(1, 16),)
    spec = EthosUCompileSpec("ethos-u55-128")
    pte = lower(exported(Left(), inputs, spec, "int8"), spec).buffer
    with pytest.raises(UsageError, match=r"left: .*leaves to ExecuTorch: aten::sort"):
        model_of("left", Program(pte), "ethos-u55-128")


class Constant(torch.nn.Module):
    """Returns a number of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.arange(4, dtype=torch.int32))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, Any]:
        return torch.relu(x) * 3, self.table


def test_a_constant_output_is_named() -> None:
    spec = EthosUCompileSpec("ethos-u55-128")
    pte = lower(exported(Constant().eval(), (torch.randn(1, 16),), spec, "int8"), spec).buffer
    with pytest.raises(UsageError, match=r"net: output 1 is the same in every run, a constant"):
        model_of("net", Program(pte), "ethos-u55-128")


def test_an_output_may_be_an_input() -> None:
    class Same(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return torch.relu(x) * 3, y

    spec = EthosUCompileSpec("ethos-u55-128")
    inputs = torch.randn(1, 16), torch.arange(4, dtype=torch.int32)
    found = model_of("net", Program(lower(exported(Same(), inputs, spec, "int8"), spec).buffer), "ethos-u55-128")
    assert "(void)memcpy(outputs->output1, inputs->input1, 16u);" in library(found)["net.c"]


class Crossing(torch.nn.Module):
    """A value that layers on the NPU read, and a matrix product of 16 bits on the processor through a view."""

    def __init__(self, views: int) -> None:
        super().__init__()
        self.views = views
        self.a, self.b, self.c = (torch.nn.Linear(16, 16) for _ in range(3))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        q = self.a(x)
        k = self.b(q) if self.views == 1 else q
        return q.view(1, 8, 4, 4) @ k.view(1, 8, 4, 4), self.c(q)


@pytest.mark.parametrize("views", [1, 2])
def test_a_value_crosses_as_integers_through_a_view(views: int) -> None:
    spec = EthosUCompileSpec("ethos-u55-128")
    program = exported(Crossing(views).eval(), (torch.randn(1, 8, 16),), spec, "int16x8")
    pte = lower(program, spec, remainder=FIRMWARE.remainder()).buffer
    found = model_of("net", Program(pte), "ethos-u55-128")
    assert "MATMUL" in [step.op.name for step in found.operators] and found.jobs


def test_the_processor_takes_what_has_a_kernel() -> None:
    pooled = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.MaxPool2d(2))
    spec = FIRMWARE.remainder()
    report = lower(exported(pooled, (torch.randn(1, 3, 8, 8),), spec, "int8"), spec).report
    assert [row.node for row in report.delegated] == ["relu"]
    assert [row.reason for row in report.rejected] == ["MAX_POOL2D has no kernel"]


def test_an_unknown_board_lists_those_that_there_are() -> None:
    with pytest.raises(
        UsageError, match="there is no board 'arduino'; boards are: generic, host, mps2-an500, mps3-an547"
    ):
        find_board("arduino")


def test_a_package_brings_a_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the entry point ``arm_tosa.boards`` of an installed distribution."""
    board = tmp_path / "site" / "acme_boards" / "acme-one"
    board.mkdir(parents=True)
    (board / "board.toml").write_text('description = "ACME one"\nshares = ["cortex-m"]\n')
    (board / "board.cmake").write_text("# of ACME one\n")
    made = "from pathlib import Path\n\nACME_ONE = Path(__file__).parent / 'acme-one'\n"
    (tmp_path / "site" / "acme_boards" / "__init__.py").write_text(made)
    installed = tmp_path / "site" / "acme_boards-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-boards\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[arm_tosa.boards]\nacme-one = acme_boards:ACME_ONE\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert FIRMWARE.boards()["acme-one"] == "ACME one"
    FIRMWARE.deploy({"net": Program(program())}, "ethos-u55-128", "acme-one", tmp_path / "firmware")
    assert (tmp_path / "firmware" / "boards" / "acme-one" / "board.cmake").read_text() == "# of ACME one\n"
    assert (tmp_path / "firmware" / "boards" / "cortex-m" / "start.c").is_file()
    assert "include(boards/acme-one/board.cmake)" in (tmp_path / "firmware" / "CMakeLists.txt").read_text()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("description = ", "Invalid value"),
        ("descripton = 'x'", "descripton = 'x'"),
        ("description = 'x'\nrun = 'qemu'", "run = 'qemu'"),
        ("run = ['qemu']", "description is missing"),
        ("description = 'x'\nshares = ['mine']", "shares 'mine'; what there is to share: cortex-m"),
    ],
)
def test_a_wrong_board_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, reason: str) -> None:
    (tmp_path / "board.toml").write_text(text)
    monkeypatch.setattr("arm_ethosu.firmware.board.boards", lambda: {"mine": tmp_path})
    with pytest.raises(UsageError, match=reason):
        find_board("mine")


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


def test_reals_become_the_integers_of_executorch(tmp_path: Path) -> None:
    """Halves, numbers that are far away, infinities, and random ones."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler: apt-get install build-essential")
    source = """
#include "model_numbers.h"
void convert(const float *reals, int32_t *integers, float *back, int count) {
    for (int i = 0; i < count; i++) {
        integers[i] = model_quantize(reals[i], INVERSE, ZERO_POINT, LEAST, MOST);
        back[i] = model_dequantize(integers[i], SCALE, ZERO_POINT);
    }
}
"""
    (tmp_path / "convert.c").write_text(source)
    ports = [
        Port("x", (4,), "int8", "float32", 0.1, -7, (-128, 127)),
        Port("x", (4,), "int16", "float32", 3e-5, 0, (-32768, 32767)),
    ]
    for number, port in enumerate(ports):
        assert port.scale is not None
        words = {"INVERSE": 1 / port.scale, "SCALE": port.scale}
        defined = [f"-D{name}={float_text(value)}" for name, value in words.items()]
        defined += [f"-DZERO_POINT=({port.zero_point})", f"-DLEAST=({port.bounds[0]})", f"-DMOST={port.bounds[1]}"]
        library = tmp_path / f"{number}.so"
        command = ["cc", "-Os", *WARNINGS, *defined, f"-I{FOLDER / 'npu'}", "-shared", "-fPIC", "-o", library]
        subprocess.run([*map(str, command), str(tmp_path / "convert.c")], check=True, timeout=60)
        halves = (np.arange(-400, 400) + 0.5) * port.scale
        edges = np.array([0.0, -0.0, 1e9, -1e9, np.inf, -np.inf])
        reals = np.concatenate([halves, edges, np.random.default_rng(0).normal(0, 3, 2000)]).astype(np.float32)
        integers, back = np.empty(reals.shape, np.int32), np.empty_like(reals)
        pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (reals, integers, back)]
        ctypes.CDLL(str(library)).convert(*pointers, reals.size)
        with np.errstate(invalid="ignore"):
            (wanted,) = as_integers("x", [dataclasses.replace(port, shape=reals.shape)], [reals])
        assert np.array_equal(integers, wanted) and np.unique(integers).size > 200
        assert np.array_equal(back, real(port, wanted))


@pytest.mark.parametrize("value", [1.0, 0.1, 0.004200587514787912, 3e-12, 1e20])
def test_floats_are_the_nearest(value: float) -> None:
    text = float_text(value)
    assert text.endswith("f") and ("." in text or "e" in text)
    assert np.float32(float(text[:-1])) == np.float32(value)
