"""Vulkan's formats of images that a VGF's compute shaders take, as our runtime's ``image_formats.cpp`` has them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ImageFormat:
    """A format.

    Args:
        name: without ``VK_FORMAT_``.
        number: Vulkan's.
        channels: of a texel.
        dtype: of an array that holds the texels, by PyTorch's name.
        whole: shaders see whole numbers, no reals.
    """

    name: str
    number: int
    channels: int
    dtype: str
    whole: bool

    @property
    def bytes(self) -> int:
        """Of a number of a texel."""
        return int("".join(filter(str.isdigit, self.dtype))) // 8


def _formats() -> dict[str, ImageFormat]:
    kinds = {
        8: {"UNORM": "uint8", "SNORM": "int8", "UINT": "uint8", "SINT": "int8"},
        16: {"UNORM": "uint16", "SNORM": "int16", "UINT": "uint16", "SINT": "int16", "SFLOAT": "float16"},
        32: {"UINT": "uint32", "SINT": "int32", "SFLOAT": "float32"},
    }
    # Of the first kind of each size, with 1, 2 and 4 channels; SSCALED and USCALED lie between SNORM and UINT.
    first = {8: (9, 16, 37), 16: (70, 77, 91), 32: (98, 101, 107)}
    places = {8: {"UNORM": 0, "SNORM": 1, "UINT": 4, "SINT": 5}, 32: {"UINT": 0, "SINT": 1, "SFLOAT": 2}}
    places[16] = {**places[8], "SFLOAT": 6}
    found = [ImageFormat("R8G8B8A8_SRGB", 43, 4, "uint8", whole=False)]
    for bits, names in kinds.items():
        for begin, channels in zip(first[bits], (1, 2, 4), strict=True):
            texel = "".join(f"{channel}{bits}" for channel in "RGBA"[:channels])
            found += [
                ImageFormat(f"{texel}_{kind}", begin + places[bits][kind], channels, dtype, kind in ("UINT", "SINT"))
                for kind, dtype in names.items()
            ]
    return {row.name: row for row in found}


#: All of them, by name.
IMAGE_FORMATS = _formats()
