"""Sessions that take minutes to hours: random programs, sanitizers, benchmarks, the rival's tests."""

from __future__ import annotations

import datetime
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import nox

import night

from .environments import ROOT, RUNTIME, Environment, commit, only_files, run_pytest, shared
from .system_packages import BARE_METAL, COMPILER, FUZZER, VULKAN, install


@nox.session
def firmware(session: nox.Session) -> None:
    """Networks as firmware in QEMU, bit for bit beside the TOSA reference model: all of them, minutes."""
    install(session, COMPILER, BARE_METAL)
    run_pytest(shared(session), session.posargs, ROOT / "tests" / "all_networks_in_qemu.py", workers="0")


@nox.session
def fuzz(session: nox.Session) -> None:
    """The functional model of Ethos-U: 2,000 random graphs beside the reference model, ten minutes of random bytes."""
    install(session, COMPILER, FUZZER)
    env, folder = shared(session, runtime=False), RUNTIME / "tests" / "ethosu_model"
    run_pytest(env, session.posargs, folder / "fuzz_graphs.py")
    env.python(str(folder / "fuzz_bytes.py"))


@nox.session
def programs(session: nox.Session) -> None:
    """150 random programs of the commit's seed in every flow, target and scheme; takes the generator's arguments."""
    install(session, COMPILER, VULKAN)
    words = session.posargs or ("--seed", commit(session))
    shared(session).python("-m", "programs", *words, PYTHONPATH=str(ROOT / "tests"), OMP_NUM_THREADS="1")


_PROGRAMS_OF_A_PART = 1000


@nox.session(name="night-programs")
@nox.parametrize("part", range(night.PARTS))
def night_programs(session: nox.Session, part: int) -> None:
    """5,000 random programs of the commit's seed, in five parts; their rows are written to ``.nox/programs``."""
    install(session, COMPILER, VULKAN)
    rows = ROOT / ".nox" / "programs" / f"{commit(session)}-{part}.jsonl"
    rows.parent.mkdir(exist_ok=True)
    rows.unlink(missing_ok=True)
    which = ("--seed", commit(session), "--first", str(part * _PROGRAMS_OF_A_PART), "--count", str(_PROGRAMS_OF_A_PART))
    words = (*which, "--out", str(rows))
    shared(session).python("-m", "programs", *words, PYTHONPATH=str(ROOT / "tests"), OMP_NUM_THREADS="1")


@nox.session
def hostile(session: nox.Session) -> None:
    """5,000 spoiled files of every format, each opened in a process of its own; takes --count, --seed and --first."""
    install(session, COMPILER, VULKAN)
    words = session.posargs or ("--count", "5000", "--seed", commit(session))
    shared(session).python("-m", "hostile", *words, PYTHONPATH=str(ROOT / "tests"), OMP_NUM_THREADS="1")


@nox.session
def nnsmith(session: nox.Session) -> None:
    """500 models of NNSmith, a generator of others, in every flow, target and scheme; ``-- COUNT SEED``."""
    install(session, COMPILER, VULKAN)
    folder, tests = ROOT / ".nox" / "nnsmith" / "models", ROOT / "tests"
    env = Environment(session, "nnsmith", ["nnsmith==0.1.0"], [], Path())
    shutil.rmtree(folder, ignore_errors=True)
    env.python(str(tests / "programs" / "nnsmith_models.py"), str(folder), *(session.posargs or ("500", "1")))
    words = ("--models", str(folder), "--count", "500")
    shared(session).python("-m", "programs", *words, PYTHONPATH=str(tests), OMP_NUM_THREADS="1")


_RESULTS = ROOT / "tests" / "results"
#: The slow tests run once in a night, in ``tests``: a session that repeats tests of that one leaves them out.
_REPEATED = ("--leave-out-slow",)
#: What the night runs: sessions, with the arguments of those that need any.
NIGHTLY: dict[str, tuple[str, ...]] = {
    "lint": ("--all",),
    **dict.fromkeys(("types", "docs", "platforms", "wheels", "pythons"), ()),
    "plugin": ("--arm-sample=1",),
    "tests": ("--slow", f"--record-slow={_RESULTS / 'slow_tests.json'}"),
    **dict.fromkeys(("tests-core", "tests-cortex-m", "tests-ethosu", "tests-vgf", "tests-runtime"), _REPEATED),
    **dict.fromkeys(("versions(which='oldest')", "versions(which='newest')"), _REPEATED),
    **dict.fromkeys(
        (*night.OPERATORS_ETHOSU, "operators-cortex-m", "operators-vgf", "firmware", "sanitize", "fuzz"), ()
    ),
    **dict.fromkeys((*night.PROGRAMS, "nnsmith", "hostile", "rival-sample", "rival-suite"), ()),
}


