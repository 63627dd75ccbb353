"""The lines of ``arm-tosa doctor`` on running VGF."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from arm_tosa_core.support.errors import ToolError
from arm_tosa_core.support.install_advice import from_here
from arm_vgf import health

SAID = {
    "found": (
        "a driver's remark: x\nfound: compute on card (2): no device has both\n",
        ("ok", "compute on card (2): no device has both", ""),
    ),
    "no driver": ("failed: no Vulkan driver: install one\n", ("broken", "no Vulkan driver: install one", "driver")),
    "silence": ("", ("broken", "it said nothing", "driver")),
    "crash": (None, ("broken", "the VGF runtime was killed by signal SIGSEGV", "driver")),
}


@pytest.mark.parametrize("case", SAID)
def test_who_would_run_graphs(monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    said, (state, detail, fix) = SAID[case]

    def run_tool(tool: str, *_: Any, **__: Any) -> str:
        if said is None:
            raise ToolError(tool, "was killed by signal SIGSEGV")
        return said

    monkeypatch.setattr(health, "run_tool", run_tool)
    monkeypatch.setattr(health, "find_spec", lambda name: object())
    found = health._engine()
    assert (found.what, found.state, found.detail) == ("VGF engine", state, detail)
    assert fix in found.fix and bool(found.fix) == bool(fix)


@pytest.mark.parametrize(
    ("folders", "said", "expected"),
    [
        (None, "", ("ok", "not installed", "")),
        (["/p"], "found: layer on card: asked", ("ok", "layer on card: asked", "")),
        (
            ["/p"],
            "failed: the loader does not know it",
            (
                "broken",
                "the loader does not know it",
                "set VK_LAYER_PATH=/p/deploy/share/vulkan/explicit_layer.d",
            ),
        ),
    ],
)
def test_the_emulation_layer(
    monkeypatch: pytest.MonkeyPatch, folders: list[str] | None, said: str, expected: tuple[str, str, str]
) -> None:
    spec = None if folders is None else SimpleNamespace(submodule_search_locations=folders)
    monkeypatch.setattr(health, "run_tool", lambda *_, **__: said)
    monkeypatch.setattr(health, "find_spec", lambda name: spec if name == "emulation_layer" else object())
    found = health._emulation_layer()
    assert (found.state, found.detail, found.fix) == expected


def test_without_the_runtime_the_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "find_spec", lambda name: None)
    found = health._engine()
    assert (found.state, found.fix) == ("missing", from_here("arm-runtime-cpp"))
