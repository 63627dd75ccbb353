"""Driving the model converter, and what happens when it is missing, fails, hangs or writes garbage."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from arm_tosa_core.support.errors import ToolError, UsageError
from arm_tosa_core.support.external_tools import find_tool
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification
from arm_vgf import model_converter
from arm_vgf.vgf_format import check_vgf

SPEC = TosaSpecification.create_from_string("TOSA-1.0+INT+FP")


def tosa() -> bytes:
    """x + constant, as a flatbuffer."""
    graph = Graph()
    x = graph.input("x", (2, 3), DType.FP32)
    weight = graph.constant(np.arange(6, dtype=np.float32).reshape(2, 3), DType.FP32)
    graph.outputs = [graph.append("ADD", [x, weight]).output]
    return serialize(graph, SPEC)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for the converter; a test writes its Python body. Its folder has a space and an umlaut."""
    folder = tmp_path / "Ordner für Werkzeuge"
    folder.mkdir()
    script = folder / "model-converter"
    monkeypatch.setattr(model_converter, "find_tool", lambda executable, package: str(script))
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return script


def write(script: Path, body: str) -> None:
    script.write_text(f"#!{sys.executable}\nimport sys, time\nout = sys.argv[sys.argv.index('--output') + 1]\n{body}\n")
    script.chmod(0o755)


def test_the_vgf_librarys_decoder_reads_the_result(tmp_path: Path) -> None:
    vgf = model_converter.convert(tosa())
    check_vgf(vgf)
    path = tmp_path / "network.vgf"
    path.write_bytes(vgf)
    dump = [find_tool("vgf_dump", package="ai-ml-sdk-vgf-library"), "--input", str(path)]
    found = json.loads(subprocess.run(dump, check=True, capture_output=True, timeout=60).stdout)
    sequence = found["model_sequence"]
    assert (len(sequence["inputs"]), len(sequence["outputs"])) == (1, 1)
    interface = [(resource["category"], resource["shape"], resource["vk_format"]) for resource in found["resources"]]
    assert interface == [(kind, [2, 3], "VK_FORMAT_R32_SFLOAT") for kind in ("INPUT", "OUTPUT")]


def test_conversion_is_deterministic_and_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert model_converter.convert(tosa()) == model_converter.convert(tosa())
    assert list(tmp_path.iterdir()) == []


def test_flags_reach_the_converter() -> None:
    flags = model_converter.parse_flags("--emit-debug-info --disable-replicated-composites")
    assert len(model_converter.convert(tosa(), flags)) > len(model_converter.convert(tosa()))


FAILURES = {
    "fails": ("print('line one'); print('bad graph', file=sys.stderr); sys.exit(7)", ["status 7", "bad graph"]),
    "hangs": ("time.sleep(60)", ["did not finish within"]),
    "writes nothing": ("pass", ["unusable: no file"]),
    "writes garbage": ("open(out, 'wb').write(b'garbage' * 99)", ["not a VGF", "b'garb'"]),
    "writes half": ("open(out, 'wb').write(b'VGF1' + b'\\xff' * 300)", ["not a whole VGF"]),
}


@pytest.mark.parametrize("kind", FAILURES)
def test_a_failure_says_what_happened_and_keeps_the_input(fake: Path, kind: str) -> None:
    body, texts = FAILURES[kind]
    write(fake, body)
    with pytest.raises(ToolError) as error:
        model_converter.convert(tosa(), ["--emit-debug-info"], timeout=1)
    message = str(error.value)
    for text in [*texts, "--emit-debug-info", "compiler_flags"]:
        assert text in message
    (kept,) = fake.parent.glob("*/network.tosa")
    assert str(kept) in message
    assert kept.read_bytes() == tosa()


def test_a_missing_converter_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(ToolError, match="pip install ai-ml-sdk-model-converter"):
        model_converter.convert(tosa())


def test_paths_with_spaces_and_umlauts_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "mit Leerzeichen und Ümlaut"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    check_vgf(model_converter.convert(tosa()))


FLAGS = [
    (None, []),
    ("", []),
    ("--emit-debug-info  --type-narrowing 'a b'", ["--emit-debug-info", "--type-narrowing", "a b"]),
    (["--dump-mlir", ""], ["--dump-mlir"]),
    (("--enable-bespoke",), ["--enable-bespoke"]),
]


@pytest.mark.parametrize(("given", "expected"), FLAGS)
def test_flags_are_a_list_or_one_string(given: object, expected: list[str]) -> None:
    assert model_converter.parse_flags(given) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "flags", ["--output x", ["-i"], "--tosa-flatbuffer", ["--input=x"], "--help", "'unbalanced", [3]]
)
def test_flags_that_would_make_no_vgf_are_refused(flags: object) -> None:
    with pytest.raises(UsageError, match="compiler_flags"):
        model_converter.parse_flags(flags)  # type: ignore[arg-type]
