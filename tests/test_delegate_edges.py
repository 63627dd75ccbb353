"""What delegates and the CPU hand to each other lies in memory as the reader knows it, in both flows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower
from torch.fx.passes.operator_support import OperatorSupportBase

from arm_tosa_core import ExecuTorchOptions, lower
from arm_tosa_core.testing.case import Apply
from arm_vgf import VgfCompileSpec, VgfPartitioner

CHANNELS_LAST = torch.channels_last
SIGNAL, PICTURE = torch.randn(1, 4, 10), torch.randn(2, 3, 4, 5)
FEW = torch.tensor([[[7], [1], [3]]]).expand(-1, -1, 4).contiguous()
FIRST = torch.zeros(2, 1, 2, 2, dtype=torch.int64)


class OnCpu(OperatorSupportBase):  # type: ignore[misc]  # ExecuTorch is untyped
    def __init__(self, names: Collection[str]) -> None:
        self.names = names

    def is_node_supported(self, submodules: Any, node: torch.fx.Node) -> bool:
        return not any(f".{name}." in str(node.target) for name in self.names)


def readers(turned: torch.Tensor) -> list[torch.Tensor]:
    """Of a signal that a delegate has transposed."""
    beside = torch.ones(1, 10, 4)
    return [
        turned.gather(1, FEW),
        turned.topk(3, 1)[0],
        turned.cumsum(1),
        turned.half().cumsum(2),
        turned > beside,
        torch.cat([turned, beside], 1),
        turned.scatter_add(1, FEW, beside[:, :3]),
        turned.double(),
        turned.reshape(4, 10).cumsum(1),
        turned[:, 1:].cumsum(1),
        turned[0].unbind(1)[1].cumsum(0),
        turned.transpose(1, 2).cumsum(2),
    ]


def pictures(picture: torch.Tensor) -> list[torch.Tensor]:
    """Of a channels_last picture."""
    return [
        picture.gather(1, FIRST),
        picture.topk(2, 1)[0],
        picture[:, 1:].cumsum(1),
        picture + 1,
        picture > 0,
        picture,
    ]


class Written(torch.nn.Module):
    """A buffer that does not lie in memory as its axes follow one another, and that does not start at 0."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.arange(120.0).view(2, 3, 5, 4).transpose(2, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.state.copy_(self.state + x)
        return self.state.cumsum(1)


def _run(buffer: bytes, given: Sequence[torch.Tensor]) -> list[Any]:
    pytest.importorskip("arm_runtime", reason="nox builds arm-runtime-cpp")
    from executorch.runtime import Runtime

    return list(Runtime.get().load_program(buffer).load_method("forward").execute(list(given)))


def fast(program: torch.export.ExportedProgram, checks: list[OperatorSupportBase]) -> bytes:
    return lower(
        program, "vgf", executorch=ExecuTorchOptions(additional_checks=checks), memory_format=torch.preserve_format
    ).buffer


def ordinary(program: torch.export.ExportedProgram, checks: list[OperatorSupportBase]) -> bytes:
    partitioner = VgfPartitioner(VgfCompileSpec(), checks)
    config = EdgeCompileConfig(_check_ir_validity=False)
    edge = to_edge_transform_and_lower(program, partitioner=[partitioner], compile_config=config)
    return bytes(edge.to_executorch().buffer)


ROWS: dict[str, tuple[Any, torch.Tensor, str]] = {
    "transposed": (
        lambda x: readers((x * 2).transpose(1, 2)),
        SIGNAL,
        "gather topk cumsum gt cat scatter_add _to_copy view select slice unbind transpose",
    ),
    "transposed, then back in a delegate": (
        lambda x: ((x * 2).transpose(1, 2).cumsum(1) + (x * 3).transpose(1, 2)).transpose(1, 2) * x,
        SIGNAL,
        "cumsum",
    ),
    "expanded": (lambda x: (x * 2)[:, :, None].expand(-1, -1, 3, -1).cumsum(2), SIGNAL, "cumsum"),
    "channels_last": (
        lambda x: pictures((x * 2).to(memory_format=CHANNELS_LAST)),
        PICTURE,
        "gather topk cumsum add gt",
    ),
    "channels_last input": (pictures, PICTURE.to(memory_format=CHANNELS_LAST), "gather topk cumsum slice gt"),
    "one tensor in memory for two results": (
        lambda x: ((y := x * 2), y.permute(0, 2, 3, 1)),
        PICTURE.to(memory_format=CHANNELS_LAST),
        "no",
    ),
    "an input in memory as a result": (
        lambda x: (x.permute(0, 2, 3, 1), x * 2),
        PICTURE.to(memory_format=CHANNELS_LAST),
        "no",
    ),
    "written": (Written, PICTURE, "cumsum"),
}


@pytest.mark.parametrize(
    ("name", "flow"),
    [*((name, fast) for name in ROWS), ("channels_last", ordinary), ("channels_last input", ordinary)],
)
def test_the_reader_knows_the_memory(name: str, flow: Callable[..., bytes]) -> None:
    net, given, kept = ROWS[name]
    net = net() if isinstance(net, type) else Apply(net)
    program = torch.export.export(net, (given,))
    results = _run(flow(program, [OnCpu(kept.split())]), [given])
    wanted = net(given)
    for result, want in zip(results, [wanted] if isinstance(wanted, torch.Tensor) else wanted, strict=True):
        tolerance = 1e-2 if want.dtype == torch.float16 else 1e-5
        torch.testing.assert_close(result, want, rtol=tolerance, atol=tolerance)


def test_another_partitioner_reads_what_a_delegate_gives() -> None:
    program = torch.export.export(Apply(lambda x: ((x * 2).transpose(1, 2).sigmoid() * 3).sigmoid()), (SIGNAL,))
    lowered = lower(
        program,
        "vgf",
        executorch=ExecuTorchOptions(additional_checks=[OnCpu(["sigmoid"])]),
        remainder=[XnnpackPartitioner()],
    )
    (result,) = _run(lowered.buffer, [SIGNAL])
    torch.testing.assert_close(result, program.module()(SIGNAL))


def test_an_order_of_memory_that_no_kernel_knows_is_left_once() -> None:
    video = torch.randn(1, 2, 2, 3, 2).to(memory_format=torch.channels_last_3d)
    program = torch.export.export(Apply(lambda x: (x.cumsum(1), x + 1)), (video,))
    lowered = lower(
        program,
        "vgf",
        executorch=ExecuTorchOptions(additional_checks=[OnCpu(["cumsum"])]),
        memory_format=torch.preserve_format,
    )
    assert [row.target for row in lowered.report.delegated] == ["aten.add.Tensor"]
