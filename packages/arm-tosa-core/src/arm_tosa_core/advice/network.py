"""Changes of a network, its inputs or its quantization that may make it faster on any target."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from ..exir.report import Report
from ..lowering.exported_program import module_path
from ..lowering.operator_names import canonical
from ..quantize.annotate.wide_results import STATE
from ..quantize.decisions import WIDE_RESULT
from ..quantize.schemes.config import get_symmetric_quantization_config
from .candidate import Candidate, Request
from .edits import calls, edited, set_weight, weight_of

_aten = torch.ops.aten
_TRAIN = "train it again"
_MEASURE = "measure its accuracy"


@dataclass(frozen=True)
class _Swap:
    """An operator in place of another.

    Args:
        operators: the other, by its ATen names.
        name, by: both, as users know them.
        swap: gives the new operator's result in place of a node.
        price: as of ``Candidate``.
        fits: whether a node is one that it replaces.
    """

    operators: frozenset[str]
    name: str
    by: str
    swap: Callable[[GraphModule, Node], Any]
    price: str = _TRAIN
    fits: Callable[[Node], bool] = lambda node: True

    def nodes(self, module: GraphModule) -> list[Node]:
        """Those that it replaces."""
        return [node for node in calls(module, self.operators) if self.fits(node)]


def _call(module: GraphModule, target: Any, *args: Any) -> Node:
    return module.graph.call_function(target, args)


def _relu(module: GraphModule, node: Node) -> Node:
    return _call(module, _aten.relu.default, node.args[0])


def _nearest(module: GraphModule, node: Node) -> Node:
    image, size, _, scales = node.args
    return _call(module, _aten.upsample_nearest2d.vec, image, size, scales)


def _affine(module: GraphModule, node: Node) -> Any:
    value, _, weight, bias = (*node.args, None, None)[:4]
    scaled = value if weight is None else _call(module, _aten.mul.Tensor, value, weight)
    return scaled if bias is None else _call(module, _aten.add.Tensor, scaled, bias)


def _is_of_images(node: Node) -> bool:
    """Whether a mean is over height and width."""
    image, dims = (*node.args, None)[:2]
    value = image.meta.get("val") if isinstance(image, Node) else None
    if not isinstance(value, torch.Tensor) or value.dim() != 4 or not isinstance(dims, Sequence):
        return False
    return sorted(dim % 4 for dim in dims if isinstance(dim, int)) == [2, 3]


def _pool(module: GraphModule, node: Node) -> Node:
    pooled = _call(module, _aten.adaptive_avg_pool2d.default, node.args[0], [1, 1])
    kept = node.args[2] if len(node.args) > 2 else node.kwargs.get("keepdim", False)
    return pooled if kept else _call(module, _aten.flatten.using_ints, pooled, 1)


_SWAPS = (
    *(
        _Swap(frozenset({f"aten.{operator}.default"}), name, "ReLU", _relu)
        for operator, name in (
            ("silu", "SiLU"),
            ("gelu", "GELU"),
            ("hardswish", "Hardswish"),
            ("mish", "Mish"),
            ("elu", "ELU"),
            ("leaky_relu", "LeakyReLU"),
            ("prelu", "PReLU"),
        )
    ),
    _Swap(frozenset({"aten.upsample_bilinear2d.vec"}), "bilinear interpolation", "nearest neighbours", _nearest),
    _Swap(frozenset({"aten.layer_norm.default"}), "LayerNorm", "a scale and a shift per channel", _affine),
    _Swap(
        frozenset({"aten.mean.dim"}),
        "a mean over height and width",
        "AdaptiveAvgPool2d(1)",
        _pool,
        "it rounds to 8 bits once more: measure its accuracy",
        _is_of_images,
    ),
)


def candidates_of_network(request: Request, report: Report) -> Iterator[Candidate]:
    """Those that fit a program."""
    yield from _of_inputs(request)
    yield from _of_quantization(request)
    yield from _of_few_channels(request)
    for swap in _SWAPS:
        yield from _of_swap(swap, request.program, report)


def _of_inputs(request: Request) -> Iterator[Candidate]:
    images = [value for value in _inputs(request.program) if isinstance(value, torch.Tensor) and value.dim() == 4]
    if images and request.memory_format == "contiguous":
        how = partial(replace, memory_format="channels_last")
        price = "inputs and outputs then lie in memory so, as cameras give them"
        yield Candidate("images with channels last", how, "--memory-format channels_last", price=price)


def _inputs(program: ExportedProgram) -> list[Any]:
    """The values of the inputs, as the graph has them."""
    names = set(program.graph_signature.user_inputs)
    return [node.meta.get("val") for node in program.graph.find_nodes(op="placeholder") if node.name in names]


def _of_quantization(request: Request) -> Iterator[Candidate]:
    if (quantizer := request.quantizer) is None:
        return
    config = quantizer.global_config
    if config is not None and getattr(config.input_activation, "dtype", None) == torch.int16:
        narrow = copy.copy(quantizer).set_global(get_symmetric_quantization_config())
        how = partial(replace, quantizer=narrow)
        yield Candidate("int8 in place of int16", how, "--quantize int8", price=_MEASURE)
    reasons = [row.why for row in request.decisions if row.kind == WIDE_RESULT and row.why != STATE]
    for why in dict.fromkeys(reasons):
        narrow = copy.copy(quantizer).set_left_narrow([*quantizer.left_narrow, why])
        change = f"8 bits in place of 16 for results of the kind {why!r} ({reasons.count(why)})"
        command = f"in Python quantizer.set_left_narrow([{why!r}])"
        yield Candidate(change, partial(replace, quantizer=narrow), command, "bits", price=_MEASURE)


def _of_few_channels(request: Request) -> Iterator[Candidate]:
    """A fourth channel for the layers that read pictures of three."""
    program = request.program
    names = list(program.graph_signature.user_inputs)
    for node in program.graph.find_nodes(op="call_function", target=_aten.conv2d.default):
        picture, weight = node.args[:2]
        if not isinstance(picture, Node) or picture.name not in names or len(picture.users) != 1:
            continue
        if list(weight.meta["val"].shape[1:2]) != [3]:  # of one group, as the picture has three channels
            continue
        stride = (*node.args, [1, 1])[3] if len(node.args) > 3 else [1, 1]
        place = names.index(picture.name)
        yield Candidate(
            "4 channels",
            partial(edited, edit=partial(_fourth_channel, place=place), of_inputs={place: _padded}),
            modules=(module_path(node),),
            what=f"3 channels, stride {stride[0]}",
            operators=frozenset({canonical(node.target)}),
            price="the fourth channel of the input and of the weights may be 0",
        )


def _padded(value: torch.Tensor) -> torch.Tensor:
    return torch.cat([value, torch.zeros_like(value[:, :1])], dim=1)


def _fourth_channel(module: GraphModule, place: int) -> None:
    (layer,) = module.graph.find_nodes(op="placeholder")[place].users
    if (weight := weight_of(layer)) is not None:
        set_weight(module, weight, _padded)


def _of_swap(swap: _Swap, program: ExportedProgram, report: Report) -> Iterator[Candidate]:
    nodes = swap.nodes(program.graph_module)
    if not nodes:
        return
    modules = tuple(dict.fromkeys(map(module_path, nodes)))
    layers = [layer for delegate in report.compiled for layer in delegate.layers if layer.module in modules]
    is_known = any(layer.operator in swap.operators for layer in layers)
    yield Candidate(
        f"{swap.by} in place of {swap.name}",
        partial(edited, edit=partial(_swapped, swap=swap)),
        modules=modules,
        what=swap.name,
        operators=swap.operators if is_known else frozenset(),
        price=swap.price,
    )


def _swapped(module: GraphModule, swap: _Swap) -> None:
    for node in swap.nodes(module):
        with module.graph.inserting_before(node):
            made = swap.swap(module, node)
        if isinstance(made, Node) and "nn_module_stack" not in made.meta:
            made.meta = dict(node.meta)
        node.replace_all_uses_with(made)
        module.graph.erase_node(node)
