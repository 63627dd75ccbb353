"""``--chip`` in place of ``--target``, and ``arm-tosa chips``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest
from cli_kit import error, ok, run

from arm_tosa_core.cli import chip as chip_options
from arm_tosa_core.cli.deploy import _facts_to_fill_in
from arm_tosa_core.cli.main import _COMMANDS
from arm_tosa_core.plugin import entry_points as plugins
from arm_tosa_core.plugin.chip import Chip, Fact
from arm_tosa_core.plugin.guard import PluginError
from arm_tosa_core.plugin.target import Compiled
from arm_tosa_core.sweep.engine import Here

CHIPS = [
    Chip(
        name="one-hp",
        title="One, fast",
        target="acme",
        options={"speed": "7", "size": "4M"},
        facts={"npu": Fact("Acme", ["https://example.com/npu"]), "npu_mhz": Fact(400, ["https://example.com/mhz"])},
    ),
    Chip(name="two", title="Two", target="acme", options={"speed": "3"}, note="Its memory is slow."),
]


@pytest.fixture
def chips(acme: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, str]]]:
    """Installs the chips, and a broken one; the options that their target is asked with."""
    asked: list[dict[str, str]] = []

    def compile_(tosa: bytes, options: dict[str, str]) -> bytes:
        asked.append(options)
        return b"ACME" + tosa

    fields: dict[str, Any] = {"compile": compile_, "suffix": ".acme", "options": ("speed", "size")}
    acme(run=lambda payload, inputs: [inputs[0] + 1], **fields)
    rows = [plugins.ChipProvider(chip.name, "acme-npu", "1.0", chip) for chip in CHIPS]
    broken = plugins.ChipProvider("bad", "bad-npu", "1.0", PluginError("the plugin bad-npu 1.0 is broken"))
    monkeypatch.setattr(plugins, "chip_providers", lambda: (*rows, broken))
    monkeypatch.setattr(plugins, "target_names", lambda: ["acme"])
    yield asked


def test_chips_are_listed_and_a_broken_one_is_a_warning(chips: object) -> None:
    rows = {row["name"]: row for row in ok("chips")}
    assert list(rows) == ["one-hp", "two"] and rows["two"]["from"] == "acme-npu 1.0"
    shown = run("chips")
    assert "One, fast" in shown.stdout and "400" in shown.stdout and shown.exit_code == 0
    assert "warning: the plugin bad-npu 1.0 is broken; it was left out" in shown.stderr


def test_a_chip_has_every_fact_with_its_source(chips: object) -> None:
    assert ok("chips", "one-hp")["facts"]["npu_mhz"] == {"value": 400, "sources": ["https://example.com/mhz"]}
    text = run("chips", "one-hp").stdout
    assert "https://example.com/mhz" in text and "stands for --target acme --option speed=7 --option size=4M" in text
    assert "Its memory is slow." in run("chips", "two").stdout
    assert "did you mean 'one-hp'" in error("chips", "one-hq")


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ([], {"speed": "7", "size": "4M"}),
        (["--option", "speed=9"], {"speed": "9", "size": "4M"}),
        (["--option", "speed=9", "--option", "size=1M"], {"speed": "9", "size": "1M"}),
    ],
)
def test_a_chip_stands_for_a_target_with_options(
    arguments: list[str], options: dict[str, str], chips: list[dict[str, str]], folder: Path
) -> None:
    command = ("compile", "models.py:whole", "--chip", "one-hp", "-o", "net.pte", "--no-cache", *arguments)
    data = ok(*command)
    assert (data["chip"], data["target"]) == ("one-hp", "acme")
    assert [{key: each[key] for key in ("speed", "size")} for each in chips] == [options]
    assert "net.pte for one-hp (acme)" in run(*command).stdout
    assert (
        "net.pte for acme" in run(*(word for word in command if word not in ("--chip", "one-hp")), "-t", "acme").stdout
    )


def test_commands_without_options_use_the_chips(chips: list[dict[str, str]], folder: Path) -> None:
    """A .tosa is compiled for the chip, and not for the defaults of its target."""
    ok("compile", "models.py:whole", "--chip", "two", "-o", "net.pte", "--artifacts", "made", "--no-cache")
    (graph,) = Path("made").rglob("*.tosa")
    import numpy as np

    np.save("x.npy", np.zeros((2, 3), np.float32))
    chips.clear()
    assert ok("run", graph, "--chip", "two", "--input", "x.npy")["chip"] == "two"
    run("verify", graph, "--chip", "two")
    assert [each["speed"] for each in chips] == ["3"] * len(chips) != []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--chip", "one-hq"], "unknown chip 'one-hq' (did you mean 'one-hp'?); `arm-tosa chips` lists all"),
        (["--chip", "acme"], "'acme' is a target, not a chip: give --target acme"),
        (["--chip", "two", "--target", "acme"], "--chip two has a target of its own: leave --target acme out"),
        (["--chip", "two", "--option", "speed"], "--option 'speed': write KEY=VALUE"),
        (["--chip", "bad"], "the plugin bad-npu 1.0 is broken"),
    ],
)
def test_errors(arguments: list[str], message: str, chips: object, folder: Path) -> None:
    assert message in error("compile", "models.py:whole", "-o", "net.pte", *arguments)


def test_a_note_is_said(chips: object, folder: Path) -> None:
    assert "note: two: Its memory is slow." in run("explain", "models.py:whole", "--chip", "two").stderr


def test_doctor_tries_the_options_of_every_chip(chips: object, monkeypatch: pytest.MonkeyPatch) -> None:
    (finding,) = [row for row in ok("doctor") if row["what"] == "chips"]
    assert (finding["state"], finding["detail"]) == ("broken", "the plugin bad-npu 1.0 is broken")
    good = plugins.chip_providers()[:2]
    monkeypatch.setattr(plugins, "chip_providers", lambda: good)
    (finding,) = [row for row in ok("doctor") if row["what"] == "chips"]
    assert (finding["state"], finding["detail"]) == ("ok", "2 chips")
    odd = Chip(name="odd", title="Odd", target="acme", options={"colour": "red"})
    monkeypatch.setattr(plugins, "chip_providers", lambda: (*good, plugins.ChipProvider("odd", "odd", "1", odd)))
    (finding,) = [row for row in ok("doctor") if row["what"] == "chips"]
    assert "chip 'odd': target 'acme' has no option 'colour'" in finding["detail"]


NET = """
import torch
def make():
    return torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.ReLU()).eval(), (torch.rand(1, 6),)
