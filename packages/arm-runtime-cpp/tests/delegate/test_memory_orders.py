"""Tensors whose axes do not lie in their order, where delegates begin and end: what is computed stays the same."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest
import torch
from executorch.runtime import Runtime, Verification
from torch.fx.passes.operator_support import OperatorSupportBase

import arm_runtime  # noqa: F401  registers the delegates
from arm_ethosu import EthosUCompileSpec, EthosUQuantizer
from arm_tosa_core import ExecuTorchOptions, get_symmetric_quantization_config, lower
from arm_tosa_core.testing.harness import export_quantized

Forward = Callable[[torch.Tensor], torch.Tensor]

#: A function, the shape of its input, and the names of operators that stay on the CPU.
CASES: dict[str, tuple[Forward, tuple[int, ...], tuple[str, ...]]] = {
    "matrix transposed": (lambda x: x.relu().t(), (3, 5), ()),
    "column": (lambda x: x.relu().t(), (1, 5), ()),
    "axis of one element": (lambda x: x.relu().permute(1, 0, 2, 3), (1, 2, 5, 10), ()),
    "channels to the end": (lambda x: x.relu().permute(0, 2, 3, 1), (2, 5, 3, 10), ()),
    "row of a transposed one": (lambda x: x.relu().t()[1:2], (4, 6), ()),
    "expanded": (lambda x: x.relu().expand(3, 4, 5), (1, 4, 5), ()),
    "sliced": (lambda x: x.relu()[:, ::2], (4, 6), ()),
    "one channel": (lambda x: x.relu().sum(1, keepdim=True), (1, 3, 8, 8), ()),
    "view on the CPU": (lambda x: x.relu().permute(0, 2, 1).neg(), (2, 4, 5), ("permute",)),
    "matrix on the CPU": (lambda x: x.relu().t().neg(), (4, 5), ("aten.t.",)),
    "axis of one element on the CPU": (lambda x: x.relu().permute(1, 0, 2).neg(), (1, 4, 5), ("permute",)),
    "view and operator on the CPU": (
        lambda x: x.relu().permute(0, 2, 1).abs().neg(), (2, 4, 5), ("permute", "abs")
    ),
    "parts on the CPU": (lambda x: x.relu().permute(0, 2, 1).split(2, 1)[1].neg(), (2, 4, 5), ("permute", "split")),
    "expanded on the CPU": (lambda x: x.relu().expand(3, 4, 5).neg(), (1, 4, 5), ("expand",)),
}  # fmt: skip


class Net(torch.nn.Module):
    def __init__(self, forward: Forward) -> None:
        super().__init__()
        self._forward = forward

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self._forward(x)


class Left(OperatorSupportBase):
    """Keeps operators on the CPU by parts of their names."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def is_node_supported(self, _: object, node: torch.fx.Node) -> bool:
        return not any(name in str(node.target) for name in self.names)


def picture(shape: tuple[int, ...]) -> torch.Tensor:
    """Numbers from -1 to 1.125 in steps of 1/8, which float adds up exactly."""
    return (torch.arange(torch.Size(shape).numel()).reshape(shape) % 18 - 8) / 8


def run(program: torch.export.ExportedProgram, target: str, left: tuple[str, ...], x: torch.Tensor) -> torch.Tensor:
    """What the runtime gives for the input, which the program takes as it lies in memory."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lowered = lower(
            program,
            target,
            executorch=ExecuTorchOptions(additional_checks=[Left(left)]),
            memory_format=torch.preserve_format,
        )
    assert lowered.report.delegates == 1 + bool(left), lowered.report.rejected
    method = Runtime.get().load_program(lowered.buffer, verification=Verification.Minimal).load_method("forward")
    assert method is not None
    (made,) = method.execute([x])
    return made


@pytest.mark.parametrize("name", CASES)
def test_float_results_are_those_of_pytorch(name: str) -> None:
    forward, shape, left = CASES[name]
    x = picture(shape)
    made = run(torch.export.export(Net(forward), (x,)), "vgf", left, x)
    torch.testing.assert_close(made, forward(x), rtol=0, atol=0, check_stride=False)


@pytest.mark.parametrize("name", CASES)
def test_integers_are_those_of_pytorch(name: str) -> None:
    forward, shape, left = CASES[name]
    x = picture(shape)
    quantizer = EthosUQuantizer(EthosUCompileSpec("ethos-u85-128")).set_global(get_symmetric_quantization_config())
    program = export_quantized(Net(forward), (x,), quantizer)
    made = run(program, "ethos-u85-128", left, x)
    step = 0.01  # of 255 between the least and the greatest; the accelerator may round the other way
    torch.testing.assert_close(made, program.module()(x), rtol=0, atol=step, check_stride=False)


@pytest.mark.parametrize("target", ["vgf", "ethos-u85-128"])
def test_picture_of_one_channel_that_lies_channels_last(target: str) -> None:
    """PyTorch calls it contiguous; ExecuTorch has its channels behind its columns."""
    x = picture((1, 3, 8, 8)).contiguous(memory_format=torch.channels_last)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 1, 3)).eval()
    if target == "vgf":
        program = torch.export.export(net, (x,))
    else:
        quantizer = EthosUQuantizer(EthosUCompileSpec(target)).set_global(get_symmetric_quantization_config())
        program = export_quantized(net, (x,), quantizer)
    torch.testing.assert_close(run(program, target, (), x), program.module()(x), check_stride=False)
