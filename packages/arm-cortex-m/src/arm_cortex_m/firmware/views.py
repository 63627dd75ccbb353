"""SLICE and CONCAT without a copy: a part whose numbers stand side by side in the whole lies in its memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from math import prod

from arm_tosa_core.tosa.ir import Op

from .kernels.kernel import constant
from .kernels.loops import row_major
from .memory import Arena
from .model import Model, Operator, Value, with_values

#: Of the arena that copies take: what it may be without them. Small values lie less well in one another's gaps.
_GROWTH = 9 / 8


def without_copies(model: Model) -> Model:
    """The model whose SLICEs and CONCATs are places in memory; the model itself where that takes a larger arena."""
    places: dict[Value, Value] = {}
    gone = {step for step in model.steps if isinstance(step, Operator) and _placed(step, model, places)}
    if not gone:
        return model
    known: dict[Value, Value] = {}

    def placed(value: Value) -> Value:
        if value not in known:
            place = places.get(value)
            known[value] = value if place is None or place.inside is None else _inside(placed(place.inside), place)
        return known[value]

    steps = tuple(with_values(step, placed) for step in model.steps if step not in gone)
    out = replace(model, steps=steps)
    return out if Arena(out).size <= _GROWTH * Arena(model).size else model


def _inside(whole: Value, part: Value) -> Value:
    return Value(part.dtype, part.size, inside=whole, at=part.at)


def _placed(step: Operator, model: Model, places: dict[Value, Value]) -> bool:
    """Whether the step is no more than places, which are added: by the value, a part of another one."""
    if step.op.name == "SLICE":
        return _slice(step, model, places)
    return step.op.name == "CONCAT" and _concat(step, model, places)


def _slice(step: Operator, model: Model, places: dict[Value, Value]) -> bool:
    """The result is a part of the operand."""
    (source, *_), op = step.inputs.values(), step.op
    sizes, whole = op.output.shape, op.inputs[0].shape
    cut = [axis for axis, size in enumerate(sizes) if size != whole[axis]]
    if source.data is not None or step.output in model.given or (cut and prod(sizes[: cut[-1]]) != 1):
        return False
    starts = constant(op.inputs[1]).tolist()
    first = sum(start * stride for start, stride in zip(starts, row_major(whole), strict=True))
    places[step.output] = replace(step.output, inside=source, at=first * _element(source, op))
    return True


def _concat(step: Operator, model: Model, places: dict[Value, Value]) -> bool:
    """The operands are parts of the result, if steps make them, and they are parts of nothing else."""
    op, parts = step.op, list(step.inputs.values())
    made = {value for each in model.steps for value in each.makes}
    free = all(part in made and part not in model.given and part not in places for part in parts)
    if not free or max(Counter(parts).values()) > 1 or prod(op.output.shape[: op.attrs["axis"]]) != 1:
        return False
    for part, at in zip(parts, _ends(parts), strict=True):
        places[part] = replace(part, inside=step.output, at=at)
    return True


def _ends(parts: list[Value]) -> Iterator[int]:
    at = 0
    for part in parts:
        yield at
        at += part.size


def _element(value: Value, op: Op) -> int:
    """Bytes."""
    return value.size // op.inputs[0].size
