"""Which results of an int8 scheme are kept in 16 bits."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal

from torch.fx import GraphModule, Node

from ...lowering.rule import Q
from ...lowering.rule_set import RuleSet
from ..probe.calls import Sample
from ..schemes.config import QuantizationConfig
from .energies import sums_of_squares
from .node_roles import (
    ACCUMULATES,
    absorbed,
    float_inputs,
    is_centered,
    is_float_result,
    is_sum,
    is_view,
    origin,
    training_norm,
)

Wide = Literal["none", "streams", "residuals", "all"]

#: Why a result has 16 bits, for people.
STATE = "state that is carried between calls"
ENERGY = "sum of squares under a root"
STREAM = "sum of a residual stream"
ADDED = "added to a sum of 16 bits"
EMBEDDINGS = "sum of embeddings"
CENTERED = "a sum of 16 bits without its mean"
BETWEEN = "read by arithmetic of 16 bits only"
ASKED = 'wide="all"'


def wide_results(
    module: GraphModule,
    rules: RuleSet,
    config_of: Callable[[Node], QuantizationConfig | None],
    wide: Wide,
    computed: set[Node],
    tables: bool = False,
    states: AbstractSet[Node] = frozenset(),
    samples: Sequence[Sample] = (),
    narrow: Container[str] = (),
) -> dict[Node, str]:
    """The results to keep in 16 bits, and why.

    These are the sums of residual streams and of embeddings, and their centred values in norms, which in 8 bits would
    be as coarse as the sum. The other operands of their readers are in 16 bits too: an NPU adds two tensors of one
    width at once, and others in two steps. Layers that also read such an operand read 8 bits of it.

    Args:
        wide: see ``annotate``.
        tables: whether the target has tables of 16 bits; without them energies have 8.
        states: inputs and results of 16 bits, which are carried from call to call.
        samples: calls of the model, see ``sums_of_squares``.
        narrow: reasons that do not count, other than that of states. What has 16 bits because of what these keep in
            16 bits, as an operand that is added to it, has 8 as well.
    """
    reasons = dict.fromkeys(states, STATE)
    if wide == "none":
        return reasons
    able: list[Node] = []
    for node in module.graph.nodes:
        config = config_of(node) if node.op == "call_function" and is_float_result(node) else None
        if config is not None and config.wide is not None and _read_by_arithmetic(node, rules, config_of):
            able.append(node)
    told = tables and wide != "streams" and ENERGY not in narrow
    unit = sums_of_squares(module, rules, config_of, computed, samples) if told else set()
    if wide == "all":
        return {**dict.fromkeys([] if ASKED in narrow else able, ASKED), **dict.fromkeys(unit, ENERGY), **reasons}
    residuals = [node for node in able if _carries_sum(node, rules, computed)]
    sums = {origin(node, rules) for node in residuals}
    joined = {n for node in sums if (s := sums & _operands(node, rules)) for n in (node, *s)}
    joined |= {n for node in joined for n in _operands(node, rules)}  # what a stream begins with
    streams = [node for node in able if origin(node, rules) in joined]

    def add(nodes: Iterable[Node], why: str) -> None:
        for node in () if why in narrow else nodes:
            reasons.setdefault(node, why)

    add(streams if wide == "streams" else [*residuals, *streams], STREAM)
    add([node for node in able if _sums_embeddings(origin(node, rules), rules, computed)], EMBEDDINGS)
    add([node for node in able if is_centered(node, rules) and node.args[0] in reasons], CENTERED)
    add([node for node in module.graph.nodes if _is_added_to(node, rules, reasons.keys(), config_of)], ADDED)
    decided = {*states, *able}
    for node in reversed(able):  # whoever reads a node comes after it
        readers = [user for user in node.users if user.op != "output"]
        if all(user in reasons if user in decided else reasons.keys() & set(float_inputs(user)) for user in readers):
            add([node], BETWEEN)
    return {**dict.fromkeys(unit, ENERGY), **reasons}


def _carries_sum(node: Node, rules: RuleSet, computed: set[Node]) -> bool:
    """A sum of two results, or a view of one: the errors of a residual stream add up along the network."""
    node = origin(node, rules)
    operands = node.all_input_nodes
    adds = rules.traits_of(node).arithmetic == "add"
    return adds and len(operands) == 2 and all(n in computed for n in operands)


def _sums_embeddings(node: Node, rules: RuleSet, computed: set[Node]) -> bool:
    """A sum of embeddings, as of words, positions and types: constants but for the choice of their rows."""
    parts = _operands(node, rules)
    if rules.traits_of(node).arithmetic != "add" or not any(n in computed for n in parts):
        return False
    return all(
        n not in computed or rules.traits_of(n).looks_up is not None or _sums_embeddings(n, rules, computed)
        for n in parts
    )


def _is_added_to(
    node: Node, rules: RuleSet, sums: AbstractSet[Node], config_of: Callable[[Node], QuantizationConfig | None]
) -> bool:
    """A result that a wide sum reads, and that layers read as well, as that of a norm: they read 8 bits of it."""
    rule, config = rules.of_node(node), config_of(node) if node.op == "call_function" else None
    if rule is None or config is None or config.wide is None or rule.quant not in ACCUMULATES:
        return False
    readers = [(user, rules.of_node(user)) for user in node.users]
    others = [by for user, by in readers if by is None or not (user in sums and is_sum(user, by))]
    return len(others) < len(readers) and all(by is not None and by.quant is Q.CONV for by in others)


def _operands(node: Node, rules: RuleSet) -> set[Node]:
    return {origin(n, rules) for n in node.all_input_nodes}


def _read_by_arithmetic(node: Node, rules: RuleSet, config_of: Callable[[Node], QuantizationConfig | None]) -> bool:
    """Whether all that reads a result, views of it included, adds, multiplies or sums it."""
    rule = rules.of_node(node)
    if rule is None or not node.users:
        return False
    if rule.quant not in ACCUMULATES and not is_view(node, rule):
        return False
    for user in node.users:
        other = rules.of_node(user)
        config = config_of(user)
        if other is None or config is None or config.wide is None:
            return False
        fused = user in (absorbed(node, rule, rules), training_norm(node, rules))
        if fused or is_view(user, other):
            if not _read_by_arithmetic(user, rules, config_of):
                return False
        elif not is_sum(user, other):
            return False
    return True
