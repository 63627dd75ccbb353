"""Layers in MXFP, the block-scaled formats of TOSA 1.1: 32 numbers of 4, 6 or 8 bits share a scale.

``to_mxfp`` puts modules of its own where linear layers and convolutions were. They call operators of the namespace
``arm_tosa``, which have rules; without a delegate PyTorch runs them, so that an eager model shows what MXFP costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import torch
from torch.nn import functional as F

from ...compat.torchao_mx import FORMATS, from_blocks, scale_modes, to_blocks
from ...support.errors import UsageError
from ...tosa.dtypes import numpy_dtype
from ...tosa.ir import DType

_BLOCK = 32
_TYPES = (torch.float32, torch.bfloat16)


@dataclass
class MXFPOpConfig:
    """How ``to_mxfp`` stores weights; activations are cast to the same format at run time.

    Args:
        weight_dtype: ``torch.float8_e4m3fn``, ``torch.float8_e5m2``, ``torch.float4_e2m1fn_x2``, ``"fp6_e2m3"`` or
            ``"fp6_e3m2"``, the last two as torchao calls them.
        weight_scaling_mode: a ``ScaleCalculationMode`` of ``torchao.prototype.mx_formats``: how the scale of a block of
            weights is chosen; None is RCEIL.

    Raises:
        UsageError: another format or mode.
    """

    weight_dtype: torch.dtype | str = torch.float8_e4m3fn
    weight_scaling_mode: Any = None

    def __post_init__(self) -> None:
        if self.weight_dtype not in FORMATS:
            raise UsageError(f"weight_dtype {self.weight_dtype} is not MXFP; one of {', '.join(map(str, FORMATS))}")
        if self.weight_scaling_mode is None:
            self.weight_scaling_mode = scale_modes().RCEIL
        if not isinstance(self.weight_scaling_mode, scale_modes()):
            known = ", ".join(mode.name for mode in scale_modes())
            raise UsageError(f"weight_scaling_mode {self.weight_scaling_mode} is no ScaleCalculationMode: {known}")

    @property
    def block_size(self) -> int:
        """How many numbers share a scale: 32, the only size of TOSA."""
        return _BLOCK


def to_mxfp(
    model: torch.nn.Module, config: MXFPOpConfig, filter_fn: Callable[[torch.nn.Module, str], bool] | None = None
) -> None:
    """Replaces linear layers and two-dimensional convolutions within a model, in place, by ones in MXFP.

    Args:
        model: is changed; itself it cannot be replaced.
        config: format of the weights.
        filter_fn: takes a module and its name, says whether to replace it; without, all layers of these two kinds.

    Raises:
        UsageError: a layer that cannot be MXFP: its input channels are no multiple of 32, it has groups, its padding is
            a word or not of zeros, or it computes in another type than float32 and bfloat16. The model is as it was.
    """
    kinds = (torch.nn.Linear, torch.nn.Conv2d)
    layers = [
        (name, module)
        for name, module in model.named_modules()
        if name and isinstance(module, kinds) and (filter_fn is None or filter_fn(module, name))
    ]
    replacements = [(name, _layer(name, module, config)) for name, module in layers]
    for name, module in replacements:
        parent, _, own = name.rpartition(".")
        setattr(model.get_submodule(parent), own, module)


def _layer(name: str, module: torch.nn.Linear | torch.nn.Conv2d, config: MXFPOpConfig) -> torch.nn.Module:
    weight = module.weight.detach()
    weight = weight if isinstance(module, torch.nn.Linear) else weight.permute(0, 2, 3, 1)
    faults = {
        f"computes in {weight.dtype}; float32 and bfloat16 can be": weight.dtype not in _TYPES,
        f"has {weight.shape[-1]} input channels, no multiple of {_BLOCK}": weight.shape[-1] % _BLOCK != 0,
    }
    if isinstance(module, torch.nn.Conv2d):
        faults["has groups"] = module.groups != 1
        faults[f"has the padding {module.padding!r}; numbers can be"] = isinstance(module.padding, str)
        faults[f"pads with {module.padding_mode}; zeros can be"] = module.padding_mode != "zeros"
    if problem := next((problem for problem, holds in faults.items() if holds), None):
        raise UsageError(f"{name} ({type(module).__name__}) cannot be MXFP: {problem}; leave it out with filter_fn")
    weights = _Kept(weight, module.bias, config)
    return MXFPLinear(weights) if isinstance(module, torch.nn.Linear) else MXFPConv2d(weights, module)


class _Kept(torch.nn.Module):
    """Codes and scales of a weight whose blocks lie along its last axis, and the bias in float32."""

    weight: torch.Tensor
    scale: torch.Tensor
    bias: torch.Tensor | None

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None, config: MXFPOpConfig) -> None:
        super().__init__()
        self.dtype, self.format = weight.dtype, FORMATS[config.weight_dtype]
        codes, scale = to_blocks(weight, self.format, _BLOCK, config.weight_scaling_mode)
        self.register_buffer("weight", codes)
        self.register_buffer("scale", scale)
        self.register_buffer("bias", None if bias is None else bias.detach().float())


class MXFPLinear(torch.nn.Module):
    """A linear layer in MXFP."""

    def __init__(self, weights: _Kept) -> None:
        super().__init__()
        self.kept = weights

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        k = self.kept
        y: torch.Tensor = torch.ops.arm_tosa.mxfp_linear(x, k.weight, k.scale, k.bias, k.format)
        return y.to(k.dtype)


class MXFPConv2d(torch.nn.Module):
    """A convolution in MXFP."""

    def __init__(self, weights: _Kept, of: torch.nn.Conv2d) -> None:
        super().__init__()
        self.kept, self.sizes = weights, [list(map(int, sizes)) for sizes in (of.stride, of.padding, of.dilation)]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        k = self.kept
        y: torch.Tensor = torch.ops.arm_tosa.mxfp_conv2d(x, k.weight, k.scale, k.bias, *self.sizes, k.format)
        return y.to(k.dtype)


def _rounded(x: torch.Tensor, format: str) -> torch.Tensor:
    """The numbers of an activation as a cast to blocks along its last axis gives them."""
    return rounded_to_blocks(x, DType(format), _BLOCK)


@torch.library.custom_op("arm_tosa::mxfp_linear", mutates_args=())
def _linear(
    x: torch.Tensor, weight: torch.Tensor, scale: torch.Tensor, bias: torch.Tensor | None, format: str
) -> torch.Tensor:
    return F.linear(_rounded(x, format), from_blocks(weight, scale, format, _BLOCK), bias)


@_linear.register_fake
def _(
    x: torch.Tensor, weight: torch.Tensor, scale: torch.Tensor, bias: torch.Tensor | None, format: str
) -> torch.Tensor:
    return x.new_empty([*x.shape[:-1], weight.shape[0]], dtype=torch.float32)


@torch.library.custom_op("arm_tosa::mxfp_conv2d", mutates_args=())
def _conv2d(
    x: torch.Tensor,
    weight: torch.Tensor,
    scale: torch.Tensor,
    bias: torch.Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    format: str,
) -> torch.Tensor:
    image = _rounded(x.permute(0, 2, 3, 1), format).permute(0, 3, 1, 2).contiguous()
    kernel = from_blocks(weight, scale, format, _BLOCK).permute(0, 3, 1, 2)
    return F.conv2d(image, kernel, bias, stride, padding, dilation)


@_conv2d.register_fake
def _(
    x: torch.Tensor,
    weight: torch.Tensor,
    scale: torch.Tensor,
    bias: torch.Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    format: str,
) -> torch.Tensor:
    numbers = zip(x.shape[2:], weight.shape[1:3], stride, padding, dilation, strict=True)
    spatial = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in numbers]
    return x.new_empty([x.shape[0], weight.shape[0], *spatial], dtype=torch.float32)


#: Exponents that the type of the scales, FP8UE8M0, has.
_LEAST, _GREATEST = -127, 127


def rounded_to_blocks(x: torch.Tensor, dtype: DType, size: int) -> torch.Tensor:
    """CAST_TO_BLOCK_SCALED: the numbers of ``x`` as blocks along the last axis hold them, in float32.

    The scale of a block is the least power of two with which its largest magnitude, rounded to ``dtype``, is a number
    of ``dtype``: the reference model of tosa-tools 2026.8 does so (``tests/rules/test_block_scaled.py`` compares).

    Args:
        x: finite reals; the last axis is a multiple of ``size``.
        dtype: FP4, FP6 or FP8.
        size: of a block.
    """
    kind = numpy_dtype(dtype)
    about = ml_dtypes.finfo(kind)  # type: ignore[no-untyped-call]
    top, greatest = np.frexp(float(about.max))  # 0.5 <= top < 1
    reals = x.detach().double().numpy().reshape(*x.shape[:-1], -1, size)
    fraction, exponent = np.frexp(np.abs(reals).max(-1, keepdims=True))
    steps = 2.0 ** (about.nmant + 1)
    overflows = np.rint(fraction * steps) / steps > top
    scale = np.clip(exponent - greatest + overflows, _LEAST, _GREATEST)
    most = float(about.max)
    codes = np.clip(np.ldexp(reals, -scale), -most, most).astype(np.float32).astype(kind)
    rounded = np.ldexp(codes.astype(np.float64), scale).astype(np.float32)
    return torch.from_numpy(rounded.reshape(x.shape))
