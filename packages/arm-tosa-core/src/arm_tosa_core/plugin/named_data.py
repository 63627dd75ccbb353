"""Payloads that have some of their bytes outside of themselves: as ExecuTorch's *named data*."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class NamedData:
    """Bytes that payloads refer to by a name.

    Args:
        data: the bytes; the runtime hands them to a delegate as they are.
        alignment: of their address, in bytes.
        file: the ``.ptd`` that they are in, by its name without the suffix; None: they are in the ``.pte``.
    """

    data: bytes
    alignment: int = 1
    file: str | None = None


@dataclass(frozen=True)
class WithNames:
    """Payloads of the delegates of one program, in their order, and the data they refer to by name.

    Args:
        payloads: each runs as the one that it was made of, or computes the same in another order.
        named: the data, by name.
        cycles: of each payload by the target's timing model, where the compiler's estimate is of other commands than
            are in them; empty: the compiler's holds.
    """

    payloads: Sequence[bytes]
    named: Mapping[str, NamedData] = field(default_factory=dict)
    cycles: Sequence[float] = ()
