"""From a TOSA graph to the steps that compute it on the processor."""

from __future__ import annotations

from typing import Any

import numpy as np

from arm_tosa_core.tosa.dtypes import numpy_dtype
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Op, Tensor

from ..kernels import Call, calls
from .c_text import c_type
from .groups import groups_of
from .kernels import ALIASES, KERNELS
from .model import Called, Model, Operator, Port, Step, Value
from .repeats import with_loops
from .views import without_copies

#: Constants of a program by type and bytes: equal ones are one.
Constants = dict[tuple[str, bytes], Value]


def steps_of(graph: Graph, values: dict[Tensor, Value], constants: Constants) -> list[Step]:
    """The steps of a graph, of whose operators each has a kernel.

    Args:
        values: of the graph's inputs; those of tensors that steps read or make, and of its outputs, are added.
        constants: those known already; others are added.
    """
    steps: list[Step] = []

    def value(tensor: Tensor) -> Value:
        if tensor not in values:
            data = tensor.data
            assert data is not None, "what no operator made is a constant"
            values[tensor] = _kept(c_type(tensor.dtype), data, constants)
        return values[tensor]

    found = calls(graph)
    groups = groups_of(graph, [op for op in found if isinstance(op, Op)])
    inner = {op for parts, _, _ in groups.values() for op in parts[:-1]}
    for op in found:
        if isinstance(op, Call):
            inputs = tuple(value(tensor) for tensor in op.inputs)
            arrays = {
                name: _kept(c_type(field.dtype.name), field, constants)
                for name, field in op.fields.items()
                if isinstance(field, np.ndarray)
            }
            values[op.output] = _result(op.output)
            steps.append(Called(op, inputs, arrays, values[op.output]))
        elif op.name in ALIASES:
            values[op.output] = value(op.inputs[0])
        elif op not in inner:
            parts, whole, kernel = groups.get(op) or ((), op, KERNELS[op.name](op))
            operands = {position: value(whole.inputs[position]) for position in kernel.reads}
            values[op.output] = _result(op.output)
            steps.append(Operator(whole, kernel, operands, values[op.output], parts))
    for tensor in graph.outputs:
        value(tensor)
    return steps


def model_of_graph(graph: Graph, target: str) -> Model:
    """A TOSA graph as a model of its own, whose inputs and outputs are the graph's integers."""
    values = {tensor: _result(tensor) for tensor in graph.inputs}
    steps = steps_of(graph, values, {})

    def ports(name: str, tensors: list[Tensor]) -> tuple[Port, ...]:
        dtypes = [numpy_dtype(tensor.dtype).name for tensor in tensors]
        rows = enumerate(zip(tensors, dtypes, strict=True))
        return tuple(Port(f"{name}{index}", tensor.shape, dtype, dtype) for index, (tensor, dtype) in rows)

    model = Model(
        name="graph",
        target=target,
        steps=tuple(steps),
        inputs=ports("input", graph.inputs),
        outputs=ports("output", graph.outputs),
        taken=tuple(values[tensor] for tensor in graph.inputs),
        given=tuple(values[tensor] for tensor in graph.outputs),
    )
    return with_loops(without_copies(model))


def _kept(dtype: str, data: np.ndarray[Any, Any], constants: Constants) -> Value:
    return constants.setdefault((dtype, data.tobytes()), Value(dtype, data.nbytes, data))


def _result(tensor: Tensor) -> Value:
    """A new value for what an operator makes."""
    return Value(c_type(tensor.dtype), tensor.size * numpy_dtype(tensor.dtype).itemsize)
