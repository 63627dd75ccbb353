"""Types of ONNX that PyTorch does not compute with: of 4 bits, and of 16 without a sign.

Their integers lie in a type of PyTorch. Where one is only moved or dequantized, the result is the same; every other
operator that reads one is refused. Integers of UINT16 are 32768 less, so that their zero point is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...support.errors import Rejected
from ..file_graph import FileNode
from .attributes import BITS, ZERO, Attributes

#: Added to an integer of UINT16.
SHIFT = -32768
_QUANTIZE = {"QuantizeLinear", "com.microsoft.QuantizeLinear"}
_DEQUANTIZE = {"DequantizeLinear", "com.microsoft.DequantizeLinear"}
#: The operators that hand on what they read first; ``Concat`` hands on all.
_MOVES = {
    *("Concat", "DepthToSpace", "Expand", "Flatten", "Gather", "Identity", "Reshape", "Slice"),
    *("SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze"),
}


class WiderTypes:
    """The tensors of a file that have such a type, by name."""

    def __init__(self) -> None:
        self._types: dict[str, str] = {}

    def note(self, name: str, kind: str) -> None:
        self._types[name] = kind

    def read(self, node: FileNode) -> FileNode:
        """The node as its row reads it; notes the types of its results.

        Raises:
            Rejected: it does more than move or dequantize such integers.
        """
        given = [self._types.get(name, "") for name in node.inputs]
        first, zero = ([*given, "", "", ""][place] for place in (0, 2))
        made = taken = ""
        if node.kind in _QUANTIZE:
            made = zero or {4: "UINT16", 21: "UINT4", 22: "INT4"}.get(node.get("output_dtype", 0), "")
            taken = made
            if made and made != "UINT16":
                raise Rejected(
                    f"{node.kind} {node.name!r} makes {made}",
                    "quantize activations to 8 or 16 bits; weights may have 4",
                )
        elif node.kind in _DEQUANTIZE and zero in (first, ""):
            taken = first
        elif node.kind in _MOVES and (node.kind != "Concat" or set(given) == {first}):
            made = taken = first
        others = [(kind, name) for kind, name in zip(given, node.inputs, strict=True) if kind not in ("", taken)]
        if others and node.kind not in ("Shape", "Size"):
            kind, name = others[0]
            raise Rejected(
                f"{node.kind} {node.name!r} reads {name!r} of {kind}, which only DequantizeLinear and operators that "
                "move elements read",
                "dequantize it first",
            )
        self._types.update({name: made for name in node.outputs if made and name})
        integers = made if node.kind in _QUANTIZE else first if node.kind in _DEQUANTIZE else ""
        noted = {"UINT16": (ZERO, SHIFT), "INT4": (BITS, 4)}.get(integers)
        if noted and isinstance(node.attributes, Attributes):
            return replace(node, attributes=node.attributes.noting(*noted))
        return node

    def require_none(self, names: Iterable[str]) -> None:
        """What leaves a graph has a type of PyTorch.

        Raises:
            Rejected: one has not.
        """
        for name in names:
            if name in self._types:
                raise Rejected(
                    f"the output {name!r} has the type {self._types[name]}", "dequantize it before it leaves"
                )
