"""Is a TOSA graph sound: the last stage before it is serialized."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from ..support.errors import LoweringError, Rejected
from .graph import Graph
from .ir import Op, Tensor
from .specification import TosaSpecification
from .table_checks import check, infer

#: Judges one emitted TOSA operator: None if the device takes it, else the reason why not.
Check = Callable[[Op], Rejected | None]


def verify(graph: Graph, spec: TosaSpecification | None = None, checks: Sequence[Check] = ()) -> None:
    """Checks data-flow order, use lists, shapes and types, the specification if one is given, a target's own checks.

    Raises:
        LoweringError: names the operator, the node and source line that it comes from, and the fault.
    """
    defined = {id(tensor) for tensor in graph.inputs}
    used: Counter[tuple[int, int]] = Counter()
    tensors: dict[int, Tensor] = {id(tensor): tensor for tensor in graph.inputs}
    for op in graph.ops:
        for tensor in op.inputs:
            if id(tensor) not in defined and not tensor.is_constant:
                raise _fault(op, f"uses {tensor}, which no earlier operator makes")
            used[id(tensor), id(op)] += 1
            tensors[id(tensor)] = tensor
        _verify_op(op, spec, checks)
        for tensor in op.outputs:
            if tensor.producer is not op:
                raise _fault(op, f"is not the producer that its result {tensor} names")
            defined.add(id(tensor))
            tensors[id(tensor)] = tensor
    for tensor in graph.outputs:
        if id(tensor) not in defined and not tensor.is_constant:
            raise LoweringError(f"no operator makes the graph output {tensor}")
    listed = Counter((id(tensor), id(op)) for tensor in tensors.values() for op in tensor.uses)
    if listed != used:
        wrong = next(iter((listed - used) + (used - listed)))
        raise LoweringError(f"the use list of {tensors[wrong[0]]} does not match the operators of the graph")


def _verify_op(op: Op, spec: TosaSpecification | None, checks: Sequence[Check]) -> None:
    try:
        results = infer(op)
        if spec is not None:
            check(op, spec)
    except (Rejected, LoweringError) as error:
        raise _fault(op, str(error)) from error
    actual = [(tensor.shape, tensor.dtype) for tensor in op.outputs]
    if actual != results:
        raise _fault(op, f"has the results {actual}, the operator table says {results}")
    for target_check in checks:
        if (refused := target_check(op)) is not None:
            raise _fault(op, str(refused))


def _fault(op: Op, problem: str) -> LoweringError:
    origin = op.origin
    where = ""
    if origin is not None:
        where = f", from {origin.node} ({origin.target})" + (f" at {origin.source}" if origin.source else "")
    return LoweringError(f"{op.name}{where}: {problem}")
