"""Reading the delegates' payloads out of an ExecuTorch program (``.pte``)."""

from __future__ import annotations

from dataclasses import dataclass

from ..compat.executorch import read_program
from ..support.errors import UsageError


@dataclass(frozen=True)
class Delegate:
    """One delegate of a program.

    Args:
        backend_id: the ExecuTorch delegate that executes it, for example ``"VgfBackend"``.
        payload: what the backend's ``preprocess`` returned.
        index: its place among all delegates of the program, from 0.
        method: the method that it belongs to, usually ``"forward"``.
        compile_specs: key and value of each compile spec, as stored.
    """

    backend_id: str
    payload: bytes
    index: int
    method: str
    compile_specs: tuple[tuple[str, bytes], ...]


def delegates(pte: bytes) -> list[Delegate]:
    """Every delegate of a serialized program, in order; payloads stored inline or in segments alike.

    Raises:
        UsageError: ``pte`` is not an ExecuTorch program, or was cut short.
    """
    # The flatbuffer's identifier, "ET" and two digits, is at bytes 4 to 8 (ExecuTorch's schema/program.fbs).
    if pte[4:6] != b"ET":
        raise UsageError(f"not an ExecuTorch program: bytes 4 to 8 are {pte[4:8]!r} instead of b'ET12' or the like")
    try:
        program = read_program(pte)
        plans = [(plan.name, delegate) for plan in program.execution_plan for delegate in plan.delegates]
        return [
            Delegate(
                backend_id=delegate.id,
                payload=bytes(program.backend_delegate_data[delegate.processed.index].data),
                index=index,
                method=method,
                compile_specs=tuple((spec.key, bytes(spec.value)) for spec in delegate.compile_specs),
            )
            for index, (method, delegate) in enumerate(plans)
        ]
    except Exception as error:  # the parser of a damaged flatbuffer fails in any way it likes
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise UsageError(f"damaged ExecuTorch program of {len(pte)} bytes, compile it again: {reason}") from error


def bounded_inputs(pte: bytes, method: str = "forward") -> list[bool]:
    """For each input of a method whether its sizes may be smaller than what the program says.

    Args:
        pte: a program that ``delegates`` reads.
    """
    (plan,) = (plan for plan in read_program(pte).execution_plan if plan.name == method)
    tensors = (plan.values[index].val for index in plan.inputs)
    return [getattr(getattr(tensor, "shape_dynamism", None), "name", "STATIC") != "STATIC" for tensor in tensors]
