"""Operators of a plugin, one of each kind, declared in this module alone: every part of the compiler knows them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch
from torch import nn
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import SharedQuantizationSpec

from arm_tosa_core import Q, TOSAQuantizer, get_symmetric_quantization_config, op
from arm_tosa_core.exir.compile_spec import TosaCompileSpec
from arm_tosa_core.lowering.op_builder import OpBuilder
from arm_tosa_core.lowering.rule_set import RuleSet
from arm_tosa_core.lowering.traits import Channels, Moves, Traits
from arm_tosa_core.lowering.values import Value
from arm_tosa_core.plugin import entry_points
from arm_tosa_core.quantize.annotate.annotator import KEY
from arm_tosa_core.quantize.annotate.slice_assignments import without_assignments
from arm_tosa_core.quantize.annotate.value_bounds import bounds_of, find_signs
from arm_tosa_core.quantize.corrections.equalization import equalize
from arm_tosa_core.quantize.corrections.shared_scales import keep_narrow
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.testing.harness import Execution

TARGET = "tosa"  # the name of the target that ``TosaCompileSpec`` configures
kinds: Any = torch.ops.kinds
_library = torch.library.Library("kinds", "DEF")


def custom(schema: str, implementation: Callable[..., Any]) -> None:
    """Defines ``torch.ops.kinds``, an operator without gradients."""
    name = _library.define(schema)
    _library.impl(name, implementation, "CompositeExplicitAutograd")


custom("rows(Tensor(a) x, int count) -> Tensor(a)", lambda x, count: x.reshape(count, -1))
custom("head(Tensor(a) x, int count) -> Tensor(a)", lambda x, count: x[:count])
custom("mirror(Tensor x) -> Tensor", lambda x: x.flip(-1))
custom("ramp(Tensor x, float top) -> Tensor", lambda x, top: x.clamp(0, top))
custom("rectify(Tensor x) -> Tensor", lambda x: x.clamp_min(0))
custom("inverse(Tensor x) -> Tensor", lambda x: 1 / x)
custom("root(Tensor x) -> Tensor", lambda x: x.sqrt())
custom("plus(Tensor x, Tensor y) -> Tensor", lambda x, y: x + y)
custom("side_by_side(Tensor[] parts, int dim) -> Tensor", lambda parts, dim: torch.cat(parts, dim))
custom("dense(Tensor x, Tensor weight, Tensor bias) -> Tensor", lambda x, w, b: nn.functional.linear(x, w, b))
custom("check(Tensor x) -> ()", lambda x: None)


@op("kinds.rows.default", quant=Q.SHARED, target=TARGET, traits=Traits(moves=Moves.IN_ORDER))
def rows(b: OpBuilder, x: Value, count: int) -> Value:
    return b.RESHAPE(x, [count, x.size // count])


def _into_head(b: Any, x: Any, value: Any, count: int) -> Any:
    return b.aten.slice_scatter(x, value, 0, 0, count)


@op("kinds.head.default", quant=Q.SHARED, target=TARGET, traits=Traits(moves=Moves.CHOSEN, assign=_into_head))
def head(b: OpBuilder, x: Value, count: int) -> Value:
    return b.slice_axis(x, 0, 0, count)


@op("kinds.mirror.default", quant=Q.SHARED, target=TARGET, traits=Traits(moves=Moves.CHOSEN))
def mirror(b: OpBuilder, x: Value) -> Value:
    return b.REVERSE(x, x.rank - 1)


@op("kinds.ramp.default", quant=Q.BOUNDS, target=TARGET, traits=Traits(bounds=lambda top: (0.0, top)))
def ramp(b: OpBuilder, x: Value, top: float) -> Value:
    return b.clamp(x, 0.0, top)


@op("kinds.rectify.default", quant=Q.BOUNDS, target=TARGET, traits=Traits(bounds=lambda: (0.0, None), homogeneous=True))
def rectify(b: OpBuilder, x: Value) -> Value:
    return b.clamp(x, 0.0, float("inf"))


@op("kinds.inverse.default", quant=Q.TABLE, target=TARGET, traits=Traits(pole=True))
def inverse(b: OpBuilder, x: Value) -> Value:
    return b.unary("RECIPROCAL", b.real(x))


@op("kinds.root.default", quant=Q.TABLE, target=TARGET, traits=Traits(steep=True))
def root(b: OpBuilder, x: Value) -> Value:
    return b.binary("POW", b.real(x), 0.5)


@op("kinds.plus.default", quant=Q.ARITHMETIC, target=TARGET, traits=Traits(arithmetic="add"))
def plus(b: OpBuilder, x: Value, y: Value) -> Value:
    return b.ADD(x, y)


@op("kinds.side_by_side.default", quant=Q.SHARED, target=TARGET, traits=Traits(moves=Moves.CHOSEN))
def side_by_side(b: OpBuilder, parts: Sequence[Value], dim: int) -> Value:
    return b.CONCAT(parts, dim % parts[0].rank)


_DENSE = Traits(channels=Channels(weight=1, bias=2, last=True, read=-1))


@op("kinds.dense.default", quant=Q.CONV, target=TARGET, traits=_DENSE)
def dense(b: OpBuilder, x: Value, weight: Value, bias: Value) -> Value:
    image, kernel = b.RESHAPE(x, [1, 1, *x.shape]), b.RESHAPE(weight, [weight.shape[0], 1, 1, weight.shape[1]])
    y = b.conv("CONV2D", image, kernel, bias, stride=(1, 1), pad=(0, 0, 0, 0), dilation=(1, 1))
    return b.RESHAPE(y, [x.shape[0], weight.shape[0]])


@op("kinds.check.default", target=TARGET, traits=Traits(asserts=True))
def check(b: OpBuilder, x: Value) -> tuple[()]:
    return ()


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[RuleSet]:
    """Makes this module one that an entry point of ``arm_tosa.rules`` names; the rules of its target."""
    modules = (*entry_points.rule_modules(), sys.modules[__name__])
    monkeypatch.setattr(entry_points, "rule_modules", lambda: modules)
    yield RuleSet.of(TARGET)


class Apply(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: torch.Tensor) -> Any:
        return self.function(*args)


def exported(module: Any, *args: torch.Tensor) -> GraphModule:
    made = module if isinstance(module, nn.Module) else Apply(module)
    graph_module = torch.export.export(made.eval(), args).module()
    assert isinstance(graph_module, GraphModule)
    return graph_module


def node_of(module: GraphModule, target: Any) -> Node:
    (node,) = module.graph.find_nodes(op="call_function", target=target)
    return node


def quantizer() -> TOSAQuantizer:
    return TOSAQuantizer(TosaCompileSpec("TOSA-1.0+INT")).set_global(get_symmetric_quantization_config())


def annotated(function: Any, *args: torch.Tensor) -> GraphModule:
    by, module = quantizer(), exported(function, *args)
    return by.annotate(by.transform_for_annotation(module))


X = torch.linspace(-2, 3, 24).reshape(4, 6)


@pytest.mark.parametrize("target", [kinds.rows.default, kinds.head.default, kinds.mirror.default])
def test_what_moves_data_shares_its_scale(target: Any) -> None:
    args = () if target is kinds.mirror.default else (2,)
    module = annotated(lambda x: target(torch.sigmoid(x), *args) + 1.0, X)
    assert isinstance(node_of(module, target).meta[KEY].output_qspec, SharedQuantizationSpec)


@pytest.mark.parametrize("target", [kinds.rows.default, kinds.head.default, kinds.mirror.default])
def test_what_moves_data_keeps_signs(target: Any, installed: RuleSet) -> None:
    args = () if target is kinds.mirror.default else (2,)
    module = exported(lambda x: target(torch.relu(x), *args) + 1.0, X)
    find_signs(module.graph, installed)
    low_high = bounds_of(node_of(module, target), installed)
    assert low_high is not None and low_high[0] == 0.0


def test_assignments_through_a_view_that_keeps_the_order(installed: RuleSet) -> None:
    assigned_through(lambda y: kinds.rows(y, 8), installed)


def test_assignments_through_a_view_that_says_how(installed: RuleSet) -> None:
    assigned_through(lambda y: kinds.head(y, 2), installed)


def assigned_through(view: Callable[[torch.Tensor], torch.Tensor], rules: RuleSet) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        view(y).mul_(3.0)
        return y + 1.0

    module = exported(function, X)
    wanted = module(X)
    assert not torch.equal(wanted, X + 1.0)
    without_assignments(module, rules)
    module.recompile()
    assert not [n for n in module.graph.nodes if str(n.target).endswith("mul_.Tensor")]
    torch.testing.assert_close(module(X), wanted)


def test_a_view_that_says_nothing_is_refused_by_name(installed: RuleSet) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        kinds.head(y, 2).mul_(3.0)
        return y + 1.0

    silent = RuleSet(list(RuleSet.of(None)))
    with pytest.raises(UsageError, match=r"kinds\.head.* is assigned to in place"):
        without_assignments(exported(function, X), silent)


def test_a_clamp_bounds_what_it_reads_and_gives(installed: RuleSet) -> None:
    module = exported(lambda x: kinds.ramp(x * 2.0, 1.5) + 1.0, X)
    assert bounds_of(node_of(module, kinds.ramp.default), installed) == (0.0, 1.5)
    assert bounds_of(node_of(module, torch.ops.aten.mul.Tensor), installed) == (0.0, 1.5)


def test_a_pole_gives_what_it_reads_a_range() -> None:
    def steps(function: Callable[[torch.Tensor], torch.Tensor]) -> float:
        module = annotated(lambda x: function(x * 1e-9 + 0.0) + 1.0, X)
        spec = node_of(module, kinds.inverse.default if function is kinds.inverse else torch.ops.aten.sin.default)
        (read,) = spec.meta[KEY].input_qspec_map.values()
        return float(read.observer_or_fake_quant_ctr.p.keywords.get("eps", 0.0))

    assert steps(kinds.inverse) > steps(torch.sin)


def test_sums_of_sums_are_wide() -> None:
    def stream(add: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        return lambda x, y, z: add(add(x, y), z) * x

    def wide(module: GraphModule, target: Any) -> list[torch.dtype]:
        nodes = module.graph.find_nodes(op="call_function", target=target)
        return [n.meta[KEY].output_qspec.dtype for n in nodes if n.meta[KEY].output_qspec is not None]

    ours = wide(annotated(stream(kinds.plus), X, X + 1.0, X.sin()), kinds.plus.default)
    assert torch.int16 in ours
    assert ours == wide(annotated(stream(torch.add), X, X + 1.0, X.sin()), torch.ops.aten.add.Tensor)


def test_squares_below_a_steep_function_are_wide() -> None:
    by = TOSAQuantizer(TosaCompileSpec("TOSA-1.0+INT+int16")).set_global(get_symmetric_quantization_config())
    module = exported(lambda x, y: kinds.root(kinds.plus(x * x, y * y)), X, X + 1.0)
    module = by.annotate(by.transform_for_annotation(module))
    (read,) = node_of(module, kinds.root.default).meta[KEY].input_qspec_map.values()
    nodes = [n for n in module.graph.nodes if n.target in (torch.ops.aten.mul.Tensor, kinds.plus.default)]
    assert {n.meta[KEY].output_qspec.dtype for n in nodes} | {read.dtype} == {torch.int16}
    assert node_of(module, kinds.root.default).meta[KEY].output_qspec.dtype == torch.int8


class Tilted(nn.Module):
    """Two dense layers, the channels between them far apart in reach."""

    def __init__(self, layer: Callable[..., torch.Tensor], between: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.between = layer, between
        factors = torch.logspace(-2, 2, 16)
        self.first, self.second = (nn.Parameter(torch.randn(16, 16)) for _ in range(2))
        self.bias, self.last = nn.Parameter(torch.zeros(16)), nn.Parameter(torch.zeros(16))
        self.first.data *= factors[:, None]
        self.second.data /= factors

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(self.between(self.layer(x, self.first, self.bias)), self.second, self.last)


@pytest.mark.parametrize("layer", [kinds.dense, nn.functional.linear])
@pytest.mark.parametrize("between", [kinds.rectify, torch.relu])
def test_factors_move_between_layers_through_what_is_homogeneous(layer: Any, between: Any, installed: RuleSet) -> None:
    x = torch.randn(64, 16)
    module = exported(Tilted(layer, between), x)
    wanted = module(x)
    assert len(equalize(module, [((x,), {})] * 2, installed)) == 1
    torch.testing.assert_close(module(x), wanted, rtol=1e-4, atol=1e-4)


def test_factors_do_not_move_through_what_does_not_say_so(installed: RuleSet) -> None:
    x = torch.randn(64, 16)
    module = exported(Tilted(kinds.dense, lambda y: kinds.ramp(y, 6.0)), x)
    assert equalize(module, [((x,), {})] * 2, installed) == {}


def test_narrow_operands_of_what_joins_keep_a_scale(installed: RuleSet) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        small = x * 0.01
        return kinds.side_by_side([small, x * 10.0], 1).sum() + small.sin().sum()

    assert len(keep_narrow(exported(function, X), [((X,), {})], installed)) == 1


def test_assertions_are_dropped() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        kinds.check(x)
        return x + 1.0

    module = exported(function, X)
    module.graph.call_function(kinds.check.default, tuple(module.graph.find_nodes(op="placeholder")))
    assert (
        not quantizer()
        .transform_for_annotation(module)
        .graph.find_nodes(op="call_function", target=kinds.check.default)
    )


def all_kinds(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    y = kinds.rectify(kinds.dense(x, weight, bias))
    y = kinds.plus(y, kinds.mirror(kinds.ramp(x, 1.0)))
    y = kinds.inverse(y + 1.0)
    return kinds.side_by_side([kinds.rows(y, 4), kinds.head(kinds.rows(y * 0.5, 8), 4)], -1)


class AllKinds(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(6, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return all_kinds(x, self.layer.weight, self.layer.bias)


def test_a_model_of_them_is_quantized_delegated_and_exact() -> None:
    prepared = prepare_pt2e(torch.export.export(AllKinds().eval(), (X,)).module(), quantizer())
    prepared(X)
    program = torch.export.export(convert_pt2e(prepared), (X,))
    execution = Execution(program, TosaCompileSpec("TOSA-1.0+INT").target(), check=True)
    ours = {n for n in execution.program.graph.nodes if str(n.target).startswith("kinds.")}
    assert len(ours) == 10
    assert ours <= execution.analysis.accepted.keys()
    ((got, wanted),) = execution.edges([X])
    assert not got.dtype.is_floating_point
    assert int((got.int() - wanted.int()).abs().max()) <= 1
