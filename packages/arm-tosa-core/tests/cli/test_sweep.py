"""``arm-tosa compare`` and ``arm-tosa sweep``, from the command line to the ``.pte`` of a point."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from cli_kit import error, ok, run

from arm_tosa_core import TosaCompileSpec, TOSAQuantizer, get_symmetric_quantization_config, quantize_program
from arm_tosa_core.plugin.target import Compiled
from arm_tosa_core.sweep.engine import Here

NET = """
import torch
def make(width=4, bias=True):
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(6, width, bias=bias), torch.nn.ReLU()).eval(), (torch.rand(1, 6),)
def fails(exact, noisy, samples):
    return {}["top1"]
def equal(exact, noisy, samples):
    return sum(int(a.argmax() == b.argmax()) for a, b in zip(exact, noisy)) / len(samples)
"""
INT8 = ("--quantize", "int8")
SPACE = 'quantize = ["int8", "a16w8"]\n[targets.tosa-int]\n[targets.tosa-fp]\n'


@pytest.fixture
def net(folder: Path) -> Path:
    """A folder with a network, data and a space."""
    (folder / "net.py").write_text(NET)
    (folder / "space.toml").write_text(SPACE)
    samples = np.random.default_rng(0).random((8, 1, 6), dtype=np.float32)
    np.savez(folder / "data.npz", samples)
    return folder


def _in_detail(tosa: bytes, options: Any) -> Compiled:
    figures = {"cycles": 2000, "clock_hz": 1e6, "sram_kib": 1.5, "flash_kib": 1, "dram_kib": 2.0}
    moved = {"dram_read_kib": 4.0, "dram_written_kib": 0.5}
    return Compiled(tosa, {**figures, **moved}, estimated_by="rival", notes=["no power"])


def test_a_quantized_model_is_compared_as_it_is(net: Path, acme: Callable[..., None]) -> None:
    acme(compile=lambda tosa, options: tosa, compile_in_detail=_in_detail)
    x = torch.rand(1, 6)
    program = torch.export.export(torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.ReLU()).eval(), (x,))
    quantizer = TOSAQuantizer(TosaCompileSpec("TOSA-1.0+INT")).set_global(get_symmetric_quantization_config())
    quantized = quantize_program(program, quantizer, [(x,)]).converted
    torch.export.save(torch.export.export(quantized, (x,)), "net.pt2")
    (row,) = ok("compare", "net.pt2", "--targets", "acme")["results"]
    assert row["quantize"] == "as-is" and "--quantize" not in row["command"] and row["figures"]["cycles"] == 2000
    assert "int8 does not apply to it, but as-is does" in error("compare", "net.pt2", "--targets", "acme", *INT8)
    (net / "space.toml").write_text("[targets.tosa-int]\n")
    (row,) = ok("sweep", "net.pt2", "--space", "space.toml", "--workers", "1")["front"]
    assert row["quantize"] == "as-is"
    assert all("calibrating" not in run(*words).stderr for words in (
        ("compare", "net.pt2", "--targets", "acme"), ("sweep", "net.pt2", "--space", "space.toml", "--workers", "1")
    ))  # fmt: skip
    samples = ("--calibration", "data.npz", "--evaluate", "data.npz")
    assert "give the float model that it was made from" in error("accuracy", "net.pt2", "-t", "tosa-int", *samples)


def test_compare_is_one_table(net: Path, acme: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    acme(compile=lambda tosa, options: tosa, compile_in_detail=_in_detail)
    words = ("compare", "net.py:make", "--targets", "acme", "--quantize", "a8w8,float", "--calibration", "data.npz")
    rows = ok(*words, "--evaluate", "data.npz", "--metric", "net.py:equal", "-o", "page.html")["results"]
    assert [row["quantize"] for row in rows] == ["int8", "float"]
    assert all(row["latency_s"] == 2e-3 and row["figures"]["sram_bytes"] == 1536 for row in rows)
    int8, float32 = (row["accuracy"] for row in rows)
    assert int8["sqnr_db"] > 20 and float32["sqnr_db"] is None
    assert float32["metric"] == float32["float_metric"] and float32["drop"] == 0
    text = run(*words).stdout
    assert re.search(r"acme .* int8 .* 2.000 ms .* 1.5 KiB .* 2.0 KiB .* 4.0 KiB read, 512 B", text)
    assert "metric" not in text
    notes = ["acme: latency and DRAM are estimated by the rival", "acme: no power"]
    assert all(text.count(note) == 1 and note in Path("page.html").read_text() for note in notes)
    assert Path("page.html").read_text().count("<tr><td>acme</td>") == 2


def test_what_cannot_be_compiled_is_a_row_with_its_reason(net: Path) -> None:
    data = ok("compare", "net.py:make", "--targets", "tosa-*")
    by_target = {row["target"]: row for row in data["results"]}
    assert by_target["tosa-int"]["figures"]["delegated"] and "INT profile" in by_target["tosa-fp"]["error"]


def _sweep(*more: str) -> tuple[str, ...]:
    return ("sweep", "net.py:make", "--space", "space.toml", "--calibration", "data.npz", "--workers", "1", *more)


def test_a_sweep_answers_with_a_command_that_makes_the_point(net: Path) -> None:
    (net / "space.toml").write_text(
        "[targets.tosa-int]\n[targets.tosa-fp]\n[parameters]\nwidth = [2, 3]\nbias = false\n"
    )
    limits = ("--evaluate", "data.npz", "--metric", "net.py:equal", "--drop", "100%", "--flash", "1M")
    data = ok(*_sweep(*limits, "-o", "page.html"))
    assert (data["points"], data["of"]) == (4, 4)
    known = [row for row in data["results"] if "error" not in row]
    assert {row["target"] for row in known} == {"tosa-int"} and len(known) == 2
    assert data["chosen"]["figures"]["file_bytes"] == min(row["figures"]["file_bytes"] for row in known)
    for row in (data["chosen"], known[-1]):
        program, *words = shlex.split(row["command"])
        made = ok(*words)
        assert program == "arm-tosa" and made["figures"]["file_bytes"] == row["figures"]["file_bytes"]
    assert "width=2,bias=false" in data["chosen"]["command"]
    assert data["chosen"]["command"] in Path("page.html").read_text()
    text = run(*_sweep(*limits)).stdout  # all of it is known now
    assert "Pareto front:" in text and "The cheapest that meets the limits is tosa-int" in text
    assert "2 points failed, such as tosa-fp" in text


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweeps work in this process."""
    monkeypatch.setattr("arm_tosa_core.cli.sweep._engine", lambda *_: Here())


