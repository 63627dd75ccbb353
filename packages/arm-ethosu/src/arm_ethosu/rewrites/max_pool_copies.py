"""A copy where Vela would otherwise put a tensor at the wrong place, or give it the wrong size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op, Origin, Tensor
from arm_tosa_core.tosa.rewrite import Rewrite, Stage

from ..constraints import is_long_average
from .inserter import Inserter
from .reduce_max_as_max_pool import becomes_pool


def through_pool(graph: Graph, before: Op, tensor: Tensor, origin: Origin | None = None, flat: bool = False) -> Tensor:
    """A copy of a tensor, made by a pool inserted before an operator: what Vela then gives a place of its own.

    Args:
        origin: where the pool comes from; that of ``before`` if none is given.
        flat: the pool sees an image of one row, whatever the tensor's shape.
    """
    insert, image, flat = Inserter(graph, before, origin), tensor, flat or tensor.rank != 4
    if flat:
        channels = tensor.shape[-1] if tensor.rank else 1
        image = insert("RESHAPE", tensor, graph.shape((1, 1, tensor.size // channels, channels)))
    image = insert("MAX_POOL2D", image, kernel=(1, 1), stride=(1, 1), pad=(0, 0, 0, 0))
    return insert("RESHAPE", image, graph.shape(tensor.shape)) if flat else image


def is_poolable(tensor: Tensor) -> bool:
    return tensor.dtype in (DType.INT8, DType.INT16)


def _source(tensor: Tensor) -> tuple[str, bool]:
    """The operator that makes a tensor, before any RESCALE and RESHAPE, and whether there is a RESCALE.

    Empty for an input or a constant, and for what Vela makes one operation of and puts in its place: a RESIZE that
    enlarges by 2 at most, a DEPTHWISE_CONV2D without a multiplier, an AVG_POOL2D that the hardware has.
    """
    op, rescaled = tensor.producer, False
    while op is not None and op.name in ("RESCALE", "RESHAPE"):
        rescaled |= op.name == "RESCALE"
        op = op.inputs[0].producer
    in_place = None if op is None else _IN_PLACE.get(op.name)
    return "" if op is None or (in_place is not None and in_place(op)) else op.name, rescaled


def _is_flat_copy(op: Op | None) -> bool:
    """Whether it is a copy that ``through_pool`` makes of an image of one row."""
    return (
        op is not None and op.name == "MAX_POOL2D" and op.attrs["kernel"] == (1, 1) and op.inputs[0].shape[:2] == (1, 1)
    )


def _factor(resize: Op) -> float:
    """What a RESIZE enlarges by, at most."""
    scale = resize.inputs[1].data
    assert scale is not None
    return max(int(scale[0]) / int(scale[1]), int(scale[2]) / int(scale[3]))


#: Of operators that Vela may make several of: whether it makes one, and puts its result in its place.
_IN_PLACE: dict[str, Callable[[Op], bool]] = {
    "RESIZE": lambda op: _factor(op) <= 2,
    "DEPTHWISE_CONV2D": lambda op: op.inputs[1].shape[3] == 1 or op.inputs[1].shape[2] == 1,
    "AVG_POOL2D": lambda op: not is_long_average(op),
}

#: Operators that assemble their result of parts. If it is rescaled, Vela rescales the parts, all to the same place.
_ASSEMBLED = ("CONCAT", "PAD", "TILE")
#: Operators, and those whose results Vela does not give them at the right place, or of the right size.
_OF_SLICES = dict.fromkeys(("TRANSPOSE_CONV2D", "CONV3D"), ("SLICE",))
_OF_SUMS = dict.fromkeys(("REDUCE_MAX", "REDUCE_MIN"), ("SLICE", "REDUCE_SUM"))
_WRONG_PLACES_U85 = {
    **_OF_SLICES,
    **_OF_SUMS,
    "ARGMAX": ("SLICE",),
    **dict.fromkeys(("CONCAT", "PAD"), ("ABS", "AVG_POOL2D", "BITWISE_NOT", "CLZ", "DEPTHWISE_CONV2D", *_ASSEMBLED)),
}
_WRONG_PLACES_U55 = {
    **_OF_SLICES,
    **_OF_SUMS,
    "MATMUL": ("SLICE",),
    "TABLE": ("DEPTHWISE_CONV2D",),
    **dict.fromkeys(("CONCAT", "PAD"), ("DEPTHWISE_CONV2D", "TRANSPOSE_CONV2D", "MATMUL", "RESIZE", *_ASSEMBLED)),
}


def _detour(wrong_places: Mapping[str, tuple[str, ...]]) -> Rewrite:
    def apply(graph: Graph, op: Op) -> bool:
        """A result that Vela would misplace for a CONCAT, PAD, sum or product goes through a pool first."""
        changed = False
        for position, tensor in enumerate(() if becomes_pool(op) else op.inputs):
            source, rescaled = _source(tensor)
            wrong = source in wrong_places[op.name] and (rescaled or source not in _ASSEMBLED)
            if wrong and is_poolable(tensor):
                graph.set_input(op, position, through_pool(graph, op, tensor))
                changed = True
        return changed

    return Rewrite("detour", Stage.LEGALIZE, tuple(wrong_places), apply, frozenset(("RESCALE", "RESHAPE")))


#: Operators that Vela fuses with a maximum or minimum along an axis before them, and then gets sizes or places wrong.
_FUSED = ("RESCALE", "RESHAPE", "CONCAT", "PAD")
_FUSED_U55 = (*_FUSED, "TRANSPOSE")


def _pooled_extreme(fused: tuple[str, ...]) -> Rewrite:
    def apply(graph: Graph, op: Op) -> bool:
        """A maximum or minimum along an axis, of an image, goes through a pool before it is rescaled or moved."""
        return any(use.name in fused for use in op.output.uses) and _pool_extreme(graph, op)

    return Rewrite("pooled_extreme", Stage.LEGALIZE, ("REDUCE_MAX", "REDUCE_MIN"), apply)


def _pool_extreme(graph: Graph, op: Op) -> bool:
    x, axis = op.inputs[0], op.attrs["axis"]
    if not is_poolable(x) or becomes_pool(op):
        return False
    insert = Inserter(graph, op)
    if x.rank != 4:  # else the reshape to an image would come between
        outer, inner = prod(x.shape[:axis]), prod(x.shape[axis + 1 :])
        shape = (1, 1, outer, x.shape[axis]) if inner == 1 else (1, outer, x.shape[axis], inner)
        x, axis = insert("RESHAPE", x, graph.shape(shape)), 3 - (inner > 1)
    pooled = through_pool(graph, op, insert.like(op, x, axis=axis))
    graph.replace(op.output, insert.reshape(pooled, *op.output.shape))
    return True


POOLED_EXTREME, POOLED_EXTREME_U55 = _pooled_extreme(_FUSED), _pooled_extreme(_FUSED_U55)


def _pooled_choice(graph: Graph, op: Op) -> bool:
    """What a comparison chooses from goes through a pool after a RESCALE, which Vela otherwise loses in the chain."""
    if op.inputs[0].producer is None:
        return False
    changed = False
    for position, tensor in enumerate(op.inputs[1:], 1):
        if tensor.producer is not None and tensor.producer.name == "RESCALE" and is_poolable(tensor):
            graph.set_input(op, position, through_pool(graph, op, tensor))
            changed = True
    return changed


def _made_smaller(graph: Graph, op: Op) -> bool:
    """What a RESIZE makes smaller goes through a pool: Vela lets it begin before all it reads is written."""
    x = source = op.inputs[0]
    while source.producer is not None and source.producer.name == "RESHAPE":
        source = source.producer.inputs[0]
    smaller = any(made < size for made, size in zip(op.output.shape[1:3], x.shape[1:3], strict=True))
    if not smaller or source.producer is None or _is_flat_copy(source.producer) or not is_poolable(x):
        return False
    graph.set_input(op, 0, through_pool(graph, op, x, flat=True))
    return True


POOLED_CHOICE = Rewrite("pooled_choice", Stage.LEGALIZE, ("SELECT",), _pooled_choice)
DETOUR_U85, DETOUR_U55 = _detour(_WRONG_PLACES_U85), _detour(_WRONG_PLACES_U55)
MADE_SMALLER = Rewrite("made_smaller", Stage.LEGALIZE, ("RESIZE",), _made_smaller, frozenset(("RESHAPE",)))
