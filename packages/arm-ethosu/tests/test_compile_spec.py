"""What users may ask of Vela, and how each mistake is answered."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import arm_ethosu
from arm_ethosu import EthosUCompileSpec, EthosUQuantizer, VelaExternalBlockPlacements, targets
from arm_ethosu.accelerators import ACCELERATORS
from arm_ethosu.vela_ini import locate
from arm_tosa_core.support.errors import UsageError

_INI = locate(None).read_text()
_PAIR = "[System_Config.Mine]\naxi0_port={}\naxi1_port=OffChipFlash\n[Memory_Mode.Also_Mine]\n{}\n"
_AREAS = "const_mem_area=Axi1\narena_mem_area=Axi0\ncache_mem_area=Axi0"


@pytest.mark.parametrize(
    "target, system_config, memory_mode, tosa_spec",
    [
        ("ethos-u55-128", "Ethos_U55_High_End_Embedded", "Shared_Sram", "TOSA-1.0+INT+int16+int4+u55"),
        ("ethos-u65-512", "Ethos_U65_High_End", "Dedicated_Sram_384KB", "TOSA-1.0+INT+int16+int4+u55"),
        ("Ethos-U85-256", "Ethos_U85_SYS_DRAM_Mid", "Sram_Only", "TOSA-1.0+INT+int16+int4+cf"),
    ],
)
def test_defaults(target: str, system_config: str, memory_mode: str, tosa_spec: str) -> None:
    spec = EthosUCompileSpec(target)
    assert (spec.system_config, spec.memory_mode) == (system_config, memory_mode)
    assert spec.tosa_spec == type(spec.tosa_spec).create_from_string(tosa_spec)
    assert spec.get_output_format() == "vela"


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("ethos-u55-77",), r"unknown Ethos-U target 'ethos-u55-77'; valid ones: ethos-u55-32, .*ethos-u85-2048"),
        (("ethos-u55-128", "Nope"), r"unknown system config 'Nope' in .*vela.ini; valid ones: Ethos_U55_Deep_Embedded"),
        (("ethos-u55-128", None, "Nope"), r"unknown memory mode 'Nope' .*valid ones: Sram_Only, Shared_Sram"),
        (
            ("ethos-u55-128", None, "Dedicated_Sram"),
            r"arena_mem_area=Axi1 is OffChipFlash there and must be Dram or Sram",
        ),
        (("ethos-u55-128", None, None, 'a "b'), r"cannot be split into words"),
        (("ethos-u55-128", None, None, [3]), r"extra_flags must be strings; 3 is int"),
        (("ethos-u55-128", None, None, "--output-format=tflite"), r"--output-format=tflite cannot be used"),
        (("ethos-u55-128", None, None, "--accelerator-config=ethos-u55-64"), r"contradicts target='ethos-u55-128'"),
        (("ethos-u55-128", None, None, "--accel ethos-u55-64"), r"contradicts target='ethos-u55-128'"),
        (("ethos-u55-128", None, None, "--memory-mode Sram_Only"), r"contradicts memory_mode='Shared_Sram'"),
        (("ethos-u55-128", None, None, "--output-dir=x"), r"call dump_intermediate_artifacts_to\(\) instead"),
        (("ethos-u55-128", None, None, "--separate-io-regions"), r"that the EthosU delegate cannot read"),
        (("ethos-u55-128", None, None, "--version"), r"with --version Vela compiles nothing"),
        (("ethos-u55-128", None, None, "--optimise=Size other.tosa"), r"'other.tosa' is not a flag"),
        (("ethos-u55-128", None, None, None, "nowhere.ini"), r"'nowhere.ini' does not exist; .*Arm/vela.ini"),
        (("ethos-u55-128", None, None, None, "vela.cfg"), r"must have a name that ends in .ini"),
    ],
)
def test_bad_arguments(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        EthosUCompileSpec(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_bad_timeout(timeout: float) -> None:
    with pytest.raises(UsageError, match="timeout must be a positive number of seconds"):
        EthosUCompileSpec("ethos-u55-128", timeout=timeout)


@pytest.mark.parametrize(
    "text, message",
    [
        ("core_clock=1\n", r"line 1: text before the first \[section\]"),
        ("[System_Config.A]\ncore_clock=1\nnonsense\n", r"line 3: neither \[section\] nor key=value: .*nonsense"),
        ("[System_Config.A]\n[System_Config.A]\n", r"line 2: section \[System_Config.A\] is there twice"),
        ("[System_Config.A]\nx=1\nx=2\n", r"line 3: 'x' is there twice in section \[System_Config.A\]"),
        ("", r"unknown system config 'Mine' .*; the file has none"),
        (_PAIR.format("Sram", "inherit=Memory_Mode.Gone"), r"inherits from \[Memory_Mode.Gone\], which does not exist"),
        (_PAIR.format("Sram", "inherit=Memory_Mode.Also_Mine"), r"inherits from itself"),
        (_PAIR.format("Sram", "const_mem_area=Axi7"), r"const_mem_area=Axi7; it must be Axi0 or Axi1"),
        (_PAIR.format("Flash", _AREAS), r"arena_mem_area=Axi0 is Flash there and must be Dram or Sram"),
    ],
)
def test_bad_ini(text: str, message: str, tmp_path: Path) -> None:
    ini = tmp_path / "mine.ini"
    ini.write_text(text)
    with pytest.raises(UsageError, match=message):
        EthosUCompileSpec("ethos-u55-128", "Mine", "Also_Mine", config_ini=ini)


def test_ini_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "mine.ini").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match=r"mine\.ini is not UTF-8 text"):
        EthosUCompileSpec("ethos-u55-128", config_ini=tmp_path / "mine.ini")


def test_own_ini_in_a_folder_like_velas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "configs"
    folder.mkdir()
    (folder / "mine.ini").write_text(_INI + _PAIR.format("Sram", _AREAS))
    monkeypatch.chdir(tmp_path)
    assert (
        EthosUCompileSpec("ethos-u55-128", "Mine", "Also_Mine", config_ini="configs/mine.ini").system_config == "Mine"
    )


@pytest.mark.parametrize("name", ["Ethos_U55_Deep_Embedded", "Ethos_U55_High_End_Embedded"])
def test_every_system_config_of_the_family(name: str) -> None:
    assert EthosUCompileSpec("ethos-u55-32", name).system_config == name


@pytest.mark.parametrize(
    "extra_flags, kept",
    [
        (None, []),
        (["--output-format=raw"], []),
        ("--output-format raw --optimise Size", ["--optimise", "Size"]),
        (["--accelerator-config=ethos-u55-128", "--verbose-performance"], ["--verbose-performance"]),
        ("--memory-mode=Shared_Sram --config Arm/vela.ini '--optimise=Size'", ["--optimise=Size"]),
    ],
)
def test_extra_flags(extra_flags: str | list[str] | None, kept: list[str]) -> None:
    assert EthosUCompileSpec("ethos-u55-128", extra_flags=extra_flags).compiler_flags == kept


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"timeout": 5.0},
        {"extra_flags": "--optimise=Size"},
        {"memory_mode": "Sram_Only"},
        {"schedule": "deep"},
        {"weight_order": "shared"},
        {"external_block_placements": VelaExternalBlockPlacements(weight_data="lm")},
        {"sram_budget": "96K"},
    ],
)
def test_round_trip(options: dict[str, object], tmp_path: Path) -> None:
    spec = EthosUCompileSpec("ethos-u55-64", **options).dump_intermediate_artifacts_to(tmp_path)  # type: ignore[arg-type]
    again = EthosUCompileSpec.from_list(spec.to_list())
    assert again == spec
    assert (again.timeout, again.compiler_flags, again.sram_budget) == (
        spec.timeout, spec.compiler_flags, spec.sram_budget,
    )  # fmt: skip
    assert again != EthosUCompileSpec("ethos-u55-64", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(("option", "value"), [("schedule", "deep"), ("weight_order", "shared")])
def test_experimental_options_are_no_default_and_marked(option: str, value: str) -> None:
    assert getattr(EthosUCompileSpec("ethos-u85-256"), option) != value
    assert f'``"{value}"`` (experimental)' in str(EthosUCompileSpec.__doc__)
    assert f'| `{option}="{value}"` |' in Path(__file__).parents[3].joinpath("docs/reference/stability.md").read_text()


@pytest.mark.parametrize("name", ACCELERATORS)
def test_target_factories(name: str) -> None:
    target = getattr(targets, name.replace("-", "_"))()
    assert (target.name, target.compiler.backend_id, target.compiler.suffix) == (name, "EthosUBackend", ".vela")
    assert target.compiler.compile_spec(memory_mode="Sram_Only").accelerator == name


def test_no_other_factories() -> None:
    assert not hasattr(targets, "ethos_u55_77")
    assert not hasattr(arm_ethosu, "Nope")


def test_importing_loads_neither_torch_nor_vela() -> None:
    program = "import sys, arm_ethosu; arm_ethosu.EthosUCompileSpec('ethos-u85-256'); print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert {"torch", "executorch", "ethosu.vela"}.isdisjoint(modules)


def test_a_quantizer_says_what_is_kept_in_16_bits() -> None:
    assert EthosUQuantizer(EthosUCompileSpec("ethos-u55-128"), wide="none").wide == "none"
    assert EthosUQuantizer(EthosUCompileSpec("ethos-u55-128")).wide == "residuals"


@pytest.mark.parametrize(
    ("options", "taken"),
    [
        ({"memory_mode": "Sram_Only", "system_config": "Ethos_U55_Deep_Embedded"}, True),
        ({"config_ini": "arm-ethosu/chips.ini", "system_config": "Alif_HP", "sram_size": 1 << 20}, True),
        ({"config_ini": "Arm/vela.ini", "memory_mode": "Sram_Only"}, True),
        ({"config_ini": "OWN", "system_config": "Mine"}, False),
        ({"config_ini": "/etc/passwd"}, False),
        ({"config_ini": "../chips.ini", "memory_mode": "Sram_Only"}, False),
        ({"config_ini": ["Arm/vela.ini"]}, False),
        ({"system_config": "Mine"}, False),
        ({"sram_size": -1}, False),
        ({"sram_size": "9" * 400}, False),
        ({"sram_budget": 10**300}, False),
        ({"schedule": "fast"}, False),
    ],
)
def test_the_spec_of_a_program_reads_no_file_that_its_file_names(
    options: dict[str, Any], taken: bool, tmp_path: Path
) -> None:
    own = tmp_path / "own.ini"
    own.write_text(locate(None).read_text().replace("Ethos_U55_Deep_Embedded", "Mine"))
    given = {key: str(own) if value == "OWN" else value for key, value in options.items()}
    of_program = EthosUCompileSpec("ethos-u55-128").target().compiler.of_program
    assert of_program is not None
    wanted = EthosUCompileSpec("ethos-u55-128", **options) if taken else EthosUCompileSpec("ethos-u55-128")
    others = {"target": "ethos-u55-32", "timeout": "x", "external_block_placements": {"cmd_data": "f"}, "spec": [1]}
    assert of_program({**others, **given}) == wanted
