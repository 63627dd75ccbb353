"""What a command finds out before it begins, all at once."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from cli_kit import error, run

from arm_tosa_core.cli.first_checks import READ
from arm_tosa_core.cli.main import _COMMANDS

#: Parameters of paths that are written, or that are made where they are missing.
WRITTEN = {"output", "outputs", "etrecord", "artifacts", "print_to", "report", "trace", "config", "profile", "study"}
#: A file that is read in one form of the command and written in the other.
EITHER = {"recipe"}


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["compile", "no.onnx"], ["-o", "--target", "--chip", "no.onnx"]),
        (["compile", "no.py:make,width=1", "-t", "vgf"], ["-o", "read no.py:"]),
        (["accuracy", "no.tflite", "--calibration", "a.npz"], ["--evaluate", "--target", "no.tflite", "a.npz"]),
        (["deploy", "no.tflite", "-t", "vgf"], ["-o", "no.tflite"]),
        (["quantize"], ["MODEL", "--calibration", "-o"]),
    ],
)
def test_missing_options_and_files_are_told_together(words: list[str], named: list[str], folder: Path) -> None:
    result = run(*words)
    assert result.exit_code == 2
    text = " ".join(result.output.replace("│", " ").split())
    for name in ("Missing:", *named):
        assert name in text, name


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["compile", "no.onnx", "-t", "nope", "-o", "x"], ["no.onnx", "unknown target 'nope'"]),
        (["explain", "no.onnx", "--input-shape", "image"], ["no.onnx", "write NAME=SIZExSIZE"]),
        (["explain", "no.onnx", "--input-shape", "image=1x0x2"], ["no.onnx", "sizes are 1 or more"]),
        (["run", "no.tflite", "--input", "a.npy", "--input", "b.npy"], ["no.tflite", "a.npy", "b.npy"]),
        (["verify", "no.pte", "--model", "no.tflite"], ["no.pte", "no.tflite"]),
        (["sweep", "no.tflite", "--targets", "nope"], ["no.tflite"]),
        (["compare", "no.onnx", "--evaluate", "a.npz", "--metric", "m.py:f"], ["no.onnx", "a.npz", "m.py"]),
    ],
)
def test_files_that_are_not_there_are_told_together(words: list[str], named: list[str], folder: Path) -> None:
    message = error(*words)
    for name in named:
        assert name in message, name


def test_a_complete_command_is_refused_nothing_here(folder: Path) -> None:
    result = run("compile", "--print-stages")
    assert result.exit_code == 0
    assert run("compile", "models.py:whole").exit_code == 2  # and the command is as it was: -o is needed again


def test_every_path_of_a_command_is_read_or_written() -> None:
    for command, function in _COMMANDS.items():
        for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
            if "Path" in str(parameter.annotation):
                assert (name in READ) + (name in WRITTEN) + (name in EITHER) == 1, (command, name)
