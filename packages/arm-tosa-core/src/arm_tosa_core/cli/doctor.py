"""``arm-tosa doctor`` and ``arm-tosa targets``: what works on this machine, who provides it, and what to install."""

from __future__ import annotations

import platform
import sys
from contextlib import suppress
from dataclasses import asdict
from importlib.util import find_spec

from rich.console import Console

from ..plugin import entry_points as plugins
from ..plugin.chip import Chip
from ..plugin.guard import PluginError
from ..plugin.health import TIMEOUT_S, Finding, HealthCheck, KnownVersions, distribution, first_line, tool, version
from ..plugin.target import Target
from ..support.errors import ToolError, UsageError
from ..support.external_tools import run_tool
from ..support.install_advice import from_index
from ..support.runtime_package import RUNTIME, remedy
from .report import Result, say, table


def doctor() -> Result:
    """Say what works on this machine, and what to install for the rest."""
    findings = [check() for check in _CHECKS]
    known: list[HealthCheck] = []
    for row in plugins.providers():
        for check in row.target.host.health if isinstance(row.target, Target) else ():
            if check not in known:  # accelerators share theirs
                known.append(check)
                findings.append(_of_plugin(check, f"{row.distribution} {row.version}"))

    def show(console: Console) -> None:
        columns = ("what", "state", "detail", "needed for", "what to do", "tested", "known to break outside")
        console.print(table("", columns, [tuple(asdict(finding).values()) for finding in findings]))

    return Result([asdict(finding) for finding in findings], show)


def _of_plugin(check: HealthCheck, plugin: str) -> Finding:
    """What a plugin finds; a check that fails is a fault of the plugin."""
    try:
        finding: object = check()
        if isinstance(finding, Finding):
            return finding
        problem = f"a check returned {type(finding).__name__}, not a Finding"
    except Exception as error:
        problem = f"a check raised {type(error).__name__}: {error}"
    return Finding(plugin, "broken", problem, "its targets", "uninstall or repair the plugin")


def _python() -> Finding:
    system = f"{platform.system()} {platform.machine()}".replace("Darwin", "macOS")
    return Finding("Python", "ok", f"{platform.python_version()} on {system}, {sys.executable}", "everything")


def _reference_model() -> Finding:
    """It is fine if it knows that |-1| is 1."""
    import numpy as np

    from ..tosa import reference_model as reference
    from ..tosa.graph import Graph
    from ..tosa.ir import DType
    from ..tosa.serializer import serialize
    from ..tosa.specification import TosaSpecification

    what, needed_for, package = "TOSA reference model", "running .tosa", "tosa-tools"
    graph = Graph()
    graph.outputs = list(graph.append("ABS", [graph.input("x", (1,), DType.FP32)]).outputs)
    tosa = serialize(graph, TosaSpecification.create_from_string("TOSA-1.0+FP"))
    try:
        (result,) = reference.run(tosa, [np.array([-1.0], np.float32)])
    except ToolError as error:
        there = find_spec("tosa_reference_model") is not None
        fix = from_index(package, again=there)
        return Finding(what, "broken" if there else "missing", first_line(error), needed_for, fix)
    if result.tolist() != [1.0]:
        return Finding(what, "broken", f"|-1| is {result.tolist()}", needed_for, from_index(package, again=True))
    return _TOSA_TOOLS.judge(Finding(what, "ok", version(package), needed_for))


def _runtime() -> Finding:
    needed_for = "running .pte and what targets compile"
    if find_spec("arm_runtime") is None:
        return Finding("arm_runtime", "missing", "", needed_for, remedy())
    try:
        # In a process of its own: a runtime that crashes must not take the report with it.
        run_tool("arm_runtime", [sys.executable, "-c", "from arm_runtime import LIBRARY"], timeout=TIMEOUT_S)
    except ToolError as error:
        return Finding("arm_runtime", "broken", first_line(error), needed_for, remedy(again=True))
    return Finding("arm_runtime", "ok", version(RUNTIME), needed_for)


def _targets() -> Finding:
    rows = plugins.providers()
    bad = [str(row.target) for row in rows if not isinstance(row.target, Target)]
    if bad:
        return Finding("targets", "broken", "; ".join(bad), "compiling", "uninstall or repair the plugin")
    return Finding("targets", "ok", ", ".join(row.name for row in rows), "compiling")


def _chips() -> Finding:
    """They are fine if their targets take their options."""
    from ..exir.target_options import spec_of_name

    bad = []
    for row in plugins.chip_providers():
        try:
            if not isinstance(row.chip, Chip):
                raise row.chip
            with suppress(ToolError):  # it has a line of its own
                spec_of_name(row.name, {})
        except (PluginError, UsageError) as error:
            bad.append(str(error) if isinstance(error, PluginError) else f"chip {row.name!r}: {error}")
    if bad:
        return Finding("chips", "broken", "; ".join(dict.fromkeys(bad)), "--chip", "uninstall or repair the plugin")
    return Finding("chips", "ok", f"{len(plugins.chips())} chips", "--chip")


_TOSA_TOOLS = KnownVersions("tosa-tools")

_CHECKS: tuple[HealthCheck, ...] = (
    _python,
    distribution(KnownVersions("torch"), "everything"),
    distribution(KnownVersions("executorch"), "compiling to .pte"),
    distribution(
        KnownVersions("torchao", outside="0.17 with PyTorch 2.13: quantizing fails in the pass PortNodeMetaForQDQ"),
        "quantizing",
    ),
    _reference_model,
    tool("tosa-opt", _TOSA_TOOLS, "validating .tosa"),
    _runtime,
    _targets,
    _chips,
)


def targets() -> Result:
    """List the installed targets, their TOSA specification and who provides them."""
    rows = plugins.providers()
    for row in rows:
        if not isinstance(row.target, Target):
            say(f"warning: {row.target}")

    def show(console: Console) -> None:
        cells = [
            (row.name, str(row.target.tosa_spec), row.target.description, f"{row.distribution} {row.version}")
            for row in rows
            if isinstance(row.target, Target)
        ]
        console.print(table("", ("target", "TOSA specification", "what it is", "from"), cells))

    return Result([_data(row) for row in rows], show)


def _data(row: plugins.Provider) -> dict[str, object]:
    common: dict[str, object] = {"name": row.name, "distribution": row.distribution, "version": row.version}
    if not isinstance(row.target, Target):
        return common | {"error": str(row.target)}
    return common | {
        "spec": str(row.target.tosa_spec),
        "description": row.target.description,
        "suffix": row.target.compiler.suffix,
        "backend_id": row.target.compiler.backend_id,
        "can_run": row.target.host.run is not None,
    }
