"""TOSA's operators as operators of PyTorch, ``arm_tosa::CONV2D`` and so on: programs that come from TOSA have them.

Each takes tensors and a text, a flatbuffer in base64: a graph whose inputs the tensors are. It ends with the operator,
and has what PyTorch has no tensors for: shapes, and integers of 4 and 48 bits.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from functools import lru_cache

import torch
from torch import Tensor

from ..support.errors import UsageError
from ..tosa import reference_model
from ..tosa.dtypes import from_array, to_array, tosa_to_torch
from ..tosa.graph import Graph
from ..tosa.loader import load
from ..tosa.serializer import serialize
from ..tosa.specification import TosaSpecification
from ..tosa.table import OPERATORS

NAMESPACE = "arm_tosa"
#: Operators with any number of results, or two.
_SEVERAL = ("CAST_TO_BLOCK_SCALED", "CUSTOM", "FFT2D", "RFFT2D", "WHILE_LOOP")
#: Operators on which the reference model dies where numbers are not as TOSA wants them: division by 0, far indices.
_DYING = (
    *("CUSTOM", "GATHER", "INTDIV", "ROW_GATHER", "ROW_GATHER_BLOCK_SCALED", "SCATTER", "WHILE_LOOP"),
    *("DIV_CEIL_SHAPE", "DIV_FLOOR_SHAPE", "MOD_SHAPE"),
)


def text_of(graph: Graph, spec: TosaSpecification) -> str:
    """The text that an operator takes."""
    return b64encode(serialize(graph, spec)).decode()


def graph_of(text: str) -> Graph:
    """The graph in the text of an operator.

    Raises:
        UsageError: there is none.
    """
    try:
        return load(b64decode(text))
    except ValueError as error:
        raise UsageError("the graph of an operator of arm_tosa is damaged: make the program again") from error


@lru_cache(1 << 12)
def _results(text: str) -> list[tuple[tuple[int, ...], torch.dtype]]:
    return [(tensor.shape, tosa_to_torch(tensor.dtype)) for tensor in graph_of(text).outputs]


@lru_cache(1 << 12)
def _may_die(text: str) -> bool:
    return any(op.name in _DYING for op in graph_of(text).ops)


def _shaped(operands: Sequence[Tensor], graph: str) -> list[Tensor]:
    return [operands[0].new_empty(shape, dtype=dtype) for shape, dtype in _results(graph)]


def _computed(operands: Sequence[Tensor], graph: str) -> list[Tensor]:
    """The results, by the reference model."""
    arrays = [to_array(tensor.contiguous()) for tensor in operands]
    results = reference_model.run(b64decode(graph), arrays, isolated=_may_die(graph))
    return [from_array(array, dtype) for array, (_, dtype) in zip(results, _results(graph), strict=True)]


def _only(results: Callable[[Sequence[Tensor], str], list[Tensor]]) -> Callable[[Sequence[Tensor], str], Tensor]:
    return lambda operands, graph: results(operands, graph)[0]


# Not torch.library.custom_op, which takes a second for so many.
_LIBRARY = torch.library.Library(NAMESPACE, "FRAGMENT")  # type: ignore[no-untyped-call]
for _name in OPERATORS:
    _many = _name in _SEVERAL
    _schema = f"{_name}(Tensor[] operands, str graph) -> {'Tensor[]' if _many else 'Tensor'}"
    _LIBRARY.define(_schema, tags=torch.Tag.pt2_compliant_tag)  # type: ignore[no-untyped-call]
    for _key, _function in (("CompositeExplicitAutograd", _computed), ("Meta", _shaped)):
        _LIBRARY.impl(_name, _function if _many else _only(_function), _key)  # type: ignore[no-untyped-call]
