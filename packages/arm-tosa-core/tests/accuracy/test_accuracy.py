"""``arm-tosa accuracy``: the figures are those of the models, the budget is kept, what it writes reproduces it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import target_kit
import torch
from cli_kit import error, needs_page, ok, page_of, run

from arm_tosa_core import Corrections, TosaCompileSpec
from arm_tosa_core.accuracy.compare import compare
from arm_tosa_core.accuracy.model import Model
from arm_tosa_core.accuracy.scheme import Scheme, read_scheme
from arm_tosa_core.accuracy.search_result import parse_budget
from arm_tosa_core.plugin import entry_points as plugins
from arm_tosa_core.quantize.post_training import quantize_program
from arm_tosa_core.quantize.quantizer import TOSAQuantizer
from arm_tosa_core.quantize.schemes.config import get_symmetric_quantization_config
from arm_tosa_core.support.errors import UsageError

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own

SOURCE = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(2, 8, 3, padding=1)
        self.second = nn.Conv2d(8, 8, 3, padding=1)
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        x = torch.relu(self.first(x))
        x = self.second(x)
        return self.head(torch.tanh(x).mean((2, 3)))

def net():
    torch.manual_seed(0)
    return Net().eval(), (torch.zeros(1, 2, 6, 6),)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "net.py").write_text(SOURCE)
    draw = np.random.default_rng(0)
    for name in ("cal", "eval"):
        np.savez(tmp_path / f"{name}.npz", x=draw.standard_normal((6, 2, 6, 6), np.float32))
    monkeypatch.chdir(tmp_path)
    return tmp_path


ARGUMENTS = ("accuracy", "net.py:net", "--calibration", "cal.npz", "--evaluate", "eval.npz", "--target")


def model(folder: Path, spec: str = "TOSA-1.0+INT+int16") -> tuple[torch.nn.Module, Model]:
    names: dict[str, Any] = {"__name__": "net"}
    exec(SOURCE, names)
    module, inputs = names["net"]()
    data = [
        [((torch.from_numpy(x[None]),), {}) for x in np.load(folder / f"{name}.npz")["x"]] for name in ("cal", "eval")
    ]
    return module, Model(torch.export.export(module, inputs), TosaCompileSpec(spec), *data)


def test_figures_are_those_of_the_models(folder: Path) -> None:
    """Recomputed from the eager models: end to end, and of one operator its range, saturation and SQNR."""
    module, judged = model(folder)
    quantized = judged.quantize(Scheme())
    found = judged.compare(quantized)
    exact = torch.cat([module(*args) for args, _ in judged.evaluation]).double()
    noisy = torch.cat([quantized.converted(*args) for args, _ in judged.evaluation]).double()
    expected = 10 * math.log10(float(exact.square().sum() / (exact - noisy).square().sum()))
    assert found.sqnr_db == pytest.approx(expected, abs=1e-3)
    assert found.samples == 6

    rows = {row.operator.split(".")[1]: row for row in found.operators if row.bits}
    relu = rows["relu"]
    reals = torch.cat([torch.relu(module.first(*args)) for args, _ in judged.evaluation])  # type: ignore[operator]
    assert relu.range == pytest.approx((float(reals.min()), float(reals.max())))
    assert relu.representable is not None and relu.step is not None
    beyond = (reals > relu.representable[1] + relu.step / 2).float().mean()
    assert relu.saturated == pytest.approx(float(beyond))
    rounded = torch.clamp(torch.round(reals / relu.step), 0, 255) * relu.step
    own = 10 * math.log10(float(reals.square().sum() / (reals - rounded).square().sum()))
    assert relu.own_sqnr_db == pytest.approx(own, abs=0.01)
    assert sum(relu.histogram) == reals.numel()  # later samples reach farther than the first, which set the first bins
    low, high = relu.histogram_range
    first = torch.relu(module.first(*judged.evaluation[0][0])).max()  # type: ignore[operator]
    assert low <= relu.range[0] and high >= relu.range[1] and relu.range[1] > first
    assert relu.bits == 8


def test_an_exact_model_has_no_error(folder: Path) -> None:
    _, judged = model(folder)
    prepared = judged.quantize(Scheme()).prepared
    assert compare(prepared, prepared, judged.evaluation).sqnr_db == math.inf


def test_command(folder: Path) -> None:
    data = ok(*ARGUMENTS, "tosa-int")
    assert data["sqnr_db"] > 20
    worst = [row["sqnr_db"] for row in data["operators"]]
    assert worst == sorted(worst)
    conv = next(row for row in data["operators"] if row["name"] == "conv2d_1")
    assert "x = self.second(x)" in conv["source"] and conv["module"] == "second"

    shown = run(*ARGUMENTS, "tosa-int").stdout
    assert "SQNR" in shown and "conv2d_1" in shown and "net.py:15" in shown


@needs_page
def test_the_page_has_errors_beside_operators(folder: Path) -> None:
    data = ok(*ARGUMENTS, "tosa-int", "-o", "report.html")
    page = page_of(folder / "report.html")
    rows = {row["node"]: row for row in page["operators"]}
    for operator in data["operators"]:
        assert rows[operator["name"]]["sqnr"] == pytest.approx(operator["sqnr_db"])
    assert rows["conv2d_1"]["source"].endswith("x = self.second(x)") and not rows["conv2d_1"]["cpu"]
    assert page["figures"]["delegated"] and page["accuracy"]["histograms"]
    assert page["command"] == "arm-tosa " + " ".join([*ARGUMENTS, "tosa-int", "-o", "report.html", "--json"])


def _with_cost(monkeypatch: pytest.MonkeyPatch, others: Mapping[str, float] = MappingProxyType({})) -> None:
    """A target whose cycles are the bits of all tensors of its graph; ``others`` are always the same."""
    from arm_tosa_core.tosa.loader import load

    def estimate(tosa: bytes) -> dict[str, float]:
        graph = load(tosa)
        return {"cycles": float(sum(t.size * t.dtype.bits for op in graph.ops for t in op.outputs)), **others}

    found = target_kit.target("counting", "TOSA-1.0+INT+int16", estimate=estimate)
    original = plugins.target
    monkeypatch.setattr(plugins, "target", lambda name: found if name == "counting" else original(name))


def test_budget(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The chosen scheme keeps the budget and is the best measured; compiled again, it has the same SQNR."""
    _with_cost(monkeypatch)
    data = ok(*ARGUMENTS, "counting", "--budget", "cycles=+25%", "--config", "found.json")
    points = data["search"]["points"]
    (chosen,) = [point for point in points if point["chosen"]]
    assert points[0]["units"] == [] and len(points) >= 3
    assert chosen["cost"] <= data["search"]["limit"] == pytest.approx(1.25 * points[0]["cost"])
    assert 0 < len(chosen["units"]) < max(len(point["units"]) for point in points)
    assert chosen["value"] > points[0]["value"]
    assert chosen["value"] == max(p["value"] for p in points if p["cost"] <= data["search"]["limit"])
    assert max(points, key=lambda point: point["cost"])["cost"] > data["search"]["limit"]

    _, judged = model(folder)
    again = judged.quantize(read_scheme(folder / "found.json"))
    assert judged.compare(again).sqnr_db == pytest.approx(chosen["value"])
    program = ok(*ARGUMENTS, "tosa-int", "--quantize", "found.json")
    assert program["sqnr_db"] == pytest.approx(chosen["value"])


