"""int32 arithmetic beside the ends of int32: PyTorch's results, on a target that wraps and on one that does not."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from arm_tosa_core.plugin.entry_points import target
from arm_tosa_core.plugin.target import Preferences
from arm_tosa_core.testing.case import Apply
from arm_tosa_core.testing.harness import Execution

_NUMBERS = [s * n for n in (0, 1, 2, 3, 7, 46341, 123456789) for s in (1, -1)]
_POWERS = [s * (2**n + d) for n in (15, 16, 30) for d in (-1, 0, 1) for s in (1, -1)]
EDGES = [*_NUMBERS, *_POWERS, 2**31 - 1, 2**31 - 2, -(2**31), 1 - 2**31]
PAIRS = torch.tensor(list(itertools.product(EDGES, EDGES)), dtype=torch.int32).T.contiguous()
X, Y = PAIRS.unbind()
SQUARE = X.reshape(len(EDGES), -1)
#: Without the one pair at which PyTorch's own fmod ends the process.
DIVISIBLE = PAIRS[:, (Y != 0) & ((X != -(2**31)) | (Y != -1))].unbind()

#: The function, its operands, and whether TOSA says what its results are on a target that only does as TOSA says.
ROWS: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...], bool]] = {
    "add": (lambda x, y: x + y, (X, Y), False),
    "add number": (lambda x: x + 1610612735, (X,), False),
    "add broadcast": (lambda x, y: x + y, (SQUARE, SQUARE[:, :1]), False),
    "add alpha": (lambda x, y: torch.add(x, y, alpha=3), (X, Y), False),
    "sub": (lambda x, y: x - y, (X, Y), False),
    "sub from number": (lambda x: 7 - x, (X,), False),
    "mul": (lambda x, y: x * y, (X, Y), True),
    "mul number": (lambda x: x * -1234567, (X,), True),
    "mul small number": (lambda x: x * 3, (X,), True),
    "square": (torch.square, (X,), True),
    "cube": (lambda x: x**3, (X,), True),
    "neg": (torch.neg, (X,), True),
    "abs": (torch.abs, (X,), True),
    "sum": (lambda x: x.sum(0, dtype=torch.int32), (SQUARE,), False),
    "cumsum": (lambda x: x.cumsum(1, dtype=torch.int32), (SQUARE,), False),
    "index_add": (lambda x, y: x.index_add(0, torch.tensor([1, 1, 0]), y), (SQUARE[:3], SQUARE[-3:]), False),
    "remainder": (torch.remainder, DIVISIBLE, True),
    "remainder number": (lambda x: x % -3, (X,), True),
    "remainder -1": (lambda x: x % -1, (X,), True),
    "fmod": (torch.fmod, DIVISIBLE, True),
    "floor_divide": (torch.floor_divide, DIVISIBLE, True),
    "floor_divide -1": (lambda x: x // -1, (X,), True),
    "trunc": (lambda x, y: torch.div(x, y, rounding_mode="trunc"), DIVISIBLE, True),
}
CASES = [
    pytest.param(name, wraps, id=f"{name}-{'wraps' if wraps else 'saturates'}")
    for name, (_, _, defined) in ROWS.items()
    for wraps in (True, False)
    if defined or not wraps
]


@pytest.mark.parametrize(("name", "wraps"), CASES)
def test_results_are_pytorchs(name: str, wraps: bool) -> None:
    """The reference model stops where a number that TOSA leaves open would leave 32 bits."""
    function, inputs, _ = ROWS[name]
    kind = replace(target("tosa-int"), preferences=Preferences(wraps=wraps))
    run = Execution(torch.export.export(Apply(function), inputs), kind)
    assert len(run.regions) == 1
    (result,) = run.run(inputs)
    assert torch.equal(result, function(*inputs))


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.uint8])
@pytest.mark.parametrize("function", [torch.neg, torch.abs, lambda x: x % 7, lambda x: x * x - 3])
def test_every_small_integer(function: Callable[[torch.Tensor], torch.Tensor], dtype: torch.dtype) -> None:
    ends = torch.iinfo(dtype)
    inputs = (torch.arange(ends.min, ends.max + 1, dtype=torch.int32).to(dtype),)
    run = Execution(torch.export.export(Apply(function), inputs), target("tosa-int"))
    assert len(run.regions) == (0 if (function, dtype) == (torch.abs, torch.uint8) else 1)
    (result,) = run.run(inputs)
    assert torch.equal(result, function(inputs[0]))


@pytest.mark.parametrize(
    ("function", "operators"),
    [
        (lambda x: x + 3, 11),
        (lambda x: x.clamp(-9, 9) + 3, 3),
        (lambda x: x.to(torch.int16) * 3 + 1, 7),
        (lambda x: x.to(torch.int16).to(torch.int32) * 3 + 1, 4),
    ],
)
def test_what_is_known_to_fit_needs_no_halves(function: Callable[[torch.Tensor], torch.Tensor], operators: int) -> None:
    kind = replace(target("tosa-int"), preferences=Preferences(wraps=False))
    run = Execution(torch.export.export(Apply(function), (X,)), kind)
    assert [len(region.graph.ops) for region in run.regions] == [operators]
