"""Discovery of targets and rules: what is found, and what a broken or duplicate plugin does to the others."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

import pytest

from arm_tosa_core.plugin import entry_points as plugins
from arm_tosa_core.plugin.entry_points import PluginError, PluginWarning
from arm_tosa_core.plugin.target import Target
from arm_tosa_core.support.errors import UsageError

Install = Callable[..., None]

GOOD = "from arm_tosa_core.plugin.target import Target\ndef make(): return Target(name={name!r}, spec='TOSA-1.0+INT')\n"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a distribution with one module and its entry points; nothing else is visible to discovery."""
    every = metadata.entry_points
    ours = (plugins.TARGETS, plugins.RULES, plugins.CHIPS)
    monkeypatch.setattr(
        metadata,
        "entry_points",
        lambda **kwargs: [
            point
            for point in every(**kwargs)
            if kwargs.get("group") not in ours or str(tmp_path) in str(point.dist.locate_file(""))
        ],
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(distribution: str, code: str, group: str = plugins.TARGETS, **points: str) -> None:
        module = distribution.replace("-", "_")
        (tmp_path / f"{module}.py").write_text(code)
        info = tmp_path / f"{module}-1.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.5\n")
        lines = [f"{name} = {module}{value}" for name, value in points.items()]
        (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]))
        plugins.refresh()

    yield make
    plugins.refresh()


def test_a_target_is_found_by_name_and_imported_only_when_asked_for(install: Install) -> None:
    install("plug-lazy", GOOD.format(name="lazy"), lazy=":make")
    assert plugins.target_names() == ["lazy"]
    assert "plug_lazy" not in sys.modules
    assert plugins.target("lazy") is plugins.target("lazy")
    assert plugins.targets()["lazy"].tosa_spec.support_integer()


