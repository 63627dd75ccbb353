"""Reading an ExportedProgram: its constants, its quantize nodes, the user's source lines."""

from __future__ import annotations

import copy
import operator
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from torch.fx import Graph, Node

from ..compat.torch import FakeTensor, is_mutable, program_like
from ..tosa.ir import Origin
from .node_facts import facts
from .operator_names import canonical, is_cast
from .values import INTEGER_RANGES, QParams

QUANTIZE = frozenset(
    f"quantized_decomposed.quantize_{kind}"
    for kind in ("per_tensor.default", "per_tensor.tensor", "per_channel.default")
)
DEQUANTIZE = frozenset(name.replace(".quantize_", ".dequantize_") for name in QUANTIZE)
#: What changes scales in programs that were TOSA before.
_RESCALE = "arm_tosa.RESCALE.default"


#: Data of constants by name in the state dict, and shape.
Known = Mapping[tuple[str, torch.Size], torch.Tensor]
NOTHING: Known = MappingProxyType({})
CONSTANT_INPUTS = frozenset({InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR})


def constants(program: ExportedProgram, known: Known = NOTHING) -> dict[str, torch.Tensor]:
    """Data of the placeholders that are parameters, buffers that nothing writes, and lifted constants, by node name.

    Args:
        known: data for a program whose own tensors are fake. ExecuTorch shows such a program to partitioners. A fake
            tensor that is not known stands as ones, an integer vector as zeros, which are the zero points of channels:
            its numbers cannot be judged.
    """
    data: dict[str, torch.Tensor] = {}
    for name, target, tensor in _constant_inputs(program):
        if isinstance(tensor, FakeTensor):
            tensor = known.get((target, tensor.shape), stand_in(tensor))
        data[name] = tensor.detach()
    return data


def user_results(program: ExportedProgram) -> list[Any]:
    """What a program returns, flat: nodes, and numbers, text and None as they are."""
    (results,) = program.graph.output_node().args
    specs = zip(program.graph_signature.output_specs, cast(list[Any], results), strict=True)
    return [result for spec, result in specs if spec.kind is OutputKind.USER_OUTPUT]


def is_constant(node: Node) -> bool:
    """Whether a node of an exported module is a parameter, or a buffer that nothing writes."""
    return node.op == "get_attr" and not facts(node).written


def is_graph(node: Node) -> bool:
    """Whether a node is a graph that an operator runs, such as the body of a loop."""
    return node.op == "get_attr" and "val" not in node.meta


def is_size(node: Node) -> bool:
    """Whether a node computes a size, in a program whose sizes vary (``varying_sizes``), at one of them."""
    return isinstance(node.meta.get("val"), int)


def stand_in(tensor: torch.Tensor) -> torch.Tensor:
    """Numbers in place of those of a fake tensor."""
    return torch.tensor(tensor.dtype.is_floating_point or not tensor.shape, dtype=tensor.dtype).expand(tensor.shape)


def all_known(program: ExportedProgram, known: Known) -> bool:
    """Whether ``constants`` needs no stand-in."""
    return not any(
        isinstance(t, FakeTensor) and (name, t.shape) not in known for _, name, t in _constant_inputs(program)
    )


def real_constants(program: ExportedProgram) -> Known:
    """Data that is really there: what ``constants`` takes as ``known``."""
    return {(target, t.shape): t for _, target, t in _constant_inputs(program) if not isinstance(t, FakeTensor)}


def _constant_inputs(program: ExportedProgram) -> Iterator[tuple[str, str, torch.Tensor]]:
    signature = program.graph_signature
    mutated = set(signature.buffers_to_mutate.values())
    for spec in signature.input_specs:
        if spec.kind not in CONSTANT_INPUTS or spec.target in mutated:
            continue
        source = program.state_dict if spec.target in program.state_dict else program.constants
        tensor = source.get(str(spec.target))
        if isinstance(tensor, torch.Tensor):
            yield spec.arg.name, str(spec.target), tensor


