"""The limits of TOSA's level 8K (TOSA 1.0, section 1.5 "Levels"), by operator; each raises Rejected beyond them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..support.errors import Rejected
from .ir import MAX_TENSOR_LIST_SIZE, DType, Op
from .shape_checks import shape_values
from .tensor_operators import window_of

MAX_RANK = 6
_MAX_KERNEL, _MAX_STRIDE, _MAX_SCALE, _MAX_LOG2_SIZE = 8192, 8192, 256, 31


def _within(values: Sequence[int], limit: int, quantity: str, name: str) -> None:
    if max(values) > limit:
        raise Rejected(f"{quantity} {list(values)} exceeds {name} = {limit} of TOSA level 8K")


def _window(kernel: Sequence[int], pad: Sequence[int], stride: Sequence[int], name: str = "kernel") -> None:
    _within(kernel, _MAX_KERNEL, name, "MAX_KERNEL")
    _within(pad, _MAX_KERNEL, "pad", "MAX_KERNEL")
    _within(stride, _MAX_STRIDE, "stride", "MAX_STRIDE")


def _dilated(kernel: Sequence[int], pad: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> None:
    _window([k * d for k, d in zip(kernel, dilation, strict=True)], pad, stride, "dilated kernel")


def pool(op: Op) -> None:
    _window(op.attrs["kernel"], op.attrs["pad"], op.attrs["stride"])


def adaptive_pool(op: Op) -> None:
    window = window_of(op.inputs[-3:])
    _window(window["kernel"], window["pad"], window["stride"])


def convolution(first: int, last: int) -> Callable[[Op], None]:
    """Limits of a convolution whose weight has its kernel in dimensions ``first`` to ``last - 1``."""

    def limits(op: Op) -> None:
        attrs, kernel = op.attrs, op.inputs[1].shape[first:last]
        _dilated(kernel, attrs.get("pad") or attrs["out_pad"], attrs["stride"], attrs.get("dilation", (1, 1)))

    return limits


def block_scaled_convolution(op: Op) -> None:
    _dilated(op.inputs[2].shape[1:3], *(shape_values(tensor, "") for tensor in op.inputs[5:]))


def fft(op: Op) -> None:
    _within(op.inputs[0].shape[1:], _MAX_KERNEL, "size", "MAX_KERNEL")


def concat(op: Op) -> None:
    _within([len(op.inputs)], MAX_TENSOR_LIST_SIZE, "number of operands", "MAX_TENSOR_LIST_SIZE")


def resize(op: Op) -> None:
    up_y, down_y, up_x, down_x = shape_values(op.inputs[1], "scale")
    if max(up_y / down_y, up_x / down_x) > _MAX_SCALE:
        raise Rejected(f"scale exceeds MAX_SCALE = {_MAX_SCALE} of TOSA level 8K")


def tensors(op: Op) -> None:
    """Of any operator."""
    for tensor in (*op.inputs, *op.outputs):
        shape = tensor.shape
        if len(shape) > MAX_RANK and tensor.dtype is not DType.SHAPE:
            raise Rejected(f"{op.name}: rank {len(shape)} exceeds MAX_RANK = {MAX_RANK} of TOSA level 8K")
        size = tensor.size
        if size == 0 and tensor.dtype is not DType.SHAPE:
            raise Rejected(f"{op.name}: tensor {list(shape)} is empty, which TOSA does not allow")
        if size * tensor.dtype.bits > 8 << _MAX_LOG2_SIZE:
            limit = f"2**{_MAX_LOG2_SIZE} bytes, MAX_LOG2_SIZE of TOSA level 8K"
            raise Rejected(f"{op.name}: tensor {tensor.dtype}{list(shape)} exceeds {limit}")
