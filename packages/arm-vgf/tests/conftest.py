"""Has the verifier judge graphs between rewrites."""

from collections.abc import Iterator

import pytest

from arm_tosa_core.testing.verified_rewrites import verified_rewrites


@pytest.fixture(autouse=True)
def _verified_rewrites() -> Iterator[None]:
    with verified_rewrites():
        yield
