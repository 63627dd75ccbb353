"""Driving Arm's ``model-converter``: a TOSA flatbuffer in, a VGF out."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from arm_tosa_core.support.atomic_files import write_atomic
from arm_tosa_core.support.errors import ToolError, UsageError
from arm_tosa_core.support.external_tools import find_tool, run_tool

from .vgf_format import check_vgf

PACKAGE = "ai-ml-sdk-model-converter"
TIMEOUT_S = 600.0

# Flags that would take the input or the output away from us, or make the tool do something else than convert.
_RESERVED = ("-i", "--input", "-o", "--output", "--tosa-flatbuffer", "-h", "--help", "-v", "--version")


def parse_flags(flags: Iterable[str] | str | None) -> list[str]:
    """``compiler_flags`` as an argument list; one string is split as a shell would.

    Raises:
        UsageError: a flag that this driver sets itself, or an unbalanced quote.
    """
    try:
        words = shlex.split(flags) if isinstance(flags, str) else list(flags or ())
    except ValueError as error:
        raise UsageError(f"compiler_flags {flags!r}: {error}") from None
    for word in words:
        if not isinstance(word, str):
            raise UsageError(f"compiler_flags takes strings, not {type(word).__name__} ({word!r})")
        if word.split("=", 1)[0] in _RESERVED:
            raise UsageError(f"compiler_flags may not hold {word!r}: it is set by the backend, or would make no VGF")
    return [word for word in words if word]


def convert(tosa: bytes, flags: Sequence[str] = (), *, timeout: float = TIMEOUT_S) -> bytes:
    """Converts a TOSA flatbuffer to a VGF.

    Args:
        tosa: TOSA 1.0 flatbuffer.
        flags: of ``model-converter``, one word each; see ``model-converter --help``.
        timeout: seconds.

    Raises:
        UsageError: the flatbuffer cannot be written.
        ToolError: the converter is not installed, failed, hung or wrote a file that is no VGF. It names the
            flatbuffer that is left for inspection, ``network.tosa``.
    """
    executable = find_tool("model-converter", package=PACKAGE)
    folder = Path(tempfile.mkdtemp(prefix="arm-vgf-"))
    source, result = folder / "network.tosa", folder / "network.vgf"
    command = [executable, "--input", str(source), "--output", str(result), *flags]
    keep = False
    try:
        write_atomic(source, tosa)
        output = run_tool("model-converter", command, timeout=timeout, kept=str(source), fix=_FIX)
        try:
            vgf = result.read_bytes()
            check_vgf(vgf)
        except (OSError, UsageError) as error:
            reason = "no file" if isinstance(error, FileNotFoundError) else str(error)
            raise ToolError(
                "model-converter",
                f"ended well but its output is unusable: {reason}",
                command=command,
                output=output,
                kept=str(source),
                fix=_FIX,
            ) from None
        return vgf
    except ToolError:
        keep = True  # the flatbuffer stays, and the error says where
        result.unlink(missing_ok=True)
        raise
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


_FIX = "check compiler_flags against `model-converter --help`; `arm-tosa doctor` shows the version that is used"
