"""Convolutions of rank 1 to 3: plain, depthwise, grouped, transposed."""

from __future__ import annotations

from collections.abc import Sequence

from ..lowering.op_builder import OpBuilder
from ..lowering.rule import Q, op
from ..lowering.traits import Channels, Traits
from ..lowering.values import Value


def _each(argument: int | Sequence[int], n: int) -> list[int]:
    """One number per spatial axis; PyTorch lets one stand for all."""
    numbers = [argument] if isinstance(argument, int) else list(argument)
    return numbers * n if len(numbers) == 1 else numbers


@op(
    "aten.convolution.default",
    quant=Q.CONV,
    traits=Traits(weight_axis=lambda arguments: 1 if arguments[6] else 0, image=True),
)
def convolution(
    b: OpBuilder,
    x: Value,
    weight: Value,
    bias: Value | None,
    stride: Sequence[int],
    padding: Sequence[int | tuple[int, int]],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Value:
    """``padding`` may be (before, after) for an axis."""
    n = weight.rank - 2
    b.require(n in (1, 2, 3), f"convolves over {n} axes; TOSA has 1 to 3")
    stride, dilation = _each(stride, n), _each(dilation, n)
    pads = [(p, p) if isinstance(p, int) else p for p in padding]
    pads = pads * n if len(pads) == 1 else pads
    if x.rank == n + 1:  # without a batch
        batched = b.RESHAPE(x, [1, *x.shape])
        y = convolution(b, batched, weight, bias, stride, pads, dilation, transposed, output_padding, groups)
        return b.RESHAPE(y, y.shape[1:])
    if n == 1:  # an image of height 1
        image, kernel = (b.RESHAPE(v, [*v.shape[:2], 1, v.shape[2]]) for v in (x, weight))
        more = [0, *output_padding]
        y = convolution(b, image, kernel, bias, [1, *stride], [0, *pads], [1, *dilation], transposed, more, groups)
        return b.RESHAPE(y, [*y.shape[:2], y.shape[3]])
    if transposed:
        before = [p for p, _ in pads]
        return _transposed(b, x, weight, bias, stride, before, dilation, _each(output_padding, n), groups)
    x, pads = fitted(b, x, weight.shape[2:], stride, pads, dilation)
    attrs = {"stride": tuple(stride), "pad": tuple(p for pair in pads for p in pair), "dilation": tuple(dilation)}
    image = b.nhwc(x)
    channels, multiplier = x.shape[1], weight.shape[0] // groups
    if n == 2 and groups == channels and groups > 1:
        kernel = _split_channels(b, b.TRANSPOSE(weight, [2, 3, 0, 1]), channels, multiplier)
        return b.nchw(b.conv("DEPTHWISE_CONV2D", image, kernel, bias, **attrs))
    kernel, outputs = b.nhwc(weight), weight.shape[0] // groups
    kernels = [b.slice_axis(kernel, 0, g * outputs, outputs) for g in range(groups)]
    return _grouped(b, f"CONV{n}D", image, kernels, outputs, bias, attrs)


def _split_channels(b: OpBuilder, kernel: Value, channels: int, multiplier: int) -> Value:
    """[KH, KW, C * M, 1] to [KH, KW, C, M]; per-channel scales run over C * M, as TOSA has it."""
    shape = (*kernel.shape[:2], channels, multiplier)
    if kernel.const is None:
        return b.RESHAPE(kernel, shape)
    return kernel.replace(shape=shape, const=kernel.const.reshape(shape))


def _grouped(
    b: OpBuilder,
    name: str,
    image: Value,
    kernels: Sequence[Value],
    outputs: int,
    bias: Value | None,
    attrs: dict[str, tuple[int, ...]],
) -> Value:
    """One convolution per group, with ``outputs`` channels each; the result is NCHW."""
    inputs = image.shape[-1] // len(kernels)
    image = b.in_order(image) if len(kernels) > 1 else image  # once, not part by part
    parts = []
    for g, kernel in enumerate(kernels):
        part = b.slice_axis(image, image.rank - 1, g * inputs, inputs)
        its_bias = None if bias is None else b.slice_axis(bias, 0, g * outputs, outputs)
        parts.append(b.conv(name, part, kernel, its_bias, **attrs))
    return b.nchw(b.concat_channels(parts, image.rank - 1))


def fitted(
    b: OpBuilder,
    x: Value,
    kernel: Sequence[int],
    stride: Sequence[int],
    pads: list[tuple[int, int]],
    dilation: Sequence[int],
) -> tuple[Value, list[tuple[int, int]]]:
    """Drops the rows that no window reaches: TOSA wants the windows to end where the padded image ends.

    Args:
        x: NCHW.
        pads: (before, after) for each spatial axis.
    """
    fitted, sizes = [], []
    for i, (before, after) in enumerate(pads):
        extent = x.shape[i + 2] + before + after - ((kernel[i] - 1) * dilation[i] + 1)
        b.require(extent >= 0, f"has a kernel of {kernel[i]} over an axis of {x.shape[i + 2]}")
        excess = extent % stride[i]
        cut = max(0, excess - after)
        sizes.append(x.shape[i + 2] - cut)
        fitted.append((before, after - (excess - cut)))
    if sizes != list(x.shape[2:]):
        whole = b.in_order(b.nhwc(x))  # the layout of windows, first: Ethos-U85 moves the axes of a part slowly
        x = b.nchw(b.SLICE(whole, [0] * x.rank, [x.shape[0], *sizes, x.shape[1]]))
    return x, fitted


def _transposed(
    b: OpBuilder,
    x: Value,
    weight: Value,
    bias: Value | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    output_padding: Sequence[int],
    groups: int,
) -> Value:
    """TRANSPOSE_CONV2D; over 3 axes, which it lacks, a CONV3D of the image with zeros between its pixels."""
    attrs: dict[str, tuple[int, ...]]
    if len(stride) == 3:
        x, pads = _spread(b, x, weight.shape[2:], stride, padding, dilation, output_padding)
        kind, flipped = "CONV3D", range(1, 4)
        attrs = {"stride": (1, 1, 1), "pad": tuple(pads), "dilation": tuple(dilation)}
    else:
        if any(d != 1 for d in dilation):
            weight = _dilated(b, weight, dilation)
        out_pad = []
        for i in (0, 1):  # padding beyond the kernel crops
            ends = (padding[i], padding[i] - output_padding[i])
            before, after = (max(0, (p - weight.shape[i + 2]) // stride[i] + 1) for p in ends)
            b.require(before + after < x.shape[i + 2], f"has padding of {padding[i]} that leaves nothing of the image")
            x = b.slice_axis(x, i + 2, before, x.shape[i + 2] - before - after)
            out_pad += [n * stride[i] - p for n, p in zip((before, after), ends, strict=True)]
        kind, flipped = "TRANSPOSE_CONV2D", range(0)
        attrs = {"out_pad": tuple(out_pad), "stride": tuple(stride)}
    kernels, inputs = [], x.shape[1] // groups
    for g in range(groups):  # weight: [in, out / groups, (KD,) KH, KW]
        kernel = b.TRANSPOSE(b.slice_axis(weight, 0, g * inputs, inputs), [*range(1, weight.rank), 0])
        for axis in flipped:
            kernel = b.REVERSE(kernel, axis)
        kernels.append(kernel)
    return _grouped(b, kind, b.nhwc(x), kernels, weight.shape[1], bias, attrs)


def _spread(
    b: OpBuilder,
    x: Value,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    output_padding: Sequence[int],
) -> tuple[Value, list[int]]:
    """The image, zeros between its pixels, and the padding with which to convolve it for a transposed convolution."""
    pads = []
    for i in range(len(kernel)):
        x = _stretched(b, x, i + 2, stride[i])
        reach = dilation[i] * (kernel[i] - 1) - padding[i]
        ends = (reach, reach + output_padding[i])
        before, after = (max(0, -n) for n in ends)  # padding beyond the kernel crops
        x = b.slice_axis(x, i + 2, before, x.shape[i + 2] - before - after)
        pads += [max(0, n) for n in ends]
    return x, pads


def _stretched(b: OpBuilder, x: Value, axis: int, stride: int) -> Value:
    """The tensor with ``stride - 1`` zeros between its elements along an axis."""
    if stride == 1:
        return x
    n = x.shape[axis]
    rows = b.RESHAPE(x, [*x.shape[: axis + 1], 1, *x.shape[axis + 1 :]])
    rows = b.PAD(rows, [(0, stride - 1 if i == axis + 1 else 0) for i in range(rows.rank)])
    return b.slice_axis(
        b.RESHAPE(rows, [*x.shape[:axis], n * stride, *x.shape[axis + 1 :]]), axis, 0, (n - 1) * stride + 1
    )


def _dilated(b: OpBuilder, weight: Value, dilation: Sequence[int]) -> Value:
    """The kernel with the zeros of its dilation written out: TRANSPOSE_CONV2D has no dilation of its own."""
    b.require(weight.const is not None, "is a dilated transposed convolution of a weight that is not constant")
    assert weight.const is not None
    spread = [(k - 1) * d + 1 for k, d in zip(weight.shape[2:], dilation, strict=True)]
    data = weight.const.new_full([*weight.shape[:2], *spread], weight.quant.zero_point if weight.quant else 0)
    data[:, :, :: dilation[0], :: dilation[1]] = weight.const
    return weight.replace(shape=tuple(data.shape), const=data)


def _declare(n: int) -> None:
    reads = Channels(weight=1, bias=2, read=-1 - n) if n < 3 else None  # equalization has been tried on no volumes

    @op(f"aten.conv{n}d.default", quant=Q.CONV, traits=Traits(channels=reads, image=True))
    @op(f"aten.conv{n}d.padding", quant=Q.CONV, traits=Traits(image=True))
    def conv(
        b: OpBuilder,
        x: Value,
        weight: Value,
        bias: Value | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] | str = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
    ) -> Value:
        dilation = _each(dilation, n)
        if padding == "same":
            spread = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
            pads: Sequence[int | tuple[int, int]] = [(s // 2, s - s // 2) for s in spread]
        else:
            pads = _each(0 if isinstance(padding, str) else padding, n)
        return convolution(b, x, weight, bias, _each(stride, n), pads, dilation, False, [0] * n, groups)

    overload = "input" if n > 1 else "default"

    @op(f"aten.conv_transpose{n}d.{overload}", quant=Q.CONV, traits=Traits(weight_axis=lambda _: 1, image=True))
    def conv_transpose(
        b: OpBuilder,
        x: Value,
        weight: Value,
        bias: Value | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        groups: int = 1,
        dilation: int | Sequence[int] = 1,
    ) -> Value:
        window = (_each(stride, n), _each(padding, n), _each(dilation, n))
        return convolution(b, x, weight, bias, *window, True, _each(output_padding, n), groups)


for _n in (1, 2, 3):
    _declare(_n)
