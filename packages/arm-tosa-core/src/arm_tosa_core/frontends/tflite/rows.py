"""The rows of TFLite, and what many of them share. Rows compute with real numbers, in the file's order of axes."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from ...compat.torch import register_quantized_decomposed
from ...support.errors import require
from ..file_graph import FileNode
from ..file_model import Rows


class TfliteRows(Rows):
    """Rows, and what to do about kinds of operators that have none."""

    def advice_for(self, kind: str) -> str:
        if kind.startswith("CUSTOM Flex"):
            return (
                "It is TensorFlow's own: convert with TFLITE_BUILTINS alone, and replace what the converter then names"
            )
        if kind.startswith("STABLEHLO_"):
            return "Convert the model to operators of TFLite, not of StableHLO"
        return super().advice_for(kind)


ROWS = TfliteRows()
_CUT = "It chooses among boxes, a number of them that varies. Make the file without it, and do it on the CPU"
ROWS.advice |= {
    "BIDIRECTIONAL_SEQUENCE_LSTM": "Make it of two layers of one direction, the second between two reversals of time, "
    "in the model that the file was made from",
    "CUSTOM TFLite_Detection_PostProcess": f"{_CUT} (export_tflite_ssd_graph.py: --add_postprocessing_op=false)",
    "NON_MAX_SUPPRESSION_V4": _CUT,
    "NON_MAX_SUPPRESSION_V5": _CUT,
}
register_quantized_decomposed()

_ACTIVATIONS: dict[int, Callable[[Tensor], Tensor]] = {
    0: lambda x: x,
    1: F.relu,
    2: lambda x: torch.clamp(x, -1, 1),
    3: F.relu6,
}


def fused(node: FileNode, x: Tensor) -> Tensor:
    """The result behind the activation that the operator has for an option. LiteRT applies no other."""
    require(
        node["activation"] in _ACTIVATIONS,
        f"its activation {node['activation']} is not read",
        "use RELU, RELU_N1_TO_1 or RELU6",
    )
    return _ACTIVATIONS[node["activation"]](x)


def channels_first(x: Tensor) -> Tensor:
    return x.permute(0, 3, 1, 2)


def channels_last(x: Tensor) -> Tensor:
    return x.permute(0, 2, 3, 1)


# Integers of a file stand for real numbers. The reader puts these around the operators.


@ROWS.row("same")
def same(node: FileNode, x: Tensor) -> Tensor:
    """What a variable is, or a graph that is called reads."""
    return x


@ROWS.row("choose")
def choose(node: FileNode, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return torch.where(condition, x, y)


@ROWS.row("quantize")
def quantize(node: FileNode, x: Tensor) -> Tensor:
    low, high, dtype = node["low"], node["high"], node["dtype"]
    made: Tensor = torch.ops.quantized_decomposed.quantize_per_tensor(x, node["scale"], node["zero"], low, high, dtype)
    return made


@ROWS.row("dequantize", folds=False)
def dequantize(node: FileNode, x: Tensor, scales: Tensor | None = None, zeros: Tensor | None = None) -> Tensor:
    low, high, dtype = node["low"], node["high"], x.dtype
    quantized = torch.ops.quantized_decomposed
    made: Tensor = (
        quantized.dequantize_per_tensor(x, node["scale"], node["zero"], low, high, dtype)
        if scales is None
        else quantized.dequantize_per_channel(x, scales, zeros, node["axis"], low, high, dtype)
    )
    return made
