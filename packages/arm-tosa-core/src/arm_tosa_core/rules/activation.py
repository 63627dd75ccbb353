"""Activations. In float each is arithmetic; quantized, those with bounds merge and the others are tables."""

from __future__ import annotations

import math

import torch

from ..lowering.half_precision import in_float32
from ..lowering.op_builder import CompositeBuilder, OpBuilder, V
from ..lowering.rule import Q, op
from ..lowering.traits import Moves, Traits
from ..lowering.values import Value, of_type

_INF = math.inf


@op("aten.relu.default", quant=Q.BOUNDS, traits=Traits(bounds=lambda: (0.0, None), homogeneous=True))
def relu(b: OpBuilder, x: Value) -> Value:
    return b.clamp(x, 0.0, _INF)


@op("aten.relu6.default", quant=Q.BOUNDS, traits=Traits(bounds=lambda: (0.0, 6.0)))
def relu6(b: OpBuilder, x: Value) -> Value:
    return b.clamp(x, 0.0, 6.0)


@op("aten.hardtanh.default", quant=Q.BOUNDS, traits=Traits(bounds=lambda min_val=-1.0, max_val=1.0: (min_val, max_val)))
def hardtanh(b: OpBuilder, x: Value, low: float = -1.0, high: float = 1.0) -> Value:
    return b.clamp(x, low, high)


@op("aten.clamp.default", quant=Q.BOUNDS, traits=Traits(bounds=lambda min=None, max=None: (min, max)))
def clamp(b: OpBuilder, x: Value, low: float | None = None, high: float | None = None) -> Value:
    if isinstance(low, float) or isinstance(high, float):
        x = b.floating(x)
    if not (x.dtype.is_floating_point or x.quant):
        low, high = (n if n is None else of_type(n, x.dtype).item() for n in (low, high))
    return b.clamp(x, -_INF if low is None else low, _INF if high is None else high)


@op("aten.clamp_min.default", quant=Q.BOUNDS, traits=Traits(bounds=lambda min: (min, None)))
def clamp_min(b: OpBuilder, x: Value, low: float) -> Value:
    return clamp(b, x, low)


@op("aten.clamp_max.default", quant=Q.BOUNDS, traits=Traits(bounds=lambda max: (None, max)))
def clamp_max(b: OpBuilder, x: Value, high: float) -> Value:
    return clamp(b, x, None, high)


@op("aten.clamp.Tensor", quant=Q.ARITHMETIC)
def clamp_tensor(b: OpBuilder, x: Value, low: Value | None = None, high: Value | None = None) -> Value:
    x = x if low is None else b.MAXIMUM(x, low)
    return x if high is None else b.MINIMUM(x, high)


# ARITHMETIC, because a table of 16 bits cuts its corners
@op("aten.hardsigmoid.default", quant=Q.ARITHMETIC, traits=Traits(reach=(0.0, 1.0)))
def hardsigmoid(b: OpBuilder, x: Value) -> Value:
    return b.MUL(b.clamp(b.ADD(x, 3.0), 0.0, 6.0), 1 / 6)


@op("aten.hardswish.default", quant=Q.ARITHMETIC)
def hardswish(b: OpBuilder, x: Value) -> Value:
    # of 16 bits with 1 as the largest integer, so that x stays as it is there
    return b.MUL(x, b.to_int16(hardsigmoid(b, x), 1.0))


@op("aten.silu.default", quant=Q.TABLE)
def silu(b: OpBuilder, x: Value) -> Value:
    x = b.real(x)
    return b.MUL(x, b.unary("SIGMOID", x))


@op("aten.gelu.default", quant=Q.TABLE)
@in_float32
def gelu(b: OpBuilder, x: Value, *, approximate: str = "none") -> Value:
    x = b.real(x)
    if approximate == "tanh":
        inner = b.MUL(b.ADD(x, b.MUL(b.MUL(b.MUL(x, x), x), 0.044715)), math.sqrt(2 / math.pi))
        bell = b.unary("TANH", inner)
    else:
        bell = b.unary("ERF", b.MUL(x, math.sqrt(0.5)))
    return b.MUL(b.MUL(x, 0.5), b.ADD(bell, 1.0))


@op("aten.leaky_relu.default", quant=Q.TABLE)
def leaky_relu(b: OpBuilder, x: Value, slope: float = 0.01) -> Value:
    x = b.real(x)
    return b.ADD(b.clamp(x, 0.0, _INF), b.MUL(b.clamp(x, -_INF, 0.0), slope))


