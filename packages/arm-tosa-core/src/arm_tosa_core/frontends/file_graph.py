"""What a reader finds in a file: its operators, and the graphs that they call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor

from ..support.errors import Rejected
from .file_inputs import FileInput
from .refusals import DAMAGED

#: Steps of a loop, at most: they become operators one behind the other.
MOST_STEPS = 512


@dataclass(frozen=True)
class FileNode:
    """An operator of the file.

    Args:
        name: as the file calls it, or its place where it has none; printable.
        kind: such as ``"Conv"`` or ``"CONV_2D"``.
        inputs: names of tensors; ``""`` where an optional one is left out.
        outputs: names of tensors; ``""`` where nobody reads one.
        place: the first operator of the file is 1.
        attributes: its options.
        graphs: those that it calls, by the name that the format has for each.
    """

    name: str
    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    place: int = 0
    attributes: Mapping[str, Any] = field(default_factory=dict)
    graphs: Mapping[str, Subgraph] = field(default_factory=dict)

    def __getitem__(self, attribute: str) -> Any:
        """An attribute.

        Raises:
            Rejected: the node has none of this name.
        """
        if attribute not in self.attributes:
            raise Rejected(f"it has no attribute {attribute}", DAMAGED)
        return self.attributes[attribute]

    def get(self, attribute: str, default: Any = None) -> Any:
        """An attribute, or the default where the node has none."""
        return self.attributes.get(attribute, default)


@dataclass(frozen=True)
class Subgraph:
    """Operators that one calls: the branch of a choice, the body of a loop. It may read tensors around it.

    Args:
        inputs: names that it has for what it is given.
        outputs: names of its own tensors, or of tensors around it.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[FileNode, ...]

    def called(self, inputs: Sequence[str], mark: str) -> Subgraph:
        """The same on these tensors.

        Args:
            inputs: in the order of its own; more than it has are left out.
            mark: behind the names of its own tensors and operators, so that it can be called again.
        """
        return self._renamed(dict(zip(self.inputs, inputs, strict=False)), mark)

    def _renamed(self, names: Mapping[str, str], mark: str) -> Subgraph:
        own = {*self.inputs, *(name for node in self.nodes for name in node.outputs if name)}
        names = {**{name: name + mark for name in own}, **names}

        def changed(given: Sequence[str]) -> tuple[str, ...]:
            return tuple(names.get(name, name) for name in given)

        nodes = [
            replace(
                node,
                name=node.name + mark,
                inputs=changed(node.inputs),
                outputs=changed(node.outputs),
                graphs={key: graph._renamed(names, mark) for key, graph in node.graphs.items()},
            )
            for node in self.nodes
        ]
        return Subgraph(changed(self.inputs), changed(self.outputs), tuple(nodes))


@dataclass(frozen=True)
class FileGraph:
    """What a reader found in a file: operators in an order in which each can run, and the constants that they read.

    Args:
        states: what stays from call to call, by a name that operators read: what it is before the first.
        writes: the tensor that each of them, by name, is behind a call.
    """

    inputs: tuple[FileInput, ...]
    outputs: tuple[str, ...]
    nodes: tuple[FileNode, ...]
    constants: Mapping[str, Tensor]
    states: Mapping[str, Tensor] = field(default_factory=dict)
    writes: Mapping[str, str] = field(default_factory=dict)
