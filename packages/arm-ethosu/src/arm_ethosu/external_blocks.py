"""Which blocks of a payload are in files of their own."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from arm_tosa_core.support.errors import UsageError


@dataclass(frozen=True)
class VelaExternalBlockPlacements:
    """The ``.ptd`` files of blocks, by their names without the suffix; None: the block is in the ``.pte``.

    Args:
        cmd_data: the command stream.
        weight_data: weights, scales and other constants.

    Raises:
        UsageError: a name that is empty, or is not of ASCII characters.
    """

    cmd_data: str | None = None
    weight_data: str | None = None

    def __post_init__(self) -> None:
        for block, name in asdict(self).items():
            if name is not None and not (isinstance(name, str) and name and name.isascii()):
                raise UsageError(f"{block}={name!r}: the name of a .ptd is ASCII characters, one at least")

    def to_block_placements(self) -> dict[str, str]:
        """The file of each block that has one."""
        return {block: name for block, name in asdict(self).items() if name is not None}
