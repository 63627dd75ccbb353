"""The estimate of whole payloads: its operators are Vela's, and where Vela's formulas hold, so are its cycles."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from timing_streams import convolution, elementwise, stream
from vela_cases import I8, rescale

from arm_ethosu import EthosUCompileSpec
from arm_ethosu.accelerators import ACCELERATORS
from arm_ethosu.command_stream.container import accelerator_of
from arm_ethosu.payload import pack, unpack
from arm_ethosu.vela_layers import read_layers
from arm_tosa_core.plugin.target import Target
from arm_tosa_core.support.errors import ToolError, UsageError
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Origin, Tensor
from arm_tosa_core.tosa.loader import listed_operators
from arm_tosa_core.tosa.serializer import serialize


def _target(accelerator: str, **options: str) -> Target:
    return EthosUCompileSpec(accelerator, **options).target()


def _tosa(target: Target) -> bytes:
    """Two convolutions, of which the first one has a source line."""
    graph = Graph()
    x = graph.input("x", (1, 16, 16, 16), I8)
    for line in ("net.py:7", ""):
        x = _convolution(graph, x, line)
    graph.outputs = [x]
    return serialize(graph, target.tosa_spec, locations=True)


def _convolution(graph: Graph, x: Tensor, line: str) -> Tensor:
    depth = x.shape[3]
    weights = np.random.default_rng(0).integers(-127, 128, (32, 3, 3, depth), dtype=np.int8)
    constants = [
        graph.constant(weights, I8),
        graph.constant(np.zeros(32, np.int32), DType.INT32),
        *[graph.constant(np.zeros(1, np.int8), I8)] * 2,
    ]
    attrs = {"pad": (1, 1, 1, 1), "stride": (1, 1), "dilation": (1, 1)}
    sums = graph.append("CONV2D", [x, *constants], attrs, Origin("", "", line) if line else None).output
    return rescale(graph, sums, I8)


#: The whole to Vela's figure, at least and at most. On Ethos-U65, whose weights here come by DMA, Vela adds to a layer
#: what it takes to bring all its weights, although the stream brings most of them while the layer before runs.
_RATIOS = {"u55": (0.8, 1.2), "u65": (0.5, 1.2), "u85": (0.8, 1.2)}


@pytest.mark.parametrize("accelerator", ACCELERATORS)
def test_operators_are_velas_and_add_up(accelerator: str) -> None:
    target = _target(accelerator)
    assert target.compiler.compile is not None and target.report.timing is not None
    tosa = _tosa(target)
    estimate = target.report.timing(target.compiler.compile(tosa, {}), tosa)
    first, second = estimate.operators
    assert [row.name.split()[0] for row in estimate.operators] == ["Conv2D", "Conv2D"]
    assert (first.source, second.source) == ("net.py:7", "")
    assert sum(row.cycles for row in estimate.operators) == pytest.approx(estimate.cycles)
    assert first.compiler_cycles and second.compiler_cycles and estimate.compiler == "Vela"
    assert estimate.compiler_cycles == first.compiler_cycles + second.compiler_cycles
    least, most = _RATIOS[ACCELERATORS[accelerator]]
    assert least < estimate.cycles / estimate.compiler_cycles < most
    assert {span.unit for span in estimate.spans} >= {"NPU MAC", "NPU output stage"}


@pytest.mark.parametrize("accelerator", ["ethos-u55-128", "ethos-u85-256"])
def test_a_single_layer_takes_velas_cycles_exactly(accelerator: str) -> None:
    target = _target(accelerator, memory_mode="Sram_Only")
    assert target.compiler.compile is not None and target.report.timing is not None
    graph = Graph()
    graph.outputs = [_convolution(graph, graph.input("x", (1, 16, 16, 16), I8), "")]
    tosa = serialize(graph, target.tosa_spec)
    estimate = target.report.timing(target.compiler.compile(tosa, {}), tosa)
    assert int(estimate.cycles) == estimate.compiler_cycles


def test_without_a_graph_there_are_no_operators_and_the_payload_says_its_accelerator() -> None:
    big = _target("ethos-u55-256")
    assert big.compiler.compile is not None and big.report.timing is not None
    payload = big.compiler.compile(_tosa(big), {})
    small = _target("ethos-u85-128")
    assert small.report.timing is not None
    other, own = small.report.timing(payload, None), big.report.timing(payload, None)
    assert other == own and not own.operators and own.compiler_cycles is None
    assert own.system == "Ethos_U55_High_End_Embedded, Shared_Sram"


def test_a_slower_memory_takes_longer() -> None:
    tosa = _tosa(_target("ethos-u55-128"))
    cycles = {}
    for config in ("Ethos_U55_High_End_Embedded", "Ethos_U55_Deep_Embedded"):
        target = _target("ethos-u55-128", system_config=config)
        assert target.compiler.compile is not None and target.report.timing is not None
        cycles[config] = target.report.timing(target.compiler.compile(tosa, {}), None).cycles
    assert cycles["Ethos_U55_Deep_Embedded"] > cycles["Ethos_U55_High_End_Embedded"]


def test_a_graph_that_is_not_the_payloads_gives_no_operators() -> None:
    target = _target("ethos-u55-128")
    assert target.compiler.compile is not None and target.report.timing is not None
    graph = Graph()
    graph.outputs = [_convolution(graph, graph.input("x", (1, 16, 16, 16), I8), "")]
    other = serialize(graph, target.tosa_spec)
    assert not target.report.timing(target.compiler.compile(_tosa(target), {}), other).operators


def test_what_is_no_payload_is_named() -> None:
    timing = _target("ethos-u55-128").report.timing
    assert timing is not None
    with pytest.raises(UsageError, match="EthosU payload"):
        timing(b"nothing", None)
    arrays = unpack(_payload())
    with pytest.raises(UsageError, match="the command stream"):
        timing(pack({**arrays, "cmd_data": np.zeros(8, np.uint8)}), None)


def _payload() -> bytes:
    target = _target("ethos-u55-128")
    assert target.compiler.compile is not None
    return target.compiler.compile(_tosa(target), {})


@pytest.mark.parametrize(
    ("words", "accelerator"),
    [
        ([0x31504F43, 1, 0x1807, 0, 2], "ethos-u55-128"),
        ([0x31504F43, 5, 1, 0x10006009, 0, 2], "ethos-u65-512"),
        ([0x32504F43, 1, 0, 0, 1, 0, 0, 0x4D554556, 1, 20, 0x2000000B], "ethos-u85-2048"),
        ([0x31504F43, 1, 0x1802, 0, 2], None),  # 4 MACs
        ([0x31504F43, 1, 0x50001807, 0, 2], None),  # another product
        ([0x31504F43, 2], None),
        ([], None),
    ],
)
def test_a_stream_says_its_accelerator(words: list[int], accelerator: str | None) -> None:
    data = np.frombuffer(struct.pack(f"<{len(words)}I", *words), np.uint8)
    assert accelerator_of(data) == accelerator


_XML = """<debug><table name="source"><![CDATA[
"id","operator","ext_key"
7,"Conv2D",3
]]></table><table name="perf"><![CDATA[
"id","source_id","operator","name","op_cycles"
20,7,"Conv2D","t1","100"
21,9,"Add","t2","50"
]]></table><table name="queue"><![CDATA[
"offset","cmdstream_id","optimised_id","scheduled_id"
{first},1,1,20
{second},1,1,21
]]></table></debug>"""


def test_kernels_belong_to_the_layer_whose_last_command_is_next() -> None:
    data = stream(convolution(), convolution(), elementwise())
    ends = [len(stream(convolution(), convolution())) - 12, len(data) - 12]
    layers = read_layers(_XML.format(first=ends[0], second=ends[1]), data)
    assert layers.kernels == (0, 0, 1)
    assert [(layer.kind, layer.result, layer.cycles, layer.tosa) for layer in layers.layers] == [
        ("Conv2D", "t1", 100.0, 3),
        ("Add", "t2", 50.0, None),
    ]


def test_a_database_of_another_form_is_an_error() -> None:
    with pytest.raises(ToolError, match="lacks 'queue'"):
        read_layers(_XML.format(first=0, second=0).replace("queue", "other"), stream(convolution()))


def test_operators_are_listed_with_constants_and_lines() -> None:
    listed = listed_operators(_tosa(_target("ethos-u55-128")))
    assert ("CONV2D", "net.py:7") in [(row.name, row.source) for row in listed]
    assert sum(row.name == "CONST" for row in listed) > 0 and len({row.tensor for row in listed}) == len(listed)
