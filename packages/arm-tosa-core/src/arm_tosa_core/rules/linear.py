"""Linear layers and matrix products."""

from __future__ import annotations

import math

from ..lowering.op_builder import CompositeBuilder, OpBuilder, V
from ..lowering.rule import Q, op
from ..lowering.traits import Channels, Traits
from ..lowering.values import Value, inverse


def _is_weight(y: Value) -> bool:
    """A constant that a convolution takes as its weights: of floats or 8 bits."""
    return y.is_const and (y.quant is None or y.quant.bits <= 8)


@op("aten.linear.default", quant=Q.CONV, traits=Traits(channels=Channels(weight=1, bias=2, last=True, read=-1)))
def linear(b: OpBuilder, x: Value, weight: Value, bias: Value | None = None) -> Value:
    """A 1x1 convolution over an image with a pixel per row of ``x``, in the order in which the rows lie."""
    if not _is_weight(weight):
        b.require(weight.rank == 2, "has a weight that is no matrix")
        y = matmul(b, x, b.TRANSPOSE(weight, [1, 0]))
        return y if bias is None else b.ADD(y, bias)
    outputs, inputs = weight.shape
    b.require(x.size > 0 and outputs > 0, "multiplies matrices without elements")
    rows = x.size // inputs
    order = list(inverse(x.axes)) if x.axes[-1] == x.rank - 1 else list(range(x.rank))
    x = b.TRANSPOSE(x, order)
    image = b.RESHAPE(x, _image(rows, inputs, b.preferences.square_images))
    kernel = b.RESHAPE(weight, [outputs, 1, 1, inputs])
    y = b.conv("CONV2D", image, kernel, bias, stride=(1, 1), pad=(0, 0, 0, 0), dilation=(1, 1))
    return b.TRANSPOSE(b.RESHAPE(y, [*x.shape[:-1], outputs]), inverse(tuple(order)))


def _image(rows: int, channels: int, square: bool) -> list[int]:
    """An image of ``rows`` pixels, as near to a square as its divisors allow: accelerators work in square blocks."""
    height = max(h for h in range(1, int(rows**0.5) + 1) if rows % h == 0) if square else 1
    return [1, height, rows // height, channels]


def _observed_addmm(b: CompositeBuilder[V], bias: V, x: V, y: V, *, beta: float = 1, alpha: float = 1) -> V:
    return _sum(b, b.aten.mm(x, y), alpha, bias, beta)


@op("aten.addmm.default", quant=Q.PIECEWISE, decomposition=_observed_addmm)
def addmm(b: OpBuilder, bias: Value, x: Value, y: Value, *, beta: float = 1, alpha: float = 1) -> Value:
    if _is_weight(y) and alpha == 1 and beta == 1 and bias.rank == 1 and bias.is_const:
        return linear(b, x, b.TRANSPOSE(y, [1, 0]), bias)
    return _observed_addmm(b, bias, x, y, beta=beta, alpha=alpha)


def _sum(b: CompositeBuilder[V], product: V, alpha: float, bias: V, beta: float) -> V:
    """A term times 0 is left out, with its NaNs: ``torch.addmm`` says so of ``beta``."""
    product = product if alpha == 1 else b.aten.mul(product, alpha)
    bias = bias if beta == 1 else b.aten.mul(bias, beta)
    if beta == 0:
        return product
    if alpha == 0:  # an operator, for the CPU would compute the product: what hands on its operand is no delegate
        return b.aten.mul(b.aten.expand(bias, product.shape), 1.0)
    return b.aten.add(product, bias)


@op("aten.mm.default", quant=Q.ACCUMULATE)
def mm(b: OpBuilder, x: Value, y: Value) -> Value:
    if _is_weight(y):
        return linear(b, x, b.TRANSPOSE(y, [1, 0]))
    return matmul(b, x, y)


@op("aten.bmm.default", quant=Q.ACCUMULATE)
def bmm(b: OpBuilder, x: Value, y: Value) -> Value:
    return b.MATMUL(x, y)


@op("aten.baddbmm.default", quant=Q.PIECEWISE)
def baddbmm(b: CompositeBuilder[V], bias: V, x: V, y: V, *, beta: float = 1, alpha: float = 1) -> V:
    return _sum(b, b.aten.bmm(x, y), alpha, bias, beta)


@op("aten.matmul.default", quant=Q.ACCUMULATE)
def matmul(b: OpBuilder, x: Value, y: Value) -> Value:
    """All of PyTorch's forms: vectors, matrices, batches that broadcast."""
    if _is_weight(y) and y.rank == 2 and x.rank > 1:
        return linear(b, x, b.TRANSPOSE(y, [1, 0]))
    rows = x if x.rank > 1 else b.RESHAPE(x, [1, *x.shape])
    columns = y if y.rank > 1 else b.RESHAPE(y, [*y.shape, 1])
    rank = max(rows.rank, columns.rank, 3)
    rows, columns = b.lift(rows, rank), b.lift(columns, rank)
    batch = [max(i, j) if min(i, j) else 0 for i, j in zip(rows.shape[:-2], columns.shape[:-2], strict=True)]
    count = math.prod(batch)

    def flat(v: Value) -> Value:
        v = b.TILE(v, [*(n // m for n, m in zip(batch, v.shape[:-2], strict=True)), 1, 1])
        return b.RESHAPE(v, [count, *v.shape[-2:]])

    product = b.MATMUL(flat(rows), flat(columns))
    full = batch[len(batch) - max(x.rank, y.rank, 2) + 2 :] if max(x.rank, y.rank) > 2 else []
    tail = ([x.shape[-2]] if x.rank > 1 else []) + ([y.shape[-1]] if y.rank > 1 else [])
    return b.RESHAPE(product, [*full, *tail])


@op("aten.dot.default", "aten.mv.default", quant=Q.ACCUMULATE)
def dot(b: OpBuilder, x: Value, y: Value) -> Value:
    return matmul(b, x, y)
