"""The rules of a target: its own first, none twice, and the same overload under every builder."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch

import arm_tosa_core.rules
from arm_tosa_core.compat.torch import overload_named
from arm_tosa_core.lowering.builder import Builder
from arm_tosa_core.lowering.operator_names import canonical, is_reproducible
from arm_tosa_core.lowering.rule import Q, Rule, op
from arm_tosa_core.lowering.rule_set import RuleSet
from arm_tosa_core.lowering.traits import UNKNOWN, Traits
from arm_tosa_core.quantize.annotate.composites import AtenBuilder, AtenValue
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.specification import TosaSpecification

SPEC = TosaSpecification.create_from_string("TOSA-1.0+FP")


def general(b: Any, x: Any) -> Any:
    return x


def own(b: Any, x: Any) -> Any:
    return x


def test_a_targets_own_rule_comes_first() -> None:
    rules = [Rule(("a.b.c",), general, Q.TABLE), Rule(("a.b.c", "a.b.d"), own, Q.SHARED, target="acme")]
    acme, other = RuleSet(rules, "acme"), RuleSet(rules, "vgf")
    assert acme.find("a.b.c") is acme.find("a.b.d") is rules[1]
    assert other.find("a.b.c") is rules[0] and other.find("a.b.d") is None
    assert list(acme) == [rules[1]] and list(other) == [rules[0]]


@pytest.mark.parametrize(
    ("target", "name", "reason"),
    [
        ("vgf", "a.b.c", "there is no rule for a.b.c on vgf, only for the target acme and other"),
        ("vgf", "a.b.d", "there is no rule for a.b.d, only for a.b.e"),
        ("vgf", "a.f.default", "there is no rule for a.f.default, only for a.f"),
        ("vgf", "a.g.default", "there is no rule for a.g.default"),
        (None, "a.b.c", "there is no rule for a.b.c, only for the target acme and other"),
    ],
)
def test_a_missing_rule_is_told_with_the_rules_that_there_are(target: str | None, name: str, reason: str) -> None:
    rules = [
        Rule(("a.b.c",), own, Q.TABLE, target="other"),
        Rule(("a.b.c",), own, Q.TABLE, target="acme"),
        Rule(("a.b.e", "a.f"), general, Q.TABLE),
    ]
    missing = RuleSet(rules, target).missing(name)
    assert missing.reason == reason
    assert "arm_tosa.rules" in missing.fix


@pytest.mark.parametrize("target", [None, "acme"])
def test_two_rules_for_one_overload_are_an_error_that_names_both(target: str | None) -> None:
    rules = [Rule(("a.b.c",), function, Q.TABLE, target=target) for function in (general, own)]
    with pytest.raises(UsageError, match=r"a\.b\.c has two rules: .*general and .*own") as error:
        RuleSet(rules, target)
    assert __name__ in str(error.value)


def test_rules_are_collected_once_for_a_target() -> None:
    assert RuleSet.of("tosa") is RuleSet.of("tosa")
    found = RuleSet.of(None).find("aten.add.Tensor")
    assert found is not None and str(found) == "arm_tosa_core.rules.elementwise.add"


def test_what_has_no_rule_has_no_traits() -> None:
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    known, unknown = (graph.call_function(f, (x,)) for f in (torch.ops.aten.relu.default, torch.sin))
    rules = RuleSet.of(None)
    assert rules.traits_of(known) != UNKNOWN
    assert rules.traits_of(x) == rules.traits_of(unknown) == UNKNOWN == Traits()


def test_every_rule_is_for_an_operator_by_its_one_name() -> None:
    import_module("arm_tosa_core.quantize.schemes.mxfp")  # registers our own operators
    for rule in RuleSet.of(None):
        if not rule.function.__module__.startswith("arm_tosa_core."):
            continue
        for name in rule.targets:
            namespace, base, overload = name.split(".")
            if namespace == "quantized_decomposed":  # registered when ExecuTorch is imported
                continue
            library = namespace if namespace == "arm_tosa" else "aten"
            made = overload_named(f"{library}::{base}", "" if overload == "default" else overload)
            assert made is not None, f"{rule}: there is no {name}"
            assert canonical(made).partition(".")[2] == name.partition(".")[2], rule


COPIES = (
    "alias",
    "as_strided",
    "detach",
    "diagonal",
    "expand",
    "narrow",
    "permute",
    "_reshape_alias",
    "select",
    "slice",
)
COPIES += ("split", "split_with_sizes", "squeeze", "t", "transpose", "unbind", "unfold", "unsqueeze", "view")
COPIES += ("view_as_complex", "view_as_real")


def test_operators_of_every_dialect_have_one_name() -> None:
    for base in COPIES:
        packet = getattr(torch.ops.aten, f"{base}_copy")
        for overload in packet.overloads():
            if not overload.endswith("out"):
                assert canonical(getattr(packet, overload)) == f"aten.{base}.{overload}"
    assert canonical(torch.ops.aten._to_copy.default) == "aten._to_copy.default"
    assert canonical(torch.ops.aten.index_copy.default) == "aten.index_copy.default"
    assert canonical(torch.ops.aten.add_.Tensor) == "aten.add.Tensor"
    assert canonical(torch.ops.aten.__and__.Tensor) == "aten.__and__.Tensor"


def test_random_numbers_and_unwritten_memory_are_not_reproducible() -> None:
    aten = torch.ops.aten
    for target in (aten.rand.default, aten.randn_like.default, aten.bernoulli.p, aten.empty.memory_format):
        assert not is_reproducible(target)
    assert is_reproducible(aten.zeros.default) and is_reproducible(aten.arange.start_step)


X, Y = torch.rand(2, 3, 4, 4), torch.rand(2, 3, 4, 4)
M = torch.rand(3, 3)
SAMPLES: dict[str, list[tuple[Any, ...]]] = {
    **{
        key: [(X,)]
        for key in ("abs", "atan", "ceil", "exp", "floor", "log", "neg", "reciprocal", "relu", "round", "rsqrt")
    },
    **{key: [(X,)] for key in ("sigmoid", "sqrt", "tanh", "trunc")},
    **{
        key: [(X, Y)] for key in ("add", "mul", "sub", "rsub", "gt", "lt", "ge", "le", "ne", "eq", "minimum", "maximum")
    },
    **{key: [(X, 1.0)] for key in ("add_", "clamp_min")},
    "_safe_softmax": [(X, -1)],
    "amax": [(X, [1], True)],
    "amin": [(X, [1], True)],
    "atan2": [(X, Y)],
    "bmm": [(X[0], X[1])],
    "cat": [([X, Y], 1)],
    "clamp": [(X, 0.0, 1.0), (X, 0.0), (X, None, 1.0)],
    "constant_pad_nd": [(X, [1, 1], 0.0)],
    "contiguous": [(X,)],
    "conv2d": [(X, torch.rand(3, 1, 1, 1), None, [1, 1], [0, 0], [1, 1], 3), (X, torch.rand(2, 3, 1, 1), M[0, :2])],
    "expand": [(X, [2, 3, 4, 4])],
    "linear": [(M, M), (M, M, M[0])],
    "matmul": [(M, M)],
    "mean": [(X, [1, 2], True), (X,)],
    "mm": [(M, M)],
    "permute": [(X, [0, 2, 3, 1])],
    "pow": [(X, 2), (X, Y), (2.0, X)],
    "reshape": [(X, [2, -1])],
    "select": [(X, 1, 0)],
    "select_scatter": [(X, X[:, 0], 1, 0)],
    "slice": [(X, 1, 0, 2), (X, 1, 0, 4, 2)],
    "slice_scatter": [(X, X[:, :1], 1, 0, 1)],
    "softmax": [(X, -1)],
    "squeeze": [(X, 1), (X, [1, 2]), (X,)],
    "sum": [(X, [1], True), (X,)],
    "t": [(M,)],
    "to": [(X, torch.int32)],
    "transpose": [(X, 0, 1)],
    "unsqueeze": [(X, 0)],
    "view": [(X, [2, -1])],
    "where": [(X > 0, X, 0.0), (X > 0, 0.0, X), (X > 0, X, Y)],
}


def called_by_rules() -> set[str]:
    """The names that rules call as ``b.aten.name``."""
    found = set()
    for path in Path(arm_tosa_core.rules.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr == "aten":
                found.add(node.attr)
    return found - {"ones", "tril"}  # of sizes that vary, which the quantizer's builder alone sees


@pytest.mark.parametrize("name", sorted(called_by_rules()))
def test_both_builders_run_the_same_overload(name: str) -> None:
    assert name in SAMPLES, f"a rule calls b.aten.{name}: give SAMPLES arguments for it"
    for args in SAMPLES[name]:
        emitted: list[str] = []
        b = Builder(Graph(), SPEC, rules=Recording(emitted))
        getattr(b.aten, name)(*torch.utils._pytree.tree_map_only(torch.Tensor, b.const, args))
        graph = torch.fx.Graph()

        def value(data: torch.Tensor, graph: torch.fx.Graph = graph) -> AtenValue:
            node = graph.placeholder(f"x{len(graph.nodes)}")
            node.meta["val"] = data
            return AtenValue(node)

        values = torch.utils._pytree.tree_map_only(torch.Tensor, value, args)
        origin = graph.placeholder("origin")
        graph.output(origin)
        module = torch.fx.GraphModule({}, graph)
        observing = AtenBuilder(module, RuleSet.of(None), origin)
        called: list[str] = []
        observing.call = lambda target, *_, called=called: called.append(canonical(target))  # type: ignore[method-assign]
        getattr(observing.aten, name)(*values)
        assert emitted == called, args
        assert RuleSet.of(None).find(called[0]) is not None, f"{called[0]} has no rule"


class Recording(RuleSet):
    """Notes which rules are asked for; each does nothing."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(())
        self.names = names

    def find(self, name: str) -> Rule | None:
        self.names.append(name)
        return Rule((name,), lambda b, *args, **kwargs: None, Q.NONE)


def test_a_rule_may_say_which_overload_it_means() -> None:
    names: list[str] = []
    b = Builder(Graph(), SPEC, rules=Recording(names))
    b.aten.max.dim(b.const(X), 1)
    b.aten.max.other(b.const(X), b.const(Y))
    assert names == ["aten.max.dim", "aten.max.other"]


def test_a_rule_that_calls_what_has_no_rule_is_told_so() -> None:
    b = Builder(Graph(), SPEC)
    with pytest.raises(UsageError, match=r"calls aten\.sub\.Tensor, which has no rule"):
        b.aten.sub(b.const(X), b.const(Y))


@pytest.mark.parametrize("names", [(), (torch.ops.aten.add.Tensor,), ("tiny::scaled_add",)])
def test_a_rule_names_overloads(names: Any) -> None:
    with pytest.raises(UsageError, match=r'takes names of overloads such as "aten.add.Tensor"'):
        op(*names)


def test_a_rule_has_a_policy_of_q() -> None:
    policy: Any = "ARITHMETIC"
    with pytest.raises(UsageError, match=r"quant is one of Q, such as Q.ARITHMETIC, not 'ARITHMETIC'"):
        op("tiny.scaled_add.default", quant=policy)
