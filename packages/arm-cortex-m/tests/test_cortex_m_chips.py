"""The chips whose models are computed on a Cortex-M."""

from __future__ import annotations

import pytest

from arm_cortex_m.chips import chips
from arm_cortex_m.cores import CORES
from arm_tosa_core.exir.target_options import compile_spec_for
from arm_tosa_core.plugin.chip import Chip
from arm_tosa_core.plugin.entry_points import target
from arm_tosa_core.support.memory_size import size_of

CHIPS = {chip.name: chip for chip in chips()}


@pytest.mark.parametrize("chip", CHIPS.values(), ids=CHIPS)
def test_the_target_is_the_core(chip: Chip) -> None:
    assert chip.target in CORES and chip.target.title() in str(chip.facts["cpu"].value)
    assert {"sram", "nonvolatile"} <= chip.facts.keys() and chip.macs_per_second == 0
    assert float(chip.options["clock_mhz"]) == chip.facts["cpu_mhz"].value
    assert size_of(chip.options["sram_size"], "SRAM") == size_of(str(chip.facts["sram"].value), "SRAM")
    compile_spec_for(target(chip.target), chip.options)


@pytest.mark.parametrize("chip", [chip for chip in CHIPS.values() if "npu" in chip.facts], ids=lambda chip: chip.name)
def test_an_npu_that_is_not_used_is_said(chip: Chip) -> None:
    assert "no target here compiles for" in str(chip.facts["npu"].value)
    assert "is not an Ethos-U, and is not used" in chip.note
