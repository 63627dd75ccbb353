"""Errors about a file: its name and the operator, the reason, and what to do."""

from __future__ import annotations

from ..support.errors import Rejected, UsageError

#: What to do about a file that is not as its format says.
DAMAGED = "the file is damaged, or was written wrongly: copy it again, or make it again"
#: What to do about an operator that is not read as it is.
ELSEWHERE = "change it in the model that the file was made from, or make the module in PyTorch"
#: What to do about results whose number varies.
CUT = "cut the model before it, and compute the rest on the CPU"
#: What to do where PyTorch does not take the operands of an operator.
SIZES = "its operands do not fit: check the sizes of --input-shape; without that option, the file is damaged"


def refused(subject: str, error: Exception, otherwise: str) -> UsageError:
    """The error as users read it.

    Args:
        subject: the file, and what in it.
        error: its first line is the reason; of a ``Rejected``, its fix is what to do.
        otherwise: what to do if the error does not say it.
    """
    reason, fix = (error.reason, error.fix) if isinstance(error, Rejected) else (_first_line(error), "")
    fix = fix or otherwise
    return UsageError(f"{subject}: {reason.rstrip('.')}. {fix[:1].upper()}{fix[1:]}")


def _first_line(error: Exception) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
