"""The chips with an Ethos-U: their facts, what Vela is given, and figures that follow."""

from __future__ import annotations

import hashlib
import json
import re
from configparser import ConfigParser
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from sram_kit import flatbuffer

from arm_ethosu import EthosUCompileSpec
from arm_ethosu.accelerators import ACCELERATORS
from arm_ethosu.advice import candidates
from arm_ethosu.chips import chips
from arm_ethosu.vela_ini import CHIPS_INI, DEFAULT_INI, VelaIni, is_own, locate
from arm_tosa_core.exir.provenance import of_spec
from arm_tosa_core.exir.pte import Delegate, target_of
from arm_tosa_core.plugin.chip import Chip
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.support.memory_size import size_of

if TYPE_CHECKING:
    from arm_tosa_core.advice.candidate import Request
    from arm_tosa_core.exir.report import Report

CHIPS = {chip.name: chip for chip in chips()}
every_chip = pytest.mark.parametrize("chip", CHIPS.values(), ids=CHIPS)


def spec_of(chip: Chip, **options: Any) -> EthosUCompileSpec:
    return EthosUCompileSpec(chip.target, **{**chip.options, **options})


def figures(spec: EthosUCompileSpec) -> dict[str, float]:
    estimate = spec.target().report.estimate
    assert estimate is not None
    return dict(estimate(flatbuffer()))


@every_chip
def test_facts_are_those_that_the_compiler_is_given(chip: Chip) -> None:
    """A number stands in two files: for people with its source, and for Vela."""
    family, macs = chip.target.removeprefix("ethos-").split("-")
    assert chip.target in ACCELERATORS
    assert chip.facts["npu"].value == f"Ethos-{family.upper()}" and chip.facts["macs"].value == int(macs)
    spec = spec_of(chip)
    assert spec.config_ini == (DEFAULT_INI if chip.name.startswith("arm-") else CHIPS_INI) and is_own(spec.config_ini)
    ini = VelaIni(locate(spec.config_ini))
    assert float(ini.system_value(spec.system_config, "core_clock") or 0) == float(chip.facts["npu_mhz"].value) * 1e6
    assert spec.sram_size == (size_of(str(chip.facts["sram"].value), "sram") if "sram" in chip.facts else None)
    memories = {ini.memory_at(spec.system_config, port) for port in ("Axi0", "Axi1")}
    assert ("Dram" in memories) == ("dram" in chip.facts) and chip.facts.keys() >= {"cpu", "timing"}


def test_every_configuration_belongs_to_a_chip() -> None:
    parser = ConfigParser()
    parser.read(locate(CHIPS_INI))
    sold = [chip for chip in CHIPS.values() if chip.options["config_ini"] == CHIPS_INI]
    used = {f"System_Config.{chip.options['system_config']}" for chip in sold}
    assert {section for section in parser.sections() if section.startswith("System")} == used
    text = locate(CHIPS_INI).read_text()
    assert len(re.findall(r"^; .*\n\[", text, re.MULTILINE)) == len(parser.sections()), "a section says what it is"


@pytest.mark.parametrize("name", {chip.options["system_config"]: name for name, chip in CHIPS.items()}.values())
def test_vela_reads_the_configuration(name: str) -> None:
    """And its cycles are at the chip's clock."""
    found = figures(spec_of(CHIPS[name]))
    assert found["clock_hz"] == float(CHIPS[name].facts["npu_mhz"].value) * 1e6 and found["cycles"] > 0


def test_figures_follow_the_memory(tmp_path: Path) -> None:
    """Half the speed of SRAM costs cycles; nothing else is changed."""
    chip, text = CHIPS["alif-e7-hp"], locate(CHIPS_INI).read_text()
    slow = tmp_path / "slow.ini"
    slow.write_text(text.replace("Sram_clock_scale=0.762", "Sram_clock_scale=0.1"))
    assert slow.read_text() != text
    assert figures(spec_of(chip, config_ini=str(slow)))["cycles"] > figures(spec_of(chip))["cycles"]


def test_what_is_larger_than_the_chip_is_refused() -> None:
    chip = CHIPS["alif-e7-hp"]
    assert figures(spec_of(chip)) == figures(spec_of(chip, sram_size="1G"))
    with pytest.raises(UsageError, match=r"sram_size=8K is missed by .* KiB is the least SRAM"):
        figures(spec_of(chip, sram_size="8K"))


def test_a_program_for_a_chip_is_known_again_elsewhere() -> None:
    """Its file has the name of the configuration, which every arm-ethosu has, and no path of this machine."""
    spec = spec_of(CHIPS["alif-e7-hp"])
    shipped = {item.key: bytes(item.value) for item in spec.to_list()}
    assert json.loads(shipped["options"])["config_ini"] == CHIPS_INI
    assert EthosUCompileSpec.from_list(spec.to_list()) == spec
    assert spec._depends_on() == {"config": str(locate(CHIPS_INI))}, "so that another file is not taken from the cache"


@pytest.mark.parametrize("name", [DEFAULT_INI, CHIPS_INI, "~/own.ini"])
def test_the_content_of_the_configuration_counts_wherever_it_lies(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vela's own, too: a user may have changed it in the package."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "own.ini").write_bytes(locate(DEFAULT_INI).read_bytes())
    found = EthosUCompileSpec("ethos-u55-64", "Ethos_U55_High_End_Embedded", config_ini=DEFAULT_INI)
    found.config_ini = name
    assert hashlib.sha256(locate(name).read_bytes()).hexdigest() in of_spec(found)


@pytest.mark.parametrize(
    "spec", [spec_of(CHIPS["himax-we2"]), EthosUCompileSpec("ethos-u55-64", "Ethos_U55_Deep_Embedded")]
)
def test_a_program_is_timed_as_it_was_compiled(spec: EthosUCompileSpec) -> None:
    """And not with the defaults of its target."""
    compile_ = spec.target().compiler.compile
    assert compile_ is not None
    payload = compile_(flatbuffer(), {})
    stored = tuple((item.key, bytes(item.value)) for item in spec.to_list())
    timing = target_of(Delegate("EthosUBackend", payload, 0, "forward", stored)).report.timing
    assert timing is not None
    assert timing(payload, None).system == f"{spec.system_config}, Shared_Sram"
    assert timing(payload, None).clock == {"Himax_WE2": 400e6}.get(spec.system_config, 200e6)


@pytest.mark.parametrize(
    ("options", "others", "larger"),
    [
        ({"sram_budget": "1M"}, ["an SRAM budget of 2M"], True),
        ({"sram_budget": "1M", "sram_size": "2M"}, ["an SRAM budget of 2M"], False),
        ({"sram_budget": "1M", "sram_size": "1536K"}, [], False),
        ({"sram_size": "4M"}, [], False),
    ],
)
def test_advice_is_for_the_device(options: dict[str, Any], others: list[str], larger: bool) -> None:
    """Which has neither more SRAM than it has, nor another accelerator."""
    spec = EthosUCompileSpec("ethos-u55-128", **options)
    request = cast("Request", SimpleNamespace(spec=spec))
    changes = [candidate.change for candidate in candidates(request, cast("Report", None))]
    assert [change for change in changes if "budget" in change] == others
    assert ("ethos-u55-256 in place of ethos-u55-128" in changes) is larger
