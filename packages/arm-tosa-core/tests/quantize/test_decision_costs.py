"""``decision_costs``: the estimate with a decision, less that without it."""

from __future__ import annotations

from typing import Any

import pytest
import target_kit
import torch
from quantizer_kit import INT8
from torch import nn

from arm_tosa_core import Corrections, TosaCompileSpec, TOSAQuantizer, quantize_program
from arm_tosa_core.exir.program_estimate import estimate_program
from arm_tosa_core.plugin.target import Target
from arm_tosa_core.quantize.annotate.wide_results import ASKED, ENERGY, STATE, STREAM
from arm_tosa_core.quantize.decision_costs import decision_costs
from arm_tosa_core.quantize.decisions import CORRECTED, EQUALIZED, OWN_SCALE, ROUNDED, WIDE_RESULT
from arm_tosa_core.tosa.loader import load

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations


class Counting(TosaCompileSpec):
    """A target whose cycles are the bits of all tensors of its graph."""

    def _target(self) -> Target:
        def estimate(tosa: bytes) -> dict[str, float]:
            return {"cycles": float(sum(t.size * t.dtype.bits for op in load(tosa).ops for t in op.outputs))}

        return target_kit.target("counting", self.tosa_spec, estimate=estimate)


class Energy(nn.Module):
    def forward(self, re: torch.Tensor, im: torch.Tensor) -> torch.Tensor:
        return (re**2 + im**2).sqrt()


class Uneven(nn.Module):
    """Two layers whose channels between them differ a hundredfold, and a stream of sums."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = nn.Conv2d(3, 8, 1), nn.Conv2d(8, 3, 1), nn.Conv2d(3, 3, 1)
        with torch.no_grad():
            self.first.weight *= torch.logspace(-1, 1, 8).reshape(8, 1, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        stream = x + self.second(torch.relu(self.first(x)))
        return stream + self.third(x)


class Fusion(nn.Module):
    """An image, and what reaches a hundred times further, side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.narrow, self.wide, self.both = nn.Conv2d(3, 4, 1), nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(8, 5, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        image = self.narrow(x)
        return self.both(torch.cat([image, self.wide(image) * 100], 1))


class Step(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, h: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"h": self.layer(x) + h}


IMAGE = (1, 3, 8, 8)

#: The network, its inputs, and what leaves a decision out by an option of its own: its cost must be the same.
COSTS: dict[str, tuple[type[nn.Module], list[tuple[int, ...]], tuple[str, str], dict[str, Any]]] = {
    "energy": (Energy, [(1, 64), (1, 64)], (WIDE_RESULT, ENERGY), {"wide": "none"}),
    "stream": (Uneven, [IMAGE], (WIDE_RESULT, STREAM), {"wide": "none"}),
    "a scale of its own": (Fusion, [IMAGE], (OWN_SCALE, ""), {"corrections": Corrections(rescaling=False)}),
}


def calls(shapes: list[tuple[int, ...]]) -> list[tuple[torch.Tensor, ...]]:
    torch.manual_seed(0)
    return [tuple(torch.randn(shape) for shape in shapes) for _ in range(4)]


def exported(network: type[nn.Module], inputs: tuple[torch.Tensor, ...]) -> torch.export.ExportedProgram:
    torch.manual_seed(0)
    return torch.export.export(network().eval(), inputs)


def counting(spec: str = "TOSA-1.0+INT+int16", **options: Any) -> TOSAQuantizer:
    return TOSAQuantizer(Counting(spec), **options).set_global(INT8)


def costs(network: type[nn.Module], shapes: list[tuple[int, ...]], quantizer: TOSAQuantizer) -> dict[Any, float | None]:
    samples = calls(shapes)
    program = exported(network, samples[0])
    made = quantize_program(program, quantizer, samples).report
    found = decision_costs(program, quantizer, samples, made)
    assert sum(row.operators for row in found) == len(made)
    return {(row.kind, row.why): row.cycles for row in found}


@pytest.mark.parametrize("name", COSTS)
def test_a_cost_is_that_of_leaving_it_out(name: str) -> None:
    network, shapes, decision, options = COSTS[name]
    wide = {"wide": options["wide"]} if "wide" in options else {}
    others = {key: value for key, value in options.items() if key != "wide"}
    samples = calls(shapes)
    program = exported(network, samples[0])

    def cycles(quantizer: TOSAQuantizer, **options: Any) -> float:
        converted = quantize_program(program, quantizer, samples, **options).converted
        figures = estimate_program(torch.export.export(converted, samples[0]), Counting(quantizer.tosa_spec).target())
        assert figures is not None
        return figures["cycles"]

    cost = costs(network, shapes, counting())[decision]
    assert cost == cycles(counting()) - cycles(counting(**wide), **others)
    assert cost != 0


def test_what_changes_constants_only_is_free() -> None:
    found = costs(Uneven, [IMAGE], counting())
    assert {EQUALIZED, ROUNDED, CORRECTED} <= {kind for kind, _ in found}
    assert found[EQUALIZED, ""] == found[ROUNDED, ""] == found[CORRECTED, ""] == 0


def test_all_that_was_asked_for_in_16_bits_has_a_cost() -> None:
    assert costs(Uneven, [IMAGE], counting(wide="all"))[WIDE_RESULT, ASKED]


def test_a_state_cannot_be_left_out() -> None:
    assert costs(Step, [(1, 4), (1, 4)], counting())[WIDE_RESULT, STATE] is None


@pytest.mark.parametrize("spec", [TosaCompileSpec("TOSA-1.0+INT+int16"), Counting("TOSA-1.0+INT+int16").tosa_spec])
def test_without_an_estimate_no_cost_is_known(spec: Any) -> None:
    found = costs(Uneven, [IMAGE], TOSAQuantizer(spec).set_global(INT8))
    assert found[WIDE_RESULT, STREAM] is None and found[CORRECTED, ""] == 0
