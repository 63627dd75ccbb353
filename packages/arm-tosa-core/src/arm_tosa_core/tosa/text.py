"""A graph as text, for people: one operator a line, in data-flow order, with types, attributes and origins.

    graph main(%x: INT8[1,8,8,3]) {
      %0 = CONV2D(%x: INT8[1,8,8,3], const INT8[4,3,3,3] #5e0c1f7a, ...) {acc_type=INT32, ...} : INT32[1,6,6,4]  // conv
      return %0
    }

Results are numbered in order. Constants of up to eight numbers are written out; of others there is a digest of their
contents. The text of equal graphs is equal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from enum import Enum
from typing import Any

import numpy as np

from .graph import Graph
from .ir import DType, Op, Tensor

#: Numbers of a constant that is written out, at most.
_FEW = 8


def text(graph: Graph, *, origins: bool = True) -> str:
    """The graph, with a line feed at the end.

    Args:
        origins: whether each line ends with the FX node, and the source line if it is known, that it comes from.
    """
    return "\n".join(_Printer(origins).lines(graph, "graph")) + "\n"


class _Printer:
    def __init__(self, origins: bool) -> None:
        self.origins = origins
        self.names: dict[Tensor, str] = {}
        self.taken: set[str] = set()

    def lines(self, graph: Graph, keyword: str) -> Iterator[str]:
        inputs = ", ".join(f"{self.name(x)}: {_type(x)}" for x in graph.inputs)
        yield f"{keyword} {graph.name}({inputs}) {{"
        for op in graph.ops:
            for line in self.op(op):
                yield "  " + line
        yield f"  return {', '.join(map(self.operand, graph.outputs))}"
        yield "}"

    def op(self, op: Op) -> Iterator[str]:
        operands = ", ".join(map(self.operand, op.inputs))
        nested = {name: value for name, value in op.attrs.items() if isinstance(value, Graph)}
        attrs = ", ".join(f"{name}={_attribute(value)}" for name, value in op.attrs.items() if name not in nested)
        results = ", ".join(map(self.name, op.outputs))
        types = ", ".join(map(_type, op.outputs))
        line = f"{results} = {op.name}({operands})" + (f" {{{attrs}}}" if attrs else "") + f" : {types}"
        if self.origins and op.origin is not None:
            line += f"  // {op.origin.node}" + (f", {op.origin.source}" if op.origin.source else "")
        yield line
        for name, graph in nested.items():
            for row in self.lines(graph, name):
                yield "  " + row

    def name(self, tensor: Tensor) -> str:
        """The name of a tensor, made when it is first asked for: the order of definition."""
        if tensor not in self.names:
            name = f"%{tensor.name}" if tensor.name else f"%{len(self.names)}"
            name = name if name not in self.taken else f"{name}_{len(self.names)}"
            self.taken.add(name)
            self.names[tensor] = name
        return self.names[tensor]

    def operand(self, tensor: Tensor) -> str:
        return _constant(tensor, tensor.data) if tensor.data is not None else f"{self.name(tensor)}: {_type(tensor)}"


def _type(tensor: Tensor) -> str:
    return f"{tensor.dtype}[{','.join(map(str, tensor.shape))}]"


def _constant(tensor: Tensor, data: np.ndarray[Any, Any]) -> str:
    if tensor.dtype is DType.SHAPE or data.size <= _FEW:
        numbers = ", ".join(str(number) for number in data.reshape(-1).tolist())
        return f"({numbers})" if tensor.dtype is DType.SHAPE else f"const {_type(tensor)} ({numbers})"
    digest = hashlib.sha256(np.ascontiguousarray(data).reshape(-1).view(np.uint8).data).hexdigest()
    return f"const {_type(tensor)} #{digest[:8]}"


def _attribute(value: object) -> str:
    if isinstance(value, Enum):
        return str(value)
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(_attribute, value))})"
    if isinstance(value, (bytes, bytearray)) and len(value) > _FEW:
        return f"bytes[{len(value)}] #{hashlib.sha256(value).hexdigest()[:8]}"
    return str(value)