"""


def test_chips_are_compared(chips: object, folder: Path) -> None:
    (folder / "net.py").write_text(NET)
    rows = ok("compare", "net.py:make", "--chips", "two,all", "--targets", "acme", "--quantize", "float")["results"]
    assert [(row["chip"], row["target"]) for row in rows] == [(None, "acme"), ("two", "acme"), ("one-hp", "acme")]
    assert "--target acme" in rows[0]["command"] and "--chip two -o" in rows[1]["command"]
    assert "two " in run("compare", "net.py:make", "--chips", "tw*", "--quantize", "float").stdout
    for words, message in (
        ([], "give --targets, --chips or both"),
        (["--chips", "one-hq"], "unknown chip 'one-hq' (did you mean 'one-hp'?)"),
        (["--chips", "x*"], "unknown chip 'x*'"),
    ):
        assert message in error("compare", "net.py:make", *words)


@pytest.fixture
def sized(chips: object, acme: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Targets that take an option for the size of SRAM, and tell figures."""

    def in_detail(tosa: bytes, options: Any) -> Compiled:
        return Compiled(tosa, {"cycles": 1000, "clock_hz": 1e6, "sram_kib": 700.0})

    options = ("speed", "size", "sram_size")
    acme(compile=lambda tosa, _: tosa, compile_in_detail=in_detail, options=options)
    made = [
        Chip(name="large", title="", target="acme", options={"sram_size": "4M"}, facts=_speed(400)),
        Chip(name="small", title="", target="acme", options={"sram_size": "512K"}, facts=_speed(100)),
        Chip(name="twin", title="", target="acme", options={"sram_size": "2M"}, facts=_speed(400), note="It is new."),
        Chip(name="unknown", title="", target="acme"),
        Chip(name="simulated", title="", target="acme", sold=False),
    ]
    rows = [plugins.ChipProvider(chip.name, "acme-npu", "1.0", chip) for chip in made]
    monkeypatch.setattr(plugins, "chip_providers", lambda: tuple(rows))
    monkeypatch.setattr("arm_tosa_core.cli.sweep._engine", lambda *_: Here())


def _speed(mhz: int) -> dict[str, Fact]:
    source = ["https://example.com/chip"]
    return {"macs": Fact(128, source), "npu_mhz": Fact(mhz, source)}


