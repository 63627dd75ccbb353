"""Files that commands read and write."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..exir import pte
from ..plugin.target import Target
from ..support.atomic_files import write_atomic
from ..support.errors import LoweringError, UsageError
from ..support.foreign import parsed
from ..tosa.loader import load
from ..tosa.verifier import verify


def read(path: Path) -> bytes:
    """A file's contents.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error


def read_tosa(path: Path) -> bytes:
    """A TOSA flatbuffer.

    Raises:
        UsageError: it cannot be read, is no TOSA flatbuffer (its identifier, bytes 4 to 8, is not ``TOSA``) or a
            damaged one.
    """
    data = read(path)
    if data[4:8] != b"TOSA":
        raise UsageError(f"{path} is not a TOSA flatbuffer: bytes 4 to 8 are {data[4:8]!r}, not b'TOSA'")
    try:
        load(data)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error
    return data


def require_takes(target: Target, tosa: bytes, path: Path) -> None:
    """That a target takes every operator of a TOSA flatbuffer, whichever front end made it.

    Raises:
        UsageError: it does not; names the first operator.
    """
    graph, spec = load(tosa), target.tosa_spec
    real = next((op for op in graph.ops for tensor in op.outputs if tensor.dtype.is_float), None)
    if real is not None and not spec.support_float():
        raise UsageError(
            f"{path} computes in float ({real.name} makes {real.output.dtype.name}), and {target.name} has integers "
            "only: quantize the model, then convert it to TOSA"
        )
    try:
        verify(graph, spec, target.checks)
    except LoweringError as error:
        raise UsageError(f"{path}: {target.name} does not take {error}") from error


def read_program(path: Path, data: Sequence[Path] | None = None) -> pte.Pte:
    """An ExecuTorch program.

    Args:
        data: the ``.ptd`` files that belong to it.

    Raises:
        UsageError: one of the files cannot be read, is not what it should be or damaged.
    """
    program, files = read(path), [read(file) for file in data or ()]
    try:
        return pte.read(program, files)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def read_array(path: Path) -> np.ndarray[Any, Any]:
    """The array in a ``.npy`` file, in this machine's byte order.

    Raises:
        UsageError: it cannot be read, is no ``.npy`` file or holds Python objects.
    """
    data = read(path)
    try:
        array = np.load(io.BytesIO(data), allow_pickle=False)
    except Exception as error:  # NumPy reads headers as Python, archives by zlib: damaged ones fail in many ways
        if data.startswith(np.lib.format.MAGIC_PREFIX):
            raise UsageError(f"{path} is damaged, or holds Python objects instead of numbers: {error}") from error
        raise UsageError(f"{path} is not a NumPy .npy file: {error}") from error
    if not isinstance(array, np.ndarray):
        raise UsageError(f"{path} is an .npz archive; give one .npy file per input")
    return native(array)


def native(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array in this machine's byte order."""
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def write_array(path: Path, array: np.ndarray[Any, Any]) -> None:
    """Writes a ``.npy`` file.

    Raises:
        UsageError: it cannot be written.
    """
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    write_atomic(path, buffer.getvalue())


#: What to do with a module.
EXPORT = "save torch.export.export(module.eval(), inputs) with torch.export.save"
#: Members of an archive of torch.export.save, of this version or of an earlier one.
_OF_EXPORT = ("archive_format", "models/model.json", "serialized_exported_program.json")


def why_no_program(data: bytes) -> str:
    """Why these bytes are no program of ``torch.export``, and what to do; empty if they may be one."""
    try:
        names = zipfile.ZipFile(io.BytesIO(data)).namelist()
    except (zipfile.BadZipFile, ValueError, OSError):
        return f"is not a file of torch.export.save: {EXPORT}"
    if any(name.endswith(_OF_EXPORT) for name in names):
        return ""
    if any("/code/" in name for name in names):
        return f"is TorchScript, of torch.jit.save, and no exported program. Make the module in Python and {EXPORT}"
    if any(name.endswith("/data.pkl") for name in names):
        return (
            "was written by torch.save: it is a state_dict, or a pickled module. Make the module in Python, load the "
            f"state_dict into it and {EXPORT}"
        )
    return f"is an archive of something else: {EXPORT}"


def schema_of(data: bytes) -> str:
    """The version of the format, such as ``8.15``; empty: the file does not say."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            (name,) = (name for name in archive.namelist() if name.endswith("models/model.json"))
            version = parsed(archive.read(name))["schema_version"]
            return f"{int(version['major'])}.{int(version['minor'])}"
    except Exception:  # whatever a damaged file raises: nothing is known then
        return ""
