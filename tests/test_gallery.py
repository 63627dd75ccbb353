"""The gallery's data are the committed rows, and its script filters, sorts and pairs them."""

from __future__ import annotations

import configparser
import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import typer

from arm_ethosu.accelerators import DEFAULTS
from arm_tosa_core.cli.main import app
from test_benchmarks import ROW, ROWS
from test_readme import ROOT

sys.path.append(str(ROOT))  # benchmarks is no package that is installed

from benchmarks import cells, gallery, networks
from benchmarks.gallery_networks import TASK_OF, TASKS
from benchmarks.registry import NETWORKS

CELLS = gallery.cells(ROWS)
SCRIPT = ROOT / "docs" / "javascripts" / "gallery.js"


def test_each_figure_is_one_of_the_newest_row() -> None:
    """Each cell has a row of its commit and date, with its figures, and no newer row of the same case has cycles."""
    for cell in CELLS:
        name = cell.network.partition(", ")[0]
        near = [row for row in ROWS if name in row.case.values() and row.side == "ours"]
        near = [row for row in near if row.case.get("context", "") in cell.network]
        of_run = [row for row in near if (row.commit, row.date) == (cell.commit, cell.date)]
        numbers = [float(v) for row in of_run for v in row.metrics.values() if isinstance(v, int | float)]
        known = {round(number / unit, 4) for number in numbers for unit in (1, 1024)}
        for key in ("count", "tensors_kib", "weights_kib", "kept", "left"):
            assert getattr(cell, key) is None or getattr(cell, key) in known, (cell, key)
        if cell.target.startswith("ethos-u"):
            same = [r for r in near if r.case.get("target") == cell.target and "chip" not in r.case]
            same = [r for r in same if r.case.get("scheme", "int8") in _schemes(cell.scheme)]
            same = [r for r in same if r.benchmark in gallery.SOURCES]
            assert cell.date == max(r.date for r in same if gallery.SOURCES[r.benchmark].needs in r.metrics), cell


def _schemes(shown: str) -> Sequence[str]:
    return {"int8": ("int8", "a8w8"), "int16x8": ("a16w8",)}[shown]


def test_a_newer_row_replaces_the_cell() -> None:
    old = next(
        row for row in ROWS if row.benchmark == "ethosu_peers" and row.side == "ours" and "cycles" in row.metrics
    )
    new = replace(old, metrics={"cycles": 5e5, "left": 0}, date="2099-01-01T00:00:00", commit="abcdef0")
    found = gallery.cells([new, *ROWS])
    assert len(found) == len(CELLS)
    (cell,) = [cell for cell in found if cell.commit == "abcdef0"]
    assert (cell.network, cell.target, cell.count) == (old.case["network"], old.case["target"], 5e5)
    assert cell.ms == 1.0 and cell.tensors_kib is None


def test_the_site_has_the_data_where_the_page_looks() -> None:
    spec = importlib.util.spec_from_file_location("site_hooks", ROOT / "docs" / "site_hooks.py")
    assert spec and spec.loader
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    assert hooks.gallery() == gallery.script(ROWS)
    text = (ROOT / "docs" / "gallery.md").read_text()
    wanted = re.findall(r'(?:src|href)="([^"]+)"', text)
    assert hooks.GALLERY in wanted
    assert all((ROOT / "docs" / file).is_file() for file in wanted if file != hooks.GALLERY)
    (place,) = re.findall(r'getElementById\("([^"]+)"\)', SCRIPT.read_text())
    assert text.count(f'id="{place}"') == 1


def test_networks_of_eight_tasks() -> None:
    assert len(TASKS) == 8 and sum(map(len, TASKS.values())) == len(TASK_OF), "a network is of one task"
    assert set(NETWORKS) <= set(TASK_OF)
    names = {cell.network.partition(", ")[0] for cell in CELLS}
    assert len(names) >= 60 and {TASK_OF[name] for name in names} == set(TASKS)
    assert names.isdisjoint(gallery.unmeasured(CELLS)) and names | set(gallery.unmeasured(CELLS)) == set(TASK_OF)


def test_clocks_are_velas() -> None:
    spec = importlib.util.find_spec("ethosu.vela")
    assert spec and spec.origin
    ini = configparser.ConfigParser()
    assert ini.read(Path(spec.origin).parents[1] / "config_files" / "Arm" / "vela.ini")
    for family, defaults in DEFAULTS.items():
        assert float(ini[f"System_Config.{defaults.system_config}"]["core_clock"]) == gallery.CLOCKS[family] * 1e6


@pytest.mark.parametrize("benchmark", gallery.SOURCES)
def test_commands_of_cells_exist(benchmark: str) -> None:
    command = gallery.SOURCES[benchmark].command
    module = "llm/large" if benchmark == "llm_large" else benchmark
    sources = [*(ROOT / "benchmarks").glob(f"{module}.py"), ROOT / "benchmarks" / module / "__main__.py"]
    assert (
        benchmark == "cells"
        or f"benchmarks.{module.replace('/', '.')}" in command
        or f"nox -s bench-{benchmark}" in command
    )
    for option in re.findall(r" (--\w+)", command) if benchmark != "cells" else ():
        text = sources[0].read_text()
        shared = "networks=" if "parser_of(" in text else ""  # of benchmarks.registry, which has others by name
        assert f'"{option}"' in text or (shared and f"{option[2:]}=" in text + shared), option


