"""Places observers, from the quantization policies of the rules."""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, cast

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import QuantizationSpec, QuantizationSpecBase, SharedQuantizationSpec

from ...compat.torchao import ANNOTATION, annotation, has_one_scale, is_annotated
from ...lowering.exported_program import attribute, is_constant
from ...lowering.node_facts import facts, note
from ...lowering.rule import Q, Rule
from ...lowering.rule_set import RuleSet
from ...lowering.traits import Traits
from ...lowering.unary_functions import Function, find_functions
from ..probe.calls import Sample
from ..schemes.bias_spec import bias_spec
from ..schemes.config import SMALLEST_MEAN, SMALLEST_RANGE, QuantizationConfig
from ..schemes.fake_quantizers import MaskedFakeQuantize
from ..schemes.observers import MaskedHistogramObserver
from ..schemes.scaled_spec import ScaledSpec, scaled_spec
from .energies import unrounded_sums
from .far_numbers import far_numbers
from .node_roles import (
    ACCUMULATES,
    absorbed,
    computed_nodes,
    float_inputs,
    is_centered,
    is_float_result,
    is_sum,
    is_view,
    origin,
    scale_factor,
    training_norm,
)
from .norm_factors import is_norm_factor
from .scale_groups import Place, refer_to_first
from .softmax_operands import masked_by, told_apart
from .value_bounds import bounds_of, find_signs
from .wide_results import Wide, wide_results

KEY = ANNOTATION
#: Observers that are told what is known of a tensor.
_TOLD = (MaskedHistogramObserver, MaskedFakeQuantize)


def annotate(
    module: GraphModule,
    rules: RuleSet,
    config_of: Callable[[Node], QuantizationConfig | None],
    wide: Wide = "none",
    tables: bool = False,
    states: Mapping[Node, Node] = MappingProxyType({}),
    samples: Sequence[Sample] = (),
    narrow: Container[str] = (),
) -> None:
    """Annotates every node that a rule can compute on integers.

    Args:
        config_of: the scheme of a node; None leaves it in float.
        wide: which results that only additions, products and sums read are kept in the bits of
            ``QuantizationConfig.wide``: ``residuals``, the sums among them, and what is added to them, ``streams``,
            the sums of sums, ``all`` or ``none``.
        tables: whether the target has tables of 16 bits, which steep functions of energies need.
        states: inputs, annotated, and the results that they are in the next call: both have one scale.
        samples: calls of the model in float; they tell which energies gain by 16 bits.
        narrow: reasons that do not count, see ``wide_results``.
    """
    computed = computed_nodes(module)
    find_signs(module.graph, rules)
    for node in module.graph.nodes:
        note(node, wide="", state=None)
    carried = _mark_states(states, rules)
    reasons = wide_results(module, rules, config_of, wide, computed, tables, carried, samples, narrow)
    for node, why in reasons.items():
        note(node, wide=why)
    unrounded = unrounded_sums(module, rules, config_of, computed, samples) if tables and samples else set()
    far = far_numbers(module.graph, rules)
    for node, number in far.items():
        note(node, far=not number)
    _Annotator(module, rules, config_of, computed, unrounded, far).run()
    refer_to_first(module.graph, partial(_of_group, rules, far))


def _mark_states(states: Mapping[Node, Node], rules: RuleSet) -> set[Node]:
    """Marks what makes the next numbers of states; returns what has 16 bits of them, the inputs too."""
    wide: set[Node] = set()
    for state, result in states.items():
        maker, spec = origin(result, rules), state.meta[KEY].output_qspec
        rule = rules.of_node(maker)
        if maker is not state and rule is not None and rule.quant in ACCUMULATES | {Q.TABLE}:
            note(maker, state=state)
        if spec.dtype == torch.int16:
            wide |= {state, maker}
    return wide


