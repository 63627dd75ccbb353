"""TRANSPOSE_CONV2D as convolutions, for Ethos-U55 and U65, which take INT8 and strides of 1 and 2."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.rewrite import Rewrite, Stage

from .inserter import Inserter


class _Phase(NamedTuple):
    """Every ``stride``-th result along an axis: a convolution with some of the weights.

    Args:
        taps: which weights, in the order of the pixels that they meet; none: a result is the bias alone.
        before, after: pixels of padding; pixels that nothing reads, if less than 0.
    """

    taps: list[int]
    before: int
    after: int


def _phases(pixels: int, kernel: int, stride: int, pad: int, results: int) -> list[_Phase]:
    """TOSA 1.0, TRANSPOSE_CONV2D: pixel ``i`` adds to result ``i * stride + pad + k`` what weight ``k`` makes of it."""
    count, phases = -(-results // stride), []
    for phase in range(stride):
        last, first = divmod(phase - pad, stride)  # the pixel that weight ``first`` meets for the first result
        taps = list(range(first, kernel, stride))[::-1]
        phases.append(_Phase(taps, max(len(taps) - 1, 0) - last, count + last - pixels))
    return phases


def _axes(op: Op) -> list[list[_Phase]]:
    x, weight = op.inputs[:2]
    pads, strides = op.attrs["out_pad"][::2], op.attrs["stride"]
    return [_phases(x.shape[i + 1], weight.shape[i + 1], strides[i], pads[i], op.output.shape[i + 1]) for i in range(2)]


def is_native(op: Op) -> bool:
    """Whether Vela has a TRANSPOSE_CONV2D for Ethos-U55 and U65."""
    (_, height, width, _), (_, kernel_y, kernel_x, _) = (tensor.shape for tensor in op.inputs[:2])
    y, x = op.attrs["stride"]
    stride = (1 if op.output.shape[1] == 1 else y, 1 if op.output.shape[2] == 1 else x)  # of one result: none
    along_one_axis = {(1, 2): height == kernel_y == 1, (2, 1): width == kernel_x == 1}
    taken = stride in ((1, 1), (2, 2)) or along_one_axis.get(stride, False)
    return taken and op.inputs[0].dtype is not DType.INT16


def why_no_phases(op: Op) -> tuple[str, str] | None:
    """What is against TRANSPOSED_AS_CONVOLUTIONS, and what to do about it."""
    for axis, phases in enumerate(_axes(op)):
        if any(-min(p.before, 0) - min(p.after, 0) >= op.inputs[0].shape[axis + 1] for p in phases):
            return f"has results that read no pixel, of a stride of {op.attrs['stride'][axis]}", "use less padding"
    return None


def _transposed_as_convolutions(graph: Graph, op: Op) -> bool:
    """One convolution for each result of a period, rescaled; those of a row lie side by side as channels."""
    x, weight, bias, *zeros = op.inputs
    if is_native(op) or why_no_phases(op) or weight.data is None:
        return False
    result = op.output
    rescales: list[Op] = []
    while len(result.uses) == 1 and result not in graph.outputs and result.uses[0].name == "RESCALE":
        rescales += result.uses
        result = rescales[-1].output
    insert = Inserter(graph, rescales[-1] if rescales else op)
    rows, columns = _axes(op)

    def convolved(above: _Phase, left: _Phase) -> Tensor:
        assert weight.data is not None
        part, data, pads = x, weight.data, []
        for axis, phase in ((1, above), (2, left)):
            start, end = (max(0, -n) for n in (phase.before, phase.after))
            part = insert.slice(part, axis, start, part.shape[axis] - start - end)
            data = data.take(phase.taps or [0], axis)
            pads += [max(0, phase.before), max(0, phase.after)]
        if not (above.taps and left.taps):
            assert zeros[1].data is not None
            data = np.full_like(data, int(zeros[1].data[0]))
        kernel = graph.constant(np.ascontiguousarray(data), weight.dtype)
        attrs = {name: op.attrs[name] for name in ("acc_type", "local_bound")}
        operands = (part, kernel, bias, *zeros)
        made = insert("CONV2D", *operands, pad=tuple(pads), stride=(1, 1), dilation=(1, 1), **attrs)
        for rescale in rescales:
            made = insert("RESCALE", made, *rescale.inputs[1:], **rescale.attrs)
        return made

    made = insert.join([insert.join([convolved(above, left) for left in columns], 3) for above in rows], 2)
    batch, height, width, channels = result.shape
    strides = op.attrs["stride"]
    whole = [-(-size // stride) * stride for size, stride in zip((height, width), strides, strict=True)]
    image = insert.reshape(made, batch, *whole, channels)
    image = insert.slice(insert.slice(image, 1, 0, height), 2, 0, width)
    graph.replace(result, image)
    return True


TRANSPOSED_AS_CONVOLUTIONS = Rewrite(
    "transposed_as_convolutions",
    Stage.LEGALIZE,
    ("TRANSPOSE_CONV2D",),
    _transposed_as_convolutions,
    frozenset(("RESCALE",)),
)
