"""A payload whose inputs or outputs are not those of its graph is an error."""

from __future__ import annotations

import pytest
import target_kit

from arm_tosa_core import TosaCompileSpec
from arm_tosa_core.exir.backend import compiled
from arm_tosa_core.lowering.pipeline import Network
from arm_tosa_core.plugin.target import Port
from arm_tosa_core.support.errors import MiscompiledError
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Origin

_X, _Y = Port((2, 3), 1, "i"), Port((6,), 1)


def _network() -> Network:
    graph = Graph()
    x = graph.input("x", (2, 3), DType.INT8)
    rows = graph.append("TRANSPOSE", [x], {"perms": (1, 0)}).output
    graph.outputs = [rows, graph.append("REVERSE", [rows], {"axis": 0}).output]
    return Network(graph)


@pytest.mark.parametrize(
    ("inputs", "outputs", "problem"),
    [
        ([_X], [_Y, _Y], ""),
        ([_X], [_Y], "1 outputs, right are 2"),
        ([], [_Y, _Y], "0 inputs, right are 1"),
        (
            [Port((2, 3), 4)],
            [_Y, _Y],
            r"input 0 has shape \[2, 3\] and elements of 4 bytes, right is shape \[2, 3\] and integers",
        ),
        ([_X], [_Y, Port((5,), 1)], r"output 1 has shape \[5\] and elements of 1 bytes, right is shape \[3, 2\]"),
        ([_X], [_Y, Port((2, 3), 1)], r"output 1 has shape \[2, 3\]"),
        ([_X], [Port((6,), 1, "b"), _Y], "output 0 has shape .* and BOOL of 1 bytes"),
    ],
)
def test_ports_are_compared(inputs: list[Port], outputs: list[Port], problem: str) -> None:
    target = target_kit.target(
        "theirs", "TOSA-1.0+INT", compile=lambda tosa, _: tosa, ports=lambda _: (inputs, outputs)
    )
    spec = TosaCompileSpec("TOSA-1.0+INT")
    if not problem:
        compiled(_network(), target, spec)
        return
    with pytest.raises(MiscompiledError, match=f"compiler of theirs wrote another program .*{problem}"):
        compiled(_network(), target, spec)


def test_the_error_names_the_source_line_of_the_operator() -> None:
    def compile(tosa: bytes, _: object) -> bytes:
        raise MiscompiledError("theirs", "REVERSE: axis 1, right is 0", tensor="output_2", fix="report it")

    network = _network()
    network.graph.ops[1].origin = Origin("reverse", "aten.flip", "model.py:7, in forward")
    with pytest.raises(MiscompiledError, match=r"axis 1, right is 0 \(from model.py:7, in forward\)\nreport it"):
        compiled(network, target_kit.target("theirs", "TOSA-1.0+INT", compile=compile), TosaCompileSpec("TOSA-1.0+INT"))
