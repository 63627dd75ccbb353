"""``arm-tosa doctor``: what works on this machine, and what to install for the rest."""

from __future__ import annotations

import ctypes
import ctypes.util
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata
from importlib.util import find_spec

from rich.console import Console

from ..plugin import entry_points as plugins
from ..plugin.target import Target
from ..support.errors import ToolError
from ..support.external_tools import find_tool, run_tool
from .report import Result, table

TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Finding:
    """One line of the report; ``fix`` says what to do unless ``state`` is ``"ok"``."""

    what: str
    state: str  # ok, missing or broken
    detail: str
    needed_for: str
    fix: str = ""


def doctor() -> Result:
    """Say what works on this machine, and what to install for the rest."""
    findings = [check() for check in _CHECKS]

    def show(console: Console) -> None:
        columns = ("what", "state", "detail", "needed for", "what to do")
        console.print(table("", columns, [tuple(asdict(finding).values()) for finding in findings]))

    return Result([asdict(finding) for finding in findings], show)


def _python() -> Finding:
    return Finding("Python", "ok", f"{platform.python_version()}, {sys.executable}", "everything")


def _distribution(name: str, needed_for: str) -> Callable[[], Finding]:
    def check() -> Finding:
        try:
            return Finding(name, "ok", metadata.version(name), needed_for)
        except metadata.PackageNotFoundError:
            return Finding(name, "missing", "", needed_for, f"pip install {name}")

    return check


def _tool(executable: str, package: str, needed_for: str) -> Callable[[], Finding]:
    """A tool is fine if it starts."""

    def check() -> Finding:
        fix = f"pip install {package}"
        try:
            path = find_tool(executable, package=package)
        except ToolError:
            return Finding(executable, "missing", "", needed_for, fix)
        try:
            run_tool(executable, [path, "--version"], timeout=TIMEOUT_S)
        except ToolError as error:
            return Finding(executable, "broken", _first_line(error), needed_for, f"{fix} --force-reinstall")
        return Finding(executable, "ok", f"{_version(package)}, {path}", needed_for)

    return check


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:  # found on a path, not installed by pip
        return "version unknown"


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]


def _reference_model() -> Finding:
    """It is fine if it knows that |-1| is 1."""
    import numpy as np

    from ..tosa import reference_model as reference
    from ..tosa.graph import Graph
    from ..tosa.ir import DType
    from ..tosa.serializer import serialize
    from ..tosa.specification import TosaSpecification

    what, needed_for, fix = "TOSA reference model", "running .tosa", "pip install tosa-tools"
    graph = Graph()
    graph.outputs = list(graph.append("ABS", [graph.input("x", (1,), DType.FP32)]).outputs)
    tosa = serialize(graph, TosaSpecification.create_from_string("TOSA-1.0+FP"))
    try:
        (result,) = reference.run(tosa, [np.array([-1.0], np.float32)])
    except ToolError as error:
        state = "missing" if find_spec("tosa_reference_model") is None else "broken"
        return Finding(what, state, _first_line(error), needed_for, fix)
    if result.tolist() != [1.0]:
        return Finding(what, "broken", f"|-1| is {result.tolist()}", needed_for, f"{fix} --force-reinstall")
    return Finding(what, "ok", _version("tosa-tools"), needed_for)


def _vulkan_loader() -> Finding:
    needed_for, fix = "running VGF", "apt install libvulkan1 mesa-vulkan-drivers, or your GPU's driver"
    name = ctypes.util.find_library("vulkan") or "libvulkan.so.1"
    try:
        ctypes.CDLL(name)
    except OSError:
        return Finding("Vulkan loader", "missing", "", needed_for, fix)
    return Finding("Vulkan loader", "ok", name, needed_for)


def _runtime() -> Finding:
    needed_for, fix = "running .pte and .vgf", "pip install arm-runtime-cpp"
    if find_spec("arm_runtime") is None:
        return Finding("arm_runtime", "missing", "", needed_for, fix)
    try:
        # In a process of its own: a runtime that crashes must not take the report with it.
        run_tool("arm_runtime", [sys.executable, "-c", "import arm_runtime"], timeout=TIMEOUT_S)
    except ToolError as error:
        return Finding("arm_runtime", "broken", _first_line(error), needed_for, f"{fix} --force-reinstall")
    return Finding("arm_runtime", "ok", _version("arm-runtime-cpp"), needed_for)


def _targets() -> Finding:
    rows = plugins.providers()
    bad = [str(row.target) for row in rows if not isinstance(row.target, Target)]
    if bad:
        return Finding("targets", "broken", "; ".join(bad), "compiling", "uninstall or repair the plugin")
    return Finding("targets", "ok", ", ".join(row.name for row in rows), "compiling")


_CHECKS: tuple[Callable[[], Finding], ...] = (
    _python,
    _distribution("torch", "everything"),
    _distribution("executorch", "compiling to .pte"),
    _distribution("torchao", "quantizing"),
    _reference_model,
    _tool("tosa-opt", "tosa-tools", "validating .tosa"),
    _tool("vela", "ethos-u-vela", "compiling for Ethos-U"),
    _tool("model-converter", "ai-ml-sdk-model-converter", "compiling for VGF"),
    _vulkan_loader,
    _distribution("ai-ml-emulation-layer-for-vulkan", "running VGF without a driver that has Arm's extensions"),
    _runtime,
    _targets,
)
