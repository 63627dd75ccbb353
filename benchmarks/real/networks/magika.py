"""Magika: what kind of file it is, from its first and last 1024 bytes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import onnx
import torch
from torch import nn

from benchmarks.real.files import package_file
from benchmarks.real.metrics import classes
from benchmarks.real.network import Call, Network, Origin
from benchmarks.real.onnx_part import OnnxPart

_BYTES, _BLOCK, _NONE = 1024, 4096, 256
#: The product of bytes as vectors of one 1 with this table is a look-up: the host does not make these vectors.
_LOOKED_UP = "jax2tf_get_logits_/pjit_get_logits_/MagikaV2/Dense_0/einsum/Einsum:0"


class Kinds(nn.Module):
    def __init__(self, path: Path) -> None:
        super().__init__()
        graph = onnx.load(path).graph
        product = next(node for node in graph.node if _LOOKED_UP in node.output)
        table = next(tensor for tensor in graph.initializer if tensor.name == product.input[1])
        self.table = nn.Embedding.from_pretrained(torch.from_numpy(onnx.numpy_helper.to_array(table).copy()))
        # Of the bytes it wants no more than how many files there are.
        content = torch.zeros(1, 2 * _BYTES, dtype=torch.int64)
        self.rest = OnnxPart(path, (content, self.table(content)), inputs=["bytes", _LOOKED_UP])

    def forward(self, content: torch.Tensor) -> torch.Tensor:
        return self.rest(content, self.table(content))


def make() -> Network:
    module = Kinds(package_file("magika", "models/standard_v3_3/model.onnx"))
    return Network(module.eval(), _files(("onnx", "skimage", "PIL"), 2), _files(("django",), 8), classes)


def _files(packages: Sequence[str], most: int) -> list[Call]:
    """Files of packages, some of each kind of name."""
    kinds: dict[str, list[Path]] = defaultdict(list)
    for package in packages:
        for path in sorted(package_file(package, ".").rglob("*.*")):
            if path.is_file() and "__pycache__" not in path.parts and path.stat().st_size > 64:
                kinds[path.suffix].append(path)
    chosen = [path for _, found in sorted(kinds.items()) for path in found[:: -(-len(found) // most)]]
    return [(_content(path.read_bytes()),) for path in chosen]


def _content(content: bytes) -> torch.Tensor:
    """The first bytes and the last, without spaces at the edges, and 256 where a file is shorter."""
    first, last = list(content[:_BLOCK].lstrip()[:_BYTES]), list(content[-_BLOCK:].rstrip()[-_BYTES:])
    missing = [[_NONE] * (_BYTES - len(part)) for part in (first, last)]
    return torch.tensor([first + missing[0] + missing[1] + last])


ORIGIN = Origin(
    make,
    task="kind of a file, 2048 of its bytes",
    package="magika",
    license="Apache-2.0",
    data="34 files of three packages / 76 of Django",
    decision="which of 214 kinds",
)
