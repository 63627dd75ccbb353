"""What calibration has shown nothing but zeros of, such as a mask that masks nothing: other numbers would be lost."""

from __future__ import annotations

import math
import operator
import warnings
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from ..compat.torch import OpOverload, is_mutable
from ..compat.torch_sizes import example_size
from ..lowering.exported_program import is_constant, is_graph, source_line
from ..lowering.node_facts import facts
from ..support.errors import AllZerosWarning
from .schemes.observers import MaskedHistogramObserver

Values = dict[Node, Any]  #: of nodes

#: As many names are said.
_SAID = 4


def warn_of_all_zeros(prepared: GraphModule) -> None:
    """Warns of inputs and results of which no sample has a number but 0; of those that others are made of alone.

    What is 0 whatever the samples are is no news, such as the first state of a recurrent network, ``x * 0``, and what
    is made of these.

    Args:
        prepared: calibrated.

    Warns:
        AllZerosWarning: names them, and says what to do.
    """
    known: Values = {}  # whatever the samples are
    zeros: set[Node] = set()
    first: list[Node] = []
    for node in prepared.graph.nodes:
        if is_constant(node) and not is_graph(node):
            known[node] = operator.attrgetter(str(node.target))(prepared)
        elif isinstance(size := node.meta.get("val"), (int, torch.SymInt)) and example_size(size) < math.inf:
            known[node] = int(example_size(size))
        elif known.keys() >= {*node.all_input_nodes}:
            known |= _result(node, known)
        if node.op != "call_module" or not isinstance(source := node.args[0], Node):
            continue
        observer = getattr(prepared, str(node.target))
        if source not in known and isinstance(observer, MaskedHistogramObserver):
            if observer.all_zeros or observer.all_masks:
                known |= _unmoved(source, known)
            if observer.all_zeros and source not in known:
                if not zeros.intersection((source, *source.all_input_nodes)):
                    first.append(source)
                zeros |= {source, node}
        known |= {node: known[source]} if source in known else {}
    if first:
        warnings.warn(_text(first), AllZerosWarning, stacklevel=3)


def _unmoved(node: Node, known: Values) -> Values:
    """The result of an operator, if it is the same for positive and for negative numbers in place of the others.

    Truth values are all true, then all false.
    """
    others: Values = {n: _observed(n).meta.get("val") for n in node.all_input_nodes if n not in known}
    if not all(map(_has_stand_in, others.values())):
        return {}
    one, other = (
        _result(node, known | {n: _stand_in(val, sign, seed) for seed, (n, val) in enumerate(others.items())})
        for sign in (1, -1)
    )
    return one if one and other and torch.equal(one[node], other[node]) else {}


def _observed(node: Node) -> Node:
    return node.args[0] if node.op == "call_module" and isinstance(node.args[0], Node) else node


def _has_stand_in(value: Any) -> bool:
    """Whether any numbers will do in place of a value; integers may be indices."""
    if not isinstance(value, torch.Tensor) or not (value.dtype == torch.bool or value.is_floating_point()):
        return False
    return all(example_size(n) < math.inf for n in value.shape)


def _stand_in(value: torch.Tensor, sign: int, seed: int) -> torch.Tensor:
    shape = [int(example_size(n)) for n in value.shape]
    numbers = sign * (2 + torch.rand(shape, generator=torch.Generator().manual_seed(seed)))
    return numbers > 0 if value.dtype == torch.bool else numbers.to(value.dtype)


def _result(node: Node, values: Values) -> Values:
    """The result of an operator, if it is one tensor, and nothing is written."""
    if not isinstance(node.target, OpOverload) or is_mutable(node.target):
        return {}
    args, kwargs = map_arg((node.args, node.kwargs), values.__getitem__)
    result = node.target(*args, **kwargs)
    return {node: result} if isinstance(result, torch.Tensor) else {}


def _text(sources: list[Node]) -> str:
    said = ", ".join(map(_named, sources[:_SAID])) + (
        f" and {len(sources) - _SAID} more" if len(sources) > _SAID else ""
    )
    return (
        f"no sample has a number other than 0 of {said}: the quantized model takes every number for 0 there. Give "
        "samples with others, such as calls with a mask that masks something, or with a state that is not the first"
    )


def _named(source: Node) -> str:
    if source.op == "placeholder":
        return f"input {str(source.target)!r}"
    line = source_line(source)
    return f"{facts(source).whole or source.name!r}" + (f" ({line})" if line else "")
