"""Pools with long strides as pools of rows: the same results, with strides that Vela has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from choice_kit import NUMPY, new_builder

from arm_ethosu.accelerators import MAX_STRIDE
from arm_ethosu.rewrites.pools_of_long_strides import ROWS_OF_WINDOWS
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


@pytest.mark.parametrize(
    ("name", "shape", "kernel", "stride", "pad"),
    [
        ("AVG_POOL2D", (1, 1, 46, 3), (1, 10), (1, 4), _NONE),  # its two parts would be rounded
        ("AVG_POOL2D", (1, 1, 40, 3), (1, 5), (1, 5), (0, 0, 2, 3)),  # padding does not count
        ("AVG_POOL2D", (2, 16, 20, 3), (4, 4), (4, 4), _NONE),
        ("MAX_POOL2D", (2, 1, 44, 3), (1, 8), (1, 4), _NONE),  # windows would reach into the next image
        ("MAX_POOL2D", (1, 1, 7, 3), (1, 7), (1, 7), _NONE),
        ("MAX_POOL2D", (1, 8, 8, 3), (4, 4), (4, 4), _NONE),  # few windows
    ],
)
def test_others_stay(name: str, shape: Sequence[int], kernel: object, stride: object, pad: object) -> None:
    (longest,) = _made(name, DType.INT8, shape, kernel, stride, pad)
    assert longest > MAX_STRIDE
