"""Firmware: compiled programs as sources that a user builds for a board, without an interpreter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..support.errors import UsageError
from .guard import PluginError

if TYPE_CHECKING:
    import numpy as np

    from .target import CompileSpec, Target

    Arrays = Sequence[np.ndarray[Any, Any]]

#: The file that every folder of firmware has: JSON, whose key ``target`` names the target that made it.
MANIFEST = "arm-firmware.json"


@dataclass(frozen=True)
class Program:
    """A model as firmware is made of it.

    Args:
        pte: compiled.
        graphs: the TOSA flatbuffer of each delegate, by its payload; a ``.pte`` alone lacks them.
        inputs: an example of its inputs, if there is one.
        options: of the target, as the user gave them. Files that they name may be read; those that a ``.pte`` names
            may not.
    """

    pte: bytes
    graphs: Mapping[bytes, bytes] = field(default_factory=dict)
    inputs: Arrays = ()
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Verified:
    """An output of a model compared with the TOSA reference model.

    Args:
        wrong: elements that differ.
        size: elements of the output.
    """

    model: str
    output: str
    wrong: int
    size: int


@dataclass(frozen=True)
class OnProcessor:
    """An operator that a model leaves to the processor.

    Args:
        steps: how often it stands in the model.
        element_operations: times that the innermost statements of these steps run, in one run of the model. It is a
            count, not a time: the time of one depends on the operator, the processor and the compiler.
    """

    model: str
    operator: str
    steps: int
    element_operations: int


@dataclass(frozen=True)
class Deployed:
    """The changes that deploying made to a folder.

    Args:
        changed: files that are new or have other contents.
        removed: files of an earlier time that are gone.
        memory: parts of the firmware: name, memory, bytes.
        processor: operators left to the processor.
        notes: hints for the user, a sentence or two each.
        runs: whether ``arm-tosa run`` can run the firmware on this machine.
    """

    changed: Sequence[str]
    removed: Sequence[str]
    memory: Sequence[tuple[str, str, int]]
    processor: Sequence[OnProcessor] = ()
    notes: Sequence[str] = ()
    runs: bool = True


class Firmware(Protocol):
    """The interface of a target to ``arm-tosa deploy``."""

    def boards(self) -> Mapping[str, str]:
        """One line about each board that firmware can be made for, by name."""

    def require_board(self, board: str, target: str) -> None:
        """Finds out before models are compiled whether ``deploy`` can make firmware of them for a board.

        Raises:
            UsageError: there is no such board, or it does not run programs for the target.
        """

    def remainder(self, form: str = "cmake") -> Sequence[CompileSpec]:
        """The targets for operators that this one refuses, so that firmware of a format computes them itself.

        Empty: they stay with ExecuTorch, whose runtime is a part of the firmware.
        """

    def formats(self) -> Sequence[str]:
        """Names of the forms that sources can have; ``cmake``, a project for a board, is the first."""

    def deploy(
        self, programs: Mapping[str, Program], target: str, board: str, folder: Path, form: str = "cmake"
    ) -> Deployed:
        """Writes a folder of sources, with a manifest, over the files of an earlier call.

        Args:
            programs: by the names of the models.
            target: the target that all of them were compiled for.
            board: empty for formats that are for any board.
            form: a format.

        Raises:
            UsageError: no such board or format, a program that firmware cannot run, or files of the user's in the way.
        """

    def run(self, folder: Path, inputs: Arrays) -> Arrays:
        """Builds the firmware in a folder if needed, and runs its one model on this machine.

        Raises:
            UsageError: the folder, or the inputs, are not right.
            ToolError: building or running failed, with the tool's last lines.
        """

    def verify(self, folder: Path, inputs: Arrays) -> Sequence[Verified]:
        """Builds the firmware in a folder if needed, runs its models and compares them with the TOSA reference model.

        Args:
            inputs: of its one model; empty: of each model, the example that was deployed with it.

        Raises:
            UsageError, ToolError: as ``run``; or it was deployed without TOSA graphs, from a ``.pte``.
        """


def firmware_of(target: Target) -> Firmware:
    """The maker of firmware for a target.

    Raises:
        UsageError: the target has none.
        PluginError: it cannot be imported.
    """
    if not target.host.firmware:
        raise UsageError(f"target {target.name!r} makes no firmware; those of Ethos-U and Cortex-M do")
    module, _, name = target.host.firmware.partition(":")
    try:
        firmware: Firmware = getattr(import_module(module), name)
    except Exception as error:
        problem = f"its firmware {target.host.firmware!r} cannot be imported: {type(error).__name__}: {error}"
        raise PluginError(f"target {target.name!r}: {problem}") from error
    return firmware
