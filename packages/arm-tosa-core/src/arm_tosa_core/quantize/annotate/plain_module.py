"""The form in which an exported module is quantized: all of it in one graph, and layers with plain weights."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ...aten.wrapped_graphs import unwrap
from ...compat.torch import OpOverload, is_composite, schema_of, storage_of
from ...lowering.exported_program import attribute, mutable
from ...lowering.node_facts import facts
from ...lowering.operator_names import is_reproducible
from ...lowering.rule_set import RuleSet
from ...lowering.unwritable import require_dense
from .node_roles import arguments_of, is_layer
from .numbers_in_arithmetic import read_number

_DETACH = torch.ops.aten.detach_.default


def make_plain(module: GraphModule, rules: RuleSet, is_trained: bool = False) -> None:
    """Brings an exported module into the form that quantization knows, in place; one that has it stays as it is.

    Graphs of ``torch.no_grad`` and ``torch.autocast`` become part of the module's. Buffers whose elements share memory
    get memory of their own. A layer's weight or bias, or the positions at which images are sampled, become a constant
    where they are computed from parameters, and from buffers that nothing writes to, unless something random is among
    it. Constants of one element become numbers where arithmetic reads them. Buffers that are weights or biases become
    parameters that do not learn, because PyTorch joins batch norms with no others. Parameters and buffers that nobody
    reads any more are removed.

    Args:
        is_trained: parameters will have other numbers, so that only buffers are constant.

    Raises:
        UsageError: a parameter or a buffer is sparse.
    """
    unwrap(module)
    for node in module.graph.find_nodes(op="get_attr"):
        data = attribute(node)
        require_dense(str(node.target), data)
        if isinstance(data, torch.Tensor) and _shares_elements(data):
            _set(module, str(node.target), data.clone(memory_format=torch.contiguous_format))
    if not facts(module).loop_body:
        _fold(module, rules, is_trained)
    _make_parameters(module, rules)
    module.recompile()


def _shares_elements(data: torch.Tensor) -> bool:
    axes = sorted((stride, size) for stride, size in zip(data.stride(), data.shape, strict=True) if size > 1)
    reach = 1
    for stride, size in axes:
        if stride < reach:
            return True
        reach += stride * (size - 1)
    return False


def _fold(module: GraphModule, rules: RuleSet, is_trained: bool) -> None:
    known = _known(module, is_trained)
    unread = {node for node in known if node.op == "get_attr" and not node.users}
    for node, value in known.items():
        for user in list(node.users):
            if user not in known:
                read_number(user, node, value)
    constants: list[tuple[str, torch.Tensor]] = []
    for node, value in reversed(known.items()):
        if node.op == "get_attr" or not isinstance(value, torch.Tensor):
            continue
        readers = [user for user in node.users if node in _constants(user, rules)]
        if readers:
            with module.graph.inserting_before(node):
                constant = module.graph.get_attr(_kept(module, node, value, constants))
            constant.meta["val"] = node.meta["val"].contiguous()
            for reader in readers:
                reader.replace_input_with(node, constant)
    _read_once(module, {name for name, _ in constants})
    for node in reversed(known):
        if node in unread or not all(rules.traits_of(user).asserts for user in node.users):
            continue
        for dead in [*node.users, node]:
            module.graph.erase_node(dead)
        if node.op == "get_attr" and not module.graph.find_nodes(op="get_attr", target=node.target):
            _remove(module, str(node.target))


def _read_once(module: GraphModule, names: set[str]) -> None:
    """One node for each attribute: torchao removes an attribute with the first of its nodes that nobody reads."""
    first: dict[Any, Node] = {}
    for node in module.graph.find_nodes(op="get_attr"):
        if node.target in names and first.setdefault(node.target, node) is not node:
            node.replace_all_uses_with(first[node.target])
            module.graph.erase_node(node)


def _constants(node: Node, rules: RuleSet) -> tuple[Any, ...]:
    """The operands of an operator that become constants."""
    at = rules.traits_of(node).samples_at
    return node.args[1:3] if is_layer(node, rules) else () if at is None else node.args[at : at + 1]


def _make_parameters(module: GraphModule, rules: RuleSet) -> None:
    nodes = module.graph.find_nodes(op="get_attr")
    written = {str(n.target) for node in module.graph.nodes for n in _written(node) if n.op == "get_attr"}
    layers = {str(n.target) for n in nodes for user in n.users if is_layer(user, rules) and n in user.args[1:3]}
    for target in sorted(layers - written):
        owner, name = _owner(module, target)
        data = getattr(owner, name)
        if data.is_floating_point() and not isinstance(data, torch.nn.Parameter):
            delattr(owner, name)
            owner.register_parameter(name, torch.nn.Parameter(data, requires_grad=False))


def _known(module: GraphModule, is_trained: bool) -> dict[Node, Any]:
    """What nodes give at every call, in order; of memory that is written to, its last numbers."""
    values: dict[Node, Any] = {}
    writes: dict[int, Node] = {}
    lost: set[int] = set()  # memory that other numbers are written to
    for node in module.graph.nodes:
        operands = node.all_input_nodes
        if node.op == "get_attr":
            data = attribute(node)
            if isinstance(data, torch.Tensor) and not (is_trained and isinstance(data, torch.nn.Parameter)):
                values[node] = data.detach()
            continue
        written = {storage_of(values[n]) for n in _written(node) if n in values}
        attributes = {storage_of(value) for n, value in values.items() if n.op == "get_attr"} if written else set()
        if node.op != "call_function" or not all(n in values for n in operands) or written & attributes:
            lost |= written
        elif node.target is _DETACH:
            values[node] = values[operands[0]]
        elif node.target is operator.getitem or (isinstance(node.target, OpOverload) and _gives(node)):
            args, kwargs = torch.fx.map_arg((node.args, node.kwargs), values.__getitem__)
            with torch.no_grad():
                values[node] = node.target(*args, **kwargs)
            writes |= dict.fromkeys(written, node)
    memories = {node: storage_of(value) for node, value in values.items() if isinstance(value, torch.Tensor)}
    while gone := [node for node in values if _is_lost(node, values, memories.get(node), writes, lost)]:
        for node in gone:
            del values[node]
            lost |= {memories[n] for n in _written(node)}
    return values


def _is_lost(node: Node, values: dict[Node, Any], memory: int | None, writes: dict[int, Node], lost: set[int]) -> bool:
    """Whether a result has other numbers at other calls, or had others when it was read."""
    early = memory in writes and any(user not in values and user < writes[memory] for user in node.users)
    return memory in lost or early or any(n not in values for n in node.all_input_nodes)


def _gives(node: Node) -> bool:
    """Whether an operator has a result, the same at every call."""
    return is_reproducible(node.target) and bool(schema_of(node.target).returns)


def _written(node: Node) -> list[Node]:
    """The operands that an operator writes to."""
    if not mutable(node) or node.target is _DETACH:
        return []
    schema, arguments = schema_of(node.target).arguments, arguments_of(node)
    places = [each.name for each in schema if each.alias_info is not None and each.alias_info.is_write]
    return [n for name in places if isinstance(n := arguments[name], Node)]


def _kept(module: GraphModule, node: Node, value: torch.Tensor, constants: list[tuple[str, torch.Tensor]]) -> str:
    """The name of the attribute that keeps a value; one for all that are equal."""
    for name, other in constants:
        if value.dtype == other.dtype and torch.equal(value, other):
            return name
    name = f"_{node.name}"
    while hasattr(module, name):
        name += "_"
    own = value.clone(memory_format=torch.contiguous_format)
    module.register_buffer(name, own)
    constants.append((name, own))
    return name


def _owner(module: GraphModule, target: str) -> tuple[torch.nn.Module, str]:
    path, _, name = target.rpartition(".")
    return module.get_submodule(path), name


def _set(module: GraphModule, target: str, data: torch.Tensor) -> None:
    owner, name = _owner(module, target)
    if isinstance(getattr(owner, name), torch.nn.Parameter):
        data = torch.nn.Parameter(data, requires_grad=False)
    setattr(owner, name, data)


def _remove(module: GraphModule, target: str) -> None:
    delattr(*_owner(module, target))


def flatten_attributes(model: GraphModule) -> None:
    """Moves the parameters and buffers that the graph uses from submodules to the module itself.

    When torchao folds weights to integers it removes the float ones, but only those that the module itself holds: a
    quantized program would be saved with both. ``layer.weight`` becomes ``layer_weight``.
    """
    raised: dict[str, str] = {}
    for node in model.graph.find_nodes(op="get_attr"):
        target = str(node.target)
        path, dot, name = target.rpartition(".")
        if not dot:
            continue
        if target not in raised:
            owner = model.get_submodule(path)
            tensor = getattr(owner, name)
            if not isinstance(tensor, torch.Tensor):
                continue
            flat = target.replace(".", "_")
            while hasattr(model, flat):
                flat += "_"
            persistent = name not in owner._non_persistent_buffers_set
            delattr(owner, name)
            if isinstance(tensor, torch.nn.Parameter):
                model.register_parameter(flat, tensor)
            else:
                model.register_buffer(flat, tensor, persistent)
            raised[target] = flat
        node.target = raised[target]
    model.recompile()


def drop_idle(model: GraphModule, rules: RuleSet) -> None:
    """Removes checks, counters that nobody reads, and casts of tensors to the type that they have.

    ``ExportedProgram.module()`` checks its inputs in a call of a submodule, which PT2E cannot take; a cast is preceded
    by a check of what it reads. Batch norms count the batches of their training, which PT2E would leave to inference.
    """
    graph = model.graph
    for node in list(graph.nodes):
        if _is_check(node, rules):
            graph.erase_node(node)
    for counter in graph.find_nodes(op="get_attr"):
        if str(counter.target).endswith("num_batches_tracked") and not any(user.users for user in counter.users):
            for user in list(counter.users):
                graph.erase_node(user)
            graph.erase_node(counter)
    for node in list(graph.nodes):
        if _is_idle_cast(node, rules):
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
    model.recompile()


def _is_check(node: Node, rules: RuleSet) -> bool:
    guards = node.op == "call_module" and str(node.target) == "_guards_fn"
    return not node.users and (guards or rules.traits_of(node).asserts)


def _is_idle_cast(node: Node, rules: RuleSet) -> bool:
    """A cast that hands on its operand; what is no composite, such as ``_to_copy``, makes a tensor of its own."""
    if not rules.traits_of(node).casts or not is_composite(node.target) or not isinstance(node.args[0], Node):
        return False
    before, after = (n.meta.get("val") for n in (node.args[0], node))
    if not isinstance(before, torch.Tensor) or not isinstance(after, torch.Tensor):
        return False
    if arguments_of(node).get("copy"):
        return False
    if any(user.op == "output" for user in node.users):  # an input must not become a result
        return False
    return all(getattr(before, of) == getattr(after, of) for of in ("dtype", "device", "layout")) and (
        before.stride() == after.stride()  # a view may follow that only fits the memory format asked for
    )
