"""``lower`` reaches the edge dialect without decomposing what has nothing to decompose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from flow_kit import Inputs, Net, export, quantize
from program_kit import X
from torch.export import ExportedProgram

from arm_tosa_core import lower
from arm_tosa_core.flow import edge

INDEX = torch.tensor([1, 2])
Forward = Callable[..., Any]

#: What each program leaves for ExecuTorch besides calls of delegates.
WHOLE: dict[str, tuple[Forward, Inputs]] = {
    "nothing": (lambda net, x: torch.relu(net.conv(x)), (X,)),
    "a state": (lambda net, x: net.state.add_(x) * 2, (X,)),
    "an input that nothing reads": (lambda net, x, y: net.conv(x), (X, X)),
    "one result twice": (lambda net, x: (x + 1,) * 2, (X,)),
    "memory as NHWC": (lambda net, x: net.conv(x), (X.to(memory_format=torch.channels_last),)),
    "casts of an index": (lambda net, i: net.embedding(i), (INDEX,)),
}


@pytest.mark.parametrize("make", [export, quantize], ids=["float", "int8"])
@pytest.mark.parametrize(("forward", "inputs"), WHOLE.values(), ids=WHOLE)
def test_a_program_without_decompositions_is_the_one_that_to_edge_gives(
    make: Callable[..., ExportedProgram], forward: Forward, inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = make(Net(forward), inputs)
    target = "tosa" if make is export else "tosa-int"
    expected = _by_to_edge(program, target, monkeypatch)
    monkeypatch.setattr(edge, "to_edge", None)
    assert lower(program, target, memory_format=torch.preserve_format).buffer == expected


def test_operators_on_the_cpu_are_decomposed(monkeypatch: pytest.MonkeyPatch) -> None:
    program = export(Net(lambda net, x: torch.cdist(x * x, x) * 2), (X[0, 0],))
    asked = []
    monkeypatch.setattr(edge, "to_edge", lambda *a, _real=edge.to_edge, **k: asked.append(a) or _real(*a, **k))
    lower(program, "tosa")
    assert len(asked) == 1


def _by_to_edge(program: ExportedProgram, target: str, monkeypatch: pytest.MonkeyPatch) -> bytes:
    with monkeypatch.context() as patch:
        patch.setattr(edge, "is_decomposed", lambda _: False)
        made: bytes = lower(program, target, memory_format=torch.preserve_format).buffer
    return made