def test_commands_of_cells_are_those_of_the_compiler() -> None:
    assert isinstance(networks.ds_cnn()[0], torch.nn.Module)
    row = replace(ROW, benchmark="cells", case={"network": "ds_cnn", "target": "ethos-u55-64", "scheme": "int8"})
    point = {"figures": {"cycles": 7e4, "ms": 0.25, "on_cpu": 0, **dict.fromkeys(_BYTES, 2048), "flash_bytes": None}}
    group: Any = typer.main.get_command(app)
    for case, target in (({}, "ethos-u55-64"), ({"chip": "himax-we2"}, "himax-we2 (ethos-u55-64)")):
        (cell,) = gallery.cells([replace(row, case=row.case | case, metrics=cells.figures(point))])
        found = (cell.target, cell.count, cell.ms, cell.clock_mhz, cell.tensors_kib, cell.weights_kib)
        assert found == (target, 7e4, 0.25, 280, 2, 2)
        program, name, *words = shlex.split(cell.command)
        context = group.commands[name].make_context(name, words)
        assert program == "arm-tosa" and context.params["chip" if case else "target"] == target.partition(" (")[0]
    assert cells.figures({"error": "no rule"}) == {"error": "no rule"}


_BYTES = ("tensors_bytes", "constants_bytes", "sram_bytes")


def test_the_script_filters_sorts_and_pairs() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    asked = {
        "some": "cells.filter(c => g.matches(c, {task: 'vision', target: 'ethos-u85-256', text: 'MobileNet int8'}))",
        "least": "g.ordered(cells.filter(c => c.target === 'ethos-u55-128'), 'tensors_kib', false)",
        "most": "g.ordered(cells.filter(c => c.target === 'ethos-u55-128'), 'tensors_kib', true)",
        "pairs": "g.sideBySide(cells, 'mobilenet_v2', 'resnet8')",
        "targets": "g.choices(cells, 'target')",
        "shown": "[g.shown(undefined, 1), g.shown(1234567, 0), g.shown(0.00164, 3), g.shown(0, 1), g.shown(2.5, 3)]",
    }
    program = f"const g = require({json.dumps(str(SCRIPT))});\n{gallery.script(ROWS)}const cells = GALLERY.cells;"
    program += f"console.log(JSON.stringify({{{', '.join(f'{key}: {text}' for key, text in asked.items())}}}));"
    done = subprocess.run([node, "-"], input=program, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    names = {cell["network"] for cell in found["some"]}
    assert names == {"mobilenet_v1_025", "mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large"}
    here = sorted(c.tensors_kib for c in CELLS if c.target == "ethos-u55-128" and c.tensors_kib is not None)
    lacking = sum(c.target == "ethos-u55-128" and c.tensors_kib is None for c in CELLS)
    for order, wanted in (("least", here), ("most", here[::-1])):
        assert [cell.get("tensors_kib") for cell in found[order]] == wanted + [None] * lacking
    assert len(found["pairs"]) >= 11
    assert all(a["target"] == b["target"] and a["scheme"] == b["scheme"] for a, b in found["pairs"])
    assert {(a["network"], b["network"]) for a, b in found["pairs"]} == {("mobilenet_v2", "resnet8")}
    assert found["targets"].index("ethos-u55-64") < found["targets"].index("ethos-u55-128")
    assert found["shown"] == ["–", "1,234,567", "0.00164", "0.0", "2.500"]


def test_the_page_in_a_browser(tmp_path: Path) -> None:
    """By keyboard alone, and on a phone's width."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium and chromium-driver are not installed")
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    for file in (SCRIPT, ROOT / "docs" / "stylesheets" / "gallery.css"):
        (tmp_path / file.parent.name).mkdir()
        shutil.copy(file, tmp_path / file.parent.name)
    (tmp_path / "javascripts" / "gallery_data.js").write_text(gallery.script(ROWS))
    html = re.findall(r"^<.*>$", (ROOT / "docs" / "gallery.md").read_text(), re.MULTILINE)
    (tmp_path / "page.html").write_text(
        "<!doctype html><meta name=viewport content=width=device-width>" + "".join(html)
    )
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        phone = {"width": 375, "height": 800, "deviceScaleFactor": 1, "mobile": True}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
        browser.get((tmp_path / "page.html").as_uri())

        def see(script: str) -> Any:
            return browser.execute_script(f"const all = (at) => [...document.querySelectorAll(at)]; return {script}")

        assert browser.get_log("browser") == []
        assert see("document.documentElement.scrollWidth") <= 375
        keys = webdriver.Keys
        words, cycles = browser.find_elements("css selector", "input, th[data-key=count] button")
        words.send_keys("mobilenet int8")
        shown = "all('table.gallery:not(.pairs) tbody tr:not(.command) td:first-child').map(e => e.firstChild.data)"
        networks = [c.network for c in CELLS if c.target == "ethos-u55-128" and "mobilenet" in c.network]
        assert sorted(see(shown)) == sorted(networks)
        cycles.send_keys(keys.ENTER)
        cycles.send_keys(keys.ENTER)
        counts = {c.network: c.count for c in CELLS if c.target == "ethos-u55-128" and c.scheme == "int8"}
        assert see(shown) == sorted(networks, key=lambda name: counts[name] or 0, reverse=True)
        assert see("all('[aria-sort]').map(e => e.dataset.key + ' ' + e.ariaSort)") == ["count descending"]
        see("all('.command + tr button, tbody td button')[0].focus()")
        browser.switch_to.active_element.send_keys(keys.SPACE)
        assert see(shown)[0] in see("all('.command:not([hidden])').map(e => e.innerText).join()")
        first, second = browser.find_elements("css selector", "form[aria-label='Two networks'] select")
        first.send_keys("resnet18")
        second.send_keys("resnet8")
        assert "resnet18 / resnet8" in see("all('[role=status]')[1].textContent")
        assert see("all('.pairs tbody tr').length") >= 11
    finally:
        browser.quit()
