"""A model file of another framework as an ``nn.Module``: its operators in their order, each a call of a row.

A row is the meaning of one kind of operator, a function of tensors:

    @rows.row("Conv")
    def conv(node: FileNode, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        return torch.nn.functional.conv2d(x, weight, bias, node["strides"])

A reader makes the ``FileGraph``; ``FileModel`` computes once, when it is made, what follows from constants alone, so
that sizes which the file computes are numbers, and ``export`` gives the program that every command takes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

from ..support.errors import Rejected, UsageError
from .file_graph import FileGraph, FileNode
from .file_inputs import SizedInput, sized_inputs
from .file_names import identifier
from .refusals import DAMAGED, ELSEWHERE, SIZES, refused

#: What a row returns: its results in the order of the node's outputs; a tensor alone is the only one.
Results = Tensor | Sequence[Tensor | None]
#: Operators in the place of one, and constants that they read, by name.
Expansion = tuple[Sequence[FileNode], Mapping[str, Tensor]]


@dataclass(frozen=True)
class Row:
    """The meaning of a kind of operator.

    Args:
        function: of the node and its inputs.
        numbers: the places of inputs that reach it as Python numbers: one, or a list of them.
        folds: whether constants alone give a constant; not where the kind says how a constant is stored.
        scalars: a constant of one element reaches it as a Python number where its shape says nothing.
        expand: of the node and its inputs, those that are not constants on the device ``meta``: other operators that
            mean the same, or nothing. Is asked before the function, unless all inputs are constants.
    """

    function: Callable[..., Results]
    numbers: frozenset[int] = frozenset()
    folds: bool = True
    scalars: bool = False
    expand: Callable[..., Expansion | None] | None = None


#: Operators with all steps of loops; no model has as many.
_LARGEST = 1 << 17
_FEWER = "Export the model with fewer steps, or with a layer (such as LSTM) in place of the loop"


class Rows(dict[str, Row]):
    """The rows of a format, by kind of operator; and what to do about kinds that have none."""

    def __init__(self) -> None:
        super().__init__()
        self.advice: dict[str, str] = {}

    def advice_for(self, kind: str) -> str:
        """What to do about an operator without a row."""
        return self.advice.get(kind, ELSEWHERE[0].upper() + ELSEWHERE[1:])

    def row(
        self, *kinds: str, numbers: Sequence[int] = (), folds: bool = True, scalars: bool = False
    ) -> Callable[[Callable[..., Results]], Callable[..., Results]]:
        """Adds the decorated function as the row of these kinds."""

        def add(function: Callable[..., Results]) -> Callable[..., Results]:
            for kind in kinds:
                self[kind] = Row(function, frozenset(numbers), folds, scalars)
            return function

        return add

    def expansion(self, *kinds: str) -> Callable[[Callable[..., Expansion | None]], Callable[..., Expansion | None]]:
        """Adds the decorated function as ``expand`` to the rows of these kinds; those without a row always expand."""

        def add(expand: Callable[..., Expansion | None]) -> Callable[..., Expansion | None]:
            for kind in kinds:
                self[kind] = replace(self.get(kind, Row(_expands)), expand=expand)
            return expand

        return add


def _expands(node: FileNode, *inputs: Any) -> Results:
    raise Rejected("its operands do not say which operators it stands for")


class _Operator(nn.Module):
    """One operator, a module of its own, so that exported nodes carry its name."""

    def __init__(self, node: FileNode, row: Row, numbers: Mapping[int, Any]) -> None:
        super().__init__()
        self.node, self._row, self._numbers = node, row, numbers

    def forward(self, *inputs: Tensor | None) -> tuple[Tensor | None, ...]:
        arguments = [self._numbers.get(place, value) for place, value in enumerate(inputs)]
        results = self._row.function(self.node, *arguments)
        return (results,) if isinstance(results, Tensor) else tuple(results)


class FileModel(nn.Module):
    """The graph as a module that runs on tensors and exports.

    Args:
        graph: of the file.
        rows: of its format.
        file: its name, for errors and for the source lines of exported nodes.
        shapes: the sizes of inputs, by name; those that the file leaves open have to be there, but for a first one
            alone, which is 1. An input with a default is one of the program if its sizes are there.
        values: numbers that inputs are always, by name: constants of the program.

    Raises:
        UsageError: an operator has no row, its row refuses it, or sizes are missing or wrong; names the operator.
    """

    def __init__(
        self,
        graph: FileGraph,
        rows: Rows,
        file: str,
        shapes: Mapping[str, Sequence[int]] | None = None,
        values: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__()
        self.file, self.outputs = file, graph.outputs
        self.inputs, fixed = sized_inputs(graph.inputs, shapes or {}, values or {}, file)
        graph = replace(graph, constants={**graph.constants, **fixed})
        self._require_rows(graph.nodes, rows)
        self._places: dict[str, str] = {}  # of constants: name in the file to name of the buffer
        self._operators: list[tuple[str, FileNode, tuple[str, ...]]] = []  # the last: the tensors that it reads
        self._writes = {name: value for name, value in graph.writes.items() if name in graph.states}
        self._build(graph, rows)
        self._name_arguments()
        self.eval()

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """The outputs of the file, in its order."""
        values: dict[str, Tensor | None] = {"": None}
        values.update({name: self.get_buffer(place) for name, place in self._places.items()})
        # Operators and outputs have what a state was before this call, which views of its buffer would not keep.
        values.update({state: _tensor(values[state]).clone() for state in self._writes})
        values.update(zip((one.name for one in self.inputs), inputs, strict=True))
        for attribute, node, reads in self._operators:
            results = getattr(self, attribute)(*(values[name] for name in reads))
            values.update(zip(node.outputs, results, strict=False))
            values[""] = None
        results = tuple(_tensor(values[name]) for name in self.outputs)
        for state, name in self._writes.items():
            self.get_buffer(self._places[state]).copy_(_tensor(values[name]))
        return results

    def examples(self) -> tuple[Tensor, ...]:
        """Inputs of the right sizes and types: the same random numbers each time, and zeros where they are indices."""
        generator = torch.Generator().manual_seed(0)
        return tuple(_example(one, generator) for one in self.inputs)

    def export(self) -> ExportedProgram:
        """The program; the source line of a node is the operator's place in the file.

        Raises:
            UsageError: PyTorch cannot export it.
        """
        try:
            program = torch.export.export(self, self.examples(), strict=False)
        except UsageError:
            raise
        except Exception as error:  # torch raises whatever its tracing does
            raise refused(f"{self.file}: PyTorch cannot export it", error, ELSEWHERE) from error
        lines = {attribute: _source(self.file, node) for attribute, node, _ in self._operators}
        for node in program.graph.nodes:
            stack = list((node.meta.get("nn_module_stack") or {}).values())
            if node.op == "call_function" and stack and (line := lines.get(stack[-1][0].rpartition(".")[2])):
                node.meta["stack_trace"] = line
        return program

    def _require_rows(self, nodes: Sequence[FileNode], rows: Rows) -> None:
        lacking = [node for node in nodes if node.kind not in rows]
        if lacking:
            first, others = lacking[0], sorted({node.kind for node in lacking} - {lacking[0].kind})
            raise UsageError(
                f"{self.file}: {first.kind} {first.name!r}: arm-tosa does not read this operator"
                + (f" (nor {', '.join(others)})" if others else "")
                + f", whose inputs are {', '.join(repr(name) for name in first.inputs if name) or 'none'}. "
                + rows.advice_for(first.kind)
            )

    def _build(self, graph: FileGraph, rows: Rows) -> None:
        """Walks the operators once with constants as they are and all else without numbers (on the device ``meta``)."""
        values: dict[str, Tensor | None] = {"": None, **graph.constants}
        values.update({one.name: torch.empty(one.sizes, dtype=one.dtype, device="meta") for one in self.inputs})
        for name, start in graph.states.items():
            self._keep(name, start.clone())
            values[name] = torch.empty_like(start, device="meta")
        waiting = list(reversed(graph.nodes))
        taken = {*values, *(name for node in graph.nodes for name in node.outputs)}
        unfolded: dict[str, Callable[[], Results]] = {}  # what is constant although its row does not fold
        walked = 0
        while waiting:
            node, walked = waiting.pop(), walked + 1
            if walked > _LARGEST:
                raise UsageError(
                    f"{self.file}: {node.kind} {node.name!r}: its loops have too many steps to be unrolled. {_FEWER}"
                )
            row, inputs = rows[node.kind], [self._value(values, node, name) for name in node.inputs]
            with self._told(node):
                _require_operands(row, inputs)
                if row.expand and not (row.folds and row.function is not _expands and _all_known(inputs)):
                    expansion = _expanded(row.expand, node, inputs, taken)
                    if expansion is not None:
                        self._require_rows(expansion[0], rows)
                        waiting += reversed(expansion[0])
                        values.update(expansion[1])
                        continue
                numbers = {
                    place: _numbers(inputs[place], node.inputs[place], unfolded)
                    for place in row.numbers
                    if place < len(inputs) and inputs[place] is not None
                }
                if row.scalars and not _all_known(inputs):
                    numbers |= _scalars(inputs)
                operator = _Operator(node, row, numbers)
                read = [None if place in numbers else value for place, value in enumerate(inputs)]
                constant = row.folds and _all_known(read)
                with torch.no_grad():
                    if not row.folds and _all_known(read):
                        unfolded[node.outputs[0]] = partial(operator, *read)
                    results = operator(*(read if constant else [v if v is None else v.to("meta") for v in read]))
            values.update(zip(node.outputs, results, strict=False))
            values[""] = None
            if _all_known(results):
                continue  # known from constants and sizes
            for name, value in zip(node.inputs, read, strict=True):
                if value is not None and not value.is_meta:
                    self._keep(name, value)
            attribute = self._free_name(node.name)
            self.add_module(attribute, operator)
            reads = tuple("" if value is None else name for name, value in zip(node.inputs, read, strict=True))
            self._operators.append((attribute, node, reads))
        for name in (*self.outputs, *self._writes.values()):
            value = values.get(name)
            if value is None:
                raise refused(self.file, UsageError(f"no operator makes the output {name!r}"), DAMAGED)
            if not value.is_meta:
                self._keep(name, value)

    def _value(self, values: Mapping[str, Tensor | None], node: FileNode, name: str) -> Tensor | None:
        if name not in values:
            missing = UsageError(f"{node.kind} {node.name!r} reads {name!r}, which no operator before it makes")
            raise refused(self.file, missing, DAMAGED)
        return values[name]

    def _keep(self, name: str, value: Tensor) -> None:
        if name not in self._places:
            self._places[name] = self._free_name(name)
            self.register_buffer(self._places[name], value.contiguous())

    def _free_name(self, name: str) -> str:
        wanted = identifier(name)
        while hasattr(self, wanted) or wanted == "self":  # which the code of exported programs has for the module
            wanted += "_"
        return wanted

    def _told(self, node: FileNode) -> _Told:
        return _Told(f"{self.file}: {node.kind.partition('/')[0]} {node.name!r}")  # as the file has it

    def _name_arguments(self) -> None:
        """Gives ``forward`` the names of the file's inputs, which become the program's."""
        names = ["self"]  # which torch.export takes for the module
        for one in self.inputs:
            name = identifier(one.name)
            while name in names:
                name += "_"
            names.append(name)
        walk = self.forward

        def forward(*inputs: Tensor) -> tuple[Tensor, ...]:
            return walk(*inputs)

        parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names[1:]]
        forward.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # inspect reads it
        self.forward = forward  # type: ignore[method-assign]


def _require_operands(row: Row, inputs: Sequence[Tensor | None]) -> None:
    for function in (row.function, row.expand):
        try:
            if function is not None:
                inspect.signature(function).bind(None, *inputs)
        except TypeError:
            raise Rejected(
                f"it has {len(inputs)} operands: one is missing, or one too many is there", DAMAGED
            ) from None


def _expanded(
    expand: Callable[..., Expansion | None], node: FileNode, inputs: Sequence[Tensor | None], taken: set[str]
) -> Expansion | None:
    """The expansion of a node, whose new tensors have names that no other tensor has; these are then taken."""
    for suffix in ("", "'", "''", "'''"):
        ends = {name + suffix: name for name in node.outputs if name}
        name = node.name if ends else node.name + suffix
        found = expand(replace(node, name=name, outputs=tuple(n and n + suffix for n in node.outputs)), *inputs)
        if found is None:
            return None
        nodes, constants = found
        new = {*constants, *(name for one in nodes for name in one.outputs if name and name not in ends)}
        if not (new | (ends.keys() if suffix else set())) & taken:
            taken |= new
            return [
                replace(
                    one,
                    name=node.name if one.name == name else one.name,
                    inputs=tuple(ends.get(n, n) for n in one.inputs),
                    outputs=tuple(ends.get(n, n) for n in one.outputs),
                )
                for one in nodes
            ], constants
    raise Rejected("tensors in it have the names of others", "give each tensor of the file a name of its own")


class _Told:
    """Names the operator in what its row raises."""

    def __init__(self, subject: str) -> None:
        self._subject = subject

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, UsageError) or not isinstance(error, Exception):
            return
        raise refused(self._subject, error, ELSEWHERE if isinstance(error, Rejected) else SIZES) from error


def _example(one: SizedInput, generator: torch.Generator) -> Tensor:
    if one.dtype.is_floating_point:
        return torch.randn(one.sizes, generator=generator).to(one.dtype)
    if one.dtype in (torch.int8, torch.uint8, torch.int16):  # which stand for real numbers
        ends = torch.iinfo(one.dtype)
        return torch.randint(ends.min, ends.max + 1, one.sizes, generator=generator, dtype=one.dtype)
    return torch.zeros(one.sizes, dtype=one.dtype)


def _all_known(values: Sequence[Tensor | None]) -> bool:
    return all(value is None or not value.is_meta for value in values)


def _scalars(inputs: Sequence[Tensor | None]) -> dict[int, Any]:
    """By place, the constants of one element that broadcasting needs no axes of."""
    axes = max(value.dim() for value in inputs if value is not None and value.is_meta)
    return {
        place: value.item()
        for place, value in enumerate(inputs)
        if value is not None and not value.is_meta and value.numel() == 1 and value.dim() <= axes
    }


def _numbers(value: Tensor | None, name: str, unfolded: Mapping[str, Callable[[], Results]]) -> Any:
    if name in unfolded:  # a constant behind DequantizeLinear
        (value,) = unfolded[name]()
    assert value is not None
    if value.is_meta:
        raise Rejected(
            f"its operand {name!r} is computed while the model runs", "export the model with a constant there"
        )
    return value.tolist()


def _tensor(value: Tensor | None) -> Tensor:
    assert value is not None
    return value


def _source(file: str, node: FileNode) -> str:
    """The operator as a line of a stack trace: the n-th operator of the file is its line n."""
    results, operands = (", ".join(name or "_" for name in names) for names in (node.outputs, node.inputs))
    return f'  File "{file}", line {node.place}, in {identifier(node.kind)}\n    {results} = {node.kind}({operands})'