@nox.session
def nightly(session: nox.Session) -> None:
    """Every test, 5,000 random programs, and the other long sessions, one after the other: hours.

    ``tests/results/nightly.json`` says for each session the commit, the day and the seconds of its last pass. A session
    is not run again if nothing that it is there for (``tests/night.py``) has changed since; of the others, those that
    never passed come first, and then those whose pass is the oldest: a night that ends early, and the one after it,
    together run everything. ``-- NAME...`` runs the sessions of these names, even if they have passed.
    """
    sources = ("--", ".", ":!tests/results")
    changed, on, before = (
        str(session.run("git", *words, *sources, external=True, silent=True, log=False)).strip()
        for words in (("status", "--porcelain"), ("log", "-1", "--format=%H"), ("log", "--reverse", "--format=%H"))
    )
    if changed:
        session.error("commit first: what passes is recorded for a commit")
    history = {commit: place for place, commit in enumerate(before.split())}
    try:
        wanted = night.chosen([*NIGHTLY], session.posargs) or night.due([*NIGHTLY], night.read(), history)
    except ValueError as error:
        session.error(str(error))
    failed = []
    for name in wanted:
        began, report = time.monotonic(), Path(session.create_tmp()).resolve() / "report.json"
        report.unlink(missing_ok=True)
        # A process of its own: a session that fails must not end the night.
        nox_runs = (sys.executable, "-m", "nox", "--report", str(report), "-s", name)
        ended = subprocess.run([*nox_runs, "--", *NIGHTLY[name]], cwd=ROOT, check=False)
        if ended.returncode or not night.all_passed(report):
            failed.append(name)
            continue
        took, today = round(time.monotonic() - began), datetime.date.today().isoformat()
        night.write(night.read() | {name: night.Pass(commit=on, date=today, seconds=took)}, NIGHTLY)
    if failed:
        session.error(f"failed or skipped: {', '.join(failed)}")


@nox.session
def sanitize(session: nox.Session) -> None:
    """The tests of arm-runtime-cpp under sanitizers of addresses and undefined behaviour, in Python; and of threads."""
    install(session, COMPILER, VULKAN)
    env, build = shared(session), RUNTIME / "build" / "sanitized"
    run_pytest(env, [], RUNTIME / "tests" / "vgf" / "threads_under_sanitizer.py", workers="0")
    package, cmake = build / "package" / "arm_runtime", str(env.bin / "cmake")
    for step in (
        (
            *("--preset", "host-asan", "-DARM_RUNTIME_TESTS=OFF", "-B", str(build), "-S", str(RUNTIME)),
            # The preset is for programs that are compiled more often than they are run.
            *("-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -g -DNDEBUG", f"-DPython_EXECUTABLE={env.bin / 'python'}"),
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
    # Not those that build or replace what the sanitizers do, nor those of installed libraries: they have no part
    # in them, or bring their own.
    tests = RUNTIME / "tests"
    apart = (
        *("vgf/test_sanitizers.py", "vgf/test_allocations.py", "vgf/test_library.py"),
        *("delegate/test_cmake_package.py", "bare_metal"),
    )
    ignored = [f"--ignore={tests / name}" for name in apart]
    run_pytest(env, [*ignored, *session.posargs], tests, workers="0")
    if found := sorted(map(str, logs.iterdir())):
        session.error(f"the sanitizers' reports: {' '.join(found)}")


@nox.session
def bench(session: nox.Session) -> None:
    """Measures beside executorch.backends.arm, then makes docs/benchmarks.md.

    Arguments after -- go to benchmarks.lowering; without any, the functional model of Ethos-U is timed too.
    Measurements are appended to benchmarks/results.
    """
    env = shared(session)
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
    env = shared(session)
    site = only_files(session, "bench-real", ROOT / "benchmarks" / "real" / "requirements.txt")
    env.python("-m", "benchmarks.real", *session.posargs, PYTHONPATH=str(site))
    Environment(session, "bench", ["matplotlib"], [], torch=False).python("-m", "benchmarks.page")


@nox.session(name="bench-nx")
def bench_nx(session: nox.Session) -> None:
    """VGF by Arm's estimator of the neural accelerator beside executorch.backends.arm, where the estimator is; an hour.

    The packages that have networks are fetched into environments of their own, without what they require. Arguments
    after -- go to benchmarks.nx, such as ``--networks mobilenet_v2``.
    """
    env = shared(session)
    sites = [
        only_files(session, f"bench-{name}", ROOT / "benchmarks" / name / "requirements.txt") for name in ("nx", "real")
    ]
    env.python("-m", "benchmarks.nx", *session.posargs, PYTHONPATH=os.pathsep.join(map(str, sites)))
    Environment(session, "bench", ["matplotlib"], [], torch=False).python("-m", "benchmarks.page")


@nox.session(name="bench-all")
def bench_all(session: nox.Session) -> None:
    """All that the pages show, measured on one commit; goes on where it stopped: hours. See ``-- --list``.

    Arguments after -- go to benchmarks.release: names of steps, --list, --pages, --litert PYTHON, --cmsis-nn FOLDER.
    """
    env, release = shared(session), ("-m", "benchmarks.release", *session.posargs)
    if {"--list", "--pages"} & set(session.posargs):
        env.python(*release)
        return
    folders = [ROOT / "benchmarks" / name for name in ("nx", "real", "vgf")]
    sites = [only_files(session, f"bench-{folder.name}", folder / "requirements.txt") for folder in folders]
    try:
        env.python(*release, BENCH_SITES=os.pathsep.join(map(str, sites)))
    finally:
        Environment(session, "bench", ["matplotlib"], [], torch=False).python("-m", "benchmarks.page")


@nox.session(name="rival-suite")
def rival_suite(session: nox.Session) -> None:
    """The tests in the wheel of executorch.backends.arm, on this compiler; hours: see --shard K/N and --targets."""
    env = shared(session)
    site = only_files(session, "rival-suite", ROOT / "benchmarks" / "rival_suite" / "requirements.txt")
    known = ROOT / "benchmarks" / "rival_suite" / "known_failures.txt"
    words = session.posargs or ("--jobs", "2", "--known", str(known))
    env.python("-m", "benchmarks.rival_suite", *words, PYTHONPATH=str(site), OMP_NUM_THREADS="1")
