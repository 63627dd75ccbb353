"""Assignments to parts of a tensor, ``y[1:3] = v`` and ``y[:, 0] += v``, as new tensors.

PT2E puts a quantize and a dequantize node between a tensor and what reads it: an operator that writes to a view would
write to a copy that nobody reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ..errors import UsageError
from ..program import mutable, source_line
from ..registry import canonical
from .decompose import AtenBuilder, AtenValue

_aten = torch.ops.aten


def without_assignments(module: GraphModule) -> None:
    """Rewrites what is assigned to views of a module's tensors, in place.

    Raises:
        UsageError: something is assigned through a view that cannot be inverted, such as ``expand``.
    """
    for node in list(module.graph.nodes):
        if not mutable(node) or not isinstance(node.args[0], Node):
            continue
        base = _base(node.args[0])
        stale = any(user > node for alias in _aliases(base) for user in alias.users)
        if base is not node.args[0] or (stale and base.op == "call_function"):
            _assign(module, node, base)


def _assign(module: GraphModule, node: Node, base: Node) -> None:
    builder = AtenBuilder(module, node)
    view: Any = node.args[0]
    with module.graph.inserting_before(node):
        value = result = _value(builder, node)
        while view is not base:
            value = _put(builder, view, value)
            view = view.args[0]
        if base.op != "call_function":
            value = builder.call(_aten.copy_.default, (AtenValue(base), value), {})
        fresh: dict[Any, Node] = {base: value.node}
        for alias in _aliases(base):
            if alias is not base and alias < node:
                viewed, *arguments = alias.args
                operands = (AtenValue(fresh[viewed]), *arguments)
                fresh[alias] = builder.call(alias.target, operands, alias.kwargs).node
    later = {n for n in module.graph.nodes if n > node}
    for old, new in fresh.items():
        old.replace_all_uses_with(new, delete_user_cb=later.__contains__)
    node.replace_all_uses_with(result.node)
    module.graph.erase_node(node)


def _base(node: Any) -> Any:
    """The tensor of which a node is a view, or a view of a view."""
    return _base(node.args[0]) if _is_view(node) else node


def _aliases(base: Node) -> Iterator[Node]:
    """A tensor and its views, in the order in which they are made."""
    yield base
    for user in sorted(base.users):
        if _is_view(user) and user.args[0] is base:
            yield from _aliases(user)


def _is_view(node: Node) -> bool:
    schema = getattr(node.target, "_schema", None) if node.op == "call_function" else None
    shares = schema is not None and any(r.alias_info and not r.alias_info.is_write for r in schema.returns)
    return (shares or canonical(node.target) in _INVERSES) and isinstance(node.args[0], Node) and not mutable(node)


def _value(builder: AtenBuilder, node: Node) -> AtenValue:
    """What an operator in place writes, as a tensor of its own."""
    target: Any = node.target
    twin = getattr(getattr(_aten, target._schema.name.removeprefix("aten::").removesuffix("_")), target._overloadname)
    values: Callable[..., Any] = AtenValue
    made: AtenValue = builder.call(twin, *torch.fx.map_arg((node.args, node.kwargs), values))
    return made


def _put(builder: AtenBuilder, view: Any, value: AtenValue) -> AtenValue:
    """What a view looks at, with ``value`` in its place."""
    parent = AtenValue(view.args[0])
    inverse = _INVERSES.get(canonical(view.target))
    if inverse is None:
        raise UsageError(
            f"{source_line(view)}: what {view.target} gives is assigned to in place, which quantization would lose: "
            "assign to the tensor itself, or make a new one with torch.where or torch.cat"
        )
    target, arguments = inverse(parent.shape, *view.args[1:])
    scattered = target in (_aten.slice_scatter.default, _aten.select_scatter.default)
    made: AtenValue = builder.call(target, (*[parent] * scattered, value, *arguments), view.kwargs if scattered else {})
    return made


def _permuted(shape: Any, perms: Any) -> Any:
    order = [axis % len(shape) for axis in perms]
    return _aten.permute.default, ([order.index(axis) for axis in range(len(order))],)


def _reshaped(shape: Any, *_: Any) -> Any:
    return _aten.reshape.default, (list(shape),)


#: What undoes a view: of the shape of its operand and its arguments.
_INVERSES: dict[str, Callable[..., Any]] = {
    "aten.slice.Tensor": lambda shape, *arguments: (_aten.slice_scatter.default, arguments),
    "aten.select.int": lambda shape, *arguments: (_aten.select_scatter.default, arguments),
    "aten.transpose.int": lambda shape, *arguments: (_aten.transpose.int, arguments),
    "aten.t.default": lambda shape: (_aten.t.default, ()),
    "aten.permute.default": _permuted,
    **dict.fromkeys(
        (
            *("aten.view.default", "aten.reshape.default", "aten.unsqueeze.default", "aten.squeeze.default"),
            *("aten.squeeze.dim", "aten.squeeze.dims", "aten.flatten.using_ints", "aten.unflatten.int"),
        ),
        _reshaped,
    ),
}
