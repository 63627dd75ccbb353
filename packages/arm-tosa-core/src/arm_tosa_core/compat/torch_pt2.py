"""Loading a ``.pt2``, a program that ``torch.export.save`` wrote, without running code of who made it."""

from __future__ import annotations

import ast
import io
import json
import os
import pickle
import re
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import torch
from torch.export import ExportedProgram

from ..support.errors import UsageError
from .torch import register_quantized_decomposed

#: Parts of an archive that PyTorch always unpickles or loads as a library, and their names in errors.
_CODE = {
    "/opaque_obj_": "an object that is no tensor",
    "/custom_obj_": "a TorchScript object",
    "data/aotinductor/": "a compiled library",
}
#: Functions in expressions of sizes: those of ``torch.utils._sympy.functions`` and of sympy, as PyTorch writes them.
_FUNCTIONS = re.compile(
    "Symbol|Integer|Float|Rational|Add|Mul|Pow|Mod|PythonMod|Max|Min|Abs|floor|ceiling|Identity|Where|ModularIndexing|"
    "(Floor|Clean|Ceil|FloatTrue|IntTrue)Div|(Ceil|Floor|Trunc|Round)ToInt|TruncToFloat|ToFloat|PowByNatural|"
    "Eq|Ne|Lt|Le|Gt|Ge|And|Or|Not|Equality|Unequality|(Strict)?(Less|Greater)Than|true|false"
)
_SYMBOL = re.compile(r"[a-z]+\d+", re.ASCII)
_NUMBER = re.compile(r"-?\d{1,19}(\.\d{1,19})?(e[-+]?\d{1,3})?", re.ASCII)
_OPERATORS = (ast.operator, ast.unaryop, ast.cmpop, ast.expr_context)
_NOT_OPERATORS = (ast.BitXor, ast.LShift, ast.RShift, ast.MatMult, ast.Is, ast.IsNot, ast.In, ast.NotIn)
_LONGEST, _MOST_POWERS, _LARGEST_POWER = 5_000, 3, 8

#: The environment is that of all threads.
_one_at_a_time = Lock()


class CodeInFile(UsageError):
    """A ``.pt2`` has a part that PyTorch reads by running code, which may be the maker's of the file."""


def load_pt2(data: bytes, *, trust: bool = False) -> ExportedProgram:
    """The program, with tensors and plain values alone unless ``trust``.

    Needs ``torch.export.pt2_archive._package.PT2ArchiveReader`` and ``load_pt2``, and that ``torch.load`` obeys
    ``TORCH_FORCE_WEIGHTS_ONLY_LOAD``: ``torch.export.load`` unpickles any object. Without them no ``.pt2`` of others
    can be opened.

    Args:
        trust: pickles, compiled libraries and expressions in the file may run code.

    Raises:
        CodeInFile: it is not trusted, and has such a part; names it.
        Exception: whatever PyTorch's parsers raise.
    """
    register_quantized_decomposed()
    if trust:
        return torch.export.load(io.BytesIO(data))
    _require_no_code(data)
    try:
        with _one_at_a_time, _weights_only():
            return _load_archive(data)
    except pickle.UnpicklingError as error:
        match = re.search(r"GLOBAL ([\w.]+)", str(error))
        raise CodeInFile(f"a pickled {match[1] if match else 'object'}") from error


def _load_archive(data: bytes) -> ExportedProgram:
    """As ``torch.export.load``, which logs an error of the archive and raises another that names no reason."""
    from torch.export.pt2_archive._package import load_pt2 as load

    program: ExportedProgram = load(io.BytesIO(data)).exported_programs["model"]
    return program


@contextmanager
def _weights_only() -> Iterator[None]:
    settings = {"TORCH_FORCE_WEIGHTS_ONLY_LOAD": "1", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "0"}
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _require_no_code(data: bytes) -> None:
    from torch.export.pt2_archive._package import PT2ArchiveReader

    with PT2ArchiveReader(io.BytesIO(data)) as archive:
        names = archive.get_file_names()
        for name in names:
            for part, content in _CODE.items():
                if part in name.lower():  # PyTorch finds members whatever their case
                    raise CodeInFile(content)
        if not any(name.startswith("models/") for name in names):
            raise CodeInFile("a program in the form of PyTorch 2.7 and before")
        for name in names:
            if name.startswith("models/"):
                _require_no_expressions(json.loads(archive.read_bytes(name)))


def _require_no_expressions(value: Any) -> None:
    """PyTorch evaluates the expressions of sizes as Python: these are arithmetic."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if "expr_str" in part and not is_arithmetic(part["expr_str"]):
                raise CodeInFile(f"the expression {str(part['expr_str'])[:80]!r}")
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part


def is_arithmetic(text: object) -> bool:
    """Whether a text is numbers, names of sizes, operators and known functions, and cheap to evaluate."""
    if not (isinstance(text, str) and text.isascii() and text.isprintable() and len(text) < _LONGEST):
        return False
    try:
        nodes = list(ast.walk(ast.parse(text.strip(), mode="eval")))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    powers = [node for node in nodes if _power(node) is not None]
    return len(powers) <= _MOST_POWERS and all(map(_known, nodes)) and all(map(_small, map(_power, powers)))


def _known(node: ast.AST) -> bool:
    match node:
        case ast.Name(name):
            return bool(_FUNCTIONS.fullmatch(name) or _SYMBOL.fullmatch(name))
        case ast.Constant(bool() | None):
            return True
        case ast.Constant(int(number)):
            return number < 2**64
        case ast.Constant(str(name)):
            return bool(_SYMBOL.fullmatch(name) or _NUMBER.fullmatch(name))
        case ast.Constant(value):
            return isinstance(value, float)
        case ast.Call(ast.Name(), _, _):
            return True
        case ast.keyword(name, ast.Constant()):
            return name is not None
        case ast.Expression() | ast.BinOp() | ast.UnaryOp() | ast.Compare():
            return True
    return isinstance(node, _OPERATORS) and not isinstance(node, _NOT_OPERATORS)


def _power(node: ast.AST) -> ast.expr | None:
    """The exponent of a power."""
    match node:
        case ast.BinOp(_, ast.Pow(), exponent) | ast.Call(ast.Name("Pow"), [_, exponent, *_]):
            return exponent
    return None


def _small(exponent: ast.expr | None) -> bool:
    match exponent:
        case ast.UnaryOp(ast.USub(), number) | ast.Call(ast.Name("Integer"), [number], []):
            return _small(number)
        case ast.Constant(int(number)):
            return number <= _LARGEST_POWER
    return False
