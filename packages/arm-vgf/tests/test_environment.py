"""``VgfCompileSpec.validate_environment``: what is missing is said with what to do."""

from __future__ import annotations

import pytest

from arm_tosa_core.plugin.health import Finding
from arm_tosa_core.support.errors import ToolError, UsageError
from arm_vgf import VgfCompileSpec, health

FINE = Finding("model-converter", "ok", "0.11.0", "compiling for VGF")
BAD = Finding("VGF engine", "broken", "no driver", "running VGF", "install a driver")


@pytest.fixture(autouse=True)
def checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "COMPILE", (lambda: FINE,))
    monkeypatch.setattr(health, "HEALTH", (lambda: FINE, lambda: BAD))


def test_compiling_needs_no_engine() -> None:
    report = VgfCompileSpec().validate_environment()
    assert report.ok and report.checks == (FINE,) and not report.failures
    assert report.format() == "model-converter: ok (0.11.0)"
    said = report.to_dict()
    assert (said["mode"], said["ok"]) == ("compile", True)


def test_what_is_broken_is_an_error_with_its_fix() -> None:
    with pytest.raises(ToolError, match=r"(?s)cannot run here: VGF engine: broken \(no driver\).*install a driver"):
        VgfCompileSpec().validate_environment(require_runtime_build=True)


def test_a_build_of_executorch_is_not_needed() -> None:
    with pytest.raises(UsageError, match="build_dir='out'.*require_runtime_build"):
        VgfCompileSpec().validate_environment("out")
