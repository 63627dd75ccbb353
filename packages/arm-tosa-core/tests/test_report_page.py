"""Reports as pages, opened in Chromium: what they say, that they sort and open, in both themes, without an error."""

from __future__ import annotations

import base64
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from cli_kit import error, needs_page, ok, page_of
from rich.console import Console

from arm_tosa_core.accuracy.compare import Comparison, OperatorError, OutputError
from arm_tosa_core.accuracy.keep import Kept
from arm_tosa_core.accuracy.recipe import Recipe
from arm_tosa_core.accuracy.trials import Attempt
from arm_tosa_core.accuracy.verdict import Verdict
from arm_tosa_core.advice.advise import Advice
from arm_tosa_core.exir.compiled_delegate import CompiledDelegate, Layer, Live
from arm_tosa_core.exir.report import Report, Row
from arm_tosa_core.lowering.analysis_result import CONSTANT
from arm_tosa_core.plugin.timing import OperatorTime, TimeEstimate
from arm_tosa_core.report import page as page_module
from arm_tosa_core.report.page import page
from arm_tosa_core.report.page_data import OTHERS, DelegateTime, Making, page_data
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Origin

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
HERE = str(Path.cwd() / "net.py")


class _Links(HTMLParser):
    """What the elements of a page refer to; the texts of scripts are no elements."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in ("src", "href", "data")]


def _report() -> Report:
    """Four operators in two modules, one of them on the CPU."""
    rows = [
        Row("conv", "aten.conv2d.default", f"{HERE}:3, in forward: a = </script><b>", module="body.0", position=1),
        Row("relu", "aten.relu.default", f"{HERE}:4, in forward: b", module="body.1", inputs=("conv",), position=2),
        Row("add", "aten.add.Tensor", f"{HERE}:6, in forward: d", inputs=("relu", "cdist"), position=4),
    ]
    left = Row("cdist", "aten.cdist.default", f"{HERE}:5, in forward: c", "no rule", "leave it", "", ("relu",), 3)
    layers = [
        Layer("Conv2D", "conv", "aten.conv2d.default", "body.0", "", 600.0, 38400, 5000),
        Layer("Add", "add", "aten.add.Tensor", "", "", 300.0, 0, 700),
        Layer("Copy", "", "", "", "", 100.0, 0, 64),
    ]
    memory = [Live("t1", 2048, 0, 3, 0, "CONV2D", "", "conv"), Live("#9", 1024, 2, 3, 2048)]
    figures = {"cycles": 1000.0, "clock_hz": 1e6, "sram_kib": 3.0, "flash_kib": 1.0, "macs_per_cycle": 128.0}
    return Report("acme", 1, rows, [left], compiled=[CompiledDelegate(figures, memory, layers, memory)])


def _time() -> DelegateTime:
    graph = Graph()
    x = graph.input("x", (1,), DType.INT8)
    result = graph.append("ADD", [x, x], None, Origin("add", "aten.add.Tensor")).output
    operators = [OperatorTime("Add", "", 350.0, "Sram", 300.0, "t7"), OperatorTime("rest", "", 10.0)]
    return DelegateTime(TimeEstimate(360.0, 1e6, "fast memory", operators, (), "Acmec", 300.0), {"t7": result})


def _comparison() -> Comparison:
    def error_of(name: str, sqnr: float) -> OperatorError:
        reach = (-1.0, 1.0)
        return OperatorError(name, "aten.x", "body.0", "", 8, 0.1, reach, reach, 0.01, sqnr, 45.0, [1, 5, 1], reach)

    errors = [error_of("conv", 40.0), error_of("add", float("inf")), error_of("part", 12.5)]
    return Comparison([OutputError("y", 38.0, None), OutputError("z", None, 0.5)], errors, 6, ())


def _data() -> dict[str, Any]:
    report = _report()
    making = Making("net </script> for acme", "arm-tosa compile net.py:make", {"torch": "2"}, {"speed": "high"})
    advice = [Advice("4 channels", "", ("body.0",), "<b>", 0.6, "", 1000.0, 910.0)]
    costs = report, report.figures(5000, 1.5), [_time()]
    return page_data(making, *costs, _comparison(), advice=advice, kept=_kept(), measure="classes <b>")


def _kept() -> Kept:
    def attempt(step: str, value: float, cycles: float) -> Attempt:
        verdict = Verdict(value, 0.9, 0.8, 60, 0.99)
        return Attempt(step, Recipe(), verdict, 100 * value, {"cycles": cycles, "sram_kib": 2.25}, 1.0)

    attempts = [attempt("int8", 0.5, 900.0), attempt("parts", 0.85, 1000.0)]
    program: Any = None
    return Kept(False, True, attempts[1], attempts, {}, program, Recipe(), [])


@pytest.mark.parametrize(("measure", "least", "exact"), [("top1", 0.8, 0.9), ("", pytest.approx(6.99, abs=0.01), None)])
def test_steps_are_a_curve(measure: str, least: float, exact: float | None) -> None:
    """Of the SQNR itself, whose part of the power is kept, the bound is in dB."""
    steps = page_data(Making("", ""), None, None, kept=_kept(), measure=measure)["steps"]
    assert (steps["least"], steps["float"]) == (least, exact)
    row = {"step": "parts", "value": 0.85, "sqnr": 85.0, "cycles": 1000.0, "sram_kib": 2.25, "chosen": True}
    assert steps["rows"][1] == row and steps["says"] == "parts: kept, with 99 % confidence"


def test_costs_and_errors_meet_at_the_operator() -> None:
    rows = {row["node"]: row for row in _data()["operators"]}
    assert list(rows) == ["conv", "relu", "cdist", "add", OTHERS, "part"]
    conv, add = rows["conv"], rows["add"]
    assert (conv["cycles"], conv["share"], conv["utilisation"], conv["bytes"]) == (600.0, 0.6, 0.5, 5000)
    assert (add["model_cycles"], add["bound"], add["utilisation"], add["sqnr"]) == (350.0, "Sram", None, "∞")
    assert (rows[OTHERS]["cycles"], rows[OTHERS]["model_cycles"]) == (100.0, 10.0)
    assert "cycles" not in rows["relu"] and rows["cdist"]["cpu"] and rows["cdist"]["reason"] == "no rule"
    assert sum(row.get("cycles", 0) for row in rows.values()) == 1000
    assert conv["source"].startswith("net.py:3, in forward")


def _estimated() -> Report:
    """The same of a target without a timing model, whose layers another tool rates."""
    report = _report()
    (said,) = report.compiled
    layers = [replace(layer, bound="DRAM" if layer.node == "conv" else "waiting") for layer in said.layers]
    figures = {**said.figures, "dram_kib": 2.0, "dram_read_kib": 3.0, "dram_written_kib": 1.0}
    by = {"cycles_by": "rival", "estimated_by": "rival", "notes": ["no <b>power</b>: install it"]}
    return replace(report, compiled=[replace(said, figures=figures, layers=layers, **by)])


def _estimated_data() -> dict[str, Any]:
    report = _estimated()
    return page_data(Making("net for acme", "arm-tosa compile"), report, report.figures(5000, 1.5))


def test_layers_of_another_tool_say_what_bounds_them() -> None:
    data = _estimated_data()
    rows = {row["node"]: row for row in data["operators"]}
    assert (rows["conv"]["bound"], rows["add"]["bound"], data["timing"]) == ("DRAM", "waiting", None)
    assert list(_estimated().to_dataframe().bound) == ["DRAM", "", "", "waiting"]
    assert data["figures"]["notes"] == ["no <b>power</b>: install it"]
    console = Console(record=True, width=120)
    console.print(_estimated())
    text = console.export_text()
    for name, value in [
        ("cycles, estimated by the rival", "1,000"),
        ("time, estimated", "1.000 ms"),
        ("DRAM, estimated by the rival", "2.0 KiB"),
        ("DRAM traffic, estimated by the rival", "3.0 KiB read, 1.0 KiB written"),
        ("not in these figures", "no <b>power</b>: install it"),
    ]:
        assert re.search(rf"{name} +. {re.escape(value)} ", text), text


def test_a_report_in_python() -> None:
    report = _report()
    rows = report.to_dataframe().set_index("node")
    assert list(rows.index) == ["conv", "relu", "cdist", "add"] and list(rows.delegated) == [True, True, False, True]
    assert rows.cycles["conv"] == 600 and rows.bytes["add"] == 700 and rows.cycles.isna()["relu"]
    assert "<th>cycles, estimated by the compiler</th><td>1,000</td>" in report._repr_html_()
    console = Console(record=True, width=100)
    console.print(report)
    assert "aten.cdist.default stays on the CPU" in (text := console.export_text()) and "no rule" in text


def test_what_keeps_constants_on_the_cpu_is_not_the_reason() -> None:
    rows = [Row("permute", "aten.permute.default", "", CONSTANT.reason), Row("mm", "aten.mm.default", "", "is dynamic")]
    assert "1 of them: is dynamic" in Report("acme", rejected=rows).nothing_delegated()
    assert CONSTANT.reason in Report("acme", rejected=rows[:1]).nothing_delegated()


@needs_page
def test_a_model_is_compiled_with_a_page(folder: Path) -> None:
    ok("compile", "models.py:partial", "--target", "tosa", "-o", "net.pte", "--report", "net.html")
    data = page_of(Path("net.html"))
    assert data["command"].startswith("arm-tosa compile models.py:partial --target tosa")
    assert data["figures"]["cycles"] is None and data["timing"] is None
    assert [row["node"] for row in data["operators"]] == ["mul", "add", "_cdist_forward"]
    assert data["operators"][1]["inputs"] == ["mul"]
    assert {"python", "torch", "executorch", "arm-tosa-core"} <= data["versions"].keys()
    links = _Links()
    links.feed(Path("net.html").read_text())
    assert links.found == []  # nothing comes from elsewhere


def test_a_page_that_cannot_be_written_is_refused_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "none.py").touch()
    compile_ = ("compile", "none.py:make", "--target", "tosa", "-o", "net.pte", "--report")
    assert "the suffix must be .html" in error(*compile_, "net.pdf")
    assert "there is no folder" in error(*compile_, "none/net.html")
    monkeypatch.setattr(page_module, "_SCRIPTS", tmp_path)
    assert "install npm" in error(*compile_, "net.html")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("chromium and chromium-driver are not installed")
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,900"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def _text(browser: Any, selector: str) -> list[str]:
    script = "return [...document.querySelectorAll(arguments[0])].map(node => node.innerText)"
    found: list[str] = browser.execute_script(script, selector)
    return found


def _column(browser: Any, name: str) -> Sequence[Any]:
    """A column of the table of operators, as its rows are shown."""
    script = "return table.getRows('active').map(row => row.getData()[arguments[0]])"
    found: list[Any] = browser.execute_script(script, name)
    return found


def _boxes(browser: Any) -> set[str]:
    return set(browser.execute_script("return network.nodes().map(node => node.id())"))


@needs_page
def test_the_page_in_a_browser(browser: Any, tmp_path: Path) -> None:
    """One page does for all: to open it takes longer than to look at it."""
    (tmp_path / "page.html").write_text(page(_data()), encoding="utf-8")
    pictures = []
    for theme in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": theme}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        browser.get((tmp_path / "page.html").as_uri())
        assert browser.execute_script("return document.documentElement.dataset.drawn") == "yes"
        pictures.append(base64.b64decode(browser.get_screenshot_as_base64()))
        (tmp_path / f"{theme}.png").write_bytes(pictures[-1])
    assert browser.get_log("browser") == []
    background = "return getComputedStyle(document.body).backgroundColor"
    assert pictures[0] != pictures[1] and browser.execute_script(background) == "rgb(20, 24, 29)"
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 1280
    cut = "e => e.scrollWidth > e.clientWidth"
    titles = f"return [...document.querySelectorAll('.tabulator-col-title')].filter({cut}).map(e => e.textContent)"
    assert browser.execute_script(titles) == []

    assert _text(browser, "h1") == ["net </script> for acme"]
    cards = dict(zip(_text(browser, ".cards dt"), _text(browser, ".cards dd"), strict=True))
    assert cards["operators on the CPU"].startswith("1") and cards["inferences per second"].startswith("1,000.0")
    assert cards["cycles"] == "1,000\nan estimate of the target's compiler"
    assert "no rule" in _text(browser, "#cpu")[0] and "net.py:5" in _text(browser, "#cpu")[0]
    assert _text(browser, "#advice li") == ["`body.0` (<b>) takes 60% of the cycles; 4 channels: -9% (910 cycles)"]
    assert _text(browser, "#steps td")[6:12] == ["parts", "0.8500", "85.0", "1,000", "2.3", "chosen"]
    assert "#9" in _text(browser, "#memory-0")[0] and "arm-tosa compile net.py:make" in _text(browser, "#making")[0]

    # On paper a picture stands for the drawing, and nothing lies on anything else.
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    shown = "return ['graph', 'graph-printed'].map(id => getComputedStyle(document.getElementById(id)).display)"
    assert browser.execute_script(shown) == ["none", "block"]
    assert browser.execute_script("return document.getElementById('graph-printed').naturalWidth") > 50
    parts = "[...document.querySelectorAll('#memory-0 .beside > *')]"
    plot, table = browser.execute_script(f"return {parts}.map(e => e.getBoundingClientRect().toJSON())")
    assert plot["bottom"] <= table["top"]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})

    # Sorted by cycles at first; by another column with a click, or the Enter key on its head; filtered.
    assert _column(browser, "node")[:3] == ["conv", "add", OTHERS]
    head = browser.find_element("css selector", '.tabulator-col[tabulator-field="cycles"]')
    head.click()
    assert [value for value in _column(browser, "cycles") if value is not None] == [100, 300, 600]
    head.send_keys("\ue007")
    assert [value for value in _column(browser, "cycles") if value is not None] == [600, 300, 100]
    browser.execute_script("table.setSort('sqnr', 'desc')")
    assert [value for value in _column(browser, "sqnr") if value is not None] == ["∞", 40, 12.5]
    browser.execute_script("table.setHeaderFilterValue('operator', 'conv')")
    assert _column(browser, "node") == ["conv"]

    # The network: all modules are open as it is small; a closed one is one box.
    assert _boxes(browser) == {"f:body", "f:body.0", "f:body.1", "o:conv", "o:relu", "o:cdist", "o:add"}
    browser.execute_script("network.getElementById('f:body').emit('tap')")
    assert _boxes(browser) == {"m:body", "o:cdist", "o:add"}
    graph = browser.find_element("css selector", "#graph")
    assert "body: 2 operators" in _text(browser, "#selected")[0] and "600 cycles" in _text(browser, "#selected")[0]
    graph.send_keys("\ue007")
    assert _boxes(browser) == {"f:body", "m:body.0", "m:body.1", "o:cdist", "o:add"}
    graph.send_keys("n")
    assert "relu: aten.relu.default" in _text(browser, "#selected")[0]
    assert browser.get_log("browser") == []


SCRIPT = "<img src=q onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


@needs_page
def test_the_page_of_a_tool_beside_the_compiler(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(page(_estimated_data()), encoding="utf-8")
    browser.get((tmp_path / "page.html").as_uri())
    assert browser.execute_script("return document.documentElement.dataset.drawn") == "yes"
    cards = dict(zip(_text(browser, ".cards dt"), _text(browser, ".cards dd"), strict=True))
    assert cards["cycles"] == "1,000\nan estimate of the rival" and cards["milliseconds"].startswith("1.000")
    assert cards["DRAM traffic"] == "4.0 KiB\n3.0 KiB read; an estimate of the rival"
    assert "Not in these figures: no <b>power</b>: install it" in _text(browser, "main > p.note")
    (bounds,) = _text(browser, "#bounds > p.note")
    assert bounds.startswith("60.0 % of the cycles are bound by DRAM.") and "estimate of the rival" in bounds
    assert "timing model" not in bounds and "--schedule" not in bounds
    assert "estimate of the rival" in _text(browser, "#operators > p.note")[0]


def _hostile(value: Any) -> Any:
    """The value with a script at the end of each text that may come from a model."""
    if isinstance(value, dict):
        return {key: _hostile(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_hostile(item) for item in value]
    return value + SCRIPT if isinstance(value, str) and value not in ("∞", "") else value


@needs_page
@pytest.mark.parametrize("policy", ["with", "without"])
def test_names_of_a_model_are_no_script(
    browser: Any, policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of the two defences alone: what the page draws are texts, and the browser runs the page's own scripts only.

    A policy that had to stop something says so in the browser's log.
    """
    if policy == "without":
        monkeypatch.setattr(page_module, "security_policy", lambda _scripts: "")
    (tmp_path / "page.html").write_text(page(_hostile(_data())), encoding="utf-8")
    browser.get((tmp_path / "page.html").as_uri())
    assert browser.execute_script("return document.documentElement.dataset.drawn") == "yes"
    title, mouse = browser.title, pytest.importorskip("selenium.webdriver").ActionChains(browser)
    cell = browser.find_element("css selector", '.tabulator-cell[tabulator-field="module"]')
    mouse.move_to_element(cell).pause(0.5).perform()
    assert SCRIPT in _text(browser, ".tabulator-tooltip")[0]
    browser.execute_script("document.querySelector('.tabulator-responsive-collapse-toggle').click()")
    assert SCRIPT in _text(browser, ".below")[0]  # in the node's name, for which the window is too narrow
    browser.execute_cdp_cmd("Page.printToPDF", {})
    assert browser.title == title and title.startswith("net </script> for acme")
    assert browser.execute_script("return document.querySelectorAll('[onerror], [src=q]').length") == 0
    assert browser.get_log("browser") == []


@needs_page
def test_a_narrow_window_keeps_the_important_columns(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(page(_data()), encoding="utf-8")
    browser.set_window_size(800, 900)
    browser.get((tmp_path / "page.html").as_uri())
    shown = "return table.getColumns().filter(column => column.isVisible()).map(column => column.getField())"
    assert {"operator", "cycles", "share"} <= set(browser.execute_script(shown))
    assert "node" not in browser.execute_script(shown)
    assert browser.execute_script("return document.body.scrollWidth <= innerWidth")


@needs_page
def test_a_script_that_gets_into_a_page_does_not_run(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(page(_data()).replace("<main>", f"<main>{SCRIPT}"), encoding="utf-8")
    browser.get((tmp_path / "page.html").as_uri())
    assert browser.execute_script("return document.documentElement.dataset.drawn") == "yes"
    assert browser.title == "net </script> for acme"
    assert sum("Content Security Policy" in line["message"] for line in browser.get_log("browser")) >= 2
