"""Programs of varying sizes with operators that give a list of views run at all sizes in ExecuTorch's own flow."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from executorch.exir import to_edge_transform_and_lower

from arm_tosa_core import TOSAPartitioner
from arm_tosa_core.flow.lowered import compile_spec_of

pytest.importorskip("arm_runtime", reason="programs run on the C++ runtime")

LISTS: dict[str, Callable[[torch.Tensor], object]] = {
    "split": lambda x: x.split(3, -1)[1] * 2,
    "split, axis not given": lambda x: x.transpose(0, 1).split(2)[1] * 2,
    "sizes": lambda x: tuple(part + 1 for part in x.split([1, 4], dim=1)),
    "chunk": lambda x: x.chunk(2, 3),
    "all": lambda x: sum(x.unbind(1)),
    "one, twice": lambda x: (x.unbind(-2)[2].relu(), x.unbind(-2)[2]),
}


@pytest.mark.parametrize("target", ["vgf", "ethos-u55-128"])
@pytest.mark.parametrize("name", LISTS)
def test_sizes_are_left(name: str, target: str) -> None:
    from executorch.runtime import Runtime

    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> object:
            return LISTS[name](x)

    sizes = ({0: torch.export.Dim("batch", min=1, max=4)},)
    program = torch.export.export(Net(), (torch.randn(4, 5, 6, 8),), dynamic_shapes=sizes)
    partitioner = TOSAPartitioner(compile_spec_of(target))
    edge = to_edge_transform_and_lower(program, partitioner=[partitioner])
    assert target != "vgf" or partitioner.report.delegated
    buffer = bytes(edge.to_executorch().buffer)  # which ExecuTorch's runtime does not keep
    method = Runtime.get().load_program(buffer).load_method("forward")
    for batch in (4, 1, 3):
        x = torch.randn(batch, 5, 6, 8)
        wanted = Net()(x)
        results = wanted if isinstance(wanted, tuple) else (wanted,)
        for made, eager in zip(method.execute([x]), results, strict=True):
            torch.testing.assert_close(made, eager)
