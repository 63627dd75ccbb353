"""Runs composite rules over ATen: each becomes its parts, so that observers sit on every intermediate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from ..errors import Rejected
from ..registry import Q, canonical, find, overload


class AtenBuilder:
    """The builder under which a composite rule emits ATen nodes; its values are FX nodes with a shape."""

    def __init__(self, module: GraphModule, origin: Node) -> None:
        self._module = module
        self._origin = origin
        self.emitted: list[Node] = []

    def require(self, condition: bool, reason: str, fix: str = "") -> None:
        """Refuses to decompose, with this reason, unless the condition holds."""
        if not condition:
            raise Rejected(reason, fix)

    def const(self, data: torch.Tensor) -> AtenValue:
        """A constant, kept as a buffer of the module."""
        index = 0
        while hasattr(self._module, f"_arm_constant_{index}"):
            index += 1
        self._module.register_buffer(f"_arm_constant_{index}", data)
        node = self._graph.get_attr(f"_arm_constant_{index}")
        node.meta["val"] = self._fake(data)
        return AtenValue(node)

    @property
    def aten(self) -> _AtenOps:
        return _AtenOps(self)

    @property
    def _graph(self) -> Graph:
        return self._module.graph

    def _fake(self, data: torch.Tensor) -> torch.Tensor:
        mode = getattr(self._origin.meta.get("val"), "fake_mode", None)
        return mode.from_tensor(data) if mode is not None else data.to("meta")

    def call(self, target: Any, args: Any, kwargs: Any) -> Any:
        """Emits one ATen node and computes its shape."""

        def node(v: Any) -> Any:
            return v.node if isinstance(v, AtenValue) else v

        args, kwargs = _map(args, node), _map(kwargs, node)
        new = self._graph.call_function(target, args, kwargs)
        fakes = torch.fx.map_arg((args, kwargs), lambda n: n.meta["val"])
        with torch.no_grad():
            new.meta["val"] = target(*fakes[0], **fakes[1])
        for key in ("stack_trace", "nn_module_stack", "torch_fn", "source_fn_stack"):
            if key in self._origin.meta:
                new.meta[key] = self._origin.meta[key]
        self.emitted.append(new)
        if isinstance(new.meta["val"], torch.Tensor):
            return AtenValue(new)
        raise Rejected(f"decomposes into {canonical(target)}, which has several results")


class AtenValue:
    """An FX node, as a rule sees it."""

    def __init__(self, node: Node) -> None:
        self.node = node

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.node.meta["val"].shape)

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(self.node.meta["val"].numel())

    @property
    def dtype(self) -> torch.dtype:
        return self.node.meta["val"].dtype  # type: ignore[no-any-return]


class _AtenOps:
    def __init__(self, builder: AtenBuilder) -> None:
        self._builder = builder

    def __getattr__(self, name: str) -> Callable[..., Any]:
        packet = getattr(torch.ops.aten, name)

        def emit(*args: Any, **kwargs: Any) -> Any:
            def meta(v: Any) -> Any:
                return v.node.meta["val"] if isinstance(v, AtenValue) else v

            chosen = torch._C._jit_resolve_packet(packet._qualified_op_name, *_map(args, meta), **_map(kwargs, meta))
            return self._builder.call(getattr(packet, chosen or "default"), args, kwargs)

        return emit


def _map(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_map(v, change) for v in value)
    if isinstance(value, dict):
        return {k: _map(v, change) for k, v in value.items()}
    return change(value)


def decompose(module: GraphModule, wanted: Callable[[Node], bool]) -> GraphModule:
    """Replaces each node whose rule is a composite by what its rule emits, until none is left.

    Args:
        wanted: which nodes may be touched; parts inherit the answer of the node they come from.
    """
    work = [n for n in module.graph.nodes if n.op == "call_function" and wanted(n)]
    while work:
        node = work.pop(0)
        rule = find(canonical(node.target))
        if (
            rule is None
            or rule.quant is not Q.PIECEWISE
            or not isinstance(overload(node.target), torch._ops.OpOverload)
        ):
            continue
        if not _is_float(node):
            continue
        builder = AtenBuilder(module, node)
        args, kwargs = torch.fx.map_arg((node.args, node.kwargs), AtenValue)
        with module.graph.inserting_before(node):
            try:
                result = rule.function(builder, *args, **kwargs)
            except Rejected:
                continue
        if isinstance(result, tuple):
            for user in list(node.users):
                user.replace_all_uses_with(result[user.args[1]].node)
                module.graph.erase_node(user)
        else:
            node.replace_all_uses_with(result.node)
        module.graph.erase_node(node)
        work = builder.emitted + work
    module.graph.eliminate_dead_code()
    module.recompile()
    return module


def _is_float(node: Node) -> bool:
    meta = node.meta.get("val")
    first = meta[0] if isinstance(meta, (list, tuple)) else meta
    return isinstance(first, torch.Tensor) and first.dtype.is_floating_point
