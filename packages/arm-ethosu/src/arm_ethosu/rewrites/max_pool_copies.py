"""A copy where Vela would otherwise put a tensor at the wrong place, or give it the wrong size."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from math import prod

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.operator_classes import ASSEMBLED
from arm_tosa_core.tosa.pattern import ANY, Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Inserter, Rewrite, Stage
from arm_tosa_core.tosa.walks import through

from ..constraints import is_long_average
from .reduce_max_as_max_pool import becomes_pool


def through_pool(insert: Inserter, tensor: Tensor, flat: bool = False) -> Tensor:
    """A copy of a tensor, made by a pool: what Vela then gives a place of its own.

    Args:
        flat: the pool sees an image of one row, whatever the tensor's shape.
    """
    shape = tensor.shape
    if flat or tensor.rank != 4:
        channels = shape[-1] if shape else 1
        shape = (1, 1, tensor.size // channels, channels)
    image = insert("MAX_POOL2D", insert.reshape(tensor, *shape), kernel=(1, 1), stride=(1, 1), pad=(0, 0, 0, 0))
    return insert.reshape(image, *tensor.shape)


#: A copy by a pool of an image of one row.
through_flat_pool = partial(through_pool, flat=True)
POOLABLE = (DType.INT8, DType.INT16)


def is_poolable(tensor: Tensor) -> bool:
    return tensor.dtype in POOLABLE


def plus_zero(insert: Inserter, tensor: Tensor) -> Tensor:
    """A copy of an INT32 tensor, made by a sum."""
    return insert("ADD", tensor, insert.int32(0, tensor.rank))


def copy_of(insert: Inserter, tensor: Tensor) -> Tensor:
    """A copy of a tensor of any type."""
    if tensor.dtype is DType.BOOL:
        return insert("LOGICAL_OR", tensor, tensor)
    return through_pool(insert, tensor) if is_poolable(tensor) else plus_zero(insert, tensor)


def copied(
    name: str,
    pattern: Pattern,
    reason: str,
    check: Callable[[Match], str | None] | None = None,
    *,
    operand: int | str = 0,
    copy: Callable[[Inserter, Tensor], Tensor] = through_pool,
    through: Collection[str] = (),
) -> Rewrite:
    """The rewrite that copies an operand of the operator that a pattern finds.

    Args:
        reason: why it applies, as of ``Rewrite``.
        operand: its position, or its name in the pattern.
        copy: makes the copy.
    """

    def of_copy(match: Match) -> Mapping[int, Tensor]:
        position = match.position(operand) if isinstance(operand, str) else operand
        return {position: copy(match.insert, match.op.inputs[position])}

    of_copy.__doc__ = reason
    return pattern_rewrite(name, Stage.LEGALIZE, pattern, of_copy, check, frozenset(through))


def _is_no_flat_copy(op: Op) -> bool:
    """Whether it is not a copy that ``through_pool`` makes of an image of one row."""
    return op.name != "MAX_POOL2D" or op.attrs["kernel"] != (1, 1) or op.inputs[0].shape[:2] != (1, 1)


def _factor(resize: Op) -> float:
    """What a RESIZE enlarges by, at most."""
    scale = resize.inputs[1].data
    assert scale is not None
    return max(int(scale[0]) / int(scale[1]), int(scale[2]) / int(scale[3]))


#: Of operators that Vela may make several of: whether it makes one, and puts its result in its place: a RESIZE that
#: enlarges by 2 at most, a DEPTHWISE_CONV2D without a multiplier, an AVG_POOL2D that the hardware has.
_IN_PLACE: dict[str, Callable[[Op], bool]] = {
    "RESIZE": lambda op: _factor(op) <= 2,
    "DEPTHWISE_CONV2D": lambda op: op.inputs[1].shape[3] == 1 or op.inputs[1].shape[2] == 1,
    "AVG_POOL2D": lambda op: not is_long_average(op),
}

#: Operators, and those whose results Vela does not give them at the right place, or of the right size.
_OF_SLICES = dict.fromkeys(("TRANSPOSE_CONV2D", "CONV3D"), ("SLICE",))
_OF_SUMS = dict.fromkeys(("REDUCE_MAX", "REDUCE_MIN"), ("SLICE", "REDUCE_SUM"))
_WRONG_PLACES_U85 = {
    **_OF_SLICES,
    **_OF_SUMS,
    "ARGMAX": ("SLICE",),
    **dict.fromkeys(("CONCAT", "PAD"), ("ABS", "AVG_POOL2D", "BITWISE_NOT", "CLZ", "DEPTHWISE_CONV2D", *ASSEMBLED)),
}
_WRONG_PLACES_U55 = {
    **_OF_SLICES,
    **_OF_SUMS,
    "MATMUL": ("SLICE",),
    "TABLE": ("DEPTHWISE_CONV2D",),
    **dict.fromkeys(("CONCAT", "PAD"), ("DEPTHWISE_CONV2D", "TRANSPOSE_CONV2D", "MATMUL", "RESIZE", *ASSEMBLED)),
}


def _is_displaced(op: Op) -> bool:
    """Whether Vela does not make one operation of an operator, with its result in its place."""
    in_place = _IN_PLACE.get(op.name)
    return in_place is None or not in_place(op)


def _detour(wrong_places: Mapping[str, tuple[str, ...]]) -> Rewrite:
    def rightly_placed(match: Match) -> str | None:
        source = match["source"].name
        if source not in wrong_places[match.op.name] or becomes_pool(match.op):
            return "Vela gives it its place"
        if source in ASSEMBLED and not any(op.name == "RESCALE" for op in match.between("source")):
            return "it is not rescaled: else Vela rescales the parts, all to the same place"
        return None if is_poolable(match.op.inputs[match.position("source")]) else "no pool takes it"

    sources = dict.fromkeys(name for names in wrong_places.values() for name in names)
    source = Pattern("|".join(sources), name="source", through=("RESCALE", "RESHAPE"), where=_is_displaced)
    pattern = Pattern("|".join(wrong_places), {ANY: source})
    reason = "A result that Vela would misplace for a CONCAT, PAD, sum or product goes through a pool first."
    return copied("detour", pattern, reason, rightly_placed, operand="source")


#: Operators that Vela fuses with a maximum or minimum along an axis before them, and then gets sizes or places wrong.
_FUSED_WITH_EXTREMES = ("RESCALE", "RESHAPE", "CONCAT", "PAD")
_FUSED_WITH_EXTREMES_U55 = (*_FUSED_WITH_EXTREMES, "TRANSPOSE")


def _pooled(match: Match) -> Tensor:
    """A maximum or minimum along an axis, of an image, goes through a pool before it is rescaled or moved."""
    op, insert = match.op, match.insert
    x, axis = op.inputs[0], op.attrs["axis"]
    if x.rank != 4:  # else the reshape to an image would come between
        outer, inner = prod(x.shape[:axis]), prod(x.shape[axis + 1 :])
        shape = (1, 1, outer, x.shape[axis]) if inner == 1 else (1, outer, x.shape[axis], inner)
        x, axis = insert.reshape(x, *shape), 3 - (inner > 1)
    return insert.reshape(through_pool(insert, insert.like(op, x, axis=axis)), *op.output.shape)


def _pooled_extreme(fused: tuple[str, ...]) -> Rewrite:
    def apart(match: Match) -> str | None:
        read = any(use.name in fused for use in match.op.output.uses)
        return None if read and not becomes_pool(match.op) else "Vela fuses it with nothing, or it is a pool itself"

    pattern = Pattern("REDUCE_MAX|REDUCE_MIN", {0: Pattern(dtype=POOLABLE)})
    return pattern_rewrite("pooled_extreme", Stage.LEGALIZE, pattern, _pooled, apart)


def _no_smaller(match: Match) -> str | None:
    sizes = zip(match.op.output.shape[1:3], match.op.inputs[0].shape[1:3], strict=True)
    return None if any(after < before for after, before in sizes) else "it makes nothing smaller"


_COMPARED = Pattern("SELECT", {0: Pattern("*"), ANY: Pattern("RESCALE", name="choice", dtype=POOLABLE)})
_WRITTEN = Pattern("RESIZE", {0: Pattern("*", dtype=POOLABLE, through=("RESHAPE",), where=_is_no_flat_copy)})

POOLED_EXTREME = _pooled_extreme(_FUSED_WITH_EXTREMES)
POOLED_EXTREME_U55 = _pooled_extreme(_FUSED_WITH_EXTREMES_U55)
POOLED_CHOICE = copied(
    "pooled_choice",
    _COMPARED,
    "What a comparison chooses from goes through a pool after a RESCALE, which Vela otherwise loses in the chain.",
    operand="choice",
)
DETOUR_U85, DETOUR_U55 = _detour(_WRONG_PLACES_U85), _detour(_WRONG_PLACES_U55)
POOLED_BEFORE_RESIZE = copied(
    "pooled_before_resize",
    _WRITTEN,
    "What a RESIZE makes smaller goes through a pool: Vela lets it begin before all it reads is written.",
    _no_smaller,
    copy=through_flat_pool,
)


_ELEMENTWISE = ("ADD", "SUB", "MUL", "MINIMUM", "MAXIMUM")
#: What may lie between: Vela makes it part of the operator that reads its result.
_BETWEEN = ("RESCALE", "RESHAPE")


def _repeated_constant(graph: Graph, op: Op) -> bool:
    """A constant with fewer elements than the result is copied by a pool, once for all its readers.

    Vela leaves constants in flash, where an elementwise operator of Ethos-U55 spends up to 8 cycles on each element
    of its result. One number is no feature map, but a register.
    """
    for tensor in op.inputs[:2]:
        constant = through(tensor, _BETWEEN)
        if constant.data is None or not is_poolable(constant) or not 1 < constant.size < op.output.size:
            continue
        readers = [use for use in constant.uses if use.name in _ELEMENTWISE + _BETWEEN]
        first = min(readers, key=lambda reader: reader.position)
        copy = through_pool(Inserter(graph, first, op.origin), constant)
        for reader in readers:
            graph.set_input(reader, reader.inputs.index(constant), copy)
        return True
    return False


REPEATED_CONSTANT = Rewrite("repeated_constant", Stage.LEGALIZE, _ELEMENTWISE, _repeated_constant, frozenset(_BETWEEN))
