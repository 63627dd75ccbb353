"""What docs/how-to/train-with-quantization.md trains is as good compiled as in float, on every target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from sklearn.datasets import load_digits

from documents import ROOT, play
from quantization import digit_nets
from quantization.deploy import batch_of, deploy

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # PyTorch's and torchao's own
    pytest.mark.usefixtures("qat_patterns"),
]
HELD_OUT = slice(1280, 1784)  # of 1797 digits, beyond those of the page; 21 batches of 24


def test_documented_training(tmp_path: Path) -> None:
    names: dict[str, Any] = play(ROOT / "docs/how-to/train-with-quantization.md", tmp_path)
    assert names["lowered"].report.delegates == 1
    digits = load_digits()
    pictures = torch.tensor(digits.images, dtype=torch.float32)[HELD_OUT, None] / 16
    labels = torch.tensor(digits.target)[HELD_OUT]
    before = digit_nets.top1(names["model"].eval(), pictures, labels)
    assert before > 90
    for target in ("reference", "ethos-u55", "ethos-u85", "vgf, int4"):
        batch = batch_of(target)
        run = deploy(names["converted"], pictures[:batch], target, tmp_path)
        assert before - digit_nets.top1(run, pictures, labels, batch) <= 2.0, target
