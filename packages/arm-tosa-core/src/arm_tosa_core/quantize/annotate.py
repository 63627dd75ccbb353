"""Places observers, from the quantization policies of the rules."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, cast

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import (
    QuantizationSpec,
    QuantizationSpecBase,
    SharedQuantizationSpec,
)

from ..compat.torchao import ANNOTATION, annotation, is_annotated
from ..lower.exported_program import WRITTEN, attribute, is_constant
from ..lower.registry import Q, Rule, canonical, find
from ..lower.unary_functions import Function, find_functions
from .bias_spec import bias_spec
from .composites import LOOP_BODY
from .config import SMALLEST_RANGE, QuantizationConfig
from .observers import MaskedHistogramObserver
from .value_bounds import bounds_of, find_signs

KEY = ANNOTATION

Wide = Literal["none", "streams", "residuals", "all"]

_NORM = "aten.batch_norm.default"

#: What computes on int32 whatever the bits of its operands, and has no narrower form that a target would prefer.
_ARITHMETIC = frozenset(f"aten.{name}.Tensor" for name in ("add", "sub", "mul"))
#: What hands a tensor on as it is.
_VIEWS = frozenset(
    f"aten.{name}"
    for name in ("dropout.default", "view.default", "reshape.default", "flatten.using_ints", "unsqueeze.default")
)

#: Policies whose result is an int32 accumulator, so that a clamp or a change of scale that follows is free.
_ACCUMULATES = frozenset({Q.CONV, Q.NORM, Q.ARITHMETIC, Q.ACCUMULATE, Q.PRODUCT})


#: Key in the meta of a node that hands a tensor on as it is: its result has a scale of its own.
RESCALES = "arm_rescales"

#: Key in the meta of a node: its result is kept in the bits of ``QuantizationConfig.wide``.
_WIDE = "arm_wide_result"


def annotate(module: GraphModule, config_of: Callable[[Node], QuantizationConfig | None], wide: Wide = "none") -> None:
    """Annotates every node that a rule can compute on integers.

    Args:
        config_of: the scheme of a node; None leaves it in float.
        wide: which results that only additions, products and sums read are kept in the bits of
            ``QuantizationConfig.wide``: ``residuals``, the sums among them, and what is added to them, ``streams``,
            the sums of sums, ``all`` or ``none``.
    """
    computed = _computed(module)
    find_signs(module.graph)
    for node in module.graph.nodes:
        node.meta.pop(_WIDE, None)
    for node in _wide_results(module, config_of, wide, computed):
        node.meta[_WIDE] = True
    for function in find_functions(module.graph):
        if function.source in computed:
            _annotate_function(function, config_of)
    for node in module.graph.nodes:
        if node not in computed or node.op == "placeholder" or is_annotated(node):
            continue
        if node.target is operator.getitem and is_annotated(node.args[0]) and _is_float_result(node):
            _mark(node, {}, node.args[0].meta[KEY].output_qspec)  # parts of a split share its scale
            continue
        rule, config = _rule(node), config_of(node)
        if node.target is torch.ops.higher_order.while_loop and config is not None and not config.is_dynamic:
            _annotate_loop(module, node, config)
        if rule is None or config is None or not _inputs(node):
            continue
        if rule.quant in (Q.NONE, Q.PIECEWISE):
            continue
        if config.is_dynamic:
            _annotate_dynamic(node, rule, config, computed)
            continue
        _annotate_node(node, rule, config, computed, lambda n: config_of(n) is not None)
        if LOOP_BODY in module.meta and rule.quant is not Q.SHARED:
            specs = node.meta[KEY].input_qspec_map
            node.meta[KEY].input_qspec_map = {n: spec for n, spec in specs.items() if n in computed}


def _annotate_function(function: Function, config_of: Callable[[Node], QuantizationConfig | None]) -> None:
    """What a function reads, and what it gives: it will be one table."""
    config, last = config_of(function.last), function.last
    if (
        config is None
        or config.is_dynamic
        or any(config_of(n) is not config or is_annotated(n) for n in function.parts)
    ):
        return
    given = config.wide if _WIDE in function.source.meta else config.input_activation
    for node in (*function.parts, last):
        out = config.wide if _WIDE in last.meta else config.output_activation
        _mark(node, {function.source: given} if node in function.readers else {}, out if node is last else None)


def _annotate_loop(module: GraphModule, node: Node, config: QuantizationConfig) -> None:
    """What goes into a loop, and what comes out; PT2E prepares the loop's body by itself, after this."""
    body = module.get_submodule(str(cast(Node, node.args[1]).target))
    assert isinstance(body, GraphModule)
    body.meta[LOOP_BODY] = True
    _mark(node, dict.fromkeys(_inputs(node), config.input_activation), None)
    for part in node.users:
        if _is_float_result(part):
            _mark(part, {}, config.output_activation)


