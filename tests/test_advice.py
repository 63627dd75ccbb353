"""Advice is followed through the command line, and saves what it says."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from arm_tosa_core.advice import advise as trials
from arm_tosa_core.advice.advise import LEAST, LINES, Advice, Advised, advise
from arm_tosa_core.advice.candidate import Candidate
from arm_tosa_core.cli.main import app
from arm_tosa_core.plugin import entry_points as plugins
from arm_tosa_core.plugin.chip import Chip
from arm_tosa_core.support.errors import UsageError

#: What was seen is no further than this from what was said, as a part of it.
_NEAR = 0.2

MODEL = """
import torch
from torch import nn


def _net(*layers, size=(1, 3, 32, 32)):
    torch.manual_seed(0)
    return nn.Sequential(*layers).eval(), (torch.rand(size),)

def picture(channels=3):
    return _net(nn.Conv2d(channels, 16, 3, stride=2), nn.ReLU(), nn.Conv2d(16, 24, 3), size=(1, channels, 96, 96))

def weights(pruned=False):
    net, inputs = _net(nn.Conv2d(3, 8, 3, stride=4), nn.Flatten(), nn.Linear(512, 512))
    for layer in (net[0], net[2]) if pruned else ():
        least = layer.weight.abs().median()
        layer.weight.data[layer.weight.abs() <= least] = 0
    return net, inputs

class Norm(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.weight, self.bias = layer.weight, layer.bias

    def forward(self, x):
        return x * self.weight + self.bias

def tokens(norm=True):
    layers = [nn.Linear(32, 64), nn.LayerNorm(64), nn.Linear(64, 8)]
    return _net(layers[0], layers[1] if norm else Norm(layers[1]), layers[2], size=(1, 128, 32))

class Squeezed(nn.Module):
    def __init__(self, pool):
        super().__init__()
        self.first, self.pool, self.scale = nn.Conv2d(3, 16, 1), pool, nn.Conv2d(16, 16, 1)

    def forward(self, x):
        x = self.first(x)
        pooled = nn.functional.adaptive_avg_pool2d(x, 1) if self.pool else x.mean((2, -1), keepdim=True)
        return x * torch.sigmoid(self.scale(pooled))

def squeezed(pool=False):
    return _net(Squeezed(pool))

def mask():
    layers = nn.Conv2d(3, 8, 3, padding=1), nn.Upsample(scale_factor=4, mode="bilinear"), nn.Conv2d(8, 4, 1)
    return _net(*layers, size=(1, 3, 16, 16))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that commands run in, with the models."""
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(MODEL)
    return tmp_path


def _compile(*words: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["compile", *words, "-o", "out.pte", "--json"])
    assert result.exit_code == 0, result.output
    data: dict[str, Any] = json.loads(result.stdout)
    return data


@pytest.mark.parametrize(
    ("words", "told", "followed"),
    [
        ("weights --quantize int8", "memory_mode=Sram_Only", "weights --quantize int8"),
        ("weights --quantize int8", "half of the weights", "weights,pruned=true --quantize int8"),
        ("picture --quantize int8", "ethos-u55-256", "picture --quantize int8"),
        ("picture --quantize int16x8", "int8 in place", "picture"),
        ("mask --quantize int8", "channels last", "mask --quantize int8"),
        ("tokens --quantize int8", "LayerNorm", "tokens,norm=false --quantize int8"),
        ("squeezed --quantize int8", "AdaptiveAvgPool2d(1) in place", "squeezed,pool=true --quantize int8"),
    ],
)
def test_following_it_saves_what_it_says(words: str, told: str, followed: str, folder: Path) -> None:
    """The saving that is seen is within a fifth of the one that is said."""
    data = _compile(*shlex.split(f"net.py:{words}"), "--target", "ethos-u55-128", "--advice")
    rows = data["advice"]["told"]
    (row,) = [row for row in rows if told in f"{row['text']} {row['command']}"]
    assert len(rows) <= LINES and row["saving"] >= LEAST
    options = shlex.split(row["command"])
    target = [] if "--target" in options else ["--target", "ethos-u55-128"]
    after = _compile(*shlex.split(f"net.py:{followed}"), *options, *target)
    seen = 1 - after["figures"]["cycles"] / data["figures"]["cycles"]
    assert seen == pytest.approx(row["saving"], rel=_NEAR)


def test_what_saves_nothing_is_tried_and_not_told(folder: Path) -> None:
    """Each line says at least 2 %, and the rest is in the list of what was tried."""
    data = _compile("net.py:picture", "--target", "ethos-u55-128", "--quantize", "int8", "--advice")["advice"]
    assert all(row["saving"] >= LEAST for row in data["told"])
    assert [row["saving"] for row in data["told"]] == sorted((row["saving"] for row in data["told"]), reverse=True)
    small = [row for row in data["tried"] if row["saving"] < LEAST]
    assert small and not {row["change"] for row in small} & {row["change"] for row in data["told"]}
    (pixels,) = [row for row in data["tried"] if row["change"] == "4 channels"]
    assert pixels["modules"] == ["0"] and pixels["what"] == "3 channels, stride 2" and not pixels["refusal"]


def test_a_chip_keeps_its_accelerator(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody swaps the accelerator of a chip."""
    chip = Chip(name="one", title="One", target="ethos-u55-128")
    monkeypatch.setattr(plugins, "chip_providers", lambda: (plugins.ChipProvider("one", "own", "1", chip),))
    tried = _compile("net.py:picture", "--chip", "one", "--quantize", "int8", "--advice")["advice"]["tried"]
    assert tried and not [row for row in tried if "--target" in row["command"]]


def test_without_it_one_line_says_where_the_time_goes(folder: Path) -> None:
    """And nothing is tried."""
    command = ["compile", "net.py:picture", "--target", "ethos-u55-128", "--quantize", "int8", "-o", "out.pte"]
    result = CliRunner().invoke(app, command)
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("most of the cycles: `2` ")]
    assert line.endswith("%; --advice tries what would help") and "advice" not in json.dumps(_compile(*command[1:6]))


