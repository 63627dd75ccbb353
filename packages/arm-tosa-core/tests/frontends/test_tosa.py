"""A ``.tosa`` file as a program: integers as the reference model has them, reals as PyTorch; damaged files refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from arm_tosa_core import TosaCompileSpec, UsageError, load_model, lower
from arm_tosa_core.accuracy.random_inputs import random_inputs
from arm_tosa_core.cli.quantize import hint
from arm_tosa_core.exir.pte import delegates
from arm_tosa_core.frontends.tosa.reals import _OPERATORS
from arm_tosa_core.lowering.exported_program import is_quantized
from arm_tosa_core.testing.harness import exported
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.reference_model import run
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification

INT = TosaCompileSpec("TOSA-1.0+INT+int16+int4")
FP = TosaSpecification.create_from_string("TOSA-1.0+FP")
FFT = TosaSpecification.create_from_string("TOSA-1.0+FP+INT+fft")
rand = torch.rand


class Called(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.function(*inputs)


#: With a constant weight, sums of 48 bits (int16), tables, moves, comparisons, indices, one operand twice.
NETWORKS: dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]] = {
    "conv": (nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU6(), nn.Conv2d(8, 8, 3, groups=8)), (rand(1, 3, 9, 9),)),
    "transposed": (nn.ConvTranspose2d(3, 4, 3, 2, 1, 1), (rand(1, 3, 5, 5),)),
    "layers": (nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Softmax(-1)), (rand(2, 8),)),
    "pools": (Called(lambda x: F.max_pool2d(x, 3, 2, 1) + F.avg_pool2d(x, 3, 2, 1)), (rand(1, 3, 8, 8),)),
    "choice": (Called(lambda x, y: torch.where(x > y, x * x, y).amax(1)), (rand(2, 3, 4), rand(2, 3, 4))),
    "index": (Called(lambda x: x[:, torch.tensor([2, 0, 1, 1])].flip(1).argmax(1)), (rand(2, 3, 4),)),
}


@pytest.mark.parametrize("scheme", ["int8", "int16"])
@pytest.mark.parametrize("name", NETWORKS)
def test_integers_are_equal_in_pytorch_and_compiled_again(tmp_path: Path, name: str, scheme: str) -> None:
    module, inputs = NETWORKS[name]
    (file := tmp_path / "net.tosa").write_bytes(_tosa(exported(module.eval(), inputs, INT, scheme)))
    arrays = random_inputs(load(file.read_bytes()), 0)
    (wanted,) = run(file.read_bytes(), arrays)
    program = load_model(file)
    assert is_quantized(program) or name == "index"  # which moves integers only
    (made,) = program.module()(*map(torch.from_numpy, arrays))
    np.testing.assert_array_equal(made.numpy(), wanted)
    np.testing.assert_array_equal(run(_tosa(program), arrays)[0], wanted)


def _tosa(program: torch.export.ExportedProgram) -> bytes:
    lowered = lower(program, INT, cache=False)
    assert not lowered.report.rejected
    (delegate,) = delegates(lowered.buffer)
    return delegate.payload


def graph(name: str, *shapes: tuple[int, ...], **attrs: object) -> Graph:
    """An operator on float32, with its other operands, which are constants."""
    made = Graph()
    inputs = [made.input(f"x{place}", shape, DType.FP32) for place, shape in enumerate(shapes)]
    zero = made.constant(np.zeros(1, np.float32), DType.FP32)
    shift = made.constant(np.zeros(1, np.int8), DType.INT8)
    more = {
        "MUL": [shift],
        "RESHAPE": [made.shape([6, 4])],
        "SLICE": [made.shape([0, 1, 2]), made.shape([2, 2, 2])],
        "TILE": [made.shape([2, 1, 3])],
        "PAD": [made.shape([0, 1, 2, 0, 0, 3]), made.constant(np.full(1, 0.5, np.float32), DType.FP32)],
    }
    zeros = name in ("NEGATE", "MATMUL", "AVG_POOL2D") or "CONV2D" in name
    if name == "SELECT":
        inputs.insert(0, made.append("GREATER", inputs).output)
    made.outputs = [made.append(name, [*inputs, *more.get(name, ()), *[zero] * 2 * zeros], attrs).output]
    return made


_IMAGE = (1, 7, 9, 4)
_CUBE = (2, 3, 4)
_PLACED = {"pad": (1, 1, 1, 1), "stride": (2, 2)}
_PAIRS = ("ADD", "EQUAL", "GREATER", "GREATER_EQUAL", "MAXIMUM", "MINIMUM", "MUL", "POW", "SELECT", "SUB")
_ONES = ("ABS", "CEIL", "COS", "ERF", "EXP", "FLOOR", "LOG", "NEGATE", "RECIPROCAL", "RSQRT", "SIGMOID", "SIN", "TANH")
#: Each operator of the table in ``reals``, with parameters that PyTorch calls otherwise.
REALS: list[Graph] = [
    *(graph(name, _CUBE, (2, 1, 4)) for name in _PAIRS),
    *(graph(name, _CUBE) for name in _ONES),
    *(graph(f"REDUCE_{name}", _CUBE, axis=1) for name in ("MAX", "MIN", "PRODUCT", "SUM")),
    *(graph(name, _CUBE) for name in ("PAD", "RESHAPE", "SLICE", "TILE")),
    graph("CLAMP", _CUBE, min_val=0.2, max_val=0.7),
    graph("CONCAT", _CUBE, _CUBE, axis=1),
    graph("REVERSE", _CUBE, axis=2),
    graph("TRANSPOSE", _CUBE, perms=(2, 0, 1)),
    graph("MATMUL", (2, 3, 4), (2, 4, 5)),
    graph("CONV2D", _IMAGE, (5, 3, 2, 4), (5,), pad=(1, 1, 0, 1), stride=(2, 1), dilation=(1, 2)),
    graph("CONV2D", _IMAGE, (5, 3, 3, 4), (1,), dilation=(1, 1), **_PLACED),
    graph("DEPTHWISE_CONV2D", _IMAGE, (3, 3, 4, 2), (8,), dilation=(1, 1), **_PLACED),
    graph("TRANSPOSE_CONV2D", _IMAGE, (5, 3, 3, 4), (5,), out_pad=(-1, 0, 0, -1), stride=(2, 3)),
    graph("TRANSPOSE_CONV2D", _IMAGE, (5, 3, 3, 4), (5,), out_pad=(0, 1, 2, 0), stride=(2, 3)),
    graph("AVG_POOL2D", _IMAGE, kernel=(3, 3), **_PLACED),
    graph("MAX_POOL2D", _IMAGE, kernel=(3, 3), **_PLACED),
    graph("MAX_POOL2D", _IMAGE, kernel=(2, 3), stride=(2, 2), pad=(1, 0, 1, 1)),
    graph("MAXIMUM", _CUBE, _CUBE, nan_mode="IGNORE"),
]


@pytest.mark.parametrize("real", REALS, ids=lambda real: real.ops[-1].name)
def test_operators_on_reals_are_those_of_pytorch(tmp_path: Path, real: Graph) -> None:
    (file := tmp_path / "net.tosa").write_bytes(serialize(real, FP))
    arrays = [np.random.default_rng(place).random(t.shape, np.float32) for place, t in enumerate(real.inputs)]
    (wanted,) = run(file.read_bytes(), arrays)
    (made,) = load_model(file).module()(*map(torch.from_numpy, arrays))
    np.testing.assert_allclose(made.numpy(), wanted, rtol=2e-6, atol=1e-6)


def test_each_operator_on_reals_is_tried() -> None:
    assert {real.ops[-1].name for real in REALS} == set(_OPERATORS)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", r'net.tosa: not a TOSA flatbuffer: the file identifier "TOSA" is missing'),
        (b"\x1c\0\0\0TFL3" + bytes(40), r'net.tosa: not a TOSA flatbuffer: the file identifier "TOSA" is missing'),
        (serialize(REALS[0], FP)[:80], r"net.tosa: the TOSA flatbuffer is damaged or cut short: copy it again"),
    ],
)
def test_what_is_no_tosa_file_is_refused(tmp_path: Path, data: bytes, said: str) -> None:
    (file := tmp_path / "net.tosa").write_bytes(data)
    with pytest.raises(UsageError, match=said):
        load_model(file)


def test_constants_that_tosa_forbids_end_no_process(tmp_path: Path) -> None:
    divided = Graph()
    numbers = [divided.constant(np.array([n], np.int32), DType.INT32) for n in (1, 0)]
    divided.outputs = divided.append("INTDIV", numbers).outputs
    (file := tmp_path / "net.tosa").write_bytes(serialize(divided, INT.tosa_spec))
    with pytest.raises(UsageError, match=r"net.tosa: INTDIV '.*': TOSA reference model was killed"):
        load_model(file)


def test_types_that_pytorch_lacks_are_refused_at_the_ends(tmp_path: Path) -> None:
    moved = Graph()
    moved.outputs = [moved.append("REVERSE", [moved.input("small", (2, 2), DType.INT4)], {"axis": 0}).output]
    spec = TosaSpecification.create_from_string("TOSA-1.0+INT+int4")
    (file := tmp_path / "net.tosa").write_bytes(serialize(moved, spec))
    with pytest.raises(
        UsageError, match=r"net.tosa: the tensor 'small' is of INT4, which PyTorch lacks. `compile` takes"
    ):
        load_model(file)


def test_operators_that_no_target_takes_are_refused_and_no_scheme_is_advised(tmp_path: Path) -> None:
    moved = Graph()
    moved.outputs = [moved.append("REVERSE", [moved.input("x", (1, 2, 3), DType.INT8)], {"axis": 1}).output]
    (file := tmp_path / "net.tosa").write_bytes(serialize(moved, INT.tosa_spec))
    assert not hint(load_model(file), INT, None)
    reals = moved.input("y", (1, 2, 4), DType.FP32)
    moved.outputs += moved.append("RFFT2D", [reals], {"local_bound": False}).outputs
    file.write_bytes(serialize(moved, FFT))
    with pytest.raises(UsageError, match=r"arm_tosa.RFFT2D.default cannot run on the CPU: no runtime .*\n.*net.tosa:2"):
        lower(load_model(file), INT, cache=False)
