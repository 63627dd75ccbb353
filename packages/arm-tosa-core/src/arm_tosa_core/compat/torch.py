"""Private parts of PyTorch."""

from __future__ import annotations

import itertools
import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any
from unittest import mock

import sympy
import torch
from torch._guards import detect_fake_mode as detect_fake_mode
from torch._ops import HigherOrderOperator as HigherOrderOperator
from torch._ops import OpOverload as OpOverload
from torch._subclasses.fake_tensor import FakeTensor as FakeTensor
from torch._subclasses.fake_tensor import FakeTensorMode as FakeTensorMode
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature
from torch.fx import Graph, GraphModule
from torch.fx._pytree import tree_flatten_spec
from torch.fx.experimental.proxy_tensor import make_fx as make_fx
from torch.fx.experimental.symbolic_shapes import has_free_unbacked_symbols as has_free_unbacked_symbols
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import (
    NO_SERIALIZED_TYPE_NAME_FOUND,
    SERIALIZED_TYPE_TO_PYTHON_TYPE,
    SUPPORTED_SERIALIZED_TYPES,
)
from torch.utils._pytree import tree_flatten as tree_flatten
from torch.utils._pytree import tree_leaves as tree_leaves
from torch.utils._pytree import tree_map as tree_map
from torch.utils._pytree import tree_map_only as tree_map_only
from torch.utils._pytree import tree_structure as tree_structure
from torch.utils._pytree import tree_unflatten as tree_unflatten
from torch.utils._sympy.interp import sympy_interp
from torch.utils._sympy.reference import PythonReferenceAnalysis
from torch.utils._sympy.value_ranges import ValueRanges

from .torch_inductor import import_without_inductor

import_without_inductor()

#: Values of a program's sizes at most for which an answer of PyTorch is compared.
_MOST = 1 << 14

_quiet: ContextVar[bool] = ContextVar("quiet", default=False)
#: Those that print the trace of an error before it is raised; not where ``_quiet`` is set.
for _name in ("_subclasses.fake_tensor", "fx.experimental.symbolic_shapes"):
    logging.getLogger(f"torch.{_name}").addFilter(lambda _: not _quiet.get())

# Of the names above:
# - ``OpOverload`` and ``HigherOrderOperator`` are the types of targets of call_function nodes. Without them operators
#   cannot be told from functions of Python, nor from control flow.
# - ``FakeTensor`` marks constants whose numbers ExecuTorch does not show, and those that torch.export has lost. Without
#   it their numbers would be read as if they were there.
# - ``FakeTensorMode`` makes tensors that have a size and no numbers. Without it no size may vary.
# - ``detect_fake_mode``, ``make_fx`` and ``has_free_unbacked_symbols`` give shapes to operators of composite rules, and
#   trace PyTorch's own decompositions. Without them no composite operator is quantized in parts.
# - ``tree_...`` flatten arguments as torch.export does. Without them calibration data does not reach graph modules.


def schema_of(target: Any) -> Any:
    """The ``torch.FunctionSchema`` of an overload; None for other targets.

    Needs ``OpOverload._schema``. Without it operators have no names, and views and operators in place are not known.
    """
    return getattr(target, "_schema", None)


def is_mutable(target: Any) -> bool:
    """Whether an operator writes to one of its operands; False for other targets.

    Needs ``FunctionSchema.is_mutable``. Without it programs would not be made functional.
    """
    schema = schema_of(target)
    return schema is not None and bool(schema.is_mutable)


def is_batched(value: Any) -> bool:
    """Whether a tensor is one that ``torch.vmap`` shows to its function: of one dimension less than it has.

    Needs ``torch._C._functorch.is_batchedtensor``. Without it operators within are taken for those of smaller tensors.
    """
    return isinstance(value, torch.Tensor) and torch._C._functorch.is_batchedtensor(value)


def is_transform(target: Any) -> bool:
    """Whether a node's target is a part of ``torch.vmap`` that export leaves in a program, and no operator.

    Needs ``torch._functorch.predispatch``. Without it models with ``torch.vmap`` are not lowered.
    """
    return getattr(target, "__module__", None) == "torch._functorch.predispatch"


