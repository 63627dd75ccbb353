"""Bias correction: the mean that rounding adds to a layer's results is taken off its bias (Nagel et al., 2019, 4.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import torch
from torch.fx import GraphModule, Interpreter, Node

from ..compat.torch import tree_leaves
from ..lowering.exported_program import attribute, is_dequantize
from ..lowering.rule import Q
from ..lowering.rule_set import RuleSet

#: Arguments and keyword arguments of one call of a model.
Sample = tuple[tuple[Any, ...], Mapping[str, Any]]

#: Samples whose means stand for those of all.
SAMPLES = 32


def correct_biases(exact: GraphModule, converted: GraphModule, samples: Iterable[Sample], rules: RuleSet) -> list[str]:
    """Changes the biases of a converted model so that rounded weights leave the mean of each channel as it is in float.

    The mean error of a channel is ``(W - rounded W) E[x]``, with float activations ``x``: what rounding of activations
    adds differs from sample to sample, and is not for a bias to mend. Costs nothing at run time.

    Args:
        exact: the prepared model; its observers do not observe here.
        converted: what ``convert_pt2e`` made of a copy of it.
        samples: calls of the model; ``SAMPLES`` at most are used.
        rules: those of the target.

    Returns:
        The names of the layers.
    """
    weights = {node.name: node.args[1] for node in converted.graph.nodes if is_layer(node, rules)}
    rounded = {name: node for name, node in weights.items() if is_dequantize(node) and _is_known(node)}
    run = _Errors(exact, rounded)
    for args, kwargs in islice(samples, SAMPLES):
        with torch.no_grad():
            run.run(*tree_leaves((args, dict(kwargs))), enable_io_processing=False)
    layers = [node for node in converted.graph.nodes if node.name in run.errors]
    for node in layers:
        add_to_bias(converted, node, (run.errors[node.name] / run.counts[node.name]).float())
    converted.recompile()
    return [node.name for node in layers]


def _is_known(node: Any) -> bool:
    """Whether ``constant`` gives a value."""
    if not isinstance(node, Node) or node.op == "get_attr":
        return isinstance(node, Node)
    return is_dequantize(node) and all(_is_known(a) for a in node.args if isinstance(a, Node))


def constant(node: Any) -> torch.Tensor | None:
    """A constant, or what a dequantize node of one gives."""
    if not _is_known(node):
        return None
    if node.op == "get_attr":
        data: torch.Tensor = attribute(node).detach()
        return data
    made: torch.Tensor = node.target(*(constant(a) if isinstance(a, Node) else a for a in node.args))
    return made


def is_layer(node: Node, rules: RuleSet) -> bool:
    """Whether a node is a convolution or a linear layer."""
    rule = rules.of_node(node)
    return rule is not None and rule.quant is Q.CONV and len(node.args) >= 2


def channel_means(result: torch.Tensor, rank: int) -> torch.Tensor:
    """Per channel of a layer's result: the last axis, or the one before those that a kernel of a rank goes over."""
    axis = result.dim() - (1 if rank == 2 else rank - 1)
    others = [i for i in range(result.dim()) if i != axis]
    return result.double().mean(others) if others else result.double()  # of no axes PyTorch takes the mean of all


def add_to_bias(module: GraphModule, node: Node, error: torch.Tensor) -> None:
    """Gives a layer another bias, rounded as it will be; [channels] is added. A bias that is not constant stays."""
    old: Any = node.args[2] if len(node.args) > 2 else None
    before = constant(old)
    if isinstance(old, Node) and before is None:
        return
    data = error if before is None else before + error
    if (steps := _steps(node, len(data))) is not None:
        data = ((data / steps).round() * steps).float()
    name = f"_corrected_bias_{node.name}"
    module.register_buffer(name, data)
    with module.graph.inserting_before(node):
        new = module.graph.get_attr(name)
    new.meta["val"] = old.meta["val"] if isinstance(old, Node) and "val" in old.meta else data.to("meta")
    node.args = (*node.args[:2], new, *node.args[3:])


def _steps(node: Node, channels: int) -> torch.Tensor | None:
    """Of a quantized layer's accumulator, [channels], float64: the compiled layer rounds its bias to them."""
    operands = [n for n in node.args[:2] if isinstance(n, Node) and is_dequantize(n)]
    if len(operands) < 2:
        return None
    scales: list[Any] = [n.args[1] for n in operands]
    of_input, of_weight = (constant(s) if isinstance(s, Node) else torch.tensor(s) for s in scales)
    if of_input is None or of_weight is None:
        return None  # known only at run time
    steps = (of_input.double() * of_weight.double()).reshape(-1)
    return steps.repeat(channels // len(steps))


class Floating(Interpreter):
    """Runs a prepared model in float; its observers do not observe."""

    def run_node(self, n: Node) -> Any:
        if n.op == "call_module" and n.name.startswith("activation_post_process"):
            return self.fetch_args_kwargs_from_env(n)[0][0]
        return super().run_node(n)


class _Errors(Floating):
    """Adds up the mean errors that rounded weights make in each layer.

    Args:
        weights: their nodes, by layer; in float there is room for one of them at a time.
    """

    def __init__(self, module: GraphModule, weights: dict[str, Node]) -> None:
        super().__init__(module)
        self.weights = weights
        self.errors: dict[str, torch.Tensor] = {}
        self.counts: dict[str, int] = {}

    def run_node(self, n: Node) -> Any:
        result = super().run_node(n)
        if n.name in self.weights and result.numel():
            weight: Any = constant(self.weights[n.name])
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            assert callable(n.target)
            rounded = n.target(args[0], weight, *args[2:], **kwargs)
            self.errors[n.name] = self.errors.get(n.name, 0.0) + channel_means(result - rounded, weight.dim())
            self.counts[n.name] = self.counts.get(n.name, 0) + 1
        return result
