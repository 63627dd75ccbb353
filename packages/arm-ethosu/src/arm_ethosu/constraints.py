"""What Vela 5.2 refuses or computes otherwise although TOSA allows it, as checks on emitted TOSA operators.

Every limit was found by compiling around it; ``tests/test_constraints.py`` compiles those graphs again, and
``docs/reference/vela-limits.md`` lists them. What compiles to other results than TOSA's is in
``docs/reference/vela-differences.md``.
Shapes are TOSA's: NHWC, two-dimensional attributes as (y, x).
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd, prod

from arm_tosa_core.rewrites.conv2d_over_patches import is_over_patches
from arm_tosa_core.support.errors import Rejected
from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.operator_classes import CONVOLUTIONS
from arm_tosa_core.tosa.verifier import Check

from .accelerators import MAX_AXIS, MAX_IMAGES, MAX_INDICES, MAX_PADDING, MAX_STRIDE, Family
from .native import conv3d, resize, transpose, transpose_conv2d
from .native.pools import windows_as_rows

Limit = Callable[[Op], Rejected | None]

_U55 = "Ethos-U55 and Ethos-U65"


def checks_for(family: Family) -> tuple[Check, ...]:
    """The checks for one family."""
    limits = _U85_LIMITS if family == "u85" else _U55_LIMITS
    common = () if family == "u85" else (_bool, _int48)

    def check(op: Op) -> Rejected | None:
        for limit in (*common, *limits.get(op.name, ())):
            if (refused := limit(op)) is not None:
                return Rejected(f"{op.name}: {refused.reason}", refused.fix)
        return None

    return (check,)


# Both families


def _channels(op: Op) -> Rejected | None:
    channels = op.inputs[0].shape[-1]
    return Rejected(f"{channels} input channels; Vela takes {MAX_AXIS} at most") if channels > MAX_AXIS else None


def _images(op: Op) -> Rejected | None:
    """Of the planes of a volume, too. The images of a 1x1 convolution are one to Vela."""
    images = prod(op.inputs[0].shape[:-3])
    if images <= MAX_IMAGES or (op.name == "CONV2D" and op.inputs[1].shape[1:3] == (1, 1)):
        return None
    reason = f"{images} images; Vela makes an operator of each, and takes too long with more than {MAX_IMAGES}"
    return Rejected(reason, "split the batch")


def longer_padding(op: Op) -> tuple[int, int] | None:
    """The first padding of rows or columns that is longer than its register takes, and what that takes."""
    sides = zip(op.attrs["pad"][-4:], MAX_PADDING, strict=True)
    return next(((size, most) for size, most in sides if size > most), None)


def _long_padding(op: Op) -> Rejected | None:
    """Of operators for which ``rewrites.long_padding`` has no PAD: padding does not count in an average."""
    if (longer := longer_padding(op)) is None:
        return None
    size, most = longer
    return Rejected(f"padding of {size}, of which Vela computes {most} at most on that side", "pad before it")


def is_long_average(op: Op) -> bool:
    """Whether Vela makes sums, products and shifts of an AVG_POOL2D on Ethos-U85; the others do not take it."""
    return any(op.attrs["pad"]) and (max(op.attrs["kernel"]) > 8 or max(op.attrs["stride"]) > MAX_STRIDE)


def _average_of_images(op: Op) -> Rejected | None:
    if (images := op.inputs[0].shape[0]) == 1 or not is_long_average(op):
        return None
    what = f"kernel {list(op.attrs['kernel'])}, stride {list(op.attrs['stride'])} with padding for {images} images"
    return Rejected(f"{what}, of which Vela computes the first only", "average one image at a time")


def _is_constant(tensor: Tensor) -> bool:
    """Vela folds operators on constants, so what they give is constant too."""
    if tensor.is_constant:
        return True
    return tensor.producer is not None and all(map(_is_constant, tensor.producer.inputs))


def _constant_weights(op: Op) -> Rejected | None:
    for position, what in ((1, "weights"), (2, "bias")):
        if not _is_constant(op.inputs[position]):
            return Rejected(f"{what} computed at run time; Vela takes constants only")
    return None


def _constant_deep_weights(op: Op) -> Rejected | None:
    # With a kernel depth of 1 Vela treats CONV3D as CONV2D, whose weights may vary.
    return _constant_weights(op) if op.inputs[1].shape[1] > 1 else None


def _constant_table(op: Op) -> Rejected | None:
    if op.inputs[0].dtype is DType.INT16 and not _is_constant(op.inputs[1]):
        return Rejected("INT16 table computed at run time, with which Vela crashes")
    return None


def _batches_of_indices(op: Op) -> Rejected | None:
    """Many indices of one batch become parts: ``rewrites.indices_in_parts``."""
    batches = op.inputs[1].shape[0]
    if batches <= MAX_INDICES:
        return None
    return Rejected(f"{batches} batches of indices, of which Vela computes {MAX_INDICES} at most", "split the batch")


# Ethos-U55 and Ethos-U65


def _unsupported(op: Op) -> Rejected | None:
    return Rejected(f"{_U55} have no such operation")


def _bool(op: Op) -> Rejected | None:
    if any(tensor.dtype is DType.BOOL for tensor in (*op.inputs, *op.outputs)):
        return Rejected(f"BOOL tensors do not exist on {_U55}")
    return None


def _int48(op: Op) -> Rejected | None:
    x = op.inputs[0] if op.inputs else None
    if x is None or x.dtype is not DType.INT48 or x.is_constant:
        return None
    producer = x.producer
    if op.name != "RESCALE" or producer is None or producer.name not in (*CONVOLUTIONS, "RESIZE") or len(x.uses) > 1:
        return Rejected(
            f"INT48 input; {_U55} have no such type except between a convolution and the one RESCALE after it"
        )
    return None


def _rounded_shift(op: Op) -> Rejected | None:
    """Those without rounding become others: ``rewrites.dropped_bits``."""
    if op.attrs["round"] and op.inputs[0].dtype is not DType.INT32:
        return Rejected(f"{op.inputs[0].dtype} operands; {_U55} take INT32 only")
    return None


def _not_int32(op: Op) -> Rejected | None:
    return Rejected(f"INT32 input; {_U55} take INT8 and INT16") if op.inputs[0].dtype is DType.INT32 else None


def _stride(op: Op) -> tuple[int, int]:
    """Strides (y, x) as Vela sees them: one along an axis that has a single result does not matter."""
    y, x = op.attrs["stride"][-2:]
    height, width = op.output.shape[-3:-1]
    return (1 if height == 1 else y), (1 if width == 1 else x)


def _long_strides(op: Op, *, kernel: tuple[int, ...], unroll: bool) -> Rejected | None:
    """Vela divides a stride by what it shares with a dilation over 2, else it unrolls it into single results."""
    stride = _stride(op)
    if max(stride) <= MAX_STRIDE:
        return None
    pads = any(op.attrs["pad"])
    dilation = tuple(1 if k == 1 else d for k, d in zip(kernel, op.attrs["dilation"][-2:], strict=True))
    if max(dilation) > 2:
        left = [s // gcd(s, d) for s, d in zip(stride, dilation, strict=True)]
        if max(left) <= MAX_STRIDE:
            return None
    elif dilation == (1, 1) and unroll and not pads:
        return None
    why = "in a depthwise convolution" if not unroll else "with padding" if pads else "with dilation"
    return Rejected(f"stride {list(stride)} {why}; {_U55} take strides of {MAX_STRIDE} at most there")


def _conv2d_stride(op: Op) -> Rejected | None:
    refused = _long_strides(op, kernel=op.inputs[1].shape[1:3], unroll=True)
    return None if refused is not None and is_over_patches(op) else refused


def _conv3d_stride(op: Op) -> Rejected | None:
    return _long_strides(op, kernel=op.inputs[1].shape[2:4], unroll=True)


def _depthwise_stride(op: Op) -> Rejected | None:
    height, width, channels, multiplier = op.inputs[1].shape
    # One input channel makes it a CONV2D.
    return _long_strides(op, kernel=(height, width), unroll=channels == 1 and multiplier > 1)


def _depthwise_multiplier(op: Op) -> Rejected | None:
    _, _, channels, multiplier = op.inputs[1].shape
    if multiplier > 1 < channels and channels * multiplier > 1 << 14:
        return Rejected(f"{channels} channels times multiplier {multiplier}; {_U55} take {1 << 14} results at most")
    return None


def _pool_stride(op: Op) -> Rejected | None:
    stride = _stride(op)
    native = max(stride) <= MAX_STRIDE or not any(op.attrs["pad"])
    if not native and (min(stride) > MAX_STRIDE or windows_as_rows(op) is None):
        return Rejected(f"stride {list(stride)} with padding; {_U55} take strides of {MAX_STRIDE} at most there")
    return None


def _avg_pool_kernel(op: Op) -> Rejected | None:
    kernel = op.attrs["kernel"]
    if max(kernel) > 8 and any(op.attrs["pad"]):
        return Rejected(f"kernel {list(kernel)} with padding; {_U55} take 8 at most there")
    return None


def _matmul(op: Op) -> Rejected | None:
    a, b = op.inputs[:2]
    if a.dtype is not DType.INT8:
        return Rejected(f"{a.dtype} operands; {_U55} take INT8", "quantize the activations to 8 bits")
    if a.shape[1] > MAX_AXIS:
        return Rejected(f"{a.shape[1]} rows in A, of which Vela computes {MAX_AXIS} at most on {_U55}", "split A")
    if (longest := max(*b.shape)) > MAX_AXIS:
        return Rejected(f"axis of {longest} in B; {_U55} take {MAX_AXIS} at most")
    return None


def _argmax(op: Op) -> Rejected | None:
    x, axis = op.inputs[0], op.attrs["axis"]
    if x.dtype is not DType.INT8:
        return Rejected(f"{x.dtype} input; {_U55} take INT8")
    if axis != x.rank - 1:
        return Rejected(f"axis {axis} of {x.rank}; {_U55} take the last axis only", "transpose that axis to the end")
    if x.shape[-1] > 127:
        return Rejected(f"{x.shape[-1]} values to choose from; {_U55} take 127 at most")
    if prod(x.shape[:-3]) > 1:
        return Rejected(f"batch of {prod(x.shape[:-3])}; {_U55} take 1", "reshape the leading axes into one")
    return None


def _reduce_sum(op: Op) -> Rejected | None:
    shape, axis = op.inputs[0].shape, op.attrs["axis"]
    if axis == len(shape) - 1:
        return None
    # Vela transposes the axis to the end, as the middle one of three; a longer one rewrites.reduce_sum_in_parts parts.
    parts = -(-shape[axis] // MAX_AXIS)
    before = "before it" if parts == 1 else f"before it and in its {parts} parts"
    for where, size in ((before, parts * prod(shape[:axis])), ("after it", prod(shape[axis + 1 :]))):
        if size > MAX_AXIS:
            return Rejected(f"axis {axis} of {list(shape)} has {size} elements {where}; {_U55} take {MAX_AXIS} at most")
    return None


def _reverse(op: Op) -> Rejected | None:
    if op.attrs["axis"] == op.inputs[0].rank - 1:
        return Rejected(f"along the last axis; {_U55} reverse heights and widths only", "transpose that axis first")
    return None


def _transpose(op: Op) -> Rejected | None:
    x, perms = op.inputs[0], tuple(op.attrs["perms"])
    if perms == tuple(range(x.rank)):
        return None
    wide = x.dtype is DType.INT32
    axes, order = (x.shape, perms) if wide else transpose.few_axes(x.shape, perms)
    if max(axes, default=1) > MAX_AXIS:
        return Rejected(f"axis of {max(axes)}; {_U55} take {MAX_AXIS} at most")
    most = MAX_AXIS // 4 if wide else MAX_AXIS  # measured; no cause is known
    if wide and x.shape[-1] > most and perms[-1] == x.rank - 1:
        return Rejected(f"INT32 with {x.shape[-1]} channels; {_U55} take {most} at most where channels stay last")
    if (longest := transpose.joined(axes, order)) > most:
        what = f"{x.dtype} {list(x.shape)} by {list(perms)}"
        return Rejected(f"{what} joins axes to {longest} elements; {_U55} take {most} at most")
    return None


def _replaced(is_native: Callable[[Op], bool], against: Callable[[Op], tuple[str, str] | None]) -> Limit:
    """What Vela lacks, a rewrite takes, unless something is against it."""

    def limit(op: Op) -> Rejected | None:
        why = None if is_native(op) else against(op)
        return None if why is None else Rejected(*why)

    return limit


_U85_LIMITS: dict[str, tuple[Limit, ...]] = {
    "CONV2D": (_channels, _images),
    "DEPTHWISE_CONV2D": (_channels, _images),
    "CONV3D": (_channels, _images, _constant_deep_weights, _long_padding),
    "TRANSPOSE_CONV2D": (_channels, _images, _constant_weights),
    "AVG_POOL2D": (_channels, _images, _long_padding, _average_of_images),
    "MAX_POOL2D": (_channels, _images),
    "RESIZE": (_channels, _images),
    "TABLE": (_constant_table,),
    **dict.fromkeys(("GATHER", "SCATTER"), (_batches_of_indices,)),
}

_U55_LIMITS: dict[str, tuple[Limit, ...]] = {
    "CONV2D": (_channels, _images, _constant_weights, _conv2d_stride),
    "DEPTHWISE_CONV2D": (_channels, _images, _constant_weights, _depthwise_stride, _depthwise_multiplier),
    "CONV3D": (
        _channels,
        _images,
        _constant_weights,
        _replaced(conv3d.is_native, conv3d.why_no_planes),
        _conv3d_stride,
        _long_padding,
    ),
    "TRANSPOSE_CONV2D": (
        _channels,
        _images,
        _constant_weights,
        _replaced(transpose_conv2d.is_native, transpose_conv2d.why_no_phases),
    ),
    "AVG_POOL2D": (_channels, _images, _pool_stride, _avg_pool_kernel, _long_padding),
    "MAX_POOL2D": (_channels, _images, _pool_stride),
    "RESIZE": (_channels, _images, _replaced(resize.is_native, resize.why_no_convolutions)),
    "TABLE": (_constant_table,),
    "MATMUL": (_matmul,),
    "ARGMAX": (_argmax,),
    "REDUCE_SUM": (_reduce_sum,),
    "REDUCE_MAX": (_not_int32,),
    "REDUCE_MIN": (_not_int32,),
    "REVERSE": (_reverse,),
    "TRANSPOSE": (_transpose,),
    "ARITHMETIC_RIGHT_SHIFT": (_rounded_shift,),
    **dict.fromkeys(
        (
            "BITWISE_AND",
            "BITWISE_OR",
            "BITWISE_XOR",
            "BITWISE_NOT",
            "INTDIV",
            "LOGICAL_RIGHT_SHIFT",
            "GATHER",
            "SCATTER",
        ),
        (_unsupported,),
    ),
}
