"""The list of operators: order, positions, insertion and removal anywhere."""

from __future__ import annotations

import random

import pytest

from arm_tosa_core.tosa.graph import OpList
from arm_tosa_core.tosa.ir import Op, Uses


def _op(name: str = "ABS") -> Op:
    return Op(name, [], {}, None)


def test_random_edits_are_those_of_a_list() -> None:
    rng, ops, model = random.Random(0), OpList(), list[Op]()
    for _ in range(3000):
        at, op = rng.randrange(len(model) + 1), _op()
        if rng.random() < 0.3 and model:
            ops.remove(model.pop(at - 1))
        elif at == len(model):
            ops.append(op)
            model.append(op)
        else:
            ops.insert_before(model[at], op)
            model.insert(at, op)
    assert list(ops) == model and list(reversed(ops)) == model[::-1] and len(ops) == len(model)
    assert ops.first is model[0] and ops.last is model[-1]
    positions = [op.position for op in ops]
    assert positions == sorted(set(positions))


@pytest.mark.parametrize("in_front", [False, True], ids=["one behind the other", "one in front of the other"])
def test_thousands_of_operators_between_two(in_front: bool) -> None:
    ops, last = OpList(), _op()
    ops.append(_op())
    ops.append(last)
    before, made = last, list[Op]()
    for _ in range(5000):
        op = _op()
        ops.insert_before(before, op)
        made.append(op)
        before = op if in_front else last
    assert list(ops)[1:-1] == (made[::-1] if in_front else made)
    positions = [op.position for op in ops]
    assert positions == sorted(set(positions))


def test_operators_by_index_and_slice() -> None:
    ops, model = OpList(), [_op(str(i)) for i in range(10)]
    for op in model:
        ops.append(op)
    assert [ops[i] for i in range(-10, 10)] == [model[i] for i in range(-10, 10)]
    for part in (slice(8, None), slice(None, 3), slice(2, None), slice(None, None, 2), slice(10, None)):
        assert ops[part] == model[part]
    with pytest.raises(IndexError, match="operator 10 of 10"):
        ops[10]


def test_iterating_allows_for_the_operator_at_hand_to_go_and_for_others_to_come() -> None:
    ops = OpList()
    for name in "abc":
        ops.append(_op(name))
    seen = []
    for op in ops:
        seen.append(op.name)
        ops.insert_before(op, _op("new"))
        ops.remove(op)
    assert seen == ["a", "b", "c"] and [op.name for op in ops] == ["new"] * 3


def test_uses_count_operands() -> None:
    uses, a, b = Uses(), _op("a"), _op("b")
    for op in (a, b, a):
        uses.add(op)
    assert list(uses) == [a, a, b] and len(uses) == 3 and uses[2] is b and uses.operators() == [a, b]
    uses.remove(a)
    assert list(uses) == [a, b] and a in uses
    uses.remove(a)
    assert list(uses) == [b] and a not in uses
    with pytest.raises(KeyError):
        uses.remove(a)
    with pytest.raises(IndexError, match="position 1 of 1"):
        uses[1]
