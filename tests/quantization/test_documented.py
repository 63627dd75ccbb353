"""The Python of docs/quantization.md does what it says, in its order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from arm_tosa_core import TosaCompileSpec, get_symmetric_a8w4_quantization_config
from quantization import digit_nets
from quantization.deploy import batch_of, deploy
from test_readme import ROOT, blocks

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own


def test_documented_code(tmp_path: Path) -> None:
    (pictures, labels), held_out = digit_nets.digits()
    model = digit_nets.train(digit_nets.NETS["cnn"][0](), pictures, labels, 6)
    names: dict[str, Any] = {
        "model": model,
        "spec": TosaCompileSpec("TOSA-1.0+INT+int4"),
        "example": pictures[:1],
        "pictures": pictures[:64].split(1),
        "get_symmetric_a8w4_quantization_config": get_symmetric_a8w4_quantization_config,
    }
    one_call, steps, training = [b.text for b in blocks(ROOT / "docs/quantization.md") if b.language == "python"]
    exec(one_call, names)
    assert names["pte"].report.delegates == 1
    exec(steps, names)
    before = digit_nets.top1(model.eval(), *held_out)
    for converted in (names["quantized"].converted, names["converted"]):
        assert before - digit_nets.top1(converted, *held_out) <= 1.0

    torch.manual_seed(0)
    names |= {"pictures": pictures, "labels": labels}
    exec(training, names)
    assert names["pte"].report.delegates == 1
    for target in ("reference", "ethos-u55", "ethos-u85", "vgf, int4"):
        batch = batch_of(target)
        run = deploy(names["converted"], pictures[:batch], target, tmp_path)
        assert before - digit_nets.top1(run, *held_out, batch) <= 1.0, target
