"""Sessions that test: everything, a package alone, the operators on each device, the ends of version ranges."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import nox

from .environments import (
    ACME,
    BUILD_TOOLS,
    CORE,
    CORTEX_M,
    EMULATION_LAYER,
    ETHOSU,
    ROOT,
    RUNTIME,
    VGF,
    Environment,
    commit,
    only_files,
    run_pytest,
    shared,
)
from .system_packages import BARE_METAL, COMPILER, FUZZER, PAGES, UNIT_TESTS, VULKAN, install

#: The operator cases that a device refuses although TOSA has them, and why.
REFUSALS = {
    "ethos-u55-128": ETHOSU / "tests" / "refusals" / "u55.txt",
    "ethos-u65-256": ETHOSU / "tests" / "refusals" / "u55.txt",
    "ethos-u85-256": ETHOSU / "tests" / "refusals" / "u85.txt",
    "vgf": VGF / "tests" / "refusals" / "vgf.txt",
    "cortex-m55": CORTEX_M / "tests" / "refusals" / "cortex_m.txt",
}
#: Of the operator cases in a sample; for a Cortex-M, where a C compiler runs for each.
_SHARE, _SHARE_CORTEX_M = 0.09, 0.02
# Model Explorer and Arm's adapters, which want another flatbuffers than tosa-tools: apart from the rest.
EXPLORER = (
    "ai-edge-model-explorer==0.1.34",
    *("tosa-adapter-model-explorer==0.1.0", "vgf-adapter-model-explorer==0.5.1", "pte-adapter-model-explorer==0.2.0"),
)


@nox.session
def demo(session: nox.Session) -> None:
    """Trains a small CNN on digits, compiles it for four targets, runs one as firmware, prints what came out."""
    install(session, COMPILER, VULKAN, BARE_METAL)
    shared(session).python("examples/digits.py", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """The tests of the repository, but for slow ones whose sources have not changed; ``-- --slow``: every test.

    Arguments after -- go to pytest.
    """
    install(session, COMPILER, VULKAN, BARE_METAL, FUZZER, UNIT_TESTS, PAGES)
    env = shared(session)
    env.python(str(CORE / "hatch_build.py"))  # another session may have installed it before npm was there
    env.env["EXAMPLES_SITE"] = str(_examples(session))
    env.env["PATH"] += f"{os.pathsep}{_explorer(session).bin}"
    run_pytest(env, session.posargs)


@nox.session(name="tests-environments")
def tests_environments(session: nox.Session) -> None:
    """Makes the environments that ``tests`` alone has: ``.ci/run`` does so while others make theirs."""
    install(session, BARE_METAL, FUZZER, PAGES)
    _examples(session)
    _explorer(session)


def _examples(session: nox.Session) -> Path:
    """The folder with the weights and pictures of the examples."""
    return only_files(session, "examples", ROOT / "examples" / "requirements.txt")


def _explorer(session: nox.Session) -> Environment:
    """Model Explorer."""
    return Environment(session, "explorer", EXPLORER, [], Path(), torch=False)


@nox.session(name="tests-core")
def tests_core(session: nox.Session) -> None:
    """The tests of arm-tosa-core with only that package installed."""
    install(session, PAGES)
    tested_alone(session, CORE)


@nox.session(name="tests-cortex-m")
def tests_cortex_m(session: nox.Session) -> None:
    """The tests of arm-cortex-m with only that package and what it declares installed."""
    install(session, COMPILER, BARE_METAL, FUZZER)  # what compiles firmware; FUZZER has Clang
    tested_alone(session, CORTEX_M, CORE)


@nox.session(name="tests-ethosu")
def tests_ethosu(session: nox.Session) -> None:
    """The tests of arm-ethosu with only that package and what it declares installed."""
    install(session, COMPILER, BARE_METAL, FUZZER)  # what compiles firmware; FUZZER has Clang
    tested_alone(session, ETHOSU, CORE, CORTEX_M)


@nox.session(name="tests-vgf")
def tests_vgf(session: nox.Session) -> None:
    """The tests of arm-vgf with only that package and what it declares installed."""
    tested_alone(session, VGF, CORE)


@nox.session(name="tests-runtime")
def tests_runtime(session: nox.Session) -> None:
    """The tests of arm-runtime-cpp, built and installed beside the packages whose programs it runs."""
    install(session, COMPILER, VULKAN, BARE_METAL, FUZZER, UNIT_TESTS)
    ours = (CORE, CORTEX_M, ETHOSU, VGF)
    packages = [*(f"{package}[test]" for package in ours), "scikit-learn"]
    sources = [part for package in ours for part in (package / "pyproject.toml", package / "src")]
    env = Environment(session, session.name, [*packages, *BUILD_TOOLS, EMULATION_LAYER], sources)
    env.add_runtime()
    run_pytest(env, session.posargs, RUNTIME / "tests")


def tested_alone(session: nox.Session, package: Path, *needs: Path) -> None:
    """Tests a package as users get it: built, and installed with nothing but what it declares."""
    built = (*needs, package)
    sources = [part for p in built for part in (p / "pyproject.toml", p / "README.md", p / "LICENSE", p / "src")]
    env = Environment(session, session.name, [*needs, f"{package}[test]"], sources)
    run_pytest(env, session.posargs, package / "tests")


@nox.session(name="operators-ethosu")
@nox.parametrize("target", [target for target in REFUSALS if target.startswith("ethos")])
def operators_ethosu(session: nox.Session, target: str) -> None:
    """Every operator case compiled by Vela for an Ethos-U55, U65 and U85, and run on the functional model."""
    install(session, COMPILER)
    _operators(shared(session), target, session.posargs)


@nox.session(name="operators-vgf")
def operators_vgf(session: nox.Session) -> None:
    """Every operator case compiled for VGF and run on Vulkan; half an hour on two cores of a CPU."""
    install(session, COMPILER, VULKAN)
    _operators(shared(session), "vgf", session.posargs)


@nox.session(name="operators-cortex-m")
def operators_cortex_m(session: nox.Session) -> None:
    """Every operator case compiled for a Cortex-M, and run by its C functions, built for this machine."""
    install(session, COMPILER)
    _operators(shared(session), "cortex-m55", session.posargs)


@nox.session(name="operators-sample")
def operators_sample(session: nox.Session) -> None:
    """9 % of the operator cases on each device, 2 % on a Cortex-M; which ones is the commit's, or --arm-seed's."""
    install(session, COMPILER, VULKAN)
    for target in REFUSALS:
        share = _SHARE_CORTEX_M if target.startswith("cortex") else _SHARE
        _operators(shared(session), target, [*_sample(session, share), *session.posargs])


@nox.session(name="rival-sample")
def rival_sample(session: nox.Session) -> None:
    """300 of the tests for devices in the wheel of executorch.backends.arm, the same ones each time."""
    install(session, COMPILER, VULKAN)
    known = ROOT / "benchmarks" / "rival_suite" / "known_failures.txt"
    targets, folders = ("u55", "u85", "vgf"), ("ops", "models", "misc", "modules", "quantizer")
    which = ("--targets", *targets, "--folders", *folders, "--seed", "33", "--sample", "300")
    words = (*which, "--jobs", "2", "--known", str(known), *session.posargs)
    shared(session).python("-m", "benchmarks.rival_suite", *words, OMP_NUM_THREADS="1")


def _sample(session: nox.Session, share: float = _SHARE) -> list[str]:
    """The arguments of the conformance kit for a share of its cases, others for each commit."""
    return [f"--arm-sample={share}", f"--arm-seed={commit(session)}"]


def _operators(env: Environment, target: str, arguments: list[str]) -> None:
    """The conformance kit on a target; without arguments its counts are written, to be committed."""
    whole = () if arguments else (f"--kit-results=tests/results/operators-{target}.json",)
    kit = (f"--arm-target={target}", f"--arm-refusals={REFUSALS[target]}", "--pyargs", "arm_tosa_core.testing")
    run_pytest(env, [*whole, *arguments, *kit])


@nox.session
@nox.parametrize("which", ["oldest", "newest"])
def versions(session: nox.Session, which: str) -> None:
    """The core's tests on the oldest, or the newest, versions that the packages' metadata admits."""
    install(session, COMPILER, BARE_METAL, FUZZER)
    installed = (CORE, CORTEX_M, ETHOSU, VGF)
    wanted = [name for package in installed for name in _lowest(package)] if which == "oldest" else []
    packages = [*(f"{package}[test]" for package in installed), "transformers", "scikit-learn"]
    env = Environment(session, f"versions-{which}", [*packages, *wanted], [p / "src" for p in installed], Path())
    env.python("-m", "pip", "list")
    run_pytest(env, session.posargs, *(package / "tests" for package in installed))


def _lowest(package: Path) -> list[str]:
    """The lower ends of what a package requires, such as ``rich==13.8`` of ``rich>=13.8``."""
    found = tomllib.loads((package / "pyproject.toml").read_text())["project"]["dependencies"]
    bounds = (re.match(r"([\w-]+)>=([\w.]+)", requirement) for requirement in found)
    return [f"{bound[1]}=={bound[2]}" for bound in bounds if bound and not bound[1].startswith("arm-")]


@nox.session
def plugin(session: nox.Session) -> None:
    """A third party's target beside the core alone: its own tests, and a sample of the conformance kit on it.

    ``-- --arm-sample=1`` runs the whole kit.
    """
    sources = [CORE / "pyproject.toml", CORE / "src", ACME / "pyproject.toml", ACME / "src"]
    env = Environment(session, "plugin", [f"{CORE}[test]", ACME], sources)
    run_pytest(env, [], ACME / "tests")
    run_pytest(env, [*_sample(session), *session.posargs, "--arm-target=acme", "--pyargs", "arm_tosa_core.testing"])
