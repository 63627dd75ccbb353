"""Programs that take or make what no result depends on load and run on every device, in both flows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower
from executorch.exir.backend.operator_support import DontPartition

from arm_ethosu import EthosUPartitioner
from arm_tosa_core import TOSAQuantizer, get_symmetric_quantization_config, lower, quantize_program
from arm_tosa_core.exir.compilation import Compilation
from arm_tosa_core.exir.operator_checks import node_checks
from arm_tosa_core.flow.lowered import compile_spec_of
from arm_tosa_core.testing.case import Apply
from arm_vgf import VgfCompileSpec, VgfPartitioner


class Covered(torch.nn.Module):
    """Nothing of ``x`` is left in the first sum."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.select_scatter(x, y, 0, 0) + y


class Cut(torch.nn.Module):
    """Nothing of ``x`` is left after the cut."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.cat([y[None], x])[:1] + y


class Product(torch.nn.Module):
    def __init__(self, **factors: Any) -> None:
        super().__init__()
        self.factors = factors

    def forward(self, bias: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = torch.addmm(bias, x, y, **self.factors)
        return made


def _runs(buffer: bytes, given: Sequence[torch.Tensor]) -> torch.Tensor:
    pytest.importorskip("arm_runtime", reason="nox builds arm-runtime-cpp")
    from executorch.runtime import Runtime

    (result,) = Runtime.get().load_program(buffer).load_method("forward").execute(list(given))
    made: torch.Tensor = result
    return made


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u85-256", "vgf"])
@pytest.mark.parametrize(
    "net",
    [
        Covered(),
        Cut(),
        Apply(lambda x, y: x.repeat(1, 40).max(1, True)[0] + y),  # ARGMAX of Ethos-U55 takes 127 numbers
        Apply(lambda x, y: x.min(1, True)[0] + y),  # which has no BITWISE_NOT either
    ],
    ids=["covered", "cut", "max", "min"],
)
def test_runs(target: str, net: torch.nn.Module) -> None:
    given = torch.linspace(-1, 1, 6).reshape(1, 6), torch.linspace(1, -1, 6)
    spec: Any = compile_spec_of(target)
    quantizer = TOSAQuantizer(spec).set_global(get_symmetric_quantization_config())
    program = torch.export.export(
        quantize_program(torch.export.export(net, given), quantizer, [given]).converted, given
    )
    partitioner: Any = VgfPartitioner(spec) if target == "vgf" else EthosUPartitioner(spec)
    config = EdgeCompileConfig(_check_ir_validity=False)
    edge = to_edge_transform_and_lower(program, partitioner=[partitioner], compile_config=config)
    lowered = lower(program, target)
    assert lowered.report.delegates == partitioner.report.delegates == 1
    for buffer in (lowered.buffer, edge.to_executorch().buffer):
        torch.testing.assert_close(_runs(buffer, given), program.module()(*given), rtol=0, atol=2e-2)


@pytest.mark.parametrize("factors", [{"alpha": 0.0}, {"beta": 0.0}, {"alpha": 0.0, "beta": 0.5}], ids=str)
def test_what_is_multiplied_by_zero(factors: dict[str, float]) -> None:
    """NaNs in it do not count."""
    shapes = (2, 2), (2, 3), (3, 2)
    given = tuple(torch.linspace(-1, 1, rows * columns).reshape(rows, columns) for rows, columns in shapes)
    program = torch.export.export(Product(**factors), given)
    lowered = lower(program, "vgf")
    assert lowered.report.delegates == 1
    given[0 if "alpha" not in factors else 1].fill_(torch.nan)
    torch.testing.assert_close(_runs(lowered.buffer, given), program.module()(*given))


@pytest.mark.parametrize(
    "net",
    [
        Apply(lambda x, y: torch.where(y > 2, x, x)),
        Apply(lambda x, y: (torch.stack([x, y])[0], y * 3)),
        Apply(lambda x, y: (x + 0, x * 1, x * 2)),
        Apply(lambda x, y: (torch.cat([x, y])[:2], torch.cat([x, y])[2:])),
    ],
    ids=["chosen", "stacked", "repeated", "passed through"],
)
def test_what_the_compiler_of_a_target_leaves_out(net: torch.nn.Module, tmp_path: Path) -> None:
    """The model converter joins results that are the same, and drops what no result depends on."""
    given = torch.randn(2, 4), torch.randn(2, 4)
    program = torch.export.export(net, given)
    wanted = net(*given)
    pytest.importorskip("arm_runtime", reason="nox builds arm-runtime-cpp")
    from executorch.runtime import Runtime

    lowered = lower(program, VgfCompileSpec().dump_intermediate_artifacts_to(tmp_path))
    assert len(list(tmp_path.iterdir())) == lowered.report.delegates
    results = Runtime.get().load_program(lowered.buffer).load_method("forward").execute(list(given))
    for result, want in zip(results, wanted if isinstance(wanted, tuple) else [wanted], strict=True):
        torch.testing.assert_close(result, want)


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u85-256"])
def test_a_constant_in_place_of_all(target: str) -> None:
    """The constant is computed on the CPU, so that the operator which names the old numbers is there as well."""
    net = Apply(
        lambda x: (x.sigmoid(), torch.select_scatter(x.movedim(-1, 1).clone(), torch.full((3, 12, 6), 2.0), 3, 0))
    )
    given = (torch.linspace(-3, 3, 216).reshape(3, 6, 1, 12),)
    spec: Any = compile_spec_of(target)
    quantizer = TOSAQuantizer(spec).set_global(get_symmetric_quantization_config())
    quantized = quantize_program(torch.export.export(net, given), quantizer, [given]).converted
    program = torch.export.export(quantized, given)
    partitioner: Any = EthosUPartitioner(spec)
    edge = to_edge_transform_and_lower(program, partitioner=[partitioner])
    pytest.importorskip("arm_runtime", reason="nox builds arm-runtime-cpp")
    from executorch.runtime import Runtime

    for buffer in (lower(program, target).buffer, edge.to_executorch().buffer):
        results = Runtime.get().load_program(buffer).load_method("forward").execute(list(given))
        for result, want in zip(results, quantized(*given), strict=True):
            torch.testing.assert_close(result, want, rtol=0, atol=2e-2)


def test_integers_that_only_say_a_size_are_not_read_again_and_again() -> None:
    """``expand_as`` alone is a region where the quantize nodes around it are not."""
    given = (torch.randn(2, 6, 5),)
    net = Apply(lambda x: (x * 2.0).sum(1, keepdim=True).expand_as(x * 3.0) + x)
    spec: Any = compile_spec_of("tosa")
    quantizer = TOSAQuantizer(spec).set_global(get_symmetric_quantization_config())
    model = quantize_program(torch.export.export(net, given), quantizer, [given]).converted
    checks = node_checks([DontPartition(torch.ops.quantized_decomposed.quantize_per_tensor.default)])
    done = Compilation(torch.export.export(model, given), spec.target(), checks, decompose_rest=True).run()
    assert any(str(node.target) == "aten.expand_as.default" for node in done.analysis.accepted)