def test_what_is_impossible_says_how_far_the_nearest_is(net: Path, here: None) -> None:
    result = run(*_sweep("--latency", "1ms", "--flash", "2K"))
    assert result.exit_code == 1
    assert re.search(
        r"Impossible. The nearest is tosa-int int8: .*latency is not known, 1.00 ms allowed", result.stdout
    )


@pytest.mark.parametrize("absolute", [False, True])
def test_one_file_of_data_for_each_parameter(net: Path, here: None, absolute: bool) -> None:
    (net / "net.py").write_text(
        NET.replace("width=4", "size=6, width=4").replace("(6, width", "(size, width").replace("1, 6", "1, size")
    )
    (net / "space.toml").write_text("[targets.tosa-int]\n[parameters]\nsize = [6, 8]\n")
    for size in (6, 8):
        np.savez(net / f"data-{size}.npz", np.ones((2, 1, size), np.float32) * np.arange(size, dtype=np.float32))
    folder = f"{net.absolute()}/" if absolute else ""
    words = ("sweep", "net.py:make", "--space", "space.toml", "--calibration", f"{folder}data-{{size}}.npz")
    data = ok(*words)
    assert len(data["front"]) >= 1 and all("error" not in row for row in data["results"])
    assert {f"{folder}data-6.npz", f"{folder}data-8.npz"} <= {
        word for row in data["results"] for word in row["command"].split()
    }


def test_an_interrupt_says_how_to_go_on(net: Path, here: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("arm_tosa_core.sweep.run.evaluate", interrupt)
    result = run(*_sweep())
    assert result.exit_code == 130
    assert "interrupted; what was found is in net.sweep: the same command goes on" in result.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--metric", "net.py:equal"), r"--metric judges the samples of --evaluate: give both"),
        (("--drop", "1%"), r"--drop limits the loss of a metric: give --metric"),
        (("--sqnr", "20"), r"--sqnr is judged on samples: give them with --evaluate"),
        (("--evaluate", "none.npz"), r"cannot read none.npz: no such file"),
        (("--evaluate", "data-{size}.npz"), r"in braces .* a parameter of the model \(there are none\), not 'size'"),
        (("--evaluate", "data.npz", "--metric", "no.py:equal"), r"cannot read no.py: no such file"),
        (("--evaluate", "data.npz", "--metric", "net.py:fails"), r"alike: net.py:fails failed at line 7: KeyError"),
        (("--evaluate", "data.npz", "--metric", "net.py:top5"), r"fails alike: net.py has no function 'top5'"),
        (("--latency", "30"), r"--latency '30': write 30ms"),
        (("--dask", "tcp://x:1", "--memory", "1G"), r"--workers and --memory are for processes on this machine"),
        (("-o", "page.pdf"), r"the suffix must be .html"),
        (("-o", "none/page.html"), r"there is no folder none"),
        (("--study", "net.py"), r"cannot write net.py: File exists"),
    ],
)  # fmt: skip
def test_a_bad_sweep_says_why(net: Path, here: None, words: tuple[str, ...], said: str) -> None:
    (net / "space.toml").write_text("[targets.tosa-int]\n")
    arguments = _sweep(*words)
    if "--dask" in words:
        assert re.search(said, error(*arguments))
    else:
        assert re.search(said, error(*(word for word in arguments if word not in ("--workers", "1"))))


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("none.py:make", r"cannot read none.py: no such file"),
        ("none.pt2", r"cannot read none.pt2: no such file"),
        ("net.tosa", r"net.tosa: not a TOSA flatbuffer"),
        ("net.py:made", r"fails alike: net.py has no function 'made'; it has: "),
        ("net.py:make,depth=3", r"fails alike: net.py:make has no parameter 'depth'; it has: width, bias"),
        ("net.py:make,width", r"behind the function write KEY=VALUE for its parameters, not 'width'"),
        ("net.py:make,width=1,width=2", r"width is given twice"),
    ],
)
def test_a_bad_model_says_why(net: Path, here: None, model: str, said: str) -> None:
    (net / "space.toml").write_text("[targets.tosa-int]\n")
    (net / "net.tosa").touch()
    assert re.search(said, error("sweep", model, "--space", "space.toml"))
