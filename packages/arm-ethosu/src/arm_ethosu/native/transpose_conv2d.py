"""TRANSPOSE_CONV2D on Ethos-U55 and U65: the cases that Vela takes, and those that convolutions replace."""

from __future__ import annotations

from typing import NamedTuple

from arm_tosa_core.tosa.ir import DType, Op

from ..accelerators import MAX_AXIS


class Phase(NamedTuple):
    """Every ``stride``-th result along an axis: a convolution with some of the weights.

    Args:
        taps: which weights, in the order of the pixels that they meet; none: a result is the bias alone.
        before, after: pixels of padding; pixels that nothing reads, if less than 0.
    """

    taps: list[int]
    before: int
    after: int


def _phases(pixels: int, kernel: int, stride: int, pad: int, results: int) -> list[Phase]:
    """TOSA 1.0, TRANSPOSE_CONV2D: pixel ``i`` adds its product with weight ``k`` to result ``i * stride + pad + k``."""
    count, phases = -(-results // stride), []
    for phase in range(stride):
        last, first = divmod(phase - pad, stride)  # the pixel that weight ``first`` meets for the first result
        taps = list(range(first, kernel, stride))[::-1]
        phases.append(Phase(taps, max(len(taps) - 1, 0) - last, count + last - pixels))
    return phases


def phases_of(op: Op) -> list[list[Phase]]:
    """The convolutions that a TRANSPOSE_CONV2D consists of along the height, and along the width."""
    x, weight = op.inputs[:2]
    pads, strides = op.attrs["out_pad"][::2], op.attrs["stride"]
    return [_phases(x.shape[i + 1], weight.shape[i + 1], strides[i], pads[i], op.output.shape[i + 1]) for i in range(2)]


def is_native(op: Op) -> bool:
    """Whether Vela has a TRANSPOSE_CONV2D for Ethos-U55 and U65."""
    (_, height, width, _), (_, kernel_y, kernel_x, _) = (tensor.shape for tensor in op.inputs[:2])
    y, x = op.attrs["stride"]
    stride = (1 if op.output.shape[1] == 1 else y, 1 if op.output.shape[2] == 1 else x)  # of one result: none
    along_one_axis = {(1, 2): height == kernel_y == 1, (2, 1): width == kernel_x == 1}
    has_stride = stride in ((1, 1), (2, 2)) or along_one_axis.get(stride, False)
    # Beyond 65536 results, which Vela computes in parts, the last part reads nothing but padding.
    in_one = stride == (1, 1) or max(op.output.shape[1:3]) <= MAX_AXIS
    # Results behind the last window are made with weights of 0 and the bias, which Vela confuses with another's.
    within = max(op.attrs["out_pad"]) <= 0
    return has_stride and in_one and within and op.inputs[0].dtype is not DType.INT16


def why_no_phases(op: Op) -> tuple[str, str] | None:
    """The obstacle to TRANSPOSED_AS_CONVOLUTIONS, and the remedy."""
    for axis, phases in enumerate(phases_of(op)):
        if any(-min(p.before, 0) - min(p.after, 0) >= op.inputs[0].shape[axis + 1] for p in phases):
            return f"has results that read no pixel, of a stride of {op.attrs['stride'][axis]}", "use less padding"
    return None
