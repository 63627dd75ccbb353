"""Rows of TFLite against what its operators mean, written with NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from arm_tosa_core.frontends.file_model import FileModel
from arm_tosa_core.frontends.tflite import ROWS
from arm_tosa_core.frontends.tflite.reader import parse
from tflite_files import G, Op, T, int32, tflite

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Case:
    """An operator on inputs of these sizes, ``...`` in the order of its operands, and constants between them."""

    kind: str
    operands: tuple[Any, ...]  # sizes of an input, or a constant
    wanted: Callable[..., Any]  # of all operands; several results as a tuple
    options: Mapping[str, Any] = field(default_factory=dict)
    dtype: torch.dtype = torch.float32  # of the result

    def __str__(self) -> str:
        return f"{self.kind} {dict(self.options)} {[o if isinstance(o, tuple) else o.what for o in self.operands]}"


def numbers(*shape: int) -> Array:
    return np.random.default_rng(1).normal(size=shape).astype(np.float32)


def constant(*shape: int) -> T:
    return T(torch.from_numpy(numbers(*shape)))


def convolved(stride: int, dilation: int, same: bool) -> Callable[[Array, Array, Array], Array]:
    """By the definition: SAME has as many results as places where the kernel starts, and pads more at the end."""

    def compute(x: Array, w: Array, b: Array) -> Array:
        taps = [(k - 1) * dilation + 1 for k in w.shape[1:3]]
        around = []
        for size, reach in zip(x.shape[1:3], taps, strict=True):
            total = max((-(-size // stride) - 1) * stride + reach - size, 0) if same else 0
            around.append((total // 2, total - total // 2))
        x = np.pad(x, ((0, 0), *around, (0, 0)))
        down, across = ((x.shape[1 + i] - taps[i]) // stride + 1 for i in (0, 1))
        made = np.zeros((x.shape[0], down, across, w.shape[0]))
        for i, j in product(range(down), range(across)):
            window = x[:, i * stride :, j * stride :][:, : taps[0] : dilation, : taps[1] : dilation]
            made[:, i, j] = np.einsum("nhwc,ohwc->no", window, w) + b
        return np.maximum(made, 0)

    return compute


def convolved_3d(stride: int, dilation: int, same: bool) -> Callable[[Array, Array, Array], Array]:
    """As ``convolved``; the weights have the results last."""

    def compute(x: Array, w: Array, b: Array) -> Array:
        taps = [(k - 1) * dilation + 1 for k in w.shape[:3]]
        totals = [
            max((-(-size // stride) - 1) * stride + reach - size, 0) if same else 0
            for size, reach in zip(x.shape[1:4], taps, strict=True)
        ]
        x = np.pad(x, ((0, 0), *((total // 2, total - total // 2) for total in totals), (0, 0)))
        counts = [(x.shape[1 + i] - taps[i]) // stride + 1 for i in range(3)]
        made = np.zeros((x.shape[0], *counts, w.shape[4]))
        for place in product(*map(range, counts)):
            ends = (slice(p * stride, p * stride + t, dilation) for p, t in zip(place, taps, strict=True))
            made[(slice(None), *place)] = np.einsum("ndhwc,dhwco->no", x[(slice(None), *ends)], w) + b
        return np.maximum(made, 0)

    return compute


def depthwise(x: Array, w: Array, b: Array) -> Array:
    full = np.zeros((w.shape[3], *w.shape[1:3], x.shape[3]), np.float32)
    times = w.shape[3] // x.shape[3]
    for o in range(w.shape[3]):
        full[o, :, :, o // times] = w[0, :, :, o]
    return convolved(2, 1, True)(x, full, b)


def pooled(reduce: Callable[..., Array], kernel: int, stride: int) -> Callable[[Array], Array]:
    def compute(x: Array) -> Array:
        places = [range(0, size, stride) for size in x.shape[1:3]]
        before = [
            max((len(p) - 1) * stride + kernel - size, 0) // 2 for p, size in zip(places, x.shape[1:3], strict=True)
        ]
        rows = []
        for i in places[0]:
            top, left = max(i - before[0], 0), [max(j - before[1], 0) for j in places[1]]
            ends = [j - before[1] + kernel for j in places[1]]
            windows = [x[:, top : i - before[0] + kernel, a:b] for a, b in zip(left, ends, strict=True)]
            rows.append(np.stack([reduce(w, axis=(1, 2)) for w in windows], 1))
        return np.stack(rows, 1)

    return compute


def pooled_evenly(reduce: Callable[..., Array]) -> Callable[[Array], Array]:
    """Windows of four that begin one before each element, of what there is."""

    def compute(x: Array) -> Array:
        made = np.zeros_like(x)
        for i, j in product(range(x.shape[1]), range(x.shape[2])):
            made[:, i, j] = reduce(x[:, max(i - 1, 0) : i + 3, max(j - 1, 0) : j + 3], axis=(1, 2))
        return made

    return compute


def between(*size: int) -> Callable[[Array, Array], Array]:
    """Elements of an image at ``place * old / new``, between those beside it."""

    def compute(x: Array, _: Array) -> Array:
        for axis, new in enumerate(size, 1):
            place = np.arange(new) * x.shape[axis] / new
            low = place.astype(int)
            part = (place - low).reshape([-1 if i == axis else 1 for i in range(4)])
            x = x.take(low, axis) * (1 - part) + x.take(np.minimum(low + 1, x.shape[axis] - 1), axis) * part
        return x

    return compute


def transposed(x: Array, w: Array, same: bool) -> Array:
    """Stride 2 and a kernel of 3: each pixel adds the kernel where it stands."""
    n, height, width, _ = x.shape
    made = np.zeros((n, 2 * height + 1, 2 * width + 1, w.shape[0]))
    for i, j in product(range(height), range(width)):
        made[:, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3] += np.einsum("nc,ohwc->nhwo", x[:, i, j], w)
    return made[:, : 2 * height, : 2 * width] if same else made


def spread(x: Array, height: int, width: int) -> Array:
    """Each place becomes a block of 2x2."""
    return x.reshape(height, width, 2, 2, -1).transpose(0, 2, 1, 3, 4).reshape(1, 2 * height, 2 * width, -1)


def gathered(x: Array, height: int, width: int) -> Array:
    return x.reshape(height, 2, width, 2, -1).transpose(0, 2, 1, 3, 4).reshape(1, height, width, -1)


CONV = {"stride_h": 2, "stride_w": 2, "activation": 1}
CASES = [
    *(
        Case("CONV_2D", ((1, size, size, 3), constant(4, 3, 3, 3), constant(4)), convolved(s, d, same),
             {"stride_h": s, "stride_w": s, "dilation_h": d, "dilation_w": d, "activation": 1, "padding": not same})
        for size, s, d, same in [(7, 1, 1, True), (8, 2, 1, True), (7, 2, 1, True), (8, 1, 2, True), (8, 2, 1, False)]
    ),
    Case("DEPTHWISE_CONV_2D", ((2, 6, 5, 3), constant(1, 3, 3, 6), constant(6)), depthwise, CONV),
    *(
        Case("CONV_3D", ((1, 4, 5, 6, 2), constant(2, 3, 2, 2, 3), constant(3)), convolved_3d(s, d, same), {
            "padding": 0 if same else 1, "activation": 1,
            **{f"stride_{a}": s for a in "dhw"}, **{f"dilation_{a}": d for a in "dhw"},
        })
        for s, d, same in ((1, 1, True), (2, 1, True), (1, 2, False), (2, 1, False))
    ),
    Case("TRANSPOSE_CONV", (int32(1, 8, 10, 2), constant(2, 3, 3, 3), (1, 4, 5, 3)),
         lambda size, w, x: transposed(x, w, True), {"stride_h": 2, "stride_w": 2}),
    Case("TRANSPOSE_CONV", (int32(1, 9, 11, 2), constant(2, 3, 3, 3), (1, 4, 5, 3)),
         lambda size, w, x: transposed(x, w, False), {"stride_h": 2, "stride_w": 2, "padding": 1}),
    *(
        Case(kind, ((1, size, size, 2),), pooled(reduce, k, s), {"stride_h": s, "stride_w": s, "height": k, "width": k})
        for kind, reduce in (("MAX_POOL_2D", np.max), ("AVERAGE_POOL_2D", np.mean))
        for size, k, s in [(7, 2, 2), (8, 3, 2), (6, 2, 2), (5, 3, 1), (9, 1, 2)]
    ),
    Case("FULLY_CONNECTED", ((2, 3, 4), constant(5, 4), constant(5)),
         lambda x, w, b: np.clip(x.reshape(6, 4) @ w.T + b, 0, 6), {"activation": 3}),
    Case("FULLY_CONNECTED", ((2, 3, 4), constant(5, 4)), lambda x, w: x @ w.T, {"keep_num_dims": True}),
    Case("BATCH_MATMUL", ((2, 4, 3), (2, 5, 4)), lambda x, y: x.swapaxes(1, 2) @ y.swapaxes(1, 2),
         {"adjoint_x": True, "adjoint_y": True}),
    Case("ADD", ((2, 3), (3,)), lambda x, y: np.maximum(x + y, 0), {"activation": 1}),
    Case("SQUARED_DIFFERENCE", ((2, 3), (2, 3)), lambda x, y: (x - y) ** 2),
    Case("SELECT", (T([True, False], torch.bool), (2, 3), (2, 3)), lambda c, x, y: np.where(c[:, None], x, y)),
    Case("PRELU", ((1, 2, 2, 3), constant(1, 1, 3)), lambda x, a: np.where(x > 0, x, x * a)),
    Case("PRELU", ((1, 2, 2, 3), T(torch.tensor(0.5))), lambda x, a: np.where(x > 0, x, x / 2)),
    Case("SOFTMAX", ((2, 3),), lambda x: np.exp(2 * x) / np.exp(2 * x).sum(-1, keepdims=True), {"beta": 2.0}),
    Case("L2_NORMALIZATION", ((2, 3),), lambda x: x / np.sqrt((x**2).sum(-1, keepdims=True))),
    Case("LEAKY_RELU", ((2, 3),), lambda x: np.where(x > 0, x, x * 0.25), {"alpha": 0.25}),
    Case("RESHAPE", ((2, 3, 4), int32(4, -1)), lambda x, s: x.reshape(4, 6)),
    Case("RESHAPE", ((2, 3, 4),), lambda x: x.reshape(6, 4), {"shape": [6, 4]}),
    Case("SQUEEZE", ((1, 3, 1),), lambda x: x.squeeze(-1), {"axes": [2]}),
    Case("EXPAND_DIMS", ((2, 3), int32(-1)), lambda x, a: x[..., None]),
    Case("TRANSPOSE", ((2, 3, 4), int32(2, 0, 1)), lambda x, o: x.transpose(2, 0, 1)),
    Case("CONCATENATION", ((2, 3), (2, 3)), lambda *p: np.concatenate(p, -1), {"axis": -1}),
    Case("PACK", ((2, 3), (2, 3)), lambda *p: np.stack(p, 1), {"axis": 1, "count": 2}),
    Case("UNPACK", ((2, 3),), lambda x: (x[:, 0], x[:, 1], x[:, 2]), {"axis": 1, "count": 3}),
    Case("SPLIT", (int32(1), (2, 6)), lambda a, x: tuple(np.split(x, 3, 1)), {"count": 3}),
    Case("SPLIT_V", ((2, 6), int32(1, -1, 2), int32(1)), lambda x, s, a: (x[:, :1], x[:, 1:4], x[:, 4:]), {"count": 3}),
    Case("SLICE", ((4, 5), int32(1, 2), int32(2, -1)), lambda x, b, s: x[1:3, 2:]),
    Case("STRIDED_SLICE", ((4, 5, 6), int32(1, 0, 0), int32(3, -1, 9), int32(1, 2, 3)),
         lambda x, b, e, s: x[1:3, :-1:2, ::3], {"begin_mask": 2}),
    Case("STRIDED_SLICE", ((4, 5), int32(-1, 1), int32(0, 0), int32(-2, 1)),
         lambda x, b, e, s: x[:0:-2, 1], {"shrink_axis_mask": 2}),
    Case("STRIDED_SLICE", ((4, 5), int32(0, 0, 1), int32(0, 0, 3), int32(1, 1, 1)),
         lambda x, b, e, s: x[..., None, 1:3], {"ellipsis_mask": 1, "new_axis_mask": 2}),
    Case("STRIDED_SLICE", ((4, 5), int32(3, 1), int32(-4, 2), int32(-1, 1)),
         lambda x, b, e, s: x[::-1, 1:3], {"offset": True}),
    Case("STRIDED_SLICE", ((4, 5), int32(2, -3), int32(3, 2), int32(1, 1)),
         lambda x, b, e, s: x[:3, 2:4], {"offset": True, "begin_mask": 1, "end_mask": 2}),
    Case("GATHER", ((2, 3, 5), T([[3, 0, 1], [1, 1, 4]], torch.int32)),
         lambda x, i: np.take_along_axis(x, i.astype(int)[..., None], 2)[..., 0], {"axis": 2, "batch_dims": 2}),
    Case("GATHER", ((5,), T(torch.tensor(3, dtype=torch.int32))), lambda x, i: x[3]),
    Case("GATHER", ((4, 5), T([[3, 0]], torch.int16)), lambda x, i: x[[[3, 0]]]),
    Case("GATHER_ND", ((4, 5), int32(3, 1)), lambda x, i: x[3, 1]),
    Case("PAD", ((2, 3), int32(1, 0, 0, 2)), lambda x, p: np.pad(x, ((1, 0), (0, 2)))),
    Case("PADV2", ((2, 3), int32(1, 0, 0, 2), T([7.0])),
         lambda x, p, v: np.pad(x, ((1, 0), (0, 2)), constant_values=7)),
    Case("MIRROR_PAD", ((3, 4), int32(2, 1, 0, 3)), lambda x, p: np.pad(x, ((2, 1), (0, 3)), "reflect")),
    Case("MIRROR_PAD", ((3, 4), int32(2, 1, 0, 3)), lambda x, p: np.pad(x, ((2, 1), (0, 3)), "symmetric"), {"mode": 1}),
    Case("TILE", ((2, 3), int32(2, 1)), lambda x, n: np.tile(x, (2, 1))),
    Case("REVERSE_V2", ((2, 3), int32(1)), lambda x, a: x[:, ::-1]),
    Case("GATHER", ((4, 5), T([[3, 0], [1, 1]], torch.int32)), lambda x, i: x[:, [[3, 0], [1, 1]]], {"axis": 1}),
    Case("GATHER_ND", ((4, 5), T([[3, 0], [1, 1]], torch.int32)), lambda x, i: x[[3, 1], [0, 1]]),
    Case("DEPTH_TO_SPACE", ((1, 2, 3, 8),), lambda x: spread(x, 2, 3), {"block": 2}),
    Case("SPACE_TO_DEPTH", ((1, 4, 6, 2),), lambda x: gathered(x, 2, 3), {"block": 2}),
    Case("SPACE_TO_BATCH_ND", ((1, 3, 4, 1), int32(2, 2), int32(0, 1, 0, 0)),
         lambda x, b, p: np.stack([np.pad(x[0], ((0, 1), (0, 0), (0, 0)))[i::2, j::2] for i, j in np.ndindex(2, 2)])),
    Case("BATCH_TO_SPACE_ND", ((4, 2, 2, 1), int32(2, 2), int32(0, 1, 0, 0)),
         lambda x, b, c: x.reshape(2, 2, 2, 2).transpose(2, 0, 3, 1).reshape(1, 4, 4, 1)[:, :3]),
    Case("MEAN", ((2, 3, 4), int32(1, -1)), lambda x, a: x.mean((1, 2), keepdims=True), {"keep_dims": True}),
    Case("MEAN", ((2, 3, 4, 5), int32(1, 2)), lambda x, a: x.mean((1, 2))),
    Case("MEAN", ((2, 3, 4, 5), int32(2, 1)), lambda x, a: x.mean((1, 2), keepdims=True), {"keep_dims": True}),
    Case("REDUCE_PROD", ((2, 3, 4), int32(0, 2)), lambda x, a: x.prod((0, 2))),
    Case("REDUCE_PROD", ((2, 3, 4), int32(1, -2)), lambda x, a: x.prod(1)),
    Case("REDUCE_MAX", ((2, 3, 4), int32(1, 1)), lambda x, a: x.max(1, keepdims=True), {"keep_dims": True}),
    *(Case(kind, ((2, 3), T(torch.zeros(0, dtype=torch.int32))), lambda x, a: x)
      for kind in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_PROD")),
    Case("TOPK_V2", ((2, 1), int32(1)), lambda x, k: (x, 0 * x)),
    Case("ARG_MAX", ((2, 5), int32(-1)), lambda x, a: x.argmax(-1), dtype=torch.int32),
    Case("ARG_MAX", (T([[False, True]], torch.bool), int32(-1)), lambda x, a: np.array([1]), dtype=torch.int32),
    Case("CUMSUM", ((2, 3), int32(1)), lambda x, a: np.array([r[::-1].cumsum()[::-1] - r for r in x]),
         {"exclusive": True, "reverse": True}),
    Case("RESIZE_NEAREST_NEIGHBOR", ((1, 2, 3, 2), int32(4, 9)), lambda x, s: x.repeat(2, 1).repeat(3, 2)),
    Case("RESIZE_NEAREST_NEIGHBOR", ((1, 5, 4, 2), int32(3, 4)), lambda x, s: x[:, [0, 2, 4]], {"align_corners": True}),
    *(Case("RESIZE_BILINEAR", ((2, 3, 4, 2), int32(*size)), between(*size))
      for size in ((7, 9), (2, 3), (1, 1), (3, 5))),
    *(Case(kind, ((1, 9, 7, 2),), pooled_evenly(reduce),
           {"padding": 0, "stride_w": 1, "stride_h": 1, "width": 4, "height": 4})
      for kind, reduce in (("MAX_POOL_2D", np.max), ("AVERAGE_POOL_2D", np.mean))),
    Case("L2_POOL_2D", ((1, 4, 6, 2),), lambda x: np.sqrt((x.reshape(1, 2, 2, 3, 2, 2) ** 2).mean((2, 4))),
         {"padding": 1, "stride_w": 2, "stride_h": 2, "width": 2, "height": 2}),
    Case("TRANSPOSE_CONV", (int32(1, 6, 9, 1), T(torch.ones(1, 1, 1, 1)), (1, 2, 3, 1), T([2.0])),
         lambda s, w, x, b: 2 + np.kron(x[0, :, :, 0], np.eye(3)[:1].T @ np.eye(3)[:1])[None, :, :, None],
         {"padding": 0, "stride_w": 3, "stride_h": 3}),
    Case("GATHER", ((2, 5), T([[3, 0], [1, 1]], torch.int32)), lambda x, i: np.take_along_axis(x, i.astype(int), 1),
         {"axis": 1, "batch_dims": 1}),
    Case("RESIZE_BILINEAR", ((1, 1, 2, 1), int32(1, 4)),
         lambda x, s: (np.stack([x, (x + np.roll(x, -1, 2)) / 2], 3) * [[[[1], [1]], [[1], [0]]]]
                       + x[:, :, :, None] * [[[[0], [0]], [[0], [1]]]]).reshape(1, 1, 4, 1)),
    Case("SCATTER_ND", (T([[3], [1], [3]], torch.int32), (3, 2), int32(4, 2)),
         lambda i, x, s: np.stack([0 * x[0], x[1], 0 * x[0], x[0] + x[2]])),
    Case("DYNAMIC_UPDATE_SLICE", ((3, 4), (2, 2), int32(2, 1)), lambda x, u, s: np.stack([
        x[0], *(np.concatenate([x[i, :1], u[i - 1], x[i, 3:]]) for i in (1, 2))])),
    Case("REVERSE_SEQUENCE", ((3, 2, 4), int32(2, 3)), lambda x, n: np.stack([x[[1, 0, 2], 0], x[::-1, 1]], 1),
         {"time": 0, "batch": 1}),
    Case("RANK", ((3, 2, 4),), lambda x: np.array(3), dtype=torch.int32),
    Case("BROADCAST_ARGS", (int32(3, 1), int32(2, 1, 4)), lambda x, y: np.array([2, 3, 4]), dtype=torch.int32),
    Case("WHERE", (T([True, False, True], torch.bool),), lambda x: np.array([[0], [2]]), dtype=torch.int64),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rows(case: Case) -> None:
    names = [f"t{i}" for i in range(len(case.operands))]
    values = [numbers(*o) if isinstance(o, tuple) else _data(o) for o in case.operands]
    wanted = case.wanted(*values)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    tensors = {n: o if isinstance(o, T) else T(o) for n, o in zip(names, case.operands, strict=True)}
    if case.kind in ("PAD", "PADV2", "MIRROR_PAD", "SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND"):
        place = 2 if "BATCH" in case.kind else 1
        tensors[names[place]] = T(torch.tensor(tensors[names[place]].what, dtype=torch.int32).reshape(-1, 2))
    results = {f"r{i}": T(tuple(w.shape), case.dtype) for i, w in enumerate(wanted)}
    inputs = [n for n, o in zip(names, case.operands, strict=True) if isinstance(o, tuple)]
    data = tflite(G({**tensors, **results}, [Op(case.kind, names, list(results), case.options)], inputs, list(results)))
    model = FileModel(parse(data, "net.tflite"), ROWS, "net.tflite")
    given = [torch.from_numpy(v) for n, v in zip(names, values, strict=True) if n in inputs]
    for run in (model, model.export().module()):
        for one, right in zip(run(*given), wanted, strict=True):
            assert one.dtype == case.dtype
            np.testing.assert_allclose(one, right, rtol=1e-5, atol=1e-5)


def _data(constant: T) -> Array:
    assert constant.data is not None
    return constant.data.numpy()
