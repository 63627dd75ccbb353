"""What was delegated, what was not, and why: for people; read from a file without PyTorch."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Collection
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from ..compat.executorch import REFUSED, missing_kernel, registered_kernels
from ..plugin.target import Target
from ..support.durations import milliseconds
from ..support.errors import Rejected
from ..support.memory_size import kib
from ..support.printable import printable
from .compiled_delegate import CompiledDelegate
from .figures import Figures, added_up

if TYPE_CHECKING:
    import pandas
    from torch.export import ExportedProgram
    from torch.fx import Node

    from ..lowering.analysis_result import Analysis

#: The reason of a refusal where the optimizer leaves a region empty.
NOTHING_TO_DO = Rejected("does nothing, together with what it is delegated with: results are what is given")

#: What to do about operators that ExecuTorch has no kernel for, by its name.
_INSTEAD = {"aten::sort.values": "torch.topk(x, x.shape[dim], dim, largest=False) sorts too, and has a kernel"}
#: About the others, and the reason of those that are no operators of the program itself.
_WITHOUT = "do without it in the model, or compute it outside of the program"
_INSIDE = "is in the body of control flow, or what ExecuTorch makes of another operator"

#: Of a layer, that are added up over an operator.
_COSTS = ("cycles", "macs", "bytes")


@dataclass(frozen=True)
class Row:
    """One operator of the model.

    Args:
        node: its name in the graph.
        target: the ATen overload.
        source: the user's source line, if known.
        reason: why it stays on the CPU; empty if it is delegated.
        fix: what the user can do about it, if known.
        module: where it is in the model, as ``named_modules`` has it.
        inputs: nodes of the operators whose results it reads; quantize, dequantize and casts between are left out.
        position: in the order of the program, from 0.
        kernel: what ExecuTorch calls the operator, if it stays on the CPU and the ExecuTorch installed here has no
            kernel for it: the program does not load here.
        classes: of the modules that ``module`` goes through, the outermost first; "" where nobody says.
    """

    node: str
    target: str
    source: str = ""
    reason: str = ""
    fix: str = ""
    module: str = ""
    inputs: tuple[str, ...] = ()
    position: int = 0
    kernel: str = ""
    classes: tuple[str, ...] = ()


@dataclass
class Report:
    """The operators of a program, delegated or not; quantize, dequantize and casts at the edges are counted apart."""

    target: str
    delegates: int = 0
    delegated: list[Row] = field(default_factory=list)
    rejected: list[Row] = field(default_factory=list)
    edges: int = 0
    compiled: list[CompiledDelegate] = field(default_factory=list)

    def figures(self, file_bytes: int, seconds: float) -> Figures:
        """What the program costs.

        Args:
            file_bytes: of what was compiled.
            seconds: that compiling took.
        """
        counts = len(self.delegated), len(self.rejected), self.delegates
        return added_up(*counts, self.compiled, file_bytes, seconds)

    @staticmethod
    def of(program: ExportedProgram, analysis: Analysis, target: Target) -> Report:
        """The report of an analysis."""
        from ..lowering.exported_program import (
            is_dequantize,
            is_int64_cast,
            is_quantize,
            module_classes,
            module_path,
            source_line,
        )
        from ..lowering.operator_names import canonical, is_cast

        report = Report(target.name, len(set(analysis.accepted.values())))
        makers: dict[Node, dict[str, None]] = {}
        for position, node in enumerate(program.graph.nodes):
            if node.op != "call_function":
                continue
            edge = is_quantize(node) or is_dequantize(node) or is_int64_cast(node)
            reads = {name: None for n in node.all_input_nodes for name in makers.get(n, ())}
            operator = canonical(node.target)
            row = Row(
                node.name,
                operator,
                source_line(node),
                module=module_path(node),
                inputs=tuple(reads),
                position=position,
                classes=module_classes(node),
            )
            # ExecuTorch makes a tensor of a number and casts it: no operator of the model, and none at run time.
            passing = edge or operator == "getitem" or (node in analysis.constant and is_cast(node.target))
            makers[node] = reads if passing else {node.name: None}
            if node in analysis.accepted:
                if not edge and not (node in analysis.constant and is_cast(node.target)):
                    report.delegated.append(row)
            elif edge:
                report.edges += 1
            elif row.target != "getitem":
                kernel = missing_kernel(node.target, _operands(node))
                why = analysis.rejected.get(node, Rejected(""))
                fix = "; or ".join(filter(None, (why.fix, _instead(kernel))))
                report.rejected.append(replace(row, reason=why.reason, fix=fix, kernel=kernel))
        return report

    def refuse(self, nodes: Collection[str], why: Rejected) -> None:
        """Notes that the delegate for these nodes is not made."""
        rows = [row for row in self.delegated if row.node in nodes]
        self.delegated = [row for row in self.delegated if row.node not in nodes]
        self.rejected += [replace(row, reason=why.reason, fix=why.fix) for row in rows]
        self.delegates -= 1

    def nothing_delegated(self) -> str:
        """One paragraph for a program of which nothing was delegated."""
        from ..lowering.analysis_result import CONSTANT

        if not self.rejected:
            return f"nothing was delegated to {self.target}: the program has no operators that compute"
        reasons = Counter(row.reason for row in self.rejected)
        # Constants stay where those are that read them: a consequence, named only if there is nothing else.
        reason, count = max(reasons.items(), key=lambda found: (found[0] != CONSTANT.reason, found[1]))
        fix = next((row.fix for row in self.rejected if row.reason == reason and row.fix), "")
        todo = f". What to do: {fix}" if fix else ""
        return (
            f"nothing was delegated to {self.target}: all {len(self.rejected)} operators stay on the CPU. "
            f"Reason for {count} of them: {reason}{todo}. `arm-tosa explain` lists every operator"
        )

    def without_kernels(self) -> str:
        """One paragraph on operators that the ExecuTorch installed here cannot run on the CPU; empty if it can all."""
        rows = [row for row in self.rejected if row.kernel]
        if not rows:
            return ""
        more = {name: f" {words}" for name, (words, _) in REFUSED.items()}
        kernels = ", ".join(dict.fromkeys(row.kernel + more.get(row.kernel, "") for row in rows))
        places = (f"{row.target}{f' at {row.source}' if row.source else ''} ({row.reason})" for row in rows)
        fixes = "; ".join(dict.fromkeys(row.fix for row in rows))
        return (
            f"the program does not load or run in the ExecuTorch installed here, which has no kernel for {kernels}. "
            f"Not delegated: {'; '.join(dict.fromkeys(places))}. What to do: {fixes}; or load the program in a "
            "runtime that registers such a kernel"
        )

    def with_kernels_of(self, used: Collection[str]) -> Report:
        """This report where operators of these names are on the CPU: others may have been taken by other partitioners.

        Those without a kernel in the bodies of control flow, which has no rows of its own, become rows.
        """
        rows = [row if row.kernel in used else replace(row, kernel="") for row in self.rejected]
        known = registered_kernels() | {row.kernel for row in rows}
        inside = sorted(set(used) - known) if registered_kernels() else []
        rows += [Row(name, name, reason=_INSIDE, fix=_instead(name), kernel=name) for name in inside]
        return replace(self, rejected=rows)

    def to_dataframe(self) -> pandas.DataFrame:
        """A row for each operator, in the order of the program; costs are the compiler's estimates, if it says any.

        Columns: ``node``, ``operator``, ``module``, ``source``, ``delegated``, ``reason``, ``fix``, ``cycles``,
        ``macs``, ``bytes``, ``bound``: the unit or memory that decides its time. An operator without
        cycles runs as part of another.
        """
        import pandas  # slow to import, and the commands do without it

        rows = []
        delegated = {row.node for row in self.delegated}
        layers = [layer for said in self.compiled for layer in said.layers]
        for row in sorted([*self.delegated, *self.rejected], key=lambda row: row.position):
            own = [layer for layer in layers if layer.node == row.node]
            cost = [sum(getattr(layer, name) for layer in own) if own else None for name in _COSTS]
            bound = max(own, key=lambda layer: layer.cycles).bound if own else ""
            place = (row.node, row.target, row.module, row.source, row.node in delegated, row.reason, row.fix)
            rows.append((*place, *cost, bound))
        columns = ["node", "operator", "module", "source", "delegated", "reason", "fix", *_COSTS, "bound"]
        return pandas.DataFrame(rows, columns=columns)

    def _summary(self) -> list[tuple[str, str]]:
        """What a terminal and a notebook show."""
        figures = self.figures(0, 0.0)
        rows = [
            ("target", self.target),
            ("operators delegated", f"{len(self.delegated)} in {self.delegates} delegates"),
        ]
        rows.append(("operators on the CPU", str(len(self.rejected))))
        for name, value in ((figures.cycles_title, figures.cycles), ("SRAM, bytes", figures.sram_bytes)):
            rows += [] if value is None else [(name, f"{value:,.0f}")]
        if figures.inferences_per_second is not None:
            rows.append(("inferences per second, estimated", f"{figures.inferences_per_second:,.1f}"))
            rows.append(("time, estimated", milliseconds(1 / figures.inferences_per_second)))
        in_use, moved = figures.memory_titles
        rows += [(in_use, kib(figures.dram_bytes))] if figures.dram_bytes else []
        rows += [(moved, figures.traffic)] if figures.traffic else []
        rows += [("not in these figures", note) for note in figures.notes]
        for row in self.rejected:
            kernel = f"; the ExecuTorch installed here has no kernel for it ({row.kernel})" if row.kernel else ""
            rows.append((f"{row.target} stays on the CPU", row.reason + kernel))
        return [(printable(name), printable(text)) for name, text in rows]

    def __rich__(self) -> Table:
        table = Table(show_header=False)
        for row in self._summary():
            table.add_row(*map(escape, row))
        return table

    def _repr_html_(self) -> str:
        cells = (f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>" for name, text in self._summary())
        return f"<table>{''.join(cells)}</table>"

    def to_json(self) -> dict[str, Any]:
        """This report as JSON values; ``foreign.record`` is the inverse."""
        return asdict(self)


def _instead(kernel: str) -> str:
    """What to do about an operator without a kernel; empty: it has one."""
    return _INSTEAD.get(kernel, _WITHOUT) if kernel else ""


def _operands(node: Node) -> tuple[Any, ...]:
    """Those of an operator without names; tensors for nodes."""
    from torch.fx.node import map_arg

    values: tuple[Any, ...] = map_arg(node.args, lambda operand: operand.meta.get("val"))
    return values
