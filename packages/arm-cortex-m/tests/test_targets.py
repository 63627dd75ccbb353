"""Cortex-M as a target: what is compiled, deployed for boards, and run."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
import torch
from c_compiler import WARNINGS

from arm_cortex_m.cores import BACKEND_ID, CORES
from arm_cortex_m.firmware import FIRMWARE, on_host
from arm_cortex_m.firmware.formats import project
from arm_cortex_m.firmware.formats.sources import sources
from arm_cortex_m.firmware.library import library
from arm_cortex_m.firmware.memory import arena_bytes, arena_kind
from arm_cortex_m.firmware.model import Model
from arm_cortex_m.firmware.processor import SPEC as SPEC_TEXT
from arm_cortex_m.firmware.program import model_of
from arm_tosa_core import lower
from arm_tosa_core.accuracy.against_reference_model import compare
from arm_tosa_core.accuracy.random_inputs import random_inputs
from arm_tosa_core.cli.verify import verify
from arm_tosa_core.exir.compile_spec import TargetCompileSpec
from arm_tosa_core.exir.pte import read
from arm_tosa_core.plugin import entry_points as plugins
from arm_tosa_core.plugin.firmware import Program
from arm_tosa_core.support.errors import NothingDelegatedWarning, UsageError
from arm_tosa_core.testing.case import OpCase
from arm_tosa_core.testing.cases import CASES
from arm_tosa_core.testing.harness import exported
from arm_tosa_core.testing.test_operators import check_case
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification
from build_tools import require
from networks import program

SPEC = TosaSpecification.create_from_string(SPEC_TEXT)
SCHEMES = ("int8", "int16x8", "int8x4")
#: Of the kit, one case of each kind of layer that has weights.
WITH_WEIGHTS = [
    case
    for case in CASES
    if case.name
    in (
        *("conv1d/plain", "conv2d/grouped", "conv2d/depthwise, multiplier", "conv_transpose1d/plain", "linear/wide"),
        *("conv_transpose2d/grouped", "attention/multi-head", "rnn/relu", "lstm/batch_first", "gru/batch_first"),
        *("embedding/int32", "conv2d/batch_norm", "bmm/constant"),
    )
]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_all_of_a_network_is_one_delegate(scheme: str) -> None:
    (delegate,) = read(program("cortex-m4", scheme).pte).delegates
    assert (delegate.backend_id, delegate.options["name"]) == (BACKEND_ID, "cortex-m4")
    assert list(program("cortex-m4", scheme).graphs) == [delegate.payload], "the payload is the TOSA flatbuffer"


def test_the_mean_of_an_image_is_one_step_without_weights() -> None:
    module, x = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1)), torch.randn(1, 16, 4, 6)
    spec = TargetCompileSpec("cortex-m4")
    made = lower(exported(module, (x,), spec, "int8"), spec)
    steps = model_of("mean", Program(made.buffer), "cortex-m4", None).operators
    sums = ["RESCALE", "REDUCE_SUM", "REDUCE_SUM", "RESCALE"]
    assert [[op.name for op in step.ops] for step in steps if len(step.ops) > 1] == [sums]


@pytest.mark.parametrize("name", CORES)
def test_every_core_is_a_target(name: str) -> None:
    target = plugins.targets()[name]
    assert target.compiler.backend_id == BACKEND_ID and target.host.run is not None


@pytest.mark.parametrize("scheme", SCHEMES)
def test_firmware_on_this_machine_agrees_with_the_reference_model(scheme: str, tmp_path: Path) -> None:
    require("cmake", "cc")
    done = FIRMWARE.deploy({"net": program("cortex-m55", scheme)}, "cortex-m55", "host", tmp_path)
    assert done.runs and not done.notes
    operators = {name for row in done.processor for name in row.operator.split(" + ")}
    assert {"CONV2D", "DEPTHWISE_CONV2D", "TRANSPOSE_CONV2D", "AVG_POOL2D", "MAX_POOL2D", "RESCALE"} <= operators
    (verified,) = FIRMWARE.verify(tmp_path, [])
    assert (verified.wrong, verified.size) == (0, 10)
    commands = json.loads((tmp_path / "build" / "compile_commands.json").read_text())
    built = {Path(each["file"]).name: re.findall(r"-O[0-3s]", each["command"])[-1] for each in commands}
    assert built["net.c"] == "-Os"
    if scheme == "int8":
        assert built["tosa_conv2d_s8.c"] == "-O2", "firmware is for size, but for the functions of operators"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_graph_runs_here_by_the_functions_of_firmware(
    scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``verify`` compares these with the reference model: a fault of the C is found."""
    require("cc")
    (tmp_path / "net.pte").write_bytes(program("cortex-m33", scheme).pte)
    done = verify(tmp_path / "net.pte")
    assert done.status == 0 and [row["target"] for row in done.data["graphs"]] == ["cortex-m33"]

    def wrong(models: list[Model], npu: None) -> dict[str, str]:
        files = sources(models, npu)
        end = "    return MODEL_OK;\n}\n"
        text = files["models/graph.c"].removesuffix(end)
        return {**files, "models/graph.c": f"{text}    outputs->output0[0] = (int8_t)~outputs->output0[0];\n{end}"}

    monkeypatch.setattr(on_host, "sources", wrong)
    on_host._built.cache_clear()
    graph = load(program("cortex-m33", scheme).graphs[read(program("cortex-m33", scheme).pte).delegates[0].payload])
    finding = compare(serialize(graph, SPEC), random_inputs(graph, 0), on_host.run)
    assert finding is not None and finding.count == 1
    on_host._built.cache_clear()


