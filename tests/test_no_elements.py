"""Programs that are given a tensor without elements load and run on every device."""

from __future__ import annotations

import pytest
import torch

from arm_tosa_core import TOSAQuantizer, UsageError, get_symmetric_quantization_config, lower, quantize_program
from arm_tosa_core.flow.lowered import compile_spec_of


class Net(torch.nn.Module):
    """Reads ``kept``, of which there may be nothing."""

    def forward(self, x: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
        same = torch.slice_scatter(x, kept, 1, x.shape[1])
        return torch.tanh(torch.cat([kept, same], 1)) * x


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u85-256", "vgf"])
def test_runs(target: str) -> None:
    pytest.importorskip("arm_runtime", reason="nox builds arm-runtime-cpp")
    import executorch.kernels.quantized  # noqa: F401
    from executorch.runtime import Runtime

    given = torch.linspace(-1, 1, 24).reshape(4, 6), torch.zeros(4, 0)
    quantizer = TOSAQuantizer(compile_spec_of(target)).set_global(get_symmetric_quantization_config())
    made = quantize_program(torch.export.export(Net(), given), quantizer, [given])
    program = torch.export.export(made.converted, given)
    lowered = lower(program, target)
    assert lowered.report.delegates == 1 and "aten.tanh.default" in {row.target for row in lowered.report.delegated}
    (result,) = Runtime.get().load_program(lowered.buffer).load_method("forward").execute(list(given))
    torch.testing.assert_close(result, program.module()(*given), rtol=0, atol=1e-2)


class Product(torch.nn.Module):
    def forward(self, bias: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.addmm(bias, x, y).tanh()


def test_products_over_nothing_stay_on_the_cpu() -> None:
    """They are the bias alone; what follows is delegated."""
    given = torch.ones(2, 3), torch.zeros(2, 0), torch.zeros(0, 3)
    report = lower(torch.export.export(Product(), given), "tosa-fp").report
    reasons = {row.target: str(row.reason) for row in report.rejected}
    assert "multiplies matrices without elements" in reasons["aten.addmm.default"]
    assert "aten.tanh.default" in {row.target for row in report.delegated}


def test_calibration_data_has_elements() -> None:
    varying = {0: torch.export.Dim("rows", min=0, max=8)}
    program = torch.export.export(torch.nn.ReLU(), (torch.ones(4, 3),), dynamic_shapes=(varying,))
    quantizer = TOSAQuantizer(compile_spec_of("vgf")).set_global(get_symmetric_quantization_config())
    with pytest.raises(UsageError, match="no tensor of the calibration data has an element"):
        quantize_program(program, quantizer, [torch.ones(0, 3)])
    quantize_program(program, quantizer, [torch.ones(0, 3), torch.ones(2, 3)])
