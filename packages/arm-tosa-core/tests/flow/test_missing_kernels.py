"""Operators that stay on the CPU and that the ExecuTorch installed here has no kernel for."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from flow_kit import Net, export
from program_kit import X
from torch._higher_order_ops.map import map as map_over

from arm_tosa_core import TosaCompileSpec, UsageError, lower
from arm_tosa_core.compat.executorch import operators_with_kernels, registered_kernels
from arm_tosa_core.exir.explain import explain
from arm_tosa_core.exir.pte import read
from arm_tosa_core.exir.pte_runtime import load_method, load_program
from arm_tosa_core.exir.report import Report
from arm_tosa_core.support import foreign
from arm_tosa_core.support.errors import MissingKernelWarning, NothingDelegatedWarning

#: A float program for an integer target: all of it stays on the CPU, so it needs no delegate to load.
CASES: list[tuple[Callable[..., Any], list[str]]] = [
    (lambda net, x: torch.sort(x)[0], ["aten::sort.values"]),
    (lambda net, x: torch.searchsorted(x[0, 0, 0].contiguous(), x), ["aten::searchsorted.Tensor_out"]),
    (lambda net, x: torch.topk(x, 2)[0], []),
    (lambda net, x: x.view(torch.int32), ["aten::view_copy.dtype_out"]),
    (lambda net, x: map_over(lambda row: row.cumprod(0) / row.std(-1, keepdim=True), x), ["aten::cumprod.out"]),
    (lambda net, x: map_over(lambda row: row.cumsum(0) / row.std(-1, keepdim=True), x), []),
    (lambda net, x: x[0, :, :1].squeeze().t(), []),
    (lambda net, x: torch.cumsum(x.view(4, 64).transpose(0, 1), 0).clone()[1:].to(torch.int32), []),
    (lambda net, x: torch.nn.functional.gelu(net.conv(x)).unfold(2, 2, 1), []),
]


@pytest.mark.parametrize(("forward", "lacking"), CASES)
def test_what_has_no_kernel_is_what_does_not_load(forward: Callable[..., Any], lacking: list[str]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lowered = lower(export(Net(forward), (X,)), "tosa-int")
    rows = [row for row in lowered.report.rejected if row.kernel]
    assert [row.kernel for row in rows] == lacking
    said = [str(w.message) for w in caught if w.category is MissingKernelWarning]
    assert len(said) == bool(lacking)
    assert all(text and text in said[0] for row in rows for text in (row.kernel, row.source or row.target, row.fix))
    program = load_program(read(lowered.buffer), "it")
    if lacking:
        with pytest.raises(UsageError, match="cannot load"):
            load_method(program, "forward", "it")
    else:
        load_method(program, "forward", "it")


@pytest.mark.parametrize(
    ("forward", "name"),
    [
        (
            lambda net, x: torch.nn.functional.conv3d(x[:, None], torch.ones(1, 1, 1, 1, 1)),
            r"aten::convolution\.out of more than 4 axes",
        ),
        (lambda net, x: torch.view_as_real(torch.fft.fft(x)), r"aten::_fft_r2c\.out of both halves"),
    ],
)
def test_what_a_kernel_refuses_has_none(forward: Callable[..., Any], name: str) -> None:
    """Such a program loads, and fails when it runs."""
    with pytest.warns(MissingKernelWarning, match=name):
        lowered = lower(export(Net(forward), (X,)), "tosa-int")
    method = load_method(load_program(read(lowered.buffer), "it"), "forward", "it")
    with pytest.raises(RuntimeError, match="failed"):
        method.execute([X])


def test_one_half_of_a_fourier_transform_has_a_kernel() -> None:
    program = export(Net(lambda net, x: torch.view_as_real(torch.fft.rfft(x))), (X,))
    assert not explain(program, TosaCompileSpec("TOSA-1.0+INT")).without_kernels()


def test_explain_says_it_before_anything_is_compiled() -> None:
    program = export(Net(lambda net, x: torch.sort(x)[0]), (X,))
    report = explain(program, TosaCompileSpec("TOSA-1.0+INT"))
    assert [row.kernel for row in report.rejected if row.kernel] == ["aten::sort.values"]
    assert "no kernel for aten::sort.values" in report.without_kernels()
    assert foreign.record(Report, json.loads(json.dumps(report.to_json()))) == report


def test_nothing_is_said_of_what_another_partitioner_took() -> None:
    report = Report("x", rejected=lower_sort().rejected)
    assert report.without_kernels()
    assert not report.with_kernels_of({"aten::add.out"}).without_kernels()


def lower_sort() -> Report:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingDelegatedWarning)
        warnings.simplefilter("ignore", MissingKernelWarning)
        return lower(export(Net(lambda net, x: torch.sort(x)[0]), (X,)), "tosa-int").report


def test_kernels_of_the_libraries_are_named_as_the_runtime_names_them() -> None:
    """The lists in the package, which firmware is judged by, name nothing that the runtime does not have."""
    assert operators_with_kernels() <= registered_kernels()