def test_a_budget_that_finds_nothing_fails_and_writes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _with_cost(monkeypatch)
    result = run(*ARGUMENTS, "counting", "--budget", "cycles=+0%", "--config", "found.json")
    assert result.exit_code == 1 and not Path("found.json").exists()
    assert "are within cycles=+0%, and none of these raises the SQNR by more than chance: int8 is kept" in result.stderr
    assert "found.json was not written" in result.stderr


ATTENTION = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return self.out(nn.functional.scaled_dot_product_attention(q, k, v)) + x

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x):
        return self.block(x).argmax(-1)%s

def net():
    torch.manual_seed(0)
    return Net().eval(), (torch.zeros(1, 6, 8),)
"""


@pytest.fixture
def attention(folder: Path) -> Callable[[str], None]:
    def write(more: str) -> None:
        Path("net.py").write_text(ATTENTION % more)
        for name in ("cal", "eval"):
            np.savez(f"{name}.npz", x=np.random.default_rng(1).standard_normal((6, 6, 8), np.float32))

    return write


def test_a_function_within_a_block_is_one_unit(
    attention: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its parts are in no module of their own, nor in the exported graph. Only the second call makes real numbers."""
    _with_cost(monkeypatch)
    attention(", self.block(x)")
    ok(*ARGUMENTS, "counting", "--budget", "cycles=+400%", "--config", "found.json")
    assert read_scheme(Path("found.json")).nodes["scaled_dot_product_attention_1"] == "int16x8"