@op("aten.elu.default", quant=Q.TABLE)
@in_float32
def elu(b: OpBuilder, x: Value, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Value:
    x = b.real(x)
    curve = b.SUB(b.unary("EXP", b.MUL(b.clamp(x, -_INF, 0.0), input_scale)), 1.0)
    bent = b.ADD(b.clamp(x, 0.0, _INF), b.MUL(curve, alpha))
    return bent if scale == 1 else b.MUL(bent, scale)


@op("aten.celu.default", quant=Q.TABLE)
def celu(b: OpBuilder, x: Value, alpha: float = 1.0) -> Value:
    return elu(b, x, alpha, 1.0, 1 / alpha)


@op("aten.selu.default", quant=Q.TABLE)
def selu(b: OpBuilder, x: Value) -> Value:
    return elu(b, x, 1.6732632423543772, 1.0507009873554805)  # Klambauer et al., 2017


@op("aten.rrelu.default", quant=Q.TABLE)
def rrelu(b: OpBuilder, x: Value, low: float = 1 / 8, high: float = 1 / 3, train: bool = False, *_: object) -> Value:
    b.require(not train, "has a random slope", "export the model in eval mode: model.eval()")
    return leaky_relu(b, x, (low + high) / 2)


@op("aten.threshold.default", quant=Q.STEPS)
@in_float32
def threshold(b: OpBuilder, x: Value, limit: float, number: float) -> Value:
    x = b.real_for_step_function(x)
    return b.SELECT(b.compare("GREATER_EQUAL", limit, x), number, x)  # NaN stays


# PyTorch takes these two apart whenever it traces again, so they must be in parts before observers are placed.
@op("aten.hardshrink.default", quant=Q.PIECEWISE)
def hardshrink(b: CompositeBuilder[V], x: V, limit: float = 0.5) -> V:
    size = b.aten.abs(x)
    if isinstance(x, Value) and x.quant is None:  # NaN stays
        return b.aten.where(b.aten.le(size, limit), 0.0, x)
    return b.aten.where(b.aten.gt(size, limit), x, 0.0)  # Ethos-U55 has this comparison alone


@op("aten.softshrink.default", quant=Q.PIECEWISE)
def softshrink(b: CompositeBuilder[V], x: V, limit: float = 0.5) -> V:
    return b.aten.sub(x, b.aten.clamp(x, -limit, limit))


@op("aten.mish.default", quant=Q.TABLE)
@in_float32
def mish(b: OpBuilder, x: Value) -> Value:
    x = b.real(x)
    return b.MUL(x, b.unary("TANH", softplus(b, x)))


@op("aten.softplus.default", quant=Q.TABLE)
@in_float32
def softplus(b: OpBuilder, x: Value, beta: float = 1.0, threshold: float = 20.0) -> Value:
    x = b.real(x)
    scaled = b.MUL(x, beta)
    soft = b.MUL(b.unary("LOG", b.ADD(b.unary("EXP", b.clamp(scaled, -_INF, threshold)), 1.0)), 1 / beta)
    return b.SELECT(b.compare("GREATER", scaled, threshold), x, soft)


def _bent(b: CompositeBuilder[V], x: V, weight: V) -> V:
    """``x`` plus the change by the slopes: an operation and a rounding fewer than the sum of both halves.

    With slopes all up to 1, or all at least 1, the result is the larger or the smaller one of x and the product.
    """
    if weight.size == 1:
        return prelu(b, x, weight)  # one table
    slopes = _by_channel(b, weight, x)
    if b.preferences.maxima:
        for bounds, extreme in (((None, 1.0), b.aten.maximum), ((1.0, None), b.aten.minimum)):
            if b.is_neutral(b.aten.sub(weight, b.aten.clamp(weight, *bounds)), 0.0):
                return extreme(x, b.aten.mul(x, slopes))
    return b.aten.add(x, b.aten.mul(b.aten.clamp(x, None, 0.0), b.aten.sub(slopes, 1.0)))


@op("aten.prelu.default", "aten._prelu_kernel.default", quant=Q.PIECEWISE, decomposition=_bent)
def prelu(b: CompositeBuilder[V], x: V, weight: V) -> V:
    return b.aten.add(b.aten.relu(x), b.aten.mul(b.aten.clamp(x, None, 0.0), _by_channel(b, weight, x)))


def _by_channel(b: CompositeBuilder[V], weight: V, x: V) -> V:
    return b.aten.view(weight, [-1] + [1] * (x.rank - 2)) if weight.size != 1 and x.rank > 2 else weight


@op("aten.log_sigmoid.default", quant=Q.TABLE)
def log_sigmoid(b: OpBuilder, x: Value) -> Value:
    return b.NEGATE(softplus(b, b.NEGATE(b.real(x))))


@op("aten.glu.default", quant=Q.PIECEWISE)
def glu(b: CompositeBuilder[V], x: V, dim: int = -1) -> V:
    half = x.shape[dim] // 2
    gate = b.aten.sigmoid(b.aten.slice(x, dim, half, 2 * half))
    return b.aten.mul(b.aten.slice(x, dim, 0, half), gate)


@op(
    "aten.dropout.default",
    "aten.feature_dropout.default",
    quant=Q.SHARED,
    traits=Traits(moves=Moves.AS_IS, homogeneous=True),
)
def dropout(b: OpBuilder, x: Value, p: float, train: bool) -> Value:
    b.require(not train or p == 0, "drops values at random", "export the model in eval mode: model.eval()")
    return x


@op("aten.native_dropout.default", quant=Q.SHARED)
def native_dropout(b: OpBuilder, x: Value, p: float, train: bool | None) -> tuple[Value, Value]:
    b.require(not train or p == 0, "drops values at random", "export the model in eval mode: model.eval()")
    return x, b.const(torch.ones(x.shape, dtype=torch.bool))
