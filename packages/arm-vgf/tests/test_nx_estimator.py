"""Arm's estimator for the neural accelerator, of which a script takes the place: the program itself has a licence."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from nx_stand_in import FIGURES, MOVED, SUMMARY, VGF, WRITES, installed, runs

from arm_tosa_core.exir.provenance import of_spec
from arm_tosa_core.support import passing
from arm_tosa_core.support.errors import ToolError, UsageError
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.serializer import serialize
from arm_vgf import VgfCompileSpec
from arm_vgf.compile_spec import DEFAULT_SPEC
from arm_vgf.nx_estimator import ADVICE, ESTIMATOR, PROGRAM, VARIABLE, NxEstimator, find_program, find_system

pytestmark = pytest.mark.usefixtures("no_estimator")


def test_figures_are_asked_for_once(tmp_path: Path) -> None:
    program = installed(tmp_path / "bin")
    for _ in range(2):
        assert NxEstimator.of(program, None).estimate(VGF).figures == FIGURES
    assert len(runs(program)) == 1
    NxEstimator.of(program, None).estimate(VGF + b"x")
    assert len(runs(program)) == 2


@pytest.mark.parametrize("place", ["bin", "home/.mlia/backends/nx-performance-estimator", "elsewhere"])
def test_it_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    assert find_program() is None
    program = installed(tmp_path / place)
    if place == "elsewhere":
        for given in (program, program.parent):
            monkeypatch.setenv(VARIABLE, str(given))
            assert find_program() == program
    assert find_program() == program


def test_a_variable_that_names_no_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(UsageError, match=f"{VARIABLE}=.*no program {PROGRAM}"):
        find_program()


def test_systems(tmp_path: Path) -> None:
    program = installed(tmp_path / "bin")
    with pytest.raises(UsageError, match="'fast' is neither an .ini file nor .*; no description lies beside"):
        find_system("fast", program)
    for name in ("fast", "gc-config-neural-technology-default", "system-config-neural-technology-default"):
        (program.parent / f"{name}.ini").write_text(name)
    (own := tmp_path / "own.ini").write_text("own")
    with pytest.raises(UsageError, match="there are fast, system-config-neural-technology-default$"):
        find_system("slow", program)
    for system in (None, "fast", str(own)):
        NxEstimator.of(program, system).estimate(VGF)
    chosen = [Path(run.split()[run.split().index("-s") + 1]).name for run in runs(program)]
    assert chosen == ["system-config-neural-technology-default.ini", "fast.ini", "own.ini"]
    assert all("-c" in run.split() for run in runs(program))


@pytest.mark.parametrize(
    ("then", "message"),
    [
        (f"os.kill(os.getpid(), {signal.SIGSEGV.value})", "killed by signal SIGSEGV"),
        ("sys.exit('no such operator')", "no such operator"),
        ("pass", "wrote no figures"),
        (WRITES % (SUMMARY | {"total_cycles": -1}, MOVED), "wrote no figures"),
        (WRITES % ({}, {}), "wrote no figures"),
    ],
)
def test_a_program_that_fails(tmp_path: Path, then: str, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        NxEstimator.of(installed(tmp_path / "bin", then), None).estimate(VGF)


@pytest.mark.parametrize(
    ("cycles", "moved", "figures"),
    [
        (0, None, {}),  # as of a graph of floats
        (0, MOVED, {}),
        (7240, None, {name: FIGURES[name] for name in ("cycles", "clock_hz", "dram_kib")}),
    ],
)
def test_what_is_not_rated_has_no_figures(
    tmp_path: Path, cycles: int, moved: dict[str, int] | None, figures: dict[str, float]
) -> None:
    program = installed(tmp_path / "bin", WRITES % (SUMMARY | {"total_cycles": cycles}, moved))
    assert NxEstimator.of(program, None).estimate(VGF).figures == figures


#: Of a graph with nothing in it.
TOSA = serialize(Graph(), VgfCompileSpec().tosa_spec)


def spec_target(monkeypatch: pytest.MonkeyPatch, system: str | None = None) -> VgfCompileSpec:
    spec = VgfCompileSpec(system=system)
    monkeypatch.setattr(spec, "_compile", lambda tosa, options: VGF)
    return spec


def test_a_target_has_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without = spec_target(monkeypatch).target()
    assert without.report.estimate is None and without.compiler.compile_in_detail is not None
    compiled = without.compiler.compile_in_detail(TOSA, {})
    assert (compiled.payload, compiled.figures, compiled.estimated_by) == (VGF, {}, "")
    assert [ADVICE in note and "\n" not in note for note in compiled.notes] == [True]
    installed(tmp_path / "bin")
    target = spec_target(monkeypatch).target()
    assert target.report.estimate is not None and target.report.estimate(b"")["cycles"] == 7240
    assert target.compiler.compile_in_detail is not None
    compiled = target.compiler.compile_in_detail(TOSA, {})
    assert (compiled.payload, compiled.figures, compiled.estimated_by) == (VGF, FIGURES, ESTIMATOR)


def test_a_program_that_fails_ends_no_compile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path / "bin", "sys.exit(3)")
    target = spec_target(monkeypatch).target()
    assert target.compiler.compile_in_detail is not None
    with pytest.warns(UserWarning, match="fault of Arm's program; the VGF is whole: .*status 3"):
        compiled = target.compiler.compile_in_detail(TOSA, {})
    assert (compiled.payload, compiled.figures) == (VGF, {})
    assert [note.endswith(f"{PROGRAM} exited with status 3") for note in compiled.notes] == [True]


def test_a_program_that_a_signal_ends_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the program's fault, and not for good: nothing of it is kept."""
    installed(tmp_path / "bin", f"os.kill(os.getpid(), {signal.SIGSEGV.value})")
    target = spec_target(monkeypatch).target()
    assert target.compiler.compile_in_detail is not None
    failures = passing.failures()
    with pytest.warns(UserWarning, match=f"fault of Arm's program; .*{PROGRAM} was killed by signal SIGSEGV"):
        compiled = target.compiler.compile_in_detail(TOSA, {})
    assert "signal SIGSEGV" in compiled.notes[0] and passing.failures() > failures
    assert not list((tmp_path / "cache").rglob("*"))


