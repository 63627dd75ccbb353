"""What Vela wrote beside the graph that it stands for; see ``docs/explanation/ethosu-check.md``.

A difference is a fault of Vela that would give wrong results without a word, so every compilation looks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arm_tosa_core.support.database_tables import tables
from arm_tosa_core.support.errors import MiscompiledError, ToolError, UsageError
from arm_tosa_core.tosa.graph import Graph

from ..accelerators import family_of
from ..command_stream.operations import decode
from ..vela import Arrays, Run, VelaOutput, Workplace, workplace
from ..vela_layers import FLAG
from .debug_database import Lifetimes, owned
from .difference import Difference, port_difference
from .elementwise import choice_difference, operand_difference
from .lookups import table_difference
from .memory import memory_difference
from .windows import window_difference
from .zero_points import range_difference, zero_point_difference

_FIX = (
    "this is a fault of Vela, found before the program could give wrong results: change the model at this operator, or "
    "keep it in float, on the CPU (quantizer.set_module_name(NAME, None)), and please report it with the input; "
    "docs/explanation/ethosu-check.md has more"
)


def compile(
    tosa: bytes, *, accelerator: str, flags: Sequence[str] = (), artifacts: Path | None = None, **options: Any
) -> VelaOutput:
    """As ``vela.compile``, with a debug database, and compared with the graph.

    Raises:
        ToolError, UsageError: as ``vela.compile``.
        MiscompiledError: Vela wrote another program than the graph's.
    """
    with workplace(tosa, accelerator=accelerator, artifacts=artifacts, **options) as place:
        (run,) = place.runs([[*flags, *(() if FLAG in flags else (FLAG,))]])
        return chosen(place, run, accelerator)


def chosen(place: Workplace, run: Run | ToolError, accelerator: str) -> VelaOutput:
    """``place.chosen``, compared with the graph; the run wrote a debug database.

    Raises:
        ToolError: as ``place.chosen``.
        MiscompiledError: Vela wrote another program than the graph's.
    """
    output = place.chosen(run)
    assert isinstance(run, Run)
    try:
        fault = difference(place.tosa, place.graph, output.arrays, output.debug_db, accelerator)
    except UsageError as error:
        raise run.garbage(run.npz, str(error)) from error
    if fault is not None:
        source = str(run.source)
        raise MiscompiledError("vela", str(fault), tensor=fault.tensor, command=run.command, kept=source, fix=_FIX)
    return output


def difference(tosa: bytes, graph: Graph, arrays: Arrays, debug_db: str, accelerator: str) -> Difference | None:
    """The first difference between a graph and what Vela made of it; None: there is none.

    Raises:
        ToolError: the debug database is not as Vela 5.2 writes it.
        UsageError: the command stream is none.
    """
    commands, said = decode(arrays["cmd_data"]), tables(debug_db)
    kernels = owned(said, commands, tosa, graph)
    return (
        port_difference(said, arrays, graph)
        or window_difference(kernels)
        or zero_point_difference(kernels)
        or range_difference(kernels)
        or operand_difference(kernels, family_of(accelerator))
        or choice_difference(kernels)
        or memory_difference(arrays, commands, kernels, Lifetimes(said, graph, kernels), family_of(accelerator))
        or table_difference(arrays, commands, kernels, accelerator)
    )