class _Annotator:
    """Annotates the nodes of one module, in their order.

    Args:
        computed: the nodes that are no constants.
        unrounded: those whose results are not quantized, see ``unrounded_sums``.
        far: see ``far_numbers``.
    """

    def __init__(
        self,
        module: GraphModule,
        rules: RuleSet,
        config_of: Callable[[Node], QuantizationConfig | None],
        computed: set[Node],
        unrounded: set[Node],
        far: Mapping[Node, float],
    ) -> None:
        self.module, self.rules, self.config_of, self.computed = module, rules, config_of, computed
        self.unrounded, self.far = unrounded, far

    def run(self) -> None:
        """Annotates functions that will be one table, then every other node."""
        for function in find_functions(self.module.graph, self.rules):
            if function.source in self.computed:
                self._function(function)
        for node in self.module.graph.nodes:
            if node in self.computed and node.op != "placeholder" and not is_annotated(node):
                self._any(node)

    def _any(self, node: Node) -> None:
        whole: Any = node.args[0] if node.target is operator.getitem else None
        if whole is not None and is_annotated(whole) and is_float_result(node):
            _mark(node, {}, whole.meta[KEY].output_qspec)  # parts of a split share its scale
            return
        rule, config = self.rules.of_node(node), self.config_of(node)
        if node.target is torch.ops.higher_order.while_loop and config is not None and not config.is_dynamic:
            self._loop(node, config)
        if rule is None or config is None or not float_inputs(node) or rule.quant in (Q.NONE, Q.PIECEWISE):
            return
        if config.is_dynamic:
            self._dynamic(node, rule, config)
            return
        self._node(node, rule, config)
        if facts(self.module).loop_body and rule.quant is not Q.SHARED:
            specs = node.meta[KEY].input_qspec_map
            node.meta[KEY].input_qspec_map = {n: spec for n, spec in specs.items() if n in self.computed}

    def _wanted(self, node: Node) -> bool:
        return self.config_of(node) is not None

    def _function(self, function: Function) -> None:
        """What a function reads, and what it gives: it will be one table."""
        config, last = self.config_of(function.last), function.last
        if (
            config is None
            or config.is_dynamic
            or any(self.config_of(n) is not config or is_annotated(n) for n in function.parts)
        ):
            return
        spec = config.wide if facts(function.source).wide else config.input_activation
        for node in (*function.parts, last):
            out = self._given(last, config)
            _mark(node, {function.source: spec} if node in function.readers else {}, out if node is last else None)

    def _loop(self, node: Node, config: QuantizationConfig) -> None:
        """What goes into a loop, and what comes out; PT2E prepares the loop's body by itself, after this."""
        body = self.module.get_submodule(str(cast(Node, node.args[1]).target))
        assert isinstance(body, GraphModule)
        note(body, loop_body=True)
        _mark(node, dict.fromkeys(float_inputs(node), config.input_activation), None)
        for part in node.users:
            if is_float_result(part):
                _mark(part, {}, config.output_activation)

    def _node(self, node: Node, rule: Rule, config: QuantizationConfig) -> None:
        inputs = float_inputs(node)[:1] if rule.quant is Q.NORM else float_inputs(node)
        inputs = [n for n in inputs if n not in self.unrounded]
        if node in self.unrounded:
            read = {} if rule.quant is Q.BOUNDS else {n: self._as_read(n, node, rule, config) for n in inputs}
            _mark(node, dict(read), None)
            return
        if rule.quant is Q.BOUNDS and self._feeds_table(node):
            _mark(node, {n: self._as_known(config.input_activation, n) for n in inputs}, None)
            (user,) = node.users
            _mark(user, {}, self._as_known(config.output_activation, user))
            return
        if rule.quant is Q.SHARED and is_float_result(node) and not facts(node).rescales:
            # An input that nothing quantizes where it is made leads: what else reads it may lead to another input, and
            # references between readers would go round in a circle.
            _annotate_shared(node, sorted(inputs, key=_is_given), config)
            return
        if self._stays_exact(node, config) and absorbed(node, rule, self.rules) is None:
            _annotate_centered(node, config)
            return
        specs: dict[Node, QuantizationSpecBase | None] = {n: self._as_read(n, node, rule, config) for n in inputs}
        if rule.quant is Q.CONV:
            weight, bias = (node.args[i] if len(node.args) > i else None for i in (1, 2))
            if isinstance(bias, Node):
                specs.pop(bias, None)
            if isinstance(weight, Node) and weight not in self.computed:
                specs[weight] = along = _along(config.weight, node, rule.traits)
                known = along is not None and node.args[0] in specs and not config.is_qat
                if known and isinstance(bias, Node) and is_constant(bias):
                    specs[bias] = bias_spec(node, along, attribute(bias))
        last = node
        if rule.quant is Q.CONV and (norm := training_norm(node, self.rules)) is not None and self._wanted(norm):
            _mark(node, specs, None)  # PT2E folds it into the weights, which it then observes as they will be
            last = norm
        while (follower := absorbed(last, rule, self.rules)) is not None and self._wanted(follower):
            _mark(last, specs if last is node else {}, None)
            last = follower
        given = self._given(last, config) if is_float_result(last) else None
        if last is node and rule.quant is Q.PRODUCT:
            given = _scaled(node, specs, given, config)
        _mark(last, specs if last is node else {}, given)

    def _given(self, node: Node, config: QuantizationConfig) -> QuantizationSpecBase | None:
        """How a result is quantized."""
        known = facts(node)
        if known.state is not None:
            return SharedQuantizationSpec(known.state)
        return self._as_known(config.wide if known.wide else config.output_activation, node)

    def _as_known(self, spec: QuantizationSpec | None, node: Node) -> QuantizationSpec | None:
        """The spec of a tensor, its observer told what is known of the numbers before any is seen."""
        made_by = None if spec is None else getattr(spec.observer_or_fake_quant_ctr, "p", None)
        if spec is None or made_by is None or made_by.func not in _TOLD:
            return spec
        own = dict(made_by.keywords)
        if (row := told_apart(node, self.rules)) is not None:
            own["row"] = row
        if far := self.far.get(node):
            own["far"] = far
        if made_by.func is MaskedHistogramObserver:
            own |= self._known_of_range(node, spec, made_by.keywords)
        elif any(self.rules.traits_of(user).pole for user in node.users):
            own["pole"] = True
        if own == made_by.keywords:
            return spec
        return replace(spec, observer_or_fake_quant_ctr=made_by.func.with_args(**own))

    def _known_of_range(self, node: Node, spec: QuantizationSpec, given: Mapping[str, Any]) -> dict[str, Any]:
        known: dict[str, Any] = {}
        if (bounds := bounds_of(node, self.rules)) is not None:
            known["bounds"] = bounds
        if any(is_centered(user, self.rules) and user.args[1] is node for user in node.users):
            known["eps"] = SMALLEST_MEAN
        if is_norm_factor(node, self.rules):
            known["factor"] = True
        if _reaches_pole(node, self.rules):
            known["eps"] = max(given.get("eps", 0.0), SMALLEST_RANGE / (spec.quant_max - spec.quant_min + 1))
        return known

    def _as_read(self, n: Node, node: Node, rule: Rule, config: QuantizationConfig) -> QuantizationSpecBase | None:
        """How an operand is quantized: arithmetic and steep functions read what is wide as it is.

        Constants beside a wide operand of arithmetic are wide as well.
        """
        read = float_inputs(node) if is_constant(n) else [n]
        state = facts(n).state is not None or n.op == "placeholder"
        able = is_sum(node, rule) or rule.traits.steep or (state and rule.quant is Q.PRODUCT)
        wide = able and any(facts(m).wide for m in read)
        if wide and state:
            return config.wide  # as it is annotated
        return self._as_known(config.wide if wide else config.input_activation, n)

    def _stays_exact(self, node: Node, config: QuantizationConfig) -> bool:
        """Whether a tensor without its mean keeps the scale of the tensor: in 16 bits, of which float32 knows few more.

        What float32 rounds the other way would be a quantum here, and several behind a norm's root. Of 8 bits both
        scales are worth having.
        """
        spec = config.input_activation
        return spec is not None and spec.dtype == torch.int16 and is_centered(node, self.rules)

    def _feeds_table(self, node: Node) -> bool:
        """Whether a clamp can be part of the table that is its only user."""
        users = list(node.users)
        rule = self.rules.of_node(users[0]) if len(users) == 1 else None
        table = rule is not None and rule.quant is Q.TABLE and float_inputs(users[0]) == [node]
        return table and not is_annotated(users[0]) and self._wanted(users[0])

    def _dynamic(self, node: Node, rule: Rule, config: QuantizationConfig) -> None:
        """The input and the weight of a layer; its result is float."""
        if rule.quant is not Q.CONV or len(node.args) < 2 or node.args[0] not in float_inputs(node):
            return
        x, weight = node.args[:2]
        if isinstance(x, Node) and isinstance(weight, Node) and weight not in self.computed and x in self.computed:
            _mark(node, {x: config.input_activation, weight: _along(config.weight, node, rule.traits)}, None)


