"""Inputs and outputs of a payload beside those of the graph that it was compiled from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..plugin.target import Port, Target
from ..support.errors import MiscompiledError
from ..tosa.dtypes import numpy_dtype
from ..tosa.graph import Graph
from ..tosa.ir import DType, Tensor

_FIX = (
    "this is a fault of the target's compiler, found before the program could give wrong results or fail to run: "
    "please report it with the graph (--artifacts FOLDER keeps it)"
)


class JoinedError(MiscompiledError):
    """A compiler left out inputs that no result depends on, or joined results that are the same.

    Args:
        unread: numbers of the inputs that it left out.
        same: numbers of outputs, and of earlier ones that they are the same as.
    """

    def __init__(self, tool: str, difference: str, unread: Sequence[int], same: Mapping[int, int]) -> None:
        super().__init__(tool, difference, fix=_FIX)
        self.unread, self.same = tuple(unread), dict(same)


def check_ports(graph: Graph, payload: bytes, target: Target) -> None:
    """Compares number, order and sizes; of targets whose payloads say them.

    Raises:
        JoinedError: some are missing that no result depends on, or results are one tensor.
        MiscompiledError: they differ otherwise.
    """
    if target.compiler.ports is None:
        return
    inputs, outputs = target.compiler.ports(payload)
    read, placed = {port.place for port in inputs}, all(port.place is not None for port in (*inputs, *outputs))
    unread = [i for i in range(len(graph.inputs)) if placed and i not in read]
    first: dict[int | None, int] = {}
    same = {i: earlier for i, port in enumerate(outputs) if (earlier := first.setdefault(port.place, i)) != i}
    if placed and (unread or same):
        what = f"no input {', '.join(map(str, unread))}" if unread else f"one tensor for outputs {same}"
        raise JoinedError(f"the compiler of {target.name}", what, unread, same)
    for what, right, written in (("input", graph.inputs, inputs), ("output", graph.outputs, outputs)):
        if difference := _difference(what, right, written):
            raise MiscompiledError(f"the compiler of {target.name}", difference, fix=_FIX)


def _difference(what: str, right: Sequence[Tensor], written: Sequence[Port]) -> str:
    if len(right) != len(written):
        return f"{len(written)} {what}s, right are {len(right)}"
    for number, (tensor, port) in enumerate(zip(right, written, strict=True)):
        wanted = Port(tensor.shape, numpy_dtype(tensor.dtype).itemsize, _kind(tensor.dtype))
        same = port.shape in (tensor.shape, (tensor.size,)) and port.size == wanted.size
        if not same or port.kind not in ("", wanted.kind):
            return f"{what} {number} has {_text(port)}, right is {_text(wanted)}"
    return ""


def _kind(dtype: DType) -> str:
    return "b" if dtype is DType.BOOL else "f" if dtype.is_float else "i"


def _text(port: Port) -> str:
    kind = {"b": "BOOL of ", "i": "integers of ", "f": "reals of "}.get(port.kind, "elements of ")
    return f"shape {list(port.shape)} and {kind}{port.size} bytes"
