"""Batch norms of which torchao would make something else.

torchao (0.18, ``pt2e/utils.py``) folds a batch norm into the layer that it follows: also where others read the layer's
result, or its weight, and then see those with the norm in them; and in a transposed convolution of several groups it
mistakes the axis of the channels (pytorch/pytorch#180995).
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ...lowering.exported_program import attribute, is_constant, source_line
from ...lowering.rule_set import RuleSet
from ...support.errors import BatchNormWarning, UsageError
from .composites import decompose
from .node_roles import arguments_of, is_layer

_CONSTANTS = ("weight", "bias", "running_mean", "running_var")
#: What torchao computes every batch norm with that was trained.
_EPS = 1e-5
_NORMS = {torch.ops.aten.batch_norm.default, torch.ops.aten._native_batch_norm_legit_no_training.default}


def settle_norms(module: GraphModule, rules: RuleSet) -> None:
    """Folds such a norm into a weight of the layer's own; takes it apart where others read the layer's result.

    Args:
        module: exported for inference, and not prepared yet.

    Raises:
        UsageError: it is exported for training.
    """
    apart: set[Node] = set()
    names: dict[tuple[str, ...], tuple[str, str]] = {}
    for norm in [n for n in module.graph.nodes if n.target in _NORMS]:
        layer: Any = norm.args[0]
        if not is_layer(layer, rules):
            continue
        of_norm, of_layer = arguments_of(norm), arguments_of(layer)
        if of_norm.get("training", False) and of_norm["running_mean"] is not None:
            raise UsageError(
                f"{source_line(norm)}: {norm.name} normalizes with statistics of the batch, and would be folded into "
                f"{layer.name} with its running statistics: export in eval mode, model.eval()"
            )
        if not {"input", "weight", "bias"} <= of_layer.keys() or _is_across(of_layer):
            continue
        axis = rules.traits_of(layer).weight_axis(layer.args)
        constants = [of_layer["weight"], of_layer["bias"], *(of_norm[name] for name in _CONSTANTS)]
        known = all(n is None or (isinstance(n, Node) and is_constant(n)) for n in constants)
        if len(layer.users) > 1 or not known or of_norm.get("training", False):
            apart.add(norm)
        elif not _is_folded_well(module, layer, of_layer, axis):
            key = tuple(str(getattr(n, "target", None)) for n in constants)
            if key not in names:
                names[key] = _register(module, layer, *_folded(of_layer, of_norm, axis))
            with module.graph.inserting_before(layer):
                weight, bias = map(module.graph.get_attr, names[key])
            weight.meta["val"] = of_layer["weight"].meta["val"]
            bias.meta["val"] = of_norm["running_mean"].meta["val"]
            layer.args = (layer.args[0], weight, bias, *layer.args[3:])
            norm.replace_all_uses_with(layer)
            module.graph.erase_node(norm)
    if apart:
        decompose(module, rules, apart.__contains__)
    module.graph.eliminate_dead_code()
    module.recompile()


def warn_of_eps(module: GraphModule) -> None:
    """Warns of batch norms in training that torchao gives another ``eps`` (pytorch/ao#2980).

    Warns:
        BatchNormWarning: names the norm and its line.
    """
    for norm in module.graph.nodes:
        if norm.target in _NORMS and (eps := arguments_of(norm)["eps"]) != _EPS:
            where = source_line(norm)
            warnings.warn(
                f"{norm.name}{f' ({where})' if where else ''} has eps={eps}, and torchao will compute it with {_EPS}: "
                f"give the norm eps={_EPS} before the export, and train it so",
                BatchNormWarning,
                stacklevel=4,
            )


def _is_across(arguments: dict[str, Any]) -> bool:
    """Whether the channels of a linear layer are another axis than those of the norm, so that torchao folds nothing."""
    ranks = (arguments[name].meta["val"].dim() for name in ("weight", "input"))
    return bool(next(ranks) == 2 and next(ranks) > 2)


def _is_folded_well(module: GraphModule, layer: Node, arguments: dict[str, Any], axis: int) -> bool:
    """Whether torchao folds what follows a layer as it should: nothing else reads the weight and the bias."""
    constants = [n for n in (arguments["weight"], arguments["bias"]) if n is not None]
    alone = all(
        len(n.users) == 1 and len(module.graph.find_nodes(op="get_attr", target=n.target)) == 1 for n in constants
    )
    return alone and (axis == 0 or arguments["groups"] == 1)


def _folded(of_layer: dict[str, Any], of_norm: dict[str, Any], axis: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Weight and bias that give what the norm gives.

    Args:
        axis: of the weight, along which the channels of the layer's result lie; 1 has those of one group.
    """
    weight, bias = (_data(of_layer[name]) for name in ("weight", "bias"))
    factor, term, mean, variance = (_data(of_norm[name]) for name in _CONSTANTS)
    scale = torch.rsqrt(variance + of_norm["eps"])
    scale = scale if factor is None else scale * factor
    shift = ((0 if bias is None else bias) - mean) * scale
    if axis == 0:
        weight = weight * scale.reshape(-1, *[1] * (weight.dim() - 1))
    else:
        groups = weight.reshape(of_layer["groups"], -1, *weight.shape[1:])
        factors = scale.reshape(of_layer["groups"], 1, -1, *[1] * (weight.dim() - 2))
        weight = (groups * factors).reshape(weight.shape)
    return weight, shift if term is None else shift + term


def _data(constant: Node | None) -> Any:
    return None if constant is None else attribute(constant).detach()


def _register(module: GraphModule, layer: Node, *data: torch.Tensor) -> tuple[str, str]:
    names = (f"_folded_weight_{layer.name}", f"_folded_bias_{layer.name}")
    for name, numbers in zip(names, data, strict=True):
        module.register_parameter(name, torch.nn.Parameter(numbers, requires_grad=False))
    return names
