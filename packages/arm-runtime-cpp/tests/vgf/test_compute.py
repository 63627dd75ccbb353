"""The compute engine beside Arm's emulation layer, and its plan."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from vgf_files import SPEC, Load, graph_vgf

from arm_tosa_core.testing.harness import Execution, exported
from arm_tosa_core.tosa.graph import Graph, Tensor
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.serializer import serialize
from arm_vgf import VgfCompileSpec
from arm_vgf.model_converter import convert

Array = np.ndarray[Any, Any]
Build = Callable[[Graph], list[Tensor]]


def converted(build: Build) -> bytes:
    graph = Graph()
    graph.outputs = build(graph)
    return convert(serialize(graph, SPEC))


def of_integers(kind: DType, op: str, operands: int, **attrs: Any) -> bytes:
    return graph_vgf(op, kind, 2, 5, 3, 8, operands=operands, **attrs)


def network(scheme: str) -> bytes:
    """Convolutions of all kinds, a residual sum, a pool and a product of matrices."""
    torch.manual_seed(0)

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1)
            self.wide = torch.nn.Conv2d(8, 8, 3, padding=1, groups=8)
            self.point = torch.nn.Conv2d(8, 8, 1)
            self.last = torch.nn.Linear(8, 5)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = torch.relu(self.first(x))
            x = x + torch.sigmoid(self.point(torch.relu(self.wide(x))))
            return self.last(torch.nn.functional.max_pool2d(x, 2).mean((2, 3)))

    spec = VgfCompileSpec()
    execution = Execution(exported(Net().eval(), (torch.randn(1, 3, 12, 12),), spec, scheme), spec.target())
    (vgf,) = execution.payloads
    return vgf


def inputs_of(session: Any) -> list[Array]:
    """Numbers that sums of two, or of eight, do not overflow."""
    rng = np.random.default_rng(1)

    def draw(dtype: str, shape: tuple[int, ...]) -> Array:
        if dtype.startswith("float"):
            return rng.standard_normal(shape).astype(dtype)
        bits = 8 * np.dtype(dtype).itemsize
        most = 1 << (27 if bits == 32 else bits - 1)
        return rng.integers(-most, most, shape, dtype)

    return [draw(t.dtype, t.shape) for t in session.inputs]


EXACT = {
    "int32 maximum": lambda: of_integers(DType.INT32, "MAXIMUM", 2),
    "int32 leading zeros": lambda: of_integers(DType.INT32, "CLZ", 1),
    "int32 difference": lambda: of_integers(DType.INT32, "SUB", 2),
    "int8 reverse": lambda: of_integers(DType.INT8, "REVERSE", 1, axis=2),
    "int16 reverse": lambda: of_integers(DType.INT16, "REVERSE", 1, axis=1),
    "int8 argmax": lambda: of_integers(DType.INT8, "ARGMAX", 1, axis=3),
    "int32 sum": lambda: of_integers(DType.INT32, "REDUCE_SUM", 1, axis=3),
    "int8 network": lambda: network("int8"),
    "int16x8 network": lambda: network("int16x8"),
}


@pytest.mark.parametrize("case", EXACT)
def test_integers_are_those_of_the_emulation_layer(vgf: Any, layer: Load, case: str) -> None:
    data = EXACT[case]()
    with vgf.Session(data, engine="compute") as ours, layer(data) as theirs:
        inputs = inputs_of(ours)
        assert len(ours.plan()) > 0
        for one, other in zip(ours.run(inputs), theirs.run(inputs), strict=True):
            assert one.dtype == other.dtype and np.array_equal(one, other)
            assert one.min() < one.max(), "of a constant, a comparison says nothing"


def test_sums_of_int16_have_48_bits(vgf: Any, layer: Load) -> None:
    """The largest inputs by weights of one sign: each of the sums of 4608 products is beyond 32 bits."""
    net = torch.nn.Conv2d(512, 8, 3)
    torch.nn.init.constant_(net.weight, 0.01)
    ones = torch.ones(1, 512, 4, 4)
    spec = VgfCompileSpec()
    execution = Execution(exported(net.eval(), (ones,), spec, "int16x8"), spec.target())
    (data,) = execution.payloads
    with vgf.Session(data, engine="compute") as ours, layer(data) as theirs:
        assert "gemm" in {step["kernel"] for step in ours.plan()}
        for sign in (1, -1):
            ((one,), (other,)) = ours.run([sign * ones.numpy()]), theirs.run([sign * ones.numpy()])
            assert np.array_equal(one, other)
            np.testing.assert_allclose(one, sign * 46.08, atol=0.1)


@pytest.mark.parametrize("terms", [2, 6, 64, 198, 1006, 4608])
def test_matrix_products_of_int16_have_48_bits(vgf: Any, terms: int) -> None:
    """Of the lowest and highest numbers too, whose products need 31 bits each; the results' upper 32 bits come out."""
    graph = Graph()
    a, b = graph.input("a", (2, 5, terms), DType.INT16), graph.input("b", (2, terms, 8), DType.INT16)
    zero = graph.constant(np.zeros(1, np.int16), DType.INT16)
    sums = graph.append("MATMUL", [a, b, zero, zero]).output
    by_2_to_16 = [np.array([1 << 14], np.int16), np.array([30], np.int8), np.zeros(1, np.int64), np.zeros(1, np.int32)]
    kinds = (DType.INT16, DType.INT8, DType.INT48, DType.INT32)
    operands = [graph.constant(number, kind) for number, kind in zip(by_2_to_16, kinds, strict=True)]
    attrs = {"scale32": False, "rounding_mode": "SINGLE_ROUND", "per_channel": False}
    attrs |= {"input_unsigned": False, "output_unsigned": False, "output_dtype": DType.INT32}
    graph.outputs = [graph.append("RESCALE", [sums, *operands], attrs).output]
    rng = np.random.default_rng(terms)
    with vgf.Session(convert(serialize(graph, SPEC)), engine="compute") as session:
        assert "gemm" in {step["kernel"] for step in session.plan()}
        for low, high in ((-32768, 32768), (-32768, -32767), (32767, 32768)):
            x, y = (rng.integers(low, high, shape).astype(np.int16) for shape in ((2, 5, terms), (2, terms, 8)))
            (result,) = session.run([x, y])
            exact = x.astype(np.int64) @ y.astype(np.int64)
            assert np.array_equal(result, (exact + (1 << 15)) >> 16)


