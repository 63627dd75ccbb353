"""Inputs of a program that takes integers, made of those of the float program."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

from arm_tosa_core.aten.integer_edges import Integers

Inputs = Callable[..., tuple[torch.Tensor, ...]]


def integer_inputs(inputs: Inputs, edges: Mapping[str, Integers]) -> Inputs:
    """``inputs`` with integers for those that ``edges`` has, by ``input0`` and so on."""

    def quantized(place: int, real: torch.Tensor) -> torch.Tensor:
        edge = edges.get(f"input{place}")
        if edge is None:
            return real
        numbers = (real / edge.scale).round() + edge.zero_point
        return numbers.clamp(edge.low, edge.high).to(edge.dtype)

    return lambda **sizes: tuple(quantized(place, real) for place, real in enumerate(inputs(**sizes)))
