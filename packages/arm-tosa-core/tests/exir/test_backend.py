"""A delegate's payload: valid TOSA, the same bytes each time, and errors that name the operator."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from executorch.exir import EdgeCompileConfig, to_edge
from flow_kit import Net, export, lower, quantize

from arm_tosa_core import LoweringError, TOSABackend, TosaCompileSpec, TosaSpecification, UsageError
from arm_tosa_core.exir.backend import backend_class
from arm_tosa_core.exir.pte import delegates
from arm_tosa_core.tosa.reference_model import validate

X = torch.randn(1, 4, 8, 8, generator=torch.Generator().manual_seed(0))


class Sorted(Net):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x).cummax(-1).values


def network(net: Net, x: torch.Tensor) -> torch.Tensor:
    return net.conv2(torch.relu(net.conv(x)))


def test_the_payload_in_the_pte_is_valid_tosa() -> None:
    lowered = lower(quantize(Net(network), (X,)), "TOSA-1.0+INT")
    (delegate,) = delegates(bytes(lowered.edge.to_executorch().buffer))
    assert (delegate.backend_id, delegate.payload) == ("TOSABackend", lowered.payloads[0])
    validate(delegate.payload, TosaSpecification.create_from_string("TOSA-1.0+INT"))


def test_the_same_program_gives_the_same_bytes() -> None:
    one, two = (lower(quantize(Net(network), (X,)), "TOSA-1.0+INT").payloads for _ in range(2))
    assert one == two


def test_what_was_never_partitioned_is_refused_with_its_source_line() -> None:
    config = EdgeCompileConfig(_check_ir_validity=False)
    program = to_edge(export(Sorted(), (X,)), compile_config=config).exported_program()
    with pytest.raises(
        LoweringError, match=r"(?s)aten.cummax.default.*no rule.*at .*test_backend.py:\d+, in forward: "
    ):
        TOSABackend.preprocess(program, TosaCompileSpec("TOSA-1.0+FP").to_list())


def test_a_spec_of_another_format_is_refused() -> None:
    program = to_edge(export(Net(network), (X,))).exported_program()
    specs = TosaCompileSpec("TOSA-1.0+FP").to_list()
    for item in specs:
        item.value = b"vela" if item.key == "output_format" else item.value
    with pytest.raises(UsageError, match="TosaCompileSpec takes format 'tosa', not 'vela'"):
        TOSABackend.preprocess(program, specs)


def test_a_backend_is_found_by_its_name_or_made() -> None:
    target = TosaCompileSpec("TOSA-1.0+FP").target()
    assert backend_class(target) is TOSABackend
    nobodys = replace(target, compiler=replace(target.compiler, backend_id="NobodysBackend", backend=""))
    made = backend_class(nobodys)
    assert made.__name__ == "NobodysBackend" and backend_class(nobodys) is made
