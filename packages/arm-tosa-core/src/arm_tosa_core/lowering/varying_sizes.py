"""Programs with sizes that a run chooses up to a bound: which these are, and the program with all sizes known.

A size is known where it is a polynomial of dimensions of inputs that have a bound. Whatever else is symbolic stays so,
and is refused where it is lowered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from ..compat.torch import FakeTensorMode, tree_map
from ..compat.torch_sizes import GuardError, at_all_sizes, int_bounds, size_expression, size_symbol
from ..plugin.target import Symbol
from ..support.errors import UsageError
from .exported_program import copy_with_twins
from .node_facts import note

#: Combinations of the symbols' values at most; a runtime makes a plan for each when it loads the program.
MOST_SIZES = 1024

#: A value of each symbol.
Point = Mapping[str, int]


@dataclass(frozen=True)
class Sizes:
    """What the sizes of a program depend on; at least one symbol."""

    symbols: tuple[Symbol, ...]

    @staticmethod
    def of(program: ExportedProgram) -> Sizes | None:
        """The bounded symbols that are a dimension of an input by themselves, or a multiple of one; None if none is.

        Raises:
            UsageError: they have more combinations of values than a target makes plans for.
        """
        bounds = int_bounds(program)
        found: dict[str, Symbol] = {}
        places: dict[str, str] = {}
        for node in program.graph.find_nodes(op="placeholder"):
            meta = node.meta.get("val")
            for axis, size in enumerate(meta.shape if isinstance(meta, torch.Tensor) else ()):
                symbol = None if isinstance(size, int) else size_symbol(size)
                if symbol is None or symbol in found:
                    continue
                if symbol in bounds:
                    least, most = bounds[symbol]
                    found[symbol] = Symbol(symbol, max(least, 1), most)
                    places[symbol] = f"dimension {axis} of input {node.name} is {size}"
        count = prod(symbol.most - symbol.least + 1 for symbol in found.values())
        if count > MOST_SIZES:
            each = "; ".join(f"{s.name} is {s.least} to {s.most}: {places[s.name]}" for s in found.values())
            raise UsageError(
                f"the program's sizes have {count} combinations, and {MOST_SIZES} is the most that can vary ({each}): "
                'export with fewer, such as multiples (8 * torch.export.Dim("blocks", max=16))'
            )
        return Sizes(tuple(found.values())) if found else None

    @property
    def bound(self) -> Point:
        """The most of every symbol."""
        return {symbol.name: symbol.most for symbol in self.symbols}

    @property
    def least(self) -> Point:
        """The least of every symbol."""
        return {symbol.name: symbol.least for symbol in self.symbols}

    def samples(self) -> list[Point]:
        """Other values: two of every symbol, primes if possible, and each symbol alone at another.

        How a number depends on the symbols is read off them. Primes are not multiples of what they are no multiple of
        at every size.
        """
        found: list[Point] = []
        for number in range(2):
            point: dict[str, int] = {}
            for symbol in self.symbols:
                others = _candidates(symbol)
                fresh = [value for value in others[number:] if value not in point.values()]
                point[symbol.name] = (fresh or others or [symbol.most])[0]
            found.append(point)
        if len(self.symbols) > 1:
            found += [{**self.bound, s.name: found[0][s.name]} for s in self.symbols]
        return [point for i, point in enumerate(found) if point not in found[:i] and point != self.bound]

    def at(self, program: ExportedProgram, point: Point) -> tuple[ExportedProgram, dict[Node, Node]]:
        """A copy of the program with these sizes, and the copy of each node.

        Nodes that compute sizes stay; their ``meta["val"]`` is an int.
        """
        made, twins = copy_with_twins(program)
        mode = FakeTensorMode()

        def known(value: Any) -> Any:
            if isinstance(value, torch.SymInt):
                return _evaluated(value, point)
            if not isinstance(value, torch.Tensor) or all(isinstance(n, int) for n in value.shape):
                return value
            shape = [_evaluated(n, point) for n in value.shape]
            strides = [_evaluated(n, point, polynomial=False) for n in value.stride()]  # of s - 1, Max(1, s - 1)
            if not all(isinstance(n, int) for n in (*shape, *strides)):
                return value
            with mode:
                return torch.empty_strided(shape, strides, dtype=value.dtype, device=value.device)

        for node in twins.values():
            if "val" in node.meta:
                note(node, symbolic=node.meta["val"])
                node.meta["val"] = tree_map(known, node.meta["val"])
        return made, twins


@contextmanager
def kept_varying(*programs: ExportedProgram) -> Iterator[None]:
    """Keeps the work within from fixing a size of the programs that varies.

    Raises:
        UsageError: it asks whether a size has some value, so that its result would be of that value alone.
    """
    try:
        with ExitStack() as stack:
            for program in programs:
                stack.enter_context(at_all_sizes(program))
            yield
    except Exception as error:  # PyTorch wraps what is raised within a trace
        if (cause := _guard_error(error)) is None:
            raise
        raise UsageError(
            f"the program becomes another at some of its sizes, by {str(cause).splitlines()[0]}: export it with these "
            "sizes fixed, bounded so that this is the same for all of them, or with one Dim where they must be equal"
        ) from error


def _guard_error(error: BaseException | None) -> GuardError | None:
    """The one among the causes of an error."""
    while error is not None and not isinstance(error, GuardError):
        error = error.__cause__ or error.__context__
    return error


def _evaluated(size: Any, point: Point, polynomial: bool = True) -> Any:
    """The size as an int; itself if it is something else than a polynomial of the symbols, and must be one."""
    return size if isinstance(size, int) else size_expression(size, point, polynomial)


def _candidates(symbol: Symbol) -> list[int]:
    """Values other than the most: the largest prime, the least from 3 on, then others; not 1, where graphs are simpler.

    Of a range that has no two such values, also values above it: the program is the same for all sizes.
    """
    primes = list(_primes(max(symbol.least, 3), symbol.most - 1))
    others = range(symbol.most - 1, max(symbol.least, symbol.most - 4, 2) - 1, -1)
    found = list(dict.fromkeys([*primes[-1:], *primes[:1], *others]))
    return found if len(found) > 1 else [*found, *_primes(symbol.most + 1, symbol.most + 9)]


def _primes(least: int, most: int) -> Iterator[int]:
    for n in range(least, most + 1):
        if all(n % d for d in range(2, int(n**0.5) + 1)):
            yield n
