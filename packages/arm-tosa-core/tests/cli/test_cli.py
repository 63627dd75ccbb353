"""The ``arm-tosa`` command: what it prints where, what it writes, and how it ends."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib.metadata import requires, version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import target_kit
import torch
from cli_kit import error, graph, ok, run
from executorch.exir import to_edge_transform_and_lower

from arm_tosa_core.cli import extract as extract_command
from arm_tosa_core.cli.run_pte import _outputs
from arm_tosa_core.exir.pte import Delegate, Pte, read
from arm_tosa_core.exir.pte_runtime import load_program
from arm_tosa_core.plugin import entry_points as plugins
from arm_tosa_core.plugin.health import Finding, KnownVersions, distribution
from arm_tosa_core.plugin.target import Target
from arm_tosa_core.support.errors import UsageError

COMMANDS = ("targets", "doctor", "compile", "explain", "run", "generate", "verify", "extract")


# Every command


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_json_and_debug(command: str) -> None:
    text = run(command, "--help").stdout
    assert "--json" in text and "--debug" in text


@pytest.mark.parametrize("arguments", [["compile", "m.pt2"], ["nonsense"], ["run"], ["compile", "--what"]])
def test_a_wrong_command_line_ends_with_status_2(arguments: list[str]) -> None:
    assert run(*arguments).exit_code == 2


@pytest.mark.parametrize("arguments", [["--help"], ["targets", "--json"]])
def test_it_starts_without_torch(arguments: list[str]) -> None:
    code = (
        "import sys\n"
        "from arm_tosa_core.cli.main import main\n"
        "try:\n    main()\nfinally:\n    print('torch' in sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-W", "ignore", "-c", code, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert result.stderr.splitlines()[-1] == "False"


@pytest.mark.parametrize(
    ("redirection", "status", "message"),
    [
        (">/dev/full", 1, "error: cannot write to the standard output: No space left on device\n"),
        ("--json >/dev/full", 1, "error: cannot write to the standard output: No space left on device\n"),
        ("--json >&-", 0, ""),
        ("2>&- | head -1", 0, ""),
    ],
)
def test_standard_streams_that_take_nothing_are_no_surprise(redirection: str, status: int, message: str) -> None:
    code = "from arm_tosa_core.cli.main import main; main()"
    line = f'set -o pipefail; "$0" -W ignore -c "{code}" targets {redirection}'
    result = subprocess.run(["bash", "-c", line, sys.executable], capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stderr) == (status, message)


def test_what_was_not_foreseen_is_one_paragraph_and_a_traceback_only_in_debug(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(name: str) -> Target:
        raise KeyError("surprise")

    monkeypatch.setattr(plugins, "target", broken)
    assert "--debug" in error("explain", "models.py:whole", "--target", "x")
    assert isinstance(run("explain", "models.py:whole", "--target", "x", "--debug").exception, KeyError)


def test_an_interrupt_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(name: str) -> Target:
        raise KeyboardInterrupt

    monkeypatch.setattr(plugins, "target", interrupted)
    result = run("compile", "models.py:whole", "--target", "x", "-o", "x.pte")
    assert result.exit_code == 130 and "error: interrupted; nothing was written" in result.stderr


def test_the_version(folder: Path) -> None:
    assert run("--version").stdout == f"arm-tosa {version('arm-tosa-core')}\n"


def test_our_warnings_are_shown_and_those_of_libraries_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def providers() -> list[plugins.Provider]:
        warnings.warn("acme-npu is broken", plugins.PluginWarning, stacklevel=1)
        warnings.warn("numpy will change", DeprecationWarning, stacklevel=1)
        logging.getLogger("torch").warning("no GPU here")
        return []

    monkeypatch.setattr(plugins, "providers", providers)
    result = run("targets", "--json")
    assert (result.stderr, json.loads(result.stdout)) == ("warning: acme-npu is broken\n", [])
    assert logging.getLogger("torch").isEnabledFor(logging.WARNING)


# targets and doctor


def test_targets_lists_the_cores_own() -> None:
    rows = {row["name"]: row for row in ok("targets")}
    assert {"tosa", "tosa-int", "tosa-fp"} <= rows.keys()
    assert rows["tosa-int"]["distribution"] == "arm-tosa-core"
    assert "FP" not in rows["tosa-int"]["spec"] and rows["tosa-int"]["can_run"] is True
    assert "tosa-int" in run("targets").stdout


def test_targets_shows_a_broken_one_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [plugins.Provider("bad", "acme-npu", "1.0", plugins.PluginError("acme-npu is broken: no licence"))]
    monkeypatch.setattr(plugins, "providers", lambda: rows)
    result = run("targets", "--json")
    assert json.loads(result.stdout)[0]["error"] == "acme-npu is broken: no licence"
    assert "no licence" in result.stderr


def test_doctor_tells_what_is_missing_and_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    rows = {row["what"]: row for row in ok("doctor")}
    assert rows["torch"]["state"] == "ok" and rows["torch"]["detail"] == version("torch")
    assert rows["TOSA reference model"]["state"] == "ok"
    assert (rows["tosa-opt"]["state"], rows["tosa-opt"]["fix"]) == ("missing", "pip install tosa-tools")
    assert all(row["fix"] or row["state"] == "ok" for row in rows.values())


def test_doctor_says_which_versions_are_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    check = distribution(KnownVersions("torchao", outside="0.17 fails"), "quantizing")
    assert (check().state, check().outside) == ("ok", "0.17 fails")
    assert (
        check().tested == next(r for r in requires("arm-tosa-core") or () if r.startswith("torchao"))[len("torchao") :]
    )
    monkeypatch.setattr("arm_tosa_core.plugin.health.metadata.version", lambda name: "0.17.0")
    assert (check().state, check().detail) == ("untested", "0.17.0")
    assert check().fix.startswith("pip install 'torchao<")
    nowhere = KnownVersions("torchao", by="a-distribution-that-is-not-installed")
    assert nowhere.judge(Finding("torchao", "ok", "0.17.0", "quantizing")).state == "ok"


# run


def test_run_gives_what_the_reference_model_computes(folder: Path) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save("x.npy", x)
    data = ok("run", graph(folder / "g.tosa", 2), "--input", "x.npy", "--output", "y.npy")
    assert [row["file"] for row in data["outputs"]] == ["y_0.npy", "y_1.npy"]
    np.testing.assert_array_equal(np.load("y_0.npy"), x)
    np.testing.assert_array_equal(np.load("y_1.npy"), x + 1)
    ok("run", "g.tosa", "--input", "x.npy", "--output", "a.npy", "--output", "b.npy", "--target", "tosa")
    np.testing.assert_array_equal(np.load("b.npy"), x + 1)


BAD_RUNS = {
    "no input": (["g.tosa"], "takes 1 inputs, got 0"),
    "wrong shape": (["g.tosa", "--input", "short.npy"], r"input x takes float32\[2, 3\]"),
    "wrong dtype": (["g.tosa", "--input", "int.npy"], "int32"),
    "not an array": (["g.tosa", "--input", "models.py"], "models.py is not a NumPy .npy file"),
    "missing array": (["g.tosa", "--input", "none.npy"], "cannot read none.npy: no such file"),
    "missing file": (["none.tosa"], "cannot read none.tosa: no such file"),
    "not TOSA": (["fake.tosa"], "fake.tosa is not a TOSA flatbuffer"),
    "damaged TOSA": (["cut.tosa"], "cut.tosa: the TOSA flatbuffer is damaged"),
    "folder for the output": (["g.tosa", "--input", "x.npy", "--output", "none/y.npy"], "there is no folder none"),
    "objects": (["g.tosa", "--input", "objects.npy"], "objects.npy is damaged, or holds Python objects"),
    "not a program": (["fake.pte"], "fake.pte: not an ExecuTorch program"),
    "profile": (["g.tosa", "--profile", "t.json"], "--profile is for compiled files"),
    "unknown suffix": (["models.py"], "one of the suffixes .tosa, .pte"),
    "target of a compiled file": (["fake.pte", "--target", "tosa"], "--target and --chip are for .tosa files"),
    "outputs do not match": (
        ["g.tosa", "--input", "x.npy", "--output", "a.npy", "--output", "b.npy"],
        "has 1 outputs and 2 --output were given",
    ),
    "unknown target": (["g.tosa", "--input", "x.npy", "--target", "tosaa"], "did you mean 'tosa"),
}


@pytest.mark.parametrize("kind", BAD_RUNS)
def test_a_bad_run_says_why(folder: Path, kind: str) -> None:
    arguments, message = BAD_RUNS[kind]
    graph(folder / "g.tosa")
    (folder / "cut.tosa").write_bytes((folder / "g.tosa").read_bytes()[:200])
    np.save("x.npy", np.zeros((2, 3), np.float32))
    np.save("short.npy", np.zeros((3,), np.float32))
    np.save("int.npy", np.zeros((2, 3), np.int32))
    np.save("objects.npy", np.array([{}]), allow_pickle=True)
    (folder / "fake.tosa").write_bytes(b"nothing of the kind")
    (folder / "fake.pte").write_bytes(b"nothing of the kind")
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(error("run", *arguments))


def test_a_file_of_a_target_runs_and_is_profiled(folder: Path, acme: Callable[..., None]) -> None:
    (folder / "a.acme").write_bytes(b"7")
    np.save("x.npy", np.ones((2,), np.float32))

    def simulate(payload: bytes, inputs: Any) -> list[np.ndarray[Any, Any]]:
        return [inputs[0] * int(payload)]

    acme(suffix=".acme")
    assert "'acme' cannot run on this machine" in error("run", "a.acme", "--input", "x.npy")
    acme(suffix=".acme", run=simulate)
    ok("run", "a.acme", "--input", "x.npy", "--output", "y.npy")
    np.testing.assert_array_equal(np.load("y.npy"), np.full((2,), 7, np.float32))
    assert "cannot tell where the time" in error("run", "a.acme", "--input", "x.npy", "--profile", "t.json")
    acme(suffix=".acme", run=simulate, profile=lambda payload, inputs: (simulate(payload, inputs), [(0, 1000, "all")]))
    ok("run", "a.acme", "--input", "x.npy", "--profile", "t.json")
    assert json.loads(Path("t.json").read_text())["traceEvents"][0]["name"] == "all"


def test_doctor_asks_targets(acme: Callable[..., None]) -> None:
    acme(health=[lambda: Finding("acme driver", "missing", "", "running", "ask Acme")])
    rows = {row["what"]: row for row in ok("doctor")}
    assert rows["acme driver"] == {
        "what": "acme driver",
        "state": "missing",
        "detail": "",
        "needed_for": "running",
        "fix": "ask Acme",
        "tested": "",
        "outside": "",
    }


@pytest.mark.parametrize(
    ("check", "said"),
    [(lambda: 1 / 0, "a check raised ZeroDivisionError: division by zero"), (lambda: "fine", "a check returned str")],
)
def test_a_check_of_a_plugin_that_fails_is_a_finding(
    check: Callable[[], Any], said: str, acme: Callable[..., None]
) -> None:
    acme(health=[check])
    (row,) = (row for row in ok("doctor") if row["needed_for"] == "its targets")
    assert row["state"] == "broken" and row["detail"].startswith(said) and "plugin" in row["fix"]


def test_a_target_compiles_and_runs_a_tosa_file(folder: Path, acme: Callable[..., None]) -> None:
    def simulate(payload: bytes, inputs: Any) -> list[np.ndarray[Any, Any]]:
        assert payload == b"acme:" + Path("g.tosa").read_bytes()[:8]
        return [inputs[0] * 2]

    acme(compile=lambda tosa, options: b"acme:" + tosa[:8], run=simulate)
    graph(folder / "g.tosa")
    np.save("x.npy", np.ones((2, 3), np.float32))
    ok("run", "g.tosa", "--input", "x.npy", "--output", "y.npy", "--target", "acme")
    np.testing.assert_array_equal(np.load("y.npy"), np.full((2, 3), 2, np.float32))
    acme(compile=lambda tosa, options: tosa)
    assert "cannot run on this machine" in error("run", "g.tosa", "--input", "x.npy", "--target", "acme")


@pytest.fixture(scope="module")
def program() -> bytes:
    """A ``.pte`` without delegates: (x * 2 + y, y) for x of shape [2, 3] and y of shape [3]."""

    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return x * 2 + y, y

    exported = torch.export.export(Net(), (torch.ones(2, 3), torch.ones(3)))
    return bytes(to_edge_transform_and_lower(exported).to_executorch().buffer)


PTE_RUNS: list[tuple[list[np.ndarray[Any, Any]], str]] = [
    ([np.ones((2, 3), np.float32)], "takes 2 --input, one for each input; 1 given"),
    ([np.ones((3,), np.float32)] * 2, "input 0 has shape [3]; net.pte takes [2, 3]"),
    ([np.ones((2, 3), np.float32), np.ones(3, np.int32)], "input 1 is torch.int32; net.pte takes torch.float32"),
    ([np.ones((2, 3), np.float32), np.full(3, "one")], "of a type that PyTorch does not have"),
]


@pytest.mark.parametrize(("arrays", "message"), PTE_RUNS)
def test_inputs_that_do_not_fit_a_program_are_refused(
    program: bytes, arrays: list[np.ndarray[Any, Any]], message: str
) -> None:
    pte = read(program)
    with pytest.raises(UsageError, match=re.escape(message)):
        _outputs(Path("net.pte"), pte, load_program(pte, "net.pte"), arrays)


def test_a_program_that_kills_its_process_is_an_error(
    folder: Path, program: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a check of ExecuTorch's kernels does; what it had logged is told."""
    (folder / "net.pte").write_bytes(program)
    (folder / "sitecustomize.py").write_text(
        "import os, sys\n"
        "if 'arm_tosa_core.cli.run_pte' in sys.orig_argv:\n"
        "    os.write(2, b'[op_add.cpp:7] assert failed (a <= b)'), os.abort()\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    np.save("x.npy", np.ones((2, 3), np.float32))
    said = error("run", "net.pte", "--input", "x.npy")
    assert "killed by signal SIGABRT" in said and "[op_add.cpp:7] assert failed (a <= b)" in said and "net.pte" in said


class _Quantizes(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        quantize = torch.ops.quantized_decomposed.quantize_per_tensor.default
        return quantize(x, 0.5, 0, -128, 127, torch.int8), y + 1


@pytest.mark.parametrize(("number", "warned"), [(0, True), (1, False)])
def test_nan_in_an_input_that_becomes_integers_is_told(folder: Path, number: int, warned: bool) -> None:
    exported = torch.export.export(_Quantizes(), (torch.ones(2, 3), torch.ones(2, 3)))
    Path("net.pte").write_bytes(to_edge_transform_and_lower(exported).to_executorch().buffer)
    inputs = np.ones((2, 2, 3), np.float32)
    inputs[number, 0, :2] = np.nan
    np.save("x.npy", inputs[0]), np.save("y.npy", inputs[1])
    said = run("run", "net.pte", "--input", "x.npy", "--input", "y.npy").stderr
    assert ("warning: 2 of the numbers of input 0 are NaN" in said) == warned


def test_a_program_runs_on_executorch(folder: Path, program: bytes) -> None:
    (folder / "net.pte").write_bytes(program)
    np.save("x.npy", np.full((2, 3), 3, np.float32))
    np.save("y.npy", np.arange(3, dtype=">f4"))  # another byte order
    ok("run", "net.pte", "--input", "x.npy", "--input", "y.npy", "--output", "z.npy")
    np.testing.assert_array_equal(np.load("z_0.npy"), 6 + np.arange(3, dtype=np.float32) + np.zeros((2, 1), "f"))
    np.testing.assert_array_equal(np.load("z_1.npy"), np.arange(3, dtype=np.float32))


# extract


def test_extract_writes_each_payload_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    targets = {
        "acme": target_kit.target("acme", "TOSA-1.0+INT", backend_id="Acme", suffix=".acme"),
        "packed": target_kit.target(
            "packed", "TOSA-1.0+INT", backend_id="Packed", extract=lambda data: (".txt", data[::-1])
        ),
    }
    found = [
        Delegate(backend, data, index, "forward", ())
        for index, (backend, data) in enumerate([("Acme", b"one"), ("Packed", b"abc"), ("Foreign", b"three")])
    ]
    monkeypatch.setattr(plugins, "targets", lambda: targets)
    monkeypatch.setattr(extract_command, "read_program", lambda path, data: Pte(b"", found, {}))
    (folder / "net.pte").write_bytes(b"")
    expected = {"net_forward_0.acme": b"one", "net_forward_1.txt": b"cba", "net_forward_2.bin": b"three"}
    rows = ok("extract", "net.pte", "-o", "a/new folder")
    assert [Path(row["file"]).name for row in rows] == list(expected)
    assert {path.name: path.read_bytes() for path in (folder / "a/new folder").iterdir()} == expected
    assert "exists" in error("extract", "net.pte", "-o", "a/new folder")
    ok("extract", "net.pte", "-o", "a/new folder", "--force")
    found.clear()
    assert "has no delegate" in error("extract", "net.pte", "-o", "b")
    assert not Path("b").exists()


def test_extract_into_a_file_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Delegate("Foreign", b"x", 0, "forward", ())]
    monkeypatch.setattr(extract_command, "read_program", lambda path, data: Pte(b"", found, {}))
    (folder / "net.pte").write_bytes(b"")
    assert "cannot make the folder models.py" in error("extract", "net.pte", "-o", "models.py")
