"""LEGALIZE rewrites for Ethos-U: constructs that Vela takes, but not well."""

from __future__ import annotations

from arm_tosa_core.ir import Graph, Op
from arm_tosa_core.rewrite import Rewrite, Stage

_NATIVE_STRIDE = 3


def _patches(graph: Graph, op: Op) -> bool:
    """A convolution whose windows lie side by side becomes a 1x1 convolution over patches.

    Vela cuts a stride beyond 3 into one operation per output element: 196 for the patches of a vision transformer.
    """
    image, weight, *rest = op.inputs
    outputs, height, width, channels = weight.shape
    if op.attrs["stride"] != (height, width) or max(height, width) <= _NATIVE_STRIDE or weight.data is None:
        return False
    if any(op.attrs["pad"]) or op.attrs["dilation"] != (1, 1):
        return False
    batch, rows, columns = op.output.shape[:3]
    index = graph.ops.index(op)
    tensor = image
    for name, shape in (
        ("RESHAPE", (batch * rows, height, columns, width * channels)),
        ("TRANSPOSE", (0, 2, 1, 3)),
        ("RESHAPE", (batch, rows, columns, height * width * channels)),
    ):
        if name == "RESHAPE":
            made = graph.insert(index, name, [tensor, graph.shape(shape)], {}, op.origin)
        else:
            made = graph.insert(index, name, [tensor], {"perms": shape}, op.origin)
        tensor, index = made.output, index + 1
    flat = graph.constant(weight.data.reshape(outputs, 1, 1, -1), weight.dtype)
    attrs = {**op.attrs, "stride": (1, 1)}
    graph.replace(op.output, graph.insert(index, "CONV2D", [tensor, flat, *rest], attrs, op.origin).output)
    return True


PATCHES = Rewrite("patches_as_channels", Stage.LEGALIZE, ("CONV2D",), _patches)
REWRITES = (PATCHES,)
