"""One evaluation: the work of a worker."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from ..exir.target_options import spec_of_name
from ..support.errors import ArmTosaError, NothingDelegatedWarning, ToolError, UsageError
from ..support.garbage import without_collection
from ..support.library_messages import without_import_messages, without_torch_warnings
from .point import Evaluation, Failure, Parameters, Point
from .sources import Sources

#: PyTorch's own state and the caches here do not stand two threads, and a dask worker may have two.
_one_at_a_time = Lock()


@contextmanager
def _alone() -> Iterator[None]:
    """One thread at a time, at full speed, without warnings that users cannot act on."""
    with (
        _one_at_a_time,
        without_collection(),
        without_import_messages(),
        without_torch_warnings(),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", NothingDelegatedWarning)  # it is an error here
        yield


def evaluate(sources: Sources, folder: str, point: Point) -> Evaluation:
    """Quantizes, judges and compiles; results of earlier calls are read from the folder.

    Args:
        folder: keeps quantized programs, for all workers.

    Raises:
        UsageError: the target takes nothing of the model, or whatever its compiler refuses.
    """
    with _alone():
        from ..flow import lower
        from .quantized import quantized

        started = time.perf_counter()
        spec = spec_of_name(point.target, dict(point.options))
        model = quantized(sources, Path(folder), point.parameters, point.scheme, spec)
        lowered = lower(model.program, spec, cache=True)
    if not lowered.report.delegated:
        raise UsageError(lowered.report.nothing_delegated())
    seconds = time.perf_counter() - started
    return Evaluation(lowered.figures, model.accuracy, model.origin, seconds, lowered.cached)


def identify(sources: Sources, parameters: Parameters) -> str | None:
    """A digest of the model in float, to see whether results are still of this model; None if it has none."""
    with _alone():
        from .quantized import in_float

        return in_float(sources, parameters).digest


def guarded(function: Callable[..., Any], *arguments: Any) -> Any:
    """The function's result, or its exception as a ``Failure``: not every exception travels between processes."""
    try:
        return function(*arguments)
    except MemoryError:
        return Failure("the worker ran out of memory: give it more with --memory, or use fewer workers", lasting=False)
    except ArmTosaError as error:
        return Failure(str(error), lasting=_is_refusal(error))
    except (Exception, SystemExit) as error:
        return Failure(f"{type(error).__name__}: {error}".strip(), lasting=False)


def _is_refusal(error: ArmTosaError) -> bool:
    """Whether the same request would fail again: no tool died of it, and the system had no part in it."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ToolError | OSError | MemoryError):
            return False
        cause = cause.__cause__ or cause.__context__
    return True
