"""Running Vela: a TOSA flatbuffer in, command stream and weights out."""

from __future__ import annotations

import csv
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np

from arm_tosa_core.support import passing
from arm_tosa_core.support.atomic_files import write_atomic
from arm_tosa_core.support.errors import ToolError, UsageError
from arm_tosa_core.support.external_tools import find_tool
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.loader import load

from .vela_batch import Order, run_all
from .vela_ini import locate

Arrays = Mapping[str, np.ndarray[Any, Any]]

#: Rank to which Vela pads the shapes of inputs and outputs.
IO_RANK = 6
_IO_KEYS = [
    f"{direction}_{key}" for direction in ("input", "output") for key in ("shape", "elem_size", "offset", "region")
]
_FIGURES = (
    "cycles_total",
    "cycles_npu",
    "core_clock",
    "sram_memory_used",
    "dram_memory_used",
    "on_chip_flash_memory_used",
    "off_chip_flash_memory_used",
    "nn_macs",
    "inference_time",
)
_STEM = "out"  # Vela names its files after its input
# Vela reads its input through a 32-bit flatbuffer offset.
_MAX_TOSA = 2**31 - 1


@dataclass(frozen=True)
class VelaOutput:
    """The output of Vela.

    Args:
        arrays: the ``.npz``: ``cmd_data`` and ``weight_data`` (uint8), ``scratch_size``, and for ``input`` and
            ``output`` the arrays ``_shape`` ([n, 6] int64), ``_elem_size``, ``_offset`` (bytes) and ``_region`` ([n]).
        summary: figures of the summary CSV by column: cycles, clock in Hz, memory in KiB, MACs, seconds per inference.
        debug_db: the XML of ``--enable-debug-db``; empty without that flag.
        printed: standard output and error.
    """

    arrays: Arrays
    summary: Mapping[str, float]
    debug_db: str = ""
    printed: str = ""

    @property
    def cycles(self) -> float:
        """Estimated cycles per inference."""
        return self.summary["cycles_total"]

    @property
    def clock_hz(self) -> float:
        """Clock of the accelerator, by the system configuration."""
        return self.summary["core_clock"]

    @property
    def sram_kib(self) -> float:
        """SRAM used, KiB."""
        return self.summary["sram_memory_used"]

    @property
    def dram_kib(self) -> float:
        """DRAM used, KiB."""
        return self.summary["dram_memory_used"]


class Options(TypedDict):
    """How Vela compiles.

    Args:
        accelerator, system_config, memory_mode: names that Vela and its configuration file know.
        config: the configuration file, as for ``vela_ini.locate``.
        timeout: seconds after which Vela is killed.
    """

    accelerator: str
    config: str | os.PathLike[str] | None
    system_config: str
    memory_mode: str
    timeout: float


def compile(
    tosa: bytes, *, flags: Sequence[str] = (), artifacts: Path | None = None, **options: Unpack[Options]
) -> VelaOutput:
    """Compiles one TOSA flatbuffer with the ``vela`` executable.

    Args:
        artifacts: folder to leave Vela's input and outputs in; None leaves nothing.

    Raises:
        ToolError: Vela is missing, fails, hangs or writes garbage; its input is kept and named.
        UsageError: the flatbuffer is too large for Vela, or ``artifacts`` cannot be written.
    """
    with workplace(tosa, artifacts=artifacts, **options) as place:
        (run,) = place.runs([flags])
        return place.chosen(run)


