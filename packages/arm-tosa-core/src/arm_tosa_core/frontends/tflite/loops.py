"""``WHILE``: its steps one behind the other, as long as a condition holds that follows from constants."""

from __future__ import annotations

from torch import Tensor

from ...support.errors import Rejected, require
from ..file_graph import MOST_STEPS, FileNode
from ..file_model import Expansion
from .rows import ROWS


@ROWS.expansion("WHILE")
def asked(node: FileNode, *values: Tensor) -> Expansion:
    """What decides whether there is one more step."""
    done = node.get("done", 0)
    require(done <= MOST_STEPS, f"it has more than {MOST_STEPS} steps", "make the file with fewer")
    condition = node.graphs["cond_graph"].called(node.inputs, f" (step {done})")
    require(len(condition.outputs) == 1 and len(node.outputs) == len(node.inputs), "its graphs do not fit its operands")
    reads, attributes = (*condition.outputs, *node.inputs), {"done": done}
    decided = FileNode(node.name, "WHILE/decided", reads, node.outputs, node.place, attributes, node.graphs)
    return [*condition.nodes, decided], {}


@ROWS.expansion("WHILE/decided")
def step(node: FileNode, condition: Tensor, *values: Tensor) -> Expansion:
    if condition.is_meta:
        raise Rejected(
            "its condition is computed while the model runs",
            "make the file with a fixed number of steps (Keras: unroll=True, and an input without a mask)",
        )
    if not condition.reshape(-1)[0]:
        pairs = zip(node.inputs[1:], node.outputs, strict=True)
        return [FileNode(node.name, "same", (value,), (made,), node.place) for value, made in pairs], {}
    done = node["done"]
    one = node.graphs["body_graph"].called(node.inputs[1:], f" (step {done})")
    require(len(one.outputs) == len(node.outputs), "its body does not make what it reads")
    again = FileNode(node.name, "WHILE", one.outputs, node.outputs, node.place, {"done": done + 1}, node.graphs)
    return [*one.nodes, again], {}
