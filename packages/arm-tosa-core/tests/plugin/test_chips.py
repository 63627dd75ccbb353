"""Chips as files, and the errors in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from arm_tosa_core.plugin.chip import read_chips
from arm_tosa_core.support.errors import UsageError

GOOD = """
title = "One"
target = "npu"
note = "Not sold any more."

[options]
config = "./one.ini"
speed = "7"

[facts]
npu_mhz = [400, "manual"]
macs = [128, "manual", "https://example.com/b"]

[sources]
manual = "https://example.com/a"
"""


def test_a_file_is_a_chip(tmp_path: Path) -> None:
    (tmp_path / "one-hp.toml").write_text(GOOD)
    (chip,) = read_chips(tmp_path)
    assert (chip.name, chip.title, chip.target, chip.note) == ("one-hp", "One", "npu", "Not sold any more.")
    assert chip.options == {"config": str(tmp_path / "one.ini"), "speed": "7"}
    assert chip.facts["macs"].sources == ["https://example.com/a", "https://example.com/b"]
    assert chip.macs_per_second == 128 * 400e6
    (tmp_path / "one-hp.toml").write_text(GOOD.replace("macs =", "cpu_mhz ="))
    assert read_chips(tmp_path)[0].macs_per_second == 0


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("title = ", "titel = ", "titel"),
        ("title = ", "title ", "line 2"),
        ('"One"', "1", "title of a chip is a text of one line, not 1"),
        ("npu_mhz =", "npu_ghz =", "has no fact 'npu_ghz'; facts are: npu, macs"),
        ('[400, "manual"]', '["fast", "manual"]', "npu_mhz of chip 'one' is a Fact with a number above 0"),
        ('[400, "manual"]', "[400]", "npu_mhz is a list .value, source, ...., each source a text, not .400."),
        ('[400, "manual"]', "400", "npu_mhz is a list .value, source, ...., each source a text, not 400"),
        ('[400, "manual"]', '[400, "book"]', "npu_mhz of chip 'one' has no source, an address that begins with https"),
        ('note = "', 'sold = "no"\nnote = "', "sold of chip 'one' is true or false, not 'no'"),
        ('speed = "7"', "speed = 7", "options of chip 'one' are texts"),
        ('speed = "7"', 'speed = ""', "options of chip 'one' are texts"),
        ('"./one.ini"', '"./../one.ini"', "option config is './../one.ini': it would lie outside of the folder"),
        ('"One"', r'"One\nTwo"', r"title of a chip is a text of one line, not 'One\\nTwo'"),
        ('"Not sold', r'"\u001b[2JNot sold', "note of a chip is a text of one line, not"),
        ('"manual"]', r'"https://a.com/\u202e"]', "npu_mhz of chip 'one' has no source"),
        ("[400,", "[-400,", "npu_mhz of chip 'one' is a Fact with a number above 0, at most 1,000,000,000, not"),
        ("[400,", "[nan,", "npu_mhz of chip 'one' is a Fact with a number above 0"),
        ("[400,", f"[1{'0' * 400},", "npu_mhz of chip 'one' is a Fact with a number above 0"),
        ('[400, "manual"]', '[400, ["manual"]]', "npu_mhz is a list .value, source, ...., each source a text"),
        ("[facts]\n", "[[facts]]\n", "facts is a table, .facts., not"),
        ("[sources]\n", "[[sources]]\n", "sources is a table, .sources., not"),
        ('note = "', 'colour = "red"\nnote = "', "unknown key 'colour'; keys are: title, target, note"),
        ('target = "npu"\n', "", "it has no target: write target ="),
    ],
)
def test_a_malformed_file_is_named_with_its_fault(before: str, after: str, message: str, tmp_path: Path) -> None:
    assert before in GOOD
    (tmp_path / "one.toml").write_text(GOOD.replace(before, after))
    with pytest.raises(UsageError, match=rf"one\.toml: .*{message}"):
        read_chips(tmp_path)


@pytest.mark.parametrize("name", ["One", "one two", "-one", "o/ne"])
def test_a_name_is_a_word(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name.replace('/', '')}.toml"
    path.write_text(GOOD if "/" not in name else GOOD.replace('title = "One"', 'title = "One"\nname = "o/ne"'))
    with pytest.raises(UsageError, match="name"):
        read_chips(tmp_path)