def _wide_results(
    module: GraphModule, config_of: Callable[[Node], QuantizationConfig | None], wide: Wide, computed: set[Node]
) -> set[Node]:
    """The results to keep in 16 bits.

    Beside the sums of residual streams and of embeddings these are what norms leave of them without their mean, which
    would be as coarse as the sum in 8 bits, and the other operands of what reads them: an NPU adds two tensors of 16
    bits, or two of 8, at once, and others in two steps. Layers that read such an operand as well read 8 bits of it.
    """
    if wide == "none":
        return set()
    able: list[Node] = []
    for node in module.graph.nodes:
        config = config_of(node) if node.op == "call_function" and _is_float_result(node) else None
        if config is not None and config.wide is not None and _read_by_arithmetic(node, config_of):
            able.append(node)
    if wide == "all":
        return set(able)
    found = {node for node in able if _carries_sum(node, computed)}
    sums = {_origin(node) for node in found}
    joined = {n for node in sums if (s := sums & _operands(node)) for n in (node, *s)}
    joined |= {n for node in joined for n in _operands(node)}  # what a stream begins with
    streams = {node for node in able if _origin(node) in joined}
    found = streams if wide == "streams" else found | streams
    found |= {node for node in able if _sums_embeddings(_origin(node), computed)}
    found |= {node for node in able if _is_centered(node) and node.args[0] in found}
    found |= {node for node in module.graph.nodes if _is_added_to(node, found, config_of)}
    for node in reversed(able):  # whoever reads a node comes after it
        readers = [user for user in node.users if user.op != "output"]
        if all(user in found if user in able else found & set(_inputs(user)) for user in readers):
            found.add(node)
    return found


def _computed(module: GraphModule) -> set[Node]:
    """What is computed from inputs and buffers that are written to; all else is constant."""
    found: set[Node] = set()
    for node in module.graph.nodes:
        if node.op == "placeholder" or WRITTEN in node.meta or any(n in found for n in node.all_input_nodes):
            found.add(node)
    return found


def _carries_sum(node: Node, computed: set[Node]) -> bool:
    """A sum of two results, or a view of one: the errors of a residual stream add up along the network."""
    node = _origin(node)
    operands = node.all_input_nodes
    return canonical(node.target) == "aten.add.Tensor" and len(operands) == 2 and all(n in computed for n in operands)


def _sums_embeddings(node: Node, computed: set[Node]) -> bool:
    """A sum of embeddings, as of words, positions and types: constants but for the choice of their rows."""
    parts = _operands(node)
    if canonical(node.target) != "aten.add.Tensor" or not any(n in computed for n in parts):
        return False
    return all(
        n not in computed or canonical(n.target) == "aten.embedding.default" or _sums_embeddings(n, computed)
        for n in parts
    )


def _is_centered(node: Node) -> bool:
    """A tensor without its mean, as in a norm."""
    if canonical(node.target) != "aten.sub.Tensor" or len(node.all_input_nodes) != 2:
        return False
    whole, mean = node.all_input_nodes
    return canonical(mean.target) == "aten.mean.dim" and mean.args[0] is whole


def _is_added_to(node: Node, sums: set[Node], config_of: Callable[[Node], QuantizationConfig | None]) -> bool:
    """A result that a wide sum reads, and that layers read as well, as that of a norm: they read 8 bits of it."""
    rule, config = _rule(node), config_of(node) if node.op == "call_function" else None
    if rule is None or config is None or config.wide is None or rule.quant not in _ACCUMULATES:
        return False
    readers = [(user, _rule(user)) for user in node.users]
    others = [by for user, by in readers if by is None or not (user in sums and _is_sum(user, by))]
    return len(others) < len(readers) and all(by is not None and by.quant is Q.CONV for by in others)


def _operands(node: Node) -> set[Node]:
    return {_origin(n) for n in node.all_input_nodes}


def _origin(node: Node) -> Node:
    """What a node is a view of."""
    while canonical(node.target) in _VIEWS and isinstance(node.args[0], Node):
        node = node.args[0]
    return node


def _read_by_arithmetic(node: Node, config_of: Callable[[Node], QuantizationConfig | None]) -> bool:
    """Whether all that reads a result, views of it included, adds, multiplies or sums it."""
    rule = _rule(node)
    if rule is None or not node.users:
        return False
    if rule.quant not in _ACCUMULATES and not _is_view(node, rule):
        return False
    for user in node.users:
        other = _rule(user)
        config = config_of(user)
        if other is None or config is None or config.wide is None:
            return False
        absorbed = _absorbed(node, rule) is user or _training_norm(node) is user
        if absorbed or _is_view(user, other):
            if not _read_by_arithmetic(user, config_of):
                return False
        elif not _is_sum(user, other):
            return False
    return True


