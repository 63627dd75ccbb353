"""Vela, and then a schedule of our own for what it made."""

from __future__ import annotations

import contextvars
import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from arm_tosa_core.support import passing
from arm_tosa_core.support.atomic_files import write_atomic
from arm_tosa_core.support.errors import ArmTosaError, ToolError
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.rewrite_engine import run_rewrites
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification
from arm_tosa_core.tosa.verifier import verify

from ..accelerators import DEFAULTS, family_of
from ..comparison import compile
from ..constraints import checks_for
from ..rewrites import rewrites_for
from ..rewrites.conv2d_in_parts import conv2d_in_parts
from ..vela import VelaOutput
from ..vela_ini import VelaIni, locate
from .costs import memories, velas_costs
from .deep import NothingToPrefetchWarning, Outcome, prefetched
from .verification import Unproved


def scheduled(tosa: bytes, *, artifacts: Path | None = None, **options: Any) -> tuple[VelaOutput, Outcome]:
    """What Vela made of a TOSA flatbuffer, with constants prefetched, and the plan of that.

    Convolutions with many weights are in parts where that takes fewer cycles as a whole.

    Args:
        artifacts, options: those of ``comparison.compile``; errors are its as well.
    """
    best = whole = _scheduled(tosa, artifacts, options)
    if not whole[1].waits:
        return whole
    others = in_parts(tosa, options["accelerator"])
    with ThreadPoolExecutor() as pool:
        for other, attempt in zip(others, pool.map(partial(_attempted, options=options), others), strict=True):
            if attempt and attempt[0].cycles < best[0].cycles and attempt[0].sram_kib <= whole[0].sram_kib:
                best, tosa = attempt, other
    return best if best is whole or artifacts is None else _scheduled(tosa, artifacts, options)


def _attempted(tosa: bytes, options: Mapping[str, Any]) -> tuple[VelaOutput, Outcome] | None:
    """None where Vela does not take it."""
    with TemporaryDirectory(prefix="arm-ethosu-") as folder:
        try:
            return _scheduled(tosa, Path(folder), options)
        except ToolError:
            return None


def _scheduled(tosa: bytes, artifacts: Path | None, options: Mapping[str, Any]) -> tuple[VelaOutput, Outcome]:
    output = compile(tosa, artifacts=artifacts, **options)
    family, ini = family_of(options["accelerator"]), VelaIni(locate(options["config"]))
    where = memories(ini, options["system_config"], options["memory_mode"], family)
    try:
        arrays, outcome = prefetched(output.arrays, where, family, partial(velas_costs, output.debug_db))
    except ValueError as error:
        fix = "check that ethos-u-vela is 5.2: vela --version; or leave out the schedule"
        raise ToolError("vela", f"wrote what no schedule can be made of: {error}", fix=fix) from error
    except Unproved as error:
        fix = "leave out the schedule, and report it: this is a fault of arm-ethosu"
        raise ToolError("schedule 'deep'", f"made a program that is not proved: {error}", fix=fix) from error
    if artifacts is not None:
        write_atomic(artifacts / "schedule.json", outcome.to_json().encode())
    cycles = output.summary["cycles_total"] - outcome.plan.saved
    # Vela's account of its operators is of one after the other, and perhaps of another graph: not of this program.
    return replace(output, arrays=arrays, debug_db="", summary={**output.summary, "cycles_total": cycles}), outcome


def compile_deep(tosa: bytes, **arguments: Any) -> VelaOutput | None:
    """``comparison.compile`` with constants prefetched; estimated cycles are Vela's less those of the time hidden.

    Returns:
        None where nothing is to be gained.

    Warns:
        NothingToPrefetchWarning: says why.
    """
    output, outcome = scheduled(tosa, **arguments)
    if outcome.reason:
        passing.note_warning()
        warnings.warn(f"schedule 'deep' changes nothing: {outcome.reason}", NothingToPrefetchWarning, stacklevel=2)
        return None
    return output


#: Bytes of weights in a part, before they are encoded. Smaller parts fit into more gaps, and cost more of their own.
_MOST = (24 << 10, 48 << 10, 192 << 10)


def in_parts(tosa: bytes, accelerator: str) -> list[bytes]:
    """Flatbuffers with the same results, where convolutions with many weights are several; none twice.

    The weights of a part may be prefetched where those of the whole have no room.
    """
    flatbuffers = [tosa]
    for most in _MOST:
        # In a context of its own: who observes the rewrites of a program is not told.
        parted = contextvars.Context().run(_parted, tosa, accelerator, most)
        flatbuffers += [each for each in parted if each not in flatbuffers]
    return flatbuffers[1:]


def _parted(tosa: bytes, accelerator: str, most: int) -> list[bytes]:
    family = family_of(accelerator)
    rewrite, spec = conv2d_in_parts(most), TosaSpecification.create_from_string(DEFAULTS[family].tosa_spec)
    try:
        graph = load(tosa)
        if not run_rewrites(graph, [rewrite]).rewrites[rewrite.name].applied:
            return []
        run_rewrites(graph, rewrites_for(accelerator))  # around the CONCATs that are new
        verify(graph, spec, checks_for(family))
    except ArmTosaError:
        return []  # a flatbuffer that is not ours, or with what Vela does not take in parts
    return [serialize(graph, spec)]
