"""What a VGF says of its inputs and outputs, and that they are compared with those of the graph."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arm_tosa_core import UsageError
from arm_tosa_core.exir.payload_ports import check_ports
from arm_tosa_core.plugin.target import Port
from arm_tosa_core.support.errors import MiscompiledError
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.serializer import serialize
from arm_vgf import VgfCompileSpec
from arm_vgf.model_converter import convert
from arm_vgf.vgf_ports import ports

TARGET = VgfCompileSpec().target()


def _graph(*, fewer: int = 0) -> Graph:
    graph = Graph()
    x, y, z = (
        graph.input(name, (2, 3), dtype)
        for name, dtype in zip("xyz", (DType.FP32, DType.FP32, DType.INT8), strict=True)
    )
    made = [
        graph.append("GREATER", [x, y], {}).output,
        graph.append("ADD", [x, y], {}).output,
        graph.append("CAST", [x], {"output_dtype": DType.FP16}).output,
        graph.append("REVERSE", [z], {"axis": 0}).output,
    ]
    graph.outputs = made[fewer:]
    return graph


@pytest.fixture(scope="module")
def vgf() -> bytes:
    return convert(serialize(_graph(), TARGET.tosa_spec))


def test_ports(vgf: bytes) -> None:
    reals, bytes_ = Port((2, 3), 4, "f"), Port((2, 3), 1, "i")
    places = [port.place for found in ports(vgf) for port in found]
    assert places == list(range(len(places)))
    assert tuple([replace(port, place=None) for port in found] for found in ports(vgf)) == (
        [reals, reals, bytes_],
        [Port((2, 3), 1, "b"), reals, Port((2, 3), 2, "f"), bytes_],
    )
    check_ports(_graph(), vgf, TARGET)


def test_another_graph_is_an_error(vgf: bytes) -> None:
    with pytest.raises(MiscompiledError, match="compiler of vgf wrote another program .*: 4 outputs, right are 3"):
        check_ports(_graph(fewer=1), vgf, TARGET)
    other = _graph()
    other.outputs.reverse()
    with pytest.raises(MiscompiledError, match="output 0 has shape .* and BOOL of 1 bytes, right is .* integers"):
        check_ports(other, vgf, TARGET)


def test_what_is_damaged_is_refused(vgf: bytes) -> None:
    with pytest.raises(UsageError, match="model sequence cannot be read"):
        ports(vgf[:128] + b"\xff" * (len(vgf) - 128))
