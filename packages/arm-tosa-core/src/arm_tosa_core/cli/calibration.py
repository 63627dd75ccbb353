"""Samples for ``--quantize``, ``--keep`` and ``--bundle``: an ``.npz`` file, checked against the model's inputs, or a
folder whose files a function of the user's reads."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..support.errors import UsageError
from .files import native, read

if TYPE_CHECKING:
    import torch
    from torch.export import ExportedProgram


#: So many arrays of a file are named in an error.
_NAMED = 6


class CalibrationWarning(UserWarning):
    """Calibration data that is valid but will give a poor quantization."""


def samples(path: Path, program: ExportedProgram) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Arguments and keyword arguments of the model, one pair per sample of an ``.npz`` file.

    Arrays are named by the model's inputs, or ``arr_0``, ``arr_1``, ... in their order. Each has a sample axis before
    the input's own axes; where the input's first axis is a batch of 1, that axis may be the sample axis.

    Raises:
        UsageError: an array is missing, left over, of another shape or data type than its input, not finite, or has
            another number of samples; or the program was saved without example inputs.
    """
    return _of_arrays(path, program, _read(path))


#: The array of an ``.npz`` file that holds classes, where the model has no input of this name.
LABELS = "labels"


def labelled_samples(
    path: Path, program: ExportedProgram, transform: Callable[..., Any] | None = None
) -> tuple[list[Any], list[Any] | None]:
    """Samples of a file or a folder, and the labels of a file that has some.

    Args:
        transform: of each file of a folder, a ``Path``, makes what the model is called with: a tensor, or a tuple of
            them; with a label behind the inputs if there is one.

    Raises:
        UsageError: as ``samples``, a folder without files or ``transform``, or a file with ``transform``.
    """
    if path.is_dir():
        if transform is None:
            raise UsageError(f"{path} is a folder: say with --transform file.py:function what reads a file of it")
        files = sorted(each for each in path.rglob("*") if each.is_file() and not _is_hidden(each.relative_to(path)))
        if not files:
            raise UsageError(f"{path} has no file")
        return [transform(each) for each in files], None
    if transform is not None and path.suffix != ".npz":
        raise UsageError(f"{path} is no folder, of whose files --transform makes samples, and no .npz")
    arrays = _read(path)
    labels = arrays.pop(LABELS, None) if LABELS not in _inputs(program)[2] else None
    calls = list(_of_arrays(path, program, arrays))
    if labels is None:
        return calls, None
    if labels.dtype.kind not in "iu" or labels.ndim not in (1, 2) or len(labels) != len(calls):
        raise UsageError(
            f"{path}: {LABELS} is {labels.dtype} of shape {list(labels.shape)}; expected integers, one for each of the "
            f"{len(calls)} samples"
        )
    return calls, list(labels)


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _of_arrays(
    path: Path, program: ExportedProgram, given: Mapping[str, np.ndarray[Any, Any]]
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    import torch

    from ..compat.torch import tree_unflatten

    leaves, structure, inputs = _inputs(program)
    arrays = _match(path, given, list(inputs))
    stacks = {name: _checked(path, name, array, inputs[name][1]) for name, array in arrays.items()}
    counts = {name: len(stack) for name, stack in stacks.items()}
    if len(set(counts.values())) > 1:
        text = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise UsageError(f"{path}: every input needs the same number of samples, but {text}")
    for sample in range(next(iter(counts.values()))):
        values = list(leaves)
        for name, (position, _) in inputs.items():
            values[position] = torch.from_numpy(np.array(stacks[name][sample]))
        args, kwargs = tree_unflatten(values, structure)
        yield args, kwargs


def bundled_cases(path: Path, program: ExportedProgram) -> list[tuple[list[torch.Tensor], list[torch.Tensor]]]:
    """Inputs of an ``.npz`` file, and what PyTorch computes of them; of a quantized program, quantized.

    Raises:
        UsageError: as ``samples``, or the model does not take and return tensors alone.
    """
    import torch

    from ..compat.torch import tree_flatten
    from ..quantize.probe.runner import unwritten

    module = program.module()
    cases = []
    with unwritten(module), torch.no_grad():
        for args, kwargs in samples(path, program):
            inputs, outputs = (tree_flatten(values)[0] for values in ((args, kwargs), module(*args, **kwargs)))
            if not all(isinstance(value, torch.Tensor) for value in (*inputs, *outputs)):
                raise UsageError("--bundle is for models that take and return tensors alone")
            cases.append((inputs, [value.clone() for value in outputs]))  # a buffer among them is written to later
    return cases


def _inputs(program: ExportedProgram) -> tuple[list[Any], Any, dict[str, tuple[int, torch.Tensor]]]:
    """The example inputs' leaves and structure, and of each tensor among them: name, position and example."""
    import torch

    from ..compat.torch import tree_flatten

    if program.example_inputs is None:
        raise UsageError("the model was saved without example inputs; save it with torch.export.save after export")
    leaves, structure = tree_flatten(program.example_inputs)
    names = program.graph_signature.user_inputs
    tensors = {
        str(name): (position, leaf)
        for position, (name, leaf) in enumerate(zip(names, leaves, strict=True))
        if isinstance(leaf, torch.Tensor)
    }
    return leaves, structure, tensors


def _read(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    try:
        archive = np.load(io.BytesIO(read(path)), allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise UsageError(f"{path} is a single .npy array; save it with numpy.savez(path, input_name=array)")
        arrays = {name: archive[name] for name in archive.files}
        for name, array in arrays.items():
            if not isinstance(array, np.ndarray):
                raise UsageError(f"{path}: {name} is no array; save arrays with numpy.savez(path, input_name=array)")
        return {name: native(array) for name, array in arrays.items()}
    except UsageError:
        raise
    except Exception as error:  # as of read_array
        raise UsageError(f"{path} is not a NumPy .npz file: {error}") from error


def _match(path: Path, arrays: Mapping[str, np.ndarray[Any, Any]], names: list[str]) -> dict[str, np.ndarray[Any, Any]]:
    for keys in (names, [f"arr_{index}" for index in range(len(names))]):
        if set(arrays) == set(keys):
            return {name: arrays[key] for name, key in zip(names, keys, strict=True)}
    expected = ", ".join(names)
    numbered = " to ".join(dict.fromkeys(("arr_0", f"arr_{len(names) - 1}")))
    there = f"the arrays {', '.join(sorted(arrays)[:_NAMED])}" if arrays else "no arrays"
    more = f" and {len(arrays) - _NAMED} more" if len(arrays) > _NAMED else ""
    raise UsageError(
        f"{path} holds {there}{more}; expected one per model input: {expected} (or {numbered}, in this order)"
    )


def _checked(path: Path, name: str, array: np.ndarray[Any, Any], example: torch.Tensor) -> np.ndarray[Any, Any]:
    """The array with a sample axis in front of the input's own shape."""
    shape, dtype = tuple(example.shape), str(example.dtype).removeprefix("torch.")
    where = f"{path}: data for input {name!r}"
    if array.shape[1:] != shape and shape[:1] == (1,) and array.ndim > 0 and array.shape[1:] == shape[1:]:
        array = array[:, np.newaxis]
    if array.ndim == 0 or array.shape[1:] != shape:
        shapes = [shape, shape[1:]] if shape[:1] == (1,) else [shape]
        expected = " or ".join(f"[{', '.join(['N', *map(str, each)])}]" for each in shapes)
        raise UsageError(f"{where} has shape {list(array.shape)}; expected {expected}, N samples of the input's shape")
    if array.dtype.name != dtype:
        raise UsageError(f"{where} is {array.dtype.name}; expected {dtype}")
    if len(array) == 0:
        raise UsageError(f"{where} holds no sample")
    if np.issubdtype(array.dtype, np.floating):
        bad = [sample for sample, values in enumerate(array) if not np.isfinite(values).all()]
        if bad:
            raise UsageError(f"{where} has NaN or infinity in {len(bad)} of {len(array)} samples, first in {bad[0]}")
        if array.size > 1 and (array == array.flat[0]).all():
            warnings.warn(
                f"{where} is the same value ({array.flat[0]}) everywhere; its range will be quantized wrongly",
                CalibrationWarning,
                stacklevel=2,
            )
    return array
