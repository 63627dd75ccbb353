"""What ExecuTorch 1.5 computes otherwise than PyTorch, or does not show: both flows give PyTorch's results."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.delegate import executorch_call_delegate

from arm_tosa_core import (
    TOSAPartitioner,
    TOSAQuantizer,
    UsageError,
    WrittenInputWarning,
    get_symmetric_quantization_config,
    lower,
    quantize_program,
)
from arm_tosa_core.flow.lowered import compile_spec_of

pytestmark = pytest.mark.filterwarnings("ignore::arm_tosa_core.NothingDelegatedWarning")
FLOWS = ("fast", "ordinary")
#: Takes no float, so that all runs on the CPU.
TARGET = "ethos-u55-128"


class Model(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: torch.Tensor) -> Any:
        return self.function(*args)


class State(torch.nn.Module):
    """A buffer that is written, and has the name of the input or that of an operator."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.register_buffer(name, torch.full((3,), 5.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = getattr(self, self.name)
        state.add_(x)
        return x * state


def run(model: torch.nn.Module, args: tuple[torch.Tensor, ...], flow: str, calls: int = 1) -> None:
    """Runs a model in PyTorch and as a program; asserts that the results are equal and inputs are left alone."""
    pytest.importorskip("arm_runtime", reason="nox builds arm-runtime-cpp")
    import executorch.kernels.quantized  # noqa: F401
    from executorch.runtime import Runtime

    program, spec = torch.export.export(copy.deepcopy(model), copy.deepcopy(args)), compile_spec_of(TARGET)
    if flow == "fast":
        buffer = lower(program, spec).buffer
    else:
        buffer = to_edge_transform_and_lower(program, partitioner=[TOSAPartitioner(spec)]).to_executorch().buffer
    method = Runtime.get().load_program(bytes(buffer)).load_method("forward")
    for _ in range(calls):
        given = copy.deepcopy(args)
        made, wanted = method.execute(given), model(*copy.deepcopy(args))
        torch.testing.assert_close(list(made), [wanted] if isinstance(wanted, torch.Tensor) else list(wanted))
        torch.testing.assert_close(given, args)


X = torch.tensor([-7, 7, -7, 7, -6, 0, 2**40 + 1, -(2**40)])
Y = torch.tensor([3, -3, -3, 3, 3, 5, -7, 7])


@pytest.mark.parametrize("flow", FLOWS)
def test_remainders_of_integers(flow: str) -> None:
    short = X.clamp(-100, 100)

    def remainders(x: torch.Tensor, y: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x % y, x % 3, x % -3, a % b, a.remainder(3), torch.remainder(-8, y), a % y, (x % y).float() % 2.5

    run(Model(remainders), (X, Y, short.to(torch.int8), Y.to(torch.int32)), flow)


@pytest.mark.parametrize("flow", FLOWS)
def test_remainders_of_integers_in_the_steps_of_a_scan(flow: str) -> None:
    def step(carried: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return carried + x % 3, (carried - x) % -3

    def scanned(start: torch.Tensor, xs: torch.Tensor) -> Any:
        return torch.ops.higher_order.scan(step, [start], [xs], ())

    run(Model(scanned), (torch.tensor([1, -2]), torch.tensor([[-7, 7], [5, -5], [-1, 4]])), flow)


@pytest.mark.parametrize("flow", FLOWS)
def test_numbers_in_the_steps_of_a_scan(flow: str) -> None:
    def step(carried: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return carried * 70000, torch.where(x <= 0.3, carried + 0.3, x + x.sum(dtype=torch.float32).item())

    def scanned(start: torch.Tensor, xs: torch.Tensor) -> Any:
        return torch.ops.higher_order.scan(step, [start], [xs], ())

    xs = torch.tensor([[0.3, 0.1], [5.0, -1.0]], dtype=torch.float16)
    run(Model(scanned), (torch.tensor([0.5, 1e-5], dtype=torch.float16), xs), flow)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.ops.higher_order.scan(lambda c, x: (c + torch.tensor(3.0), c * x), [x[0]], [x], ())[1],
        lambda x: torch._higher_order_ops.map(lambda x: x + torch.tensor(3.0), x),
    ],
    ids=["scan", "map"],
)
def test_tensors_made_in_steps_are_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(UsageError, match="makes a tensor of numbers in its steps"):
        lower(torch.export.export(Model(function), (torch.ones(3, 2),)), TARGET)


@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize(
    ("dtype", "function"),
    [
        (torch.int64, lambda x, n, k: (x**0, x**1, x**11, x ** (2**53 + 1))),
        (torch.int16, lambda x, n, k: 70000**n),
        (torch.int64, lambda x, n, k: (2**n, 6**n, (-4) ** n, 0**n)),
        (torch.uint8, lambda x, n, k: ((-1) ** n, x**n)),
        (torch.int8, lambda x, n, k: (x**n, x**k, x ** k.item())),
    ],
    ids=["known", "of a number", "of even numbers", "unsigned", "of rank 0"],
)
def test_powers_of_integers(dtype: torch.dtype, function: Callable[..., Any], flow: str) -> None:
    x, n = torch.tensor([3, -1, 1, 0, -5, 3, 2, -1]).to(dtype), torch.tensor([7, 5, 6, 0, 100, -3, -1, -3]).to(dtype)
    run(Model(function), (x, n, torch.tensor(69, dtype=torch.int16)), flow)


@pytest.mark.parametrize("flow", FLOWS)
def test_powers_of_truth_values_are_refused(flow: str) -> None:
    with pytest.raises(UsageError, match=r"the power at .*test_executorch_faults.py:.* has a bool base"):
        run(Model(lambda x: x**True), (torch.tensor([True, False]),), flow)


@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize(
    "function",
    [
        torch.nonzero,
        lambda x: torch.cond(x.sum() > 0, lambda x: torch.nonzero(x).float().sum(), lambda x: x.sum() * 1.0, (x,)),
    ],
    ids=["returned", "in a branch"],
)
def test_places_along_several_axes_are_refused(function: Callable[..., Any], flow: str) -> None:
    with pytest.raises(UsageError, match=r"nonzero at .*test_executorch_faults.py:.* along several axes"):
        run(Model(function), (torch.tensor([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]]),), flow)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