def test_floats_are_near_those_of_the_emulation_layer(vgf: Any, layer: Load) -> None:
    data = network("fp32")
    with vgf.Session(data, engine="compute") as ours, layer(data) as theirs:
        inputs = inputs_of(ours)
        np.testing.assert_allclose(ours.run(inputs)[0], theirs.run(inputs)[0], rtol=1e-5, atol=1e-6)


def test_the_plan_says_what_runs(vgf: Any) -> None:
    """Elementwise operators behind a convolution are part of its dispatch."""
    with vgf.Session(network("int8"), engine="compute") as session:
        plan, memory = session.plan(), session.memory()
    keys = {"kernel", "operators", "shape", "read", "written", "macs", "groups", "variant"}
    assert all(step.keys() == keys for step in plan)
    kernels = {path.stem for path in (Path(__file__).parents[2] / "src" / "vgf" / "kernels").glob("*.comp")}
    assert {step["kernel"] for step in plan} <= kernels
    convolutions = [step for step in plan if step["macs"]]
    assert all("RESCALE" in step["operators"] for step in convolutions)
    # The first, the depthwise, the pointwise, the mean and the linear layer: elements times what each adds up.
    assert sorted(step["macs"] for step in convolutions) == [5 * 8, 8 * 9, 36 * 8 * 8, 36 * 8 * 9, 36 * 8 * 27]
    assert all(step["groups"] > 0 and step["written"] > 0 for step in plan)
    assert memory["work"] > 0 and memory["constants"] > 0


