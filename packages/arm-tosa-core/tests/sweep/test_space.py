"""The TOML file of a space: its points, and what is said of its faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.sweep.point import Point
from arm_tosa_core.sweep.space import Space, read_space, schemes_named, targets_named

pytestmark = pytest.mark.needs("arm_ethosu")  # the spaces name options of Ethos-U

U55 = "ethos-u55-128"


def _read(tmp_path: Path, text: str) -> Space:
    file = tmp_path / "space.toml"
    file.write_text(text)
    return read_space(file)


def test_a_space_is_all_combinations_targets_in_order(tmp_path: Path) -> None:
    space = _read(
        tmp_path,
        """
        quantize = ["int8", "a16w8"]
        [targets.tosa-int]
        [targets.ethos-u55-128]
        memory_mode = ["default", "Sram_Only"]
        timeout = 60
        [parameters]
        width = [0.5, 1]
        """,
    )
    points = list(space)
    assert len(points) == len(space) == len(set(points)) == (1 + 2) * 2 * 2
    assert points[:4] == [
        Point("tosa-int", "int8", (), (("width", 0.5),)),
        Point(U55, "int8", (("timeout", "60"),), (("width", 0.5),)),
        Point(U55, "int8", (("memory_mode", "Sram_Only"), ("timeout", "60")), (("width", 0.5),)),
        Point("tosa-int", "int16x8", (), (("width", 0.5),)),
    ]
    assert not space.unfit


def test_a_pattern_means_targets_in_order_of_their_numbers_and_a_later_table_wins(tmp_path: Path) -> None:
    space = _read(
        tmp_path,
        """
        [targets."ethos-u55-*"]
        sram_budget = ["64K", "128K"]
        [targets.ethos-u55-64]
        sram_budget = "32K"
        """,
    )
    assert list(space.targets) == [f"ethos-u55-{macs}" for macs in (32, 64, 128, 256)]
    assert space.targets["ethos-u55-64"] == {"sram_budget": ["32K"]}
    assert space.schemes == ["int8"]


def test_what_a_target_refuses_of_a_combination_is_known_before(tmp_path: Path) -> None:
    space = _read(
        tmp_path,
        """
        [targets.ethos-u85-256]
        system_config = ["Ethos_U85_SYS_Flash_High", "Ethos_U85_SYS_DRAM_Mid"]
        memory_mode = ["Shared_Sram", "Dedicated_Sram_384KB"]
        """,
    )
    ((target, options),) = space.unfit
    assert target == "ethos-u85-256" and dict(options)["system_config"] == "Ethos_U85_SYS_Flash_High"
    assert "does not fit" in space.unfit[target, options]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("quantize = = 1", r"space.toml is not TOML: .*line 1"),
        ("quantise = 1\n[targets.tosa-int]", r"line 1: unknown key 'quantise'; known keys: quantize, targets, chips"),
        ("", r"space.toml: name a target at least"),
        ("quantize = 'int9'\n[targets.tosa]", r"line 1: unknown quantization 'int9'; valid: int8, .*a16w8"),
        ("quantize = 'x.json'\n[targets.tosa]", r"line 1: cannot read x.json: no such file"),
        ("\n[targets.ethos-u55-129]", r"line 2: unknown target 'ethos-u55-129' \(did you mean 'ethos-u55-128'"),
        ("\n[targets.'ethos-u99-*']", r"line 2: no target is called 'ethos-u99-\*'; installed: .*ethos-u55-32"),
        (
            "[targets.ethos-u55-128]\nmemry = 'x'",
            r"line 2: target '.*' has no option 'memry'; its options are",
        ),
        ("[targets.ethos-u55-128]\nquantize = 'int8'", r"line 2: .*\(quantize stands above the first \[table\]\)"),
        ("[targets.ethos-u55-128]\nmemory_mode = []", r"line 2: memory_mode takes a value or a list of values"),
        (
            "[targets.ethos-u55-128]\n[parameters]\nwidth = [1.0, nan]",
            r"line 3: width takes a value or a list of values",
        ),
        (
            "[targets.ethos-u55-128]\nsram_budget = ['big', '1M']",
            r"line 2: ethos-u55-128: sram_budget = 'big' never",
        ),
        (
            "[targets.ethos-u55-128]\nmemory_mode = ['Sram']",
            r"line 2: .* unknown memory mode 'Sram' in .*; valid",
        ),
        ("targets = 3", r"line 1: targets is a table, \[targets\], not 3"),
        ("[targets]\ntosa = 3", r"line 2: tosa is a table"),
    ],
)
def test_a_bad_space_says_what_and_where(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        _read(tmp_path, text)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*none.toml: No such file"):
        read_space(tmp_path / "none.toml")


def test_names_of_the_command_line() -> None:
    assert schemes_named(["a16w8", "int16x8", "float"]) == ["int16x8", "float"]
    assert targets_named("tosa-*") == ["tosa-fp", "tosa-int"]
