"""What ``lower`` passes on to ExecuTorch."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..support.errors import UsageError

if TYPE_CHECKING:
    from executorch.exir import ExecutorchBackendConfig
    from torch.fx.passes.operator_support import OperatorSupportBase


@dataclass(frozen=True, kw_only=True)
class ExecuTorchOptions:
    """Options of ``lower`` that are ExecuTorch's own. With any of them the cache is not used.

    Args:
        config: the settings of ``to_executorch``.
        additional_checks: operator supports, as a partitioner takes them; an operator that one does not support stays
            on the CPU.
        constant_methods: more methods, which return a number, a list of numbers or a tensor, by their names.
        etrecord: write an ETRecord to this file, with which the ``Inspector`` says which operators and source lines the
            events of an ETDump come from. Of one program only.
        external_constants: the name of a ``.ptd``, without the suffix, for the weights of delegates and the constants
            on the CPU. The target's delegate must read such files, as that of Ethos-U does.
    """

    config: ExecutorchBackendConfig | None = None
    additional_checks: Sequence[OperatorSupportBase] = ()
    constant_methods: Mapping[str, Any] = field(default_factory=dict)
    etrecord: str | os.PathLike[str] | None = None
    external_constants: str | None = None

    def to_executorch_config(self) -> ExecutorchBackendConfig | None:
        """The settings of ``to_executorch``, which put constants on the CPU into the ``.ptd`` too if there is one.

        Raises:
            UsageError: ``external_constants`` is not the name of a file.
        """
        name = self.external_constants
        if name is None:
            return self.config
        if not name or not name.isascii() or Path(name).name != name:
            raise UsageError(f"external_constants={name!r}: give the name of a file, in ASCII characters and no folder")
        from executorch.exir import ExecutorchBackendConfig  # late: importing it takes longer than reading the cache

        return replace(self.config or ExecutorchBackendConfig(), external_constants=lambda _: name)