def _scaled(
    product: Node,
    specs: Mapping[Node, QuantizationSpecBase | None],
    given: QuantizationSpecBase | None,
    config: QuantizationConfig,
) -> QuantizationSpecBase | None:
    """The spec of a product: with a number it has the integers of what it reads, if both have as many bits.

    In a scale of its own every number would be rounded again, which a sine of many turns shows most. In training, a
    fake quantizer that is told of a pole or of masks stays, for the sake of gradients.
    """
    if config.is_qat and given is not config.output_activation:
        return given
    operands = product.all_input_nodes
    factor, read = scale_factor(product) if len(operands) == 1 else None, specs.get(operands[0])
    if factor is None or read is None or not isinstance(given, QuantizationSpec) or not has_one_scale(read, given):
        return given
    return scaled_spec(product, factor, given)


def _of_group(
    rules: RuleSet, far: Mapping[Node, float], spec: QuantizationSpecBase, places: Sequence[Place]
) -> QuantizationSpecBase:
    """The spec of all that has one scale: of views of a product with a number alone, that of the product."""
    if isinstance(spec, ScaledSpec):
        results = [place for place in places[1:] if isinstance(place, Node)]
        if all((rule := rules.of_node(node)) is not None and is_view(node, rule) for node in results):
            return spec
        spec = spec.observed
    return _without_masks(rules, far, spec, places)


