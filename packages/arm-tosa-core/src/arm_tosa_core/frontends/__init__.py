"""Front doors: models in files of other frameworks, as exported programs.

A format is a module with ``read``, which makes a ``FileGraph`` of a file's bytes, and ``ROWS``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..support.errors import UsageError
from ..support.printable import printable

if TYPE_CHECKING:
    from torch import Tensor
    from torch.export import ExportedProgram

    from .file_graph import FileGraph

#: The module that reads the files of a suffix.
FORMATS: dict[str, str] = {".onnx": ".onnx", ".tflite": ".tflite", ".tosa": ".tosa"}


def load_model(
    path: str | Path,
    *,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    input_values: Mapping[str, float] | None = None,
) -> ExportedProgram:
    """A model in a file of another framework, as a program that ``lower`` and ``quantize_program`` take.

    Args:
        path: an ``.onnx``, ``.tflite`` or ``.tosa`` file.
        input_shapes: sizes of inputs, by the names that the file has; needed where it leaves sizes open. A first size
            that alone is open (the batch) is 1 without it. An input with a default (an initializer of its name) is
            a constant, and an input of the program if its sizes are here.
        input_values: a number for each element of an input, which the program then has as a constant.

    Raises:
        UsageError: the file cannot be read, is damaged or of another kind; an operator in it cannot be read, with the
            operator's name in the file; sizes are missing.
    """
    graph, reader, file = _read(Path(path))
    from .file_model import FileModel

    return FileModel(graph, reader.ROWS, file, input_shapes, input_values).export()


def fixed_inputs(
    path: str | Path, input_shapes: Mapping[str, Sequence[int]], input_values: Mapping[str, float]
) -> dict[str, Tensor]:
    """The inputs of a file that ``input_values`` names, by name, as the file's runtime takes them.

    Raises:
        UsageError: as of ``load_model``.
    """
    if not input_values:
        return {}
    graph, _, file = _read(Path(path))
    from .file_inputs import filled

    return filled(graph.inputs, input_shapes, input_values, file)


def _read(path: Path) -> tuple[FileGraph, Any, str]:
    """The graph in a file, the module of its format, and the file's name, printable."""
    if path.suffix not in FORMATS:
        raise UsageError(f"cannot tell what {str(path)!r} is; there are readers of {', '.join(FORMATS)}")
    reader = import_module(FORMATS[path.suffix], __name__)
    try:
        graph = reader.read(path)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    return graph, reader, printable(path.name).replace('"', "'")