def test_a_sweep_says_which_chip_does(sized: None, folder: Path) -> None:
    """The slowest first; programs are made for no more SRAM than is allowed."""
    (folder / "net.py").write_text(NET)
    words = ("sweep", "net.py:make", "--chips", "all", "--latency", "100ms", "--sram", "1M")
    found = ok(*words)
    assert [row["chip"] for row in found["results"]] == ["unknown", "small", "large", "twin"]
    assert [row["options"] for row in found["results"]] == [{}, {}, {"sram_size": "1M"}, {"sram_size": "1M"}]
    assert found["chosen"]["chip"] == "unknown" and "--chip unknown" in found["chosen"]["command"]
    shown = run(*words[:3], "large,twin", *words[4:]).stdout
    assert "The cheapest that meets the limits is large int8 sram_size=1M" in shown
    assert "It is the same on twin." in shown and "twin: It is new." in shown


def test_a_sweep_takes_targets_beside_chips(sized: None, folder: Path) -> None:
    (folder / "net.py").write_text(NET)
    found = ok("sweep", "net.py:make", "--targets", "acme", "--chips", "small", "--sram", "1M", "--latency", "100ms")
    assert [(row["target"], row.get("chip")) for row in found["results"]] == [("acme", None), ("acme", "small")]


def test_a_chip_whose_size_is_none_spares_the_others(
    sized: None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = Chip(name="bad", title="", target="acme", options={"sram_size": "-1K", "sped": "1"})
    rows = (*plugins.chip_providers(), plugins.ChipProvider("bad", "acme-npu", "1.0", bad))
    monkeypatch.setattr(plugins, "chip_providers", lambda: rows)
    (folder / "net.py").write_text(NET)
    found = ok("sweep", "net.py:make", "--chips", "small,bad", "--sram", "1M", "--latency", "100ms")
    failed = {row["chip"]: row.get("error", "") for row in found["results"]}
    assert not failed["small"] and "has no option 'sped'" in failed["bad"] and found["chosen"]["chip"] == "small"


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        (
            "[chips.large]",
            ["--chips", "all", "--space", "space.toml"],
            "give --targets NAMES, --chips NAMES or both",
        ),
        ("[chips.large]", ["--targets", "acme-npu", "--space", "space.toml"], "or else --space FILE.toml"),
        ("", [], "or else --space FILE.toml"),
        (
            "[chips.lagre]",
            ["--space", "space.toml"],
            "space.toml, line 1: unknown chip 'lagre' (did you mean 'large'?)",
        ),
        ("[chips.large]\nsped=1", ["--space", "space.toml"], "line 2: target 'large' has no option 'sped'"),
    ],
)
def test_a_space_of_chips(text: str, words: list[str], message: str, sized: None, folder: Path) -> None:
    (folder / "net.py").write_text(NET)
    (folder / "space.toml").write_text(text)
    assert message in error("sweep", "net.py:make", *words)


def test_tables_of_chips_have_options(sized: None, folder: Path) -> None:
    (folder / "net.py").write_text(NET)
    (folder / "space.toml").write_text('[chips."*"]\nspeed = ["default", "9"]\n[targets.acme]\n')
    found = ok("sweep", "net.py:make", "--space", "space.toml")["results"]
    assert [row["chip"] for row in found] == [
        None,
        *(name for name in ("simulated", "unknown", "small", "large", "twin") for _ in range(2)),
    ]
    assert [row["options"] for row in found][1:3] == [{}, {"speed": "9"}]


def test_every_command_with_a_target_takes_a_chip() -> None:
    import inspect

    taking = [name for name, function in _COMMANDS.items() if "target" in inspect.signature(function).parameters]
    assert set(taking) == {"compile", "explain", "quantize", "accuracy", "deploy", "run", "verify"}
    assert all("--chip" in run(name, "--help").stdout for name in taking)


def test_what_a_board_needs_of_a_chip_is_told(chips: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chip_options, "_chip", ContextVar("chip", default="one-hp"))
    (note,) = _facts_to_fill_in("generic")
    assert "to fill in boards/generic for one-hp: " in note and "its interrupt, are not among the facts" in note
    assert _facts_to_fill_in("host") == []
    monkeypatch.setattr(chip_options, "_chip", ContextVar("chip", default=None))
    assert _facts_to_fill_in("generic") == []
