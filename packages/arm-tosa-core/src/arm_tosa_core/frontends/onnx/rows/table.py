"""The table of rows, and what rows share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ....support.errors import Rejected
from ...file_graph import FileNode
from ...file_model import Expansion, Results, Rows
from ..attributes import Attributes


class OnnxRows(Rows):
    """Rows that refuse a node with an attribute, or with outputs, that they do not know."""

    def advice_for(self, kind: str) -> str:
        fused = kind.startswith("com.microsoft.") and kind not in self.advice
        return _FUSED if fused else super().advice_for(kind)

    def row(
        self, *kinds: str, numbers: Sequence[int] = (), folds: bool = True, scalars: bool = False
    ) -> Callable[[Callable[..., Results]], Callable[..., Results]]:
        add = super().row(*kinds, numbers=numbers, folds=folds, scalars=scalars)

        def checked(function: Callable[..., Results]) -> Callable[..., Results]:
            @functools.wraps(function)
            def call(node: FileNode, *inputs: Any) -> Results:
                made = function(node, *inputs)
                results = [made] if isinstance(made, Tensor) else list(made)
                if isinstance(node.attributes, Attributes):
                    node.attributes.require_read()
                if len(node.outputs) > len(results):
                    raise Rejected(f"its output {node.outputs[len(results)]!r} is not made", "leave it out")
                return results

            add(call)
            return function

        return checked

    def expansion(self, *kinds: str) -> Callable[[Callable[..., Expansion | None]], Callable[..., Expansion | None]]:
        add = super().expansion(*kinds)

        def checked(expand: Callable[..., Expansion | None]) -> Callable[..., Expansion | None]:
            @functools.wraps(expand)
            def call(node: FileNode, *inputs: Any) -> Expansion | None:
                made = expand(node, *inputs)
                handed_on = made is None or any(isinstance(one.attributes, Attributes) for one in made[0])
                if not handed_on and isinstance(node.attributes, Attributes):
                    node.attributes.require_read()
                return made

            add(call)
            return expand

        return checked


_FUSED = (
    "ONNX Runtime's optimizer made it: take the file as it was exported, or optimize it with ORT_ENABLE_BASIC, which "
    "leaves the operators of ONNX"
)
_VARIES = "The number of its results varies. Cut the model before it, and compute the rest on the CPU"
_WINDOWS = "The places of its windows are computed. Cut the model before it, and compute the rest on the CPU"
_RANDOM = "It draws at random. Make its numbers an input"
_LISTS = "Export the model without lists of tensors, with Split and Concat for example"
_TEXT = "It reads text. Cut the model behind it, and give the numbers"
_FOR_CPU = "It quantizes for ONNX Runtime. Take the float file, and quantize it: --quantize int8 --calibration data.npz"
ROWS = OnnxRows()
for _advice, _kinds in (
    (_VARIES, "NonMaxSuppression Unique"),
    (_WINDOWS, "MaxRoiPool RoiAlign"),
    (_RANDOM, "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike"),
    (_LISTS, "ConcatFromSequence SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert"),
    (_LISTS, "SequenceLength SequenceMap SplitToSequence"),
    (_TEXT, "RegexFullMatch StringConcat StringNormalizer StringSplit TfIdfVectorizer"),
    (_FOR_CPU, "com.microsoft.DynamicQuantizeLSTM com.microsoft.DynamicQuantizeMatMul com.microsoft.MatMulBnb4"),
    (_FOR_CPU, "com.microsoft.MatMulIntegerToFloat com.microsoft.MatMulNBits com.microsoft.QAttention"),
):
    ROWS.advice |= dict.fromkeys(_kinds.split(), _advice)


def opset(node: FileNode) -> int:
    """The version of the node's operators."""
    return node.attributes.opset if isinstance(node.attributes, Attributes) else 1


def require(condition: object, why: str, fix: str = "") -> None:
    """Refuses the node unless the condition holds; ``fix`` is what to do, if that is not the same for all.

    Raises:
        Rejected: it does not.
    """
    if not condition:
        raise Rejected(why, fix)


def known(value: Tensor | None) -> bool:
    """Whether it is a constant, for an ``expand``."""
    return value is not None and not value.is_meta


def axis_of(axis: int, rank: int) -> int:
    """An axis counted from the front.

    Raises:
        Rejected: there is none.
    """
    require(-max(rank, 1) <= axis < max(rank, 1), f"its axis {axis} does not exist: there are {rank}")
    return axis % rank if rank else 0


def listed(values: Any) -> list[Any]:
    """Numbers of a constant: those of one without axes are one number in Python."""
    return list(values) if isinstance(values, (list, tuple)) else [values]


def is_float(value: Tensor) -> bool:
    return value.dtype.is_floating_point


def least(dtype: torch.dtype) -> float:
    """The smallest number of a type: minus infinity for floats."""
    return -float("inf") if dtype.is_floating_point else float(torch.iinfo(dtype).min)
