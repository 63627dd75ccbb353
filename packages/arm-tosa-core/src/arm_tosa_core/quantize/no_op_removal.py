"""What an exported module computes to no effect, and what would hide the network from the quantizer."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node

from ..lower.operator_names import canonical

_CHECK = "aten._assert_tensor_metadata.default"
#: Casts, and where in their arguments they say to copy what has the type already.
_CASTS = {"aten.to.dtype": 3, "aten.to.dtype_layout": None, "aten.to.device": 4, "aten.type_as.default": None}


def drop_idle(model: GraphModule) -> None:
    """Removes checks, counters that nobody reads, and casts of tensors to the type that they have.

    ``ExportedProgram.module()`` checks its inputs in a call of a submodule, which PT2E cannot take; a cast is preceded
    by a check of what it reads. Batch norms count the batches of their training, which PT2E would leave to inference.
    """
    graph = model.graph
    for node in list(graph.nodes):
        if _is_check(node):
            graph.erase_node(node)
    for counter in graph.find_nodes(op="get_attr"):
        if str(counter.target).endswith("num_batches_tracked") and not any(user.users for user in counter.users):
            for user in list(counter.users):
                graph.erase_node(user)
            graph.erase_node(counter)
    for node in list(graph.nodes):
        if _is_idle_cast(node):
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
    model.recompile()


def _is_check(node: Node) -> bool:
    guards = node.op == "call_module" and str(node.target) == "_guards_fn"
    return not node.users and (guards or canonical(node.target) == _CHECK)


def _is_idle_cast(node: Node) -> bool:
    name = canonical(node.target)
    if name not in _CASTS or not isinstance(node.args[0], Node):
        return False
    before, after = (n.meta.get("val") for n in (node.args[0], node))
    if not isinstance(before, torch.Tensor) or not isinstance(after, torch.Tensor):
        return False
    place = _CASTS[name]
    copies = node.kwargs.get("copy") or (place is not None and len(node.args) > place and node.args[place])
    if copies or any(user.op == "output" for user in node.users):  # an input must not become a result
        return False
    return all(getattr(before, of) == getattr(after, of) for of in ("dtype", "device", "layout")) and (
        before.stride() == after.stride()  # a view may follow that only fits the memory format asked for
    )
