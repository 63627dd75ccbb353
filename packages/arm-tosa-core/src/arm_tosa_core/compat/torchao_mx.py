"""torchao's prototype of microscaling formats (MX)."""

from __future__ import annotations

from typing import Any

import torch

#: The block formats of TOSA by torchao's names for them: a type, or a text for those of 6 bits.
FORMATS: dict[torch.dtype | str, str] = {
    torch.float8_e4m3fn: "FP8E4M3",
    torch.float8_e5m2: "FP8E5M2",
    "fp6_e2m3": "FP6E2M3",
    "fp6_e3m2": "FP6E3M2",
    torch.float4_e2m1fn_x2: "FP4E2M1",
}
_TYPES = {name: dtype for dtype, name in FORMATS.items()}


def scale_modes() -> Any:
    """The enumeration of ways to choose the scale of a block.

    Needs ``ScaleCalculationMode``, with a member RCEIL. Without it ``MXFPOpConfig`` cannot be made.
    """
    from torchao.prototype.mx_formats.config import ScaleCalculationMode

    return ScaleCalculationMode


def to_blocks(x: torch.Tensor, name: str, size: int, mode: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """The codes of a tensor, a byte (uint8) each, and the scales of its blocks, codes of E8M0.

    Needs ``to_mx`` with these arguments. Without it no layer becomes MXFP.

    Args:
        x: float32 or bfloat16; the last axis is a multiple of ``size``.
        name: a value of ``FORMATS``.
        size: of a block.
        mode: of ``scale_modes()``.
    """
    from torchao.prototype.mx_formats.mx_tensor import to_mx

    scale, codes = to_mx(x.contiguous(), _TYPES[name], size, mode)
    codes = codes.view(torch.uint8)
    if name == "FP4E2M1":  # two to a byte, the first in the lower half
        codes = torch.stack([codes & 15, codes >> 4], dim=-1).flatten(-2)
    return codes, scale.view(torch.uint8)


def from_blocks(codes: torch.Tensor, scale: torch.Tensor, name: str, size: int) -> torch.Tensor:
    """The numbers (float32) that codes and scales stand for; ``to_blocks`` undone.

    Needs ``to_dtype`` with these arguments. Without it layers of MXFP do not run in PyTorch.
    """
    from torchao.prototype.mx_formats.mx_tensor import to_dtype

    dtype = _TYPES[name]
    if name == "FP4E2M1":
        codes = codes[..., 0::2] | codes[..., 1::2] << 4
    data = codes.contiguous()
    if isinstance(dtype, torch.dtype) and name.startswith("FP8"):
        data = data.view(dtype)
    numbers: torch.Tensor = to_dtype(data, scale.view(torch.float8_e8m0fnu), dtype, size, torch.float32)
    return numbers