@contextmanager
def workplace(tosa: bytes, *, artifacts: Path | None = None, **options: Unpack[Options]) -> Iterator[Workplace]:
    """A folder for compiling one flatbuffer several times with different flags; arguments as for ``compile``.

    Raises:
        ToolError: Vela is missing, or whatever the block raises; the input is kept then.
        UsageError: as ``compile``.
    """
    if len(tosa) > _MAX_TOSA:
        raise UsageError(f"the TOSA flatbuffer has {len(tosa)} bytes; Vela takes {_MAX_TOSA} at most")
    command = _command(options)
    keep = artifacts is not None
    if artifacts is not None:
        _make_folder(artifacts)
    folder = artifacts.absolute() if artifacts else Path(tempfile.mkdtemp(prefix="arm-ethosu-"))
    source = folder / f"{_STEM}.tosa"
    runs = Path(tempfile.mkdtemp(prefix="arm-ethosu-"))
    try:
        write_atomic(source, tosa)
        yield Workplace(tosa, source, runs, command, options)
    except ToolError:
        keep = True  # its input stays, and the error says where
        raise
    finally:
        shutil.rmtree(runs, ignore_errors=True)
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def summaries(
    graphs: Sequence[bytes], *, flags: Sequence[str] = (), **options: Unpack[Options]
) -> list[Mapping[str, float] | None]:
    """``VelaOutput.summary`` of each of several flatbuffers, compiled side by side; None where Vela fails.

    Raises:
        ToolError: Vela is missing.
    """
    command = _command(options)
    with tempfile.TemporaryDirectory(prefix="arm-ethosu-") as name:
        folders = [Path(name, str(number)) for number in range(len(graphs))]
        runs = [Run(folder / f"{_STEM}.tosa", folder, command, options["system_config"], flags) for folder in folders]
        for run, tosa in zip(runs, graphs, strict=True):
            run.source.write_bytes(tosa)
        outcomes = run_all(command[0], [run.order() for run in runs], options["timeout"])
        return [_summary(run, outcome) for run, outcome in zip(runs, outcomes, strict=True)]


def _summary(run: Run, outcome: str | ToolError) -> Mapping[str, float] | None:
    try:
        if isinstance(outcome, ToolError):
            raise outcome
        return run.figures
    except ToolError as error:
        passing.note(error)
        return None


def _command(options: Options) -> list[str]:
    """Vela's executable and the flags that are the same for every run."""
    return [
        find_tool("vela", package="ethos-u-vela"),
        f"--accelerator-config={options['accelerator']}",
        f"--config={locate(options['config'])}",
        f"--system-config={options['system_config']}",
        f"--memory-mode={options['memory_mode']}",
        "--output-format=raw",
    ]


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}") from error


class Workplace:
    """One flatbuffer and Vela's executable with its options; made by ``workplace``."""

    def __init__(self, tosa: bytes, source: Path, folder: Path, command: Sequence[str], options: Options) -> None:
        self.tosa = tosa
        self._source, self._command, self._options = source, command, options
        self._folders = (folder / str(number) for number in count())

    @cached_property
    def graph(self) -> Graph:
        """The graph in the flatbuffer.

        Raises:
            UsageError: it is none.
        """
        return load(self.tosa)

    def runs(self, flags: Sequence[Sequence[str]]) -> list[Run | ToolError]:
        """Runs Vela side by side, once with each of several lists of flags; an error stands for a run that failed.

        Raises:
            ToolError: Vela cannot be loaded.
        """
        system_config, timeout = self._options["system_config"], self._options["timeout"]
        runs = [Run(self._source, next(self._folders), self._command, system_config, more) for more in flags]
        outcomes = run_all(self._command[0], [run.order() for run in runs], timeout)
        results: list[Run | ToolError] = []
        for run, outcome in zip(runs, outcomes, strict=True):
            if isinstance(outcome, ToolError):
                passing.note(outcome)
                results.append(outcome)
            else:
                run.output = outcome
                results.append(run)
        return results

    def chosen(self, run: Run | ToolError) -> VelaOutput:
        """The output of a run; its files move beside the input.

        Raises:
            ToolError: that of a run that failed, or it wrote garbage.
        """
        if isinstance(run, ToolError):
            raise run
        output = VelaOutput(run.arrays(), run.figures, run.debug_db(), run.output)
        for file in run.folder.iterdir():
            if file != run.log:
                shutil.move(file, self._source.with_name(file.name))
        return output


