"""The operators of a TOSA flatbuffer as other tools count them: in the order of the file, constants among them."""

from __future__ import annotations


def listed_operators(tosa: bytes) -> list[tuple[str, str]]:
    """Name and source line of each operator of the first block; the line is empty where the file has none.

    Args:
        tosa: a flatbuffer that ``loader.load`` reads.
    """
    from tosa.TosaGraph import TosaGraph

    from .serializer import OP_NUMBERS

    names = {number: name for name, number in OP_NUMBERS.items()}
    block = TosaGraph.GetRootAs(tosa).Regions(0).Blocks(0)
    found = []
    for i in range(block.OperatorsLength()):
        operator = block.Operators(i)
        location = operator.Location()
        text = location.Text() if location is not None else None
        found.append((names.get(operator.Op(), str(operator.Op())), text.decode() if text else ""))
    return found
