"""``arm-tosa verify``: a target that computes one operator wrong, and what is said of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import target_kit
from typer.testing import CliRunner, Result

from arm_tosa_core.accuracy.against_reference_model import Difference, cut_after, verify
from arm_tosa_core.cli import verify as verify_command
from arm_tosa_core.cli.main import app
from arm_tosa_core.exir.pte import Delegate, Pte
from arm_tosa_core.plugin import entry_points as plugins
from arm_tosa_core.plugin.target import Target
from arm_tosa_core.support.errors import ToolError
from arm_tosa_core.tosa import reference_model as reference
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification

Array = np.ndarray[Any, Any]
SPEC = TosaSpecification.create_from_string("TOSA-1.0+INT+FP")
X = np.arange(-3, 3, dtype=np.int32).reshape(2, 3)
#: The operators of ``tosa``, in order.
NAMES = ("ADD", "ABS", "MAXIMUM", "CLZ", "SUB", "BITWISE_NOT")


def tosa() -> bytes:
    """INT32 [2, 3] x and y to ~(clz(max(|x + y|, y)) - y) and |x + y|."""
    graph = Graph()
    x, y = (graph.input(name, (2, 3), DType.INT32) for name in "xy")
    magnitude = graph.append("ABS", [graph.append("ADD", [x, y]).output]).output
    zeros = graph.append("CLZ", [graph.append("MAXIMUM", [magnitude, y]).output]).output
    graph.outputs = [graph.append("BITWISE_NOT", [graph.append("SUB", [zeros, y]).output]).output, magnitude]
    return serialize(graph, SPEC)


def wrong_at(name: str, change: Callable[[Array], Array] = lambda array: array + 1) -> Target:
    """A target that runs graphs on the reference model, but changes what each operator ``name`` makes."""

    def run(payload: bytes, inputs: Sequence[Array]) -> list[Array]:
        values: dict[str, Array] = {t.name: a for t, a in zip(load(payload).inputs, inputs, strict=True)}
        count = len(load(payload).ops)
        for i in range(count):  # each operator by itself, fed with what those before it made here
            graph = load(payload)
            op = graph.ops[i]
            single = Graph()
            operands = [
                single.constant(t.data, t.dtype) if t.data is not None else single.input(t.name, t.shape, t.dtype)
                for t in op.inputs
            ]
            single.outputs = list(single.append(op.name, operands, op.attrs).outputs)
            results = reference.run(serialize(single, SPEC), [values[t.name] for t in op.inputs if t.data is None])
            values[op.output.name] = change(results[0]) if op.name == name else results[0]
        return [values[t.name] for t in load(payload).outputs]

    return target_kit.target("acme", SPEC, run=run)


@pytest.mark.parametrize("name", NAMES)
def test_the_first_wrong_operator_is_found(name: str) -> None:
    finding = verify(tosa(), wrong_at(name), [X, X])
    assert finding is not None
    assert [(index, op.name) for index, op in finding.ops] == [(NAMES.index(name), name)]
    assert finding.difference.count == X.size
    assert finding.difference.got == finding.difference.expected + 1
    assert finding.cuts <= 3  # log2 of six operators


def test_a_right_target_agrees() -> None:
    assert verify(tosa(), wrong_at("nothing"), [X, X]) is None


def test_the_first_different_element_is_shown() -> None:
    def change(array: Array) -> Array:
        array = array.copy()
        array[1, 2] += 5
        return array

    finding = verify(tosa(), wrong_at("CLZ", change), [X, X])
    assert finding is not None
    assert finding.difference == Difference(1, 6, (1, 2), expected=29, got=34)
    assert str(finding.difference).startswith("1 of 6 elements differ, first at [1, 2]: expected 29, got 34")


def test_a_fault_is_a_difference() -> None:
    def stop(array: Array) -> Array:
        raise ToolError("the model", "stopped: unmodelled mode")

    finding = verify(tosa(), wrong_at("SUB", stop), [X, X])
    assert finding is not None
    assert [op.name for _, op in finding.ops] == ["SUB"]
    assert "unmodelled mode" in str(finding.difference)


def test_cuts_that_do_not_compile_are_passed_over() -> None:
    def compile_(graph: bytes, options: object) -> bytes:
        if load(graph).ops[-1].name in ("MAXIMUM", "CLZ"):
            raise ToolError("acmec", "refused the graph")
        return graph

    target = wrong_at("CLZ")
    finding = verify(tosa(), target_kit.target("acme", SPEC, run=target.host.run, compile=compile_), [X, X])
    assert finding is not None
    assert [op.name for _, op in finding.ops] == ["MAXIMUM", "CLZ", "SUB"]


def test_floats_may_differ_a_little() -> None:
    graph = Graph()
    graph.outputs = list(graph.append("EXP", [graph.input("x", (2, 3), DType.FP32)]).outputs)
    flatbuffer, x = serialize(graph, SPEC), X.astype(np.float32)
    assert verify(flatbuffer, wrong_at("EXP", lambda a: a * np.float32(1 + 1e-6)), [x]) is None
    assert verify(flatbuffer, wrong_at("EXP", lambda a: a * np.float32(1 + 1e-3)), [x]) is not None
    assert verify(flatbuffer, wrong_at("EXP", lambda a: a * np.float32(np.nan)), [x]) is not None


def test_a_cut_has_what_is_needed_later() -> None:
    flatbuffer, used = cut_after(tosa(), 1, wrong_at("nothing"))
    graph = load(flatbuffer)
    assert [op.name for op in graph.ops] == ["ADD", "ABS"] and used == [0, 1] and len(graph.outputs) == 1


# The command


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["verify", *(str(argument) for argument in arguments)])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with ``g.tosa``; its target is wrong at CLZ."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.tosa").write_bytes(tosa())
    monkeypatch.setattr(plugins, "target", lambda name: wrong_at("CLZ"))
    return tmp_path


def test_the_command_ends_with_1_where_something_differs(folder: Path) -> None:
    result = run("g.tosa", "--target", "acme", "--json")
    assert result.exit_code == 1
    (row,) = json.loads(result.stdout)["graphs"]
    assert not row["agrees"] and row["ops"] == 6
    assert [op["op"] for op in row["first"]] == ["CLZ"]
    assert "at operator 3, CLZ -> INT32[2, 3]" in run("g.tosa", "--target", "acme").stdout


def test_inputs_may_be_given(folder: Path) -> None:
    for name in "xy":
        np.save(f"{name}.npy", X)
    result = run("g.tosa", "--target", "acme", "--input", "x.npy", "--input", "y.npy", "--json")
    assert json.loads(result.stdout)["graphs"][0]["difference"]["expected"] == 29


def program(
    monkeypatch: pytest.MonkeyPatch, payloads: list[bytes], options: bytes = b'{"target": "acme"}', artifacts: str = ""
) -> None:
    """Makes every ``.pte`` hold these delegates, for acme or for its sister."""
    targets = {
        name: target_kit.target(name, SPEC, run=wrong_at("CLZ").host.run, backend_id="Acme")
        for name in ("acme", "sister")
    }
    specs = (("options", options), ("debug_artifact_path", artifacts.encode()))
    found = [Delegate("Acme", data, i, "forward", specs) for i, data in enumerate(payloads)]
    monkeypatch.setattr(plugins, "targets", lambda: targets)
    monkeypatch.setattr(verify_command, "read_program", lambda path, data: Pte(b"", found, {}))


@pytest.mark.parametrize("given", [["--tosa", "graphs"], []])
def test_each_delegate_of_a_program_is_compared_with_its_graph(
    given: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of graphs is given, or it is where the program says that the compiler left it."""
    program(monkeypatch, [tosa(), tosa()], artifacts="" if given else "graphs")
    (folder / "net.pte").write_bytes(b"")
    for number in range(2):
        (folder / "graphs" / f"delegate_{number}").mkdir(parents=True)
        (folder / "graphs" / f"delegate_{number}" / "acme.tosa").write_bytes(tosa())
    rows = json.loads(run("net.pte", *given, "--json").stdout)["graphs"]
    assert [row["graph"] for row in rows] == ["delegate 0 of 'forward'", "delegate 1 of 'forward'"]
    assert [row["first"][0]["op"] for row in rows] == ["CLZ", "CLZ"]


