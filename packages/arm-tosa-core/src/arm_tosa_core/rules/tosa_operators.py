"""TOSA's own operators, of programs that come from TOSA."""

from __future__ import annotations

from collections.abc import Sequence

from ..lowering.op_builder import OpBuilder
from ..lowering.rule import op
from ..lowering.tosa_operators import NAMESPACE, graph_of
from ..lowering.values import Value
from ..tosa.table import OPERATORS


@op(*(f"{NAMESPACE}.{name}.default" for name in OPERATORS))
def tosa_operator(b: OpBuilder, operands: Sequence[Value], graph: str) -> Value | tuple[Value, ...]:
    inside = graph_of(graph)
    fits = [value.shape for value in operands] == [tensor.shape for tensor in inside.inputs]
    b.require(fits, "has a graph for operands of other shapes", "make the program again")
    results = b.inlined(inside, operands)
    return results if len(results) > 1 else results[0]
