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
from .functionalize import functional, is_check_or_wrapper, out_of_place
from .no_elements import has_empty, without_empty
from .strided_reads import in_order, reads_memory


@dataclass(frozen=True)
class Canonical:
    """A program in its one form.

    Args:
        program: the program.
        in_place: its operators in place; none if it was made functional.
    """

    program: ExportedProgram
    in_place: list[Node]


@dataclass(frozen=True)
class _Survey:
    """What there is to do in a program, found in one walk.

    Args:
        irregular: whether it has choices, checks of metadata or graphs that are only wrapped.
        in_place: its operators in place.
        strange: the operators without a rule that compute from tensors.
        empty: whether operators read tensors without elements.
        strided: whether operators read memory in another order than their operand's.
    """

    irregular: bool
    in_place: list[Node]
    strange: set[Any]
    empty: bool
    strided: bool

    @staticmethod
    def of(program: ExportedProgram, rules: RuleSet) -> _Survey:
        irregular, in_place, strange, empty, strided = False, [], set(), False, False
        made_of_nothing: set[Node] = set()  # those are evaluated, whatever they are
        for node in program.graph.nodes:
            empty = empty or has_empty(node)
            if node.op != "call_function":
                continue
            strided = strided or reads_memory(node)
            irregular = irregular or is_choice(node) or is_check_or_wrapper(node)
            if mutable(node):
                in_place.append(node)
            if made_of_nothing.issuperset(node.all_input_nodes):
                made_of_nothing.add(node)
            elif has_no_rule(node, rules):
                strange.add(node.target)
        return _Survey(irregular, in_place, strange, empty, strided)


def canonicalize(program: ExportedProgram, rules: RuleSet, trace: bool) -> Canonical:
    """Brings a program in the ATen dialect to its one form; the one given is left as it is.

    Args:
        rules: those of the target.
        trace: let PyTorch trace the program where operators in place cannot be replaced one by one; otherwise those
            stay.
    """
    found = _Survey.of(program, rules)
    if found.irregular or found.in_place:
        program = out_of_place(with_choices(functional(program) if trace else program))
        found = _Survey.of(program, rules)
    if found.empty:
        program = without_empty(program)
        found = _Survey.of(program, rules)
    if found.strided:
        program = in_order(program)
        found = _Survey.of(program, rules)
    if not found.strange:
        return Canonical(program, found.in_place)
    made = without_composites(program, rules, found.strange)
    return Canonical(made, found.in_place if made is program else _Survey.of(made, rules).in_place)