@pytest.mark.parametrize("case", WITH_WEIGHTS, ids=lambda case: case.name)
def test_layers_of_weights_of_4_bits_are_the_reference_models(case: OpCase) -> None:
    require("cc")
    check_case(case, "int8x4", plugins.target("cortex-m33"))


def test_weights_of_4_bits_are_half_the_bytes() -> None:
    dense = {"int8": "tosa_conv2d_s8", "int8x4": "tosa_conv2d_s4"}
    weights = {
        scheme: [
            value.size
            for step in model_of("net", program("cortex-m55", scheme), "cortex-m55", None).calls
            for name, value in step.constants.items()
            if step.call.function == function and name.endswith("weights")
        ]
        for scheme, function in dense.items()
    }
    assert weights["int8"] and len(weights["int8x4"]) == len(weights["int8"])
    assert all(packed <= size // 2 + 16 for packed, size in zip(weights["int8x4"], weights["int8"], strict=True))


def test_nothing_of_an_npu_is_in_the_folder(tmp_path: Path) -> None:
    for form, board in (("cmake", "mps3-an547"), ("zephyr", ""), ("cmsis-pack", "")):
        FIRMWARE.deploy({"net": program()}, "cortex-m55", board, tmp_path / form, form)
        for file in (tmp_path / form).rglob("*"):
            if file.is_file() and "boards" not in file.parts and file.suffix in {".c", ".txt", ".yml", ".pdsc", ""}:
                assert not re.search(r"\bnpu", file.read_text().lower()), file
        assert not (tmp_path / form / "npu").exists()
        assert (tmp_path / form / "common" / "model_memory.h").is_file()


@pytest.mark.parametrize("compiler", ["gcc", "clang", "arm-none-eabi-gcc"])
def test_the_library_compiles_without_a_warning(compiler: str, tmp_path: Path) -> None:
    require(compiler)
    models = [model_of(scheme, program("cortex-m55", scheme), "cortex-m55", None) for scheme in SCHEMES]
    for path, body in project(models, None, "zephyr", npu=None).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(body)
    include = [f"-I{tmp_path / name}" for name in (".", "common", "processor")]
    sources = [str(file) for folder in ("models", "processor") for file in (tmp_path / folder).glob("*.c")]
    assert len(sources) > 4
    done = subprocess.run([compiler, *WARNINGS, "-fsyntax-only", *include, *sources], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("board", "core"), [("mps2-an386", "cortex-m4"), ("mps2-an500", "cortex-m7"), ("mps3-an547", "cortex-m55")]
)
def test_a_board_has_one_core(board: str, core: str, tmp_path: Path) -> None:
    FIRMWARE.deploy({"net": program(core)}, core, board, tmp_path / "right")
    with pytest.raises(UsageError, match=f"board {board!r} has a {core}, and the models are for cortex-m33"):
        FIRMWARE.deploy({"net": program()}, "cortex-m33", board, tmp_path / "wrong")
    assert not (tmp_path / "wrong").exists()


@pytest.mark.parametrize("name", CORES)
def test_a_board_of_yours_begins_with_the_core_of_the_target(name: str, tmp_path: Path) -> None:
    FIRMWARE.deploy({"net": program()}, name, "generic", tmp_path)
    text = (tmp_path / "boards" / "generic" / "toolchain.cmake").read_text()
    assert f'set(CMAKE_SYSTEM_PROCESSOR {name})\nset(core_flags "{CORES[name].flags}")' in text
    assert "${CMAKE_CURRENT_LIST_DIR}" in text


class Volume(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Conv3d(2, 3, (2, 3, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.layer(x))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_has_no_kernel_is_refused_when_it_is_compiled(scheme: str) -> None:
    spec = TargetCompileSpec("cortex-m55")
    inputs = (torch.randn(1, 2, 4, 6, 6),)
    with pytest.warns(NothingDelegatedWarning, match="CONV3D has no kernel"):
        made = lower(exported(Volume().eval(), inputs, spec, scheme), spec)
    with pytest.raises(UsageError, match="this program leaves to ExecuTorch: aten::convolution.out") as caught:
        model_of("volume", Program(made.buffer), "cortex-m55", None)
    assert "NPU" not in str(caught.value) and "--format" not in str(caught.value), "there are none"


class Alone(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x)


def test_one_operator_needs_no_arena_but_c_needs_one(tmp_path: Path) -> None:
    """Between its input and its output there is nothing."""
    spec = TargetCompileSpec("cortex-m7")
    made = lower(exported(Alone(), (torch.randn(4, 4),), spec, "int8"), spec)
    model = model_of("alone", Program(made.buffer), "cortex-m7", None)
    assert (arena_bytes([model]), arena_kind([model])) == (32, "SRAM")
    assert "model_status status;" not in library(model)["alone.c"], "nothing can fail"


class HandsOn(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.relu(x), y


def test_reals_that_nothing_quantizes_are_refused_by_name() -> None:
    spec = TargetCompileSpec("cortex-m55")
    made = lower(exported(HandsOn(), (torch.randn(4), torch.randn(3)), spec, "int8"), spec)
    with pytest.raises(UsageError, match="net: input1 is float32 and no operator of the model quantizes it"):
        model_of("net", Program(made.buffer), "cortex-m55", None)