def started_buffers(program: ExportedProgram) -> frozenset[str]:
    """The buffers that a program writes and that do not start at 0, by their names; none whose numbers are missing."""
    data = {**program.constants, **program.state_dict}
    written = {name: data.get(name) for name in program.graph_signature.buffers_to_mutate.values()}
    return frozenset(
        name
        for name, start in written.items()
        if isinstance(start, torch.Tensor) and not isinstance(start, FakeTensor) and start.any()
    )


def copy_program(program: ExportedProgram) -> ExportedProgram:
    """The program with a graph and a signature of its own; parameters are shared."""
    return copy_with_twins(program)[0]


def copy_with_twins(program: ExportedProgram) -> tuple[ExportedProgram, dict[Node, Node]]:
    """``copy_program``, and the copy of each node."""
    graph = copy.deepcopy(program.graph)
    twins: dict[Node, Node] = dict(zip(program.graph.nodes, graph.nodes, strict=True))
    for old, new in twins.items():
        new.name = old.name  # a copy renames what shadows a builtin, such as "input"
    made: ExportedProgram = program_like(
        program,
        graph,
        _signature(program, graph),
        root=program.graph_module,
        state_dict=dict(program.state_dict),  # ExecuTorch removes what goes into delegates
        example_inputs=program.example_inputs,
        constants=dict(program.constants),
    )
    return made, twins


def _signature(program: ExportedProgram, graph: Graph) -> ExportGraphSignature:
    """A copy of the program's signature for a copy of its graph; outputs by the nodes that make them now."""
    made: ExportGraphSignature = copy.deepcopy(program.graph_signature)
    (output,) = graph.find_nodes(op="output")
    made.output_specs = [
        replace(spec, arg=replace(spec.arg, name=node.name)) if isinstance(node, Node) else spec
        for spec, node in zip(made.output_specs, output.args[0], strict=True)
    ]
    return made


def plain_signature(inputs: Iterable[Node], outputs: Iterable[Node]) -> ExportGraphSignature:
    """Of a graph whose placeholders and results are all the user's tensors."""
    return ExportGraphSignature(
        [InputSpec(InputKind.USER_INPUT, TensorArgument(node.name), None) for node in inputs],
        [OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(node.name), None) for node in outputs],
    )


def is_quantize(node: torch.fx.Node) -> bool:
    return node.op == "call_function" and canonical(node.target) in QUANTIZE


def is_dequantize(node: torch.fx.Node) -> bool:
    return node.op == "call_function" and canonical(node.target) in DEQUANTIZE


def is_quantized(program: ExportedProgram) -> bool:
    """Whether a program has integers as ``convert_pt2e`` writes them or as TOSA has them, some of them or all."""
    names = {canonical(node.target) for node in program.graph.nodes if node.op == "call_function"}
    return bool(names & {*QUANTIZE, *DEQUANTIZE, _RESCALE})


def has_reals(program: ExportedProgram) -> bool:
    """Whether an operator or input of a program is of floats."""
    values = (node.meta.get("val") for node in program.graph.nodes if node.op != "output")
    flat = (one for value in values for one in (value if isinstance(value, (list, tuple)) else (value,)))
    return any(isinstance(one, torch.Tensor) and one.dtype.is_floating_point for one in flat)


def is_int64_cast(node: torch.fx.Node) -> bool:
    """A cast between int64 and int32, as ``edges.narrow_int64`` places them where delegates begin and end."""
    if node.op != "call_function" or not is_cast(node.target) or not node.all_input_nodes:  # none: a cast of a number
        return False
    return {node.all_input_nodes[0].meta["val"].dtype, node.meta["val"].dtype} == {torch.int32, torch.int64}


def attribute(node: torch.fx.Node) -> Any:
    """What a get_attr node refers to."""
    return operator.attrgetter(str(node.target))(node.graph.owning_module)


