"""The operators of a TOSA flatbuffer as other tools count them: in the order of the file, constants among them."""

from __future__ import annotations

from typing import NamedTuple


class Listed(NamedTuple):
    """An operator of a file.

    Args:
        name: as TOSA has it.
        source: the line of the model; empty where the file has none.
        tensor: its first result.
    """

    name: str
    source: str
    tensor: str


def listed_operators(tosa: bytes) -> list[Listed]:
    """Each operator of the first block.

    Args:
        tosa: a flatbuffer that ``loader.load`` reads.
    """
    from tosa.TosaGraph import TosaGraph

    from .serializer import OP_NUMBERS

    names = {number: name for name, number in OP_NUMBERS.items()}
    block = TosaGraph.GetRootAs(tosa).Regions(0).Blocks(0)
    operators = []
    for i in range(block.OperatorsLength()):
        operator = block.Operators(i)
        location = operator.Location()
        text = location.Text() if location is not None else None
        name = names.get(operator.Op(), str(operator.Op()))
        tensor = operator.Outputs(0).decode() if operator.OutputsLength() else ""
        operators.append(Listed(name, text.decode() if text else "", tensor))
    return operators