def _is_view(node: Node, rule: Rule) -> bool:
    return rule.quant is Q.SHARED and len(_inputs(node)) == 1 and canonical(node.target) in _VIEWS


def _is_sum(node: Node, rule: Rule) -> bool:
    """Arithmetic on int32; a matrix product, of two tensors, is none, nor is a function of one operand."""
    operands = sum(isinstance(a, Node) for a in node.args)
    if rule.quant is Q.ACCUMULATE:
        return operands == 1 and canonical(node.target) != "aten.cumsum.default"
    return canonical(node.target) in _ARITHMETIC and operands == 2


def _rule(node: Node) -> Rule | None:
    return find(canonical(node.target)) if node.op == "call_function" else None


def _inputs(node: Node) -> list[Node]:
    """Float operands, each once."""
    found: list[Node] = []
    for n in node.all_input_nodes:
        meta = n.meta.get("val")
        if isinstance(meta, torch.Tensor) and meta.dtype == torch.float32 and n not in found:
            found.append(n)
    return found


def _annotate_node(
    node: Node, rule: Rule, config: QuantizationConfig, computed: set[Node], wanted: Callable[[Node], bool]
) -> None:
    inputs = _inputs(node)[:1] if rule.quant is Q.NORM else _inputs(node)
    if rule.quant is Q.BOUNDS and _feeds_table(node, wanted):
        _mark(node, {n: _as_known(config.input_activation, n) for n in inputs}, None)
        (user,) = node.users
        _mark(user, {}, _as_known(config.output_activation, user))
        return
    if rule.quant is Q.SHARED and _is_float_result(node) and RESCALES not in node.meta:
        _annotate_shared(node, inputs, config)
        return
    if _stays_exact(node, config) and _absorbed(node, rule) is None:
        _annotate_centered(node, config)
        return
    specs: dict[Node, QuantizationSpecBase | None] = {n: _as_read(n, node, rule, config) for n in inputs}
    if rule.quant is Q.CONV:
        weight, bias = (node.args[i] if len(node.args) > i else None for i in (1, 2))
        if isinstance(bias, Node):
            specs.pop(bias, None)
        if isinstance(weight, Node) and weight not in computed:
            specs[weight] = along = _along(config.weight, node)
            known = along is not None and node.args[0] in specs and not config.is_qat
            if known and isinstance(bias, Node) and is_constant(bias):
                specs[bias] = bias_spec(node, along, attribute(bias))
    last = node
    if rule.quant is Q.CONV and (norm := _training_norm(node)) is not None and wanted(norm):
        _mark(node, specs, None)  # PT2E folds it into the weights, which it then observes as they will be
        last = norm
    while (follower := _absorbed(last, rule)) is not None and wanted(follower):
        _mark(last, specs if last is node else {}, None)
        last = follower
    out = config.wide if _WIDE in last.meta else config.output_activation
    _mark(last, specs if last is node else {}, _as_known(out, last) if _is_float_result(last) else None)


def _as_known(spec: QuantizationSpec | None, node: Node) -> QuantizationSpec | None:
    """The spec of a tensor, its observer told what is known of the numbers before any is seen."""
    made_by = None if spec is None else getattr(spec.observer_or_fake_quant_ctr, "p", None)
    if spec is None or made_by is None or made_by.func is not MaskedHistogramObserver:
        return spec
    own = dict(made_by.keywords)
    if (bounds := bounds_of(node)) is not None:
        own["bounds"] = bounds
    if _reaches_pole(node):
        own["eps"] = max(own.get("eps", 0.0), SMALLEST_RANGE / (spec.quant_max - spec.quant_min + 1))
    if own == made_by.keywords:
        return spec
    return replace(spec, observer_or_fake_quant_ctr=MaskedHistogramObserver.with_args(**own))


#: Functions with a pole at 0. The finer the scale in front of one, the further a number that calibration did not show,
#: such as the variance of a fainter picture, is off behind it.
_POLES = frozenset(f"aten.{name}.default" for name in ("rsqrt", "reciprocal", "log"))


def _reaches_pole(node: Node) -> bool:
    """Whether a function with a pole reads a result, or what a number is added to, as norms do to a variance."""
    for user in node.users:
        name = canonical(user.target)
        shifted = name.startswith("aten.add.") and len(user.all_input_nodes) == 1
        if name in _POLES or (shifted and _reaches_pole(user)):
            return True
    return False


def _as_read(n: Node, node: Node, rule: Rule, config: QuantizationConfig) -> QuantizationSpecBase | None:
    """How an operand is quantized: to arithmetic, constants beside a wide operand are wide as well."""
    read = _inputs(node) if is_constant(n) else [n]
    wide = _is_sum(node, rule) and any(_WIDE in m.meta for m in read)
    return _as_known(config.wide if wide else config.input_activation, n)