def qparams(node: torch.fx.Node, data: dict[str, torch.Tensor]) -> tuple[QParams, torch.dtype]:
    """Parameters and integer type of a quantize or dequantize node.

    Args:
        data: the program's constants, in which per-channel scales are looked up.
    """
    args: list[Any] = list(node.args)
    dtype = next(a for a in args if isinstance(a, torch.dtype))
    scale, zero = (_numbers(a, data) for a in args[1:3])
    channel = canonical(node.target).endswith("per_channel.default")
    axis, low, high = (args[3], args[4], args[5]) if channel else (None, args[3], args[4])
    full = INTEGER_RANGES[dtype]
    if channel and any(n != (128 if dtype == torch.uint8 else 0) for n in zero):
        raise ValueError("per-channel zero points other than the middle of the integers")
    return QParams(tuple(scale), int(zero[0]), max(low, full[0]), min(high, full[1]), axis), dtype


def _numbers(argument: Any, data: dict[str, torch.Tensor]) -> list[float]:
    if isinstance(argument, torch.fx.Node):
        tensor = data.get(argument.name)
        if tensor is None and argument.op == "get_attr":
            tensor = attribute(argument)
        if tensor is None:
            raise ValueError("scales that are computed at run time")
        return [float(x) for x in tensor.reshape(-1).tolist()]
    return [argument]


def mutable(node: torch.fx.Node) -> bool:
    """Whether a node is a call of an operator in place."""
    return node.op == "call_function" and is_mutable(node.target)


def whence(program: ExportedProgram, size: Any) -> str:
    """Which dimension of which input makes a symbolic size, such as ``dimension 0 of input x is s77``."""
    symbols = size.node.expr.free_symbols if isinstance(size, torch.SymInt) else set()
    for node in program.graph.find_nodes(op="placeholder"):
        meta = node.meta.get("val") if (symbolic := facts(node).symbolic) is None else symbolic
        for i, n in enumerate(meta.shape if isinstance(meta, torch.Tensor) else ()):
            if isinstance(n, torch.SymInt) and n.node.expr.free_symbols & symbols:
                return f"dimension {i} of input {node.name} is {n}"
    return f"the size {size} depends on data"


_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)\n\s*(?P<code>.*)')


#: Where PyTorch's own files are, and how the code is called that it writes itself.
_TORCH = (str(Path(torch.__file__).parent), "<eval_with_key>")
#: Folders into which packages are installed.
_PACKAGES = {"site-packages", "dist-packages"}


def source_line(node: torch.fx.Node) -> str:
    """The innermost line of the user's model that made this node: ``model.py:12, in forward: y = x + 1``.

    Of a model that comes whole from an installed package it is that package's, and not PyTorch's.
    """
    return _innermost(node.meta.get("stack_trace") or "")


@lru_cache(1 << 12)  # layers of one kind come from the same lines
def _innermost(trace: str) -> str:
    frames = list(_FRAME.finditer(trace))
    if not frames:
        return ""
    packaged = [f for f in frames if not f["file"].startswith(_TORCH)]
    own = [f for f in packaged if _PACKAGES.isdisjoint(Path(f["file"]).parts)]
    f = (own or packaged or frames)[-1]
    return f"{f['file']}:{f['line']}, in {f['function']}: {f['code'].strip()}"


def module_path(node: torch.fx.Node) -> str:
    """The module that made this node, as ``named_modules`` has it; "" for the model itself, or if nobody says."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    return stack[-1][0].replace("L['self'].", "").replace("L['self']", "") if stack else ""


def module_classes(node: torch.fx.Node) -> tuple[str, ...]:
    """The class of each module of ``module_path``, the outermost first; "" for one that was not called itself."""
    stack = (node.meta.get("nn_module_stack") or {}).values()
    known = {path.replace("L['self'].", ""): str(kind).rpartition(".")[2].rstrip("'>") for path, kind in stack}
    parts = module_path(node).split(".")
    return tuple(known.get(".".join(parts[: depth + 1]), "") for depth in range(len(parts))) if parts != [""] else ()


def origin(node: torch.fx.Node) -> Origin:
    """Where an operator comes from, for errors and debug output."""
    return Origin(node.name, canonical(node.target), source_line(node), module_path(node))
