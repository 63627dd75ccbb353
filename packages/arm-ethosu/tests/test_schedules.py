"""The option, the memories that it looks at, the figures that it goes by, and what it leaves alone."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from hand_made_streams import FLASH, LATE_WEIGHTS

from arm_ethosu import EthosUCompileSpec, payload
from arm_ethosu.accelerators import family_of
from arm_ethosu.schedule import NothingToPrefetchWarning, compilation, prefetched
from arm_ethosu.schedule.costs import Memories, memories, velas_costs
from arm_ethosu.schedule.lives import Lives
from arm_ethosu.vela_ini import VelaIni, locate
from arm_tosa_core.lowering.builder import Builder
from arm_tosa_core.support import passing
from arm_tosa_core.support.errors import ToolError, UsageError
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.serializer import serialize

SPEC = EthosUCompileSpec("ethos-u55-128")
_MINE = """
[System_Config.Mine]
axi0_port=Sram
axi1_port=OnChipFlash
OnChipFlash_clock_scale=0.5
OnChipFlash_read_latency=7
[System_Config.Vague]
axi1_port=OffChipFlash
[System_Config.Wrong]
axi0_port=Sram
axi1_port=OnChipFlash
OnChipFlash_clock_scale=half
"""


@pytest.mark.parametrize(
    ("accelerator", "system_config", "memory_mode", "expected"),
    [
        ("ethos-u55-128", "Ethos_U55_High_End_Embedded", "Shared_Sram", Memories("OffChipFlash", 1.0, 64.0, 8.0, 1)),
        ("ethos-u55-32", "Ethos_U55_Deep_Embedded", "Shared_Sram", Memories("OffChipFlash", 0.5, 64.0, 8.0, 1)),
        ("ethos-u65-512", "Ethos_U65_High_End", "Dedicated_Sram_384KB", Memories("Dram", 3.75, 500.0, 16.0, 2)),
        ("ethos-u85-256", "Ethos_U85_SYS_DRAM_Mid", "Dedicated_Sram", Memories("Dram", 12.0, 500.0, 32.0, 2)),
        ("ethos-u85-256", "Ethos_U85_SYS_DRAM_High", "Shared_Sram", Memories("Dram", 24.0, 500.0, 64.0, 1)),
        ("ethos-u85-256", "Ethos_U85_SYS_DRAM_Mid", "Sram_Only", None),
        ("ethos-u55-128", "Ethos_U55_High_End_Embedded", "Sram_Only", None),
        ("ethos-u55-128", "Mine", "Shared_Sram", Memories("OnChipFlash", 4.0, 7.0, 8.0, 1)),
        ("ethos-u55-128", "Vague", "Shared_Sram", None),
    ],
)
def test_memories(
    accelerator: str, system_config: str, memory_mode: str, expected: Memories | None, tmp_path: Path
) -> None:
    ini = tmp_path / "mine.ini"
    ini.write_text(locate(None).read_text() + _MINE)
    assert memories(VelaIni(ini), system_config, memory_mode, family_of(accelerator)) == expected


def test_a_figure_that_is_no_number(tmp_path: Path) -> None:
    ini = tmp_path / "mine.ini"
    ini.write_text(locate(None).read_text() + _MINE)
    with pytest.raises(UsageError, match=r"mine.ini: OnChipFlash_clock_scale=half of 'Wrong' is no number"):
        memories(VelaIni(ini), "Wrong", "Shared_Sram", "u55")


def _table(name: str, *rows: str) -> str:
    return f'<table name="{name}">\n<![CDATA[\n' + "\n".join(rows) + "\n]]></table>\n"


_PERF = '"id","operator","op_cycles","npu_cycles","Sram_ac","OffChipFlash_ac"'
_DETAIL = (
    '"id","weight_buffering","OffChipFlashWeights_ac","OffChipFlashScales_ac",'
    '"OffChipFlashFeatureMap_ac","OffChipFlashWeights_read","OffChipFlashScales_read"'
)
_GOOD = [
    _table("perf", _PERF, '"1","MaxPool","100","100","50","0"', '"2","Conv2D","2208","300","10","2208"'),
    _table("perf_debug", _DETAIL, '"1","","","","0","",""', '"2","","2048","160","3","2048","160"'),
    _table("queue", '"offset","cmdstream_id","scheduled_id"', '"{first}","1","1"', '"{last}","1","2"'),
]


def _database() -> str:
    kernels = [op.at for op in LATE_WEIGHTS.operations if op.is_kernel]
    return "".join(_GOOD).format(first=4 * kernels[5], last=4 * kernels[7])


def test_figures_of_a_layer_are_shared_by_its_kernels() -> None:
    costs = velas_costs(_database(), LATE_WEIGHTS.operations, FLASH)
    assert sorted(costs) == list(range(8))
    assert sum(costs[i].cycles for i in range(6)) == pytest.approx(100)
    assert costs[0] == costs[5] and costs[6] == costs[7]
    # Half of the layer: 10 cycles of SRAM and 2208 bytes more at 8 a cycle are less than 300 of the kernel.
    assert (costs[6].cycles, costs[6].fetched, costs[6].constants, costs[6].maps) == (1104, 150, 1104, 1.5)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("perf_debug", "other"), "lacks table 'perf_debug'"),
        (('"2","Conv2D"', '"9","Conv2D"'), "says nothing of the kernel at byte"),
        (('"op_cycles"', '"cycles"'), r"has a table of another form \('op_cycles'\)"),
        (('"2208","300"', '"2208","many"'), "has a table of another form"),
    ],
)
def test_databases_of_another_form_are_named(change: tuple[str, str], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        velas_costs(_database().replace(*change), LATE_WEIGHTS.operations, FLASH)


def test_unknown_schedules_are_named() -> None:
    with pytest.raises(UsageError, match="unknown schedule 'shallow'; valid ones: vela, deep"):
        EthosUCompileSpec("ethos-u55-128", schedule="shallow")
    with pytest.raises(UsageError, match="unknown weight_order 'mine'; valid ones: vela, shared"):
        EthosUCompileSpec("ethos-u55-128", weight_order="mine")


def _conv(builder: Builder, x: Tensor, outputs: int, kernel: int) -> Tensor:
    rng, graph = np.random.default_rng(0), builder.graph
    weight = rng.integers(-127, 128, (outputs, kernel, kernel, x.shape[3])).astype(np.int8)
    operands = [
        x,
        graph.constant(weight, DType.INT8),
        graph.constant(rng.integers(-4000, 4000, outputs).astype(np.int32), DType.INT32),
        builder.zero_point(3, DType.INT8),
        builder.zero_point(0, DType.INT8),
    ]
    attrs = {"stride": (1, 1), "dilation": (1, 1), "acc_type": DType.INT32}
    wide = builder.emit("CONV2D", operands, pad=(kernel // 2,) * 4, **attrs)
    return builder.rescale(wide, [0.001] * outputs, DType.INT8)


@pytest.fixture(scope="module")
def tosa() -> bytes:
    """Convolutions over an image of 48x48, which is made small, and two whose weights are larger than their maps."""
    builder = Builder(Graph(), SPEC.tosa_spec)
    x = builder.graph.input("x", (1, 48, 48, 16), DType.INT8)
    for _ in range(3):
        x = _conv(builder, x, 64, 3)
    x = builder.emit("MAX_POOL2D", [x], kernel=(8, 8), stride=(8, 8), pad=(0, 0, 0, 0))
    builder.graph.outputs = [_conv(builder, _conv(builder, x, 200, 1), 32, 3)]
    return serialize(builder.graph, SPEC.tosa_spec)


def _compiled(tosa: bytes, artifacts: Path | None = None, **options: object) -> bytes:
    spec = EthosUCompileSpec("ethos-u55-128", **options)  # type: ignore[arg-type]
    return spec.target().compiler.compile(tosa, {"artifacts": str(artifacts)} if artifacts else {})


def test_the_default_is_velas_schedule(tosa: bytes) -> None:
    assert _compiled(tosa) == _compiled(tosa, schedule="vela")


def test_a_deep_schedule_changes_commands_alone(tosa: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation, "in_parts", lambda *_: [])
    before, after = (payload.unpack(_compiled(tosa, tmp_path, schedule=name)) for name in ("vela", "deep"))
    assert before["cmd_data"].tobytes() != after["cmd_data"].tobytes()
    for name in before.keys() - {"cmd_data"}:
        np.testing.assert_array_equal(before[name], after[name], name)
    made = json.loads((tmp_path / "schedule.json").read_text())
    assert made["fetches"] and 0 < made["estimate_saved_cycles"] < made["estimate_cycles"] and not made["reason"]


def test_the_estimate_is_lower_by_what_is_hidden(tosa: bytes, tmp_path: Path) -> None:
    deep = EthosUCompileSpec("ethos-u55-128", schedule="deep").target()
    before, after = (target.report.estimate(tosa) for target in (SPEC.target(), deep))
    assert deep.compiler.compile_in_detail is not None
    assert not deep.compiler.compile_in_detail(
        tosa, {"artifacts": str(tmp_path)}
    ).layers  # Vela's are of its own schedule
    made = json.loads((tmp_path / "schedule.json").read_text())
    assert after["cycles"] == pytest.approx(made["estimate_cycles"] - made["estimate_saved_cycles"])
    assert after["cycles"] < before["cycles"] and after["sram_kib"] <= before["sram_kib"]


@pytest.mark.parametrize("container", [[], ["--cop-format", "COP2"]])
def test_both_containers(container: list[str], tosa: bytes) -> None:
    before, after = (_compiled(tosa, extra_flags=container, schedule=name) for name in ("vela", "deep"))
    assert len(after) > len(before)


def test_parts_are_taken_where_they_gain(tosa: bytes, tmp_path: Path) -> None:
    """The artifacts are those of the graph that was taken, whose weights fit where those of the whole do not."""
    builder = Builder(Graph(), SPEC.tosa_spec)
    x = builder.graph.input("x", (1, 48, 48, 16), DType.INT8)
    for _ in range(3):
        x = _conv(builder, x, 64, 3)
    x = builder.emit("MAX_POOL2D", [x], kernel=(24, 24), stride=(24, 24), pad=(0, 0, 0, 0))
    builder.graph.outputs = [_conv(builder, _conv(builder, x, 400, 3), 32, 1)]
    large = serialize(builder.graph, SPEC.tosa_spec)
    whole = EthosUCompileSpec("ethos-u55-128").target().report.estimate(large)["cycles"]
    deep = EthosUCompileSpec("ethos-u55-128", schedule="deep").target()
    deep.compiler.compile(large, {"artifacts": str(tmp_path)})
    made = load((tmp_path / "out.tosa").read_bytes())
    assert len([op for op in made.ops if op.name == "CONV2D"]) > 5 and any(op.name == "CONCAT" for op in made.ops)
    assert deep.report.estimate(large)["cycles"] < whole


def test_what_is_not_proved_is_an_error(tosa: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lives, "free", lambda *_: 0)  # so that fetches go where something is in use
    with pytest.raises(ToolError, match=r"schedule 'deep' made a program that is not proved: .*\n?.*report it"):
        _compiled(tosa, schedule="deep")


def test_nothing_to_prefetch_is_said(tosa: bytes) -> None:
    failures = passing.failures()
    with pytest.warns(NothingToPrefetchWarning, match="schedule 'deep' changes nothing: constants are in SRAM"):
        after = _compiled(tosa, memory_mode="Sram_Only", schedule="deep")
    assert after == _compiled(tosa, memory_mode="Sram_Only")
    assert passing.failures() == failures + 1, "so that it is not kept, and said the next time"


def test_a_network_without_large_weights_is_left_alone() -> None:
    builder = Builder(Graph(), SPEC.tosa_spec)
    builder.graph.outputs = [_conv(builder, builder.graph.input("x", (1, 16, 16, 16), DType.INT8), 16, 3)]
    small = serialize(builder.graph, SPEC.tosa_spec)
    with pytest.warns(NothingToPrefetchWarning, match=r"changes nothing: .*(waits for constants|no free SRAM)"):
        made = EthosUCompileSpec("ethos-u55-128", schedule="deep").target().compiler.compile_in_detail
        assert made is not None and (after := made(small, {})).layers
    assert after.payload == _compiled(small)


def test_branches_are_left_alone() -> None:
    commands = b"COP1" + np.array([1, 0, 0, 2 | 3 << 16, 0x4100, 8, 0xFFFF0000], "<u4").tobytes()
    arrays = {"cmd_data": np.frombuffer(commands, np.uint8)}
    made, outcome = prefetched(arrays, FLASH, "u85", lambda *_: {})
    assert made is arrays and outcome.reason == "its command stream is not understood: it branches"


def test_a_schedule_with_something_to_say_is_silent(tosa: bytes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _compiled(tosa, schedule="deep")
