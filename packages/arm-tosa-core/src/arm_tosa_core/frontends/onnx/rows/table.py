"""The table of rows, and what rows share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ....support.errors import Rejected
from ...file_model import Expansion, FileNode, Results, Rows
from ..attributes import Attributes


class OnnxRows(Rows):
    """Rows that refuse a node with an attribute, or with outputs, that they do not know."""

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
                    raise Rejected(f"its output {node.outputs[len(results)]!r} is not made; leave it out")
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


ROWS = OnnxRows()


def opset(node: FileNode) -> int:
    """The version of the node's operators."""
    return node.attributes.opset if isinstance(node.attributes, Attributes) else 1


def require(condition: object, why: str) -> None:
    """Refuses the node unless the condition holds.

    Raises:
        Rejected: it does not.
    """
    if not condition:
        raise Rejected(why)


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
