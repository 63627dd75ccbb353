"""Data movement that follows data movement of the same kind becomes one."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from ..tosa.dtypes import numpy_dtype
from ..tosa.graph import Graph
from ..tosa.ir import DType, Op, Tensor, finest_axes
from ..tosa.pattern import Match, Pattern, pattern_rewrite
from ..tosa.rewrite import Rewrite, Stage
from ..tosa.scaling import is_by_one


def _needed(match: Match) -> str | None:
    if match.op.output.shape != match.op.inputs[0].shape:
        return "it changes the shape"
    return "an output must be a result of its own" if match.op.output in match.graph.outputs else None


def _no_reshape(match: Match) -> Tensor:
    """RESHAPE that changes nothing is left out."""
    return match.op.inputs[0]


def _no_rescale(graph: Graph, op: Op) -> bool:
    """RESCALE that changes nothing is left out, with a CAST before it; one that is an output stays for that alone."""
    x, zero, new_zero = op.inputs[0], op.inputs[3].data, op.inputs[4].data
    if x.producer is not None and x.producer.name == "CAST" and x.dtype is DType.INT32:
        x = x.producer.inputs[0]
    if x.dtype is not op.output.dtype or not is_by_one(op) or zero is None or new_zero is None:
        return False
    if op.attrs.get("input_unsigned") != op.attrs.get("output_unsigned") or (zero != new_zero).any():
        return False
    if op.output not in graph.outputs:
        graph.replace(op.output, x)
        return True
    readers = [(use, position) for use in op.output.uses for position, y in enumerate(use.inputs) if y is op.output]
    for use, position in readers:
        graph.set_input(use, position, x)
    return bool(readers)


def _without_change(match: Match) -> str | None:
    return "it changes nothing" if match.op.output.shape == match.op.inputs[0].shape else None


def _one_reshape(match: Match) -> Mapping[int, Tensor]:
    """RESHAPE of a RESHAPE reads the operand of the first."""
    return {0: match["inner"].inputs[0]}


def _equal(graph: Graph, op: Op) -> bool:
    """A RESHAPE or TRANSPOSE equal to an earlier one of the same tensor: devices copy a tensor with two views."""
    same = [use for use in op.inputs[0].uses if (use.name, use.attrs) == (op.name, op.attrs)]
    first = min((use for use in same if use.output.shape == op.output.shape), key=lambda use: use.position)
    if first is op or op.output in graph.outputs:
        return False
    graph.replace(op.output, first.output)
    return True


def _computed_starts(match: Match) -> str | None:
    starts = (match["inner"].inputs[1], match.op.inputs[1])
    return None if all(start.is_constant for start in starts) else "starts computed at run time"


def _one_slice(match: Match) -> Mapping[int, Tensor]:
    """SLICE of a SLICE reads the operand of the first."""
    inner, first, second = match["inner"], match["inner"].inputs[1].data, match.op.inputs[1].data
    assert first is not None and second is not None
    return {0: inner.inputs[0], 1: match.graph.shape([int(start) for start in first + second])}


def _not_back(match: Match) -> str | None:
    """Why a TRANSPOSE does not undo the one before it, with a RESHAPE between.

    To make one of both is not always right: Ethos-U85 takes fewer cycles for some in two.
    """
    if not match.between("inner"):
        return None
    sizes, (first, second) = finest_axes(match["inner"].output.shape, match.op.inputs[0].shape)
    inner: tuple[int, ...] = match["inner"].attrs["perms"]
    order: list[int] = []
    for axis in sorted(range(len(inner)), key=lambda axis: inner[axis]):  # as in the operand of the first
        order += first[axis]
    back = [part for axis in match.op.attrs["perms"] for part in second[axis]]
    return None if sizes and order == back else "elements do not come to where they were"


def _transposes(match: Match) -> Tensor | Mapping[int, Tensor]:
    """TRANSPOSE of a TRANSPOSE becomes one, or none; of a reshaped one, where it moves everything back, a RESHAPE."""
    op, inner = match.op, match["inner"]
    x = inner.inputs[0]
    if match.between("inner"):
        return match.insert("RESHAPE", x, match.graph.shape(op.output.shape))
    perms = tuple(inner.attrs["perms"][p] for p in op.attrs["perms"])
    if perms != tuple(range(len(perms))):
        op.attrs["perms"] = perms
        return {0: x}
    is_output = op.output in match.graph.outputs  # an output must be a result of its own
    return match.insert("RESHAPE", x, match.graph.shape(x.shape)) if is_output else x


def _moves_elements(match: Match) -> str | None:
    long = [axis for axis in match.op.attrs["perms"] if match.op.inputs[0].shape[axis] > 1]
    return None if long == sorted(long) else "it moves elements"


def _view(match: Match) -> Tensor:
    """TRANSPOSE that moves axes of one element only becomes a RESHAPE."""
    return match.insert("RESHAPE", match.op.inputs[0], match.graph.shape(match.op.output.shape))


def _perms_of_tile(match: Match) -> tuple[int, ...] | None:
    """How the operand of a TILE is to be moved; None: the RESHAPE between changes the axes that move."""
    perms: tuple[int, ...] = match.op.attrs["perms"]
    if not match.between("tile"):
        return perms
    (x, y) = match.tensor("tile"), match.op.inputs[0]
    prefix = next((axis for axis, perm in enumerate(perms) if axis != perm), 0)  # from here on axes are moved
    moved = y.rank - prefix
    if x.shape[-moved:] != y.shape[prefix:]:
        return None
    return (*range(x.rank - moved), *(perm - y.rank + x.rank for perm in perms[prefix:]))


def _not_before_tile(match: Match) -> str | None:
    if len(match.between("tile")) > 1 or not match["tile"].inputs[1].is_constant:
        return "there is more than a RESHAPE between, or the TILE is computed"
    return "the RESHAPE changes the axes that move" if _perms_of_tile(match) is None else None


def _repeated(match: Match) -> Tensor:
    """TRANSPOSE of a TILE becomes TILE of a TRANSPOSE, which moves less; also through a RESHAPE of unmoved axes."""
    insert, tile, perms = match.insert, match["tile"], _perms_of_tile(match)
    repeats = tile.inputs[1].data
    assert perms is not None and repeats is not None
    tensor = insert("TRANSPOSE", tile.inputs[0], perms=perms)
    tensor = insert.like(tile, tensor, match.graph.shape([int(repeats[perm]) for perm in perms]))
    for shaped in match.between("tile"):
        tensor = insert.like(shaped, tensor, match.graph.shape(match.op.output.shape))
    return tensor


def _not_before_cast(match: Match) -> str | None:
    x, cast = match["cast"].inputs[0], match["cast"].output
    if numpy_dtype(x.dtype).itemsize >= numpy_dtype(cast.dtype).itemsize:
        return "the CAST does not make elements larger"
    for op in match.between("cast"):
        if op.output.shape != x.shape or any(not y.is_constant or prod(y.shape) > 1 for y in op.inputs[1:]):
            return "an operand of another operator would have to be moved, too"
    return None


def _moved_before_cast(match: Match) -> Tensor:
    """TRANSPOSE of numbers that a CAST makes larger moves them before it, and before arithmetic with one number."""
    insert = match.insert
    tensor = insert("TRANSPOSE", match["cast"].inputs[0], perms=match.op.attrs["perms"])
    for op in (match["cast"], *reversed(match.between("cast"))):
        tensor = insert.like(op, tensor, *op.inputs[1:])
    return tensor


def _of(op: str) -> Pattern:
    """An operator on the result of another one of the same name."""
    return Pattern(op, {0: Pattern(op, name="inner")})


# Not RESCALE: Vela fuses a widening one into its reader, but only if nobody else reads it. With one
# RESCALE for two readers, transformers take more cycles and SRAM.
EQUAL_VIEWS = Rewrite("equal_views", Stage.OPTIMIZE, ("RESHAPE", "TRANSPOSE"), _equal)
DROP_RESCALE = Rewrite("drop_rescale", Stage.OPTIMIZE, ("RESCALE",), _no_rescale)
DROP_RESHAPE = pattern_rewrite("drop_reshape", Stage.OPTIMIZE, Pattern("RESHAPE"), _no_reshape, _needed)
MERGE_RESHAPES = pattern_rewrite("merge_reshapes", Stage.OPTIMIZE, _of("RESHAPE"), _one_reshape, _without_change)
MERGE_SLICES = pattern_rewrite("merge_slices", Stage.OPTIMIZE, _of("SLICE"), _one_slice, _computed_starts)
MERGE_TRANSPOSES = pattern_rewrite(
    "merge_transposes",
    Stage.OPTIMIZE,
    Pattern("TRANSPOSE", {0: Pattern("TRANSPOSE", name="inner", through=("RESHAPE",))}),
    _transposes,
    _not_back,
)
TRANSPOSE_AS_RESHAPE = pattern_rewrite(
    "transpose_as_reshape", Stage.OPTIMIZE, Pattern("TRANSPOSE"), _view, _moves_elements
)
TRANSPOSE_BEFORE_TILE = pattern_rewrite(
    "transpose_before_tile",
    Stage.OPTIMIZE,
    Pattern("TRANSPOSE", {0: Pattern("TILE", name="tile", alone=True, through=("RESHAPE",))}),
    _repeated,
    _not_before_tile,
)
TRANSPOSE_BEFORE_CAST = pattern_rewrite(
    "transpose_before_cast",
    Stage.OPTIMIZE,
    Pattern("TRANSPOSE", {0: Pattern("CAST", name="cast", alone=True, through=("ADD", "SUB", "MUL", "CLAMP"))}),
    _moved_before_cast,
    _not_before_cast,
)
