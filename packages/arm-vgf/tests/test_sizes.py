"""Programs with dynamic dimensions: what is delegated, what stays on the CPU and why, and what a payload says."""

from __future__ import annotations

import struct
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from executorch.exir import to_edge_transform_and_lower
from torch.export import Dim, ExportedProgram, export

from arm_tosa_core import lower
from arm_tosa_core.compat.torch_sizes import symbolic_sizes
from arm_tosa_core.exir.report import Report
from arm_tosa_core.plugin.target import Symbol
from arm_tosa_core.support.errors import NothingDelegatedWarning, UsageError
from arm_tosa_core.tosa.specification import TosaSpecification
from arm_vgf import VgfCompileSpec, VgfPartitioner, extract_vgf
from arm_vgf.sizes_block import with_sizes


class Function(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: torch.Tensor) -> Any:
        return self.function(*args)


def exported(function: Callable[..., Any], *inputs: tuple[tuple[int, ...], dict[int, Any]]) -> ExportedProgram:
    tensors = tuple(torch.rand(shape) for shape, _ in inputs)
    return export(Function(function), tensors, dynamic_shapes=(tuple(sizes for _, sizes in inputs),))


N, M = Dim("n", min=1, max=8), Dim("m", min=2, max=9)
BATCH, LENGTH = {0: N}, {1: M}
WEIGHT = torch.rand(4, 4)


def symbols_of(vgf: bytes) -> list[tuple[int, int]]:
    """Least and most of each symbol of a payload; none if its sizes are fixed."""
    if not vgf.endswith(b"ARMSIZE1"):
        return []
    (size,) = struct.unpack_from("<Q", vgf, len(vgf) - 16)
    block, found = vgf[len(vgf) - 16 - size :], []
    (count,), at = struct.unpack_from("<I", block), 4
    for _ in range(count):
        least, most, length = struct.unpack_from("<III", block, at)
        found.append((least, most))
        at += 12 + (length + 3) // 4 * 4
    return found


#: What is delegated whole, and the symbols of the payload.
DELEGATED: dict[str, tuple[ExportedProgram, list[tuple[int, int]]]] = {
    "batch": (exported(lambda x: x.flatten(1).exp(), ((2, 3, 4), BATCH)), [(1, 8)]),
    "attention": (
        exported(lambda x: (x @ x.transpose(1, 2)).softmax(-1) @ x, ((2, 4, 8), LENGTH)),
        [(2, 9)],
    ),
    "batch and length": (
        exported(lambda x: x.view(x.shape[0], x.shape[1], 2, 4).transpose(1, 2).exp(), ((2, 4, 8), BATCH | LENGTH)),
        [(1, 8), (2, 9)],
    ),
    "two inputs": (exported(lambda x, y: x + y, ((2, 3), BATCH), ((2, 3), BATCH)), [(1, 8)]),
    "multiples": (exported(lambda x: x.exp() + 1, ((1, 8), {1: 4 * Dim("k", min=1, max=5)})), [(1, 5)]),
    "one more": (exported(lambda x: torch.cat([x.new_ones(1, 1), x], 1).exp(), ((1, 4), LENGTH)), [(2, 9)]),
    "positions": (exported(lambda x: x + torch.arange(x.shape[1]), ((1, 4), LENGTH)), [(2, 9)]),
    "few": (exported(lambda x: x.exp() @ x.transpose(1, 2), ((2, 3, 4), {0: Dim("n", min=1, max=2)})), [(1, 2)]),
    "half of a weight": (
        exported(lambda x: torch.nn.functional.linear(x, WEIGHT.chunk(2)[0]), ((2, 4, 4), BATCH)),
        [(1, 8)],
    ),
    "without": (exported(lambda x: x.exp(), ((2, 3), {})), []),
}


@pytest.mark.parametrize("flow", ["fast", "ordinary"])
@pytest.mark.parametrize(("program", "symbols"), DELEGATED.values(), ids=DELEGATED)
def test_bounded_sizes_are_delegated(program: ExportedProgram, symbols: list[tuple[int, int]], flow: str) -> None:
    if flow == "fast":
        made = lower(program, "vgf")
        pte, report = made.buffer, made.report
    else:
        partitioner = VgfPartitioner(VgfCompileSpec())
        pte = bytes(to_edge_transform_and_lower(program, partitioner=[partitioner]).to_executorch().buffer)
        assert partitioner.report is not None
        report = partitioner.report
    assert not report.rejected
    (vgf,) = extract_vgf(pte)
    assert symbols_of(vgf) == symbols


