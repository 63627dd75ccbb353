"""Payloads of one program whose weights are ExecuTorch's named data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from arm_tosa_core.plugin.named_data import NamedData, WithNames

from .. import payload
from .programs import with_shared_weights

_WEIGHTS = "weight_data"


def with_named_weights(payloads: Sequence[bytes], file: str | None, placed: Mapping[str, str]) -> WithNames:
    """Payloads with weights that they share as named data; others keep theirs.

    Args:
        payloads: of the delegates of one program.
        file: the ``.ptd`` for the weights of all payloads; None: they are in the ``.pte``.
        placed: blocks that are in a ``.ptd`` in any case, and which.

    Raises:
        ToolError: as ``with_shared_weights``.
    """
    shared = with_shared_weights([payload.unpack(each) for each in payloads]) if len(payloads) > 1 else None
    files: dict[str, str | None] = {**({} if file is None else {_WEIGHTS: file}), **placed}
    if shared is not None:
        payloads = [payload.pack(arrays) for arrays in shared]
        files.setdefault(_WEIGHTS, None)
    made = [payload.with_names(each, files) for each in payloads]
    blocks = [block for _, named in made for block in named]
    found = {block.name: NamedData(block.data, payload.ALIGNMENT, files[block.block]) for block in blocks}
    return WithNames(tuple(each for each, _ in made), found)
