"""Formats of firmware's sources: a CMake project for a board, or a part of somebody's system."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from arm_tosa_core.support.errors import UsageError

from ..board import Board
from ..model import Model
from ..npu import Npu
from .cmake import cmake_project
from .cmsis_pack import cmsis_pack
from .sources import sources
from .zephyr import zephyr_module

#: Makers of a format's files besides the sources, for formats that bring no board.
PARTS: Mapping[str, Callable[[Sequence[Model], Npu | None], dict[str, str]]] = {
    "cmsis-pack": cmsis_pack,
    "zephyr": zephyr_module,
}
FORMATS = ("cmake", *PARTS)


def project(models: Sequence[Model], board: Board | None, form: str = "cmake", *, npu: Npu | None) -> dict[str, bytes]:
    """The files of a firmware that a compiler reads, by path; same arguments, same bytes.

    Args:
        npu: None: the models run on the processor alone.
        board: of the format ``cmake``; others have none.

    Raises:
        UsageError: no such format, a board too few or too many, or the names of two models are too much alike.
    """
    if form not in FORMATS:
        raise UsageError(f"there is no format {form!r}; formats are: {', '.join(FORMATS)}")
    if form == "cmake":
        if board is None:
            raise UsageError("the format cmake is for a board: give --board")
        return cmake_project(models, board, npu)
    if board is not None:
        raise UsageError(f"the format {form} is for any board: leave --board {board.name} out")
    return {path: body.encode() for path, body in (sources(models, npu) | PARTS[form](models, npu)).items()}
