"""TRANSPOSE in the form that takes Vela the fewest steps: of few axes, of one image at a time, or behind a copy."""

from __future__ import annotations

from math import inf, prod

from arm_tosa_core.rewrites.by_estimate import Choice
from arm_tosa_core.tosa.ir import Op, Tensor, fewest_axes
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Inserter, Rewrite, Stage
from arm_tosa_core.tosa.walks import made_by, through

from ..accelerators import MAX_AXIS
from ..native.transpose import NATIVE_RANK, joined_behind_one
from ..operator_classes import AT_THE_OUTPUT, KEPT_IN_ROWS
from .graph_parts import is_factor, with_layer
from .max_pool_copies import POOLABLE, copied, through_flat_pool

#: How Ethos-U85 moves the axes of many images fastest one by one.
_BY_IMAGE = ((0, 2, 1, 3), (0, 2, 3, 1))
#: Images at most: each is an operation or two.
_MOST_IMAGES = 64

#: Channels at most of a result that is made in two steps: Ethos-U85 writes 16 at once, used or not.
_FEW_CHANNELS = 4
_BRICK = 16  # channels that it computes at once
_ANY = Pattern("TRANSPOSE")

#: What Vela makes one operation of, with the convolution in front and a TRANSPOSE behind, perhaps in another shape.
_FUSED = frozenset((*AT_THE_OUTPUT, "RESHAPE"))


def _of_few_axes(most: float, images: bool = True) -> Rewrite:
    """The rewrite that leaves a TRANSPOSE fewer axes, of so many elements at most.

    Args:
        images: of several images too, which Vela takes as they are.
    """

    def already(match: Match) -> str | None:
        x, perms = match.op.inputs[0], match.op.attrs["perms"]
        several = images and x.rank == NATIVE_RANK and x.shape[0] > 1 and x.dtype in POOLABLE
        if x.rank <= NATIVE_RANK and not several:
            return "it has few axes"
        return "it needs all of them" if len(fewest_axes(x.shape, perms, most)[0]) == x.rank else None

    def moved(match: Match) -> Tensor:
        """Axes of one element are left out, and those that stay together become one.

        [1, 1, 32, 2, 16] with the perms (0, 3, 1, 2, 4), as in attention whose heads share keys, takes 27,000 cycles on
        Ethos-U85-256, and [32, 2, 16] with (1, 0, 2) a twentieth. Of several images Vela makes an operation of each
        row: [2, 3, 64, 64] with (0, 2, 3, 1) takes 70,656 cycles on Ethos-U55-128, [2, 3, 4096] with (0, 2, 1) 9,216.
        """
        insert, x = match.insert, match.op.inputs[0]
        axes, perms = fewest_axes(x.shape, match.op.attrs["perms"], most)
        result = insert("TRANSPOSE", insert.reshape(x, *axes), perms=perms)
        return insert.reshape(result, *match.op.output.shape)

    return pattern_rewrite("transpose_of_few_axes", Stage.LEGALIZE, _ANY, moved, already)


def _few_axes(match: Match) -> str | None:
    x, perms, source = match.op.inputs[0], match.op.attrs["perms"], match["view"].inputs[0].shape
    axes, turn = [n for n in x.shape if n > 1], [axis for axis in perms if x.shape[axis] > 1]
    if len(source) <= NATIVE_RANK or source[0] != 1 or [n for n in source if n > 1] != axes:
        return "the RESHAPE does not take axes of one element away"
    joined = joined_behind_one(axes, [sorted(turn).index(axis) for axis in turn])
    return "Vela joins few enough elements" if joined <= MAX_AXIS else None


def _no_images(match: Match) -> str | None:
    shape, perms = match.op.inputs[0].shape, match.op.attrs["perms"]
    if _matrices(match.op) is not None:
        return "`transpose_of_matrix` moves all of them at once"
    return None if tuple(perms) in _BY_IMAGE and 1 not in shape and shape[0] <= _MOST_IMAGES else "no batch of images"


def _by_image(match: Match) -> Tensor:
    """A batch of images is transposed image by image.

    Ethos-U85 transposes three axes at once, and Vela makes up to five steps of a batch: of [8, 7, 8, 672] with the
    perms (0, 2, 1, 3), as in windows of an image, 2.06 million cycles on Ethos-U85-256, in place of 0.36.
    """
    x, insert = match.op.inputs[0], match.insert
    return insert.join([insert.like(match.op, insert.slice(x, 0, i, 1)) for i in range(x.shape[0])], axis=0)


