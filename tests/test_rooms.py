"""How often the compiler comes back with a tensor to a subpackage that it had left, from FX node to bytes."""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch
from torch.export import ExportedProgram
from torch.fx import Node

import arm_tosa_core
from arm_ethosu import EthosUCompileSpec, EthosUQuantizer
from arm_tosa_core import get_symmetric_quantization_config
from arm_tosa_core.flow.edge import lower_to_edge
from arm_tosa_core.lowering.values import Value
from arm_tosa_core.testing.harness import export_quantized
from arm_tosa_core.tosa.ir import Op, Tensor

ROOT = Path(arm_tosa_core.__file__).parent
#: Helpers, which every subpackage calls.
HELPERS = frozenset({"support", "compat", "tosa"})


def carries(value: Any, name: str) -> bool:
    """Whether a value is the node of this name, what it was lowered to, or a list of such; copies included."""
    match value:
        case Node():
            return value.name == name
        case Op():
            origin = getattr(value, "origin", None)  # none while it is made
            return origin is not None and origin.node == name
        case Tensor():
            return carries(getattr(value, "producer", None), name)
        case Value():
            return carries(getattr(value, "tensor", None), name)
        case list() | tuple():
            return any(carries(item, name) for item in value if not isinstance(item, (list, tuple)))
    return False


class Visits:
    """Notes, while it is entered, the subpackage of every function that is called with a node among its arguments."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls: list[tuple[str, str]] = []

    def __enter__(self) -> Visits:
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _profile(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(f"{ROOT}/") or code.co_name.startswith("<"):
            return
        room, _, file = code.co_filename.removeprefix(f"{ROOT}/").partition("/")
        count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4)  # *args come after the named ones
        arguments = (frame.f_locals.get(variable) for variable in code.co_varnames[:count])
        if room not in HELPERS and any(carries(argument, self.name) for argument in arguments):
            self.calls.append((room, f"{file}:{code.co_name}"))

    @property
    def rooms(self) -> list[str]:
        """In order of time; calls within one room are one visit."""
        return [room for room, _ in groupby(self.calls, key=lambda call: call[0])]

    @property
    def returns(self) -> int:
        """Visits to a room that had been left before."""
        return len(self.rooms) - len(set(self.rooms))


@pytest.fixture(scope="module")
def program() -> ExportedProgram:
    """Two convolutions with a ReLU between them, int8."""
    torch.manual_seed(0)
    layers = torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Conv2d(4, 4, 3)
    quantizer = EthosUQuantizer(EthosUCompileSpec("ethos-u55-128")).set_global(get_symmetric_quantization_config())
    return export_quantized(torch.nn.Sequential(*layers).eval(), (torch.rand(1, 3, 8, 8),), quantizer)


@pytest.mark.parametrize(("name", "most"), [("conv2d", 5), ("relu", 3), ("quantize_per_tensor_1", 9)])
def test_a_tensor_goes_from_room_to_room_with_few_returns(program: ExportedProgram, name: str, most: int) -> None:
    assert name in {node.name for node in program.graph.nodes}
    with Visits(name) as visits:
        lower_to_edge(program, EthosUCompileSpec("ethos-u55-128"))
    assert {"aten", "lowering", "exir"} <= set(visits.rooms)
    assert visits.returns <= most, " -> ".join(visits.rooms)
