"""Places of the numbers of a tensor that are not 0, which ExecuTorch (1.5) gives along one axis only.

``torch.export`` says that they lie in memory axis by axis, and so does the program; its kernel writes them row by row
(``kernels/portable/cpu/op_nonzero.cpp``).
"""

from __future__ import annotations

from torch.fx import Node

from ..lowering.exported_program import source_line
from ..lowering.operator_names import canonical
from ..support.errors import UsageError
from .cpu_edits import Edit


def place_edits(node: Node) -> list[Edit]:
    """None.

    Raises:
        UsageError: the places have more than one axis; says where they are asked for.
    """
    is_one = node.op == "call_function" and canonical(node.target) == "aten.nonzero.default"
    if is_one and node.meta["val"].shape[1] > 1:
        raise UsageError(
            f"nonzero at {source_line(node)} gives places along several axes, which ExecuTorch takes in a wrong order. "
            "Return the mask, or choose by it: x[mask], torch.where(mask, x, 0)"
        )
    return []