def transpose_in_two(least: int) -> Rewrite:
    """The rewrite that makes two of a TRANSPOSE of three axes whose result has few channels.

    [784, 2, 58] with the perms (0, 2, 1), as where channels are shuffled, takes 364,000 cycles on Ethos-U85-256: 16
    channels are written at once, used or not. [58, 2, 784], by (2, 1, 0), and then [116, 784] transposed take 100,000.

    Args:
        least: elements from which on this is done.
    """

    def moved(op: Op) -> list[int]:
        return [axis for axis in op.attrs["perms"] if op.inputs[0].shape[axis] > 1]

    def many_channels(match: Match) -> str | None:
        x, axes = match.op.inputs[0], moved(match.op)
        if len(axes) != 3 or x.size < least:
            return "it is no move of three axes, or a small one"
        if _matrices(match.op) is not None or made_by(through(x, ("RESHAPE",)), "BITWISE_OR"):
            return "it is one of matrices, which their copy writes so"
        rows, _, channels = axes
        few = x.shape[channels] <= _FEW_CHANNELS < x.shape[rows]
        return None if few else "its result has as many channels as rows"

    def in_two(match: Match) -> Tensor:
        """A TRANSPOSE of three axes whose result has few channels is made in two, the last one of a matrix."""
        x, insert = match.op.inputs[0], match.insert
        rows, columns, channels = axes = moved(match.op)
        ordered = sorted(axes)
        result = insert.reshape(x, *(x.shape[a] for a in ordered))
        result = insert("TRANSPOSE", result, perms=tuple(ordered.index(a) for a in (columns, channels, rows)))
        result = insert.reshape(result, x.shape[columns] * x.shape[channels], x.shape[rows])
        return insert.reshape(insert("TRANSPOSE", result, perms=(1, 0)), *match.op.output.shape)

    return pattern_rewrite("transpose_in_two", Stage.LEGALIZE, _ANY, in_two, many_channels, _FUSED)


def _matrices(op: Op) -> tuple[int, int, int] | None:
    """How many matrices are transposed, and their shape, if nothing should write them so: see ``_is_written_so``."""
    x = op.inputs[0]
    matrices = _any_matrices(op)
    if matrices is None or (matrices[0] > 1 and is_factor(op)):
        return None
    if len(x.uses) > 1:
        return matrices if x.shape[-2:] == matrices[1:] else None  # Vela copies what is read in two shapes
    return None if _is_written_so(x, matrices[2]) else matrices


def _any_matrices(op: Op) -> tuple[int, int, int] | None:
    """How many matrices are transposed, and their shape."""
    x, axes = op.inputs[0], [axis for axis in op.attrs["perms"] if op.inputs[0].shape[axis] > 1]
    images = 1
    while axes and axes[0] == min(axes):
        images *= x.shape[axes.pop(0)]
    turn = axes.index(min(axes)) if axes else 0
    if not turn or axes[turn:] + axes[:turn] != sorted(axes) or x.dtype not in POOLABLE or x.is_constant:
        return None
    rows = prod(x.shape[axis] for axis in axes[turn:])
    columns = x.size // images // rows
    if columns < _BRICK or max(images, rows) > MAX_AXIS or (columns > MAX_AXIS and len(axes) > 2):
        return None
    return images, rows, columns


def _is_written_so(x: Tensor, columns: int) -> bool:
    """Whether what computes ``x`` may as well write its rows as columns.

    It is no input, nothing that an operator has only moved, and no MATMUL of another shape, and columns are no longer
    than an axis may be. Of a layer the estimate says (``transpose_of_layer``).
    """
    source = through(x, ("RESHAPE",), alone=True).producer
    if source is None or source.name in KEPT_IN_ROWS or columns > MAX_AXIS:
        return False
    shaped = made_by(through(x, AT_THE_OUTPUT, alone=True), "RESHAPE")
    return not (shaped and made_by(through(x, _FUSED, alone=True), "MATMUL"))


