"""Runs composite rules over ATen: each becomes its parts, so that observers sit on every intermediate."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.fx import Graph, GraphModule, Node

from ...compat.executorch import aten_overload, has_out_variant
from ...compat.torch import (
    OpOverload,
    decomposition_of,
    detect_fake_mode,
    has_free_unbacked_symbols,
    is_mutable,
    keeping_sizes,
    make_fx,
    schema_of,
)
from ...compat.torch_sizes import most, symbolic_sizes
from ...lowering.exported_program import is_constant, mutable, source_line
from ...lowering.node_facts import facts, note
from ...lowering.op_builder import CompositeBuilder
from ...lowering.operator_names import AtenCalls, canonical, is_reproducible, map_arguments
from ...lowering.rule import Q, Rule
from ...lowering.rule_set import RuleSet
from ...lowering.traits import Moves
from ...plugin.target import Preferences
from ...support.errors import LoweringError, Rejected, UsageError, require
from ..schemes.config import QuantizationConfig
from .choices import choice_of, choose_number
from .matrix_layers import linear_layer
from .size_nodes import SizeNodes

#: Parts of parts of parts: more than this deep, an operator is a part of itself.
_DEEPEST = 100


class AtenBuilder:
    """The builder under which a composite rule emits ATen nodes; its values are FX nodes with a shape."""

    def __init__(
        self,
        module: GraphModule,
        rules: RuleSet,
        origin: Node,
        known: dict[Any, Node] | None = None,
        sizes: SizeNodes | None = None,
        preferences: Preferences | None = None,
    ) -> None:
        self._module = module
        self._rules = rules
        self._origin = origin
        self._known = {} if known is None else known
        self._sizes = SizeNodes(module) if sizes is None else sizes
        self.preferences = preferences or Preferences()
        self.emitted: list[Node] = []

    require = staticmethod(require)

    def const(self, data: torch.Tensor) -> AtenValue:
        """A constant, kept as a buffer of the module; one for all that look at the same memory in the same way."""
        view = (data.data_ptr(), data.dtype, data.shape, data.stride())
        if view not in self._known:
            index = len(self._known)
            while hasattr(self._module, f"_arm_constant_{index}"):
                index += 1
            self._module.register_buffer(f"_arm_constant_{index}", data.detach())
            node = self._known[view] = self._graph.get_attr(f"_arm_constant_{index}")
            node.meta["val"] = self._fake(data)
        return AtenValue(self._known[view])

    def within(self, value: AtenValue, low: float, high: float) -> AtenValue:
        note(value.node, bounds=(low, most(high)))
        return value

    def range_of_interest(self, value: AtenValue, low: float, high: float) -> AtenValue:
        """The value, clamped: numbers beyond would only make its scale coarser."""
        return self.aten.clamp(value, low, high)

    def is_quantized(self, value: AtenValue) -> bool:
        return True

    def channel_weights(self, factors: AtenValue) -> AtenValue:
        return self.aten.reshape(factors, [factors.shape[0], 1, 1, 1])

    def split_channels(self, value: AtenValue, groups: int) -> tuple[AtenValue, list[int]]:
        """[N, groups, -1], and its last axis."""
        return self.aten.reshape(value, [value.shape[0], groups, -1]), [-1]

    def known(self, value: AtenValue) -> torch.Tensor | None:
        constant = is_constant(value.node) and not self._is_trained(value.node)
        return self._data(value.node).detach() if constant else None

    def is_neutral(self, value: AtenValue, number: float) -> bool:
        """Whether a value is a constant of nothing but this number, which no training will change."""
        if (filled := self._filled_with(value.node)) is not None:
            return filled == number
        if not is_constant(value.node) or self._trains:
            return False
        return bool((self._data(value.node) == number).all())

    def as_where(self, value: AtenValue) -> tuple[AtenValue, AtenValue, float] | None:
        node = value.node
        while self._rules.traits_of(node).moves is Moves.AS_IS and isinstance(node.args[0], Node):
            node = node.args[0]
        if (choice := choice_of(node, self._rules)) is None:
            return None
        condition = AtenValue(choice.condition)
        if choice.inverted:
            condition = self.aten.logical_not(condition)
        return condition, AtenValue(choice.tensor), choice.number

    def _filled_with(self, node: Node) -> float | None:
        """The one number that an operator fills a tensor with, if that is what it does; one that reads none is run."""
        if node.op != "call_function" or node.all_input_nodes or not is_reproducible(node.target):
            return self._rules.traits_of(node).fills
        tensor: Any = aten_overload(node.target)(*node.args, **node.kwargs)
        alike = isinstance(tensor, torch.Tensor) and tensor.numel() > 0 and bool((tensor == tensor.flatten()[0]).all())
        return float(tensor.flatten()[0]) if alike else None

    @property
    def aten(self) -> AtenCalls[AtenValue]:
        return AtenCalls(self.call, _fake)

    @property
    def _graph(self) -> Graph:
        return self._module.graph

    def _is_trained(self, node: Node) -> bool:
        return self._trains and isinstance(self._data(node), torch.nn.Parameter)

    @property
    def _trains(self) -> bool:
        scheme = facts(self._origin).scheme
        return isinstance(scheme, QuantizationConfig) and scheme.is_qat

    def _data(self, value: Any) -> Any:
        return operator.attrgetter(str(value.target))(self._module) if isinstance(value, Node) else value

    def _fake(self, data: torch.Tensor) -> torch.Tensor:
        return self._mode.from_tensor(data, static_shapes=True) if self._mode is not None else data.to("meta")

    @property
    def _mode(self) -> Any:
        return detect_fake_mode([n.meta.get("val") for n in (self._origin, *self._origin.all_input_nodes)])

    def knows(self, target: Any) -> bool:
        """Whether an operator has a rule, or may have parts that do."""
        composite = isinstance(target, OpOverload) and decomposition_of(target) is not None
        return composite or self._rules.find(canonical(target)) is not None

    def call(self, target: Any, args: Any, kwargs: Any) -> Any:
        """Emits one ATen node and computes its shape."""

        def node(v: Any) -> Any:
            return v.node if isinstance(v, AtenValue) else self._sizes.of(v)

        args, kwargs = map_arguments(args, node), map_arguments(kwargs, node)
        inputs = [v for v in args if isinstance(v, Node)]
        read: list[Node] = []
        torch.fx.map_arg((args, kwargs), read.append)
        if inputs and all(is_constant(n) and not self._is_trained(n) for n in read):  # of constants
            with torch.no_grad():
                result = target(*map_arguments(args, self._data), **map_arguments(kwargs, self._data))
            return self.const(result) if isinstance(result, torch.Tensor) else tuple(map(self.const, result))
        new = self._graph.call_function(target, args, kwargs)
        fakes = torch.fx.map_arg((args, kwargs), lambda n: n.meta["val"])
        with torch.no_grad(), self._mode or contextlib.nullcontext():
            new.meta["val"] = target(*fakes[0], **fakes[1])
        for key in ("stack_trace", "nn_module_stack", "torch_fn", "source_fn_stack"):
            if key in self._origin.meta:
                new.meta[key] = self._origin.meta[key]
        note(new, scheme=facts(self._origin).scheme, whole=facts(self._origin).whole)
        self.emitted.append(new)
        if not isinstance(new.meta["val"], (tuple, list)):
            return AtenValue(new)
        return tuple(self.call(operator.getitem, (new, i), {}) for i in range(len(new.meta["val"])))

    def inline(self, traced: GraphModule, operands: list[Node]) -> Any:
        """Emits the operators of a traced graph; returns what it returns."""
        copies: dict[Node, Any] = {}
        values = iter(operands)
        for node in traced.graph.nodes:
            args, kwargs = torch.fx.map_arg((node.args, node.kwargs), copies.__getitem__)
            if node.op == "placeholder":
                copies[node] = AtenValue(next(values))
            elif node.op == "get_attr":
                copies[node] = self.const(getattr(traced, node.target))
            elif node.op == "output":
                return args[0]
            else:
                copies[node] = (
                    args[0][args[1]] if node.target is operator.getitem else self.call(node.target, args, kwargs)
                )
        raise AssertionError("a graph without an output")


class AtenValue:
    """An FX node, as a rule sees it."""

    def __init__(self, node: Node) -> None:
        self.node = node

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.node.meta["val"].shape)

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return self.node.meta["val"].numel()  # type: ignore[no-any-return]

    @property
    def dtype(self) -> torch.dtype:
        return self.node.meta["val"].dtype  # type: ignore[no-any-return]


def _fake(value: Any) -> Any:
    return value.node.meta["val"] if isinstance(value, AtenValue) else value


if TYPE_CHECKING:

    def _implements(builder: AtenBuilder) -> CompositeBuilder[AtenValue]:
        return builder


def decompose(
    module: GraphModule, rules: RuleSet, wanted: Callable[[Node], bool], preferences: Preferences | None = None
) -> GraphModule:
    """Replaces each composite by its parts, until none is left.

    A composite is what has a rule of that kind, and what has no rule but a decomposition in PyTorch (``einsum``,
    ``glu``, ``logsumexp``, ...).

    Args:
        wanted: which nodes may be touched; parts inherit the answer of the node they come from.

    Raises:
        UsageError: there are no rules.
        LoweringError: an operator is a part of itself.
    """
    if not any(True for _ in rules):
        raise UsageError("cannot quantize without rules: give those of a target, RuleSet.of(NAME)")
    wholes: dict[Node, tuple[str, ...]] = {}  # what a part comes from, the outermost operator first
    known: dict[Any, Node] = {}  # parts are emitted in their order, so that what one keeps lies before the next
    sizes = SizeNodes(module)
    sized = _made_of_sizes(module)  # stays an operator, whose numbers are computed once
    work = [n for n in module.graph.nodes if n.op == "call_function" and wanted(n) and not _overwrites(n)]
    if facts(module).loop_body:  # the numbers of buffers that PT2E adds there are lost by ``torch.export``
        work = [n for n in work if n.all_input_nodes]
    work = [n for n in work if n not in sized]
    while work:
        node = work.pop(0)
        if not isinstance(aten_overload(node.target), OpOverload) or not _is_float(node):
            continue
        rule = rules.of_node(node)
        if rule is not None and rule.traits.domain is not None:
            _keep_within(module, rules, node, rule.traits.domain)
        if rule is not None and rule.traits.chooses is not None:
            scheme = facts(node).scheme
            choose_number(node, rules, isinstance(scheme, QuantizationConfig) and scheme.is_qat)
        if rule is not None and rule.traits.promotes:
            _as_reals(module, rules, node, factor=rule.traits.arithmetic == "mul")
        function = linear_layer(node) or (_traced(node) if rule is None else _decomposition(rule, node))
        if function is None:
            continue
        builder = AtenBuilder(module, rules, node, known, sizes, preferences)
        chain = (*wholes.pop(node, ()), canonical(node.target))
        if len(chain) > _DEEPEST:
            raise LoweringError(_endless(node, chain))
        args, kwargs = torch.fx.map_arg((node.args, node.kwargs), sizes.known_or(AtenValue))
        with module.graph.inserting_before(node):
            try:
                result = function(builder, *args, **kwargs)
            except Rejected:
                continue
        if isinstance(result, AtenValue) and is_constant(result.node) and any(map(mutable, node.users)):
            continue  # a constant is never written to
        if isinstance(result, (tuple, list)):
            for user in list(node.users):
                user.replace_all_uses_with(result[user.args[1]].node)
                module.graph.erase_node(user)
        else:
            node.replace_all_uses_with(result.node)
        module.graph.erase_node(node)
        wholes.update(dict.fromkeys(builder.emitted, chain))
        work = builder.emitted + work
    module.graph.eliminate_dead_code()
    module.recompile()
    return module


def _made_of_sizes(module: GraphModule) -> set[Node]:
    """What is computed of no tensor, and with sizes that vary: such numbers are no constant of the module."""
    sized: set[Node] = set()
    for node in module.graph.nodes:
        read = [n for n in node.all_input_nodes if isinstance(n.meta.get("val"), torch.Tensor)]
        varies = bool(symbolic_sizes(node)) or len(read) < len(node.all_input_nodes)
        if node.op == "call_function" and varies and sized.issuperset(read):
            sized.add(node)
    return sized


def _endless(node: Node, chain: tuple[str, ...]) -> str:
    name, where = chain[-1], source_line(node)
    period = chain[::-1].index(name, 1) if name in chain[:-1] else len(chain) - 1
    causes = [f"{node.name} is decomposed without end: {' -> '.join(chain[-period - 1 :])}"]
    return "\n".join([*causes, *([f"    at {where}"] if where else []), "give one of them a rule that is no composite"])


def _as_reals(module: GraphModule, rules: RuleSet, node: Node, factor: bool) -> None:
    """Turns int32 into reals where PyTorch does, so that their range is observed; a factor only changes their scale."""
    operands = [n for n in node.args if isinstance(n, Node) and isinstance(n.meta["val"], torch.Tensor)]
    for operand in dict.fromkeys(operands):
        scaled = len(operands) == 1 and factor
        if operand.meta["val"].dtype == torch.int32 and not scaled:
            with module.graph.inserting_before(node):
                real = AtenBuilder(module, rules, node).aten.to(AtenValue(operand), torch.float32)
            node.replace_input_with(operand, real.node)


def _overwrites(node: Node) -> bool:
    """Whether an operator in place writes to a buffer, which its parts would not.

    To an input none does once it is quantized: what it reads, and writes to, is a copy.
    """
    written = node.args[0] if mutable(node) else None
    return isinstance(written, Node) and written.op == "get_attr"


def _decomposition(rule: Rule, node: Node) -> Callable[..., Any] | None:
    """The function that says the parts of a composite, if it is one; jumps, which are tables, with two operands are."""
    composite = rule.quant in (Q.PIECEWISE, Q.NORM) or (rule.quant is Q.STEPS and len(node.all_input_nodes) > 1)
    if composite or rule.quant is not Q.STEPS:
        return rule.decomposition or (rule.function if composite else None)
    return None


def _keep_within(module: GraphModule, rules: RuleSet, node: Node, domain: tuple[float, float]) -> None:
    """Clamps what a function is computed of to where it is defined: rounding to a scale may move numbers beyond."""
    value: Any = node.args[0]
    if value.op == "call_function" and value.target is torch.ops.aten.clamp.default and value.args[1:] == domain:
        return
    with module.graph.inserting_before(node):
        clamped = AtenBuilder(module, rules, node).call(torch.ops.aten.clamp.default, (AtenValue(value), *domain), {})
    node.replace_input_with(value, clamped.node)


def _traced(node: Node) -> Callable[..., Any] | None:
    """PyTorch's own decomposition of a node, as a composite rule."""
    operator_: Any = node.target
    function = decomposition_of(operator_)
    if function is None or is_mutable(operator_):  # a buffer may be what it writes to
        return None
    if has_free_unbacked_symbols(node.meta["val"]):  # its parts would have other sizes, for all that is known
        return None

    def rule(builder: AtenBuilder, *args: Any, **kwargs: Any) -> Any:
        operands: list[AtenValue] = []
        map_arguments(
            (args, kwargs), lambda v: operands.append(v) if isinstance(v, AtenValue) and v not in operands else None
        )

        def run(*tensors: torch.Tensor) -> Any:
            def tensor(v: Any) -> Any:
                return tensors[operands.index(v)] if isinstance(v, AtenValue) else v

            return function(*map_arguments(args, tensor), **map_arguments(kwargs, tensor))

        fakes = [v.node.meta["val"] for v in operands]
        # With mkldnn, some end in kernels of a library.
        with torch.no_grad(), torch.backends.mkldnn.flags(enabled=False), keeping_sizes(fakes):
            try:
                traced = make_fx(run)(*fakes)
                if any(is_mutable(n.target) for n in traced.graph.nodes):  # only what it has made itself
                    traced = make_fx(torch.func.functionalize(traced, remove="mutations"))(*fakes)
            except Exception as error:  # PyTorch's, whose decompositions do not take all that their operators take
                raise Rejected(f"PyTorch does not decompose it: {error}") from error
        strange = [n.target for n in traced.graph.nodes if n.op == "call_function" and not _is_functional(n.target)]
        if strange:
            raise Rejected(f"PyTorch decomposes it into {strange[0]}, which is no ATen operator without side effects")
        for part in traced.graph.nodes:
            lost = str(part.target).startswith("prims.") and not builder.knows(part.target)
            require(
                not lost or has_out_variant(part.target), f"PyTorch decomposes it into {part.target}, which nobody runs"
            )
        if not any(builder.knows(n.target) for n in traced.graph.nodes if n.op == "call_function"):
            raise Rejected("PyTorch decomposes it into operators that have no rule either")
        return builder.inline(traced, [v.node for v in operands])

    return rule


def _is_functional(target: Any) -> bool:
    computed = getattr(target, "__module__", "") == operator.getitem.__module__  # of sizes
    return computed or (schema_of(target) is not None and not is_mutable(target))


def _is_float(node: Node) -> bool:
    meta = node.meta.get("val")
    first = meta[0] if isinstance(meta, (list, tuple)) else meta
    return isinstance(first, torch.Tensor) and first.dtype.is_floating_point
