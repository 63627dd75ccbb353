"""What a quantized program costs on a target, as pages of reports have it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..support.errors import ArmTosaError, NothingDelegatedWarning
from .delegate_times import DelegateTimes
from .report import say

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from ..exir.compile_spec import ArmCompileSpec
    from ..exir.figures import Figures
    from ..exir.report import Report
    from ..report.page_data import DelegateTime


def program_costs(
    program: ExportedProgram, spec: ArmCompileSpec
) -> tuple[Report | None, Figures | None, Sequence[DelegateTime]]:
    """Its report, figures and times; nothing, and a warning, if it cannot be compiled."""
    from ..exir.watchers import watched
    from ..flow import lower

    times = DelegateTimes(spec, wanted=True)
    try:
        with warnings.catch_warnings(), watched(times.watch):
            warnings.simplefilter("ignore", NothingDelegatedWarning)
            lowered = lower(program, spec)
        return lowered.report, lowered.figures, times.of_delegates()
    except ArmTosaError as error:
        say(f"warning: the page has no costs, since the model does not compile: {error}")
        return None, None, ()
