"""Names of TOSA operators that Vela treats alike. Classes of TOSA itself: ``arm_tosa_core.tosa.operator_classes``."""

from __future__ import annotations

#: Operators that the accelerator applies as it writes the result of another.
AT_THE_OUTPUT = ("CLAMP", "RESCALE", "TABLE")
#: Convolutions that surely rescale their INT32 result as they write it. A TRANSPOSE_CONV2D may be several operations.
RESCALE_BY_THEMSELVES = ("CONV2D", "CONV3D", "DEPTHWISE_CONV2D")
#: Arithmetic of two operands.
TWO_OPERANDS = ("ADD", "ARITHMETIC_RIGHT_SHIFT", "LOGICAL_LEFT_SHIFT", "MAXIMUM", "MINIMUM", "MUL", "SUB")
#: Operators whose operand may be read where it lies, in another shape or order.
READ_IN_PLACE = ("RESHAPE", "SLICE", "TRANSPOSE")
#: Operators whose results Vela keeps as rows of elements; those of others as bricks of 16 channels.
KEPT_IN_ROWS = ("CONCAT", "PAD", "RESHAPE", "REVERSE", "SLICE", "TILE", "TRANSPOSE", "GATHER", "SCATTER", "IDENTITY")
