"""Inputs and results whose numbers are lost, because a few others reach much further."""

from __future__ import annotations

import warnings

import torch
from torch.fx import GraphModule, Node

from ..lowering.exported_program import source_line
from ..lowering.node_facts import facts
from ..support.errors import LongTailWarning
from .annotate.far_numbers import whole_of
from .schemes.observers import MaskedHistogramObserver

#: Share of an input's numbers, zeros left out, that is lost where a warning is due.
_MOST = 0.5
_BYTE = 255


def warn_of_long_tails(prepared: GraphModule) -> None:
    """Warns of inputs more than half of whose numbers that are not 0 lie below half a step of their 8 bits.

    And of results that a far number is put into, such as that of a mask, if somebody reads how far it is: it does not
    count, or the steps are too large for the others.

    Args:
        prepared: calibrated.

    Warns:
        LongTailWarning: names the input or the result, the share, and what to do.
    """
    named: set[Node] = set()  # and what is made of them
    for node in prepared.graph.nodes:
        if not named.isdisjoint(node.all_input_nodes):
            named.add(node)
            continue
        is_far = facts(node).far or _may_lack(node)
        for user in node.users if node.op == "placeholder" or is_far else ():
            observer = getattr(prepared, str(user.target)) if user.op == "call_module" else None
            if isinstance(observer, MaskedHistogramObserver):
                share, step = _lost(observer)
                if is_far and (observer.saturates or share > _MOST):
                    warnings.warn(_text_of_far(node, observer, share, step), LongTailWarning, stacklevel=3)
                    named.add(node)
                    break
                if node.op == "placeholder" and share > _MOST and observer.quant_max - observer.quant_min <= _BYTE:
                    warnings.warn(_text(node, user, share, step), LongTailWarning, stacklevel=3)


def _may_lack(node: Node) -> bool:
    """Whether it is the several largest numbers of a tensor, which may have fewer than that, and leaves the model."""
    whole = whole_of(node)
    if whole is node or whole.target is not torch.ops.aten.topk.default or node.args[1] != 0:
        return False
    return bool(whole.args[1] != 1) and any(reader.op == "output" for user in node.users for reader in user.users)


def _lost(observer: MaskedHistogramObserver) -> tuple[float, float]:
    """The share of the numbers seen, zeros left out, that is less than half a step, and the step."""
    step = float(observer.calculate_qparams()[0])
    low, high = float(observer.min_val), float(observer.max_val)
    counts = observer.histogram.double()
    width = (high - low) / len(counts)
    middles = low + width * (torch.arange(len(counts), dtype=torch.float64) + 0.5)
    small = float(counts[middles.abs() < step / 2].sum()) - observer.zeros
    return max(small, 0.0) / max(float(counts.sum()) - observer.zeros, 1.0), step


def _text(source: Node, observed: Node, share: float, step: float) -> str:
    readers = ", ".join(dict.fromkeys(facts(n).whole or n.name for n in observed.users))
    return (
        f"input {source.target!r}: {share:.0%} of its numbers are less than half a step of 8 bits ({step / 2:.3g}) and "
        f"become 0: read it with 16 bits (int16x8 for {readers}), or make its range smaller, by a logarithm or a root"
    )


def _text_of_far(node: Node, observer: MaskedHistogramObserver, share: float, step: float) -> str:
    where = f"result {facts(node).whole or node.name!r}" + (f" ({line})" if (line := source_line(node)) else "")
    if observer.saturates:
        least, greatest = float(observer.min_val), float(observer.max_val)
        harm = f"they are clipped to the range of the others, {least:.3g} to {greatest:.3g}"
    else:
        harm = f"{share:.0%} of all are less than half a step ({step / 2:.3g}) and become 0"
    return f"{where}: some of its numbers lie far from all others, and {harm}: use numbers nearer to the others"
