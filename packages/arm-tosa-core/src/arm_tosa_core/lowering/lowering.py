"""Lowers the nodes of an exported program to TOSA, or says why one cannot be."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from ..compat.executorch import aten_overload
from ..compat.torch import FakeTensor, HigherOrderOperator, is_batched, is_mutable, is_transform, tree_map_only
from ..plugin.target import Target
from ..support.errors import LoweringError, Rejected
from ..tosa.dtypes import torch_to_tosa
from ..tosa.graph import Graph
from ..tosa.ir import Op, Tensor
from ..tosa.level_limits import MAX_RANK
from ..tosa.specification import extensions_of
from .builder import Builder
from .builder.tables import NotFollowed
from .complex_numbers import find_complex, is_complex
from .cut import cut
from .exported_program import attribute, is_dequantize, is_quantize, is_size, origin, source_line, stand_in, whence
from .int64_range import require_known, with_range
from .loops import lower_loop
from .memory_order import memory_order
from .moved_constants import moved_constant
from .operator_names import canonical, is_reproducible, map_arguments
from .program_facts import Facts
from .quantize_nodes import dequantized, ends_quantized, operand, output_qparams, quantized
from .result_steps import bounded, in_shared_steps, results_of
from .rule import Q, Rule
from .unary_functions import Function, Part
from .values import Complex, QParams, Value, inverse

#: Policies of operators that compute: of quantized constants they are evaluated, where others keep the integers.
_COMPUTES = frozenset(Q) - {Q.NONE, Q.SHARED, Q.CONV}

#: What computes in float, said without knowledge of TOSA.
NOT_QUANTIZED = Rejected(
    "is not quantized: it computes in float, and the target has integers only",
    "quantize the model first (quantize_program; on the command line --quantize), this layer included",
)


class Lowering:
    """Lowers the nodes of a program one by one.

    Args:
        program: in the ATen or edge dialect, quantized or not.
        facts: what is known of the program, if somebody has looked already.
        wide_inputs: int64 tensors may come from outside: someone will narrow them.

    ``values`` holds what became of each node, ``emitted`` the operators that it took, ``inputs`` the nodes that come
    from outside, ``precise`` whether the table of a function is to be precise, where that was asked. Constants of the
    graph are lazy: ``cut`` makes those of what is kept.
    """

    def __init__(
        self, program: ExportedProgram, target: Target, facts: Facts | None = None, *, wide_inputs: bool = True
    ) -> None:
        self.program = program
        self.target = target
        self.facts = facts or Facts(program, target)
        self.rules = self.facts.rules
        self.graph = Graph()
        self.builder = self._builder(self.graph)
        self.constants = self.facts.constants
        self.wide_inputs = wide_inputs
        self.values: dict[Node, Any] = {}
        self.emitted: dict[Node, list[Op]] = {}
        self.inputs: set[Node] = set()
        self.precise: dict[Node, bool] = {}

    def _builder(self, graph: Graph) -> Builder:
        target = self.target
        return Builder(graph, target.tosa_spec, target.checks, rules=self.rules, preferences=target.preferences)

    # -- whole programs ---------------------------------------------------------------------------

    def run(self) -> Graph:
        """Lowers every node.

        Raises:
            LoweringError: a node has no rule or its rule refuses; names the node, its source line and why.
        """
        for node in self.program.graph.nodes:
            try:
                if node.op == "output":
                    self.graph.outputs += map(self.output, _results(node))
                else:
                    self.lower(node)
            except Rejected as why:
                raise LoweringError(_explained(node, why, self.target)) from why
        return cut(self.graph.ops, {t: t for t in self.graph.inputs}, self.graph.outputs)

    def output(self, node: Node) -> Tensor:
        """The value of a node as it leaves the graph: in the type and memory order that PyTorch says."""
        value, meta = self.values[node], node.meta["val"]
        self.builder.origin = origin(node)
        if value.quant and meta.dtype.is_floating_point:
            value = self.builder.real(value)
        tensor = self.builder.tensor(self.builder.apply_clamp(value), memory_order(meta))
        return self.builder.unsigned(tensor) if meta.dtype == torch.uint8 else tensor

    # -- one node ---------------------------------------------------------------------------------

    def lower(self, node: Node) -> Any:
        """Finds the value of a node whose arguments have values already.

        Raises:
            Rejected: it does not lower under this specification and target; the graph is as it was before.
        """
        mark = self.builder.mark()
        try:
            value = self.values[node] = self._lowered(node)
        except Rejected:
            self.builder.undo(mark)
            raise
        self.emitted[node] = self.graph.ops[mark[0] :]
        return value

    def take(self, node: Node) -> None:
        """Gives a node the value of a tensor that comes from outside.

        Raises:
            Rejected: TOSA has no such tensor.
        """
        self.values[node] = self.input(node.name, node.meta["val"])
        self.inputs.add(node)

    def of_copy(self, program: ExportedProgram, twins: Mapping[Node, Node]) -> Lowering:
        """What was lowered, for a copy of the program, given the copy of each node. Nothing more is lowered with it."""
        other = copy.copy(self)
        other.program = program
        other.values = {twins[n]: value for n, value in self.values.items()}
        other.emitted = {twins[n]: ops for n, ops in self.emitted.items()}
        other.inputs = {twins[n] for n in self.inputs}
        return other

    def add_same(self, new: Node, node: Node) -> None:
        """Gives a new node the value of another, as the type that PyTorch says."""
        value = self.values[node]
        if isinstance(value, Value) and not value.quant:
            value = self.builder.cast(value, new.meta["val"].dtype)
        self.values[new], self.emitted[new] = value, []
        if node in self.inputs and memory_order(new.meta["val"]) == memory_order(node.meta["val"]):
            self.inputs.add(new)

    def _lowered(self, node: Node) -> Any:
        meta = node.meta.get("val")
        if is_size(node):
            return meta
        if is_transform(node.target) or is_batched(meta):
            raise Rejected("is within torch.vmap", "run_decompositions({}) of the program takes it apart")
        if isinstance(meta, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            raise Rejected("computes a number from sizes that vary", "export with these sizes fixed")
        if node.op == "placeholder":
            return self._placeholder(node)
        if node.op == "get_attr":
            return self._attribute(node)
        if node.op != "call_function":
            raise Rejected(f"is a {node.op} node, not an operator")
        if node.target is operator.getitem:
            result = self.values[node.args[0]][node.args[1]]  # type: ignore[index]
            if isinstance(result, Rejected):
                if node.users:
                    raise result
                return None  # nobody reads it
            return result
        if node.target is torch.ops.higher_order.while_loop:
            self.builder.origin = origin(node)
            return lower_loop(self, node)
        if isinstance(node.target, HigherOrderOperator):
            raise Rejected(
                f"is control flow that depends on data: {node.target}", "export with a fixed number of steps"
            )
        self.builder.origin = origin(node)
        if is_dequantize(node):
            return dequantized(self, node)
        if is_quantize(node):
            return quantized(self, node)
        if (function := self._function(node)) is not None:
            return self._table(function) if node is function.last else Part(function.last.name)
        moved = bool(self.rules.traits_of(node).moves)
        values = {n: operand(self.values[n], n, moved) for n in node.all_input_nodes}
        args, kwargs = (torch.fx.map_arg(given, values.__getitem__) for given in (node.args, node.kwargs))
        inputs = [v for v in values.values() if not isinstance(v, int)]
        name = canonical(node.target)
        rule = find_complex(name, self.rules) if any(map(is_complex, inputs)) else self.rules.find(name)
        if not all(isinstance(v, (Value, Complex)) for v in inputs):
            raise Rejected("uses a number that is only known at run time", "export with static shapes")
        computes = rule is not None and rule.quant in _COMPUTES
        known = all(v.is_const and (computes or not v.quant) for v in inputs)
        if known and (rule is not None or is_reproducible(node.target)):
            return self._evaluate(node, args, kwargs)
        if rule is None:
            raise self.rules.missing(name)
        for tensor in meta if isinstance(meta, (list, tuple)) else [meta]:
            if isinstance(tensor, torch.Tensor):
                self._static_shape(tensor)
        if isinstance(meta, torch.Tensor) and not meta.numel():  # TOSA has no such tensor, and none is needed
            return self.builder.const(torch.empty(meta.shape, dtype=meta.dtype))
        if rule.traits.contiguous and not all(n.meta["val"].is_contiguous() for n in node.all_input_nodes):
            raise Rejected("counts elements of a tensor that does not lie in memory in its own order", "clone it first")
        if not self.target.tosa_spec.support_float() and any(_is_real(v) for v in inputs):
            raise self._own_reason(rule, node) or NOT_QUANTIZED
        require_known(node, rule, self.values)
        if rule.quant not in (Q.CONV, Q.SHARED):
            args, kwargs = (_map_values(v, self._static) for v in (args, kwargs))
        reals = isinstance(meta, torch.Tensor) and meta.dtype.is_floating_point
        try:
            if reals and rule.traits.moves and all(v.is_const for v in inputs):
                return self._moved(rule, node, args, kwargs, inputs)
            result = self._apply(rule, node, args, kwargs, inputs)
        except Rejected as why:
            if self.target.tosa_spec.support_float() or not reals or any(v.quant for v in inputs):
                raise
            raise self._own_reason(rule, node) or NOT_QUANTIZED from why
        _verify_result(node, result, rule)
        return with_range(result, node, rule, self.values)

    def _moved(self, rule: Rule, node: Node, args: Any, kwargs: Any, inputs: list[Value]) -> Any:
        """Of quantized constants: integers if they stand for the result, real numbers if not."""
        mark = self.builder.mark()
        try:
            result = self._apply(rule, node, args, kwargs, inputs)
            if result.is_const:
                return result
        except Rejected:
            pass
        self.builder.undo(mark)
        moved = moved_constant(aten_overload(node.target), args, kwargs)
        return self._evaluate(node, args, kwargs) if moved is None else self.builder.const(*moved)

    def _own_reason(self, rule: Rule, node: Node) -> Rejected | None:
        """Why a node would stay on the CPU whatever TOSA the target had; None if it would not."""
        spec = self.target.tosa_spec
        every = replace(spec, profiles=frozenset({"INT", "FP"}), extensions=extensions_of(spec.version))
        trial = self.inside(node.name)
        trial.builder, trial.wide_inputs = Builder(trial.graph, every, rules=self.rules), True

        def real(n: Node) -> Any:
            given: Value = self.values[n]
            return trial.builder.const(given.real()) if given.is_const else trial.input(n.name, n.meta["val"])

        if any(is_complex(self.values[n]) for n in node.all_input_nodes):
            return None
        try:
            rule.function(trial.builder, *torch.fx.map_arg(node.args, real), **torch.fx.map_arg(node.kwargs, real))
        except Rejected as why:
            return why
        return None

    def _static_shape(self, meta: torch.Tensor) -> tuple[int, ...]:
        for size in meta.shape:
            if not isinstance(size, int):
                why = f"has a dynamic shape: {whence(self.program, size)}"
                bound = "give it a bound (torch.export.Dim with max), or " if self.target.compiler.sizes else ""
                raise Rejected(why, f"{bound}export with static shapes")
        return tuple(meta.shape)

    def _apply(self, rule: Rule, node: Node, args: Any, kwargs: Any, inputs: list[Value]) -> Any:
        quantized = [v for v in inputs if isinstance(v, Value) and v.quant and not v.is_const]
        if quantized:
            wanted = output_qparams(node, self.constants)
            narrow = all(v.quant and v.quant.bits == 8 for v in quantized)
            # int16 tables only interpolate; arithmetic is exact
            table = rule.quant is Q.TABLE or (rule.quant in (Q.ARITHMETIC, Q.STEPS) and narrow)
            one = quantized[0] if len(quantized) == 1 else None
            if table and one and wanted and all(v is one or _is_number(v, one) for v in inputs):
                function, mark = _evaluator(node, args, kwargs, one), self.builder.mark()
                try:
                    return self.builder.TABLE(one, function, *wanted, precise=self._precise(node))
                except NotFollowed:
                    if not self.target.tosa_spec.support_float():
                        raise
                    self.builder.undo(mark)
            if rule.quant is Q.SHARED:
                return in_shared_steps(self, rule, node, args, kwargs, quantized, wanted)
            if rule.quant is Q.BOUNDS and not ends_quantized(node, self.rules):
                return bounded(self, rule.function(self.builder, *args, **kwargs))
        return results_of(rule, self.builder, node, args, kwargs)

    def _function(self, node: Node) -> Function | None:
        """The function of one quantized tensor that a node is part of, where it is one table."""
        function = self.facts.functions(node.graph, self.constants).get(node)
        if function is None or output_qparams(function.last, self.constants) is None:
            return None
        x = self.values.get(function.parts[0])
        if not all(is_dequantize(n) for n in function.readers) or not isinstance(x, Value) or x.is_const:
            return None
        quant = x.quant
        if quant is None or quant.axis is not None or quant.run_time or quant.bits not in (8, 16):
            return None
        return function if self._is_table(function, quant) else None

    def _is_table(self, function: Function, quant: QParams) -> bool:
        """Whether a function is one table; if tables do not follow it, its parts are in float where they can be."""
        if quant.bits == 8 or not self.target.tosa_spec.support_float():
            return True
        asked = self.facts.followed
        if (function, quant) not in asked:
            mark = self.builder.mark()
            try:
                asked[function, quant] = self._table(function) is not None
            except NotFollowed:
                asked[function, quant] = False
            self.builder.undo(mark)
        return asked[function, quant]

    def _table(self, function: Function) -> Value:
        wanted = output_qparams(function.last, self.constants)
        assert wanted is not None
        x = self.values[function.parts[0]]  # dequantized
        return self.builder.TABLE(x, function, *wanted, precise=self._precise(function.last))

    def _precise(self, node: Node) -> bool:
        self.precise[node] = self.facts.precision.is_worth_it(node)
        return self.precise[node]

    def _static(self, value: Value) -> Value:
        """Only layers, and what moves data, take integers whose scale is computed at run time."""
        return self.builder.real(value) if value.quant and value.quant.run_time else value

    def _placeholder(self, node: Node) -> Value:
        meta = node.meta.get("val")
        if node.name in self.constants:
            return self.builder.const(self.constants[node.name])
        if not isinstance(meta, torch.Tensor):
            raise Rejected(f"is an input of type {type(meta).__name__}, not a tensor")
        self.inputs.add(node)
        return self.input(node.name, meta)

    def input(self, name: str, meta: torch.Tensor) -> Value:
        """A new graph input for a tensor that comes from outside."""
        shape = self._static_shape(meta)
        if len(shape) > MAX_RANK:  # operators are checked as they are emitted, and an operator may emit none
            raise Rejected(f"reads a tensor whose rank {len(shape)} exceeds MAX_RANK = {MAX_RANK} of TOSA level 8K")
        if 0 in shape:
            raise Rejected("reads a tensor without elements, which TOSA has not", "make it within the model")
        if meta.dtype == torch.int64 and not self.wide_inputs:
            raise Rejected("reads int64, which TOSA has not", "cast it to int32 in the model")
        dtype = torch.int32 if meta.dtype == torch.int64 else meta.dtype
        order = memory_order(meta)
        physical = [shape[i] for i in inverse(order)] if order else shape
        return self.builder.value(self.graph.input(name, physical, torch_to_tosa(dtype)), meta.dtype, order)

    def inside(self, name: str) -> Lowering:
        """For a graph within an operator: as this one, with nothing in it."""
        inner = copy.copy(self)
        inner.graph, inner.values, inner.constants = Graph(name), {}, {}
        inner.emitted, inner.inputs, inner.precise = {}, set(), {}
        inner.builder = self._builder(inner.graph)
        inner.wide_inputs = False
        return inner

    def _attribute(self, node: Node) -> Value | GraphModule:
        found = attribute(node)
        if isinstance(found, GraphModule):
            return found  # for the operator that runs it
        if not isinstance(found, torch.Tensor):
            raise Rejected(f"refers to {type(found).__name__} {node.target}, not to a tensor")
        if isinstance(found, FakeTensor):
            raise Rejected("reads a constant whose numbers torch.export has lost", "make it an operand of the loop")
        return self.builder.const(found.detach())

    def _evaluate(self, node: Node, args: Any, kwargs: Any) -> Any:
        """Runs an operator of constants at compile time."""
        run = aten_overload(node.target)

        def data(v: Value) -> torch.Tensor:  # an operator in place must not write into the user's model
            return v.real().clone() if is_mutable(run) else v.real()

        try:
            with torch.no_grad():
                result = run(*_map_values(args, data), **_map_values(kwargs, data))
        except (IndexError, RuntimeError):
            if self.facts.all_known:
                raise
            result = tree_map_only(torch.Tensor, stand_in, node.meta["val"])  # such as an index that was made up
        if isinstance(result, torch.Tensor):
            return self.builder.const(result)
        if not isinstance(result, (tuple, list)):
            return result  # a number, or nothing
        return tuple(self.builder.const(r) if isinstance(r, torch.Tensor) else r for r in result)


def _results(output: Node) -> list[Node]:
    results: list[Any] = list(output.args[0])  # type: ignore[arg-type]
    for result in results:
        if not isinstance(result, Node):
            raise Rejected(f"returns {result!r}, which is not a tensor")
    return results


def _is_real(value: Value) -> bool:
    """Whether a value is computed in float."""
    return value.dtype.is_floating_point and not value.is_const and value.quant is None


def _is_number(value: Any, beside: Value) -> bool:
    return isinstance(value, Value) and value.is_const and value.size == 1 and value.rank <= beside.rank


def _map_values(arguments: Any, change: Callable[[Value], Any]) -> Any:
    return map_arguments(arguments, lambda v: change(v) if isinstance(v, Value) else v)


def _evaluator(node: Node, args: Any, kwargs: Any, x: Value) -> Callable[[torch.Tensor], torch.Tensor]:
    """The operator as a function of one operand, the others fixed."""
    run = aten_overload(node.target)

    def evaluate(real: torch.Tensor) -> torch.Tensor:
        def fixed(v: Value) -> torch.Tensor:
            return real if v is x else v.real().reshape(())

        with torch.no_grad():
            return run(*_map_values(args, fixed), **_map_values(kwargs, fixed))  # type: ignore[no-any-return]

    return evaluate


def _verify_result(node: Node, result: Any, rule: Rule) -> None:
    """A rule must give what PyTorch says it gives: a wrong type or shape is a fault of the rule, and refused."""
    meta = node.meta.get("val")
    several = not isinstance(meta, torch.Tensor)
    if several and len(result) != len(meta or ()):  # at other sizes there may be more parts of a tensor
        raise Rejected(f"is lowered to {len(result)} results, PyTorch says {len(meta or ())}")
    pairs: Iterable[tuple[Any, Any]] = zip(result, meta or (), strict=True) if several else [(result, meta)]
    for value, expected in pairs:
        if not isinstance(value, Value) or not isinstance(expected, torch.Tensor):
            continue
        if value.shape != tuple(expected.shape) or value.dtype != expected.dtype:
            raise Rejected(
                f"is lowered wrongly: rule {rule} gave {value.dtype} {list(value.shape)}, "
                f"PyTorch says {expected.dtype} {list(expected.shape)}",
                "report it to whoever wrote the rule",
            )


def _explained(node: Node, why: Rejected, target: Target) -> str:
    where = source_line(node)
    lines = [f"{node.name} ({canonical(node.target)}) cannot be lowered to {target.tosa_spec} for {target.name}: {why}"]
    if where:
        lines.append(f"    at {where}")
    return "\n".join(lines)
