"""Networks of the field, int8: each is one delegate, and computes what the eager quantized graph does."""

from __future__ import annotations

from pathlib import Path

import pytest

from models import ZOO
from nets import lower_int8, sqnr

#: TOSA has no int64: token ids are narrowed first.
_NARROWING = "dim_order_ops._to_dim_order_copy.default"


@pytest.mark.parametrize("name", ZOO)
def test_one_delegate_without_loss(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    lowered = lower_int8(name, tmp_path, 4, request.config.getoption("--arm-flow"))
    left = lowered.left_outside()
    assert left.pop("delegate") == 1
    assert {operator for operator in left if "quantize_per_tensor" not in operator} <= {_NARROWING}
    eager = sqnr(lowered.exact, lowered.quantized, lowered.samples)
    # Four samples: random weights spread the noise of a single rounding over a whole output.
    assert sqnr(lowered.exact, lowered.compiled, lowered.samples) > eager - 1.5
