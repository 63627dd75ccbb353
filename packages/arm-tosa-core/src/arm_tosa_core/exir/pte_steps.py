"""What a method of an ExecuTorch program does, call by call (ExecuTorch's schema/program.fbs)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..support.errors import UsageError
from .pte_schema import operator_name, read_tables

#: Elements of the schema's ScalarType that programs for accelerators have, as numpy calls them.
_DTYPES = {0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 6: "float32", 11: "bool"}


@dataclass(frozen=True)
class TensorValue:
    """A tensor of a method.

    Args:
        dtype: numpy's name; of a type that numpy lacks, the schema's.
        order: its axes as they lie in memory, outermost first.
        constant: its bytes are in the program.
    """

    shape: tuple[int, ...]
    dtype: str
    order: tuple[int, ...]
    constant: bool

    @property
    def row_major(self) -> bool:
        """Whether its axes lie as they follow one another; an axis of one element may stand anywhere in memory."""
        long = [axis for axis in self.order if self.shape[axis] != 1]
        return long == sorted(long)


@dataclass(frozen=True)
class Call:
    """An operator, such as ``"quantized_decomposed::quantize_per_tensor.out"``, or a delegate.

    Args:
        operator: its name; empty: the delegate of number ``delegate``.
        arguments: the method's values, by number.
    """

    operator: str
    arguments: tuple[int, ...]
    delegate: int = -1


@dataclass(frozen=True)
class Method:
    """A method's values (tensors, or Python's numbers, strings and None), by number, and its calls in order."""

    values: Sequence[Any]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    calls: Sequence[Call]

    def tensor(self, number: int) -> TensorValue:
        """The value of that number.

        Raises:
            UsageError: it is no tensor.
        """
        value = self.values[number]
        if isinstance(value, TensorValue):
            return value
        raise UsageError(f"value {number} of the program is {value!r}, not a tensor")


@dataclass(frozen=True)
class Needs:
    """What a method needs of ExecuTorch's runtime.

    Args:
        operators: those that it calls itself, by name, each once.
        planned: bytes of each buffer that its tensors were planned into.
        inputs, outputs: None for what is no tensor, or has no place in a planned buffer.
        values, items, calls, arguments: how many of each the runtime keeps a record of.
    """

    operators: tuple[str, ...]
    planned: tuple[int, ...]
    inputs: tuple[TensorValue | None, ...]
    outputs: tuple[TensorValue | None, ...]
    values: int
    items: int
    calls: int
    arguments: int


def needs(pte: bytes, name: str = "forward") -> Needs:
    """Reads what a method needs, branches or not.

    Raises:
        UsageError: there is none of that name.
    """
    plan = _plan(pte, name)

    def edge(number: int) -> TensorValue | None:
        value = plan.values[number].val
        placed = getattr(value, "allocation_info", None) is not None or getattr(value, "data_buffer_idx", 0) > 0
        return _value(value) if placed else None

    instructions = [step.instr_args for chain in plan.chains for step in chain.instructions]
    return Needs(
        tuple(dict.fromkeys(_operators(plan))),
        tuple(plan.non_const_buffer_sizes[1:]),
        tuple(map(edge, plan.inputs)),
        tuple(map(edge, plan.outputs)),
        len(plan.values),
        sum(len(getattr(entry.val, "items", ())) for entry in plan.values),
        len(instructions),
        sum(len(getattr(instruction, "args", ())) for instruction in instructions),
    )


def _plan(pte: bytes, name: str) -> Any:
    plans = {plan.name: plan for plan in read_tables(pte)[0].execution_plan}
    if name not in plans:
        raise UsageError(f"the program has no method {name!r}; it has {', '.join(plans)}")
    return plans[name]


def _operators(plan: Any) -> list[str]:
    return list(map(operator_name, plan.operators))


def method(pte: bytes, name: str = "forward") -> Method:
    """Reads a method that has no branches.

    Raises:
        UsageError: there is none of that name, or it chooses between calls while it runs.
    """
    plan = _plan(pte, name)
    operators = _operators(plan)
    calls = []
    for instruction in (step.instr_args for chain in plan.chains for step in chain.instructions):
        arguments = tuple(getattr(instruction, "args", ()))
        if hasattr(instruction, "op_index"):
            calls.append(Call(operators[instruction.op_index], arguments))
        elif hasattr(instruction, "delegate_index"):
            calls.append(Call("", arguments, instruction.delegate_index))
        elif not hasattr(instruction, "value_index"):  # FreeCall only gives memory back
            raise UsageError(f"method {name!r} has a {type(instruction).__name__}: its calls depend on its inputs")
    return Method([_value(entry.val) for entry in plan.values], tuple(plan.inputs), tuple(plan.outputs), calls)


def _value(value: Any) -> Any:
    if hasattr(value, "dim_order"):
        kind = value.scalar_type
        dtype = _DTYPES.get(int(kind), kind.name.lower())
        return TensorValue(tuple(value.sizes), dtype, tuple(value.dim_order), value.data_buffer_idx > 0)
    for field in ("int_val", "double_val", "bool_val", "string_val", "items"):
        if hasattr(value, field):
            return getattr(value, field)
    return None
