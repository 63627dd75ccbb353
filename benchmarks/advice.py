"""Advice of ``arm-tosa compile --advice``, followed: the saving that each sentence says, and the one that is seen.

python -m benchmarks.advice NETWORK...    # of tests/models; docs/notes/2026-11-29-advice.md has the results
"""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn
from typer.testing import CliRunner

from arm_tosa_core.cli.main import app

TARGET = "ethos-u55-128"
_TESTS = Path(__file__).resolve().parents[1] / "tests"


class _Affine(nn.Module):
    """A scale and a shift per channel, which are the last axis where the norm computes."""

    def __init__(self, norm: nn.LayerNorm) -> None:
        super().__init__()
        self.weight, self.bias = norm.weight.detach(), norm.bias.detach()
        self.moves = getattr(norm, "data_format", "") == "channels_first"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.moves:
            return (x.permute(0, 2, 3, 1) * self.weight + self.bias).permute(0, 3, 1, 2)
        return x * self.weight + self.bias


def _swap(module: nn.Module, kind: type[nn.Module], by: Callable[[Any], nn.Module]) -> None:
    for name, child in list(module.named_children()):
        if isinstance(child, kind):
            setattr(module, name, by(child))
        else:
            _swap(child, kind, by)


def _prune(module: nn.Module) -> None:
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            weight = layer.weight.data
            weight[weight.abs() <= weight.abs().median()] = 0


#: How a sentence about the network is followed, by words of it.
FOLLOW: dict[str, Callable[[nn.Module], None]] = {
    "LayerNorm": lambda module: _swap(module, nn.LayerNorm, _Affine),
    "GELU": lambda module: _swap(module, nn.GELU, lambda _: nn.ReLU()),
    "SiLU": lambda module: _swap(module, nn.SiLU, lambda _: nn.ReLU()),
    "weights of each layer": _prune,
}


def make(name: str = "resnet8", follow: str = "") -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """A network of ``tests/models``, and what a sentence with these words asks for done."""
    if str(_TESTS) not in sys.path:
        sys.path.append(str(_TESTS))
    from models import MODELS, ZOO

    module, inputs = {**MODELS, **ZOO}[name]()
    if follow:
        FOLLOW[follow](module)
    return module.eval(), tuple(inputs(0))


def _compile(model: str, *words: str) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        output = str(Path(folder, "net.pte"))
        result = CliRunner().invoke(app, ["compile", model, *words, "-o", output, "--no-cache", "--json"])
    return json.loads(result.stdout)


def rows(name: str) -> Iterator[tuple[str, str, float, float | None]]:
    """Of each sentence: network, sentence, the saving that it says, and the one that is seen; None: not followed."""
    model = f"{__file__}:make,name={name}"
    before = _compile(model, "--target", TARGET, "--quantize", "int8", "--advice")
    for said in before["advice"]["told"]:
        words, follow = shlex.split(said["command"]), next((key for key in FOLLOW if key in said["text"]), None)
        if words[:1] != ["in"] and (words or follow):
            target = [] if "--target" in words else ["--target", TARGET]
            after = _compile(model if words else f"{model},follow={follow}", *target, *words, "--quantize", "int8")
            seen = 1 - after["figures"]["cycles"] / before["figures"]["cycles"]
        else:
            seen = None
        yield name, said["text"], said["saving"], seen


def main(names: list[str]) -> None:
    """Prints the table."""
    print("| network | sentence | said | seen |\n|---|---|---|---|")
    for name in names:
        for network, text, said, seen in rows(name):
            print(f"| {network} | {text} | {said:.1%} | {'not followed' if seen is None else format(seen, '.1%')} |")


if __name__ == "__main__":
    main(sys.argv[1:])
