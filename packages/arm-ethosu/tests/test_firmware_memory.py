"""Where a firmware's parts lie: in the arena, and in the memories of a board."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from firmware_kit import Net, model, model_of, words

from arm_cortex_m.firmware.library import library
from arm_cortex_m.firmware.memory import Arena, arena_bytes, linker_fragment, memory_map
from arm_ethosu import EthosUCompileSpec
from arm_tosa_core import lower
from arm_tosa_core.plugin.firmware import Program
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.testing.harness import exported


def test_what_is_in_use_at_one_time_has_places_of_its_own() -> None:
    found = words()
    arena, (job,) = Arena(found), found.jobs
    ((value, at),) = arena.values.items()
    assert at % 16 == 0 and not (at < arena.scratch(job) + job.scratch and arena.scratch(job) < at + value.size)
    assert arena.size >= job.scratch + value.size


@pytest.mark.parametrize(
    ("target", "constants", "arena"),
    [
        ("ethos-u55-128", "flash (.model_flash), planned for OffChipFlash", "SRAM (.model_sram), planned for Sram"),
        ("ethos-u65-256", "DRAM (.model_flash), planned for Dram", "SRAM (.model_sram), planned for Dram"),
        ("ethos-u85-256", "SRAM (.model_flash), planned for Sram", "SRAM (.model_sram), planned for Sram"),
    ],
)
def test_the_memory_map_follows_the_memory_mode(target: str, constants: str, arena: str) -> None:
    """On U65 the arena holds the fast memory, which the mode has in SRAM."""
    rows = {part: where for part, where, _ in memory_map([model(target)])}
    assert rows == {"net: commands": constants, "net: weights": constants, "arena": arena}
    assert all(f"{part}" in linker_fragment([model(target)]) for part in rows.values())


def test_models_of_several_modes_have_their_constants_in_flash() -> None:
    both = [model("ethos-u55-128"), model("ethos-u85-256")]
    assert "} > MODEL_SRAM AT > MODEL_FLASH" in linker_fragment(both[1:])
    assert "} > MODEL_FLASH\n" in linker_fragment(both)


def test_an_arena_of_dram_is_in_dram() -> None:
    found = model("ethos-u85-256")
    slow = tuple(dataclasses.replace(job, scratch_in="Dram") for job in found.jobs)
    assert "> MODEL_DRAM\n" in linker_fragment([dataclasses.replace(found, steps=slow)])


def test_another_systems_linker_script_decides_by_itself() -> None:
    rows = {part: where for part, where, _ in memory_map([model()], linked=False)}
    assert rows["arena"] == "yours (.model_sram), planned for Sram"


def test_the_fast_memory_of_dedicated_sram_is_in_the_arena() -> None:
    found = model("ethos-u65-256")
    (job,) = found.jobs
    assert job.fast_scratch == 384 * 1024
    assert f".fast_scratch_size = {job.fast_scratch}u," in library(found)["net.c"]
    assert arena_bytes([found]) >= job.scratch + job.fast_scratch


def test_a_fast_memory_of_unknown_size_is_refused() -> None:
    inputs = (torch.randn(1, 3, 8, 8), torch.randn(1, 4, 6, 6))
    spec = EthosUCompileSpec("ethos-u85-256", memory_mode="Dedicated_Sram")
    pte = lower(exported(Net().eval(), inputs, spec, "int8"), spec).buffer
    with pytest.raises(UsageError, match="net: the memory mode 'Dedicated_Sram' does not say how large"):
        model_of("net", Program(pte), "ethos-u85-256")
