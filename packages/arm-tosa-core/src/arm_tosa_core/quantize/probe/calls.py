"""Calls of a model: the samples that it is calibrated with and judged on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any

import torch
from torch.fx import GraphModule

from ...compat.torch import flat_call, tree_leaves
from ...support.errors import UsageError

#: Arguments and keyword arguments of one call of a model.
Sample = tuple[tuple[Any, ...], Mapping[str, Any]]

#: Calls at most of which statistics of layers and of results are made, and those whose activations are looked at whole.
SAMPLES, FEW = 32, 4


def as_call(number: int, sample: Any, what: str = "calibration") -> Sample:
    """A sample as its arguments and keyword arguments.

    Args:
        what: names the samples in errors.

    Raises:
        UsageError: it is none; names its number.
    """
    match sample:
        case torch.Tensor():
            return (sample,), {}
        case (tuple() | list() as args, dict() as kwargs):
            return tuple(args), kwargs
        case tuple() | list():
            return tuple(sample), {}
    raise UsageError(
        f"{what} sample {number} is of type {type(sample).__name__}: give a tensor, a tuple of arguments, "
        "or a tuple of arguments and a dictionary of keyword arguments"
    )


def inputs_of(module: GraphModule, sample: Sample) -> list[Any]:
    """The inputs of a call, one for each placeholder of an exported module.

    Raises:
        UsageError: it is no call of the module.
    """
    args, kwargs = sample
    takes = signature(module.forward)
    try:
        inputs = flat_call(module, list(takes.bind(*args, **kwargs).arguments.values()))
    except (TypeError, ValueError, LookupError) as error:
        raise UsageError(f"a sample is no call of the model, whose inputs are {takes}: {error}") from error
    for node, given in zip(module.graph.find_nodes(op="placeholder"), inputs, strict=False):
        if isinstance(wanted := node.meta.get("val"), torch.Tensor) and (_kind(given) != _kind(wanted)):
            raise UsageError(
                f"a sample is no call of the model: its input {node.name} takes {_kind(wanted)}, not {_kind(given)}"
            )
        if isinstance(wanted, torch.Tensor) and given.dim() != wanted.dim():
            raise UsageError(
                f"a sample is no call of the model: its input {node.name} takes {list(wanted.shape)}, "
                f"not {list(given.shape)}"
            )
    return inputs


def other_sizes(module: GraphModule, inputs: Sequence[Any]) -> str:
    """The first input whose sizes are not those that the module was exported with, in a sentence; "": there is none."""
    for node, given in zip(module.graph.find_nodes(op="placeholder"), inputs, strict=False):
        wanted = node.meta.get("val")
        if not isinstance(wanted, torch.Tensor):
            continue
        if any(isinstance(size, int) and size != own for size, own in zip(wanted.shape, given.shape, strict=True)):
            return f"its input {node.name} takes {list(wanted.shape)}, not {list(given.shape)}"
    return ""


def _kind(value: Any) -> str:
    """What a kernel must know of an input besides its shape."""
    if not isinstance(value, torch.Tensor):
        return f"a {type(value).__name__}"
    layout = "" if value.layout is torch.strided else f", {value.layout}"
    exact = value.dtype.is_floating_point or value.dtype.is_complex
    kind = str(value.dtype).removeprefix("torch.") if exact else "integers"
    return f"a tensor of {kind} on {value.device.type}{layout}"


def is_empty(sample: Sample) -> bool:
    """Whether it has tensors, and none of them an element."""
    tensors = [leaf for leaf in tree_leaves(sample) if isinstance(leaf, torch.Tensor)]
    return bool(tensors) and not any(tensor.numel() for tensor in tensors)
