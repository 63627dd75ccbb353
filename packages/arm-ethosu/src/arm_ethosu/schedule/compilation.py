"""Vela, and then a schedule of our own for what it made."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from arm_tosa_core.support.atomic_files import write_atomic
from arm_tosa_core.support.errors import ToolError

from .. import vela
from ..accelerators import family_of
from ..vela_ini import VelaIni, locate
from .costs import velas_costs
from .deep import NothingToPrefetchWarning, Outcome, prefetched
from .memories import memories

_DEBUG_DB = "--enable-debug-db"


def scheduled(
    tosa: bytes,
    *,
    accelerator: str,
    config: str | os.PathLike[str] | None,
    system_config: str,
    memory_mode: str,
    flags: Sequence[str] = (),
    timeout: float,
    artifacts: Path | None = None,
) -> tuple[vela.VelaOutput, Outcome]:
    """What Vela made of a TOSA flatbuffer, with constants prefetched, and the plan of that.

    Arguments and errors are those of ``vela.compile``.
    """
    made = vela.compile(
        tosa,
        accelerator=accelerator,
        config=config,
        system_config=system_config,
        memory_mode=memory_mode,
        flags=[*flags, *(() if _DEBUG_DB in flags else (_DEBUG_DB,))],
        timeout=timeout,
        artifacts=artifacts,
    )
    family = family_of(accelerator)
    where = memories(VelaIni(locate(config)), system_config, memory_mode, family)
    try:
        arrays, outcome = prefetched(made.arrays, where, family, partial(velas_costs, made.debug_db))
    except ValueError as error:
        fix = "check that ethos-u-vela is 5.2: vela --version; or leave out the schedule"
        raise ToolError("vela", f"wrote what no schedule can be made of: {error}", fix=fix) from error
    if artifacts is not None:
        write_atomic(artifacts / "schedule.json", outcome.to_json().encode())
    cycles = made.summary["cycles_total"] - outcome.plan.saved
    return replace(made, arrays=arrays, summary={**made.summary, "cycles_total": cycles}), outcome


def compile_deep(tosa: bytes, **arguments: object) -> vela.VelaOutput:
    """Like ``vela.compile``, with constants prefetched; estimated cycles are Vela's less those of the time hidden.

    Warns:
        NothingToPrefetchWarning: the commands are Vela's; says why.
    """
    made, outcome = scheduled(tosa, **arguments)  # type: ignore[arg-type]
    if outcome.reason:
        warnings.warn(f"schedule 'deep' changes nothing: {outcome.reason}", NothingToPrefetchWarning, stacklevel=2)
    return made
