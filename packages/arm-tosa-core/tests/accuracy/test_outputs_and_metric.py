"""``arm-tosa accuracy`` has a figure per output, and a task's own metric in place of the SQNR."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from cli_kit import error, ok, run

from arm_tosa_core import TosaCompileSpec
from arm_tosa_core.accuracy.model import Model
from arm_tosa_core.accuracy.scheme import Scheme

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own

SOURCE = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(6, 8), nn.Linear(8, 4)

    def forward(self, x):
        scores = self.head(self.body(x).relu())
        return {"scores": scores, "small": (100 * scores[:, :1]).tanh() * scores[:, 1:2], "label": scores.argmax(-1)}

def net():
    torch.manual_seed(0)
    return Net().eval(), (torch.zeros(1, 6),)
"""

METRIC = """
def agreement(expected, actual, samples):
    assert len(expected) == len(actual) == len(samples)
    assert samples[0][0].shape == (1, 6)
    return sum(int(e["label"] == a["label"]) for e, a in zip(expected, actual)) / len(samples)

def broken(expected, actual, samples):
    return actual[0]["no such output"]

def many(expected, actual, samples):
    return actual[0]["scores"]

def nothing(expected, actual, samples):
    return float("nan")

def endless(expected, actual, samples):
    return 10 ** 400
"""

ARGUMENTS = ("accuracy", "net.py:net", "--calibration", "cal.npz", "--evaluate", "eval.npz", "--target", "tosa-int")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "net.py").write_text(SOURCE)
    (tmp_path / "metric.py").write_text(METRIC)
    draw = np.random.default_rng(0)
    for name in ("cal", "eval"):
        np.savez(tmp_path / f"{name}.npz", x=draw.standard_normal((20, 1, 6), np.float32))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_output_has_a_figure_and_the_worst_decides(folder: Path) -> None:
    data = ok(*ARGUMENTS)
    names: dict[str, object] = {"__name__": "net"}
    exec(SOURCE, names)
    module, inputs = names["net"]()  # type: ignore[operator]
    calls = [[((torch.from_numpy(x),), {}) for x in np.load(folder / f"{name}.npz")["x"]] for name in ("cal", "eval")]
    model = Model(torch.export.export(module, inputs), TosaCompileSpec("TOSA-1.0+INT"), *calls)
    converted = model.quantize(Scheme()).converted
    expected = {}
    for name in ("scores", "small"):
        exact, noisy = (torch.cat([net(*args)[name] for args, _ in calls[1]]) for net in (module, converted))
        expected[name] = 10 * float(torch.log10(exact.square().sum() / (exact - noisy).square().sum()))
    assert abs(expected["scores"] - expected["small"]) > 1  # else the worst could be either
    found = {output["name"]: output for output in data["outputs"]}
    assert {name: found[name]["sqnr_db"] for name in expected} == pytest.approx(expected, abs=1e-3)
    assert list(found) == ["scores", "small", "label"]
    assert found["label"]["sqnr_db"] is None and found["label"]["equal"] == data["equal"]
    worst = min(expected, key=lambda name: expected[name])
    assert data["sqnr_db"] == found[worst]["sqnr_db"]

    shown = run(*ARGUMENTS).stdout
    assert f"(output {worst}, the worst)" in shown and "label" in shown


def test_outputs_without_keys_have_the_names_of_their_nodes(folder: Path) -> None:
    Path("net.py").write_text(SOURCE.replace("return {", "return ({").replace("(-1)}", "(-1)}, scores)"))
    assert [output["name"] for output in ok(*ARGUMENTS)["outputs"]][-1] == "linear_1"


def test_a_metric_judges(folder: Path) -> None:
    data = ok(*ARGUMENTS, "--metric", "metric.py:agreement")
    assert data["float_metric"] == 1 and data["metric"] == data["equal"] <= 1
    text = f"{data['metric']:g}"
    assert f"metric {text} (float 1)" in run(*ARGUMENTS, "--metric", "metric.py:agreement").stdout


@pytest.mark.parametrize(
    ("metric", "reason"),
    [
        ("metric.py:broken", "metric.py:broken failed at line 8: KeyError"),
        ("metric.py:many", "numbers for 20 samples: return one number, or a list"),
        ("metric.py:nothing", "the metric returned nan"),
        ("metric.py:endless", "the metric returned inf"),
        ("metric.py:absent", "metric.py has no function 'absent'; it has: agreement, broken, many, nothing, endless"),
        ("metric.py", "write file.py:function"),
        ("missing.py:top1", "cannot read missing.py"),
    ],
)
def test_a_metric_that_fails_says_where(metric: str, reason: str) -> None:
    assert reason in error(*ARGUMENTS, "--metric", metric)


def test_an_input_with_a_long_tail_is_named_with_the_share_and_the_remedy(folder: Path) -> None:
    """One number of each sample is a thousand times the others, as in the power of a spectrum."""
    for name, seed in (("cal", 1), ("eval", 2)):
        x = np.random.default_rng(seed).random((20, 1, 6), np.float32) + 0.5
        x[..., 1:] *= 1e-3
        np.savez(folder / f"{name}.npz", x=x)
    printed = " ".join(run(*ARGUMENTS).output.split())
    assert "warning: input 'x': 83% of its numbers are less than half a step of 8 bits" in printed
    assert "int16x8 for linear" in printed


def test_for_a_metric_the_float_model_runs_once() -> None:
    """A second comparison is with the outputs of the first, here with others that are put in their place."""
    program = torch.export.export(torch.nn.Linear(6, 2).eval(), (torch.ones(1, 6),))
    samples = [((torch.full((1, 6), float(i)),), {}) for i in range(1, 4)]
    model = Model(program, TosaCompileSpec("TOSA-1.0+INT"), samples, samples, metric=lambda *_: 1.0)
    quantized = model.quantize(Scheme())
    first = model.compare(quantized, operators=False)
    known = model._exact
    assert known is not None and len(known) == 3
    assert model.compare(quantized, operators=False).outputs == first.outputs
    for outputs in known:
        outputs[0] = torch.zeros(1, 2)
    assert model.compare(quantized, operators=False).calls.exact == [outputs[0] for outputs in known]
    assert model.compare(quantized).outputs == first.outputs
