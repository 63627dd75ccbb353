"""What a plugin does wrong is told as its own mistake."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import target_kit

from arm_tosa_core.exir.compile_spec import TargetCompileSpec
from arm_tosa_core.exir.target_options import compile_spec_for
from arm_tosa_core.plugin import entry_points as plugins
from arm_tosa_core.plugin.firmware import firmware_of
from arm_tosa_core.plugin.guard import PluginError, guarded
from arm_tosa_core.plugin.target import Target
from arm_tosa_core.support.errors import Rejected, UsageError

WHO = "target 'zeta' (zeta 0.1)"


def fails(*_: object) -> Any:
    raise KeyError("speed")


def refuses(*_: object) -> Any:
    raise UsageError("too small")


@dataclass
class Tool:
    """Such a class is compared by its fields, so that it has no hash."""

    name: str

    def __call__(self, *_: object) -> bytes:
        raise ValueError(self.name)


WRONG: dict[str, tuple[dict[str, Any], Callable[[Target], object], str]] = {
    "compile": (
        {"compile": fails},
        lambda target: target.compiler.compile(b"", {}),
        "compile raised KeyError: 'speed'",
    ),
    "compile that gives a text": (
        {"compile": lambda *_: "payload"},
        lambda target: target.compiler.compile(b"", {}),
        "compile returned str, not bytes",
    ),
    "an object without a hash": (
        {"compile": Tool("fast")},
        lambda target: target.compiler.compile(b"", {}),
        "compile raised ValueError: fast",
    ),
    "ports": ({"ports": fails}, lambda target: target.compiler.ports(b""), "ports raised KeyError: 'speed'"),
    "run": ({"run": fails}, lambda target: target.host.run(b"", []), "run raised KeyError: 'speed'"),
    "a check that raises": (
        {"checks": [fails]},
        lambda target: target.checks[0](None),
        "the check fails raised KeyError",
    ),
    "a check that gives a text": (
        {"checks": [lambda _: "too wide"]},
        lambda target: target.checks[0](None),
        "the check <lambda> returned str, not Rejected or None",
    ),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_mistake_names_the_plugin(kind: str) -> None:
    fields, call, said = WRONG[kind]
    with pytest.raises(PluginError) as caught:
        call(guarded(target_kit.target("zeta", "TOSA-1.0+INT", **fields), WHO))
    assert str(caught.value).startswith(f"{WHO}: {said}")


def test_what_is_right_stays() -> None:
    no = Rejected("too wide")
    target = target_kit.target(
        "zeta", "TOSA-1.0+INT", checks=[lambda _: no, lambda _: None], compile=refuses, run=lambda _, x: x
    )
    made = guarded(target, WHO)
    assert (
        [check(None) for check in made.checks] == [no, None]
        and made.host.run is not None
        and made.host.run(b"", [1]) == [1]
    )
    assert made.compiler.compile is not None
    with pytest.raises(UsageError, match="^too small$"):
        made.compiler.compile(b"", {})
    assert guarded(made, WHO) == made == guarded(target, WHO)


@pytest.mark.parametrize("fields", [{"spec": "TOSA"}, {"spec": None}, {"description": None}, {"suffix": 3}])
def test_a_target_that_is_none(fields: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        target_kit.target(**{"name": "zeta", "spec": "TOSA-1.0+INT", **fields})


@pytest.mark.parametrize("key", ["self", "options", "speed"])
def test_options_of_a_target_without_a_compile_spec(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They go to its compiler, whatever they are called."""
    got: dict[str, str] = {}
    target = target_kit.target(
        "zeta", "TOSA-1.0+INT", options=[key], compile=lambda tosa, options: got.update(options) or tosa
    )
    monkeypatch.setattr(plugins, "target", lambda _: target)
    spec = compile_spec_for(target, {key: "x"})
    again = TargetCompileSpec.from_list(spec.to_list())
    assert again == spec
    compile_ = again.target().compiler.compile
    assert compile_ is not None
    compile_(b"", {})
    assert got == {key: "x"}


def test_a_compile_spec_that_is_none() -> None:
    target = target_kit.target("zeta", "TOSA-1.0+INT", compile_spec=lambda: "zeta")
    with pytest.raises(UsageError, match="a compile spec of target 'zeta' is an ArmCompileSpec, not str"):
        compile_spec_for(target, {})


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"checks": fails}, "checks of target 'zeta' is a tuple of functions"),
        ({"rewrites": (fails,)}, "rewrites of target 'zeta' is a tuple of Rewrites"),
        ({"compile": "tool"}, "compile of target 'zeta' is a function, not 'tool'"),
        ({"options": "speed"}, "options of target 'zeta' is a tuple of names, not 'speed'"),
        ({"options": ("speed", 1)}, "options of target 'zeta' is a tuple of names"),
        ({"options": ("name",)}, "an option of target 'zeta' cannot be called 'name'"),
        ({"options": ("artifacts",)}, "an option of target 'zeta' cannot be called 'artifacts'"),
    ],
)
def test_fields_of_another_type_are_told_when_the_target_is_made(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=f"^{problem}"):
        target_kit.target("zeta", "TOSA-1.0+INT", **fields)


@pytest.mark.parametrize("place", ["acme_nowhere:FIRMWARE", "json:FIRMWARE"])
def test_firmware_that_cannot_be_imported(place: str) -> None:
    with pytest.raises(PluginError, match=f"target 'zeta': its firmware '{place}' cannot be imported"):
        firmware_of(target_kit.target("zeta", "TOSA-1.0+INT", firmware=place))
