"""The limits of TOSA's levels (TOSA 1.0, section 1.5 "Levels"), by operator; each raises Rejected beyond them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..support.errors import Rejected
from .ir import Op
from .shape_checks import shape_values
from .specification import Level
from .tensor_operators import window_of


def _within(values: Sequence[int], limit: int, quantity: str, name: str) -> None:
    if max(values) > limit:
        raise Rejected(f"{quantity} {list(values)} exceeds {name} = {limit} of TOSA level 8K")


def pool(op: Op, level: Level) -> None:
    _window_limits(op.attrs, level)


def adaptive_pool(op: Op, level: Level) -> None:
    _window_limits(window_of(op.inputs[-3:]), level)


def _window_limits(window: Mapping[str, Sequence[int]], level: Level) -> None:
    _within(window["kernel"], level.max_kernel, "kernel", "MAX_KERNEL")
    _within(window["pad"], level.max_kernel, "pad", "MAX_KERNEL")
    _within(window["stride"], level.max_stride, "stride", "MAX_STRIDE")


def convolution(first: int, last: int) -> Callable[[Op, Level], None]:
    """Limits of a convolution whose weight has its kernel in dimensions ``first`` to ``last - 1``."""

    def limits(op: Op, level: Level) -> None:
        attrs = op.attrs
        kernel = op.inputs[1].shape[first:last]
        dilated = [k * d for k, d in zip(kernel, attrs.get("dilation", (1, 1)), strict=True)]
        _within(dilated, level.max_kernel, "dilated kernel", "MAX_KERNEL")
        _within(attrs.get("pad") or attrs["out_pad"], level.max_kernel, "pad", "MAX_KERNEL")
        _within(attrs["stride"], level.max_stride, "stride", "MAX_STRIDE")

    return limits


def block_scaled_convolution(op: Op, level: Level) -> None:
    pad, stride, dilation = (shape_values(tensor, "") for tensor in op.inputs[5:])
    kernel = op.inputs[2].shape[1:3]
    _within([k * d for k, d in zip(kernel, dilation, strict=True)], level.max_kernel, "dilated kernel", "MAX_KERNEL")
    _within(pad, level.max_kernel, "pad", "MAX_KERNEL")
    _within(stride, level.max_stride, "stride", "MAX_STRIDE")


def fft(op: Op, level: Level) -> None:
    _within(op.inputs[0].shape[1:], level.max_kernel, "size", "MAX_KERNEL")


def concat(op: Op, level: Level) -> None:
    _within([len(op.inputs)], level.max_tensor_list_size, "number of operands", "MAX_TENSOR_LIST_SIZE")


def resize(op: Op, level: Level) -> None:
    up_y, down_y, up_x, down_x = shape_values(op.inputs[1], "scale")
    if max(up_y / down_y, up_x / down_x) > level.max_scale:
        raise Rejected(f"scale exceeds MAX_SCALE = {level.max_scale} of TOSA level 8K")