def test_a_change_that_fails_is_not_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be compiled says why, in the list of what was tried."""

    def refused(*_args: object, **_options: object) -> None:
        raise UsageError("no such thing")

    monkeypatch.setattr(trials, "lower", refused)
    data = _compile("net.py:picture", "--target", "ethos-u55-128", "--quantize", "int8", "--advice")["advice"]
    assert not data["told"] and {row["refusal"] for row in data["tried"]} == {"no such thing"}


@pytest.mark.parametrize(
    ("advice", "text"),
    [
        (
            Advice("4 channels", "", ("features.0",), "3 channels, stride 2", 0.31, "", 1000, 910),
            "`features.0` (3 channels, stride 2) takes 31% of the cycles; 4 channels: -9% (910 cycles)",
        ),
        (
            Advice("ReLU", "", ("a", "b", ""), "SiLU", 0.2, "train it again", 1000, 850),
            "`a` and 2 more (SiLU) take 20% of the cycles; ReLU: -15% (850 cycles); train it again",
        ),
        (Advice("more", "--sram 1M", (), "", 1.0, "", 1000, 780), "more: -22% (780 cycles); --sram 1M"),
    ],
)  # fmt: skip
def test_sentences(advice: Advice, text: str) -> None:
    """A sentence names module, share, change, saving, and the option or the price."""
    assert advice.text == text


def test_a_target_without_estimate_has_no_advice() -> None:
    """Nothing is tried where nobody says cycles."""
    program = torch.export.export(torch.nn.ReLU(), (torch.rand(3),))
    advised = advise(program, "tosa-fp")
    assert advised == Advised(has_cycles=False)
    assert f"{advised}" == "no advice: it needs an estimate of cycles, and the target has none of this model"


@pytest.mark.parametrize(
    ("tried", "text"),
    [
        ([], "no advice: no change that could help is known for this model, target and options"),
        ([990], "advice, of 1 change tried: none saves 2%"),
        ([990, None], "advice, of 2 changes tried: none saves 2%, 1 could not be compiled (--json has why)"),
    ],
)
def test_no_advice_says_why(tried: list[float | None], text: str) -> None:
    """Whether nothing was tried, or nothing helped."""
    rows = [Advice("more", "", (), "", 1.0, "", 1000, cycles) for cycles in tried]
    assert f"{Advised(tried=rows)}" == text


def test_a_large_group_leaves_trials_to_others() -> None:
    def row(name: str, group: str, share: float) -> tuple[float, Candidate]:
        return share, Candidate(name, lambda request: request, group=group)

    rows = [
        row("m1", "memory", 1),
        row("m2", "memory", 1),
        row("m3", "memory", 1),
        row("a", "", 0.9),
        row("b", "", 0.1),
    ]
    assert [candidate.change for _, candidate in trials.in_turns(rows)] == ["m1", "a", "b", "m2", "m3"]
