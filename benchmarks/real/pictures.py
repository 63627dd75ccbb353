"""Pictures, crops of them, and lines of text drawn with Pillow's own font."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont

from benchmarks.real.fetch import folder
from benchmarks.real.files import package_file
from benchmarks.results import ROOT

_WORDS = [word for word in (ROOT / "LICENSE").read_text().split() if word.isascii()]


@lru_cache(maxsize=4)
def picture(name: str) -> Image.Image:
    """A picture by the name of its file without the ending; scikit-image's, or one that was fetched."""
    found = [*folder().glob(f"{name}.jp*g"), *package_file("skimage", "data").glob(f"{name}.*")]
    if found:
        return Image.open(found[0]).convert("RGB")
    path = package_file("sklearn", f"datasets/images/{name}.jpg")
    return Image.open(path).convert("RGB")


def crops(names: Sequence[str], per: int, seed: int, size: int = 224) -> list[Image.Image]:
    """Square crops of random size and place of each picture, half of them mirrored."""
    random = np.random.default_rng(seed)
    made = []
    for name in names:
        whole = picture(name)
        width, height = whole.size
        for _ in range(per):
            side = int(min(width, height) * random.uniform(0.5, 1.0))
            x, y = (int(random.integers(0, length - side + 1)) for length in (width, height))
            crop = whole.crop((x, y, x + side, y + side)).resize((size, size), Image.Resampling.BICUBIC)
            made.append(crop.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if random.random() < 0.5 else crop)
    return made


def tensor(
    image: Image.Image, mean: float | Sequence[float] = 127.5, scale: float | Sequence[float] = 127.5
) -> torch.Tensor:
    """A picture as (1, 3, height, width), normalized; ``mean`` and ``scale`` are numbers, or one per colour."""
    pixels = (np.asarray(image, dtype=np.float32) - np.asarray(mean, np.float32)) / np.asarray(scale, np.float32)
    return torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1)))[None]


def text_line(random: np.random.Generator, width: int = 320, height: int = 48) -> Image.Image:
    """A line of words of the licence, dark on light or the other way round, a little blurred, turned and noisy."""
    start = int(random.integers(0, len(_WORDS) - 8))
    size = int(random.integers(22, 36))
    font = ImageFont.load_default(size)
    words = _WORDS[start : start + 8]
    while len(words) > 1 and font.getlength(" ".join(words)) > width - 16:
        words.pop()
    paper, ink = (int(random.integers(170, 256)), int(random.integers(0, 90)))
    if random.random() < 0.3:
        paper, ink = ink, paper
    tint = random.integers(-15, 16, (2, 3))
    line = Image.new("RGB", (width, height), tuple(np.clip(paper + tint[0], 0, 255).tolist()))
    place = (int(random.integers(2, 10)), (height - size) // 2 - int(random.integers(0, 4)))
    colour = tuple(np.clip(ink + tint[1], 0, 255).tolist())
    ImageDraw.Draw(line).text(place, " ".join(words), font=font, fill=colour)
    line = line.rotate(float(random.uniform(-1.5, 1.5)), Image.Resampling.BILINEAR, fillcolor=line.getpixel((0, 0)))
    noisy = np.asarray(line, np.float32) + random.normal(0, random.uniform(0, 12), (height, width, 3))
    return Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8))


def page(random: np.random.Generator, background: Image.Image | None = None, size: int = 320) -> Image.Image:
    """Some lines of text, on paper or on a picture."""
    grey = int(random.integers(190, 256))
    sheet = background.resize((size, size)) if background else Image.new("RGB", (size, size), (grey, grey, grey - 10))
    y = int(random.integers(4, 30))
    while y < size - 30:
        height = int(random.integers(18, 34))
        width = int(random.integers(size // 2, size - 16))
        line = text_line(random).crop((0, 0, min(320, width * 48 // height), 48))
        sheet.paste(line.resize((line.width * height // 48, height)), (int(random.integers(4, 16)), y))
        y += height + int(random.integers(2, 30) if background is None else random.integers(20, 90))
    return sheet
