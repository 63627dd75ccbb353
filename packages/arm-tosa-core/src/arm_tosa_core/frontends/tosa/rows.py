"""What operators of TOSA mean: PyTorch's on reals; all others themselves, so that integers are as TOSA says."""

from __future__ import annotations

import torch
from torch import Tensor

from ...lowering.tosa_operators import NAMESPACE
from ...tosa.table import OPERATORS
from ..file_graph import FileNode
from ..file_model import Results, Rows
from .reals import in_pytorch

ROWS = Rows()


@ROWS.row(*OPERATORS)
def operator(node: FileNode, *operands: Tensor) -> Results:
    real = in_pytorch(node["operator"], operands)
    if real is not None:
        return real
    results: Results = getattr(getattr(torch.ops, NAMESPACE), node.kind)(list(operands), node["graph"])
    return results
