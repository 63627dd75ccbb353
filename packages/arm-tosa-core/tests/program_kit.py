"""Programs whose parts go to delegates or stay on the CPU, for the tests of both flows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from flow_kit import Inputs, Net

X, Y = torch.randn(2, 1, 4, 8, 8, generator=torch.Generator().manual_seed(0))
IDS = torch.tensor([[1, 2, 3]])
CAST = "dim_order_ops._to_dim_order_copy.default"
SIGMOID = "aten.sigmoid.default"


@dataclass(frozen=True)
class Program:
    """A program and where its operators must go.

    Args:
        forward: of ``Net``.
        inputs: also for calibration.
        cpu: operators that stay on the CPU, besides quantize and dequantize.
        delegates: how many there must be.
        older: what stays on the CPU in the older flow, if that differs: nobody narrows int64 there.
        parted: ExecuTorch's flow takes an operator apart, which the fast one keeps.
    """

    name: str
    forward: Callable[..., Any]
    inputs: Inputs
    cpu: frozenset[str] = frozenset()
    delegates: int = 1
    older: frozenset[str] | None = None
    parted: bool = False


def _split(net: Net, x: torch.Tensor) -> torch.Tensor:
    a, b = net.conv(x).split(2, 1)
    return torch.cat([torch.sigmoid(a) + b * b, b], 1)


def _written_in_place(net: Net, x: torch.Tensor) -> torch.Tensor:
    z = net.conv(x)
    z[:, 0].fill_(1.0)
    return z.add_(1).relu_()


def handed_out(net: Net, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    made = net.conv(x)
    return made, net.conv2(torch.sigmoid(y) + made * made)


def _twice(result: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return result, torch.relu(result), result


PROGRAMS = [
    Program("several outputs", lambda net, x, y: (net.conv(x), torch.relu(net.conv(y)), x + y), (X, Y)),
    Program("outputs in a dictionary", lambda net, x: {"a": net.conv(x), "b": [x + 1]}, (X,)),
    Program("an unused input", lambda net, x, y: net.conv(y), (X, Y)),
    Program("an input returned", lambda net, x, y: (x, net.conv(y)), (X, Y)),
    Program("a result returned twice, and used", lambda net, x: _twice(net.conv(x)), (X,)),
    Program("a constant returned", lambda net, x: (net.conv(x), net.kept), (X,)),
    Program(
        "a constant expression returned",
        lambda net, x: (net.conv(x), net.kept * 2),
        (X,),
        cpu=frozenset({"aten.mul.Tensor", CAST}),
    ),
    Program("a constant of two users", lambda net, x: x * net.kept.exp() + net.kept.exp(), (X,)),
    Program("weights shared by layers", lambda net, x: net.conv(net.conv(x)), (X,)),
    Program("a buffer that is not saved", lambda net, x: x * net.unsaved, (X,)),
    Program("channels last", lambda net, x: net.conv(x), (X.to(memory_format=torch.channels_last),)),
    Program("an input without dimensions", lambda net, x, y: net.conv(x) * y, (X, torch.tensor(0.7))),
    Program("an input without elements", lambda net, x, y: net.conv(torch.cat([x, y], 1)), (X, X[:, :0])),
    Program(
        "a result without elements, of the CPU",
        lambda net, x: net.conv(torch.slice_scatter(x, torch.sigmoid(x)[:, :, :0], 2, 8)),
        (X,),
        older=frozenset({SIGMOID}),
    ),
    Program("a list of scalars", lambda net, x: torch.stack(x[0, 0, 0].unbind(0)) * 2, (X,), parted=True),
    Program("bool output", lambda net, x, y: (x > y, x - y), (X, Y)),
    Program("operators in place", _written_in_place, (X,)),
    Program("a clamp alone", lambda net, x: torch.relu(x), (X,)),
    Program("layers side by side", lambda net, x, y: (net.conv(x), net.conv2(y)), (X, Y)),
    Program(
        "int64 output",
        lambda net, x: net.conv(x).argmax(1),
        (X,),
        cpu=frozenset({CAST}),
        older=frozenset({"aten.argmax.default"}),
    ),
    Program(
        "int64 input",
        lambda net, i: net.linear(net.embedding(i)),
        (IDS,),
        cpu=frozenset({CAST}),
        older=frozenset({"aten.embedding.default"}),
    ),
    Program(
        "int64 input, returned as well",
        lambda net, i: (i, net.linear(net.embedding(i))),
        (IDS,),
        cpu=frozenset({CAST}),
        older=frozenset({"aten.embedding.default"}),
    ),
    Program(
        "an operator refused in the middle",
        lambda net, x: net.conv2(torch.sigmoid(net.conv(x))),
        (X,),
        cpu=frozenset({SIGMOID}),
        delegates=2,
    ),
    Program(
        "weights shared by delegates",
        lambda net, x: net.conv(torch.sigmoid(net.conv(x))),
        (X,),
        cpu=frozenset({SIGMOID}),
        delegates=2,
    ),
    Program(
        "a constant shared by the CPU and a delegate",
        lambda net, x: torch.sigmoid(x + net.kept) + (x + net.kept),
        (X,),
        cpu=frozenset({SIGMOID}),
        delegates=2,
    ),
    Program("results of one operator on both sides", _split, (X,), cpu=frozenset({SIGMOID}), delegates=2),
    Program(
        "an input handed on as it is",
        lambda net, x, mask: (net.conv(x), torch.sigmoid(mask.expand(1, 4, 8, 8))),
        (X, X > 0),
        cpu=frozenset({SIGMOID, "aten.expand_copy.default"}),
    ),
    Program(
        "a side branch past the refused operator",
        lambda net, x: net.conv2(torch.sigmoid(net.conv(x)) + net.conv2(x)),
        (X,),
        cpu=frozenset({SIGMOID}),
        delegates=2,
    ),
]


def accumulate(net: Net, x: torch.Tensor) -> torch.Tensor:
    net.state.add_(x)
    return net.conv(x) + net.state


def cache(net: Net, x: torch.Tensor) -> torch.Tensor:
    net.state[:, :, net.count] = net.conv(x)[:, :, :1]
    net.count.add_(1)
    return torch.relu(net.state)
