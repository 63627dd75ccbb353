"""The transform pass by which users of ExecuTorch narrow int64 indices themselves."""

from __future__ import annotations

import torch
from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from ..compat.executorch import edge_overload
from ..lowering.rule_set import RuleSet


class InsertCastForOpsWithInt64InputPass(PassBase):
    """Casts the int64 indices of ``aten.embedding`` to int32, which TOSA can hold.

    For ``to_edge_transform_and_lower(..., transform_passes=[...])``. The partitioner does the same at the edge of
    each delegate by itself; this pass makes the cast part of the program.
    """

    def call(self, graph_module: GraphModule) -> PassResult:
        """Inserts the casts; the program is changed in place."""
        changed, rules = False, RuleSet.of(None)
        for node in list(graph_module.graph.nodes):
            position = rules.traits_of(node).looks_up
            if position is None:
                continue
            indices = node.args[position]
            meta = indices.meta["val"]
            if meta.dtype != torch.int64:
                continue
            with graph_module.graph.inserting_before(node):
                cast = graph_module.graph.call_function(
                    edge_overload(torch.ops.dim_order_ops._to_dim_order_copy.default),
                    (indices,),
                    {"dtype": torch.int32, "dim_order": list(range(meta.dim()))},
                )
            cast.meta = {**indices.meta, "val": meta.to(torch.int32)}
            node.update_arg(position, cast)
            changed = True
        graph_module.recompile()
        return PassResult(graph_module, changed)
