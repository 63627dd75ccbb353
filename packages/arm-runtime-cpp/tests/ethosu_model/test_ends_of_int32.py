"""int32 arithmetic beside the ends of int32, which Ethos-U saturates and PyTorch wraps."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch

from arm_tosa_core.plugin.entry_points import target
from arm_tosa_core.testing.case import Apply
from arm_tosa_core.testing.harness import Execution

_EDGES = [s * n + d for n in (0, 3, 1 << 15, 1 << 16, 1 << 30, 2**31 - 2) for s in (1, -1) for d in (-1, 0, 1)]
_EDGES += [-(2**31), 7, -7, 123456789, -987654321]
_PAIRS = torch.tensor(list(itertools.product(_EDGES, _EDGES)), dtype=torch.int32).T.contiguous()
_X, _Y = _PAIRS.unbind()
_DIVISIBLE = _PAIRS[:, (_Y != 0) & ((_X != -(2**31)) | (_Y != -1))].unbind()  # PyTorch's fmod ends the process there
_SQUARE = (_X.reshape(len(_EDGES), -1),)

#: The function, its operands, and whether Ethos-U55 leaves a part of it to the CPU.
_ROWS: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...], bool]] = {
    "add": (lambda x, y: x + y, (_X, _Y), False),
    "sub": (lambda x, y: x - y, (_X, _Y), False),
    "mul": (lambda x, y: x * y, (_X, _Y), False),
    "mul small number": (lambda x: x * -3, (_X,), False),
    "neg": (torch.neg, (_X,), False),
    "abs": (torch.abs, (_X,), False),
    "neg int8": (lambda x: -x, (torch.arange(-128, 128, dtype=torch.int8),), False),
    "neg int16": (lambda x: -x, (torch.tensor([-(2**15), 2**15 - 1, -1, 0, 5], dtype=torch.int16),), False),
    "sum of columns": (lambda x: x.sum(0, dtype=torch.int32), _SQUARE, False),
    "sum of rows": (lambda x: x.sum(1, dtype=torch.int32), _SQUARE, False),
    "cumsum": (lambda x: x.cumsum(0, dtype=torch.int32), _SQUARE, False),
    "remainder": (torch.remainder, _DIVISIBLE, True),
    "remainder number": (lambda x: x % -3, (_X,), True),
    "fmod": (torch.fmod, _DIVISIBLE, True),
    "floor_divide -1": (lambda x: x // -1, (_X,), True),
    "floor_divide": (torch.floor_divide, _DIVISIBLE, True),
}


@pytest.mark.parametrize("accelerator", ["ethos-u55-128", "ethos-u85-256"])
@pytest.mark.parametrize("name", _ROWS)
def test_results_are_pytorchs(name: str, accelerator: str) -> None:
    function, inputs, partly = _ROWS[name]
    run = Execution(torch.export.export(Apply(function), inputs), target(accelerator))
    assert len(run.regions) == 1 or (partly and accelerator == "ethos-u55-128")
    (result,) = run.run(inputs)
    assert torch.equal(result, function(*inputs))