def test_shifts_of_integers(dtype: torch.dtype) -> None:
    """In the ordinary flow ``EdgeCompileConfig`` has to allow them: they are not of the Core ATen set."""

    def shifts(x: torch.Tensor, n: torch.Tensor, k: torch.Tensor) -> tuple[torch.Tensor, ...]:
        left = x << 3, x << n, x << -1, x << 256, torch.bitwise_left_shift(x, 40), torch.bitwise_left_shift(5, n)
        right = x >> 3, x >> n, x >> -1, torch.bitwise_right_shift(x, 40), x >> k, x >> k.item()
        return *left, *right

    x, n = torch.tensor([1, -3, 44, 100]).to(dtype), torch.tensor([2, 40, -1, 64]).to(dtype)
    run(Model(shifts), (x, n, torch.tensor(9, dtype=torch.int16)), "fast")


def begin(x: torch.Tensor) -> torch.Tensor:
    x.reshape(-1)[:2] = 0
    return x.sum(0)


@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize(
    "function",
    [lambda x: x.add_(1), lambda x: torch.relu_(x) * 2, begin, lambda x: (x.mul_(2).t() + 1, x)],
    ids=["returned", "relu", "part", "twice"],
)
def test_written_inputs(function: Callable[..., Any], flow: str) -> None:
    with pytest.warns(WrittenInputWarning, match="writes to its input args_0 at .*test_executorch_faults.py"):
        run(Model(function), (torch.tensor([[-1.0, 2.0, 3.0], [4.0, -5.0, 6.0]]),), flow)


def test_written_input_of_a_functional_program() -> None:
    program = torch.export.export(Model(lambda x: x.add_(1) * 2), (torch.ones(3),)).run_decompositions({})
    with pytest.warns(WrittenInputWarning, match="args_0"):
        lowered = lower(program, TARGET)
    assert not lowered.differences(program, [torch.ones(3)])


@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("name", ["x", "mul"])
def test_written_buffers_of_any_name(name: str, flow: str) -> None:
    run(State(name), (torch.tensor([1.0, 2.0, 3.0]),), flow, calls=2)


def test_quantization_leaves_samples() -> None:
    program = torch.export.export(Model(lambda x: torch.relu_(x) + x), (torch.ones(8),))
    quantizer = TOSAQuantizer(compile_spec_of(TARGET)).set_global(get_symmetric_quantization_config())
    sample = torch.linspace(-2, 2, 8)
    with pytest.warns(WrittenInputWarning, match="args_0"):
        quantized = quantize_program(program, quantizer, [sample])
    torch.testing.assert_close(sample, torch.linspace(-2, 2, 8))
    torch.testing.assert_close(quantized.converted(sample), 2 * torch.linspace(-2, 2, 8).relu(), atol=0.05, rtol=0)


@pytest.mark.parametrize("flow", FLOWS)
def test_sizes_that_data_decide(flow: str) -> None:
    """Behind a view, of which the CPU reads a copy."""
    run(Model(lambda x: x[..., ::2].t()[torch.tensor([True, False, True])]), (torch.rand(3, 6),), flow)


class Picked(torch.nn.Module):
    """Picks elements at constant places, which a target that gathers nothing takes where they are few runs."""

    def __init__(self, places: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("places", places)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.index_select(1, self.places)


@pytest.mark.parametrize("names", [("run", "mixed"), ("mixed", "run")], ids="-".join)
def test_methods_are_judged_by_their_own_constants(names: tuple[str, str]) -> None:
    """ExecuTorch shows partitioners fake constants, which have the same names and shapes here."""
    places = {"run": torch.arange(128), "mixed": torch.arange(128).flip(0)}
    programs = {
        name: torch.export.export(Picked(places[name]), (torch.zeros(1, 130, dtype=torch.int8),)) for name in names
    }
    edge = to_edge_transform_and_lower(programs, partitioner=[TOSAPartitioner(compile_spec_of(TARGET))])
    for name in names:
        calls = [n.target for n in edge.exported_program(name).graph.nodes if n.op == "call_function"]
        assert (executorch_call_delegate in calls) == (name == "run")


def test_scan_with_a_state_whose_sizes_vary() -> None:
    def step(state: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return state * 0.5 + x, state - x

    class Scan(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            last: torch.Tensor = torch._higher_order_ops.scan(step, x[0] * 0.5, x)[0]
            return last

    rows = {"x": {1: torch.export.Dim("rows", min=1, max=6)}}
    program = torch.export.export(Scan(), (torch.rand(2, 4, 6),), dynamic_shapes=rows)
    with pytest.raises(UsageError, match=r"scan at .*test_executorch_faults.py.* carries a tensor whose sizes vary"):
        lower(program, TARGET)


def test_views_in_the_steps_of_a_scan() -> None:
    """ExecuTorch's own flow gives other numbers."""

    def step(state: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return state @ torch.ones(4, 4) * 0.1 + x, state - x

    class Scan(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            last, each = torch._higher_order_ops.scan(step, x[0] * 2, x)
            return last, each

    run(Scan(), (torch.rand(3, 3, 2, 4),), "fast")
