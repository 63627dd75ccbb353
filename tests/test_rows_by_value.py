"""Places that a program computes: those of ``select`` run everywhere, and others are refused with their line."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from arm_tosa_core import TOSAQuantizer, UsageError, get_symmetric_quantization_config, lower, quantize_program
from arm_tosa_core.flow.lowered import compile_spec_of

pytestmark = pytest.mark.filterwarnings("ignore:nothing was delegated")


class Net(torch.nn.Module):
    def __init__(self, function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, boxes: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        return self.function(boxes, scores)


def inputs() -> tuple[torch.Tensor, ...]:
    return torch.randn(6, 4), torch.randn(6)


ROWS = {
    "best": lambda boxes, scores: boxes[scores.argmax()] * 2,
    "from the end": lambda boxes, scores: boxes[:, -1 - scores[:4].argmax()] + 1,
    "of one element": lambda boxes, scores: boxes[scores[:2].argmax().reshape(1).item()] * 2,
    "twice": lambda boxes, scores: boxes[scores.argmax()][scores[:4].argmin()] - 1,
    "of bytes": lambda boxes, scores: boxes[(scores[:1].abs() * 2).to(torch.uint8).clamp(max=5).item()] * 2,
    "result": lambda boxes, scores: boxes.select(0, scores.argmin().item()),
}


@pytest.mark.parametrize("scheme", ["float", "int8"])
@pytest.mark.parametrize("function", ROWS.values(), ids=ROWS)
def test_rows_are_taken(function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], scheme: str) -> None:
    pytest.importorskip("arm_runtime", reason="nox builds arm-runtime-cpp")
    import executorch.kernels.quantized  # noqa: F401
    from executorch.runtime import Runtime

    torch.manual_seed(0)
    samples = [inputs() for _ in range(4)]
    program = torch.export.export(Net(function).eval(), samples[0])
    if scheme == "int8":
        quantizer = TOSAQuantizer(compile_spec_of("ethos-u55-128")).set_global(get_symmetric_quantization_config())
        program = torch.export.export(quantize_program(program, quantizer, samples).converted, samples[0])
    lowered = lower(program, "ethos-u55-128")
    method = Runtime.get().load_program(lowered.buffer).load_method("forward")  # which reads the buffer as it is
    for sample in samples:
        (result,) = method.execute(list(sample))
        torch.testing.assert_close(result, program.module()(*sample), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda boxes, scores: boxes.narrow(0, scores.argmax().item(), 2) * 2, "narrow"),
        (lambda boxes, scores: boxes[: scores.argmax().item() + 1].sum(0), "slice"),
        (lambda boxes, scores: torch.select_scatter(boxes, scores[:4], 0, scores.argmax().item()), "select_scatter"),
    ],
    ids=["part", "first rows", "row written"],
)
def test_other_places_are_refused(function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], name: str) -> None:
    program = torch.export.export(Net(function).eval(), inputs())
    with pytest.raises(
        UsageError, match=rf"{name}.* at .*test_rows_by_value.py:.* place or a size .* torch.index_select"
    ):
        lower(program, "ethos-u55-128")


def _written(boxes: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    y = boxes * 2
    y[scores.argmax().item()] = 7.0
    return y + 1


def _added_to(boxes: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    y = boxes * 2
    y[scores.argmax().item()].add_(1)
    return y + 1


@pytest.mark.parametrize("function", [_written, _added_to])
def test_rows_that_are_written_to_are_refused(
    function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
) -> None:
    program = torch.export.export(Net(function).eval(), inputs())
    with pytest.raises(UsageError, match="place or a size that the program computes"):
        lower(program, "tosa-fp")
