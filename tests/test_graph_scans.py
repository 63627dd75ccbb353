"""How often lowering walks over a program: a bound on each flow, counted on MobileNetV2."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
import torch
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower
from torch.export import ExportedProgram
from torch.fx import graph as fx_graph
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from arm_ethosu import EthosUCompileSpec, EthosUPartitioner, EthosUQuantizer
from arm_tosa_core import get_symmetric_quantization_config
from arm_tosa_core.flow.edge import lower_to_edge
from models import mobilenet_v2

#: Seventeen are counted, five of them over inputs or over the few nodes that delegates leave; and twenty-seven.
FAST, ORDINARY = 17, 27


class Scans:
    """Counts iterations over all nodes of any FX graph, ``find_nodes`` among them, begun in files of our packages.

    Those of PyTorch and ExecuTorch are not counted, even where we call them.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.places: Counter[str] = Counter()
        nodes = type(fx_graph.Graph().nodes)
        for owner, name in ((nodes, "__iter__"), (nodes, "__reversed__"), (fx_graph.Graph, "find_nodes")):
            monkeypatch.setattr(owner, name, self._counted(getattr(owner, name)))

    def _counted(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def scan(*args: Any, **kwargs: Any) -> Any:
            frame: FrameType | None = sys._getframe(1)
            while frame is not None and frame.f_code.co_filename == fx_graph.__file__:
                frame = frame.f_back
            if frame is not None and frame.f_globals.get("__name__", "").startswith(("arm_tosa_core.", "arm_ethosu.")):
                self.places[f"{frame.f_globals['__name__']}:{frame.f_lineno} {frame.f_code.co_name}"] += 1
            return original(*args, **kwargs)

        return scan

    def __str__(self) -> str:
        return "\n".join(
            [f"{self.places.total()} scans", *(f"{n} {place}" for place, n in sorted(self.places.items()))]
        )


@pytest.fixture(scope="module")
def quantized() -> ExportedProgram:
    """MobileNetV2 for Ethos-U55 on a small image; scans do not depend on its size."""
    torch.manual_seed(0)
    inputs = (torch.randn(1, 3, 32, 32),)
    quantizer = EthosUQuantizer(EthosUCompileSpec("ethos-u55-128")).set_global(get_symmetric_quantization_config())
    prepared = prepare_pt2e(torch.export.export(mobilenet_v2.build().eval(), inputs).module(), quantizer)
    with torch.no_grad():
        prepared(*inputs)
    return torch.export.export(convert_pt2e(prepared), inputs)


def test_the_fast_flow_walks_over_a_program_a_few_times(
    quantized: ExportedProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    scans = Scans(monkeypatch)
    lower_to_edge(quantized, EthosUCompileSpec("ethos-u55-128"))
    assert 0 < scans.places.total() <= FAST, str(scans)


def test_the_flow_of_executorch_walks_over_a_program_a_few_times(
    quantized: ExportedProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    scans = Scans(monkeypatch)
    to_edge_transform_and_lower(
        quantized,
        partitioner=[EthosUPartitioner(EthosUCompileSpec("ethos-u55-128"))],
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
    )
    assert 0 < scans.places.total() <= ORDINARY, str(scans)
