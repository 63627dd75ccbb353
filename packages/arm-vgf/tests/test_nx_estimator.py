"""Arm's estimator for the neural accelerator, of which a script takes the place: the program itself has a licence."""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
from pathlib import Path

import pytest

from arm_tosa_core.support.errors import ToolError, UsageError
from arm_vgf import VgfCompileSpec
from arm_vgf.compile_spec import DEFAULT_SPEC
from arm_vgf.nx_estimator import ESTIMATOR, PROGRAM, VARIABLE, NxEstimator, find_program, find_system

VGF = b"VGF1" + bytes(4) + bytes((0, 5, 0)) + bytes(117) + b"sections"
SUMMARY = {"total_cycles": 7240, "inference_time": 0.004826666787266731, "dram_footprint": 66176}
#: It counts its runs, and refuses what the real one dies of.
SCRIPT = """#!{python}
import json, os, pathlib, sys
with open({runs!r}, "a") as runs:
    print(*sys.argv[1:], file=runs)
arguments = dict(zip(sys.argv[1::2], sys.argv[2::2]))
assert pathlib.Path(arguments["-i"]).read_bytes()[8:11] == bytes((0, 4, 3))
{then}
"""
WRITES = """
network = {name: {"value": value} for name, value in json.loads(%r).items()}
text = json.dumps({"network_performance": network})
pathlib.Path(arguments["-o"] + "_network_performance_summary.json").write_text(text)
"""


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A home, a cache and a PATH of the test's own."""
    monkeypatch.setenv("ARM_TOSA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name in (VARIABLE, "VIRTUAL_ENV"):
        monkeypatch.delenv(name, raising=False)


def installed(folder: Path, then: str = WRITES % json.dumps(SUMMARY)) -> Path:
    """A program that does something; its runs are lines of a file beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / PROGRAM
    program.write_text(SCRIPT.format(python=sys.executable, runs=str(folder / "runs"), then=then))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def runs(program: Path) -> list[str]:
    return (program.parent / "runs").read_text().splitlines()


def test_figures_are_asked_for_once(tmp_path: Path) -> None:
    program = installed(tmp_path / "bin")
    expected = {"cycles": 7240, "clock_hz": 1.5e9, "dram_kib": 66176 / 1024}
    for _ in range(2):
        assert NxEstimator.of(program, None).figures(VGF) == expected
    assert len(runs(program)) == 1
    NxEstimator.of(program, None).figures(VGF + b"x")
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
        NxEstimator.of(program, system).figures(VGF)
    chosen = [Path(run.split()[run.split().index("-s") + 1]).name for run in runs(program)]
    assert chosen == ["system-config-neural-technology-default.ini", "fast.ini", "own.ini"]
    assert all("-c" in run.split() for run in runs(program))


@pytest.mark.parametrize(
    ("then", "message"),
    [
        (f"os.kill(os.getpid(), {signal.SIGSEGV.value})", "killed by signal SIGSEGV"),
        ("sys.exit('no such operator')", "no such operator"),
        ("pass", "wrote no figures"),
        (WRITES % json.dumps(SUMMARY | {"total_cycles": -1}), "wrote no figures"),
        (WRITES % "{}", "wrote no figures"),
    ],
)
def test_a_program_that_fails(tmp_path: Path, then: str, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        NxEstimator.of(installed(tmp_path / "bin", then), None).figures(VGF)


def test_what_is_not_rated_has_no_figures(tmp_path: Path) -> None:
    program = installed(tmp_path / "bin", WRITES % json.dumps(SUMMARY | {"total_cycles": 0}))
    assert NxEstimator.of(program, None).figures(VGF) == {}


def spec_target(monkeypatch: pytest.MonkeyPatch, system: str | None = None) -> VgfCompileSpec:
    spec = VgfCompileSpec(system=system)
    monkeypatch.setattr(spec, "_compile", lambda tosa, options: VGF)
    return spec


def test_a_target_has_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert spec_target(monkeypatch).target().report.estimate is None
    assert spec_target(monkeypatch).target().compiler.compile_in_detail is None
    installed(tmp_path / "bin")
    target = spec_target(monkeypatch).target()
    assert target.report.estimate is not None and target.report.estimate(b"")["cycles"] == 7240
    assert target.compiler.compile_in_detail is not None
    compiled = target.compiler.compile_in_detail(b"", {})
    assert (compiled.payload, compiled.figures["cycles"], compiled.cycles_by) == (VGF, 7240, ESTIMATOR)


def test_a_program_that_fails_ends_no_compile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path / "bin", "sys.exit(3)")
    target = spec_target(monkeypatch).target()
    assert target.compiler.compile_in_detail is not None
    with pytest.warns(UserWarning, match="no estimate of cycles: .*status 3"):
        assert target.compiler.compile_in_detail(b"", {}).figures == {}


def test_a_system_travels_and_a_program_does_not(tmp_path: Path) -> None:
    program = installed(tmp_path / "bin")
    (tmp_path / "own.ini").write_text("own")
    spec = VgfCompileSpec(system=str(tmp_path / "own.ini"))
    assert VgfCompileSpec.from_list(spec.to_list()) == spec
    shipped = b"".join(bytes(item.value) for item in spec.to_list()).decode()
    assert "own.ini" in shipped and str(tmp_path) not in shipped
    foreign = VgfCompileSpec._from_options(spec.tosa_spec, [], {"estimator": "/bin/evil", "system": "own.ini"})
    assert foreign._options() == {"estimator": str(program), "system": "own.ini"}


def test_a_system_without_the_program() -> None:
    with pytest.raises(UsageError, match=f"which is not installed: .*{VARIABLE}"):
        VgfCompileSpec(DEFAULT_SPEC, system="peak-12SC-8NX-600MHz")


def test_the_stand_in_is_no_other_program(tmp_path: Path) -> None:
    """It takes a VGF of the format that the real one reads only."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "network.vgf").write_bytes(VGF)
    program = installed(tmp_path / "bin")
    assert os.spawnv(os.P_WAIT, str(program), [PROGRAM, "-i", str(tmp_path / "bin" / "network.vgf"), "-o", "x"]) == 1
