"""The tables of a ``.pte`` (ExecuTorch's schema/program.fbs), every name and number in them checked."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..compat.executorch import read_program
from ..support import foreign
from ..support.errors import UsageError

#: Bytes, of a complex number.
_LARGEST_ELEMENT = 16
#: Bytes of a buffer that planners may leave unused.
_SPARE = 64 << 20


def read_tables(pte: bytes) -> tuple[Any, dict[str, bytes]]:
    """The schema's ``Program``, and the named data that the file holds.

    Names of methods can be parts of files' names, those of operators are such as ``"aten::add.out"``, and every index
    is of something that exists.

    Raises:
        UsageError: ``pte`` is not an ExecuTorch program, was cut short, or says what no compiler writes.
    """
    # The flatbuffer's identifier, "ET" and two digits, is at bytes 4 to 8 (ExecuTorch's schema/program.fbs).
    if pte[4:6] != b"ET":
        raise UsageError(f"not an ExecuTorch program: bytes 4 to 8 are {pte[4:8]!r} instead of b'ET12' or the like")
    try:
        program, named = read_program(pte)
        for plan in program.execution_plan:
            _check(plan, len(program.backend_delegate_data))
            _require_data(plan, program.backend_delegate_data)
    except Exception as error:  # the parser of a damaged flatbuffer fails in any way it likes
        kind = "" if isinstance(error, UsageError) else f"{type(error).__name__}: "
        reason = f"{kind}{' '.join(str(error).split())[:200]}"
        raise UsageError(f"damaged ExecuTorch program of {len(pte)} bytes, compile it again: {reason}") from error
    return program, named


def _check(plan: Any, payloads: int) -> None:
    foreign.file_name(plan.name, "a method")
    for operator in plan.operators:
        operator_name(operator)
    for delegate in plan.delegates:
        foreign.words(delegate.id, "a backend")
        foreign.index(delegate.processed.index, payloads, "payload")
    for value in (entry.val for entry in plan.values):
        if hasattr(value, "dim_order"):
            foreign.axes(value.dim_order, len(foreign.sizes(value.sizes, "a tensor")), "a tensor")
    _check_planned(plan)
    numbers = [*plan.inputs, *plan.outputs]
    for instruction in (step.instr_args for chain in plan.chains for step in chain.instructions):
        numbers += getattr(instruction, "args", ())
        if hasattr(instruction, "op_index"):
            foreign.index(instruction.op_index, len(plan.operators), "operator")
        elif hasattr(instruction, "delegate_index"):
            foreign.index(instruction.delegate_index, len(plan.delegates), "delegate")
    for number in numbers:
        foreign.index(number, len(plan.values), "value")


def _require_data(plan: Any, payloads: Sequence[Any]) -> None:
    """Every delegate has a payload, and every word for its compiler is there: neither may be left out."""
    for delegate in plan.delegates:
        if payloads[delegate.processed.index].data is None:
            raise UsageError(f"a delegate of {plan.name!r} has no payload")
        for spec in delegate.compile_specs:
            if spec.key is None or spec.value is None:
                raise UsageError(f"a delegate of {plan.name!r} has a compile spec without key or value")


def _check_planned(plan: Any) -> None:
    """Buffers are not larger than what is in them: the runtime takes that memory before it looks at anything else."""
    ends: dict[int, int] = {}
    for value in (entry.val for entry in plan.values):
        if (place := getattr(value, "allocation_info", None)) is not None:
            offset = (place.memory_offset_high << 32) + place.memory_offset_low
            end = offset + prod(value.sizes) * _LARGEST_ELEMENT
            ends[place.memory_id] = max(ends.get(place.memory_id, 0), end)
    for number, size in enumerate(plan.non_const_buffer_sizes):
        foreign.sizes([size], "a buffer")
        if size > ends.get(number, 0) + _SPARE:
            raise UsageError(f"{plan.name!r} asks for {size} bytes for tensors of {ends.get(number, 0)} at most")


def operator_name(operator: Any) -> str:
    """The name of one of the schema's operators."""
    return foreign.operator_name(f"{operator.name}.{operator.overload}" if operator.overload else operator.name)
