"""Checks of texts and numbers in files from elsewhere. The reader of a file makes them, so that nobody else must.

A reader returns names, paths and numbers only through these functions. ``SECURITY.md`` lists the readers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import is_dataclass
from pathlib import Path, PurePosixPath
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from .errors import UsageError
from .printable import printable

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPERATOR = re.compile(r"\w+::\w+(\.\w+)*", re.ASCII)
_WORDS = re.compile(r"[\w.,:+/ -]*", re.ASCII)
_SHOWN = 80

T = TypeVar("T")


def parsed(data: bytes | str, parse: Callable[[str], Any] = json.loads) -> Any:
    """The value of a text in JSON, or in the language of ``parse``, such as ``tomllib.loads``.

    Raises:
        UsageError: it is no such text; says why, and names no file.
    """
    try:
        return parse(data if isinstance(data, str) else data.decode())
    except (ValueError, RecursionError) as error:
        deep = isinstance(error, RecursionError)
        raise UsageError("it is nested too deeply" if deep else " ".join(str(error).split())) from error


def record(kind: type[T], data: Any) -> T:
    """A dataclass from JSON values, as ``dataclasses.asdict`` gives them: each field has the type that the class says.

    Fields with a default may be missing. Integers have 64 bits, because others become no floating-point number.

    Raises:
        UsageError: they are other values.
    """
    instance: T = _typed(kind, data, kind.__name__)
    return instance


def _typed(hint: Any, data: Any, subject: str) -> Any:
    kind, parts = get_origin(hint), get_args(hint)
    if kind is UnionType:  # with None
        (inner,) = (part for part in parts if part is not NoneType)
        return None if data is None else _typed(inner, data, subject)
    if kind in (list, tuple) and isinstance(data, list):
        return kind(_typed(parts[0], value, subject) for value in data)
    if kind is dict and isinstance(data, dict):
        return {key: _typed(parts[1], value, subject) for key, value in data.items()}
    if isinstance(hint, type) and is_dataclass(hint) and isinstance(data, dict):
        hints = get_type_hints(hint)
        try:
            return hint(**{key: _typed(hints[key], value, f"{subject}.{key}") for key, value in data.items()})
        except (KeyError, TypeError) as error:  # a field too many, or too few
            raise UsageError(f"{subject} has the fields {_shown(list(data))}") from error
    if type(data) in ((int, float) if hint is float else (hint,)) and not (type(data) is int and abs(data) >= 2**63):
        return data
    raise UsageError(f"{subject} is {_shown(data)}")


def operator_name(text: object) -> str:
    """The name of an operator as programs of ExecuTorch have it, such as ``"aten::add.out"``.

    Raises:
        UsageError: it is another text.
    """
    return _matched(_OPERATOR, text, "an operator")


def c_identifier(text: object, subject: str) -> str:
    """A name that C, C++, CMake and Python take as one, and a file system as a file's.

    Args:
        subject: owner of the name, for the error.

    Raises:
        UsageError: it is another text.
    """
    return _matched(_IDENTIFIER, text, subject)


def words(text: object, subject: str) -> str:
    """Letters, digits, spaces and ``_ . , : + - /``: they mean nothing to C, CMake, Kconfig, linkers and Markdown.

    Comments in C and linker scripts end at ``*/``, which needs a star.

    Raises:
        UsageError: it is another text.
    """
    return _matched(_WORDS, text, subject)


def file_name(text: object, subject: str) -> str:
    """A name that can be a part of a file's: printable, and no way to another folder.

    Raises:
        UsageError: it is another text.
    """
    if isinstance(text, str) and text and not re.search(r"[/\\\n\t]", text) and printable(text) == text:
        return text
    raise UsageError(_refused(subject, text, "it would be a part of a file's name"))


def inside(folder: Path, name: object) -> Path:
    """The path of a file in a folder, by the name that another file there has for it.

    Raises:
        UsageError: the name leads out of the folder, by ``..``, an absolute path or a symbolic link.
    """
    parts = PurePosixPath(name).parts if isinstance(name, str) and "\0" not in name else ()
    path = folder.joinpath(*parts)
    if not parts or ".." in parts or not path.resolve().is_relative_to(folder.resolve()) or path == folder:
        raise UsageError(f"{folder} has no file {_shown(name)}: it would lie outside of the folder")
    return path


def index(number: object, count: int, subject: str) -> int:
    """An index below ``count``; Python would take a negative one for a place from the end.

    Raises:
        UsageError: it is out of this range, or no integer.
    """
    if isinstance(number, int) and 0 <= number < count:
        return int(number)
    raise UsageError(f"{subject} {_shown(number)} does not exist: there are {count}")


def sizes(numbers: Any, subject: str) -> tuple[int, ...]:
    """Numbers of elements or of bytes, each from 0 to 2**63 - 1, and their product as well.

    Raises:
        UsageError: one is out of this range, or no integer.
    """
    product = 1
    for number in numbers:
        if not isinstance(number, int) or not 0 <= number < 2**63:
            raise UsageError(f"{subject} has the size {_shown(number)}")
        product *= max(number, 1)
    if product >= 2**63:
        raise UsageError(f"{subject} has {product} elements, more than an address has")
    return tuple(numbers)


def axes(numbers: Any, count: int, subject: str) -> tuple[int, ...]:
    """An order of ``count`` axes.

    Raises:
        UsageError: an axis is missing, or there twice.
    """
    if sorted(numbers) != list(range(count)):
        raise UsageError(f"{subject} has {count} axes in the order {_shown(list(numbers))}")
    return tuple(numbers)


def _matched(pattern: re.Pattern[str], text: object, subject: str) -> str:
    if isinstance(text, str) and pattern.fullmatch(text):
        return text
    raise UsageError(_refused(subject, text, "no tool writes such a name, and it might be code where the name stands"))


def _refused(subject: str, text: object, why: str) -> str:
    return f"{subject} is called {_shown(text)}; {why}"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
