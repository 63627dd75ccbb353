"""Tries the candidates of a target and of networks, and tells those that save time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import torch

from ..aten.memory_format import MEMORY_FORMATS
from ..compat.torch_sizes import dynamic_shapes
from ..exir.compile_spec import ArmCompileSpec
from ..exir.figures import Figures
from ..exir.report import Report
from ..flow import LoweredProgram, lower
from ..flow.lowered import compile_spec_of
from ..plugin.guard import PluginError
from ..plugin.target import Target
from ..quantize.post_training import quantize_program
from ..quantize.probe.calls import as_call
from ..support.memory_size import kib
from .candidate import Candidate, Request
from .network import candidates_of_network

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from ..quantize.decisions import Decision
    from ..quantize.quantizer import TOSAQuantizer

#: What is told saves at least this part of the cycles, and is at most so many lines.
LEAST, LINES = 0.02, 5
#: Candidates that are tried: each takes about as long as compiling without the export.
TRIALS = 8


@dataclass(frozen=True)
class Advice:
    """A change that was tried.

    Args:
        change, command, modules, what, price: as of ``Candidate``; the price with the memory that it takes.
        share: of the cycles that the modules take, 0 to 1; 1: it is about the whole.
        cycles_before, cycles: estimated, of an inference without and with it. None: it could not be compiled.
        refusal: why, then.
    """

    change: str
    command: str
    modules: tuple[str, ...]
    what: str
    share: float
    price: str
    cycles_before: float
    cycles: float | None
    refusal: str = ""

    @property
    def saving(self) -> float:
        """The part of the cycles that it saves; below 0 where it costs some."""
        return 0.0 if self.cycles is None else 1 - self.cycles / self.cycles_before

    @property
    def text(self) -> str:
        """One sentence."""
        if self.cycles is None:
            return f"{self.change}: {self.refusal}"
        gain = f"{self.change}: {-self.saving:+.0%} ({self.cycles:,.0f} cycles)"
        how = f"; {self.command}" if self.command else ""
        price = f"; {self.price}" if self.price else ""
        return f"{self._subject}{gain}{how}{price}"

    @property
    def _subject(self) -> str:
        if not self.modules:
            return ""
        first = f"`{self.modules[0] or 'the model itself'}`"
        what = f" ({self.what})" if self.what else ""
        if len(self.modules) == 1:
            return f"{first}{what} takes {self.share:.0%} of the cycles; "
        return f"{first} and {len(self.modules) - 1} more{what} take {self.share:.0%} of the cycles; "

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "text": self.text,
            "change": self.change,
            "command": self.command,
            "modules": list(self.modules),
            "what": self.what,
            "share": self.share,
            "price": self.price,
            "cycles_before": self.cycles_before,
            "cycles": self.cycles,
            "saving": self.saving,
            "refusal": self.refusal,
        }


@dataclass(frozen=True)
class Advised:
    """What was tried.

    Args:
        told: what saves time, the most first.
        tried: all of it, in the order in which it was tried.
        left_out: candidates that were not tried, because ``TRIALS`` were.
        has_cycles: the cycles of the program are known, without which nothing is tried.

    ``str`` of it has what is told, a line each, or why there is nothing.
    """

    told: Sequence[Advice] = ()
    tried: Sequence[Advice] = ()
    left_out: int = 0
    has_cycles: bool = True

    def __str__(self) -> str:
        if not self.has_cycles:
            return "no advice: it needs an estimate of cycles, and the target has none of this model"
        if not self.tried:
            return "no advice: no change that could help is known for this model, target and options"
        lines = [f"{number}. {row.text}" for number, row in enumerate(self.told, 1)]
        refused = sum(row.cycles is None for row in self.tried)
        failed = f", {refused} could not be compiled (--json has why)" if refused else ""
        none = "" if lines else f" none saves {LEAST:.0%}{failed}"
        count = f"{len(self.tried)} change{'s' if len(self.tried) > 1 else ''}"
        return "\n".join([f"advice, of {count} tried:{none}", *lines])

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "told": [row.to_json() for row in self.told],
            "tried": [row.to_json() for row in self.tried],
            "left_out": self.left_out,
        }


def advise(
    program: ExportedProgram,
    target: str | ArmCompileSpec,
    *,
    quantizer: TOSAQuantizer | None = None,
    samples: Iterable[Any] = (),
    memory_format: torch.memory_format = torch.contiguous_format,
    integer_io: bool = False,
) -> Advised:
    """Compiles a program, and tries what may make it faster: other options, another quantization, another network.

    Args:
        program: as it was exported, before quantization.
        target: the name of an installed target, or a compile spec.
        quantizer, samples: of ``quantize_program``; without, the program is compiled as it is.
        memory_format, integer_io: as of ``lower``.

    Raises:
        UsageError, LoweringError, ToolError: as ``quantize_program`` and ``lower``; not for a change that was tried.
    """
    (order,) = (name for name, value in MEMORY_FORMATS.items() if value is memory_format)
    spec, calls = compile_spec_of(target), list(samples)
    quantized, decisions = _quantized(program, quantizer, calls)
    request = Request(program, spec, quantizer, calls, decisions, order, integer_io)
    lowered = lower(quantized, spec, cache=True, memory_format=memory_format, integer_io=integer_io)
    return try_changes(request, lowered, quantized)


def try_changes(
    request: Request,
    lowered: LoweredProgram,
    quantized: ExportedProgram,
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Advised:
    """Tries what may make a compiled program faster.

    Each candidate is compiled as the program was, and kept in the cache of results. One of each group is tried first,
    and of these the ones about the most cycles; no more than ``TRIALS`` in all: what is told depends on the program
    alone, not on the time that it took.

    Args:
        lowered, quantized: what became of the request, and of its program in between.
        progress: called after each trial with their number so far, and how many there will be.

    Raises:
        PluginError: the target's candidates cannot be imported.
    """
    target, report, before = request.spec.target(), lowered.report, lowered.figures
    if before.cycles is None or not before.cycles:
        return Advised(has_cycles=False)
    known = [*_of_target(target, request, report), *candidates_of_network(request, report)]
    shares = [(candidate.share(report), candidate) for candidate in known if candidate.group not in request.fixed]
    worth = in_turns([row for row in sorted(shares, key=lambda row: -row[0]) if row[0] >= LEAST])
    tried: list[tuple[Candidate, Advice, Figures | None]] = []
    for share, candidate in worth[:TRIALS]:
        tried.append((candidate, *_tried(candidate, share, request, before, quantized)))
        progress(len(tried), len(worth[:TRIALS]))
    told: dict[str, Advice] = {}
    for candidate, advice, _ in sorted(tried, key=lambda row: (-row[1].saving, _sram(row[2]))):
        if advice.saving >= LEAST:
            told.setdefault(candidate.group or candidate.change, advice)
    return Advised(list(told.values())[:LINES], [advice for _, advice, _ in tried], len(worth[TRIALS:]))


def in_turns(rows: Sequence[tuple[float, Candidate]]) -> list[tuple[float, Candidate]]:
    """The rows, the first of each group before the second of any: a large group leaves trials to the others."""
    places: Counter[str] = Counter()
    turns = []
    for row in rows:
        group = row[1].group
        turns.append(places[group] if group else 0)
        places[group] += 1
    return [row for _, row in sorted(zip(turns, rows, strict=True), key=lambda pair: pair[0])]


def _sram(figures: Figures | None) -> int:
    return 0 if figures is None else figures.sram_bytes or 0


def _of_target(target: Target, request: Request, report: Report) -> Iterable[Candidate]:
    """Candidates of the target's package."""
    if not target.report.advice:
        return []
    module, _, name = target.report.advice.partition(":")
    try:
        make: Callable[[Request, Report], Iterable[Candidate]] = getattr(import_module(module), name)
    except Exception as error:
        problem = f"its advice {target.report.advice!r} cannot be imported: {type(error).__name__}: {error}"
        raise PluginError(f"target {target.name!r}: {problem}") from error
    return list(make(request, report))


