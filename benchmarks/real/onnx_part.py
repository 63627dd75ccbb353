"""The part of an ONNX file between some of its tensors, as a module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from arm_tosa_core.frontends.file_graph import FileGraph
from arm_tosa_core.frontends.file_inputs import FileInput
from arm_tosa_core.frontends.file_model import FileModel
from arm_tosa_core.frontends.onnx import ROWS, read


class OnnxPart(FileModel):
    """A part of a model; one output alone is a tensor.

    Args:
        path: of the file.
        example: what the inputs are. Sizes are theirs, whatever the file says.
        inputs: names of tensors in place of the model's inputs.
        outputs: names of tensors in place of the model's outputs.
    """

    def __init__(
        self,
        path: Path,
        example: Sequence[torch.Tensor],
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
    ) -> None:
        graph = read(path)
        names = inputs or [one.name for one in graph.inputs if one.default is None]
        ends = [FileInput(name, tuple(x.shape), x.dtype) for name, x in zip(names, example, strict=True)]
        ends += [one for one in graph.inputs if one.default is not None and one.name not in names]  # constants
        part = replace(graph, inputs=tuple(ends), outputs=tuple(outputs or graph.outputs))
        super().__init__(_needed(part), ROWS, path.name)

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, ...]:  # type: ignore[override]
        made = super().forward(*inputs)
        return made if len(made) > 1 else made[0]


def _needed(graph: FileGraph) -> FileGraph:
    """Without the nodes before the inputs, and those that no output depends on."""
    given = {one.name for one in graph.inputs}
    wanted, nodes = set(graph.outputs) - given, []
    for node in reversed(graph.nodes):
        if wanted & set(node.outputs):
            nodes.append(node)
            wanted |= set(node.inputs) - given
    return replace(graph, nodes=tuple(nodes[::-1]))
