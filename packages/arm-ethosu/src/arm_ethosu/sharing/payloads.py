"""Payloads of one program whose weights are ExecuTorch's named data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from arm_tosa_core.plugin.named_data import NamedData, WithNames

from .. import payload
from ..vela import Arrays
from .blocks import in_one_order
from .programs import with_shared_weights

_WEIGHTS = "weight_data"
#: By how much a method may be slower with the blocks of another one.
_SLOWER = 1.01


def with_named_weights(
    payloads: Sequence[bytes], file: str | None, placed: Mapping[str, str], cycles: Callable[[bytes], float] | None
) -> WithNames:
    """Payloads with weights that they share as named data; others keep theirs.

    Args:
        payloads: of the delegates of one program.
        file: the ``.ptd`` for the weights of all payloads; None: they are in the ``.pte``.
        placed: blocks that are in a ``.ptd`` in any case, and which.
        cycles: an estimate of what a payload takes, with which layers get the blocks of channels of another payload;
            None: they keep Vela's.

    Raises:
        ToolError: as ``with_shared_weights``.
    """
    shared, reordered = None, False
    if len(payloads) > 1:
        programs: list[Arrays] = [payload.unpack(each) for each in payloads]
        if cycles is not None:
            chosen = list(map(partial(_unless_slower, cycles), programs, in_one_order(programs)))
            reordered = any(new is not old for new, old in zip(chosen, programs, strict=True))
            programs = chosen
        shared = with_shared_weights(programs)
    files: dict[str, str | None] = {**({} if file is None else {_WEIGHTS: file}), **placed}
    if shared is not None:
        payloads = [payload.pack(arrays) for arrays in shared]
        files.setdefault(_WEIGHTS, None)
    times = tuple(map(cycles, payloads)) if shared is not None and reordered and cycles is not None else ()
    pairs = [payload.with_names(each, files) for each in payloads]
    blocks = [block for _, named in pairs for block in named]
    store = {block.name: NamedData(block.data, payload.ALIGNMENT, files[block.block]) for block in blocks}
    return WithNames(tuple(each for each, _ in pairs), store, times)


def _unless_slower(cycles: Callable[[bytes], float], old: Arrays, new: Arrays) -> Arrays:
    if new is old:
        return old
    return new if cycles(payload.pack(new)) <= _SLOWER * cycles(payload.pack(old)) else old