def overload_named(name: str, overload: str = "") -> Any:
    """The overload of an operator by its schema's name, such as ``"aten::add"`` and ``"Tensor"``; None if none is.

    Needs ``torch.ops`` to resolve names. Without it no operator in place becomes the one that is not.
    """
    namespace, base = name.split("::")
    packet = getattr(getattr(torch.ops, namespace), base, None)
    return getattr(packet, overload or "default", None)


def out_of_place_twin(target: Any) -> Any:
    """The overload that gives, as a new tensor, what one in place writes to its first operand; None if none does.

    Its name may differ in more than a ``_``: ``__ior__`` and ``__or__``, ``pow_.Tensor`` and ``pow.Tensor_Tensor``.
    Needs ``torch.ops`` to resolve names. Without it no operator in place becomes the one that is not.
    """
    schema = schema_of(target)
    namespace, base = schema.name.split("::")
    name = f"__{base[3:]}" if base.startswith("__i") else base.removesuffix("_")
    packet = None if name == base else getattr(getattr(torch.ops, namespace), name, None)
    if packet is None:
        return None
    operands = [(each.name, str(each.type)) for each in schema.arguments]
    for overload in sorted(packet.overloads(), key=lambda known: known != (schema.overload_name or "default")):
        twin = getattr(packet, overload)
        if not is_mutable(twin) and [(each.name, str(each.type)) for each in schema_of(twin).arguments] == operands:
            return twin
    return None


def resolve_overload(packet: Any, args: Any, kwargs: Any) -> Any:
    """The overload that PyTorch calls for these arguments; tensors may be fake ones.

    Needs ``torch._C._jit_resolve_packet``. Without it composite rules would have to say every overload.
    """
    chosen = torch._C._jit_resolve_packet(packet._qualified_op_name, *args, **kwargs)
    return getattr(packet, chosen or "default")


def can_decompose(target: Any) -> bool:
    """Whether PyTorch has a composite implementation of an overload that it runs unless told otherwise.

    Needs ``OpOverload._can_decompose``. Without it a result may be taken for new memory that is none.
    """
    return bool(target._can_decompose())


def is_composite(target: Any) -> bool:
    """Whether an overload is implemented by others alone, for every device.

    Needs ``torch._C._dispatch_has_kernel_for_dispatch_key``. Without it operators without a rule stay on the CPU whose
    parts have rules.
    """
    return torch._C._dispatch_has_kernel_for_dispatch_key(target.name(), "CompositeImplicitAutograd")


def decomposition_of(target: Any) -> Callable[..., Any] | None:
    """PyTorch's own decomposition of an overload, in the form of a function of tensors; None if it has none.

    Needs ``torch._decomp.decomposition_table``. Without it operators without a rule are not quantized in parts.
    """
    if target._can_decompose():
        return target.decompose  # type: ignore[no-any-return]
    return torch._decomp.decomposition_table.get(target)


def keeping_sizes(fakes: Sequence[Any]) -> AbstractContextManager[Any]:
    """While operators are traced on fake tensors: sizes that vary stay symbols where a number is wanted.

    Needs ``detect_fake_mode`` and ``ShapeEnv.suppress_guards``. Without it the first ``clamp`` with such a size fixes
    it to that of the example, for all that is traced behind it.
    """
    mode = detect_fake_mode(fakes)
    return nullcontext() if mode is None or mode.shape_env is None else mode.shape_env.suppress_guards()


def storage_of(tensor: torch.Tensor) -> int:
    """A key that two tensors, fake ones included, have in common if and only if they share memory.

    Needs ``UntypedStorage._cdata``. Without it assignments to views are not seen.
    """
    return int(tensor.untyped_storage()._cdata)


def module_of_any_size(program: ExportedProgram) -> torch.fx.GraphModule:
    """The module of a program, which does not ask whether its inputs have the sizes that it was exported with.

    Needs ``Module._forward_pre_hooks``, where PyTorch 2.13 has that question beside ``check_guards``. Without it a
    program of one size refuses others.
    """
    module = program.module(check_guards=False)
    module._forward_pre_hooks.clear()
    return module


