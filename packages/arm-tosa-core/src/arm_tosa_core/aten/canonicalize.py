"""One form for every program: functional, without control flow that can be a choice, of operators that have rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch.export import ExportedProgram
from torch.fx import Node

from ..lowering.exported_program import mutable
from ..lowering.rule_set import RuleSet
from .control_flow import is_choice, with_choices
from .decompose import has_no_rule, without_composites
from .functionalize import functional, is_check_or_wrapper
from .no_elements import has_empty, without_empty
from .strided_reads import in_order, reads_memory


@dataclass(frozen=True)
class _Survey:
    """The changes that a program needs, from one walk.

    Args:
        irregular: whether it has operators in place, choices, checks of metadata or graphs that are only wrapped.
        strange: the operators without a rule that compute from tensors.
        empty: whether operators read tensors without elements.
        strided: whether operators read memory in another order than their operand's.
    """

    irregular: bool
    strange: set[Any]
    empty: bool
    strided: bool

    @staticmethod
    def of(program: ExportedProgram, rules: RuleSet) -> _Survey:
        irregular, strange, empty, strided = False, set(), False, False
        made_of_nothing: set[Node] = set()  # those are evaluated, whatever they are
        for node in program.graph.nodes:
            empty = empty or has_empty(node)
            if node.op != "call_function":
                continue
            strided = strided or reads_memory(node)
            irregular = irregular or mutable(node) or is_choice(node) or is_check_or_wrapper(node)
            if made_of_nothing.issuperset(node.all_input_nodes):
                made_of_nothing.add(node)
            elif has_no_rule(node, rules):
                strange.add(node.target)
        return _Survey(irregular, strange, empty, strided)


def canonicalize(program: ExportedProgram, rules: RuleSet) -> ExportedProgram:
    """Brings a program in the ATen dialect to its one form; the one given is left as it is."""
    survey = _Survey.of(program, rules)
    if survey.irregular:
        program = functional(with_choices(functional(program)))
        survey = _Survey.of(program, rules)
    if survey.empty:
        program = without_empty(program)
        survey = _Survey.of(program, rules)
    if survey.strided:
        program = in_order(program)
        survey = _Survey.of(program, rules)
    return without_composites(program, rules, survey.strange) if survey.strange else program
