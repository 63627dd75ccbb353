"""Whether a sum of squares under a root is worth 16 bits: what 8 bits of it do to the root, on calls of the model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Interpreter, Node

from ..compat.torch import tree_leaves
from .bias_correction import Sample
from .node_facts import float_inputs

_SAMPLES = 4  # calls at most
_STEPS = 255  # of 8 bits

#: Times the mean square error of rounding a result, from which on 16 bits of the operand are worth their cycles. Of the
#: networks in docs/notes/2026-11-25-energies.md those that gain 4 dB or more have 17 at least.
_WORTH = 10.0


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
    seen = _Values(module, {*operands, *operands.values()})
    for args, kwargs in samples[:_SAMPLES]:
        with torch.no_grad():
            seen.run(*tree_leaves((args, dict(kwargs))), enable_io_processing=False)
    return {
        node
        for node, operand in operands.items()
        if seen.values[node] and _is_worth(node, seen.values[operand], seen.values[node])
    }


def _is_worth(node: Node, operands: list[torch.Tensor], results: list[torch.Tensor]) -> bool:
    """Whether the mean square error behind the function is many times that of rounding its result."""
    step = _step(operands)
    target: Any = node.target
    errors = [
        (target((x / step).round() * step, *node.args[1:], **node.kwargs) - y).double().square().mean()
        for x, y in zip(operands, results, strict=True)
    ]
    return bool(torch.stack(errors).mean() > _WORTH * _step(results) ** 2 / 12)


def _step(values: list[torch.Tensor]) -> float:
    """Of 8 bits that reach from the least to the most, and to 0."""
    low, high = (min(0.0, *(float(v.min()) for v in values)), max(0.0, *(float(v.max()) for v in values)))
    return (high - low) / _STEPS or 1.0


class _Values(Interpreter):
    """Keeps the results of some nodes, call by call."""

    def __init__(self, module: GraphModule, wanted: set[Node]) -> None:
        super().__init__(module)
        self.values: dict[Node, list[torch.Tensor]] = {node: [] for node in wanted}

    def run_node(self, n: Node) -> Any:
        result = super().run_node(n)
        if n in self.values and result.numel():
            self.values[n].append(result.clone())  # it may be written to later
        return result
