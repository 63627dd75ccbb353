"""Axes, kernels, strides and indices at and beyond what a register holds: int8 layers are right or refused."""

from __future__ import annotations

import operator
from collections.abc import Callable

import pytest
import torch
from torch import nn

from arm_ethosu import EthosUCompileSpec
from arm_tosa_core.testing.case import Apply
from arm_tosa_core.testing.harness import Execution, exported

_LONG = 65537


class Rows(nn.Module):
    """Rows of a tensor at constant indices."""

    def __init__(self, indices: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("indices", indices)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[self.indices] * 2


def _many(count: int) -> nn.Module:
    return Rows(torch.arange(count) % 7)


#: The layer, the shapes of its inputs, and the reason for which U55 and U85 refuse it; empty: they do not.
_ROWS: dict[str, tuple[Callable[[], nn.Module], list[tuple[int, ...]], str, str]] = {
    "conv, 65536 channels": (lambda: nn.Conv2d(65536, 1, 1), [(1, 65536, 1, 1)], "", ""),
    "conv, channels": (lambda: nn.Conv2d(_LONG, 1, 1), [(1, _LONG, 1, 1)], *["65537 input channels"] * 2),
    "conv, rows": (lambda: nn.Conv2d(1, 2, 3, padding=1), [(1, 1, _LONG, 1)], "", ""),
    "conv, columns": (lambda: nn.Conv2d(2, 2, 3, padding=1), [(1, 2, 1, _LONG)], "", ""),
    "conv, kernel 64": (lambda: nn.Conv2d(1, 2, (64, 1)), [(1, 1, 70, 2)], "", ""),
    "conv, kernel 65": (lambda: nn.Conv2d(1, 2, (65, 1)), [(1, 1, 70, 2)], "", ""),
    "conv, kernel 70x70": (lambda: nn.Conv2d(1, 2, 70), [(1, 1, 71, 71)], "", ""),
    "conv, stride 4": (lambda: nn.Conv2d(3, 2, 3, stride=4, padding=1), [(1, 3, 11, 11)], "", ""),
    "depthwise, kernel 65": (lambda: nn.Conv2d(3, 3, (65, 1), groups=3), [(1, 3, 70, 2)], "", ""),
    "depthwise, stride 4": (lambda: nn.Conv2d(3, 3, 3, stride=4, groups=3), [(1, 3, 11, 11)], "stride [4, 4]", ""),
    "max, rows": (lambda: nn.MaxPool2d((3, 1), 1), [(1, 2, _LONG, 1)], "", ""),
    "max, channels": (lambda: nn.MaxPool2d(2), [(1, _LONG, 2, 2)], *["65537 input channels"] * 2),
    "max, kernel 257": (lambda: nn.MaxPool2d((257, 1), 1), [(1, 2, 260, 1)], "", ""),
    "average, rows": (lambda: nn.AvgPool2d((3, 1), 1), [(1, 2, _LONG, 1)], "", ""),
    "average, kernel 257": (lambda: nn.AvgPool2d((257, 1), 1), [(1, 2, 260, 1)], "", ""),
    "matmul, rows": (lambda: Apply(operator.matmul), [(_LONG, 2), (2, 3)], "65537 rows in A", ""),
    "matmul, depth": (lambda: Apply(operator.matmul), [(2, _LONG), (_LONG, 2)], "axis of 65537 in B", ""),
    "sum": (lambda: Apply(lambda x: x.sum(1)), [(2, _LONG)], "", ""),
    "maximum": (lambda: Apply(lambda x: x.amax(1)), [(2, _LONG)], "", ""),
    "softmax": (lambda: Apply(lambda x: x.softmax(1)), [(1, _LONG)], "", ""),
    "product": (lambda: Apply(operator.mul), [(_LONG, 2), (1, 2)], "", ""),
    **{f"gather, {n} indices": (lambda n=n: _many(n), [(7, 3)], "", "") for n in (65535, 65536, 65537)},
    "gather, rows": (lambda: Rows(torch.tensor([5, _LONG - 1, 0])), [(_LONG, 2)], "", ""),
}  # fmt: skip


@pytest.mark.parametrize("accelerator", ["ethos-u55-128", "ethos-u85-256"])
@pytest.mark.parametrize("name", _ROWS)
def test_a_layer_is_right_or_refused(name: str, accelerator: str) -> None:
    make, shapes, *refused = _ROWS[name]
    reason = refused[accelerator.startswith("ethos-u85")]
    torch.manual_seed(0)
    layer, inputs = make().eval(), tuple(map(_channels_last, shapes))
    spec = EthosUCompileSpec(accelerator)
    run = Execution(exported(layer, inputs, spec, "int8"), spec.target())
    reasons = [str(why) for why in run.analysis.rejected.values()]
    assert any(reason in why for why in reasons) if reason else run.regions, reasons
    pairs = run.edges(inputs)
    assert len(pairs) >= len(run.regions)
    for ours, eager in pairs:
        torch.testing.assert_close(ours, eager, rtol=0, atol=1)


def _channels_last(shape: tuple[int, ...]) -> torch.Tensor:
    x = torch.randn(shape)
    return x.to(memory_format=torch.channels_last) if x.dim() == 4 and x[0, 0].numel() > 1 else x
