"""Payloads that refer to named data, and what ExecuTorch keeps of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..compat.executorch import named_data_store
from ..plugin.target import Target
from ..support.errors import UsageError


def with_named_data(payloads: Sequence[bytes], target: Target, file: str | None = None) -> tuple[Sequence[bytes], Any]:
    """The payloads of one program as its delegates get them, and ExecuTorch's store of what they refer to by name.

    Args:
        payloads: what was compiled for ``target``.
        file: the ``.ptd`` for all their weights, by its name without the suffix; None: weights are in the ``.pte``.

    Raises:
        UsageError: ``file`` is given, and the target's delegate reads no such file.
        ToolError: the target's compiler failed.
    """
    if target.with_names is None:
        if file is not None:
            raise UsageError(
                f"target {target.name!r} cannot keep weights in {file}.ptd: its delegate reads them from the .pte"
            )
        return payloads, None
    made = target.with_names(payloads, file)
    entries = [(name, item.data, item.alignment, item.file) for name, item in made.named.items()]
    return made.payloads, named_data_store(entries) if entries else None
