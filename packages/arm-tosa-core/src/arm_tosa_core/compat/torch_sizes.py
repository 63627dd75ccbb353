"""Private parts of PyTorch for sizes that vary."""

from __future__ import annotations

import itertools
import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any
from unittest import mock

import sympy
import torch
from torch.export import ExportedProgram
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.utils._pytree import tree_flatten, tree_unflatten
from torch.utils._sympy.interp import sympy_interp
from torch.utils._sympy.reference import PythonReferenceAnalysis
from torch.utils._sympy.value_ranges import ValueRanges

#: Values of a program's sizes at most for which an answer of PyTorch is compared.
_MOST = 1 << 14

_quiet: ContextVar[bool] = ContextVar("quiet", default=False)
#: Those that print the trace of an error before it is raised; not where ``_quiet`` is set.
for _name in ("_subclasses.fake_tensor", "fx.experimental.symbolic_shapes"):
    logging.getLogger(f"torch.{_name}").addFilter(lambda _: not _quiet.get())


def symbolic_sizes(node: Any) -> list[torch.SymInt]:
    """The dimensions of a node's tensor that are symbolic; none if its result is no tensor.

    Needs ``torch.SymInt`` in the shapes of ``meta["val"]``. Without it no size may vary.
    """
    meta = node.meta.get("val")
    sizes: Any = meta.shape if isinstance(meta, torch.Tensor) else ()
    return [size for size in sizes if not isinstance(size, int)]


class GuardError(Exception):
    """PyTorch's answer about a size holds for some sizes of a program only.

    Needs the same as ``at_all_sizes``. Without it nothing raises it.
    """


@contextmanager
def at_all_sizes(program: ExportedProgram) -> Iterator[None]:
    """Lets PyTorch answer about symbolic sizes of a program only if the answer is the same at all of them.

    By itself PyTorch answers for the example's sizes, and notes a guard in the program: it is of no others then.

    Needs ``ShapeEnv.suppress_guards`` and ``ShapeEnv._check_frozen``, which is called before a guard is noted. Without
    it a program of varying sizes may become one of the example's.

    Raises:
        GuardError: within, where an answer depends on a size, or on one without a bound.
    """
    bounds = int_bounds(program)
    checked: set[tuple[Any, Any]] = set()

    def check(expression: Any, answer: Any) -> None:
        if (expression, answer) in checked:
            return
        symbols = sorted(expression.free_symbols, key=str)
        ranges = [range(least, most + 1) for least, most in (bounds.get(str(s), (0, _MOST)) for s in symbols)]
        if math.prod(map(len, ranges)) >= _MOST:
            raise GuardError(f"{expression}, of sizes without a bound")
        for values in itertools.product(*ranges):
            at = dict(zip(symbols, map(sympy.Integer, values), strict=True))
            if expression.xreplace(at) != answer:
                raise GuardError(f"{expression}, which is another at {', '.join(f'{s} = {n}' for s, n in at.items())}")
        checked.add((expression, answer))

    sizes = [size for node in program.graph.find_nodes(op="placeholder") for size in symbolic_sizes(node)]
    if not sizes:
        yield
        return
    with ExitStack() as stack:
        for shapes in {id(size.node.shape_env): size.node.shape_env for size in sizes}.values():
            stack.enter_context(shapes.suppress_guards())
            stack.enter_context(mock.patch.object(shapes, "_check_frozen", check))
        stack.callback(_quiet.reset, _quiet.set(True))  # of exceptions raised here, among others
        yield


def example_size(size: int | torch.SymInt) -> float:
    """A size as it is in the example, without a guard; of one that data decide, the largest that it can be.

    Needs ``SymInt.node.hint``. Without it memory formats of varying sizes are not known.
    """
    hint = size if isinstance(size, int) else size.node.hint
    return most(size) if hint is None else hint


