"""What the lowering wants to know of a program before its first node; found out once, for all walks over it."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, Node

from ..plugin.target import Target
from .exported_program import NOTHING, Known, all_known, constants
from .rule_set import RuleSet
from .table_precision import Precision
from .unary_functions import Function, functions_of


class Facts:
    """Facts of one program.

    Args:
        known: data of constants, for a program with fake ones (``exported_program.constants``).
    """

    def __init__(self, program: ExportedProgram, target: Target, known: Known = NOTHING) -> None:
        self.rules = RuleSet.of(target.name)
        self.constants = constants(program, known)
        self.all_known = all_known(program, known)
        self.precision = Precision(program.graph, self.rules)
        self._functions: dict[Graph, dict[Node, Function]] = {}

    def functions(self, graph: Graph, constants: Mapping[str, torch.Tensor]) -> dict[Node, Function]:
        """The function of one tensor that each node of the program, or of a graph within, is part of."""
        if graph not in self._functions:
            self._functions[graph] = functions_of(graph, self.rules, constants)
        return self._functions[graph]
