"""Decomposes chosen operators of a program without tracing the rest of it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any

import torch
from torch.export import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from torch.fx import Graph, Node

from ..compat.torch import OpOverload, is_composite, program_like, tree_structure
from ..lowering.exported_program import copy_program, is_dequantize, is_quantize, mutable, plain_signature
from ..lowering.rule_set import RuleSet

Table = Mapping[Any, Callable[..., Any]]


def decompose(program: ExportedProgram, table: Table, targets: Collection[Any] | None = None) -> ExportedProgram:
    """The program with some operators decomposed as ``run_decompositions(table)`` does; the one given is left as it is.

    The nodes in question are gathered in a program of their own, that one is decomposed, and its nodes are put in
    their place: tracing all of a network takes a hundred times as long as lowering it. A program with operators in
    place is traced whole.

    Args:
        targets: the operators; default those of the table. PyTorch has no entry in a table for some composites.
    """
    if any(mutable(node) for node in program.graph.nodes):
        return run_decompositions(program, table)
    program = copy_program(program)
    targets = table if targets is None else targets
    chosen = [node for node in program.graph.nodes if node.op == "call_function" and node.target in targets]
    inputs = list(dict.fromkeys(n for node in chosen for n in node.all_input_nodes))
    results = [result for node in chosen for result in _results(node)]
    if not all(isinstance(n.meta.get("val"), torch.Tensor) for n in [*inputs, *results]):
        return run_decompositions(program, table)
    parts = run_decompositions(_gathered(inputs, chosen, results, program), table)
    if len(parts.graph_signature.user_inputs) != len(parts.graph_signature.input_specs):  # it made constants
        return run_decompositions(program, table)
    _put_back(program, parts.graph, inputs, results)
    for node in reversed(chosen):  # also those that count as impure, such as an LSTM for its dropout
        program.graph.erase_node(node)
    program.graph.eliminate_dead_code()
    return program


def without_composites(program: ExportedProgram, rules: RuleSet) -> ExportedProgram:
    """The program with PyTorch's decompositions in place of operators that have no rule, if PyTorch has one."""
    table: Table | None = None
    before: set[Any] = set()
    targets = _without_rule(program, rules)
    while targets:
        table = table or torch.export.default_decompositions()  # late: PyTorch takes 0.1 s to make it
        strange = {target for target in targets if target in table or is_composite(target)}
        if not strange:
            break
        program = decompose(program, {target: table[target] for target in strange if target in table}, strange)
        before |= strange
        targets = _without_rule(program, rules) - before
    return program


def _without_rule(program: ExportedProgram, rules: RuleSet) -> set[Any]:
    """Operators without a rule, except those that depend on no tensor: any of these is evaluated."""
    targets: set[Any] = set()
    made_of_nothing: set[Node] = set()
    for node in program.graph.nodes:
        if node.op == "call_function" and made_of_nothing.issuperset(node.all_input_nodes):
            made_of_nothing.add(node)
        elif _has_no_rule(node, rules):
            targets.add(node.target)
    return targets


def _has_no_rule(node: Node, rules: RuleSet) -> bool:
    """Whether a node is an operator without a rule; quantize and dequantize need none."""
    if not isinstance(node.target, OpOverload) or is_quantize(node) or is_dequantize(node):
        return False
    return rules.of_node(node) is None


def run_decompositions(program: ExportedProgram, table: Table) -> ExportedProgram:
    """PyTorch's own decomposition of the whole program, which also makes it functional."""
    decomposed: ExportedProgram = program.run_decompositions(dict(table))
    decomposed.graph.eliminate_dead_code()  # views of tensors that operators in place wrote to
    return decomposed


def _results(node: Node) -> list[Node]:
    """The nodes that stand for one tensor each."""
    if isinstance(node.meta["val"], (list, tuple)):
        return [user for user in node.users if user.target is operator.getitem]
    return [node]


def _gathered(inputs: list[Node], chosen: list[Node], results: list[Node], like: ExportedProgram) -> ExportedProgram:
    """A program of the chosen nodes only, side by side: from all their inputs to all their results."""
    graph = Graph()
    placeholders: dict[Node, Node] = {}
    for i, node in enumerate(inputs):
        placeholders[node] = graph.placeholder(f"given_{i}")
        placeholders[node].meta["val"] = node.meta["val"]
    copies: dict[Node, Node] = {}
    for node in chosen:
        copies[node] = graph.node_copy(node, placeholders.__getitem__)
        for result in _results(node):
            if result is not node:
                copies[result] = graph.node_copy(result, copies.__getitem__)
    outputs = [copies[result] for result in results]
    graph.output(tuple(outputs))
    arguments: Any = (tuple(range(len(placeholders))), {})
    call = ModuleCallSignature(
        inputs=[], outputs=[], in_spec=tree_structure(arguments), out_spec=tree_structure(tuple(range(len(outputs))))
    )
    signature = plain_signature(placeholders.values(), outputs)
    apart: ExportedProgram = program_like(like, graph, signature, module_call_graph=[ModuleCallEntry("", call)])
    return apart


def _put_back(program: ExportedProgram, parts: Graph, inputs: list[Node], results: list[Node]) -> None:
    """Puts the parts in place of each result; a part comes right before the node that it is part of."""
    graph = program.graph
    placeholders = dict(zip(inputs, parts.find_nodes(op="placeholder"), strict=True))
    new = {placeholder: node for node, placeholder in placeholders.items()}
    (output,) = parts.find_nodes(op="output")
    for result, source in zip(results, output.args[0], strict=True):
        place: Any = result.args[0] if result.target is operator.getitem else result
        for part in _needed(source, new):
            with graph.inserting_before(place):
                new[part] = graph.node_copy(part, new.__getitem__)
        result.replace_all_uses_with(new[source])
        program.graph_signature.replace_all_uses(result.name, new[source].name)
        if result in placeholders:  # by another of the chosen
            new[placeholders[result]] = new[source]
        if result.target is operator.getitem:
            graph.erase_node(result)


def _needed(result: Node, new: Mapping[Node, Node]) -> list[Node]:
    """The nodes, in order, that are not there yet and that one is made from."""
    needed = {result} - new.keys()
    waiting = list(needed)
    while waiting:
        fresh = [n for n in waiting.pop().all_input_nodes if n not in new and n not in needed]
        needed.update(fresh)
        waiting += fresh
    return [node for node in result.graph.nodes if node in needed]
