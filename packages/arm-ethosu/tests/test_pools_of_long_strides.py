"""Pools with long strides as pools of rows: the same results, with strides that Vela has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from choice_kit import NUMPY, new_builder
from rewrite_kit import cycles
from torch import nn

from arm_ethosu import EthosUCompileSpec
from arm_ethosu.accelerators import MAX_STRIDE
from arm_ethosu.rewrites.pools_of_long_strides import ROWS_OF_WINDOWS
from arm_tosa_core.exir.compilation import Compilation
from arm_tosa_core.testing.harness import exported
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.reference_model import run
from arm_tosa_core.tosa.rewrite_engine import run_rewrites
from arm_tosa_core.tosa.serializer import serialize

_NONE = (0, 0, 0, 0)
_BOTH, _MAX = ("AVG_POOL2D", "MAX_POOL2D"), ("MAX_POOL2D",)


def _made(name: str, dtype: DType, shape: Sequence[int], kernel: object, stride: object, pad: object) -> list[int]:
    """The longest strides of a pool's rewritten form, whose results are those of the pool."""
    builder = new_builder()
    graph, average = builder.graph, name == "AVG_POOL2D"
    zeros = [builder.zero_point(0, dtype)] * 2 if average else []
    attrs = {"kernel": kernel, "stride": stride, "pad": pad, **({"acc_type": DType.INT32} if average else {})}
    graph.outputs = [builder.emit(name, [graph.input("x", shape, dtype), *zeros], **attrs)]
    plain = serialize(graph, builder.spec)
    changed = load(plain)
    run_rewrites(changed, [ROWS_OF_WINDOWS])
    limits = np.iinfo(NUMPY[dtype])
    data = np.random.default_rng(0).integers(limits.min, limits.max + 1, tuple(shape)).astype(limits.dtype)
    results = [run(tosa, [data])[0] for tosa in (serialize(changed, builder.spec), plain)]
    np.testing.assert_array_equal(*results)
    return [max(op.attrs["stride"]) for op in changed.ops if "stride" in op.attrs]


@pytest.mark.parametrize(
    ("names", "shape", "kernel", "stride", "pad"),
    [
        (_BOTH, (1, 1, 40, 3), (1, 4), (1, 4), _NONE),
        (_BOTH, (2, 3, 40, 3), (1, 4), (1, 4), _NONE),
        (_BOTH, (2, 40, 5, 3), (5, 1), (5, 1), _NONE),
        (_BOTH, (1, 1, 38, 3), (1, 2), (1, 4), _NONE),  # elements that no window reaches
        (_BOTH, (1, 1, 44, 3), (1, 8), (1, 4), _NONE),  # windows that overlap
        (_MAX, (1, 1, 46, 3), (1, 10), (1, 4), _NONE),
        (_MAX, (2, 1, 44, 3), (1, 8), (1, 4), _NONE),  # of several images
        (_MAX, (1, 1, 17, 3), (1, 5), (1, 4), (0, 0, 2, 2)),  # few, but with padding
        (_MAX, (1, 1, 40, 3), (1, 6), (1, 4), (0, 0, 2, 0)),
        (_MAX, (1, 1, 40, 3), (1, 5), (1, 5), (0, 0, 2, 3)),
        (_MAX, (2, 16, 20, 3), (4, 4), (4, 4), _NONE),
        (_MAX, (2, 3, 47, 3), (1, 7), (1, 5), (0, 0, 2, 3)),  # of several images
        (_MAX, (1, 17, 20, 3), (3, 6), (2, 6), (1, 1, 2, 2)),
        (_MAX, (1, 18, 20, 3), (5, 4), (4, 4), (2, 1, 0, 0)),
    ],
)
@pytest.mark.parametrize("dtype", NUMPY)
def test_strides_become_short(
    names: Sequence[str], shape: Sequence[int], kernel: object, stride: object, pad: object, dtype: DType
) -> None:
    for name in names:
        assert max(_made(name, dtype, shape, kernel, stride, pad)) <= MAX_STRIDE


@pytest.mark.parametrize("channels", [1, 3, 20])
@pytest.mark.parametrize(("kernel", "stride"), [(7, 5), (10, 4), (16, 4), (5, 5), (3, 4)])
@pytest.mark.parametrize(("images", "rows", "size"), [(1, 1, 80), (2, 1, 83), (2, 3, 81)])
@pytest.mark.parametrize("axis", [0, 1])
def test_averages_become_convolutions(
    images: int, rows: int, size: int, kernel: int, stride: int, channels: int, axis: int
) -> None:
    size -= (size - kernel) % stride
    shape = (images, rows, size, channels) if axis else (images, size, rows, channels)
    window, step = ((1, kernel), (1, stride)) if axis else ((kernel, 1), (stride, 1))
    (longest,) = _made("AVG_POOL2D", DType.INT8, shape, window, step, _NONE)
    assert longest == 1


def test_an_average_of_16_bits_whose_parts_would_be_rounded_stays() -> None:
    (longest,) = _made("AVG_POOL2D", DType.INT16, (1, 1, 46, 3), (1, 10), (1, 4), _NONE)
    assert longest > MAX_STRIDE


@pytest.mark.parametrize("accelerator", ["ethos-u55-128", "ethos-u85-256"])
@pytest.mark.parametrize(("size", "stride"), [(7, 5), (5, 5), (16, 4)])
def test_averages_of_a_signal_cost_what_a_convolution_costs(size: int, stride: int, accelerator: str) -> None:
    spec, made = EthosUCompileSpec(accelerator), []
    for module in (nn.AvgPool1d(size, stride), nn.Conv1d(4, 4, size, stride)):
        program = exported(module, (torch.randn(1, 4, 4000),), spec, "int8")
        (region,) = Compilation(program, spec.target(), decompose_rest=True).regions()
        made.append(cycles(serialize(region.graph, spec.tosa_spec), spec))
    assert made[0] < 1.05 * made[1]


@pytest.mark.parametrize(
    ("name", "shape", "kernel", "stride", "pad"),
    [
        ("AVG_POOL2D", (1, 1, 40, 3), (1, 5), (1, 5), (0, 0, 2, 3)),  # padding does not count
        ("AVG_POOL2D", (2, 16, 20, 3), (4, 4), (4, 4), _NONE),
        ("MAX_POOL2D", (1, 1, 7, 3), (1, 7), (1, 7), _NONE),
        ("MAX_POOL2D", (1, 8, 8, 3), (4, 4), (4, 4), _NONE),  # few windows
    ],
)
def test_others_stay(name: str, shape: Sequence[int], kernel: object, stride: object, pad: object) -> None:
    (longest,) = _made(name, DType.INT8, shape, kernel, stride, pad)
    assert longest > MAX_STRIDE
