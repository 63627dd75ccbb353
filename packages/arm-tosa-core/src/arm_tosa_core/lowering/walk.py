"""One walk over a program that lowers every node that lowers, and takes from an earlier walk what has not changed."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch.fx import Node

from ..compat.torch_sizes import GuardError
from ..support.errors import Rejected, UsageError
from ..tosa.ir import Op, Tensor
from .analysis_result import Analysis, NodeCheck, Step
from .lowering import Lowering
from .region_levels import level_of
from .values import Complex, Value


class Walk:
    """Lowers every node that lowers, and finds the least level of each (``region_levels``).

    Args:
        lowering: with nothing in it yet.
        checks: reasons of the caller to keep a node out.
        refused: nodes to keep out, and why.
        earlier: an analysis of this program, or of one that it was made from, which is used up. A node of the same
            name is lowered again only if anything is new that it depended on.
    """

    def __init__(
        self,
        lowering: Lowering,
        checks: Sequence[NodeCheck],
        refused: Mapping[Node, Rejected],
        earlier: Analysis | None = None,
    ) -> None:
        self.analysis = Analysis(lowering)
        self.level: dict[Node, int] = {}
        self._lowering, self._checks, self._refused = lowering, checks, refused
        self._earlier = earlier
        self._there: set[Op] = set()
        for node in lowering.program.graph.nodes:
            if node.op != "output":
                self._note(node)
                self._visit(node)
            if node.op not in ("placeholder", "get_attr"):
                self.level[node] = level_of(node, self.analysis, self.level)

    def _note(self, node: Node) -> None:
        meta = node.meta.get("val")
        if isinstance(meta, torch.Tensor):
            if node.op == "placeholder" and meta.device.type != "cpu":
                raise UsageError(f"{node.name} is on device {meta.device}: move the model to the CPU, then export it")
            if meta.dtype == torch.int64:
                self.analysis.wide.append(node)
        if node.op == "call_function" and node not in self._refused:
            self.analysis.calls.append(node)

    def _visit(self, node: Node) -> None:
        analysis, values = self.analysis, self._lowering.values
        why = self._refused.get(node) or self._checked(node)
        if why is None and node.target is operator.getitem and node.args[0] not in analysis.accepted:
            self._take(node)  # nobody's fault
            return
        given = (values[n] for n in node.all_input_nodes)
        why = why or next((value for value in given if isinstance(value, Rejected)), None)
        if why is None:
            value = self._lowered(node)
            if not isinstance(value, Rejected):
                if node.op == "call_function":
                    analysis.accepted[node] = 0
                if _known(value):
                    analysis.constant.add(node)
                return
            why = value
        analysis.rejected[node] = why
        self._take(node)

    def _checked(self, node: Node) -> Rejected | None:
        if node.op != "call_function" or node.target is operator.getitem:
            return None
        refusals = (refusal for check in self._checks if (refusal := check(node)))
        why: Rejected | None = _or_refusal(lambda: next(refusals, None))
        return why

    def _lowered(self, node: Node) -> Any:
        """The value of a node, or why it has none."""
        step = self._same(node)
        if step is None:
            step = self._step(node)
        else:
            self._replay(node, step)
        self._there.update(step.ops)
        self.analysis.steps[node.name] = step if step.node is node else replace(step, node=node)
        return step.result

    def _step(self, node: Node) -> Step:
        lowering, caches = self._lowering, self._lowering.builder.caches
        sizes = [len(cache) for cache in caches]
        for cache in caches:
            cache.asked = {}
        result = _or_refusal(lambda: lowering.lower(node))
        return Step(
            node,
            tuple(lowering.values[n] for n in node.all_input_nodes),
            self._function(node),
            lowering.precise.get(node),
            result,
            [] if isinstance(result, Rejected) else lowering.emitted[node],
            [cache.asked for cache in caches],
            [cache.since(size) for cache, size in zip(caches, sizes, strict=True)],
        )

    def _same(self, node: Node) -> Step | None:
        """How the node was lowered in the earlier walk, if it would be lowered in the same way now."""
        lowering, earlier = self._lowering, self._earlier
        step = None if earlier is None else earlier.steps.get(node.name)
        if step is None or earlier is None or len(step.read) != len(node.all_input_nodes):
            return None
        if any(lowering.values[n] is not value for n, value in zip(node.all_input_nodes, step.read, strict=True)):
            return None
        if step.node is not node and not self._stands_as_before(node, step):
            return None
        if not self._enters_as_before(node):
            return None
        for cache, asked in zip(lowering.builder.caches, step.asked, strict=True):
            if any(dict.__contains__(cache, key) is not there for key, there in asked.items()):
                return None
        own = {id(op) for op in step.ops}
        read = [*(tensor for op in step.ops for tensor in op.inputs), *_tensors(step.result)]
        makers = (tensor.producer for tensor in read)
        return step if all(op is None or id(op) in own or op in self._there for op in makers) else None

    def _stands_as_before(self, node: Node, step: Step) -> bool:
        """Whether a node of another program is called, read and placed as the one of the earlier walk was."""
        if described(step.node) != described(node) or step.function != self._function(node):
            return False
        return step.precise is None or step.precise is self._lowering.facts.precision.is_worth_it(node)

    def _function(self, node: Node) -> str:
        lowering = self._lowering
        function = lowering.facts.functions(node.graph, lowering.constants).get(node)
        return "" if function is None else "; ".join(map(described, (function.source, *function.parts, function.last)))

    def _replay(self, node: Node, step: Step) -> None:
        lowering = self._lowering
        assert self._earlier is not None
        for op in step.ops:
            self._earlier.lowering.graph.ops.remove(op)
            lowering.graph.ops.append(op)
        for cache, cached in zip(lowering.builder.caches, step.cached, strict=True):
            cache.update(cached)
        if isinstance(step.result, Rejected):
            return
        lowering.values[node], lowering.emitted[node] = step.result, step.ops
        if node.op == "placeholder" and node.name not in lowering.constants:
            lowering.inputs.add(node)

    def _take(self, node: Node) -> None:
        """Gives a node outside the value that it hands to the graph; for a tensor that TOSA cannot hold, why not."""
        lowering, meta = self._lowering, node.meta.get("val")
        lowering.values[node] = meta
        if not isinstance(meta, torch.Tensor):
            return
        taken = None if self._earlier is None else self._earlier.taken.get(node.name)
        same = taken is not None and (taken[0] is node or described(taken[0]) == described(node))
        if taken is not None and same and self._enters_as_before(node, taken=True):
            if isinstance(taken[1], Value):
                lowering.inputs.add(node)
            lowering.values[node] = taken[1]
        else:
            try:
                lowering.take(node)
            except Rejected as why:
                lowering.values[node] = why
        self.analysis.taken[node.name] = node, lowering.values[node]

    def _enters_as_before(self, node: Node, *, taken: bool = False) -> bool:
        """Whether int64 may come from outside as it might in the earlier walk, or the node brings none."""
        assert self._earlier is not None
        enters = taken or (node.op == "placeholder" and node.name not in self._lowering.constants)
        same = self._earlier.lowering.wide_inputs is self._lowering.wide_inputs
        meta = node.meta.get("val")
        return same or not enters or not isinstance(meta, torch.Tensor) or meta.dtype != torch.int64


def _or_refusal(ask: Callable[[], Any]) -> Any:
    """What it gives, or why it refuses to."""
    try:
        return ask()
    except Rejected as why:
        return why
    except GuardError as why:
        return Rejected(f"depends on a dynamic size: {why}", "export with this size fixed")


def described(node: Node) -> str:
    """All that a node says itself of how it is lowered: its call, who reads it, and what PyTorch says of its result."""
    users = [(user.name, bool(user.users)) for user in node.users]
    metas = node.meta.get("val")
    shapes = [
        (m.dtype, m.shape, m.stride()) if isinstance(m, torch.Tensor) else m
        for m in (metas if isinstance(metas, (list, tuple)) else [metas])
    ]
    return f"{node.op} {node.target} {node.args} {node.kwargs} {users} {shapes}"


def _known(value: Any) -> bool:
    if isinstance(value, int):  # a size, which any region can compute
        return True
    if isinstance(value, (tuple, list)):
        return bool(value) and all(_known(v) for v in value)
    return isinstance(value, Value) and value.is_const


def _tensors(value: Any) -> Iterator[Tensor]:
    """The tensors of the graph that a value has."""
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from _tensors(part)
    elif isinstance(value, Complex):
        yield from _tensors((value.real, value.imag))
    elif isinstance(value, Value):
        if value.tensor is not None:
            yield value.tensor
        if value.quant is not None and value.quant.run_time:
            yield from _tensors(value.quant.run_time)
