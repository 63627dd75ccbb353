"""Graphs that are only wrapped, as ``torch.no_grad`` and ``torch.autocast`` in a model's code leave them."""

from __future__ import annotations

import copy
import operator
from collections.abc import Mapping
from typing import Any, cast

import torch
from torch.fx import Graph, GraphModule, Node

from ..compat.torch import HigherOrderOperator, OpOverload, make_fx

_AUTOCAST = torch.ops.higher_order.wrap_with_autocast
#: How many arguments precede the graph.
_WRAPPERS = {torch.ops.higher_order.wrap_with_set_grad_enabled: 1, _AUTOCAST: 4}

#: Arguments of the ``torch.autocast`` that an operator is under; None: under none that changes it.
_Autocast = Mapping[str, Any] | None


def is_wrapper(node: Node) -> bool:
    """Whether a node calls a graph within the graph that only changes how gradients or types are handled."""
    return node.target in _WRAPPERS


def unwrap(module: GraphModule) -> dict[str, str]:
    """Puts the operators of wrapped graphs in the place of their calls, in place; in branches and loops too.

    Operators under autocast read their operands through the casts that autocast makes.

    Returns:
        The name of the node that makes a result now, by the name of the node that stood for it.
    """
    graph, renamed = module.graph, dict[str, str]()
    wrappers = [node for node in graph.nodes if is_wrapper(node)]
    for wrapper in wrappers:
        with graph.inserting_before(wrapper):
            results = _inlined(graph, module, "", wrapper, wrapper.args, None)
        for part in list(wrapper.users):
            result = results[part.args[1]]
            renamed[part.name] = result.name
            part.replace_all_uses_with(result)
            graph.erase_node(part)
        graph.erase_node(wrapper)
    for node in graph.find_nodes(op="get_attr"):
        part = operator.attrgetter(str(node.target))(module)
        if isinstance(part, GraphModule) and not node.users:
            graph.erase_node(node)
        elif any(is_wrapper(node) for inner in graphs_of(part) for node in inner.graph.nodes):
            own = GraphModule(part, copy.deepcopy(part.graph))  # another program may share it
            unwrap(own)
            node.target = f"{node.name}_unwrapped"
            module.add_submodule(node.target, own)
    if wrappers:
        module.recompile()
    return renamed


def graphs_of(module: Any) -> list[GraphModule]:
    """The module of a graph and those of the graphs that it runs; none if it is no such module."""
    modules = module.modules() if isinstance(module, GraphModule) else ()
    return [part for part in modules if isinstance(part, GraphModule)]


def _inlined(graph: Graph, owner: Any, path: str, wrapper: Node, arguments: Any, autocast: _Autocast) -> list[Any]:
    """Copies the operators of a wrapped graph to where a graph inserts; returns the results.

    Args:
        owner: the module of the graph that the wrapper is in.
        path: from the module that the operators come to, to the owner; with a dot at its end.
        arguments: of the wrapper, in the graph that the operators come to.
        autocast: the settings around the wrapper.
    """
    place = _WRAPPERS[cast(HigherOrderOperator, wrapper.target)]
    attribute = str(cast(Node, wrapper.args[place]).target)
    body, path = owner.get_submodule(attribute), f"{path}{attribute}."
    if wrapper.target is _AUTOCAST and wrapper.args[0] == "cpu":  # another device's changes nothing here
        device, dtype, enabled = wrapper.args[:3]
        autocast = {"device_type": device, "dtype": dtype, "cache_enabled": False} if enabled else None
    copies: dict[Node, Any] = dict(zip(body.graph.find_nodes(op="placeholder"), arguments[place + 1 :], strict=True))
    inherited = {key: wrapper.meta[key] for key in ("stack_trace", "nn_module_stack") if key in wrapper.meta}
    for node in body.graph.nodes:
        if node.op == "output":
            return list(torch.fx.map_arg(node.args[0], copies.__getitem__))
        if is_wrapper(node):
            operands = torch.fx.map_arg(node.args, copies.__getitem__)
            copies[node] = _inlined(graph, body, path, node, operands, autocast)
        elif node.target is operator.getitem and isinstance(copies[node.args[0]], list):
            copies[node] = copies[node.args[0]][node.args[1]]
        elif node.op != "placeholder":
            copies[node] = new = graph.node_copy(node, copies.__getitem__)
            new.meta = inherited | node.meta
            if node.op == "get_attr":
                new.target = f"{path}{node.target}"  # its name is that within the module of the graph
            elif autocast is not None:
                copies[node] = _cast(graph, new, autocast)
    raise AssertionError("a graph without an output")


def _cast(graph: Graph, node: Node, autocast: Mapping[str, Any]) -> Node:
    """Casts an operator's operands as autocast does; returns the node of its result.

    If autocast treats parts of an operator separately, only its result has autocast's type.
    """
    if not isinstance(node.target, OpOverload):
        return node
    with torch.autocast(**autocast):
        casts = _casts_within(_traced(node))
    present = _casts_within(_traced(node))
    for place, dtype in casts.items():
        if present.get(place) != dtype:
            operand = _tensors(node)[place]
            with graph.inserting_before(node):
                node.replace_input_with(operand, _to(graph, operand, dtype))
    before = node.meta["val"]
    after = cast(Node, _traced(node).graph.output_node().args[0]).meta["val"]
    if not isinstance(before, torch.Tensor) or before.dtype == after.dtype:
        return node
    node.meta["val"] = after
    return _to(graph, node, before.dtype)


def _to(graph: Graph, node: Node, dtype: torch.dtype) -> Node:
    cast = graph.call_function(torch.ops.aten.to.dtype, (node, dtype))
    cast.meta = {**node.meta, "val": node.meta["val"].to(dtype)}
    return cast


def _tensors(node: Node) -> list[Node]:
    """The operands that are tensors, each once."""
    return [n for n in node.all_input_nodes if isinstance(n.meta["val"], torch.Tensor)]


def _traced(node: Node) -> GraphModule:
    """The graph that PyTorch runs for an operator, a placeholder for each of its tensors."""
    operands = _tensors(node)

    def run(*tensors: torch.Tensor) -> Any:
        values = dict(zip(operands, tensors, strict=True))
        args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda n: values.get(n, n.meta["val"]))
        return node.target(*args, **kwargs)  # type: ignore[operator]

    with torch.no_grad():
        traced: GraphModule = make_fx(run)(*[n.meta["val"] for n in operands])
    return traced


def _casts_within(traced: GraphModule) -> dict[int, torch.dtype]:
    """The types that placeholders are cast to at once, by number."""
    placeholders = traced.graph.find_nodes(op="placeholder")
    return {
        placeholders.index(node.args[0]): node.kwargs["dtype"]
        for node in traced.graph.find_nodes(op="call_function", target=torch.ops.aten._to_copy.default)
        if node.args[0] in placeholders and "dtype" in node.kwargs
    }
