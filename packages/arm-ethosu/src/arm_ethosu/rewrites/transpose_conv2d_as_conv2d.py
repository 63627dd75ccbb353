"""TRANSPOSE_CONV2D as convolutions, for Ethos-U55 and U65, which take INT8 and strides of 1 and 2."""

from __future__ import annotations

import numpy as np

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Op, Tensor
from arm_tosa_core.tosa.rewrite import Inserter, Rewrite, Stage

from ..native.transpose_conv2d import Phase, is_native, phases_of, why_no_phases


def _transposed_as_convolutions(graph: Graph, op: Op) -> bool:
    """A TRANSPOSE_CONV2D becomes a convolution for each of the results that lie within one stride."""
    x, weight, bias, *zeros = op.inputs
    if is_native(op) or why_no_phases(op) or weight.data is None:
        return False
    result = op.output
    rescales: list[Op] = []
    while len(result.uses) == 1 and result not in graph.outputs and result.uses[0].name == "RESCALE":
        rescales += result.uses
        result = rescales[-1].output
    insert = Inserter(graph, rescales[-1] if rescales else op)
    rows, columns = phases_of(op)

    def convolved(above: Phase, left: Phase) -> Tensor:
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
        result = insert("CONV2D", *operands, pad=tuple(pads), stride=(1, 1), dilation=(1, 1), **attrs)
        for rescale in rescales:
            result = insert("RESCALE", result, *rescale.inputs[1:], **rescale.attrs)
        return result

    joined = insert.join([insert.join([convolved(above, left) for left in columns], 3) for above in rows], 2)
    batch, height, width, channels = result.shape
    strides = op.attrs["stride"]
    whole = [-(-size // stride) * stride for size, stride in zip((height, width), strides, strict=True)]
    image = insert.reshape(joined, batch, *whole, channels)
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