class Run:
    """One run of Vela: its files, in a folder that it makes, and its printed text."""

    def __init__(
        self, source: Path, folder: Path, command: Sequence[str], system_config: str, flags: Sequence[str] = ()
    ) -> None:
        folder.mkdir()
        self.source = source
        self.folder = folder
        self.log = folder / "log"
        self.npz = folder / f"{_STEM}_vela.npz"
        self.xml = folder / f"{_STEM}_debug.xml"
        self.csv = folder / f"{_STEM}_summary_{system_config}.csv"
        self.command = [*command[:1], str(source), f"--output-dir={folder}", *command[1:], *flags]
        self.output = ""

    def order(self) -> Order:
        """This run for ``run_all``."""
        return Order(self.command[1:], self.log, str(self.source))

    def garbage(self, path: Path, problem: str) -> ToolError:
        """An error: a file of it is not as Vela 5.2 writes it."""
        return ToolError(
            "vela",
            f"wrote garbage: {path.name} {problem}",
            command=self.command,
            output=self.output,
            kept=str(self.source),
            fix="check that ethos-u-vela is 5.2: vela --version",
        )

    def arrays(self) -> Arrays:
        """The arrays of the run, as in ``VelaOutput.arrays``.

        Raises:
            ToolError: they are missing or malformed.
        """
        try:
            with self.npz.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                # The quantization entries are Python objects; nothing here needs them.
                return checked({key: archive[key] for key in archive.files if not key.endswith("_quantization")})
        except FileNotFoundError:
            raise self.garbage(self.npz, "is missing") from None
        except _Malformed as error:
            raise self.garbage(self.npz, str(error)) from error
        except (OSError, ValueError, EOFError, AttributeError, TypeError, zipfile.BadZipFile) as error:
            # NumPy raises any of these for a file that is not an archive of arrays, or holds only a part of one.
            raise self.garbage(self.npz, f"is not readable ({error})") from error

    def debug_db(self) -> str:
        try:
            return self.xml.read_text(encoding="utf-8") if self.xml.exists() else ""
        except (OSError, ValueError) as error:
            raise self.garbage(self.xml, f"is not readable ({error})") from error

    @cached_property
    def figures(self) -> Mapping[str, float]:
        """The summary; its keys are those of ``VelaOutput.summary``.

        Raises:
            ToolError: there is none, or it is not readable.
        """
        try:
            with self.csv.open(encoding="utf-8", newline="") as file:
                row = next(csv.DictReader(file))
            figures = {key: float(row[key]) for key in _FIGURES}
        except FileNotFoundError:
            raise self.garbage(self.csv, "is missing") from None
        except StopIteration:
            raise self.garbage(self.csv, "is empty") from None
        except KeyError as error:
            raise self.garbage(self.csv, f"lacks {error}") from None
        except (OSError, ValueError, TypeError, csv.Error) as error:
            raise self.garbage(self.csv, f"is not readable ({error})") from error
        return figures


class _Malformed(ValueError):
    """An array that a payload needs is missing or of another form."""


def checked(arrays: Arrays) -> Arrays:
    """The arrays that a payload is made of, in one form: bytes as uint8, numbers as int64.

    Raises:
        ValueError: one is missing or has another type or shape; names it.
    """
    normalized: dict[str, np.ndarray[Any, Any]] = {}

    def take(key: str) -> np.ndarray[Any, Any]:
        if key not in arrays:
            raise _Malformed(f"lacks {key}")
        return arrays[key]

    for key in ("cmd_data", "weight_data"):
        data = take(key)
        if data.dtype.kind not in "SV" and data.dtype != np.uint8:
            raise _Malformed(f"has {key} of type {data.dtype}, expected bytes")
        normalized[key] = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
    for key in ("scratch_size", *_IO_KEYS):
        numbers = take(key)
        if numbers.dtype.kind not in "iu" and numbers.size:
            raise _Malformed(f"has {key} of type {numbers.dtype}, expected integers")
        normalized[key] = numbers.astype(np.int64)
    if normalized["scratch_size"].size != 1 or normalized["scratch_size"].item() < 0:
        raise _Malformed(f"has scratch_size {normalized['scratch_size'].tolist()}, expected one size in bytes")
    for direction in ("input", "output"):
        shape = normalized[f"{direction}_shape"]
        if not shape.size:  # NumPy writes an empty list as a vector of floats
            shape = normalized[f"{direction}_shape"] = shape.reshape(0, IO_RANK)
        if shape.ndim != 2 or shape.shape[1] != IO_RANK:
            raise _Malformed(f"has {direction}_shape of shape {list(shape.shape)}, expected [n, {IO_RANK}]")
        for key in ("elem_size", "offset", "region"):
            if (array := normalized[f"{direction}_{key}"]).shape != shape.shape[:1]:
                raise _Malformed(f"has {direction}_{key} of shape {list(array.shape)}, expected [{len(shape)}]")
    if not len(normalized["output_shape"]):
        raise _Malformed("has no outputs")
    return normalized
