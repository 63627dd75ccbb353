"""Fourier transforms with the extension ``fft``: TOSA's own operators for powers of two, valid for tosa-opt."""

from __future__ import annotations

import pytest

from arm_tosa_core import TosaCompileSpec
from arm_tosa_core.testing.case import OpCase
from arm_tosa_core.testing.cases import fourier
from arm_tosa_core.testing.harness import Execution, exported
from arm_tosa_core.testing.test_operators import check_case

_SPEC = TosaCompileSpec("TOSA-1.0+FP+fft")


@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in fourier.CASES])
def test_results(case: OpCase) -> None:
    check_case(case, "fp32", _SPEC.target(), validate=True)


@pytest.mark.parametrize(
    ("name", "operators"),
    [
        ("rfft", ["RFFT2D"]),
        ("rfft2", ["RFFT2D"]),
        ("rfft2/any size", ["CONV2D", "RFFT2D"]),
        ("fft2/matrix", ["FFT2D"]),
        ("fftn/three axes", ["CONV2D", "FFT2D"]),
        ("rfft/any size", ["CONV2D"]),
    ],
)
def test_operators(name: str, operators: list[str]) -> None:
    (case,) = (c for c in fourier.CASES if c.name == name)
    run = Execution(exported(case.module(), case.example(0), _SPEC, "fp32"), _SPEC.target())
    made = {op.name for region in run.regions for op in region.graph.ops}
    assert sorted(made & {"FFT2D", "RFFT2D", "CONV2D"}) == operators  # a product with a constant matrix is a CONV2D