@pytest.mark.parametrize("path", ["absolute", "../elsewhere", "link"])
def test_a_program_does_not_choose_the_folder_that_is_read(
    path: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Graphs are beside the program, or where the user says."""
    elsewhere = folder / "elsewhere"
    (elsewhere / "delegate_0").mkdir(parents=True)
    (elsewhere / "delegate_0" / "acme.tosa").write_bytes(tosa())
    (folder / "beside").mkdir()
    (folder / "beside" / "net.pte").touch()
    (folder / "beside" / "link").symlink_to(elsewhere)
    program(monkeypatch, [b"no graph"], artifacts=str(elsewhere) if path == "absolute" else path)
    result = run("beside/net.pte", "--json")
    assert result.exit_code == 1 and "give --tosa" in json.loads(result.stdout)["error"]


BAD = {
    "no target": (["g.tosa"], "give --target"),
    "no graphs": (
        ["net.pte"],
        "does not hold its TOSA graphs, and the folder of `compile --artifacts` does not lie beside it",
    ),
    "target of a program": (["net.pte", "--target", "acme"], "is compiled already: give neither --target nor --chip"),
    "target of a program, and its model": (
        ["net.pte", "--target", "acme", "--model", "net.pt2"],
        "is compiled already: give neither --target nor --chip",
    ),
    "too few graphs": (["net.pte", "--tosa", "."], "has 1 delegates, and . holds 0 TOSA graphs"),
    "unknown suffix": (["g.txt"], "neither .pte nor .tosa"),
    "too few inputs": (
        ["g.tosa", "--target", "acme", "--input", "x.npy"],
        "takes 2 --input, one for each input; 1",
    ),
    "another shape": (["g.tosa", "--target", "acme", "--input", "s.npy", "--input", "x.npy"], "takes int32[2, 3]"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_request_says_why(folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    program(monkeypatch, [b""])
    np.save("x.npy", X)
    np.save("s.npy", X[0])
    for name in ("net.pte", "net.pt2", "g.txt"):
        (folder / name).touch()
    arguments, message = BAD[kind]
    result = run(*arguments)
    assert result.exit_code == 1 and message in result.stderr


def test_a_delegate_that_does_not_say_its_target_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(monkeypatch, [tosa()], options=b"{}")
    (folder / "net.pte").write_bytes(b"")
    result = run("net.pte", "--tosa", "g.tosa")
    assert result.exit_code == 1 and "which target of acme, sister that is" in result.stderr
