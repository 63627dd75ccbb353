"""State that the host carries from call to call: which input is which output of the call before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from ...compat.torch import call_structure, tree_leaves, tree_unflatten
from ...lowering.exported_program import user_results
from ...support.errors import UsageError
from .calls import Sample, inputs_of
from .runner import Runner, unwritten

#: Name of an input: name or index of the output that is its number in the next call.
States = Mapping[str, str | int]

#: What a state's output is called where its input is called ``h``.
_NEXT = ("{}", "{}n", "{}_n", "{}_out", "{}_next", "next_{}", "new_{}", "{}_new")


def resolve_states(program: ExportedProgram, states: States) -> dict[str, int]:
    """The index of the output for each input, as exported programs count them.

    Args:
        states: outputs by index, by their key where the model returns a dictionary, or by name of the node. An output
            is the input's next numbers, or rows that the host writes into it: see ``is_appended``.

    Raises:
        UsageError: there is no such input or output, one output is meant twice, or the two fit neither way.
    """
    inputs, outputs, keys = _inputs(program), _outputs(program), output_keys(program)
    names = {n.name: i for i, n in enumerate(outputs) if n is not None} | keys
    indices: dict[str, int] = {}
    for name, output in states.items():
        if name not in inputs:
            raise UsageError(f"states: the model has no input {name!r}; its inputs are {', '.join(inputs)}")
        index = names.get(output) if isinstance(output, str) else output
        if index is None or not 0 <= index < len(outputs):
            valid = ", ".join(keys or names) if isinstance(output, str) else f"0 to {len(outputs) - 1}"
            raise UsageError(f"states: the model has no output {output!r} for input {name!r}; its outputs are {valid}")
        if index in indices.values():
            raise UsageError(f"states: output {output!r} is the state of two inputs")
        before, after, result = _kind(inputs[name]), _kind(outputs[index]), outputs[index]
        if before != after and (result is None or not is_appended(inputs[name], result)):
            raise UsageError(f"states: input {name!r} is {before}, but output {output!r} is {after}")
        indices[name] = index
    return indices


def is_appended(state: Node, result: Node) -> bool:
    """Whether a result is rows that the host writes into a state, as those of a cache of keys and values.

    It has the state's type, and its shape but for one axis, along which there are fewer rows, or a number that varies.
    """
    whole, rows = state.meta["val"], result.meta["val"]
    if whole.dtype != rows.dtype or whole.dim() != rows.dim():
        return False
    others = [(a, b) for a, b in zip(whole.shape, rows.shape, strict=True) if not isinstance(b, int) or a != b]
    return len(others) == 1 and (not isinstance(others[0][1], int) or others[0][1] < others[0][0])


def find_states(program: ExportedProgram) -> dict[str, int]:
    """The states that names tell: the model returns a dictionary, whose keys say what an input's next numbers are.

    An input ``h`` has the output ``h``, ``hn``, ``h_n``, ``h_out``, ``h_next``, ``next_h``, ``new_h`` or ``h_new``, of
    its shape and type. Two that fit, or one that fits two inputs, are none.
    """
    inputs, outputs, keys = _inputs(program), _outputs(program), output_keys(program)
    fitting = {
        name: [
            keys[key]
            for key in dict.fromkeys(form.format(name) for form in _NEXT)
            if key in keys and _is_float(node) and _kind(outputs[keys[key]]) == _kind(node)
        ]
        for name, node in inputs.items()
    }
    meant = [index for indices in fitting.values() for index in indices]
    return {name: indices[0] for name, indices in fitting.items() if len(indices) == 1 and meant.count(indices[0]) == 1}


def output_keys(program: ExportedProgram) -> dict[str, int]:
    """The index of each output that is a value of the dictionary that a model returns."""
    structure = program.call_spec.out_spec
    keys = tree_unflatten(list(range(structure.num_leaves)), structure)
    if not isinstance(keys, Mapping):
        return {}
    return {str(key): value for key, value in keys.items() if isinstance(value, int)}


def with_carried_states(module: GraphModule, states: Mapping[str, int], samples: Iterable[Sample]) -> Iterator[Sample]:
    """The samples as a sequence: each call's states are outputs of the previous call; the first has its own.

    States that the host writes rows into are left as each sample has them: only the host knows where it writes.

    Args:
        module: in float.
        states: as ``resolve_states`` gives them.
    """
    places = [n.name for n in module.graph.nodes if n.op == "placeholder"]
    whole = {state.name for state, result in state_nodes(module, states).items() if not is_appended(state, result)}
    if not whole:
        yield from samples
        return
    run, carried = Runner(module), dict[int, torch.Tensor]()
    with unwritten(module):
        for sample in samples:
            inputs = inputs_of(module, sample)
            for place, tensor in carried.items():
                inputs[place] = tensor
            yield tree_unflatten(inputs, call_structure(module))
            outputs = run.outputs(inputs)
            carried = {places.index(name): outputs[index].clone() for name, index in states.items() if name in whole}


def state_nodes(module: GraphModule, states: Mapping[str, int]) -> dict[Node, Node]:
    """The input of each state, and the node that makes its next numbers."""
    places = {n.name: n for n in module.graph.nodes if n.op == "placeholder"}
    results = tree_leaves(module.graph.output_node().args[0])
    return {places[name]: results[index] for name, index in states.items()}


def _inputs(program: ExportedProgram) -> dict[str, Node]:
    nodes = {n.name: n for n in program.graph.nodes if n.op == "placeholder"}
    names = [str(name) for name in program.graph_signature.user_inputs]
    return {name: nodes[name] for name in names if name in nodes and _is_tensor(nodes[name])}


def _outputs(program: ExportedProgram) -> list[Node | None]:
    """Those of the user; None for what is no tensor."""
    return [n if isinstance(n, Node) and _is_tensor(n) else None for n in user_results(program)]


def _is_tensor(node: Node) -> bool:
    return isinstance(node.meta.get("val"), torch.Tensor)


def _is_float(node: Node) -> bool:
    return bool(node.meta["val"].dtype == torch.float32)


def _kind(node: Node | None) -> str:
    if node is None:
        return "no tensor"
    tensor = node.meta["val"]
    return f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"
