"""Every task of the repository: ``nox -l`` lists them, ``nox -s NAME -- ARGS`` passes arguments on.

Environments live in ``.nox`` and are set up again only when what they are made of has changed, so that a second run
starts at once. Most sessions share one environment in which the packages are editable; ``tests-core``,
``tests-ethosu``, ``tests-vgf`` and ``plugin`` each have their own, into which the built packages are installed with
their declared dependencies only.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import nox

ROOT = Path(__file__).parent.resolve()
PACKAGES = ROOT / "packages"
CORE, ETHOSU, VGF = (PACKAGES / name for name in ("arm-tosa-core", "arm-ethosu", "arm-vgf"))
ACME = ROOT / "tests" / "plugins" / "acme-npu"
CONSTRAINTS = ROOT / "constraints.txt"
CPP_SUFFIXES = {".c", ".cc", ".cpp", ".h", ".hpp"}

nox.options.sessions = ["lint", "types", "tests"]
# The helpers below make the environments: nox cannot share one between sessions.
nox.options.default_venv_backend = "none"


class Environment:
    """A virtual environment under ``.nox``, filled by pip under the constraints.

    Args:
        session: runs the commands.
        name: its folder.
        requirements: arguments of ``pip install``.
        made_of: files and folders whose contents decide whether it must be set up again.
    """

    def __init__(
        self, session: nox.Session, name: str, requirements: Iterable[str | Path], made_of: Iterable[Path]
    ) -> None:
        self.session = session
        self.home = ROOT / ".nox" / name
        self.bin = self.home / "bin"
        # PATH: Vela and the model converter are commands that their packages install.
        self.env = {"PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}", "VIRTUAL_ENV": str(self.home)}
        words = [str(word) for word in requirements]
        stamp, wanted = self.home / "arm-tosa.stamp", _digest(words, [CONSTRAINTS, *made_of])
        if not stamp.is_file() or stamp.read_text() != wanted:
            stamp.unlink(missing_ok=True)
            self._install(words)
            stamp.write_text(wanted)

    def _install(self, requirements: list[str]) -> None:
        if not (self.bin / "python").exists():
            # virtualenv comes with nox; the venv module may be missing on Debian.
            self.session.run(sys.executable, "-m", "virtualenv", "--quiet", str(self.home))
        # torch alone and first: its exact version is found among local wheels where there are any, and the other
        # packages' requirements, which are ranges, then find it installed.
        self.python("-m", "pip", "install", "--quiet", "torch==2.13.0")
        self.python("-m", "pip", "install", "--quiet", "--constraint", str(CONSTRAINTS), *requirements)

    def python(self, *arguments: str, **env: str) -> None:
        """Runs this environment's Python; the session fails if it does."""
        self.session.run(str(self.bin / "python"), *arguments, env={**self.env, **env})


def _digest(words: Iterable[str], paths: Iterable[Path]) -> str:
    found = hashlib.sha256("\n".join([sys.version, str(ROOT), *words]).encode())
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and "__pycache__" not in file.parts:
                found.update(f"\n{file.relative_to(ROOT)}\n".encode() + file.read_bytes())
    return found.hexdigest()


def _shared(session: nox.Session) -> Environment:
    installed = (CORE, ETHOSU, VGF, ACME)
    editable = [word for package in installed for word in ("--editable", f"{package}[test]")]
    tools = ("clang-format", "cmake", "hatchling", "mypy", "ninja", "ruff", "scikit-learn", "transformers")
    return Environment(session, "shared", [*editable, *tools], [package / "pyproject.toml" for package in installed])


def _alone(session: nox.Session, package: Path, *needs: Path) -> None:
    """Tests a package as users get it: built, and installed with nothing but what it declares."""
    built = (*needs, package)
    sources = [part for p in built for part in (p / "pyproject.toml", p / "README.md", p / "LICENSE", p / "src")]
    env = Environment(session, session.name, [*needs, f"{package}[test]"], sources)
    _pytest(env, session.posargs, package / "tests")


def _pytest(env: Environment, arguments: list[str], *paths: Path) -> None:
    # One thread per worker: the workers are as many as there are processors.
    env.python("-m", "pytest", "-n", "auto", "--dist", "worksteal", *map(str, paths), *arguments, OMP_NUM_THREADS="1")


@nox.session
def demo(session: nox.Session) -> None:
    """Trains a small CNN on digits, compiles it for four targets, prints what came out."""
    _shared(session).python("examples/digits.py", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Every test of the repository; arguments after -- go to pytest."""
    _pytest(_shared(session), session.posargs)


@nox.session(name="tests-core")
def tests_core(session: nox.Session) -> None:
    """The tests of arm-tosa-core with only that package installed."""
    _alone(session, CORE)


@nox.session(name="tests-ethosu")
def tests_ethosu(session: nox.Session) -> None:
    """The tests of arm-ethosu with only that package and what it declares installed."""
    _alone(session, ETHOSU, CORE)


@nox.session(name="tests-vgf")
def tests_vgf(session: nox.Session) -> None:
    """The tests of arm-vgf with only that package and what it declares installed."""
    _alone(session, VGF, CORE)


@nox.session
def plugin(session: nox.Session) -> None:
    """A third party's target beside the core alone: the conformance kit on it, then its own tests."""
    sources = [CORE / "pyproject.toml", CORE / "src", ACME / "pyproject.toml", ACME / "src"]
    env = Environment(session, "plugin", [f"{CORE}[test]", ACME], sources)
    _pytest(env, ["--arm-target=acme", "--pyargs", "arm_tosa_core.testing", *session.posargs])
    _pytest(env, session.posargs, ACME / "tests")


@nox.session
def lint(session: nox.Session) -> None:
    """ruff on the Python files, clang-format on the C and C++ files."""
    env = _shared(session)
    env.python("-m", "ruff", "check", ".")
    env.python("-m", "ruff", "format", "--check", ".")
    if cpp := sorted(str(file) for file in PACKAGES.rglob("*") if file.suffix in CPP_SUFFIXES):
        session.run(str(env.bin / "clang-format"), "--dry-run", "--Werror", *cpp)


@nox.session
def types(session: nox.Session) -> None:
    """mypy --strict on each package's sources."""
    env = _shared(session)
    env.python("-m", "mypy", "--strict", *(str(package / "src") for package in (CORE, ETHOSU, VGF)))


@nox.session
def docs(session: nox.Session) -> None:
    """The README and docs: every relative link leads somewhere, every code block is valid and runs where it can."""
    _pytest(_shared(session), session.posargs, ROOT / "tests" / "test_readme.py", ROOT / "tests" / "test_docs.py")


@nox.session
def bench(session: nox.Session) -> None:
    """Lowering time and quality beside executorch.backends.arm; arguments after -- go to benchmarks/lowering.py."""
    env = _shared(session)
    for arguments in [session.posargs] if session.posargs else ([], ["--depth"], ["--imports"]):
        env.python("benchmarks/lowering.py", *arguments)