def _without_masks(
    rules: RuleSet, far: Mapping[Node, float], spec: QuantizationSpecBase, places: Sequence[Place]
) -> QuantizationSpecBase:
    """The spec of a group, whose observer is told of the masks that any of its tensors has."""
    made_by = getattr(getattr(spec, "observer_or_fake_quant_ctr", None), "p", None)
    if made_by is None or made_by.func not in _TOLD:
        return spec
    told, nodes = dict(made_by.keywords), [place if isinstance(place, Node) else place[0] for place in places]
    if told.get("row") is None:
        told["row"] = masked_by(told_apart(node, rules) for node in nodes)
    told["far"] = min((far[node] for node in nodes if node in far), key=abs, default=0.0)
    if not told["row"] and told["far"] == made_by.keywords.get("far", 0.0):
        return spec
    told = made_by.func.with_args(**told)
    return replace(cast(QuantizationSpec, spec), observer_or_fake_quant_ctr=told)


def _reaches_pole(node: Node, rules: RuleSet) -> bool:
    """Whether a function with a pole reads a result, or what a number is added to, as norms do to a variance."""
    for user in node.users:
        traits = rules.traits_of(user)
        shifted = traits.arithmetic == "add" and len(user.all_input_nodes) == 1
        if traits.pole or (shifted and _reaches_pole(user, rules)):
            return True
    return False


def _along(spec: QuantizationSpec | None, node: Node, traits: Traits) -> QuantizationSpec | None:
    """The spec of a layer's weight, along the axis of its channels: of a transposed convolution axis 1, of one group.

    The observer is told as well: torchao (0.18, ``pt2e/prepare.py``) does not hand the axis on to fake quantizers.
    """
    if spec is None or spec.ch_axis is None or (axis := traits.weight_axis(node.args)) == 0:
        return spec
    made_by = getattr(spec.observer_or_fake_quant_ctr, "p", None)
    if made_by is None:
        return replace(spec, ch_axis=axis)
    observer = made_by.func.with_args(*made_by.args, **{**made_by.keywords, "ch_axis": axis})
    return replace(spec, ch_axis=axis, observer_or_fake_quant_ctr=observer)


def _annotate_shared(node: Node, inputs: list[Node], config: QuantizationConfig) -> None:
    """Inputs and output share one observer: that of the first input's producer, where it has one."""
    first = inputs[0]
    shared = SharedQuantizationSpec((first, node))
    own = SharedQuantizationSpec(first) if _is_given(first) else config.input_activation
    specs: dict[Node, QuantizationSpecBase | None] = {first: own, **dict.fromkeys(inputs[1:], shared)}
    _mark(node, specs, shared)


def _is_given(node: Node) -> bool:
    """Whether a tensor is quantized where it is made."""
    known = node.meta.get(KEY)
    return known is not None and known.output_qspec is not None


def _annotate_centered(node: Node, config: QuantizationConfig) -> None:
    """A difference of integers: the mean, quantized by itself, is rounded to the scale of the others."""
    whole, mean = node.all_input_nodes
    _annotate_shared(node, [whole, mean], config)
    node.meta[KEY].allow_implicit_sharing = False  # else the mean has this scale at once, and lies between two often


def _mark(node: Node, inputs: dict[Node, QuantizationSpecBase | None], output: QuantizationSpecBase | None) -> None:
    node.meta[KEY] = annotation(inputs, output)
