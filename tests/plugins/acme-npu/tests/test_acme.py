"""Acme's own tests: its check, its rewrite, its file format, and its operator in a whole program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.lowered_backend_module import get_lowered_submodules
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from acme_npu import container
from acme_npu.limits import MAX_KERNEL, small_kernels
from acme_npu.ops import scaled_add
from acme_npu.split import MAX_CHANNELS, SPLIT_WIDE_CONV
from arm_tosa_core import TOSAQuantizer, get_symmetric_quantization_config
from arm_tosa_core.exir.compile_spec import ArmCompileSpec, TargetCompileSpec
from arm_tosa_core.exir.partitioner import TOSAPartitioner
from arm_tosa_core.plugin import entry_points as plugins
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.tosa import reference_model as reference
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification

SPEC = TosaSpecification.create_from_string("TOSA-1.0+INT")


def convolution(channels: int, kernel: tuple[int, int] = (1, 1), biases: int | None = None) -> tuple[Graph, Op]:
    """A graph of one int8 CONV2D, 1x1 or wider, over an input that just fits its kernel."""
    rng = np.random.default_rng(0)
    graph = Graph()
    data = graph.input("x", [1, *kernel, 3], DType.INT8)
    weight = graph.constant(rng.integers(-127, 128, [channels, *kernel, 3]).astype(np.int8), DType.INT8)
    bias = graph.constant(rng.integers(-999, 999, [biases or channels]).astype(np.int32), DType.INT32)
    zero = graph.constant(np.zeros(1, np.int8), DType.INT8)
    op = graph.append("CONV2D", [data, weight, bias, zero, zero])
    graph.outputs.append(op.output)
    return graph, op


def pool(kernel: tuple[int, int]) -> Op:
    graph = Graph()
    return graph.append("MAX_POOL2D", [graph.input("x", [1, *kernel, 3], DType.INT8)], {"kernel": kernel})


@pytest.mark.parametrize("make", [lambda kernel: convolution(1, kernel)[1], pool], ids=["CONV2D", "MAX_POOL2D"])
@pytest.mark.parametrize(
    ("kernel", "refused"), [((MAX_KERNEL, MAX_KERNEL), False), ((MAX_KERNEL + 1, 1), True), ((1, MAX_KERNEL + 1), True)]
)
def test_kernels_are_refused_above_the_limit(make: Any, kernel: tuple[int, int], refused: bool) -> None:
    why = small_kernels(make(kernel))
    assert (why is not None) == refused
    if why:
        assert why.reason == f"kernel {MAX_KERNEL + 1} > {MAX_KERNEL}"


@pytest.mark.parametrize(
    ("channels", "biases", "parts"),
    [(MAX_CHANNELS, None, 1), (MAX_CHANNELS + 1, None, 2), (300, None, 3), (300, 1, 3)],
)
def test_wide_convolutions_are_split_without_a_change_of_results(channels: int, biases: int | None, parts: int) -> None:
    graph, op = convolution(channels, (3, 3), biases)
    x = np.random.default_rng(1).integers(-128, 128, [1, 3, 3, 3]).astype(np.int8)
    (expected,) = reference.run(serialize(graph, SPEC), [x])
    assert SPLIT_WIDE_CONV.apply(graph, op) == (parts > 1)
    graph.sweep()
    assert [op.name for op in graph.ops] == ["CONV2D"] * parts + ["CONCAT"] * (parts > 1)
    assert all(op.output.shape[-1] <= MAX_CHANNELS for op in graph.ops if op.name == "CONV2D")
    (got,) = reference.run(serialize(graph, SPEC), [x])
    np.testing.assert_array_equal(got, expected)


def test_the_container_gives_back_what_was_packed() -> None:
    assert container.unpack(container.pack(b"graph", {})) == b"graph"


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        (b"", "does not begin with ACME"),
        (b"TOSA" + bytes(20), "does not begin with ACME"),
        (b"ACME\x01", "does not begin with ACME"),
        (b"ACME" + (9).to_bytes(4, "little") + bytes(8), "version 9"),
        (container.pack(b"graph", {})[:-2], "5 bytes, of which 3 are there"),
    ],
)
def test_a_file_that_is_not_acmes_is_refused(payload: bytes, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        container.run(payload, [])


def test_options_are_refused() -> None:
    with pytest.raises(UsageError, match="target 'acme' has no option 'speed'; it has none"):
        TargetCompileSpec("acme", speed="high")


class Model(torch.nn.Module):
    """A convolution that must be split, and the custom operator."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = torch.nn.Conv2d(3, 2 * MAX_CHANNELS, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.wide(x)
        return scaled_add(y, x.sum(1, keepdim=True), 0.5)


def quantized_for(spec: ArmCompileSpec) -> tuple[Any, list[tuple[torch.Tensor]]]:
    """The model, prepared and converted, and the samples it was calibrated with."""
    torch.manual_seed(0)
    model, samples = Model().eval(), [(torch.randn(1, 3, 8, 8),) for _ in range(4)]
    quantizer = TOSAQuantizer(spec).set_global(get_symmetric_quantization_config())
    prepared = prepare_pt2e(torch.export.export(model, samples[0]).module(), quantizer)
    for sample in samples:
        prepared(*sample)
    return convert_pt2e(prepared), samples


def test_the_custom_operator_is_quantized_for_acme_alone() -> None:
    def is_quantized(spec: ArmCompileSpec) -> bool:
        module, _ = quantized_for(spec)
        (node,) = [n for n in module.graph.nodes if "scaled_add" in str(n.target)]
        return any("quantize_per_tensor" in str(user.target) for user in node.users)

    assert is_quantized(TargetCompileSpec("acme"))
    assert not is_quantized(TargetCompileSpec("tosa-int"))


def test_a_model_with_the_custom_operator_runs_on_acme() -> None:
    spec = TargetCompileSpec("acme")
    quantized, samples = quantized_for(spec)

    program = torch.export.export(quantized, samples[0])
    edge = to_edge_transform_and_lower(program, partitioner=[TOSAPartitioner(spec)])
    graph = edge.exported_program().graph_module
    ((_, delegate, _),) = get_lowered_submodules(graph)
    assert delegate.backend_id == "AcmeBackend"
    assert not [node for node in graph.graph.nodes if "acme" in str(node.target)]

    target = plugins.target("acme")
    assert target.host.run
    assert delegate.processed_bytes.startswith(container.MAGIC)
    inputs = [node.args for node in graph.graph.nodes if "quantize_per" in str(node.target)]
    (_, scale, zero_point, low, high, _), (_, out_scale, out_zero_point, *_) = inputs
    x = torch.clamp(torch.round(samples[0][0] / scale) + zero_point, low, high).to(torch.int8)
    (y,) = target.host.run(delegate.processed_bytes, [x.numpy()])
    expected = torch.round(quantized(*samples[0]) / out_scale) + out_zero_point
    assert np.abs(y.astype(int) - expected.detach().numpy()).max() <= 1
