"""Two networks that tests deploy: one all on the NPU, and one with operators on the processor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from typer.testing import CliRunner

from arm_ethosu import EthosUCompileSpec
from arm_tosa_core import lower
from arm_tosa_core.cli.main import app
from arm_tosa_core.exir.target_options import compile_spec_for
from arm_tosa_core.plugin.entry_points import target as installed_target
from arm_tosa_core.testing.harness import exported


class Net(torch.nn.Module):
    """A convolution, a pool and a linear layer, of two inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.last = torch.nn.Linear(8, 5)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        out = torch.relu(self.first(x)) + y
        return self.last(out.mean((2, 3))), torch.tanh(out)


NET_INPUTS = (torch.randn(1, 3, 8, 8), torch.randn(1, 8, 8, 8))


def net_pte(target: str, scheme: str) -> bytes:
    """The first network compiled."""
    torch.manual_seed(0)
    spec = compile_spec_for(installed_target(target), {})
    return lower(exported(Net().eval(), NET_INPUTS, spec, scheme), spec).buffer


class Words(torch.nn.Module):
    """Attention over the words of a sentence: Ethos-U55 has neither a table of words nor products of 16 bits."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(50, 16)
        self.query, self.key, self.value, self.last = (torch.nn.Linear(16, 16) for _ in range(4))

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        x = self.table(words)
        weights = torch.softmax(self.query(x) @ self.key(x).transpose(1, 2) / 4, -1)
        return self.last(weights @ self.value(x))


WORDS = torch.arange(8)[None] * 6


def deployed_words(folder: Path, board: str) -> Path:
    """The firmware of this network, from its program: a .pte keeps for ExecuTorch what is not on the NPU."""
    torch.manual_seed(0)
    program = exported(Words().eval(), (WORDS,), EthosUCompileSpec("ethos-u55-128"), "int16x8")
    torch.export.save(program, folder / "words.pt2")
    invoke("deploy", folder / "words.pt2", "--target", "ethos-u55-128", "--board", board, "-o", folder / "firmware")
    return folder / "firmware"


def invoke(*words: object) -> Any:
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exit_code == 0, done.output + str(done.exception)
    return done.output
