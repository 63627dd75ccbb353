"""What a sweep keeps of an evaluation: no failure that passes, and no file that was damaged since."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest
import torch

from arm_tosa_core.support.atomic_files import write_atomic
from arm_tosa_core.support.errors import LoweringError, Rejected, ToolError, UsageError
from arm_tosa_core.sweep.evaluate import guarded
from arm_tosa_core.sweep.point import Accuracy, Failure
from arm_tosa_core.sweep.quantized import Quantized, _loaded, _store, _sum


def _failing(kind: str) -> None:
    if kind == "a refusal of a tool":
        try:
            raise ToolError("vela", "was killed by signal SIGKILL")
        except ToolError as error:
            raise UsageError("the target does not compile it") from error
    if kind == "a file that cannot be written":
        write_atomic("/proc/no-such-file", b"")
    raise {
        "a tool": ToolError("vela", "was killed by signal SIGKILL"),
        "a full disk": OSError(errno.ENOSPC, "No space left on device"),
        "memory": MemoryError(),
        "memory of PyTorch": RuntimeError("DefaultCPUAllocator: can't allocate memory"),
        "an end": SystemExit(1),
        "a refusal": UsageError("the target takes nothing of the model"),
        "an operator": Rejected("kernel width 65 exceeds 64"),
        "a rule": LoweringError("conv2d: no rule"),
    }[kind]


@pytest.mark.parametrize(
    ("kind", "lasting"),
    [
        ("a tool", False),
        ("a refusal of a tool", False),
        ("a file that cannot be written", False),
        ("a full disk", False),
        ("memory", False),
        ("memory of PyTorch", False),
        ("an end", False),
        ("a refusal", True),
        ("an operator", True),
        ("a rule", True),
    ],
)
def test_only_refusals_last(kind: str, lasting: bool) -> None:
    failure = guarded(_failing, kind)
    assert isinstance(failure, Failure) and failure.lasting == lasting


@pytest.mark.parametrize(
    "change", ["cut", "flipped", "empty", "gone", "other accuracy", "no accuracy", "half", "list", "text for a number"]
)
def test_a_damaged_quantized_program_is_made_anew(change: str, tmp_path: Path) -> None:
    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x)

    file, beside = tmp_path / "net.pt2", tmp_path / "net.json"
    made = Quantized(torch.export.export(Net(), (torch.ones(2),)), Accuracy(0.75, 0.8, None), "digest")
    assert _loaded(file, "digest") is None
    _store(file, made)
    found = _loaded(file, "digest")
    assert found is not None and found.accuracy == made.accuracy
    program, text = file.read_bytes(), beside.read_text()
    if change == "gone":
        file.unlink()
    elif change in ("cut", "flipped", "empty"):
        flipped = program[:1000] + bytes([program[1000] ^ 1]) + program[1001:]
        file.write_bytes({"cut": program[: len(program) // 2], "flipped": flipped, "empty": b""}[change])
    elif change == "text for a number":  # with a checksum of its own
        accuracy = {"metric": "0.75"}
        beside.write_text(json.dumps({"accuracy": accuracy, "sha256": _sum(program, accuracy)}))
    else:
        changed = text.replace("0.75", "0.76")
        beside.write_text({"other accuracy": changed, "no accuracy": "{}", "half": text[:20], "list": "[1]"}[change])
    assert _loaded(file, "digest") is None
    _store(file, made)
    assert _loaded(file, "digest") is not None
