"""A program on its way to a target: one object that holds all that the stages make of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

from torch.export import ExportedProgram
from torch.fx import Node

from ..aten.canonicalize import canonicalize
from ..aten.cpu_edits import with_edits
from ..aten.cpu_layout import layout
from ..aten.decompose import decompose
from ..aten.delegate_boundary import copy_shared, narrow_int64, needs_edits, without_unread
from ..aten.integer_powers import power_edits
from ..aten.integer_remainders import remainder_edits
from ..aten.integer_shifts import shift_edits
from ..aten.places_of_numbers import place_edits
from ..aten.typed_numbers import number_edits
from ..aten.uninitialized import is_uninitialized, with_zeros
from ..compat.executorch import default_decompositions
from ..compat.torch import OpOverload, is_composite
from ..compat.torch_sizes import symbolic_sizes
from ..lowering.analysis_result import Analysis
from ..lowering.exported_program import NOTHING, Known, copy_with_twins, is_dequantize, is_int64_cast, is_quantize
from ..lowering.regions import Region, each_region
from ..lowering.rule_set import RuleSet
from ..lowering.sized_analysis import Checks, analyse_sizes, sized_regions
from ..lowering.support_analysis import analyse
from ..lowering.varying_sizes import Sizes, kept_varying
from ..plugin.target import Target
from ..support.errors import LoweringError, NothingDelegatedWarning, Rejected
from ..tosa.rewrite import Stage
from .report import Report


class Compilation:
    """Takes a program through the stages of ``Stage``.

    Args:
        program: in the ATen dialect, or in ExecuTorch's edge dialect if it may not be edited; it is left as it is.
        checks: asked about every operator.
        known: data of constants, for a program with fake ones (``lowering.exported_program.constants``).
        editable: CANONICALIZE, SEPARATE and LAY_OUT may change the program. Without, it keeps its nodes.
        decompose_rest: DECOMPOSE runs, and LAY_OUT decides for all that stays on the CPU.

    ``program`` is the program as it is after the last stage that ran, ``analysis`` says which of its nodes go to the
    target and ``report`` says so to people.
    """

    def __init__(
        self,
        program: ExportedProgram,
        target: Target,
        checks: Checks = lambda program: (),
        *,
        known: Known = NOTHING,
        editable: bool = True,
        decompose_rest: bool = False,
    ) -> None:
        self.program = program
        self.target = target
        self.editable = editable
        self.decompose_rest = decompose_rest
        self.stage: Stage | None = None
        self._checks = checks
        self._known = known
        self._analysis: Analysis | None = None
        self._report: Report | None = None

    @property
    def analysis(self) -> Analysis:
        """Which nodes go to the target; from LOWER on."""
        assert self._analysis is not None, "LOWER has not run"
        return self._analysis

    @property
    def report(self) -> Report:
        """What is delegated and what is not, and why; from LAY_OUT on."""
        if self._report is None:
            self._report = Report.of(self.program, self.analysis, self.target)
        return self._report

    def checked_report(self) -> Report:
        """``report``.

        Warns:
            NothingDelegatedWarning: with the most frequent reason; the report has all of them.
        """
        if not self.analysis.accepted:
            warnings.warn(self.report.nothing_delegated(), NothingDelegatedWarning, stacklevel=3)
        return self.report

    def run(self, until: Stage = Stage.LAY_OUT) -> Compilation:
        """Runs the stages of the program, those that have not run yet, up to one; returns this object.

        The stages of regions run in ``regions``; ``rewrite_engine.observed`` shows the graphs after each.

        Raises:
            UsageError: the program is not on the CPU, or a size that varies would be fixed.
        """
        work = {
            Stage.CANONICALIZE: self._canonicalize,
            Stage.LOWER: self._lower,
            Stage.SEPARATE: self._separate,
            Stage.DECOMPOSE: self._decompose,
            Stage.LAY_OUT: self._lay_out,
        }
        with kept_varying(self.program):
            for stage in Stage:
                if stage in work and (self.stage or 0) < stage <= until:
                    work[stage]()
                    self.stage = stage
        return self

    def regions(self) -> Iterator[Region]:
        """Every region after VERIFY, in data-flow order, made one at a time; can be asked for once.

        Raises:
            LoweringError: a rewrite broke a graph.
        """
        self.run()
        try:
            if (sizes := self._sizes()) is not None:
                yield from sized_regions(self.program, self.target, self.analysis, sizes, known=self._known)
            else:
                yield from each_region(self.program, self.target, self.analysis)
        except Rejected as why:
            raise LoweringError(f"what {self.target.name} had taken does not lower as a delegate: {why}") from why

    def _sizes(self) -> Sizes | None:
        """What the program's sizes depend on, if they vary and the target's may."""
        return Sizes.of(self.program) if self.target.compiler.sizes else None

    def _canonicalize(self) -> None:
        if self.editable:
            self.program = canonicalize(self.program, RuleSet.of(self.target.name))

    def _lower(self) -> None:
        self._analyse(editable=self.editable)

    def _analyse(self, *, editable: bool) -> None:
        program, target, known = self.program, self.target, self._known
        if (sizes := self._sizes()) is not None:
            self._analysis = analyse_sizes(program, target, self._checks, sizes, known=known, editable=editable)
        else:
            checks, earlier = self._checks(program), self._analysis
            self._analysis = analyse(program, target, checks, known=known, editable=editable, earlier=earlier)

    def _separate(self) -> None:
        """Gives each region its own constants, and only what it reads; narrows int64 where regions begin and end."""
        if not self.editable:
            return
        while (program := without_unread(self.program, self.analysis)) is not None:
            self.program = program
            self._analyse(editable=True)
        if needs_edits(self.program, self.analysis):
            self._edit_copy()
            again = copy_shared(self.program, self.analysis)
            narrow_int64(self.program, self.analysis)
            if again:
                self._analyse(editable=False)

    def _edit_copy(self) -> dict[Node, Node]:
        """Copies the program, to be edited; returns the copy of each node."""
        self.program, twins = copy_with_twins(self.program)
        self._analysis = self.analysis.of_copy(self.program, twins)
        return twins

    def _decompose(self) -> None:
        """Decomposes operators that stay outside and that the target does not take everywhere.

        ExecuTorch decomposes operators that the partitioner does not ask it to keep, and shows it the parts: so do we,
        but only if there are any. The CPU is given remainders, powers and shifts of integers that it computes right,
        and operands of the type that it computes in.
        """
        outside = {node.target for node in self.analysis.calls if _is_outside(node, self.analysis)}
        if self.decompose_rest and outside:
            delegated = {node.target for node in self.analysis.accepted} - outside
            table = {target: made for target, made in default_decompositions().items() if target not in delegated}
            varying = {node.target for node in self.analysis.calls if symbolic_sizes(node)}
            composites = set(filter(_is_composite, outside & varying))
            if chosen := (outside & table.keys()) | composites:
                self.program = decompose(self.program, table, chosen)  # the parts in turn by all of the table
                if any(map(is_uninitialized, self.program.graph.nodes)):
                    self.program = with_zeros(self.program)
                self._analyse(editable=False)
        mends = self.editable or self.decompose_rest
        for edits in (place_edits, remainder_edits, power_edits, shift_edits, number_edits) if mends else ():
            if (mended := with_edits(self.program, self.analysis.accepted, edits)) is not None:
                self.program = mended
                self._analyse(editable=False)

    def _lay_out(self) -> None:
        """Gives who reads what crosses a delegate's edge the memory that it knows; what follows is lowered again then.

        In ExecuTorch's own flow, where views become copies by themselves, only copies are left to be inserted.
        """
        while (self.editable or self.decompose_rest) and (moves := layout(self.program, self.analysis.accepted)):
            if not self.decompose_rest and not (moves.copies or moves.constants):
                return
            twins = self._edit_copy()
            moves.apply(self.program, twins)
            self._analyse(editable=False)
            if not self.decompose_rest:
                return


def _is_outside(node: Node, analysis: Analysis) -> bool:
    edge = is_quantize(node) or is_dequantize(node) or is_int64_cast(node)
    return node not in analysis.accepted and not edge


def _is_composite(target: object) -> bool:
    return isinstance(target, OpOverload) and is_composite(target)
