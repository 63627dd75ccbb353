"""Products with constants and sums behind them, as exporters write linear layers."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from arm_tosa_core import TosaCompileSpec, TOSAQuantizer, get_symmetric_quantization_config, quantize_program

CHANNELS = 6


class Sum(nn.Module):
    """A product with a matrix, and what is added to it.

    Args:
        form: of the sum.
    """

    def __init__(self, form: str) -> None:
        super().__init__()
        self.form = form
        self.matrix, self.bias = nn.Parameter(torch.randn(8, CHANNELS)), nn.Parameter(torch.randn(CHANNELS))
        self.linear, self.number = nn.Linear(8, CHANNELS, bias=False), nn.Parameter(torch.randn(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        match self.form:
            case "matrix":
                return x @ self.matrix + self.bias
            case "bias first":
                return self.bias + x @ self.matrix
            case "linear":
                return self.linear(x) + self.bias
            case "read twice":
                y = x @ self.matrix
                return (y + self.bias).relu() * y
            case "one number":
                return x @ self.matrix + self.number
            case "twice the bias":
                return torch.add(x @ self.matrix, self.bias, alpha=2)
        return x @ self.matrix + self.linear(x)


@pytest.mark.parametrize(
    ("form", "sums"),
    [
        ("matrix", 0),
        ("bias first", 0),
        ("linear", 0),
        ("read twice", 1),
        ("one number", 1),
        ("twice the bias", 1),
        ("two layers", 1),
    ],
)
def test_what_is_added_to_a_layer_becomes_its_bias(form: str, sums: int) -> None:
    torch.manual_seed(0)
    module, calls = Sum(form).eval(), [torch.randn(3, 8) for _ in range(8)]
    quantizer = TOSAQuantizer(TosaCompileSpec("TOSA-1.0+INT")).set_global(get_symmetric_quantization_config())
    made = quantize_program(torch.export.export(module, (calls[0],)), quantizer, calls)
    assert sum("aten.add" in str(node.target) for node in made.prepared.graph.nodes) == sums
    with torch.no_grad():
        error = torch.stack([(made.converted(x) - module(x)).square().mean() for x in calls]).mean()
        assert error < 0.001 * torch.stack([module(x).square().mean() for x in calls]).mean()


def test_a_layer_of_another_scheme_keeps_its_own_result() -> None:
    torch.manual_seed(0)
    module, x = Sum("linear").eval(), torch.randn(3, 8)
    quantizer = TOSAQuantizer(TosaCompileSpec("TOSA-1.0+INT+FP")).set_global(get_symmetric_quantization_config())
    quantizer.set_module_name("linear", None)
    made = quantize_program(torch.export.export(module, (x,)), quantizer, [x])
    assert any("aten.add" in str(node.target) for node in made.prepared.graph.nodes)
