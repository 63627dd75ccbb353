"""Getting VGFs back out of an ExecuTorch program."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from arm_tosa_core.exir.pte import Delegate, delegates
from arm_tosa_core.support.errors import UsageError

from .vgf_format import BACKEND_ID, check_vgf


def extract_vgf(pte: bytes | str | PathLike[str]) -> list[bytes]:
    """The VGF of every ``VgfBackend`` delegate of a ``.pte``, in order; empty if there is none.

    Args:
        pte: the program itself, or the path of its file.

    Raises:
        UsageError: the file cannot be read, is not an ExecuTorch program, or a payload is not a whole VGF.
    """
    payloads: list[bytes] = []
    for delegate in delegates(pte) if isinstance(pte, bytes) else _of_file(Path(pte)):
        if delegate.backend_id != BACKEND_ID:
            continue
        try:
            check_vgf(delegate.payload)
        except UsageError as error:
            raise UsageError(f"delegate {delegate.index} of {delegate.method!r}: {error}") from None
        payloads.append(delegate.payload)
    return payloads


def _of_file(path: Path) -> list[Delegate]:
    try:
        return delegates(path.read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error
