"""``lower`` of a mapping: one program with several methods, each of which ExecuTorch's runtime finds."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from executorch.runtime import Runtime
from flow_kit import Net, export, quantize
from program_kit import X

from arm_tosa_core import ExecuTorchOptions, UsageError, lower
from arm_tosa_core.exir.pte import delegates


def test_each_method_has_its_delegate_and_report(tmp_path: Path) -> None:
    once = quantize(Net(lambda net, x: torch.relu(net.conv(x))), (X,))
    twice = quantize(Net(lambda net, x: net.conv2(torch.relu(net.conv(x)))), (X,))
    lowered = lower(
        {"once": once, "twice": twice},
        "tosa-int",
        executorch=ExecuTorchOptions(constant_methods={"get_ends": [3, 5], "get_scale": 0.5}),
    )
    lowered.save(tmp_path / "methods.pte")
    assert (tmp_path / "methods.pte").read_bytes() == lowered.buffer
    assert [delegate.method for delegate in delegates(lowered.buffer)] == ["once", "twice"]
    convolutions = {
        name: [row.target for row in report.delegated].count("aten.conv2d.default")
        for name, report in lowered.reports.items()
    }
    assert convolutions == {"once": 1, "twice": 2}
    program = Runtime.get().load_program(lowered.buffer)
    assert program.method_names == {"once", "twice", "get_ends", "get_scale"}
    assert list(program.load_method("get_ends").execute([])) == [3, 5]
    assert list(program.load_method("get_scale").execute([])) == [0.5]


def test_a_method_that_cannot_run_says_why() -> None:
    with torch.library._scoped_library("arm_methods", "DEF") as library:
        library.define("bare(Tensor x) -> Tensor")
        library.impl("bare", lambda x: x + 1, "CompositeExplicitAutograd")
        bare = export(Net(lambda net, x: torch.ops.arm_methods.bare(net.conv(x))), (X,))
        plain = export(Net(lambda net, x: net.conv(x)), (X,))
        with pytest.raises(UsageError, match="arm_methods.bare.default was not delegated: there is no rule"):
            lower({"plain": plain, "bare": bare}, "tosa-fp")


def test_a_mapping_is_checked() -> None:
    program = export(Net(lambda net, x: net.conv(x)), (X,))
    lowered = lower({"one": program, "two": program}, "tosa-fp")
    with pytest.raises(UsageError, match=r"methods one, two: read reports\["):
        _ = lowered.report
    with pytest.raises(UsageError, match="no program in the mapping"):
        lower({}, "tosa-fp")
    with pytest.raises(UsageError, match="integer_io: only for one program"):
        lower({"one": program}, "tosa-fp", integer_io=True)
    assert lower({"forward": program}, "tosa-fp").buffer == lower(program, "tosa-fp").buffer
