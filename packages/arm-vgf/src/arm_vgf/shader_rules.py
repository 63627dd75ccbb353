"""Compute shaders as TOSA: the operator CUSTOM in the domain of which the model converter makes segments of a VGF."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch

from arm_tosa_core.extend import OpBuilder, Q, Traits, UsageError, Value, op
from arm_tosa_core.rules import sample

from .constraints import SHADERS
from .shaders import Buffer, Description, Image, Sampler, ShaderCode, Tensors

_BILINEAR = 0
_ZEROS, _BORDER, _REFLECTION = 0, 1, 2
_EDGES = {_ZEROS: "border", _BORDER: "clamp", _REFLECTION: "mirror"}
#: Pixels of a side that every device has.
_LARGEST_IMAGE = 4096
#: Formats of an image, by its type and channels.
_FORMATS = {
    (dtype, channels): "".join(f"{channel}{bits}" for channel in "RGBA"[:channels]) + "_SFLOAT"
    for dtype, bits in ((torch.float16, 16), (torch.float32, 32))
    for channels in (1, 2, 4)
}


@op("arm_vgf.shader.default", target="vgf")
def shader(b: OpBuilder, inputs: list[Value], description: str) -> tuple[Value, ...]:
    """One segment; the graph before it and the one behind it become segments of their own."""
    try:
        found, fault = Description.parse(description), ""
    except UsageError as error:
        fault = str(error)
    b.require(not fault, fault)
    return _shader(b, inputs, found.outputs, found.name, found.attributes)


@op(
    "aten.grid_sampler.default",
    "aten.grid_sampler_2d.default",
    "aten.grid_sampler_3d.default",
    quant=Q.ARITHMETIC,
    target="vgf",
    traits=Traits(samples_at=1),
)
def grid_sampler(b: OpBuilder, x: Value, grid: Value, mode: int, padding: int, align_corners: bool) -> Value:
    """By a sampler of the device where the user wants that and samplers do the same; else by gathering pixels.

    Args:
        x: [N, C, H, W].
        grid: [N, OH, OW, 2], positions from -1 to 1, x before y.
    """
    if not b.preferences.samplers or not _is_for_samplers(x, grid, mode, padding, align_corners):
        return sample.grid_sampler(b, x, grid, mode, padding, align_corners)
    image = b.TRANSPOSE(b.real(x), [0, 2, 3, 1])
    if image.dtype not in (torch.float16, torch.float32):
        image = b.cast(image, torch.float32)
    height, width, channels = image.shape[1:]
    if channels == 3:
        image = b.PAD(image, [(0, 0), (0, 0), (0, 0), (0, 1)])
    grid = b.cast(b.real(grid), torch.float32)
    if align_corners:  # -1 and 1 are the middles of the outermost pixels
        grid = b.MUL(grid, b.const(torch.tensor([(width - 1) / width, (height - 1) / height])))
    texels = Image(_FORMATS[image.dtype, image.shape[3]])
    sampled = Image(texels.format, Sampler("linear", _EDGES[padding]))
    code = ShaderCode("grid_sample", _grid_sample(), "main", (sampled, Buffer()), (texels,))
    result = (1, *grid.shape[1:3], image.shape[3]), image.dtype
    given = [(v.shape, v.dtype) for v in (image, grid)]
    (made,) = _shader(b, [image, grid], [result], code.name, code.attributes(given, [result]))
    made = b.slice_axis(made, 3, 0, channels) if channels == 3 else made
    return b.cast(b.TRANSPOSE(made, [0, 3, 1, 2]), x.dtype)


def _is_for_samplers(x: Value, grid: Value, mode: int, padding: int, align_corners: bool) -> bool:
    """Whether a sampler computes the same, but for its precision, and every device has images of this kind."""
    sizes = (*x.shape[2:], *grid.shape[1:3])
    mirrored_at_pixels = padding == _REFLECTION and align_corners  # samplers mirror at the edge
    fits = len(x.shape) == 4 and x.shape[0] == 1 and x.shape[1] <= 4 and max(sizes) <= _LARGEST_IMAGE
    return fits and mode == _BILINEAR and not mirrored_at_pixels


@cache
def _grid_sample() -> bytes:
    return Path(__file__).with_name("grid_sample.spv").read_bytes()


def _shader(
    b: OpBuilder, inputs: Sequence[Value], outputs: Tensors, name: str, attributes: Mapping[str, Any]
) -> tuple[Value, ...]:
    return b.CUSTOM(
        inputs,
        outputs,
        domain_name=SHADERS,
        operator_name=name,
        implementation_attrs=json.dumps(attributes).encode(),
    )
