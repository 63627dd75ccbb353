"""AttaCut: where words begin in Thai, which has no spaces between them."""

from __future__ import annotations

import json
import re
import string
from functools import partial

import torch
from torch import nn

from benchmarks.real.files import package_file
from benchmarks.real.metrics import above
from benchmarks.real.network import Network, Origin

_LETTERS = 192
_HELD_OUT = ("contrib/admin", "contrib/auth", "contrib/gis", "contrib/admindocs")


class Words(nn.Module):
    """The package's network of letters; names and shapes are those of its weights."""

    def __init__(self, letters: int) -> None:
        super().__init__()
        self.embeddings = nn.Embedding(letters, 48, padding_idx=0)
        for i, (kernel, dilation) in enumerate(((3, 1), (5, 3), (9, 2)), 1):
            layer = nn.Module()
            layer.conv = nn.Conv1d(48, 196, kernel, padding=kernel // 2 * dilation, dilation=dilation)
            self.add_module(f"conv{i}", layer)
        self.linear1, self.linear2 = nn.Linear(196, 32), nn.Linear(32, 1)

    def forward(self, letters: torch.Tensor) -> torch.Tensor:
        x = self.embeddings(letters).permute(0, 2, 1)
        seen = torch.maximum(torch.maximum(self.conv1.conv(x), self.conv2.conv(x)), self.conv3.conv(x))
        return self.linear2(self.linear1(seen.permute(0, 2, 1)).relu())


def make() -> Network:
    numbers = json.loads(package_file("attacut", "artifacts/attacut-c/characters.json").read_text(encoding="utf-8"))
    module = Words(len(numbers))
    saved = torch.load(package_file("attacut", "artifacts/attacut-c/model.pth"), map_location="cpu", weights_only=True)
    module.load_state_dict(saved)
    sets = [
        [(_numbered(text[start : start + _LETTERS], numbers),) for start in range(0, len(text) - _LETTERS, _LETTERS)]
        for text in (_thai("conf"), " ".join(map(_thai, _HELD_OUT)))
    ]
    return Network(module.eval(), *sets, partial(above, threshold=0.0))


def _thai(part: str) -> str:
    """What a part of Django says in Thai, one message after the other."""
    catalog = package_file("django", f"{part}/locale/th/LC_MESSAGES/django.po").read_text(encoding="utf-8")
    said = re.findall(r'^msgstr(?:\[\d\])? ((?:"[^\n]*"\n)+)', catalog, re.MULTILINE)
    messages = ["".join(re.findall(r'"(.*)"', text)).replace("\\n", " ").replace('\\"', '"') for text in said[1:]]
    return " ".join(message for message in messages if message)


def _numbered(text: str, numbers: dict[str, int]) -> torch.Tensor:
    unknown, mark = numbers["<UNK>"], numbers["<PUNC>"]
    return torch.tensor([[mark if x in string.punctuation else numbers.get(x, unknown) for x in text]])


ORIGIN = Origin(
    make,
    task="words of Thai, 192 letters",
    package="attacut",
    license="MIT",
    data="18 / 28 parts of Django's messages in Thai",
    decision="a word begins at a letter or not",
)
