"""What was measured of a model, kept on disk by its content: work that was stopped takes it from there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, ClassVar, Protocol, TypeVar

from ..support import foreign
from ..support.atomic_files import write_atomic
from ..support.cache_folder import cache_folder
from ..support.errors import UsageError


class _Record(Protocol):
    """A dataclass of JSON values."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


T = TypeVar("T", bound=_Record)


class Memory:
    """Records by their names.

    Args:
        key: names all that they depend on; None: nothing is read or written.
    """

    def __init__(self, key: str | None = None) -> None:
        self._key = key

    def of(
        self, kind: type[T], name: str, make: Callable[[], T], is_final: Callable[[T], bool] = lambda made: True
    ) -> T:
        """The record that was made before under this name, or is made now.

        Args:
            is_final: whether one that was made is kept.
        """
        if self._key is None:
            return make()
        path = cache_folder() / f"{hashlib.sha256(f'{self._key}|{name}'.encode()).hexdigest()}.kept.json"
        try:
            return foreign.record(kind, foreign.parsed(path.read_bytes()))
        except (OSError, UsageError):
            made = make()
        if not is_final(made):
            return made
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, json.dumps(asdict(made)))
        except (OSError, UsageError):
            pass  # a cache is a convenience
        return made
