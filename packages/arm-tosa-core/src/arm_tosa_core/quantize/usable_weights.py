"""Weights that no scale fits: those with inf or NaN, as of a training that diverged, named before calibration."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.fx import GraphModule

from ..lowering.operator_names import canonical
from ..support.errors import UsageError

#: As many names are said.
_SAID = 3
#: What multiplies with weights, or divides by them: an inf is no mask there.
_WEIGHED = ("conv", "linear", "batch_norm", "layer_norm", "group_norm", "embedding", "matmul", "mm", "mul", "bmm")


def require_usable(model: GraphModule) -> None:
    """Refuses NaN in what a graph reads, and inf but in what may be a mask: nothing multiplies with it.

    Raises:
        UsageError: names the first ones, and says how many there are.
    """
    bad = list(_unusable(model))
    if bad:
        more = f" and {len(bad) - _SAID} more weights" if len(bad) > _SAID else ""
        raise UsageError(
            f"inf or NaN are in {', '.join(bad[:_SAID])}{more} of the model, and no scale fits them: train or load it "
            "again, before export and calibration"
        )


def _unusable(model: GraphModule) -> Iterator[str]:
    """The names of weights that the graph reads, and how much of each is bad."""
    weights = model.state_dict()
    multiplied = {
        read.target
        for node in model.graph.nodes
        if node.op == "call_function" and canonical(node.target).removeprefix("aten.").startswith(_WEIGHED)
        for read in node.all_input_nodes
        if read.op == "get_attr"
    }
    for name in dict.fromkeys(node.target for node in model.graph.nodes if node.op == "get_attr" and node.users):
        weight = weights.get(name)
        if weight is None or not weight.is_floating_point():
            continue
        bad = ~torch.isfinite(weight) if name in multiplied else torch.isnan(weight)
        if bad.any():
            yield f"{int(bad.sum())} of the {weight.numel()} numbers of {name}"
