"""Layers whose weights and activations are MXFP, as ``arm_tosa_core.to_mxfp`` makes them."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..lowering.op_builder import OpBuilder
from ..lowering.rule import op
from ..lowering.values import Value
from ..tosa.ir import DType
from .convolution import fitted


def _require(b: OpBuilder, weight: Value, scale: Value) -> None:
    b.require(
        b.spec.support_extension("mxfp"),
        f"computes in MXFP, which {b.spec} does not have",
        "compile for a specification with it: TOSA-1.1+FP+mxfp",
    )
    b.require(weight.is_const and scale.is_const, "has weights that are computed at run time")


@op("arm_tosa.mxfp_linear.default")
def mxfp_linear(b: OpBuilder, x: Value, weight: Value, scale: Value, bias: Value | None, dtype: str) -> Value:
    """[..., K] by the codes [N, K]: float32 [..., N]."""
    _require(b, weight, scale)
    rows = b.RESHAPE(x, [1, x.size // x.shape[-1], x.shape[-1]])
    codes, scales = (b.RESHAPE(v, [1, *v.shape]) for v in (weight, scale))
    y = b.RESHAPE(b.MATMUL_T_BLOCK_SCALED(rows, codes, scales, DType(dtype)), [*x.shape[:-1], weight.shape[0]])
    return y if bias is None else b.ADD(y, bias)


@op("arm_tosa.mxfp_conv2d.default")
def mxfp_conv2d(
    b: OpBuilder,
    x: Value,
    weight: Value,
    scale: Value,
    bias: Value | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    dtype: str,
) -> Value:
    """NCHW by the codes [OC, KH, KW, IC], blocks along the channels.

    Without ``mxfp_conv`` it is a float convolution of tensors cast to blocks and back: the same products.
    """
    _require(b, weight, scale)
    kind = DType(dtype)
    x, pads = fitted(b, x, weight.shape[1:3], stride, [(p, p) for p in padding], dilation)
    attrs = {"pad": [p for pair in pads for p in pair], "stride": list(stride), "dilation": list(dilation)}
    image = b.nhwc(x)
    if not b.spec.support_extension("mxfp_conv"):
        kernel = b.block_scaled_weight(weight, scale, kind)
        return b.nchw(b.conv("CONV2D", b.block_scaled(image, kind), kernel, bias, **attrs))
    bias = b.const(torch.zeros(weight.shape[0])) if bias is None else bias
    return b.nchw(b.CONV2D_BLOCK_SCALED(image, weight, scale, bias, kind, **attrs))