def test_max_drop(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cheapest that was measured and loses no more; what is written reproduces it."""
    _with_cost(monkeypatch)
    _, judged = model(folder)
    exact = judged.compare(judged.quantize(Scheme("int16x8")), operators=False).sqnr_db
    assert exact is not None
    data = ok(*ARGUMENTS, "counting", "--max-drop", "8", "--config", "found.json")
    points = data["search"]["points"]
    (chosen,) = [point for point in points if point["chosen"]]
    assert data["search"]["least"] == pytest.approx(exact - 8) and data["search"]["limit"] is None
    assert points[0]["value"] < exact - 8 <= chosen["value"]  # int8 does not keep it
    assert chosen["cost"] == min(point["cost"] for point in points if point["value"] >= exact - 8)
    assert chosen["cost"] < max(point["cost"] for point in points)
    again = judged.compare(judged.quantize(read_scheme(folder / "found.json")), operators=False)
    assert again.sqnr_db == pytest.approx(chosen["value"])
    assert sorted(unit["name"] for group in data["search"]["groups"] for unit in group) == sorted(chosen["units"])


@pytest.mark.parametrize("figure", ["clock_hz", "energy"])
def test_a_budget_is_of_a_cost(folder: Path, monkeypatch: pytest.MonkeyPatch, figure: str) -> None:
    _with_cost(monkeypatch, {"clock_hz": 5e8, "macs_per_cycle": 128.0})
    said = error(*ARGUMENTS, "counting", "--budget", f"{figure}=+10%")
    assert f"--budget: {figure!r} is" in said and said.rstrip().endswith("choose one of: cycles")


def test_kib_are_shown_with_their_parts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _with_cost(monkeypatch, {"sram_kib": 5.5})
    said = run(*ARGUMENTS, "counting", "--budget", "sram_kib=+10%").stdout
    assert "6.05 sram_kib at most" in said and " 5.50 " in said


def test_a_drop_that_int8_keeps_needs_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _with_cost(monkeypatch)
    ok(*ARGUMENTS, "counting", "--max-drop", "90", "--config", "found.json")
    assert read_scheme(Path("found.json")) == Scheme()


def test_a_drop_that_cannot_be_kept_fails_and_writes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _with_cost(monkeypatch)
    arguments = (*ARGUMENTS, "counting", "--max-drop", "1", "--budget", "cycles=+1%")
    result = run(*arguments, "--config", "found.json")
    assert result.exit_code == 1 and not Path("found.json").exists()
    assert "within cycles=+1% no scheme loses 1 at most: that needs" in result.stderr
    assert "found.json was not written" in result.stderr


def test_a_drop_of_a_metric_is_counted_from_float(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _with_cost(monkeypatch)
    Path("metric.py").write_text(
        "def closeness(expected, actual, samples):\n"
        "    return 7 - sum(float((e - a).abs().max()) for e, a in zip(expected, actual)) / len(samples)\n"
    )
    data = ok(*ARGUMENTS, "counting", "--metric", "metric.py:closeness", "--max-drop", "0.001")
    assert data["float_metric"] == 7 and data["search"]["least"] == pytest.approx(6.999)
    (chosen,) = [point for point in data["search"]["points"] if point["chosen"]]
    assert data["metric"] < 6.999 <= chosen["value"] and chosen["units"]
    assert (
        "metric 6.999 at least"
        in run(*ARGUMENTS, "counting", "--metric", "metric.py:closeness", "--max-drop", "0.001").stdout
    )


def test_integers_are_counted(attention: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    attention("")
    data = ok(*ARGUMENTS, "tosa-int")
    assert data["sqnr_db"] is None and 0.8 < data["equal"] <= 1
    text = f"{100 * data['equal']:.2f} %"
    assert f"{text} of the integers that come out are equal, 6 samples" in run(*ARGUMENTS, "tosa-int").stdout
    _with_cost(monkeypatch)
    assert "returns the scores" in error(*ARGUMENTS, "counting", "--budget", "cycles=+10%")


def test_a_budget_keeps_the_exceptions_of_the_scheme(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _with_cost(monkeypatch)
    Path("mine.json").write_text(Scheme("int8", modules={"second": "int16x8"}).to_json())
    data = ok(*ARGUMENTS, "counting", "--scheme", "mine.json", "--budget", "cycles=+400%", "--config", "found.json")
    found = read_scheme(folder / "found.json").modules
    assert found["second"] == "int16x8" and len(found) > 1
    assert all("second" not in point["units"] for point in data["search"]["points"])


def test_compile_takes_the_scheme(folder: Path) -> None:
    Path("found.json").write_text(Scheme("int8", modules={"second": "int16x8"}).to_json())
    arguments = ("net.py:net", "--target", "tosa-int", "--calibration", "cal.npz")
    mixed = ok("compile", *arguments, "--quantize", "found.json", "-o", "mixed.tosa")
    plain = ok("compile", *arguments, "--quantize", "int8", "-o", "plain.tosa")
    assert mixed["delegates"] == plain["delegates"] == 1
    from arm_tosa_core.tosa.ir import DType
    from arm_tosa_core.tosa.loader import load

    def convolutions(path: str) -> list[DType]:
        graph = load(Path(path).read_bytes())
        return [op.inputs[0].dtype for op in graph.ops if op.name == "CONV2D"]

    assert convolutions("plain.tosa") == [DType.INT8] * 3
    assert convolutions("mixed.tosa") == [DType.INT8, DType.INT16, DType.INT8]


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (("tosa",), None),
        (("tosa-int", "--budget", "cycles=+10%"), "estimates no cost"),
        (("tosa-int", "--budget", "10%"), "FIGURE=+N%"),
        (("tosa-int", "--max-drop", "-1"), "a number that is not negative"),
        (("tosa-int", "--quantize", "int3"), "int16x8"),
        (("tosa-int", "--scheme", "missing.json"), "cannot read missing.json"),
        (("tosa-int", "-o", "report.pdf"), "must be .html"),
        (("tosa-int", "--config", "c.json"), "--budget"),
    ],
)
def test_bad_requests(folder: Path, more: tuple[str, ...], reason: str | None) -> None:
    if reason is None:
        assert ok(*ARGUMENTS, *more)["samples"] == 6
    else:
        assert reason in error(*ARGUMENTS, *more)


@pytest.mark.parametrize(
    "text",
    ["[]", "{", '{"modules": []}', '{"layers": {}}', '{"scheme": "int7"}'],
)
def test_bad_schemes(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(UsageError):
        read_scheme(tmp_path / "bad.json")


def test_budgets() -> None:
    assert parse_budget("cycles=+10%").limit(200) == pytest.approx(220)
    assert parse_budget("cycles=150").limit(200) == 150
    for text in ("cycles=+2000", "cycles=-10%"):
        with pytest.raises(UsageError, match=r"write FIGURE=\+N% or FIGURE=N"):
            parse_budget(text)


def test_bias_correction_restores_the_means() -> None:
    """Rounding weights to 4 bits moves the mean of each channel; with the correction it does not."""
    errors = {False: 0.0, True: 0.0}
    for seed in range(4):
        torch.manual_seed(seed)
        net = torch.nn.Sequential(torch.nn.Conv2d(4, 6, 3, bias=False), torch.nn.Flatten(), torch.nn.Linear(6 * 36, 5))
        samples = [((torch.rand(1, 4, 8, 8),), {}) for _ in range(8)]
        program = torch.export.export(net.eval(), samples[0][0])
        for correction in errors:
            config = get_symmetric_quantization_config(weight_qmin=-7, weight_qmax=7)
            quantizer = TOSAQuantizer(TosaCompileSpec("TOSA-1.0+INT")).set_global(config)
            made = quantize_program(
                program, quantizer, samples, corrections=Corrections(bias_correction=correction)
            ).converted
            lost = torch.cat([net(*args) - made(*args) for args, _ in samples])
            errors[correction] += float(lost.mean(0).abs().max())
    assert errors[True] < errors[False] / 4
    assert "bias" not in dict(net[0].named_parameters())  # the user's model is as it was


def test_calibration_data_is_needed() -> None:
    program = torch.export.export(torch.nn.Linear(2, 2), (torch.zeros(1, 2),))
    with pytest.raises(UsageError, match="one sample at least"):
        quantize_program(program, Scheme().quantizer(TosaCompileSpec("TOSA-1.0+INT")), [])
