"""Operators that call graphs: a branch in their place, or the steps of a loop one behind the other."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ....support.errors import Rejected
from ...file_graph import MOST_STEPS, FileNode, Subgraph
from ...file_model import Expansion
from .table import ROWS, axis_of, known, opset, require

_INSTEAD = (
    "If an input decides it that is always the same, such as a sample rate, give its number: --input-value NAME=NUMBER"
)


def _graph(node: FileNode, name: str) -> Subgraph:
    require(name in node.graphs, f"it has no {name}")
    return node.graphs[name]


def _same(node: FileNode, made: Sequence[str], wanted: Sequence[str]) -> list[FileNode]:
    pairs = zip(made, wanted, strict=False)
    return [FileNode(node.name, "Identity", (a,), (b,), node.place) for a, b in pairs if b]


@ROWS.expansion("If")
def chosen_branch(node: FileNode, condition: Tensor) -> Expansion:
    """The branch that a constant condition chooses, in the place of the operator; of data, both and a choice."""
    if not known(condition):
        both = _both_branches(node)
        warnings.warn(
            f"If {node.name!r}: its condition is computed while the model runs, so both branches are computed, and one "
            f"result is chosen. {_INSTEAD}",
            stacklevel=1,
        )
        return both, {}
    branch = _graph(node, "then_branch" if condition.reshape(-1)[0].item() else "else_branch")
    require(len(branch.outputs) >= len(node.outputs), "its branch does not make its outputs")
    return [*branch.nodes, *_same(node, branch.outputs, node.outputs)], {}


def _both_branches(node: FileNode) -> list[FileNode]:
    """All operators of both branches, and for each result a choice."""
    branches = [_graph(node, name) for name in ("then_branch", "else_branch")]
    require(all(len(b.outputs) >= len(node.outputs) for b in branches), "its branches do not make its outputs")
    pairs = zip(node.outputs, *(branch.outputs for branch in branches), strict=False)
    choices = [
        FileNode(node.name, "If/choose", (node.inputs[0], then, other), (name,), node.place)
        for name, then, other in pairs
        if name
    ]
    return [*branches[0].nodes, *branches[1].nodes, *choices]


@ROWS.row("If/choose")
def choose(node: FileNode, condition: Tensor, then: Tensor, other: Tensor) -> Tensor:
    require(
        (then.shape, then.dtype) == (other.shape, other.dtype),
        f"its condition is computed while the model runs, and its branches make {list(then.shape)} and "
        f"{list(other.shape)}, or two types",
        f"{_INSTEAD}. Else export the model without this choice",
    )
    return torch.where(condition.reshape([1] * then.dim()), then, other)


@ROWS.expansion("Loop")
def step_of_loop(node: FileNode, steps: Tensor | None = None, going: Tensor | None = None, *given: Tensor) -> Expansion:
    """One step, and the loop for those behind it."""
    body, states, done = _graph(node, "body"), node.inputs[2:], node.get("done", 0)
    for value, what in ((steps, "number of steps"), (going, "condition")):
        if value is not None and not known(value):
            raise Rejected(
                f"its {what} is computed while the model runs", "export the model with a fixed number of steps"
            )
    require(steps is not None or going is not None, "it never ends")
    require(
        len(body.inputs) == len(states) + 2 and len(body.outputs) > len(states), "its body does not fit its operands"
    )
    lists = node.get("lists", ((),) * (len(body.outputs) - 1 - len(states)))
    if (steps is not None and done >= int(steps)) or (going is not None and not bool(going)):
        return [*_same(node, states, node.outputs), *_stacked(node, lists, [0] * len(lists), len(states))], {}
    require(done < MOST_STEPS, f"it has more than {MOST_STEPS} steps", "export the model with fewer")
    mark = f" (step {done})"
    number, true = (name + mark for name in body.inputs[:2])
    one = body.called((number, true, *states), mark)
    further, *made = one.outputs
    lists = tuple((*old, new) for old, new in zip(lists, made[len(states) :], strict=True))
    # Without a condition, nobody asks for that of the next step.
    inputs = (node.inputs[0], "" if going is None else further, *made[: len(states)])
    attributes = {"done": done + 1, "lists": lists}
    again = FileNode(node.name, "Loop", inputs, node.outputs, node.place, attributes, node.graphs)
    return [*one.nodes, again], {number: torch.tensor(done), true: torch.tensor(True)}


def _stacked(node: FileNode, lists: Sequence[Sequence[str]], axes: Sequence[int], before: int) -> list[FileNode]:
    """What a loop makes of a result of each of its steps."""
    nodes = []
    for parts, axis, name in zip(lists, axes, node.outputs[before:], strict=False):
        require(parts or not name, "it has no step, and a result of each step")
        if name:
            nodes.append(FileNode(node.name, "Loop/stack", tuple(parts), (name,), node.place, {"axis": axis}))
    return nodes


@ROWS.row("Loop/stack")
def stacked(node: FileNode, *parts: Tensor) -> Tensor:
    return torch.stack(parts, axis_of(node["axis"], parts[0].dim() + 1))


@ROWS.row("Scan/part")
def part(node: FileNode, x: Tensor) -> Tensor:
    return x.select(node["axis"], node["place"])


@ROWS.expansion("Scan")
def all_steps(node: FileNode, *inputs: Tensor) -> Expansion:
    """Each step on an element of what it scans."""
    require(opset(node) >= 9, "its opset is 8, which has a batch", "export it with a newer one")
    body, count = _graph(node, "body"), node["num_scan_inputs"]
    before = len(inputs) - count
    require(0 < count <= len(inputs) == len(body.inputs), "its body does not fit its operands")
    scanned = inputs[before:]
    axes = [axis_of(a, x.dim()) for a, x in zip(node.get("scan_input_axes") or [0] * count, scanned, strict=True)]
    sizes = {x.shape[a] for a, x in zip(axes, scanned, strict=True)}
    require(
        len(sizes) == 1 and 0 < max(sizes) <= MOST_STEPS,
        f"it scans {sorted(sizes)} elements",
        f"export it with 1 to {MOST_STEPS}",
    )
    steps, turned = max(sizes), node.get("scan_input_directions") or [0] * count
    nodes: list[FileNode] = []
    states = node.inputs[:before]
    lists: list[list[str]] = [[] for _ in body.outputs[before:]]
    for step in range(steps):
        mark, parts = f" (step {step})", []
        for name, inner, axis, back in zip(node.inputs[before:], body.inputs[before:], axes, turned, strict=True):
            parts.append(inner + mark)
            place: dict[str, Any] = {"axis": axis, "place": steps - 1 - step if back else step}
            nodes.append(FileNode(node.name, "Scan/part", (name,), (parts[-1],), node.place, place))
        one = body.called((*states, *parts), mark)
        nodes += one.nodes
        states = one.outputs[:before]
        for found, name in zip(lists, one.outputs[before:], strict=True):
            found.append(name)
    back = node.get("scan_output_directions") or [0] * len(lists)
    lists = [found[::-1] if turn else found for found, turn in zip(lists, back, strict=True)]
    ends = _stacked(node, lists, node.get("scan_output_axes") or [0] * len(lists), before)
    return [*nodes, *_same(node, states, node.outputs[:before]), *ends], {}
