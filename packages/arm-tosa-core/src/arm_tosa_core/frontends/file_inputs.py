"""The inputs of a model file: which of them the program has, and their sizes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..support.errors import DefaultInputWarning, UsageError


@dataclass(frozen=True)
class FileInput:
    """An input of the model: its sizes, of which those that the file leaves open are names or -1, and its type.

    Args:
        default: what it is if nobody gives it; it is then a constant of the program.
    """

    name: str
    shape: tuple[int | str, ...]
    dtype: torch.dtype
    default: Tensor | None = None


@dataclass(frozen=True)
class SizedInput:
    """An input of the program."""

    name: str
    sizes: tuple[int, ...]
    dtype: torch.dtype


def sized_inputs(
    inputs: Sequence[FileInput], shapes: Mapping[str, Sequence[int]], values: Mapping[str, float], file: str
) -> tuple[tuple[SizedInput, ...], dict[str, Tensor]]:
    """The inputs of the program, and those of the file that are constants in it.

    Args:
        shapes: sizes by name. An input with a default is one of the program if it is here.
        values: numbers by name, which inputs are always.

    Raises:
        UsageError: a name is of no input, sizes are missing or do not fit, or a number is none of the input's type.
    """
    names = [one.name for one in inputs]
    fixed = filled(inputs, shapes, values, file)
    if unknown := [name for name in (*shapes, *values) if name not in names]:
        raise UsageError(f"{file} has no input {unknown[0]!r}; it has: {', '.join(names) or 'none'}. Name one of these")
    found, defaults = [], []
    for one in inputs:
        if one.name in values:
            continue
        if one.default is not None and one.name not in shapes:
            fixed[one.name] = one.default
            defaults.append(one)
        else:
            found.append(SizedInput(one.name, _sizes(one, shapes.get(one.name), file), one.dtype))
    if defaults:
        listed = ", ".join(one.name for one in defaults[:3])
        listed += f" and {len(defaults) - 3} more" if defaults[3:] else ""
        sizes = "x".join(map(str, defaults[0].shape))
        warnings.warn(
            f"{file}: inputs with a default are constants of the program: {listed}. To keep one as an input, give its "
            f"sizes: --input-shape {defaults[0].name}={sizes}",
            DefaultInputWarning,
            stacklevel=2,
        )
    return tuple(found), fixed


def filled(
    inputs: Sequence[FileInput], shapes: Mapping[str, Sequence[int]], values: Mapping[str, float], file: str
) -> dict[str, Tensor]:
    """By name, the inputs that ``values`` names, full of their numbers.

    Raises:
        UsageError: sizes are missing or do not fit, or a number is none of the input's type.
    """
    chosen = [one for one in inputs if one.name in values]
    return {one.name: _filled(one, shapes.get(one.name), values[one.name], file) for one in chosen}


def _filled(one: FileInput, wanted: Sequence[int] | None, value: float, file: str) -> Tensor:
    made = torch.full(_sizes(one, wanted, file), value, dtype=torch.float64).to(one.dtype)
    if made.numel() and not one.dtype.is_floating_point and float(made.reshape(-1)[0]) != value:
        raise UsageError(
            f"{file}: the input {one.name!r} is of {str(one.dtype)[6:]}, which cannot be {value:g}: give another number"
        )
    return made


def _sizes(one: FileInput, wanted: Sequence[int] | None, file: str) -> tuple[int, ...]:
    fixed = [size if isinstance(size, int) and size >= 0 else None for size in one.shape]
    if wanted is None and None not in fixed[1:]:
        wanted = [1 if size is None else size for size in fixed]
    if wanted is None:
        example = "x".join("N" if size is None else str(size) for size in fixed)
        raise UsageError(
            f"{file}: the input {one.name!r} has open sizes {list(one.shape)}: give --input-shape "
            f"{one.name}={example}, with a number in place of each N"
        )
    if len(wanted) != len(fixed) or any(f not in (None, n) for f, n in zip(fixed, wanted, strict=True)):
        raise UsageError(
            f"{file}: the sizes {list(wanted)} do not fit the input {one.name!r} with {list(one.shape)} in the file: "
            "give as many sizes, and keep the file's numbers"
        )
    return tuple(wanted)