def _no_matrix(match: Match) -> str | None:
    return "it is no matrix, or something should write it so" if _matrices(match.op) is None else None


def _of_matrix(match: Match) -> Tensor:
    """A matrix that nothing should write transposed is first copied by x | 0.

    So are those of a batch, but for a factor of a product, which Vela transposes anyway: [2, 4, 16000] by (0, 2, 1)
    takes 25 million cycles on Ethos-U85-256, and with a copy 32,000.

    Ethos-U85 reads in order and writes transposed. Vela makes a TRANSPOSE by itself a pool, in whose cycles rows much
    longer than columns count twice, and few columns as 16: [40, 296] takes 7,928 on Ethos-U85-256, [80, 3000] 443,000,
    and an image of [3, 224, 224] 549,000. It spends none on one behind an elementwise operation: 2,960, 60,000, 38,000.
    Rows longer than an axis may be are parted: [2, 80000] takes 220 million cycles by Vela alone, and so 960,000. Of a
    larger image two steps are better (``transpose_in_two``).

    What a MATMUL makes in another shape it does not write transposed: the attention of NesT takes 481 million cycles,
    and with a copy 4.
    """
    matrices = _matrices(match.op)
    assert matrices is not None
    return _copied(match.insert, match.op, matrices)


def _copied(insert: Inserter, op: Op, matrices: tuple[int, int, int]) -> Tensor:
    """Matrices transposed behind a copy of them."""
    x, (images, rows, columns) = op.inputs[0], matrices
    axes, perms = ([images, rows], (0, 2, 1)) if images > 1 else ([rows], (1, 0))
    x = x if len(x.uses) > 1 else insert.reshape(x, *axes, columns)
    copies = []
    for start in range(0, columns, MAX_AXIS):
        part = insert.slice(x, x.rank - 1, start, min(MAX_AXIS, columns - start))
        copied = insert("BITWISE_OR", part, insert.reshape(insert.zero(x.dtype), *[1] * x.rank))
        copies.append(insert("TRANSPOSE", insert.reshape(copied, *axes, part.shape[-1]), perms=perms))
    return insert.reshape(insert.join(copies, axis=len(axes) - 1), *op.output.shape)


def _no_layer(match: Match) -> str | None:
    x = match.op.inputs[0]
    if not made_by(through(x, _FUSED, alone=True), "CONV2D") or len(x.uses) > 1 or _any_matrices(match.op) is None:
        return "it is no matrix behind a layer"
    if is_factor(match.op):
        return "Vela transposes a factor of a product anyway"
    return None


def _copied_layer(match: Match) -> Tensor:
    """A matrix that a convolution makes is first copied by x | 0.

    A convolution that writes its result transposed reads its weights again for each part of it: a layer of 256
    channels for 64 rows takes 819,600 cycles on Ethos-U85-256, and with a copy 26,816.
    """
    matrices = _any_matrices(match.op)
    assert matrices is not None
    return _copied(match.insert, match.op, matrices)


TRANSPOSE_BY_IMAGE = pattern_rewrite("transpose_by_image", Stage.LEGALIZE, _ANY, _by_image, _no_images)
TRANSPOSE_OF_MATRIX = pattern_rewrite("transpose_of_matrix", Stage.LEGALIZE, _ANY, _of_matrix, _no_matrix, _FUSED)
TRANSPOSE_OF_LAYER = Choice("transpose_of_layer", _ANY, _copied_layer, _no_layer, around=with_layer)
TRANSPOSE_OF_FEW_AXES, TRANSPOSE_OF_FEW_AXES_U85 = _of_few_axes(MAX_AXIS), _of_few_axes(inf)
TRANSPOSE_OF_FEW_AXES_U65 = _of_few_axes(MAX_AXIS, images=False)
# Vela moves the axes of the tensor before the RESHAPE, and ends with an error where it would join more than 65536
# elements. The axes after it may be few enough.
POOLED_BEFORE_TRANSPOSE = copied(
    "pooled_before_transpose",
    Pattern("TRANSPOSE", {0: Pattern("RESHAPE", name="view", dtype=POOLABLE)}),
    "What a RESHAPE takes axes of one element from goes through a pool before a TRANSPOSE.",
    _few_axes,
    copy=through_flat_pool,
    through=("RESHAPE",),
)
