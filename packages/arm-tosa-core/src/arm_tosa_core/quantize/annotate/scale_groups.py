"""One observer for all that has one scale: the first place of a group has its spec, and every other refers to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from torch.fx import Graph, Node
from torchao.quantization.pt2e.quantizer import QuantizationSpecBase, SharedQuantizationSpec

from ...compat.torchao import ANNOTATION, has_one_scale

#: What is observed: the result of a node, or a tensor as a node reads it (the tensor, the reader).
Place = Node | tuple[Node, Node]
Leading = Callable[[QuantizationSpecBase, Sequence[Place]], QuantizationSpecBase]


def refer_to_first(graph: Graph, leading: Leading = lambda spec, places: spec) -> None:
    """Writes annotations anew, so that what shares a scale refers to the first place of its group, without circles.

    Places are in one group where a spec says so, and where PT2E finds it by itself: a result and its readers, if their
    specs are alike. PT2E follows both. A tensor that is sliced, padded and concatenated with itself has references
    forward and backward, and there PT2E (torchao 0.18, ``_unwrap_shared_qspec``) does not end. If all refer to one
    place that has the spec, no path is longer than one step.

    Args:
        graph: annotated; groups in which no spec is shared stay as they are.
        leading: gives the spec of a group, from that of its first place and all its places.
    """
    specs = _specs(graph)
    groups = _Groups(specs)
    for place, spec in specs.items():
        if isinstance(spec, SharedQuantizationSpec):
            groups.join(place, spec.edge_or_node)
    own: dict[Place, QuantizationSpecBase] = {}
    for place, spec in specs.items():
        if not isinstance(spec, SharedQuantizationSpec):
            own.setdefault(groups.first(place), spec)
    for place in specs:
        for other in _same_tensor(place):
            if other in specs and has_one_scale(own[groups.first(place)], own[groups.first(other)]):
                groups.join(place, other)
    sharing = {groups.first(place) for place, spec in specs.items() if isinstance(spec, SharedQuantizationSpec)}
    members: dict[Place, list[Place]] = {first: [] for first in sharing}
    for place in specs:
        if (first := groups.first(place)) in sharing:
            members[first].append(place)
    for first, places in members.items():
        for place in places:
            _annotate(place, leading(own[first], places) if place == first else SharedQuantizationSpec(first))


class _Groups:
    """Disjoint sets of places; each is known by its first place, in the order of the graph."""

    def __init__(self, places: Iterable[Place]) -> None:
        self.before: dict[Place, Place] = {place: place for place in places}
        self.order: Mapping[Place, int] = {place: i for i, place in enumerate(self.before)}

    def first(self, place: Place) -> Place:
        while (before := self.before[place]) != place:
            self.before[place] = self.before[before]
            place = before
        return place

    def join(self, a: Place, b: Place) -> None:
        first, later = sorted((self.first(a), self.first(b)), key=self.order.__getitem__)
        self.before[later] = first


def _specs(graph: Graph) -> dict[Place, QuantizationSpecBase]:
    """What is annotated, in the order in which PT2E makes observers."""
    specs: dict[Place, QuantizationSpecBase | None] = {}
    for node in graph.nodes:
        if ANNOTATION in node.meta:
            annotation = node.meta[ANNOTATION]
            specs.update({(operand, node): spec for operand, spec in annotation.input_qspec_map.items()})
            specs[node] = annotation.output_qspec
    return {place: spec for place, spec in specs.items() if spec is not None}


def _same_tensor(place: Place) -> list[Place]:
    """A tensor as others read it, and as it was made, unless its reader wants an observer of its own."""
    if isinstance(place, Node):
        return []
    tensor, reader = place
    if not reader.meta[ANNOTATION].allow_implicit_sharing:
        return []
    return [*((tensor, user) for user in tensor.users if user is not reader), tensor]


def _annotate(place: Place, spec: QuantizationSpecBase) -> None:
    if isinstance(place, Node):
        place.meta[ANNOTATION].output_qspec = spec
    else:
        tensor, reader = place
        reader.meta[ANNOTATION].input_qspec_map[tensor] = spec
