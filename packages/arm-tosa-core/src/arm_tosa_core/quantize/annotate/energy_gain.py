"""Whether a sum of squares under a root is worth 16 bits: what 8 bits of it do to the root, on calls of the model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ..probe.calls import FEW, Sample
from ..probe.judge import Judge
from ..probe.runner import look
from .node_roles import float_inputs

_STEPS = 255  # of 8 bits

#: 16 bits of the operand are worth their cycles where its 8 bits make ten times the error of rounding the result. Of
#: the networks in docs/notes/2026-11-25-energies.md those that gain 4 dB or more have 17 times as much at least.
_JUDGE = Judge(part=1 / 10)


def worth_16_bits(module: GraphModule, functions: Iterable[Node], samples: Sequence[Sample]) -> set[Node]:
    """The functions whose results are far worse by what 8 bits round off their operand than by their own 8 bits.

    Far from 0 a root is flat, and 8 bits of its operand do it no harm; 16 would cost cycles for nothing.

    Args:
        module: in float, not annotated yet.
        functions: of one operand, steep at 0.
        samples: calls of the model; four at most are used.
    """
    operands = {node: float_inputs(node)[0] for node in functions}
    if not operands:
        return set()
    values: dict[Node, list[torch.Tensor]] = {node: [] for node in (*operands, *operands.values())}

    def see(node: Node, _args: Sequence[Any], result: torch.Tensor) -> None:
        if result.numel():
            values[node].append(result.clone())

    look(samples[:FEW], module, values, see)
    return {
        node for node, operand in operands.items() if values[node] and _is_worth(node, values[operand], values[node])
    }


def _is_worth(node: Node, operands: list[torch.Tensor], results: list[torch.Tensor]) -> bool:
    """Whether the mean square error behind the function is many times that of rounding its result."""
    step = _step(operands)
    target: Any = node.target
    errors = [
        (target((x / step).round() * step, *node.args[1:], **node.kwargs) - y).double().square().mean()
        for x, y in zip(operands, results, strict=True)
    ]
    own = torch.full((len(errors),), _step(results) ** 2 / 12)
    return bool(_JUDGE.accepts(torch.stack(errors), own))


def _step(values: list[torch.Tensor]) -> float:
    """Of 8 bits that reach from the least to the most, and to 0."""
    low, high = (min(0.0, *(float(v.min()) for v in values)), max(0.0, *(float(v.max()) for v in values)))
    return (high - low) / _STEPS or 1.0