def _tried(
    candidate: Candidate, share: float, request: Request, before: Figures, quantized: ExportedProgram
) -> tuple[Advice, Figures | None]:
    assert before.cycles is not None

    def advice(cycles: float | None, price: str, refusal: str = "") -> Advice:
        places = (candidate.change, candidate.command, candidate.modules, candidate.what)
        return Advice(*places, share, price, before.cycles or 0.0, cycles, refusal)

    try:
        figures = _figures(candidate.make(request), request, quantized)
    except Exception as error:  # PyTorch raises whatever it likes of a graph that was changed
        return advice(None, candidate.price, " ".join(f"{error}".split()) or type(error).__name__), None
    if (figures.on_cpu or 0) > (before.on_cpu or 0):
        return advice(None, candidate.price, f"{figures.on_cpu} operators stay on the CPU with it"), None
    prices = [candidate.price] if candidate.price else []
    for name, now, then in (
        ("SRAM", figures.sram_bytes, before.sram_bytes),
        ("DRAM", figures.dram_bytes, before.dram_bytes),
        ("flash", figures.flash_bytes, before.flash_bytes),
    ):
        if now is not None and then is not None and now > then * (1 + LEAST):
            prices.append(f"{kib(now)} of {name} in place of {kib(then)}")
    return advice(figures.cycles, ", ".join(prices)), figures


def _figures(changed: Request, base: Request, quantized: ExportedProgram) -> Figures:
    if changed.program is not base.program or changed.quantizer is not base.quantizer:
        quantized, _ = _quantized(changed.program, changed.quantizer, changed.samples)
    order = MEMORY_FORMATS[changed.memory_format]
    return lower(quantized, changed.spec, cache=True, memory_format=order, integer_io=changed.integer_io).figures


def _quantized(
    program: ExportedProgram, quantizer: TOSAQuantizer | None, samples: Sequence[Any]
) -> tuple[ExportedProgram, Sequence[Decision]]:
    """The program as it is lowered, and what quantization decided."""
    if quantizer is None:
        return program, ()
    made = quantize_program(program, quantizer, samples)
    args, kwargs = program.example_inputs or as_call(0, samples[0])
    exported = torch.export.export(made.converted, args, dict(kwargs), dynamic_shapes=dynamic_shapes(program))
    return exported, made.report
