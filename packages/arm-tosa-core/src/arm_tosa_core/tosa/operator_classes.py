"""Names of TOSA operators that belong together. A class for one target is named after its members' common property."""

from __future__ import annotations

#: Operators with weights and windows.
CONVOLUTIONS = ("CONV2D", "CONV3D", "DEPTHWISE_CONV2D", "TRANSPOSE_CONV2D")
#: Operators whose result has the elements of the operand, in another shape or order.
VIEWS = ("RESHAPE", "TRANSPOSE")
#: Operators that move, drop or add elements of one operand.
MOVES = ("PAD", "RESHAPE", "REVERSE", "SLICE", "TRANSPOSE")
#: Operators whose result consists of copies of operands.
ASSEMBLED = ("CONCAT", "PAD", "TILE")
