"""Where a module that is to be quantized keeps its parameters."""

from __future__ import annotations

import torch
from torch.fx import GraphModule


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
