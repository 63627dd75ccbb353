"""Payloads that refer to named data, and what ExecuTorch keeps of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..compat.executorch import named_data_store
from ..plugin.target import Target
from ..support.errors import UsageError


class Placed(NamedTuple):
    """Payloads of one program as its delegates get them.

    Args:
        payloads: by method.
        store: ExecuTorch's store of what they refer to by name; None: they refer to nothing.
        cycles: by method and delegate, where the compiler's estimate is of other commands; None: it holds.
    """

    payloads: list[list[bytes]]
    store: Any = None
    cycles: list[list[float]] | None = None


def with_named_data(payloads: Sequence[Sequence[bytes]], target: Target, file: str | None = None) -> Placed:
    """Puts what the payloads of one program have in common, or all their weights, outside of them.

    Methods have in common what they can; delegates of one method keep their own, so that firmware can be made of them.

    Args:
        payloads: what was compiled for ``target``, by method.
        file: the ``.ptd`` for all their weights, by its name without the suffix; None: weights are in the ``.pte``.

    Raises:
        UsageError: ``file`` is given, and the target's delegate reads no such file.
        ToolError: the target's compiler failed.
    """
    if target.compiler.with_names is None:
        if file is not None:
            raise UsageError(
                f"target {target.name!r} cannot keep weights in {file}.ptd: its delegate reads them from the .pte"
            )
        return Placed([list(method) for method in payloads])
    several = sum(map(bool, payloads)) > 1
    flat = [payload for method in payloads for payload in method]
    groups = [
        target.compiler.with_names(group, file) for group in ([flat] if several else [[payload] for payload in flat])
    ]
    remaining = iter(payload for group in groups for payload in group.payloads)
    times = iter(cycles for group in groups for cycles in group.cycles)
    entries = [(name, item.data, item.alignment, item.file) for group in groups for name, item in group.named.items()]
    store = named_data_store(entries) if entries else None
    timed = any(group.cycles for group in groups)
    return Placed(
        [[next(remaining) for _ in method] for method in payloads],
        store,
        [[next(times) for _ in method] for method in payloads] if timed else None,
    )