#: What stays on the CPU: the operator, and a part of the reason.
REFUSED: dict[str, tuple[ExportedProgram, str, str]] = {
    "mean along it": (
        exported(lambda x: x.exp().mean(1), ((2, 4, 3), LENGTH)),
        "aten.mean.dim",
        "depends on a dynamic size: it has a MUL with constants that have other numbers at other sizes",
    ),
    "half of it": (
        exported(
            lambda x: torch.nn.functional.conv1d(x, torch.ones(3, 3, 1), stride=2),
            ((2, 3, 4), {2: Dim("k", min=3, max=9)}),
        ),
        "aten.convolution.default",
        "has a dynamic shape: dimension 2 of input args_0",
    ),
    "nothing to do": (
        exported(lambda x: (x + 0) * 1.0, ((2, 4, 3), LENGTH)),
        "aten.add.Tensor",
        "depends on a dynamic size, and is what its delegate is given: there is nothing to compute",
    ),
    "no bound": (
        exported(lambda x: x.exp(), ((2, 3), {0: Dim("n", min=1)})),
        "aten.exp.default",
        "has a dynamic shape: dimension 0 of input args_0",
    ),
}


@pytest.mark.parametrize(("program", "operator", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_depends_on_a_size_otherwise_is_refused(program: ExportedProgram, operator: str, reason: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingDelegatedWarning)
        report: Report = lower(program, "vgf").report
    reasons = {row.target: row.reason for row in report.rejected}
    assert reason in reasons[operator]


def test_what_is_left_is_delegated() -> None:
    """Sizes that a region takes from what the CPU made, and the other way round."""
    program = exported(lambda x: x.exp().mean(1).view(x.shape[0], 3, 1).sin(), ((2, 4, 3), BATCH | LENGTH))
    made = lower(program, "vgf")
    assert [row.target for row in made.report.rejected] == ["aten.mean.dim"]
    assert [symbols_of(vgf) for vgf in extract_vgf(made.buffer)] == [[(1, 8), (2, 9)], [(1, 8)]]


#: What PyTorch asks about sizes, or the compiler might; at the example's sizes, the most, the answers are special.
ASKS: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "pointwise after a slice": (lambda x: x[:, 1:] * 2, (2, 9)),
    "difference": (lambda x: torch.diff(x), (2, 9)),
    "gelu after a slice": (lambda x: torch.nn.functional.gelu(x[:, 1:]), (2, 9)),
    "softsign of a part": (lambda x: x[:, 1:] / (1 + x[:, 1:].abs()), (2, 9)),
    "roll of the flat tensor": (lambda x: x.roll(1) + 1, (2, 9)),
    "every second": (lambda x: x[:, ::2] * 2, (2, 9)),
}


@pytest.mark.parametrize("target", ["vgf", TosaSpecification.create_from_string("TOSA-1.0+FP")], ids=["vgf", "tosa"])
@pytest.mark.parametrize("name", ASKS)
def test_no_size_becomes_the_example_s(name: str, target: Any) -> None:
    """The caller's program included."""
    function, shape = ASKS[name]
    program = exported(function, (shape, {1: Dim("t", min=4, max=9)}))
    (size,) = (size for node in program.graph.nodes for size in symbolic_sizes(node)[:1] if node.op == "placeholder")
    before = len(size.node.shape_env.guards), str(program.range_constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingDelegatedWarning)
        made = lower(program, target)
    assert (len(size.node.shape_env.guards), str(program.range_constraints)) == before
    assert "s" not in str(size.node.shape_env.replacements)
    for vgf in extract_vgf(made.buffer) if target == "vgf" and made.report.delegated else ():
        assert symbols_of(vgf) == [(4, 9)]


def test_a_program_that_is_another_at_some_sizes_is_refused() -> None:
    """PyTorch decomposes ``pixel_shuffle`` of multiples of 4 channels alone."""
    program = exported(lambda x: torch.nn.functional.pixel_shuffle(x, 2), ((1, 8, 3, 3), {1: Dim.AUTO(min=4, max=8)}))
    with pytest.raises(UsageError, match=r"becomes another at some of its sizes, by .* another at \w+ = 5: export"):
        lower(program, "vgf")


def test_too_many_sizes_are_refused() -> None:
    program = exported(lambda x: x.exp(), ((2, 4), {0: Dim("a", max=64), 1: Dim("b", max=32)}))
    with pytest.raises(
        UsageError, match=r"sizes have 2\d\d\d combinations, and 1024 is the most.*dimension 1 of input"
    ):
        lower(program, "vgf")


def test_other_targets_refuse_them() -> None:
    with pytest.warns(NothingDelegatedWarning):
        report = lower(DELEGATED["batch"][0], TosaSpecification.create_from_string("TOSA-1.0+FP")).report
    assert not report.delegated
    assert all("dimension 0 of input args_0" in row.reason for row in report.rejected)


def test_the_block_is_behind_the_vgf() -> None:
    vgf = struct.pack("<4s12x2Q", b"VGF1", 32, 5) + b"tableconstants"
    made = with_sizes(vgf, [Symbol("length", 1, 8)], [({"length": 7}, vgf), ({"length": 3}, vgf)])
    assert made.startswith(vgf)
    name = struct.pack("<III", 1, 8, 6) + b"length\0\0"
    samples = b"".join(struct.pack("<II", value, 5) + b"table\0\0\0" for value in (7, 3))
    block = struct.pack("<I", 1) + name + struct.pack("<I", 2) + samples
    assert made[len(vgf) :] == block + struct.pack("<Q", len(block)) + b"ARMSIZE1"
