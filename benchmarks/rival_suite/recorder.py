"""A pytest plugin that starts every test from one seed and writes down how it ended.

Each outcome goes as a line of JSON into the file that ``RIVAL_SUITE_RECORDS`` names.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

_MARKERS = ("flaky(reruns)", "tosa_ref_model", "slow", "xlarge")
#: How a test ends that fetches trained weights where there is no network, or a service that asks who is there.
_FETCHES = ("urllib.error.", "requests.exceptions.", "httpx.", "huggingface_hub.", "OSError: We couldn't connect")


def pytest_configure(config: pytest.Config) -> None:
    for marker in _MARKERS:
        config.addinivalue_line("markers", marker)
    if importlib.util.find_spec("torchvision"):
        _with_torchvision()


def _with_torchvision() -> None:
    """Loads PyPI's, which has its operators for CUDA only; its networks keep the weights that they drew."""
    for name in ("nms", "qnms"):
        with contextlib.suppress(RuntimeError):
            torch.library.define(f"torchvision::{name}", "(Tensor boxes, Tensor scores, float threshold) -> Tensor")
    from torchvision.models import WeightsEnum

    class Untrained(dict[str, torch.Tensor]):
        pass

    load = torch.nn.Module.load_state_dict

    def load_state_dict(module: torch.nn.Module, state: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        return None if isinstance(state, Untrained) else load(module, state, *args, **kwargs)

    torch.nn.Module.load_state_dict = load_state_dict  # type: ignore[method-assign]
    WeightsEnum.get_state_dict = lambda *_, **__: Untrained()


def pytest_runtest_setup(item: pytest.Item) -> None:
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "teardown" or (report.when == "setup" and report.passed):
        return
    expected = getattr(report, "wasxfail", None)
    outcome, why = report.outcome, ""
    if "XPASS" in str(report.longrepr):
        outcome, expected = "passed", "strictly"
    elif expected is not None and outcome == "skipped":
        outcome, why = "left out", "the rival expects it to fail"
    elif outcome == "skipped":
        outcome, why = "left out", str(report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr)
    elif outcome == "failed":
        crash = getattr(report.longrepr, "reprcrash", None)
        why = crash.message if crash else str(report.longrepr)
        if why.startswith(_FETCHES):
            outcome, why = "left out", "fetches trained weights"
    record = {
        "test": report.nodeid,
        "outcome": outcome,
        "why": why.removeprefix("Skipped: ").removeprefix("left out: "),
        "expected_to_fail": expected is not None,
        "seconds": round(report.duration, 2),
    }
    with Path(os.environ["RIVAL_SUITE_RECORDS"]).open("a") as file:
        file.write(json.dumps(record) + "\n")
