"""Models for the ``arm-tosa`` command, and ways to call it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from arm_tosa_core.cli.main import app
from arm_tosa_core.report.page import has_scripts
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification

MODELS = """
import torch

class Whole(torch.nn.Module):
    def forward(self, x):
        return x * x + x

class Partial(torch.nn.Module):
    def forward(self, x):
        return torch.cdist(x * x + x, x)

class CpuOnly(torch.nn.Module):
    def forward(self, x):
        return torch.cdist(x, x)

class Weights(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)

    def forward(self, x):
        return self.layer(x)

X = (torch.linspace(-1, 1, 6).reshape(2, 3),)

def whole(): return Whole().eval(), X
def chatty():
    print("loading the weights")
    return Whole().eval(), X
def partial(): return Partial().eval(), X
def cpu_only(): return CpuOnly().eval(), X
def weights(): return Weights().eval(), X
def products():
    class Products(torch.nn.Module):
        def forward(self, x):
            return torch.cumprod(x * x + x, 1)
    return Products().eval(), X
def on_meta(): return Weights().eval().to("meta"), X
def number(): return 3
def no_module(): return "net", X
def bare_tensor(): return Whole(), X[0]
def picture():
    return torch.nn.Conv2d(3, 4, 1).eval(), (torch.rand(6, 7, 3).permute(2, 0, 1)[None],)
def fails(): raise ValueError("no weights here")
def exits(): raise SystemExit(3)
def half(): return Weights().eval().half(), (X[0].half(),)
def magnitude():
    class Magnitude(torch.nn.Module):
        def forward(self, x):
            square = x * x
            return (square * square).sqrt()
    return Magnitude().eval(), X
def one_tensor_twice():
    class Step(torch.nn.Module):
        def forward(self, h, c):
            return h - 2 * c
    return Step(), (X[0], X[0])
def distances():
    class Distances(torch.nn.Module):
        def forward(self, x):
            return torch.cdist(x, x), torch.cdist(x, x), torch.cdist(x, x) + 1
    return Distances().eval(), X
def cannot_export():
    class Bad(torch.nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x
    return Bad().eval(), X
def wrong_sizes():
    class Bad(torch.nn.Module):
        def forward(self, x):
            return x @ torch.ones(7, 2)
    return Bad().eval(), X
"""


def line_of(text: str) -> int:
    """The line of ``models.py`` that holds ``text``, from 1."""
    return next(number for number, line in enumerate(MODELS.splitlines(), 1) if text in line)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def ok(*arguments: object) -> Any:
    """What a command that must succeed prints with ``--json``."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


#: Of tests that write a report as a page.
needs_page = pytest.mark.skipif(not has_scripts(), reason="this build has no scripts for pages: npm was missing")


def page_of(path: Path) -> Any:
    """The data of a page."""
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', path.read_text(), re.DOTALL)
    return json.loads(text)


def error(*arguments: object) -> str:
    """The message of a command that must fail with status 1, on both streams and without a traceback."""
    result = run(*arguments, "--json")
    assert result.exit_code == 1, result.output
    message = json.loads(result.stdout)["error"]
    assert f"error: {message}" in result.stderr
    assert "Traceback" not in result.output
    assert isinstance(message, str)
    return message


def graph(path: Path, outputs: int = 1) -> Path:
    """Writes the flatbuffer of x + 0, x + 1, ... for x of shape [2, 3]."""
    made = Graph()
    x = made.input("x", (2, 3), DType.FP32)
    for number in range(outputs):
        addend = made.constant(np.full((1, 1), number, np.float32), DType.FP32)
        made.outputs += made.append("ADD", [x, addend]).outputs
    path.write_bytes(serialize(made, TosaSpecification.create_from_string("TOSA-1.0+FP")))
    return path