def same_shape(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether two shapes are equal at all sizes, as far as can be known without a guard.

    Needs ``statically_known_true``. Without it a comparison of shapes fixes their sizes.
    """
    return len(a) == len(b) and all(statically_known_true(x == y) for x, y in zip(a, b, strict=True))


def size_symbols(size: torch.SymInt) -> set[str]:
    """The symbols that a size depends on.

    Needs ``SymInt.node.expr``, a sympy expression. Without it no size may vary.
    """
    return set(map(str, size.node.expr.free_symbols))


def size_symbol(size: torch.SymInt) -> str | None:
    """The only symbol of a size that is the symbol, or a multiple of it and more; None if it is otherwise.

    Needs ``SymInt.node.expr``, a sympy expression. Without it no size may vary.
    """
    expression = size.node.expr
    names = sorted(str(symbol) for symbol in expression.free_symbols)
    (symbol,) = expression.free_symbols if len(names) == 1 else (None,)
    linear = symbol is not None and expression.is_polynomial(symbol) and expression.as_poly(symbol).degree() == 1
    return names[0] if linear else None


def int_bounds(program: ExportedProgram) -> dict[str, tuple[int, int]]:
    """The least and the most of every symbol that has a most, of inputs that are multiples of a symbol too.

    Needs ``ExportedProgram.range_constraints``, whose keys are sympy expressions. Without it no size may vary.
    """
    ranges: dict[str, tuple[int, int]] = {}
    for expr, bounds in sorted(program.range_constraints.items(), key=lambda item: str(item[0])):
        symbols = list(expr.free_symbols)
        if len(symbols) != 1 or not expr.is_polynomial(*symbols) or not bounds.upper.is_finite:
            continue
        if not bounds.lower.is_finite or bounds.upper >= 2**31 or (expr in symbols and str(expr) in ranges):
            continue
        factor, offset = expr.as_poly(*symbols).all_coeffs() if expr.as_poly(*symbols).degree() == 1 else (0, 0)
        if factor > 0:  # of a multiple the bounds are those of the user; of its symbol PyTorch makes the least 2
            least, most = -(-(int(bounds.lower) - int(offset)) // int(factor)), (int(bounds.upper) - offset) // factor
            ranges[str(symbols[0])] = int(least), int(most)
    return ranges


def dynamic_shapes(program: ExportedProgram) -> tuple[Any, ...] | None:
    """The ``dynamic_shapes`` with which ``torch.export`` gives an equal program's inputs the same dynamic dimensions.

    Needs ``SymInt.node.expr`` and ``ExportedProgram.range_constraints``. Without it a program is exported again with
    the sizes of its example inputs.

    Returns:
        One entry for each argument and keyword argument, in order; None if no dimension is dynamic.
    """
    if program.example_inputs is None:
        return None
    dims: dict[str, Any] = {}
    bounds = int_bounds(program)
    names = set(program.graph_signature.user_inputs)
    inputs = [node for node in program.graph.find_nodes(op="placeholder") if node.name in names]
    entries = [
        {axis: _dim(size, bounds, dims) for axis, size in enumerate(shape) if not isinstance(size, int)} or None
        for shape in (getattr(node.meta.get("val"), "shape", ()) for node in inputs)
    ]
    if not any(entries):
        return None
    # None is a leaf of its own here: an input whose sizes are all known.
    _, structure = tree_flatten(program.example_inputs)
    args, kwargs = tree_unflatten(entries, structure)
    return (*args, *kwargs.values())


def _dim(size: torch.SymInt, bounds: Mapping[str, tuple[int, int]], dims: dict[str, Any]) -> Any:
    """A dimension of ``torch.export``: a symbol within its bounds, or a multiple of one; PyTorch infers others.

    Needs ``SymInt.node.expr``. Without it no dimension stays dynamic.
    """
    if (name := size_symbol(size)) is None or name not in bounds:
        return torch.export.Dim.DYNAMIC
    least, most = bounds[name]
    dim = dims.setdefault(name, torch.export.Dim(name, min=least, max=most))
    factor, offset = linear_form(size)
    return dim if (factor, offset) == (1, 0) else factor * dim + offset


def size_expression(size: torch.SymInt, values: Mapping[str, int], polynomial: bool = True) -> Any:
    """The size for values of its symbols, if it is a polynomial of those, or need not be; otherwise itself.

    Needs ``SymInt.node.expr``. Without it no size may vary.
    """
    expression = size.node.expr
    symbols = expression.free_symbols
    if not all(str(s) in values for s in symbols) or (polynomial and not expression.is_polynomial(*symbols)):
        return size
    return int(expression.subs({s: values[str(s)] for s in symbols}))


def computed_size(size: Any, symbol: Callable[[str], Any]) -> Any:
    """A symbolic size, number or truth, computed by operators of Python from its symbols.

    Needs ``sympy_interp`` and the expression of a ``SymInt``. Without it nothing that depends on a size is quantized.

    Args:
        symbol: gives the value of each, such as a ``torch.fx.Proxy``.
    """
    expression = size.node.expr
    values = {each: symbol(str(each)) for each in sorted(expression.free_symbols, key=str)}
    return sympy_interp(PythonReferenceAnalysis, values, expression)


def linear_form(size: torch.SymInt) -> tuple[int, int]:
    """Factor and offset of a size that has a ``size_symbol``.

    Needs ``SymInt.node.expr``, a sympy expression. Without it no dimension stays dynamic.
    """
    expression = size.node.expr
    factor, offset = map(int, expression.as_poly(*expression.free_symbols).all_coeffs())
    return factor, offset


def note_least(program: ExportedProgram, least: dict[str, int]) -> None:
    """Notes the least of every symbol of a program; of one that several programs have, the largest.

    Needs ``ExportedProgram.range_constraints``. Without it no batch may be 1.
    """
    for symbol, (lower, _) in int_bounds(program).items():
        least[symbol] = max(lower, least.get(symbol, 0))


def restore_least(program: ExportedProgram, least: Mapping[str, int]) -> None:
    """Gives symbols of a program the least that was noted of them: ExecuTorch makes 2 of 1.

    Needs ``torch.utils._sympy.value_ranges``. Without it no batch may be 1.
    """
    for expr, bounds in list(program.range_constraints.items()):
        symbols = expr.free_symbols
        if not all(str(s) in least for s in symbols) or not expr.is_polynomial(*symbols):
            continue
        lower = int(expr.subs({s: least[str(s)] for s in symbols}))
        if lower < bounds.lower:
            program.range_constraints[expr] = ValueRanges(lower, bounds.upper)


def most(number: Any) -> float:
    """The largest that a number can be, which may depend on a dynamic size.

    Needs ``SymFloat.node.shape_env.bound_sympy``. Without it a softmax along a dynamic dimension is not quantized.
    """
    if not isinstance(number, torch.SymFloat | torch.SymInt):
        return float(number)
    upper = number.node.shape_env.bound_sympy(number.node.expr).upper
    return float(upper) if upper.is_finite else math.inf
