"""What a file is that PyTorch wrote: told from its table of contents, before PyTorch is imported."""

from __future__ import annotations

import io
import zipfile

from ..support.foreign import parsed

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