BROKEN = {
    "import": ("import no_such_module_xyz\n", "ModuleNotFoundError: No module named 'no_such_module_xyz'"),
    "syntax": ("def make(:\n", "SyntaxError"),
    "attribute": ("x = 1\n", "AttributeError"),
    "raises": ("def make(): raise RuntimeError('no licence')\n", "RuntimeError: no licence"),
    "asserts": ("assert False, 'at import'\n", "AssertionError: at import"),
    "exits": ("raise SystemExit(3)\n", "SystemExit: 3"),
    "wrong_type": ("def make(): return 7\n", "returned int, not a Target"),
    "wrong_name": (GOOD.format(name="other"), "made a target named 'other'"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_plugin_is_a_warning_and_spares_the_others(install: Install, kind: str) -> None:
    code, reason = BROKEN[kind]
    install("plug-good", GOOD.format(name="good"), good=":make")
    install(f"plug-bad-{kind}", code, bad=":make")
    with pytest.warns(PluginWarning) as caught:
        assert list(plugins.targets()) == ["good"]
    (message,) = [str(warning.message) for warning in caught]
    assert f"plug-bad-{kind}" in message and "1.5" in message and "'bad'" in message and reason in message
    with pytest.raises(PluginError, match="is broken"):
        plugins.target("bad")
    states = {row.name: row for row in plugins.providers()}
    assert isinstance(states["good"].target, Target)
    assert reason in str(states["bad"].target)
    assert (states["bad"].distribution, states["bad"].version) == (f"plug-bad-{kind}", "1.5")


def test_two_plugins_with_one_name_are_an_error_that_names_both(install: Install) -> None:
    install("plug-one", GOOD.format(name="same"), same=":make")
    install("plug-between", GOOD.format(name="between"), between=":make")
    install("plug-two", GOOD.format(name="same"), same=":make")
    for ask in (lambda: plugins.target("same"), plugins.targets):
        with pytest.raises(UsageError, match="two plugins provide the target 'same'") as error:
            ask()
        assert "plug-one 1.5" in str(error.value) and "plug-two 1.5" in str(error.value)
    assert plugins.target("between").name == "between"
    assert [row.name for row in plugins.providers()] == ["between", "same", "same"]


def test_an_unknown_name_lists_the_installed_ones(install: Install) -> None:
    install("plug-acme", GOOD.format(name="acme"), acme=":make")
    with pytest.raises(UsageError, match=r"unknown target 'acmee' \(did you mean 'acme'\?\); installed: acme"):
        plugins.target("acmee")


def test_a_name_without_its_size_lists_the_sizes(install: Install) -> None:
    install("plug-acme", GOOD.format(name="acme-32"), **{"acme-32": ":make", "acme-64": ":make", "acmes": ":make"})
    with pytest.raises(UsageError, match=r"'acme' \(did you mean 'acme-32' or 'acme-64'\?\); installed: acme-32"):
        plugins.target("acme")


def test_without_any_target_it_says_what_to_install(install: Install) -> None:
    plugins.refresh()
    with pytest.raises(UsageError, match="no target is installed; for example: pip install .*arm-ethosu"):
        plugins.target("acme")


CHIP = (
    "from arm_tosa_core.plugin.chip import Chip\n"
    "def make(): return [Chip(name={name!r}, title='One', target={target!r})]\n"
)


def test_a_chip_is_found_by_its_name(install: Install) -> None:
    install("plug-npu", GOOD.format(name="npu"), npu=":make")
    install("chip-first", CHIP.format(name="one-hp", target="npu"), group=plugins.CHIPS, any_name=":make")
    assert plugins.chip("one-hp").target == "npu" and list(plugins.chips()) == ["one-hp"]
    for asked, message in (
        ("one-pp", r"unknown chip 'one-pp' \(did you mean 'one-hp'\?\); `arm-tosa chips` lists all"),
        ("one", r"did you mean 'one-hp'"),
        ("", r"unknown chip ''; `arm-tosa chips` lists all$"),
        ("npu", "'npu' is a target, not a chip: give --target npu"),
    ):
        with pytest.raises(UsageError, match=message):
            plugins.chip(asked)
    with pytest.raises(
        UsageError, match=r"unknown target 'one-hp' \(it is a chip: give --chip one-hp, --chips to compare, or"
    ):
        plugins.target("one-hp")


BROKEN_CHIPS = {
    "raises": BROKEN["raises"],
    "exits": BROKEN["exits"],
    "not a list": ("def make(): return 7\n", "TypeError"),
    "not a chip": ("def make(): return ['one']\n", "its factory made str, not a Chip"),
    "name of a target": (CHIP.format(name="npu", target="npu"), "a target is called 'npu', too"),
    "no such target": (CHIP.format(name="one", target="gone"), "for the target 'gone', which is not installed"),
    "no such option": (
        "from arm_tosa_core.plugin.chip import Chip\n"
        "def make(): return [Chip(name='one', title='One', target='npu', options={'speed': 7})]\n",
        "options of chip 'one' are texts",
    ),
}


@pytest.mark.parametrize("kind", BROKEN_CHIPS)
def test_a_broken_chip_spares_the_others(install: Install, kind: str) -> None:
    code, reason = BROKEN_CHIPS[kind]
    bad = f"chip-bad-{list(BROKEN_CHIPS).index(kind)}"
    install("plug-npu", GOOD.format(name="npu"), npu=":make")
    install("chip-good", CHIP.format(name="good", target="npu"), group=plugins.CHIPS, chips=":make")
    install(bad, code, group=plugins.CHIPS, chips=":make")
    assert list(plugins.chips()) == ["good"]
    rows = {row.distribution: row for row in plugins.chip_providers()}
    assert reason in str(rows[bad].chip) and f"{bad} 1.5" in str(rows[bad].chip)
    with pytest.raises(UsageError, match="unknown chip 'better'.*and says which packages of chips are broken"):
        plugins.chip("better")


def test_two_chips_of_one_name_are_an_error_that_names_both(install: Install) -> None:
    install("plug-npu", GOOD.format(name="npu"), npu=":make")
    for distribution, name in (("chip-a", "same"), ("chip-b", "same"), ("chip-c", "other")):
        install(distribution, CHIP.format(name=name, target="npu"), group=plugins.CHIPS, chips=":make")
    assert list(plugins.chips()) == ["other"]
    with pytest.raises(PluginError, match="the chip 'same': chip-a 1.5 and chip-b 1.5; uninstall one"):
        plugins.chip("same")


def test_rules_are_imported_once_and_broken_ones_are_warned_of(install: Install, tmp_path: Path) -> None:
    count = tmp_path / "count"
    install("rules-good", f"open({str(count)!r}, 'a').write('x')\n", group=plugins.RULES, good="")
    install("rules-bad", "1 / 0\n", group=plugins.RULES, bad="")
    with pytest.warns(PluginWarning, match=r"rules-bad 1.5 .*ZeroDivisionError.*operators were left out"):
        assert [module.__name__ for module in plugins.rule_modules()] == ["rules_good"]
    plugins.rule_modules()
    assert count.read_text() == "x" and plugins.rules_left_out()
    plugins.refresh()
    assert not plugins.rules_left_out()


def test_a_plugin_corrected_in_place_is_seen_at_once(install: Install, tmp_path: Path) -> None:
    install("plug-fixed", GOOD.format(name="right"), wrong=":make")
    with pytest.raises(PluginError, match="made a target named 'right'"):
        plugins.target("wrong")
    points = tmp_path / "plug_fixed-1.5.dist-info" / "entry_points.txt"
    points.write_text(points.read_text().replace("wrong", "right"))
    plugins.refresh()
    assert plugins.target("right").name == "right"


def test_finding_names_loads_no_torch() -> None:
    code = "import sys; from arm_tosa_core.plugin.entry_points import target_names; target_names(); "
    code += "sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
