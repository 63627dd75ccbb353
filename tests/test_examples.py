"""The scripts of ``examples/`` run as their first lines say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from example_scripts import FOLDER


def _run(script: str, *arguments: str | Path) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, str(FOLDER / script), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_digits(tmp_path: Path) -> None:
    """The demo, with fewer epochs and fewer digits judged."""
    pytest.importorskip("arm_runtime", reason="the demo runs its programs: nox builds arm-runtime-cpp")
    out = tmp_path / "with a space"
    printed = _run("digits.py", "--out", out, "--epochs", "3", "--judged", "60")
    rows = {row["target"]: row for row in json.loads((out / "results.json").read_text())}
    assert list(rows) == ["tosa", "ethos-u55-128", "ethos-u85-256", "vgf"]
    for target, row in rows.items():
        assert target in printed
        assert row["delegated"] > 5 and row["on_cpu"] == 0
        assert row["top1_float"] > 90
        assert abs(row["top1_reference"] - row["top1_float"]) < 5
        if target == "tosa":
            assert row["top1_run"] is None
        else:
            assert row["top1_run"] == row["top1_reference"] and row["same_scores"]
        assert (row["cycles"] is not None) == (row["sram_kib"] is not None) == target.startswith("ethos")
        assert row["pte_bytes"] == (out / target / "digits.pte").stat().st_size
        assert [path.parent.name for path in (out / target).rglob(f"{target}.tosa")] == ["delegate_0"]
    assert list((out / "vgf").rglob("*.vgf"))
    assert str(out) in printed


def test_ethosu_flow(tmp_path: Path) -> None:
    from arm_tosa_core.exir.pte import delegates

    _run("ethosu_flow.py", tmp_path / "model.pte")
    (delegate,) = delegates((tmp_path / "model.pte").read_bytes())
    assert delegate.backend_id == "EthosUBackend"
    assert delegate.payload.startswith(b"vela_bin_stream")


def test_vgf_flow(tmp_path: Path) -> None:
    from arm_tosa_core.exir.pte import delegates

    _run("vgf_flow.py", tmp_path / "model.pte", tmp_path / "model.vgf")
    (delegate,) = delegates((tmp_path / "model.pte").read_bytes())
    assert delegate.backend_id == "VgfBackend"
    assert (tmp_path / "model.vgf").read_bytes() == delegate.payload


def test_language_model(tmp_path: Path) -> None:
    """With few steps, after which it writes next to nothing."""
    pytest.importorskip("arm_runtime", reason="the example runs its program: nox builds arm-runtime-cpp")
    printed = _run("language_model.py", "--steps", "5", "--out", tmp_path / "lm")
    assert "decode: 1 delegates, 0 operators on the CPU" in printed and "\nThe statement " in printed
    assert (tmp_path / "lm" / "lm.pte").stat().st_size > 100_000
    assert json.loads((tmp_path / "lm" / "tokenizer.json").read_text())["model"]["type"] == "BPE"
