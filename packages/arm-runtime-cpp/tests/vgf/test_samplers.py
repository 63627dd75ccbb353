"""Samplers of compute shaders: filters, address modes, border colors, and what they are without settings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_images import RGBA32_SINT, random, shader
from vgf_files import COMBINED, STORAGE_BUFFER, Load, Resource, compiled, write

RGBA32_SFLOAT, RGBA8_SRGB = 109, 43  # VkFormat
NEAREST, LINEAR = 0, 1
REPEAT, MIRRORED, EDGE, BORDER = range(4)


def sampling(kind: str = "") -> list[int]:
    """A shader that samples an image at given places, of which a buffer has the coordinates."""
    return [
        *compiled(
            f"layout(set = 0, binding = 0) uniform {kind}sampler2D source;"
            "layout(set = 0, binding = 1) readonly buffer Places { vec2 place[]; };"
            f"layout(set = 0, binding = 2) writeonly buffer Out {{ {kind}vec4 y[]; }};"
            "void main() { uint i = gl_GlobalInvocationID.x; y[i] = textureLod(source, place[i], 0); }"
        )
    ]


def sampled(
    load: Load, x: np.ndarray[Any, Any], places: Any, sampler: tuple[int, int, int, int, int] | None, format_: int
) -> Any:
    where = np.asarray(places, np.float32)
    kind, number = ("i", 99) if x.dtype == np.int32 else ("", 100)
    resources = [
        Resource("Input", x.shape, COMBINED, format_, sampler=sampler),
        Resource("Input", where.shape, STORAGE_BUFFER, 100),
        Resource("Output", (len(where), 4), STORAGE_BUFFER, number),
    ]
    segment = shader(sampling(kind), 0, 1, 2, groups=(len(where), 1, 1))
    with load(write(resources, [segment], [0, 1], [2])) as session:
        return session.run([x, where])[0]


def test_a_linear_filter(load: Load) -> None:
    """Half way between texels it gives the mean of four, in the middle of one that texel."""
    x = random(np.float32, 4, 8, 4)
    rows, columns = (a.ravel() for a in np.mgrid[1:4, 1:8])
    y = sampled(load, x, np.stack([columns / 8, rows / 4], 1), (LINEAR, LINEAR, EDGE, EDGE, 0), RGBA32_SFLOAT)
    mean = (x[rows - 1, columns - 1] + x[rows - 1, columns] + x[rows, columns - 1] + x[rows, columns]) / 4
    np.testing.assert_allclose(y, mean, rtol=1e-5, atol=1e-6)
    y = sampled(load, x, np.stack([(columns + 0.5) / 8, (rows + 0.5) / 4], 1), (LINEAR, LINEAR, 0, 0, 0), RGBA32_SFLOAT)
    np.testing.assert_allclose(y, x[rows, columns], rtol=1e-5, atol=1e-6)


def index(at: np.ndarray[Any, Any], size: int, mode: int) -> np.ndarray[Any, Any]:
    """The texel at a whole number; -1: none."""
    if mode == REPEAT:
        return at % size
    if mode == MIRRORED:
        return np.where(at % (2 * size) < size, at % (2 * size), 2 * size - 1 - at % (2 * size))
    return np.clip(at, 0, size - 1) if mode == EDGE else np.where((at < 0) | (at >= size), -1, at)


@pytest.mark.parametrize(
    ("u", "v", "border", "color"),
    [
        (REPEAT, MIRRORED, 0, None),
        (MIRRORED, EDGE, 0, None),
        (EDGE, REPEAT, 0, None),
        (BORDER, EDGE, 0, [0, 0, 0, 0]),
        (BORDER, BORDER, 2, [0, 0, 0, 1]),
        (MIRRORED, BORDER, 4, [1, 1, 1, 1]),
        (BORDER, REPEAT, 1, [0, 0, 0, 0]),
        (EDGE, BORDER, 3, [0, 0, 0, 1]),
        (BORDER, BORDER, 5, [1, 1, 1, 1]),
    ],
)
def test_address_modes(load: Load, u: int, v: int, border: int, color: list[int] | None) -> None:
    """Texels of a 4 x 8 image and of the two beside it on each side."""
    whole = border % 2 == 1
    x = random(np.int32 if whole else np.float32, 4, 8, 4)
    rows, columns = (a.ravel() for a in np.mgrid[-4:8, -8:16])
    places = np.stack([(columns + 0.5) / 8, (rows + 0.5) / 4], 1)
    y = sampled(load, x, places, (NEAREST, NEAREST, u, v, border), RGBA32_SINT if whole else RGBA32_SFLOAT)
    row, column = index(rows, 4, v), index(columns, 8, u)
    outside = (row < 0) | (column < 0)
    assert outside.any() == (color is not None)
    assert np.array_equal(y[~outside], x[row, column][~outside])
    assert np.array_equal(y[outside], np.broadcast_to(color or [], y[outside].shape) if color else y[outside])


def test_without_settings_a_sampler_takes_the_nearest_texel_and_the_edge(load: Load) -> None:
    x = random(np.float32, 4, 8, 4)
    y = sampled(load, x, [(-1, 0.3), (0.2, 9), (0.51, 0.51)], None, RGBA32_SFLOAT)
    assert np.array_equal(y, x[[1, 3, 2], [0, 1, 4]])


def test_srgb_is_decoded(load: Load) -> None:
    x = np.arange(256, dtype=np.uint8).reshape(8, 8, 4)
    rows, columns = (a.ravel() for a in np.mgrid[0:8, 0:8])
    places = np.stack([(columns + 0.5) / 8, (rows + 0.5) / 8], 1)
    y = sampled(load, x, places, None, RGBA8_SRGB).reshape(8, 8, 4)
    coded = x[..., :3] / 255
    linear = np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)
    np.testing.assert_allclose(y[..., :3], linear, atol=2e-3)
    np.testing.assert_allclose(y[..., 3], x[..., 3] / 255, atol=1e-6)
