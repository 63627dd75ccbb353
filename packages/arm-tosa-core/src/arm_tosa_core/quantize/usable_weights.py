"""Weights that no scale fits: those with inf or NaN, as of a training that diverged, named before calibration."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.fx import GraphModule

from ..lowering.operator_names import canonical
from ..support.errors import UsageError

#: As many names are said.
_SAID = 3
_BATCH_NORM = "aten.batch_norm.default"
_STATISTICS = slice(3, 5)


def require_usable(model: GraphModule) -> None:
    """Refuses weights with inf or NaN. Masks may have inf: buffers, and parameters of nothing but 0 and inf.

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
    weights, parameters = model.state_dict(), {name for name, _ in model.named_parameters()}
    statistics = {
        getattr(read, "target", None)
        for node in model.graph.nodes
        if node.op == "call_function" and canonical(node.target) == _BATCH_NORM
        for read in node.args[_STATISTICS]
    }
    for name in dict.fromkeys(node.target for node in model.graph.nodes if node.op == "get_attr" and node.users):
        weight = weights.get(name)
        if weight is None or not weight.is_floating_point():
            continue
        usable = torch.isfinite(weight)
        is_mask = name not in statistics and (name not in parameters or not weight[usable].any())
        if not usable.all() and not (is_mask and not weight.isnan().any()):
            yield f"{int((~usable).sum())} of the {weight.numel()} numbers of {name}"
