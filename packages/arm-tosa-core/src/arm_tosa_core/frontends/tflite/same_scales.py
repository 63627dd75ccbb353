"""Operators that LiteRT computes with the integers themselves, whatever they stand for."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ...support.errors import Rejected
from .graph import Operator, Quantization, Tensor

#: Operators whose integers LiteRT takes as they are, whatever their scales, by the operands that it takes them from.
_COPIES: dict[str, tuple[int, ...]] = {
    "AVERAGE_POOL_2D": (0,),
    "DEPTH_TO_SPACE": (0,),
    "DYNAMIC_UPDATE_SLICE": (0, 1),
    "EMBEDDING_LOOKUP": (1,),
    "EXPAND_DIMS": (0,),
    "GATHER": (0,),
    "GATHER_ND": (0,),
    "MAXIMUM": (0, 1),
    "MAX_POOL_2D": (0,),
    "MINIMUM": (0, 1),
    "ONE_HOT": (2, 3),
    "PAD": (0,),
    "RESHAPE": (0,),
    "RESIZE_BILINEAR": (0,),
    "RESIZE_NEAREST_NEIGHBOR": (0,),
    "REVERSE_SEQUENCE": (0,),
    "REVERSE_V2": (0,),
    "SCATTER_ND": (1,),
    "SELECT": (1, 2),
    "SELECT_V2": (1, 2),
    "SLICE": (0,),
    "SPACE_TO_DEPTH": (0,),
    "SPLIT": (1,),
    "SPLIT_V": (0,),
    "SQUEEZE": (0,),
    "STRIDED_SLICE": (0,),
    "TILE": (0,),
    "TOPK_V2": (0,),
    "TRANSPOSE": (0,),
}
#: Types whose integers stand for real numbers where there is a scale.
_NARROW = (torch.int8, torch.uint8, torch.int16)
#: LiteRT compares integers with 16 bits as they are.
_COMPARISONS = {"EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL"}


def is_real(tensor: Tensor) -> bool:
    """Whether its integers stand for real numbers."""
    return tensor.quantization is not None and tensor.dtype in _NARROW


def require_scales(one: Operator, operands: Sequence[Tensor | None], result: Tensor) -> None:
    """What LiteRT computes with the integers themselves has one scale, or is refused.

    Raises:
        Rejected: the scales or zero points differ.
    """
    own = result.quantization
    if one.kind in _COMPARISONS and any(t is not None and t.dtype == torch.int16 for t in operands):
        first, *others = [t.quantization for t in operands if t is not None]
        _require_same(one, result, others, first)
    if own is None and result.dtype in _NARROW and any(t is not None and is_real(t) for t in operands):
        raise Rejected(
            f"{one.kind} {result.name!r}: its result has no scale, and an operand has one", "give its result a scale"
        )
    if own is None or not is_real(result):
        return
    places: Sequence[int] = (0,) if one.kind == "NEG" else _COPIES.get(one.kind, ())
    if one.kind == "CONCATENATION" and result.dtype == torch.int16:
        places = range(len(operands))
    given = [operands[i] for i in places if i < len(operands)]
    read = [t.quantization for t in given if t is not None and (is_real(t) or t.dtype in _NARROW)]
    _require_same(one, result, read, own)
    if one.kind in ("FLOOR_DIV", "FLOOR_MOD") or (one.kind in ("NEG", "SCATTER_ND") and own.zeros != (0,)):
        raise Rejected(
            f"{one.kind} {result.name!r}: LiteRT computes with the integers themselves, whatever they stand for",
            "leave the operator in float",
        )


def _require_same(
    one: Operator,
    result: Tensor,
    read: Sequence[Quantization | None],
    wanted: Quantization | None,
) -> None:
    if list(read) != [wanted] * len(read):
        raise Rejected(
            f"{one.kind} {result.name!r}: its operands and its result have different scales or zero points, which "
            "LiteRT does not bring to one",
            "quantize the model so that they have the same",
        )
