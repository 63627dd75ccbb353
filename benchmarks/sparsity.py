"""What 2:4 sparse weights cost trained networks in accuracy: each layer alone, then all, without training again.

    python -m benchmarks.sparsity
    python -m benchmarks.sparsity --networks mtcnn_onet

In each group of four input channels the two weights are 0 that are missed least, and the others make up for them as far
as inputs go together (``quantize/error_feedback.py``); biases are corrected. ``loss_db`` is how much lower the SQNR of
the worst output is on held-out data than that of the same network in int8. Packages of ``benchmarks/real`` must be
installed. Layers whose channels are in groups, or that have no whole groups of four, are left out.
"""

from __future__ import annotations

import argparse
import copy
import math
import sys
from collections.abc import Iterator, Mapping, Sequence

import torch
from torch.fx import GraphModule

from arm_ethosu import EthosUCompileSpec, EthosUQuantizer
from arm_tosa_core import get_symmetric_quantization_config, quantize_program
from arm_tosa_core.compat.torch import tree_leaves
from arm_tosa_core.quantize import rounded_weights
from arm_tosa_core.quantize.bias_correction import correct_biases
from arm_tosa_core.quantize.error_feedback import Feedback
from arm_tosa_core.quantize.weight_statistics import Layer, Statistics, find_layers, gather
from benchmarks.real.network import Call
from benchmarks.real.registry import NETWORKS
from benchmarks.results import Measurement, Run, add_results_option, run_and_record

_SAMPLES, _HELD_OUT = 32, 32
_GROUP, _ZEROS = 4, 2


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=sorted(NETWORKS), default=["mtcnn_onet", "efficientnet_lite0"])
    add_results_option(parser, "sparsity")
    options = parser.parse_args()
    return run_and_record(options.results, _measured(options.networks), lambda rows: [])


def _measured(names: Sequence[str]) -> Iterator[Measurement]:
    run = Run.here("sparsity")
    for name in names:
        for layer, metrics in _losses(name):
            yield run.measured({"network": name, "layer": layer}, "2:4", metrics)


def _losses(name: str) -> Iterator[tuple[str, dict[str, float]]]:
    network = NETWORKS[name].make()
    samples, judges = network.calibration[:_SAMPLES], network.held_out[:_HELD_OUT]
    quantizer = EthosUQuantizer(EthosUCompileSpec("ethos-u85-256")).set_global(get_symmetric_quantization_config())
    made = quantize_program(torch.export.export(network.module, samples[0]), quantizer, samples)
    with torch.no_grad():
        wanted = [tree_leaves(network.module(*sample)) for sample in judges]
        seen = [tree_leaves(network.module(*sample)) for sample in samples]
    calls = [(sample, {}) for sample in samples]
    layers = find_layers(made.prepared, made.converted, quantizer.rules)
    powers = [sum(float(y.square().sum()) for y in row) for row in zip(*seen, strict=True)]
    found = gather(copy.deepcopy(made.prepared), layers, calls, powers)
    every = sum(layer.weight.numel() for layer in layers)
    usual = _noise(made.converted, judges, wanted)

    def loss(chosen: Mapping[str, torch.Tensor]) -> float:
        module = copy.deepcopy(made.converted)
        nodes = {node.name: node for node in module.graph.nodes}
        for layer in layers:
            if layer.name in chosen:
                node = nodes[layer.dequantize.name]
                rounded_weights.replace(module, node, chosen[layer.name], rounded_weights.parameters(node)[0])
        correct_biases(made.prepared, module, calls, quantizer.rules)
        noise = _noise(module, judges, wanted)
        return round(max(10 * math.log10(a / b) for a, b in zip(noise, usual, strict=True)), 2)

    sparse: dict[str, torch.Tensor] = {}
    for layer in layers:
        if layer.name in found and layer.groups == 1 and layer.weight.shape[1] % _GROUP == 0:
            sparse[layer.name] = _sparse(layer, found[layer.name])
            share = round(layer.weight.numel() / every, 4)
            yield layer.name, {"share": share, "loss_db": loss({layer.name: sparse[layer.name]})}
    share = round(sum(sparse[name].numel() for name in sparse) / every, 4)
    yield "all", {"share": share, "loss_db": loss(sparse)}


def _sparse(layer: Layer, statistics: Statistics) -> torch.Tensor:
    """The integers of a layer, at the scales that it has, two of each four 0: those that are missed least."""
    feedback = Feedback(statistics.covariance, statistics.observations)
    scale, low, high = rounded_weights.parameters(layer.dequantize)
    weights = feedback.sorted(layer.cut(layer.weight.float()))
    # How little inputs tell of one another: the diagonal of the inverse covariance.
    alone = feedback.factor.square().sum(1)
    missed = layer.whole(feedback.unsorted(weights.square() / alone[:, None]))
    groups = missed.reshape(len(missed), -1, _GROUP, missed[0, 0].numel())
    kept = (groups.argsort(dim=2).argsort(dim=2) >= _ZEROS).reshape(missed.shape)
    keep = feedback.sorted(layer.cut(kept.float()))
    steps = scale.float().expand(len(layer.weight)).reshape(layer.groups, -1).repeat_interleave(layer.parts, 0)

    def choose(place: int, wanted: torch.Tensor) -> torch.Tensor:
        return wanted.round().clamp(low, high) * keep[..., place]

    return layer.whole(feedback.unsorted(feedback.round(weights, steps, choose))).to(torch.int8)


def _noise(module: GraphModule, judges: Sequence[Call], wanted: Sequence[Sequence[torch.Tensor]]) -> list[float]:
    """The power of the error of each output."""
    with torch.no_grad():
        pairs = [(tree_leaves(module(*sample)), exact) for sample, exact in zip(judges, wanted, strict=True)]
    rows = [[float((a - b).double().square().sum()) for a, b in zip(*pair, strict=True)] for pair in pairs]
    return [sum(column) for column in zip(*rows, strict=True)]


if __name__ == "__main__":
    sys.exit(main())
