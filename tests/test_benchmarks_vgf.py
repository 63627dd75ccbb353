"""``benchmarks.vgf``: what is prepared here is measured elsewhere, and peers that fail are rows, too."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from test_readme import ROOT

sys.path.append(str(ROOT))  # benchmarks is no package that is installed

from arm_tosa_core.support.errors import ToolError
from benchmarks.figures import Figures
from benchmarks.results import Measurement
from benchmarks.tables import host, vgf
from benchmarks.vgf.manifest import NAME, Manifest, Program
from benchmarks.vgf.measure import measured
from benchmarks.vgf.networks import CASES, cases
from benchmarks.vgf.prepare import prepare
from benchmarks.vgf.worker import SideError, Worker

PROGRAM = Program("vgf", "toy", "int8", "toy.vgf", ("toy-0.npy",))
REFUSED = Program("iree", "toy", "int8", "", (), "iree-compile: error: no")
MANIFEST = Manifest("0123456", "2026-11-25T10:00:00", {"torch": "2.13.0"}, [PROGRAM, REFUSED])
ROW = Measurement(
    benchmark="vgf",
    case={"network": "toy", "scheme": "int8", "engine": "compute"},
    side="ours",
    metrics={"latency_ms": 1.0, "load_first_ms": 900.0, "load_second_process_ms": 90.0, "memory_mib": 2.5},
    commit="0123456",
    date="2026-11-25T10:00:00",
    machine="a processor, 2 cores, x86_64, a GPU",
    versions={"python": "3.12"},
    command="python -m benchmarks.vgf",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder as ``--prepare`` leaves it."""
    for name in MANIFEST.files():
        (tmp_path / name).touch()
    MANIFEST.write(tmp_path)
    return tmp_path


def test_manifest_survives_its_file(folder: Path) -> None:
    assert Manifest.read(folder) == MANIFEST


def test_missing_manifest_says_what_makes_it(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"manifest\.json is missing: python -m benchmarks\.vgf --prepare"):
        Manifest.read(tmp_path)


def test_missing_program_is_named(folder: Path) -> None:
    (folder / "toy.vgf").unlink()
    with pytest.raises(ValueError, match=r"toy\.vgf is missing, which manifest\.json names"):
        Manifest.read(folder)


@pytest.mark.parametrize("change", [{"speed": 1}, {"kind": None}], ids=["unknown", "missing"])
def test_fields_of_a_program_are_listed(folder: Path, change: dict[str, object]) -> None:
    row = json.loads((folder / NAME).read_text())
    row["programs"][0] = {k: v for k, v in {**row["programs"][0], **change}.items() if v is not None}
    (folder / NAME).write_text(json.dumps(row))
    with pytest.raises(ValueError, match="a program has the fields error, file, inputs, kind, network, scheme, not"):
        Manifest.read(folder)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ([], CASES),
        (["resnet18"], {"resnet18": CASES["resnet18"]}),
        (["digits", "bert_tiny:fp32"], {"digits": ("int8",), "bert_tiny": ("fp32",)}),
        (["digits:int8", "digits:fp32"], {"digits": ("int8", "fp32")}),
    ],
)
def test_words_name_networks_and_types(words: list[str], wanted: dict[str, tuple[str, ...]]) -> None:
    assert dict(cases(words)) == wanted


def test_prepared_program_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("arm_runtime", reason="nox builds arm-runtime-cpp")

    def no_tool(tool: str, package: str) -> str:
        raise ToolError(tool, "is not installed", fix=f"pip install {package}")

    monkeypatch.setattr("benchmarks.vgf.peers.find_tool", no_tool)
    prepare(tmp_path, [("digits", ("int8",))], "ampere")
    rows = {(row.side, row.case["scheme"]): row for row in measured(tmp_path, ("compute", "ncnn", "iree"), 1, 2)}
    ours = rows.pop(("ours", "int8"))
    assert {"latency_ms", "fastest_ms", "cpu_ms", "device_ms", "load_first_ms", "load_second_process_ms"} <= set(
        ours.metrics
    )
    assert ours.metrics["memory_mib"] > 0
    assert ours.commit == Manifest.read(tmp_path).commit
    assert {key: row.metrics["error"] for key, row in rows.items()} == {
        ("ncnn", "fp32"): "pnnx is not installed",
        ("ncnn", "fp16"): "pnnx is not installed",
        ("iree", "int8"): "tosa-opt is not installed",
    }


def test_side_that_dies_says_why(tmp_path: Path) -> None:
    with pytest.raises(SideError, match=r"exit status 1: FileNotFoundError: .*missing\.tosa"):
        Worker("reference_model", "int8", tmp_path / "missing.tosa", [], "", {})


def test_side_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.vgf.worker.TIMEOUT_S", 0.01)
    with pytest.raises(SideError, match=r"no answer within 0\.01 s"):
        Worker("reference_model", "int8", tmp_path / "missing.tosa", [], "", {})


def test_table_has_the_peers_of_the_same_run() -> None:
    peer = replace(ROW, case={**ROW.case, "engine": "vulkan"})
    rows = [
        ROW,
        replace(ROW, case={**ROW.case, "engine": "layer"}, metrics={"latency_ms": 9.0}, date="2026-11-01T10:00:00"),
        *(
            replace(peer, side="ncnn", case={**peer.case, "scheme": scheme}, metrics={"latency_ms": ms})
            for scheme, ms in (("fp32", 5.0), ("fp16", 4.0))
        ),
        replace(peer, side="iree", metrics={"error": "no"}),
    ]
    line = vgf(Figures(rows)).splitlines()[2]
    assert line == (
        "| toy, int8 | 1.00 | – | – | 4.00, fp16 (0.25) | fails | 900 / 90 | 2.5 | a GPU | 2026-11-25, `0123456` |"
    )


def test_host_table_compares_with_ours() -> None:
    case = {"network": "toy", "scheme": "int8"}
    ours = replace(ROW, benchmark="vgf_host", case=case, metrics={"cpu_ms": 40.0, "latency_ms": 30.0})
    other = replace(ours, side="ncnn-cpu", case={**case, "scheme": "fp32"}, metrics={"cpu_ms": 10.0, "latency_ms": 9.0})
    assert host(Figures([ours, other])).splitlines()[2:] == [
        "| VGF, our compute engine on llvmpipe | toy, int8 | 40 (1.00) | 30 | 2026-11-25, `0123456` |",
        "| ncnn | toy, fp32 | 10 (4.00) | 9 | 2026-11-25, `0123456` |",
    ]
