"""Models are quantized in one graph, with plain weights, whatever their code computes weights from and runs under."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from quantizer_kit import INT8, SPEC
from torch import nn
from torch.fx import GraphModule

from arm_tosa_core import TOSAQuantizer, UsageError, lower, quantize_program
from arm_tosa_core.accuracy.compare import compare
from arm_tosa_core.aten.wrapped_graphs import is_wrapper, unwrap
from arm_tosa_core.lowering.exported_program import is_dequantize
from arm_tosa_core.lowering.operator_names import canonical
from arm_tosa_core.lowering.rule_set import RuleSet
from arm_tosa_core.quantize.annotate.plain_module import make_plain

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations

LAYERS = {"aten.linear.default", "aten.conv1d.default", "aten.conv2d.padding", "aten.conv2d.default"}


class Model(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.function, self.layer = function, nn.Linear(8, 8)
        self.w, self.b = nn.Parameter(torch.randn(24, 8)), nn.Parameter(torch.randn(24))
        self.register_buffer("count", torch.zeros(8))
        rows, columns = torch.meshgrid(torch.arange(4.0), torch.arange(8.0), indexing="ij")
        self.register_buffer("rows", rows)
        self.register_buffer("columns", columns)
        self.register_buffer("windows", torch.arange(11.0).as_strided((4, 8), (1, 1)))
        self.register_buffer("part", self.rows[:2])

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(self, *args, **kwargs)


def quantized(model: nn.Module, *args: Any, **kwargs: Any) -> Any:
    program = torch.export.export(model.eval(), args, kwargs)
    return quantize_program(program, TOSAQuantizer(SPEC).set_global(INT8), [(args, kwargs)] * 2)


def standardized(m: Any, x: Any) -> Any:
    w = (m.w - m.w.mean(1, keepdim=True)) / (m.w.std(1, keepdim=True) + 1e-5)
    return F.linear(x, w, m.b * 2)


def overwritten(m: Any, x: Any) -> Any:
    w = m.w.clone()
    w[0] = 0
    w.mul_(0.5)
    return F.linear(x, w)


def in_parts(m: Any, x: Any) -> Any:
    return torch.cat([F.linear(x, w, b) for w, b in zip(m.w.chunk(3), m.b.chunk(3), strict=True)], -1)


@pytest.mark.parametrize(
    "function",
    [
        lambda m, x: F.linear(x, m.w[:8].t()),
        lambda m, x: F.linear(x, m.w.flip(0).half().float()),
        lambda m, x: F.linear(F.linear(x, m.w[:8]), m.w[:8]),
        lambda m, x: F.linear(x, m.w.round().to(torch.int8).float() * 0.1),
        lambda m, x: F.linear(x, torch.tensor([[1.0, -2.0]]).repeat(3, 4)),
        lambda m, x: F.conv1d(x, torch.ones(4, 1, 3) / 3, groups=4),
        lambda m, x: F.conv1d(x, m.columns[:1, None, :3].expand(4, 1, 3), groups=4),
        in_parts,
        standardized,
        overwritten,
        nn.utils.parametrizations.spectral_norm(nn.Linear(8, 8)),
        nn.utils.parametrizations.weight_norm(nn.Linear(8, 8)),
    ],
)
def test_weights_may_be_computed(function: Any) -> None:
    """Rounded as any, so that rounding and bias correction see them; the program keeps its own."""
    model = function if isinstance(function, nn.Module) else Model(function)
    x = torch.randn(2, 4, 8)
    made = quantized(model, x)
    layers = [n for n in made.converted.graph.nodes if canonical(n.target) in LAYERS]
    assert layers and all(is_dequantize(n.args[1]) and n.args[1].args[0].op == "get_attr" for n in layers)
    (output,) = compare(made.prepared, made.converted, [((x,), {})]).outputs
    assert output.sqnr_db > 30 and made.report


def test_cross_attention() -> None:
    """The weights of keys and queries are parts of one parameter; a model may return None beside a tensor."""
    made = quantized(nn.MultiheadAttention(8, 2, batch_first=True), torch.randn(1, 2, 8), *[torch.randn(1, 5, 8)] * 2,
                     need_weights=False)  # fmt: skip
    assert made.converted(torch.ones(1, 2, 8), *[torch.ones(1, 5, 8)] * 2, need_weights=False)[1] is None
    assert not any(canonical(n.target) == "aten.chunk.default" for n in made.converted.graph.nodes)


def plain(function: Callable[..., Any], *inputs: Any, is_trained: bool = False) -> GraphModule:
    module = torch.export.export(Model(function).eval(), inputs).module()
    make_plain(module, RuleSet.of(None), is_trained)
    return module


def counted(m: Any, x: Any) -> Any:
    m.count.add_(1)
    return F.linear(x, m.w[:8] + m.count)


def read_early(m: Any, x: Any) -> Any:
    w = m.w[:8].clone()
    y = F.linear(x, w)
    w.mul_(2)
    return y + F.linear(x, w)


@pytest.mark.parametrize(
    ("function", "left"),
    [
        (lambda m, x: F.linear(x, m.w + torch.rand_like(m.w)), "rand_like"),
        (lambda m, x: x[:, :1] + m.b[:8].expand(64, 4, 8), "aten.expand"),
        (counted, "aten.add.Tensor"),
        (read_early, "aten.mul"),
    ],
)
def test_what_is_no_constant_stays_computed(function: Callable[..., Any], left: str) -> None:
    """Random numbers, what no layer reads, buffers that change, and memory that is read before it is written to."""
    x = torch.randn(64, 4, 8)
    made = plain(function, x)
    assert any(left in canonical(n.target) for n in made.graph.nodes if n.op == "call_function")
    if left != "rand_like":
        torch.testing.assert_close(made(x), Model(function)(x))


def test_weights_that_are_trained_stay_computed() -> None:
    made = plain(lambda m, x: F.linear(x, m.w[:8] * 2, m.rows[0] + 1), torch.randn(4, 8), is_trained=True)
    assert [canonical(n.target) for n in made.graph.nodes if n.op == "call_function"].count("aten.mul.Tensor") == 1
    assert "w" in dict(made.named_parameters()) and "rows" not in dict(made.named_buffers())


@pytest.mark.parametrize("is_trained", [False, True])
def test_positions_at_which_images_are_sampled_are_one_constant(is_trained: bool) -> None:
    def sampled(m: Any, x: Any) -> Any:
        return F.grid_sample(x, torch.stack([m.columns / 4 - 1, m.rows.sin()], -1)[None], align_corners=False)

    x = torch.randn(1, 3, 6, 5)
    made = plain(sampled, x, is_trained=is_trained)
    (sampler,) = (n for n in made.graph.nodes if n.op == "call_function")
    assert sampler.args[1].op == "get_attr" and sampler.args[1].target in dict(made.named_buffers())
    torch.testing.assert_close(made(x), Model(sampled)(x))


def test_equal_constants_are_one_and_no_parameter_stays_unread() -> None:
    made = plain(lambda m, x: F.linear(F.linear(x, m.w[:8] / 2), m.w[:8] / 2), torch.randn(2, 8))
    assert {name: list(p.shape) for name, p in made.named_parameters() if name.startswith("_")} == {"_div_1": [8, 8]}
    assert not hasattr(made, "w")


def test_equal_weights_may_be_read_where_all_is_known() -> None:
    """The first step of a loop begins with zeros, so that torchao folds its layer, and its weights with it."""

    def steps(model: Model, x: torch.Tensor) -> torch.Tensor:
        state = torch.zeros(1, 8)
        for _ in range(3):
            state = torch.tanh(x + F.linear(state, model.w[:8], model.b[:8]))
        return state

    x = torch.randn(1, 8, generator=torch.Generator().manual_seed(0))
    program = torch.export.export(Model(steps).eval(), (x,))
    converted = quantize_program(program, TOSAQuantizer(SPEC).set_global(INT8), [(x,)]).converted
    assert (converted(x) - program.module()(x)).abs().max() < 0.1


@pytest.mark.parametrize("name", ["rows", "columns", "windows"])
def test_elements_of_a_buffer_may_share_memory(name: str) -> None:
    model, x = Model(lambda m, x: m.layer(x) * getattr(m, name) + m.part[:1] + m.count.add_(1)), torch.randn(4, 8)
    made = quantized(model, x)
    assert compare(made.prepared, made.converted, [((x,), {})]).sqnr_db > 25


@pytest.mark.parametrize(
    "function",
    [
        lambda m, x: F.conv1d(x, m.kernels, m.count),
        lambda m, x: F.conv1d(x, m.kernels * 2, m.count),
        lambda m, x: F.conv1d(x, m.kernels) + F.conv1d(x, m.kernels, m.count).relu(),
    ],
)
def test_batch_norms_join_layers_whose_weights_are_buffers(function: Callable[..., Any]) -> None:
    norm = nn.BatchNorm1d(8)
    norm.running_mean = torch.linspace(-1, 1, 8)
    model = Model(lambda m, x: m.norm(function(m, x)))
    model.norm = norm
    model.register_buffer("kernels", torch.randn(8, 8, 3))
    x = torch.randn(2, 8, 9)
    program = quantized(model, x)
    assert "batch_norm" not in str(program.converted.graph)
    result, wanted = program.converted(x), model(x)
    assert ((result - wanted) ** 2).sum() < 1e-2 * (wanted**2).sum()
    assert "kernels" in dict(model.named_buffers())  # the caller's model is as it was


def test_a_sparse_buffer_is_refused() -> None:
    model = Model(lambda m, x: m.layer(x) + m.eye.to_dense())
    model.register_buffer("eye", torch.eye(8).to_sparse())
    program, x = torch.export.export(model, (torch.ones(8, 8),)), torch.ones(8, 8)
    for attempt in (
        lambda: quantize_program(program, TOSAQuantizer(SPEC).set_global(INT8), [x]),
        lambda: lower(program, SPEC),
    ):
        with pytest.raises(UsageError, match=r"^eye is a sparse tensor \(torch.sparse_coo\): register it dense"):
            attempt()


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda m, x: (x + 1, "add"), "output 1 is the text 'add': a program returns tensors and numbers only"),
        (lambda m, x: 3, "the model returns no tensor"),
    ],
)
def test_results_that_no_program_holds_are_refused(function: Callable[..., Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        lower(torch.export.export(Model(function), (torch.ones(2),)), SPEC)


@pytest.mark.parametrize("extra", [None, 3, 2.5, True, {"a": None, "b": (1, None)}])
def test_results_need_not_be_tensors(extra: Any) -> None:
    model, x = Model(lambda m, x, n, flag: {"y": m.layer(x) * n, "other": extra, "n": n}), torch.randn(2, 8)
    made = quantized(model, x, 3, None)
    result = made.converted(x, 3, None)
    assert result["other"] == extra and result["n"] == 3 and isinstance(result["y"], torch.Tensor)
    assert compare(made.prepared, made.converted, [((x, 3, None), {})]).sqnr_db > 30


def body(y: Any) -> Any:
    q = y.float()
    return q @ (q.transpose(-1, -2) @ q) / (q.abs().sum() + 1)


def without_gradients(m: Any, x: Any) -> Any:
    with torch.no_grad():
        return m.layer(body(m.layer(x))) * 2


def without_autocast(m: Any, x: Any) -> Any:
    y = m.layer(x)
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.autocast("cpu", enabled=False), torch.no_grad():
        y = body(y)
    with torch.autocast("cuda"):
        return m.layer(y) * 2


@pytest.mark.parametrize("function", [without_gradients, without_autocast])
def test_what_is_under_a_context_is_quantized(function: Callable[..., Any]) -> None:
    """The same integers as without the context."""
    x = torch.randn(1, 6, 8)
    assert any(map(is_wrapper, torch.export.export(Model(function), (x,)).graph.nodes))
    made = quantized(Model(function), x).converted
    torch.testing.assert_close(made(x), quantized(Model(lambda m, x: m.layer(body(m.layer(x))) * 2), x).converted(x))
    assert not any(is_wrapper(n) or canonical(n.target) == "aten.to.dtype" for n in made.graph.nodes)


def with_autocast(m: Any, x: Any) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = m.layer(x)
        with torch.no_grad():
            z = (y @ y.transpose(-1, -2)).softmax(-1)
            with torch.autocast("cpu", enabled=False):
                s = z.float() @ z.float()
        return y + m.count, F.layer_norm(z, (6,)), s


def in_a_branch(m: Any, x: Any) -> Any:
    def yes(x: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return x @ x.transpose(-1, -2)

    return torch.cond(x.sum() > 0, yes, lambda x: (x @ x.transpose(-1, -2)).bfloat16(), (x,))


@pytest.mark.parametrize("function", [with_autocast, in_a_branch])
def test_autocast_stays_casts(function: Callable[..., Any]) -> None:
    program, x = torch.export.export(Model(function), (torch.randn(1, 6, 8),)), torch.randn(1, 6, 8).abs()
    module = program.module()
    unwrap(module)
    branches = [module.get_submodule(n.target) for n in module.graph.find_nodes(op="get_attr") if "val" not in n.meta]
    assert not any(is_wrapper(n) for graph in (module, *branches) for n in graph.graph.nodes)
    torch.testing.assert_close(module(x), Model(function)(x), rtol=0, atol=0)
    torch.testing.assert_close(program.module()(x), Model(function)(x), rtol=0, atol=0)