def fake_mode_of(program: ExportedProgram) -> Any:
    """A key of a program and of those made of it, and of no other; None for a program without tensors.

    Needs ``FakeTensor.fake_mode``. Without it methods of one program would be judged by each other's constants.
    """
    metas = (node.meta.get("val") for node in program.graph.find_nodes(op="placeholder"))
    return next((meta.fake_mode for meta in metas if isinstance(meta, FakeTensor)), None)


def call_structure(module: Any) -> Any:
    """The structure of the arguments and keyword arguments that an exported module was exported with.

    Needs ``GraphModule._in_spec`` of exported modules. Without it calls cannot be told from one another.
    """
    return module._in_spec


def flat_call(module: Any, arguments: Sequence[Any]) -> list[Any]:
    """The leaves of a call of an exported module, by the keys of its dictionaries; ``arguments`` in its order.

    Needs ``torch.fx._pytree.tree_flatten_spec``, which exported modules call themselves. Without it inputs of a sample
    would change places where its dictionaries have another order.
    """
    structure = call_structure(module)
    positional, names = structure.child(0).num_children, structure.child(1).context or []
    call = (tuple(arguments[:positional]), dict(zip(names, arguments[positional:], strict=True)))
    return list(tree_flatten_spec(call, structure))


def program_like(
    like: ExportedProgram,
    graph: Graph,
    graph_signature: ExportGraphSignature,
    cls: type[ExportedProgram] = ExportedProgram,
    **changes: Any,
) -> Any:
    """A program with another graph; ``like`` lends all parts that are not given.

    Needs the constructor of ``ExportedProgram`` and its ``verifiers``. Without it no program can be cut or edited.

    Args:
        like: lends ``range_constraints``, ``module_call_graph`` and ``verifiers``.
        cls: ``ExportedProgram`` or a subclass.
        changes: other arguments of the constructor; by default ``root`` is an empty module, and there is no state.
    """
    lent = {"range_constraints": like.range_constraints, "module_call_graph": like.module_call_graph}
    fields: dict[str, Any] = {"state_dict": {}, **lent, **changes}
    if "root" not in fields:
        fields["root"] = GraphModule({}, graph)
    return cls(graph=graph, graph_signature=graph_signature, verifiers=like.verifiers, **fields)


def register_quantized_decomposed() -> None:
    """Registers the operators ``quantized_decomposed``, which quantized programs call.

    Needs that ``torch.ao.quantization.fx._decomposed`` registers them when it is imported. Without it a quantized
    ``.pt2`` does not load in a process that has quantized nothing.
    """
    import torch.ao.quantization.fx._decomposed  # noqa: F401


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


def name_result_types() -> None:
    """Gives the named tuples of PyTorch, such as that of ``torch.topk``, names that a program can be written with.

    Needs pytree's tables of types that it can write. Without it a model that returns one whole is exported,
    and then not written by ExecuTorch.
    """
    for kind in torch.return_types.all_return_types:
        node = SUPPORTED_SERIALIZED_TYPES.get(kind)
        if node is not None and node.serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND:
            name = f"torch.return_types.{kind.__name__}"
            SUPPORTED_SERIALIZED_TYPES[kind] = node._replace(serialized_type_name=name)
            SERIALIZED_TYPE_TO_PYTHON_TYPE[name] = kind


def shapes_and_types(
    function: Callable[..., Any], inputs: Sequence[tuple[Sequence[int], torch.dtype]]
) -> list[tuple[tuple[int, ...], torch.dtype]]:
    """Shapes and types of what a function returns for tensors of these, one or several; whatever traces sees nothing.

    Needs ``_disable_current_modes`` and ``FakeTensorMode``. Without them an export would also take the operators of a
    function that is only asked for its shapes.
    """
    with _disable_current_modes(), FakeTensorMode(allow_non_fake_inputs=True):
        results = function(*(torch.empty(tuple(shape), dtype=dtype) for shape, dtype in inputs))
    return [(tuple(result.shape), result.dtype) for result in tree_leaves(results)]
