"""What Ethos-U55 has no operation for, said with operations that it has: rows of the conformance kit that it takes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from arm_tosa_core.plugin.entry_points import target as find_target
from arm_tosa_core.testing.case import QUANTIZED, OpCase
from arm_tosa_core.testing.cases import CASES
from arm_tosa_core.testing.harness import delegated, exported
from arm_tosa_core.testing.test_operators import check_case

_TARGET = find_target("ethos-u55-128")
_TAKEN = {
    "index_select/constant": QUANTIZED,
    "index/order of channels": QUANTIZED,
    "index/constants": QUANTIZED,
    "as_strided/windows": QUANTIZED,
    "index_put/constant": QUANTIZED,
    "index_put/constant, channels": QUANTIZED,
    "index_put/repeated": QUANTIZED,
    "pad/reflect 1d": QUANTIZED,
    "pad/reflect 2d": QUANTIZED,
    "pad/reflect 3d": QUANTIZED,
    "flip": QUANTIZED,
    "flip/channels_last": QUANTIZED,
    "flip/vector": QUANTIZED,
    "flip/image": QUANTIZED,
    "flip/matrix": QUANTIZED,
    "grid_sampler/constant, bilinear, zeros": QUANTIZED,
    "grid_sampler/constant, bilinear, border, align_corners": QUANTIZED,
    "grid_sampler/constant, nearest, zeros": QUANTIZED,
    "grid_sampler/constant, of each image": QUANTIZED,
    "argmax/dim": ("int8",),
    "argmax/image": ("int8",),
    "argmax/channels_last": ("int8",),
}
_ROWS = [(case, scheme) for case in CASES for scheme in _TAKEN.get(case.name, ())]


@pytest.mark.parametrize(("case", "scheme"), _ROWS, ids=[f"{case.name}-{scheme}" for case, scheme in _ROWS])
def test_it_is_taken(case: OpCase, scheme: str) -> None:
    check_case(case, scheme, _TARGET)


def test_all_rows_are_there() -> None:
    assert {case.name for case, _ in _ROWS} == _TAKEN.keys()


def test_too_many_indices_are_refused_for_want_of_a_gather() -> None:
    case = OpCase("order", lambda: lambda x: x[:, torch.arange(99).flip(0)], [(2, 99)])
    program = exported(case.module(), case.example(0), _TARGET.compiler.compile_spec(), "int8")
    _, analysis = delegated(program, _TARGET)
    assert any("GATHER: Ethos-U55 and Ethos-U65 have no such operation" in str(w) for w in analysis.rejected.values())


def _at(*shape: int) -> torch.Tensor:
    return torch.rand(1, *shape, len(shape), generator=torch.Generator().manual_seed(0)) * 2.4 - 1.2


def _sampled(x: torch.Tensor, grid: torch.Tensor, mode: str = "bilinear") -> torch.Tensor:
    return F.grid_sample(x, grid, mode, align_corners=False)


@pytest.mark.parametrize("scheme", QUANTIZED)
@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (partial(_sampled, grid=_at(3, 4), mode="bicubic"), (1, 2, 5, 6)),
        (partial(_sampled, grid=_at(2, 3, 4)), (1, 2, 3, 4, 5)),
        (lambda x: _sampled(x, F.affine_grid(torch.eye(2, 3)[None] * 0.8, [1, 1, 4, 4], align_corners=False)),
         (1, 2, 5, 6)),
    ],
)  # fmt: skip
def test_any_sampling_at_constant_positions_is_a_product(
    function: Callable[[torch.Tensor], torch.Tensor], shape: tuple[int, ...], scheme: str
) -> None:
    """Cubic, of volumes, and at positions that are computed from constants."""
    case = OpCase("sampled", lambda: function, [shape])
    check_case(case, scheme, _TARGET)
    (x,) = case.example(0)
    made = exported(case.module(), (x,), _TARGET.compiler.compile_spec(), scheme).module()(x)
    torch.testing.assert_close(made, function(x), rtol=0, atol=0.03 * float(x.abs().max()))


@pytest.mark.parametrize(
    ("function", "side", "quantized_for", "reason"),
    [
        (lambda x: _sampled(x, x.permute(0, 2, 3, 1)), 4, _TARGET.name, "at positions that are not constant: GATHER: "),
        (partial(_sampled, grid=_at(32, 33)), 32, _TARGET.name, "with 1081344 weights, one for each pixel and "
         "position; 1048576 at most: GATHER: "),
        (partial(_sampled, grid=_at(3, 4)), 4, "ethos-u85-256", "was not quantized for this target: GATHER: "),
    ],
)  # fmt: skip
def test_other_sampling_is_refused_with_what_to_do(
    function: Callable[[torch.Tensor], torch.Tensor], side: int, quantized_for: str, reason: str
) -> None:
    case = OpCase("sampled", lambda: function, [(1, 2, side, side)])
    spec: Any = find_target(quantized_for).compiler.compile_spec
    _, analysis = delegated(exported(case.module(), case.example(0), spec(), "int8"), _TARGET)
    (why,) = (w for w in analysis.rejected.values() if "grid_sample" in w.reason)
    assert why.reason.startswith("grid_sample ") and reason in why.reason and why.fix
