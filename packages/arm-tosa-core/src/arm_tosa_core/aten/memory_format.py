"""The memory format of a program's inputs."""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram

from ..compat.torch import tree_map
from ..compat.torch_sizes import dynamic_shapes
from ..lowering.varying_sizes import kept_varying
from ..support.errors import UsageError

#: By the names that users give on a command line.
MEMORY_FORMATS = {
    "contiguous": torch.contiguous_format,
    "channels_last": torch.channels_last,
    "preserve": torch.preserve_format,
}
#: The channels_last formats by the dimensions of an input.
_CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


def with_memory_format(program: ExportedProgram, memory_format: torch.memory_format) -> ExportedProgram:
    """The program for inputs that lie in memory in this format; itself if it takes them so.

    ``torch.export`` notes how an example input lies in memory, and ExecuTorch's runtime reads inputs in that
    order without looking: a picture that NumPy has loaded and that was permuted to [1, 3, height, width] would make a
    program that misreads every ordinary tensor. See docs/adr/0011-memory-format.md.

    Args:
        memory_format: ``torch.contiguous_format`` (row-major), ``torch.channels_last`` (inputs of four and five
            dimensions; others are row-major) or ``torch.preserve_format`` (as the example inputs lie, but for strides
            of axes of one element: NumPy's ``x[None]`` has 0 there, which ExecuTorch refuses).

    Raises:
        UsageError: another format, or a program without example inputs, which takes its inputs in another one.
    """
    if memory_format not in MEMORY_FORMATS.values():
        raise UsageError(f"memory_format is torch.contiguous_format, channels_last or preserve_format: {memory_format}")

    def arranged(leaf: Any) -> Any:
        return _copy(leaf, memory_format) if isinstance(leaf, torch.Tensor) else leaf

    with kept_varying(program):
        if all(meta.stride() == arranged(meta).stride() for meta in _user_inputs(program)):
            return program
    if program.example_inputs is None:
        raise UsageError(
            "the program takes its inputs in another memory format, and has no example inputs to export it again with: "
            "export it with inputs in the format that you want, and keep it with memory_format=torch.preserve_format"
        )
    args, kwargs = tree_map(arranged, program.example_inputs)
    return torch.export.export(program.module(), args, kwargs, dynamic_shapes=dynamic_shapes(program))


def _user_inputs(program: ExportedProgram) -> list[torch.Tensor]:
    names = set(program.graph_signature.user_inputs)
    nodes = (node for node in program.graph.find_nodes(op="placeholder") if node.name in names)
    return [meta for node in nodes if isinstance(meta := node.meta.get("val"), torch.Tensor)]


def _copy(tensor: torch.Tensor, memory_format: torch.memory_format) -> torch.Tensor:
    """A copy, of which every stride is that of the format: along an axis of one element a tensor may have any."""
    if memory_format == torch.preserve_format:
        # ExecuTorch orders axes by their strides: a picture [1, 3, H, W] of one of [H, W, 3] would begin with its rows.
        formats = (torch.contiguous_format, _CHANNELS_LAST.get(tensor.dim(), torch.contiguous_format))
        memory_format = next((it for it in formats if tensor.is_contiguous(memory_format=it)), memory_format)
    elif memory_format == torch.channels_last:
        memory_format = _CHANNELS_LAST.get(tensor.dim(), torch.contiguous_format)
    return torch.empty_like(tensor, memory_format=memory_format).copy_(tensor)
