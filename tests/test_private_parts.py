"""Private parts of PyTorch, ExecuTorch and torchao are used in ``arm_tosa_core.compat`` alone."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGES = Path(__file__).parent.parent / "packages"
LIBRARIES = ("torch", "executorch", "torchao")
#: Attributes of the libraries' objects that are private.
ATTRIBUTES = {"_schema", "_op", "_overloadname", "_can_decompose", "_qualified_op_name", "_annotated", "_cdata"}
#: Operators are public, whatever their names begin with.
OPERATORS = "torch.ops."


def private_parts(source: str) -> list[str]:
    """What a file uses that is private: ``line: name``."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Attribute):
            names = [dotted] if (dotted := _dotted(node)).startswith("torch.") else []
            if node.attr in ATTRIBUTES:
                found.append((node.lineno, node.attr))
        elif isinstance(node, ast.keyword) and node.arg in {"_annotated", "_check_ir_validity"}:
            found.append((node.value.lineno, node.arg))
        for name in names:
            library, *parts = name.split(".")
            private = any(p.startswith("_") and not p.startswith("__") for p in parts)
            if library in LIBRARIES and private and not name.startswith(OPERATORS):
                found.append((node.lineno, name))
    return [f"{line}: {name}" for line, name in sorted(set(found))]


def _dotted(node: ast.expr) -> str:
    """A name with its attributes, such as ``torch._C.x``; of what is no name, the attributes behind it."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id if isinstance(node, ast.Name) else "", *reversed(parts)])


def sources() -> list[Path]:
    every = [*PACKAGES.glob("*/src/arm_*/**/*.py"), *PACKAGES.glob("arm-runtime-cpp/python/**/*.py")]
    return [path for path in sorted(every) if "compat" not in path.parts]


def test_they_are_used_in_compat_alone() -> None:
    used = {str(path.relative_to(PACKAGES)): parts for path in sources() if (parts := private_parts(path.read_text()))}
    assert len(sources()) > 200
    assert used == {}


@pytest.mark.parametrize(
    "line",
    [
        "from torch._ops import OpOverload",
        "from executorch.exir._serialize import _program",
        "import torch._decomp",
        "x = torch._C._dispatch_keys",
        "x = node.target._schema",
        "x = QuantizationAnnotation(_annotated=True)",
    ],
)
def test_a_private_part_is_found(line: str) -> None:
    assert private_parts(f"import torch\n{line}\n")


@pytest.mark.parametrize("name", ["torch", "executorch", "torchao"])
def test_each_entry_says_what_it_needs_and_what_breaks_without_it(name: str) -> None:
    module = ast.parse((PACKAGES / f"arm-tosa-core/src/arm_tosa_core/compat/{name}.py").read_text())
    entries = [node for node in module.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    assert entries
    for entry in entries:
        text = " ".join((ast.get_docstring(entry) or "").split())
        assert "Needs " in text and ("Without " in text or ": " in text.partition("Needs ")[2]), entry.name