def _annotate_dynamic(node: Node, rule: Rule, config: QuantizationConfig, computed: set[Node]) -> None:
    """The input and the weight of a layer; its result is float."""
    if rule.quant is not Q.CONV or len(node.args) < 2 or node.args[0] not in _inputs(node):
        return
    x, weight = node.args[:2]
    if isinstance(x, Node) and isinstance(weight, Node) and weight not in computed and x in computed:
        _mark(node, {x: config.input_activation, weight: _along(config.weight, node)}, None)


def _is_float_result(node: Node) -> bool:
    meta = node.meta.get("val")
    first = meta[0] if isinstance(meta, (list, tuple)) and meta else meta
    return isinstance(first, torch.Tensor) and first.dtype in (torch.float32, torch.float16, torch.bfloat16)


def _along(spec: QuantizationSpec | None, node: Node) -> QuantizationSpec | None:
    """Channels of a transposed convolution's weight lie along axis 1, those of one group.

    The observer is told as well: torchao (0.18, ``pt2e/prepare.py``) does not hand the axis on to fake quantizers.
    """
    transposed = "conv_transpose" in canonical(node.target) or (
        canonical(node.target) == "aten.convolution.default" and bool(node.args[6])
    )
    if spec is None or spec.ch_axis is None or not transposed:
        return spec
    made_by = getattr(spec.observer_or_fake_quant_ctr, "p", None)
    if made_by is None:
        return replace(spec, ch_axis=1)
    made = made_by.func.with_args(*made_by.args, **{**made_by.keywords, "ch_axis": 1})
    return replace(spec, ch_axis=1, observer_or_fake_quant_ctr=made)


def _absorbed(node: Node, rule: Rule) -> Node | None:
    """The only user of an accumulator, if it only bounds or scales it: one observer, after it, serves both."""
    if rule.quant not in _ACCUMULATES or len(node.users) != 1:
        return None
    (user,) = node.users
    follower = _rule(user)
    if follower is None or is_annotated(user) or user.args[0] is not node:
        return None
    if follower.quant is Q.BOUNDS or (follower.quant is Q.PRODUCT and _is_scale(user)):
        return user
    return None


def _training_norm(node: Node) -> Node | None:
    """The batch norm that is the only user of a convolution; where it is not trained, it has been folded before."""
    users = list(node.users)
    if len(users) != 1 or canonical(users[0].target) != _NORM or users[0].args[0] is not node:
        return None
    return users[0] if "conv" in canonical(node.target) else None


def _feeds_table(node: Node, wanted: Callable[[Node], bool]) -> bool:
    """Whether a clamp can be part of the table that is its only user."""
    users = list(node.users)
    rule = _rule(users[0]) if len(users) == 1 else None
    table = rule is not None and rule.quant is Q.TABLE and _inputs(users[0]) == [node]
    return table and not is_annotated(users[0]) and wanted(users[0])


def _is_scale(node: Node) -> bool:
    """A product with, or a quotient by, a positive number."""
    other: Any = node.args[1] if len(node.args) > 1 else None
    if isinstance(other, Node) and is_constant(other):
        found = attribute(other)
        other = float(found) if found.numel() == 1 else None
    return isinstance(other, (int, float)) and other > 0


def _annotate_shared(node: Node, inputs: list[Node], config: QuantizationConfig) -> None:
    """Inputs and output share one observer, that of the first input's producer where it has one."""
    first = inputs[0]
    shared = SharedQuantizationSpec((first, node))
    before = first.meta.get(KEY)
    own: QuantizationSpecBase | None = config.input_activation
    if before is not None and before.output_qspec is not None:
        own = SharedQuantizationSpec(first)
    specs: dict[Node, QuantizationSpecBase | None] = {first: own, **dict.fromkeys(inputs[1:], shared)}
    _mark(node, specs, shared)


def _stays_exact(node: Node, config: QuantizationConfig) -> bool:
    """Whether a tensor without its mean keeps the scale of the tensor: in 16 bits, of which float32 knows few more.

    What float32 rounds the other way would be a quantum here, and several behind a norm's root. Of 8 bits both scales
    are worth having.
    """
    spec = config.input_activation
    return spec is not None and spec.dtype == torch.int16 and _is_centered(node)


def _annotate_centered(node: Node, config: QuantizationConfig) -> None:
    """A difference of integers: the mean, quantized by itself, is rounded to the scale of the others."""
    whole, mean = node.all_input_nodes
    _annotate_shared(node, [whole, mean], config)
    node.meta[KEY].allow_implicit_sharing = False  # else the mean has this scale at once, and lies between two often


def _mark(node: Node, inputs: dict[Node, QuantizationSpecBase | None], output: QuantizationSpecBase | None) -> None:
    node.meta[KEY] = annotation(inputs, output)