def test_what_a_device_computes_is_named_in_its_profile(vgf: Any) -> None:
    with vgf.Session(network("int8"), engine="compute") as session:
        session.profile()
        session.run(inputs_of(session))
        events = [event.name for event in session.profile() if event.on_device]
        assert events == [step["operators"] for step in session.plan()]


#: Weights [4, 3, 3, 8] that the model converter calls sparse: rightly, and of one number, which it reads beyond.
SPARSE = {
    "two of four are zero": np.tile(np.float32([1, 0, 2, 0]), (4, 3, 3, 2)),
    "few channels": np.eye(4, 8, dtype=np.float32).reshape(4, 1, 1, 8) * np.ones((1, 3, 3, 1), np.float32),
    "one number": np.ones((4, 3, 3, 8), np.float32),
}


@pytest.mark.parametrize("weights", SPARSE.values(), ids=SPARSE)
def test_sparse_weights_are_dense_in_the_file(load: Load, weights: Array) -> None:
    graph = Graph()
    x = graph.input("x", (1, 5, 5, 8), DType.FP32)
    zeros = [graph.constant(np.zeros(n, np.float32), DType.FP32) for n in (4, 1, 1)]
    attrs = {"pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1)}
    graph.outputs = [graph.append("CONV2D", [x, graph.constant(weights, DType.FP32), *zeros], attrs).output]
    given = np.random.default_rng(0).standard_normal((1, 5, 5, 8)).astype(np.float32)
    expected = torch.conv2d(*(torch.from_numpy(a).permute(0, 3, 1, 2) for a in (given, weights))).permute(0, 2, 3, 1)
    with load(convert(serialize(graph, SPEC))) as session:
        np.testing.assert_allclose(session.run([given])[0], expected, rtol=1e-5, atol=1e-5)


def test_zeros_of_what_is_not_finite(load: Load) -> None:
    """Neither the model converter nor a compiler of shaders makes zeros of them."""

    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return x - x, x * 0.0, torch.round(x)

    spec, x = VgfCompileSpec(), torch.tensor([float("nan"), float("inf"), -2.5, 7.0])
    (data,) = Execution(exported(Net(), (torch.rand(4),), spec, "fp32"), spec.target()).payloads
    with load(data) as session:
        for made, eager in zip(session.run([x.numpy()]), Net()(x), strict=True):
            np.testing.assert_array_equal(made, eager.numpy())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_roots_and_powers_of_what_is_not_finite(vgf: Any, dtype: torch.dtype) -> None:
    """TOSA leaves them open: the reference model stops."""

    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return x.sqrt(), x.std(0), x.norm(dim=0), 2**x, x.abs() ** 2.5

    spec, x = (
        VgfCompileSpec(),
        torch.tensor([[float("nan"), 1], [float("inf"), 2], [-float("inf"), 4], [-2, 9]]).to(dtype),
    )
    (data,) = Execution(exported(Net(), (torch.rand(4, 2).to(dtype),), spec, "fp32"), spec.target()).payloads
    with vgf.Session(data, engine="compute") as session:
        for column in (x, x.flip(1), x[[1, 1, 3, 3]]):
            for made, eager in zip(session.run([column.numpy()]), Net()(column), strict=True):
                np.testing.assert_allclose(made, eager.numpy(), rtol=2e-3)


def test_areas_of_large_numbers(vgf: Any) -> None:
    """Their squares overflow. The reference model takes no root of what is not finite."""

    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return torch.asinh(x), torch.acosh(x)

    spec, x = VgfCompileSpec(), torch.tensor([float("nan"), float("inf"), -3e38, 3e38, -1e4, 0.5, 1e10, 7.0])
    (data,) = Execution(exported(Net(), (torch.rand(8),), spec, "fp32"), spec.target()).payloads
    with vgf.Session(data, engine="compute") as session:
        for made, eager in zip(session.run([x.numpy()]), Net()(x), strict=True):
            np.testing.assert_allclose(made, eager.numpy(), rtol=1e-4)
