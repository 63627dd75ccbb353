"""Arm's performance estimator for the neural accelerator (NX) of its GPUs, where the user has installed it.

It is a program of the PyPI package ``mlia-neural-technology``, under a licence of Arm's that the user accepts. Nothing
here installs it or accepts the licence. Its figures are estimates of Arm's tool, of integer operators only.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sysconfig
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path

from arm_tosa_core.support import foreign, passing
from arm_tosa_core.support.atomic_files import write_atomic
from arm_tosa_core.support.cache_folder import cache_folder
from arm_tosa_core.support.errors import ToolError, UsageError
from arm_tosa_core.support.external_tools import run_tool

from .nx_databases import NxEstimate, figures_of, steps_of
from .vgf_format import with_version
from .vgf_versions import has_shaders

PROGRAM = "graph-compiler-performance-estimator"
#: The release of ``mlia-neural-technology`` that this was tried with.
RELEASE = "0.2.1"
#: What reports call it.
ESTIMATOR = "NX estimator of Arm"
#: Names the program, or the folder that has it.
VARIABLE = "ARM_VGF_ESTIMATOR"
TIMEOUT_S = 600.0
#: The format of VGF that the program reads. It ends with signal 11 on 0.5, whose sections are the same.
_FORMAT = (0, 4, 3)
_SUMMARY = "_network_performance_summary.json"
_PERFORMANCE, _DEBUG = "_performance_database.dat", "_debug_database.dat"
_KIND = "nx-figures"
#: Names in the package: the system and the scheduler that it takes by default, and the beginning of all schedulers.
_SYSTEM, _SCHEDULER = "system-config-neural-technology-default", "gc-config-neural-technology-default"
_SCHEDULERS = "gc-config"
#: How to get the program.
ADVICE = (
    "install mlia-neural-technology (Python 3.12) and run `mlia-backend install nx-performance-estimator`, which shows "
    f"its licence, or set {VARIABLE} to the program {PROGRAM}"
)
_FIX = f"check that {PROGRAM} runs, or take it off PATH and unset {VARIABLE} to compile without estimates"


@dataclass(frozen=True)
class NxEstimator:
    """The program, and the system that it assumes.

    Args:
        program: where it is.
        system: a description of the system, an ``.ini`` file; None: the program's own.
        scheduler: settings of its scheduler, another one; None: the program's own.
    """

    program: Path
    system: Path | None = None
    scheduler: Path | None = None

    @staticmethod
    def of(program: Path, system: str | None) -> NxEstimator:
        """The program with a system by its name, and the settings that come with the descriptions.

        Args:
            system: as of ``find_system``; None: the package's default if it is there, else the program's own.

        Raises:
            UsageError: there is no such system.
        """
        known = _descriptions(program)
        chosen = known.get(_SYSTEM) if system is None else find_system(system, program)
        return NxEstimator(program, chosen, known.get(_SCHEDULER))

    def estimate(self, vgf: bytes) -> NxEstimate:
        """What the program says of an inference. It is kept in the cache, by the program, its settings and the VGF.

        Raises:
            ToolError: it died, hung, or wrote something else than figures.
        """
        if has_shaders(vgf):
            return NxEstimate(problem="it rates a graph alone, and this program has compute shaders too")
        key = hashlib.sha256(self.identity.encode() + vgf).hexdigest()
        if (known := _read(key)) is None:
            _keep(key, known := self._run(vgf))
        return known

    @cached_property
    def identity(self) -> str:
        """A digest of the program and its settings: the same figures come of the same identity and VGF."""
        status = self.program.stat()
        parts = [_digest(self.program, status.st_size, status.st_mtime_ns).encode()]
        parts += [b"" if file is None else file.read_bytes() for file in (self.system, self.scheduler)]
        return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()

    def _run(self, vgf: bytes) -> NxEstimate:
        with tempfile.TemporaryDirectory(prefix="arm-vgf-") as name:
            folder = Path(name)
            (folder / "network.vgf").write_bytes(with_version(vgf, _FORMAT))
            settings = (("-s", self.system), ("-c", self.scheduler))
            chosen = [word for flag, file in settings if file is not None for word in (flag, str(file))]
            command = [str(self.program), "-i", "network.vgf", "-o", "network", *chosen]
            output = run_tool(PROGRAM, command, timeout=TIMEOUT_S, cwd=folder, fix=_FIX)
            try:
                figures = figures_of(json.loads((folder / f"network{_SUMMARY}").read_bytes()))
            except (OSError, ValueError, KeyError, TypeError) as error:
                problem = f"ended well but wrote no figures ({type(error).__name__}: {error})"
                raise ToolError(PROGRAM, problem, command=command, output=output, fix=_FIX) from error
            try:
                performance, debug = ((folder / f"network{end}").read_text("utf-8") for end in (_PERFORMANCE, _DEBUG))
                return NxEstimate(figures, *steps_of(performance, debug, figures.get("cycles", 0.0)))
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                problem = f"its databases are not as release {RELEASE} writes them: {type(error).__name__}: {error}"
                return NxEstimate(figures, problem=problem)


def estimate_or_warning(vgf: bytes, system: str | None) -> NxEstimate:
    """``NxEstimator.estimate``; without figures where the program is missing, or fails, with a warning that says why.

    Args:
        system: as of ``NxEstimator.of``.
    """
    program = find_program()
    if program is None:
        return NxEstimate()
    try:
        return NxEstimator.of(program, system).estimate(vgf)
    except ToolError as error:
        passing.note(error)
        warnings.warn(f"no estimate of cycles, by a fault of Arm's program; the VGF is whole: {error}", stacklevel=2)
        return NxEstimate(problem=str(error).partition("\n")[0])


def require_system(system: str) -> None:
    """Refuses a system that the estimator would not find.

    Raises:
        UsageError: the estimator is not installed, or there is no such description.
    """
    program = find_program()
    if program is None:
        raise UsageError(f"system {system!r} is for Arm's estimator, which is not installed: {ADVICE}")
    find_system(system, program)


def find_program() -> Path | None:
    """The program: where ``ARM_VGF_ESTIMATOR`` says, on PATH, or where ``mlia`` keeps it; None: it is not there.

    Raises:
        UsageError: the variable names no such program.
    """
    if given := os.environ.get(VARIABLE):
        path = Path(given, PROGRAM) if Path(given).is_dir() else Path(given)
        if not os.access(path, os.X_OK) or not path.is_file():
            raise UsageError(f"{VARIABLE}={given!r}: there is no program {PROGRAM} that can be run")
        return path
    if found := shutil.which(PROGRAM):
        return Path(found)
    kept = (folder / "nx-performance-estimator" / PROGRAM for folder in _mlia_folders())
    return next((path for path in kept if os.access(path, os.X_OK)), None)


def find_system(name: str, program: Path) -> Path:
    """A description of a system: a file, or one that lies beside the program or in its Python package, by its name.

    Raises:
        UsageError: there is none; lists those that are there.
    """
    if Path(name).suffix == ".ini" and Path(name).is_file():
        return Path(name).resolve()
    known = {key: path for key, path in _descriptions(program).items() if not key.startswith(_SCHEDULERS)}
    if name in known:
        return known[name]
    there = f"there are {', '.join(sorted(known))}" if known else "no description lies beside the program"
    raise UsageError(f"system {name!r} is neither an .ini file nor a description of {PROGRAM}; {there}")


def _mlia_folders() -> Iterator[Path]:
    """Where ``mlia-backend install`` puts programs: in the active virtual environment, or at home."""
    for root in filter(None, (os.environ.get("VIRTUAL_ENV"), str(Path.home()))):
        yield Path(root, ".mlia", "backends")


def _descriptions(program: Path) -> dict[str, Path]:
    """The settings that come with the program, by their names: beside it, and in its package if that is installed."""
    package = Path(sysconfig.get_path("purelib"), "mlia", "resources", "nx-performance-estimator")
    return {path.stem: path for folder in (package, program.parent) for path in sorted(folder.glob("*.ini"))}


@cache
def _digest(program: Path, size: int, changed_ns: int) -> str:
    """Of the contents of a program, which is read once as long as it stays the same."""
    return hashlib.sha256(program.read_bytes()).hexdigest()


def _read(key: str) -> NxEstimate | None:
    """What the cache has; None where there is nothing, or the file is spoiled."""
    try:
        return foreign.record(NxEstimate, json.loads(_path(key).read_bytes()))
    except (OSError, ValueError, UsageError):
        return None


def _keep(key: str, estimate: NxEstimate) -> None:
    """Keeps an estimate; where nothing can be written, the program is asked again next time."""
    try:
        _path(key).parent.mkdir(parents=True, exist_ok=True)
        write_atomic(_path(key), json.dumps(asdict(estimate)).encode())
    except (OSError, UsageError):
        pass


def _path(key: str) -> Path:
    return cache_folder() / _KIND / key