def test_a_system_travels_and_a_program_does_not(tmp_path: Path) -> None:
    program = installed(tmp_path / "bin")
    (tmp_path / "own.ini").write_text("own")
    spec = VgfCompileSpec(system=str(tmp_path / "own.ini"))
    assert VgfCompileSpec.from_list(spec.to_list()) == spec
    shipped = b"".join(bytes(item.value) for item in spec.to_list()).decode()
    assert "own.ini" in shipped and str(tmp_path) not in shipped
    foreign = VgfCompileSpec._from_options(spec.tosa_spec, [], {"estimator": "/bin/evil", "system": "own.ini"})
    assert (foreign._options(), foreign._depends_on()) == ({"system": "own.ini"}, {"estimator": str(program)})


def test_what_the_estimate_depends_on_is_in_the_options(tmp_path: Path) -> None:
    """Of a system by its name, and of the scheduler, the files: their contents count in the cache of programs."""
    program = installed(tmp_path / "bin")
    before = list(of_spec(VgfCompileSpec()))
    for name in ("fast", "gc-config-neural-technology-default"):
        (program.parent / f"{name}.ini").write_text(name)
    spec = VgfCompileSpec(system="fast")
    named = list(of_spec(spec))
    assert {str(program.parent / f"{name}.ini") for name in ("fast", "gc-config-neural-technology-default")} <= set(
        spec._depends_on().values()
    )
    (program.parent / "fast.ini").write_text("faster")
    faster = list(of_spec(spec))
    program.write_text(program.read_text() + "pass\n")
    assert len({str(each) for each in (before, named, faster, list(of_spec(spec)))}) == 4


def test_a_system_without_the_program() -> None:
    with pytest.raises(UsageError, match=f"which is not installed: .*{VARIABLE}"):
        VgfCompileSpec(DEFAULT_SPEC, system="peak-12SC-8NX-600MHz")


def test_the_stand_in_is_no_other_program(tmp_path: Path) -> None:
    """It takes a VGF of the format that the real one reads only."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "network.vgf").write_bytes(VGF)
    program = installed(tmp_path / "bin")
    assert os.spawnv(os.P_WAIT, str(program), [PROGRAM, "-i", str(tmp_path / "bin" / "network.vgf"), "-o", "x"]) == 1
