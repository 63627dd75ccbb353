"""The pytest plugin of the kit: ``--arm-target`` and its options."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("arm-tosa", "Arm TOSA conformance kit")
    group.addoption("--arm-target", default="tosa", help="target for the operator cases; see: arm-tosa targets")
    group.addoption("--arm-validate", action="store_true", help="have tosa-opt judge each graph (slower)")
    group.addoption(
        "--arm-flow",
        choices=("fast", "ordinary"),
        default="fast",
        help="ordinary: also lower each case through ExecuTorch, and compare bit for bit (much slower)",
    )
