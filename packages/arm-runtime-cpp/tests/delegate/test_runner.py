"""``arm_runner``: .npy in, .npy out, times and ETDump."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np
import pytest

DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "int64", "float16", "float32", "float64")


def arm_runner(runner: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([runner, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def files(runner: str, compiled: Callable[[str], Any], tmp_path: Path) -> Path:
    """A folder with ``model.pte`` and ``x.npy``."""
    program = compiled("ethos-u55-128")
    (tmp_path / "model.pte").write_bytes(program.pte)
    np.save(tmp_path / "x.npy", program.pictures[:1])
    return tmp_path


def test_it_computes_what_python_does(runner: str, files: Path, runtime: Any) -> None:
    import executorch.kernels.quantized  # noqa: F401
    import torch
    from executorch.runtime import Runtime

    from arm_tosa_core.cli.profile import read_events

    x, y, dump = files / "x.npy", files / "y.npy", files / "trace.etdp"
    done = arm_runner(
        *(runner, "--model", files / "model.pte", "--input", x, "--output", y, "--repeat", 5, "--etdump", dump)
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"5 runs, ms: least [\d.]+, median [\d.]+, largest [\d.]+", done.stdout)
    method = Runtime.get().load_program(files / "model.pte").load_method("forward")
    (expected,) = method.execute([torch.from_numpy(np.load(x))])
    np.testing.assert_array_equal(np.load(y), expected.numpy())
    names = [event.name for event in read_events(dump.read_bytes())]
    assert names.count("EthosU run") == 5


def test_a_device_that_this_build_has_no_library_for(runner: str, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARM_ETHOSU_DEVICE", "/dev/ethosu0")
    done = arm_runner(runner, "--model", files / "model.pte", "--input", files / "x.npy")
    assert done.returncode == 1 and "built without its user library" in done.stderr


def test_the_console_script_is_the_program(runner: str) -> None:
    import sys

    script = Path(sys.executable).with_name("arm_runner")
    if not script.exists():
        pytest.skip("arm_runtime is not installed in this environment but on its path")
    done = subprocess.run([str(script)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and "usage: arm_runner" in done.stderr


@pytest.mark.parametrize("name", ["bin/arm_runner", "lib/libarm_runtime.so"])
def test_the_wheel_names_no_folder_of_the_machine_that_built_it(name: str, runtime: Any) -> None:
    """Libraries are looked for beside the file: not where the build found ExecuTorch, which may be another one."""
    file = distribution("arm-runtime-cpp").locate_file(f"arm_runtime/{name}")
    (path,) = re.findall(rb"\$ORIGIN[^\0]*", Path(str(file)).read_bytes())
    folders = path.decode().split(":")
    assert "$ORIGIN/../../executorch/lib" in folders
    assert all(folder.startswith("$ORIGIN") for folder in folders), folders


@pytest.mark.parametrize("word", ["--help", "-h"])
def test_help_is_no_error(word: str, runner: str) -> None:
    done = arm_runner(runner, "--model", "m", word)
    assert done.returncode == 0 and not done.stderr
    for option in ("--model", "--data", "--input", "--output", "--repeat", "--etdump"):
        assert f"  {option} " in done.stdout


BAD: dict[str, tuple[list[str], int, str]] = {
    "nothing": ([], 2, "--model is missing"),
    "no value": (["--model"], 2, "--model needs a value"),
    "unknown option": (["--modle", "m"], 2, "unknown option --modle"),
    "no repeat": (["--model", "model.pte", "--repeat", "0"], 2, "--repeat takes a number from 1 to 10000000, not 0"),
    "endless": (["--model", "model.pte", "--repeat", "9" * 30], 2, "a number from 1 to 10000000, not 99"),
    "no number": (["--model", "model.pte", "--repeat", ""], 2, "a number from 1 to 10000000, not "),
    "missing model": (["--model", "none.pte"], 1, "loading none.pte failed"),
    "not a program": (["--model", "x.npy"], 1, "loading x.npy failed"),
    "no input": (["--model", "model.pte"], 1, "has 1 inputs, and 0 --input were given"),
    "outputs": (
        ["--model", "model.pte", "--input", "x.npy", "--output", "a", "--output", "b"],
        1, "has 1 outputs, and 2 --output were given",
    ),
    "shape": (
        ["--model", "model.pte", "--input", "flat.npy"],
        1, "flat.npy: is Float [64]; input 0 of model.pte is Float [1, 1, 8, 8]",
    ),
    "type": (
        ["--model", "model.pte", "--input", "int.npy"],
        1, "int.npy: is Int [1, 1, 8, 8]; input 0 of model.pte is Float [1, 1, 8, 8]",
    ),
    "folder": (["--model", "model.pte", "--input", "."], 1, ".: cannot be read: Is a directory"),
    "no file": (["--model", "model.pte", "--input", "none.npy"], 1, "none.npy: cannot be read: No such file"),
    "output folder": (
        ["--model", "model.pte", "--input", "x.npy", "--output", "none/y.npy"],
        1, "none/y.npy: cannot be written: No such file",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_request_says_why(name: str, runner: str, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)
    np.save("flat.npy", np.zeros(64, np.float32))
    np.save("int.npy", np.zeros((1, 1, 8, 8), np.int32))
    arguments, status, text = BAD[name]
    done = arm_runner(runner, *arguments)
    assert done.returncode == status and text in done.stderr, done.stderr
    assert not list(files.glob("y*")), "half a file was left"


@pytest.fixture(scope="module")
def echo() -> Callable[[str], bytes]:
    """A program without delegates that gives back its input of shape [2, 3] and the data type."""
    import torch
    from executorch.exir import to_edge

    class Echo(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.clone()

    def make(dtype: str) -> bytes:
        x = torch.zeros((2, 3), dtype=getattr(torch, dtype))
        return bytes(to_edge(torch.export.export(Echo(), (x,))).to_executorch().buffer)

    return make


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
def test_every_data_type_goes_in_and_out(dtype: str, runner: str, echo: Callable[[str], bytes], tmp_path: Path) -> None:
    (tmp_path / "echo.pte").write_bytes(echo(dtype))
    numbers = np.array([[0, 1, 2], [3, 4, 100]])
    # bfloat16: the upper half of float32, for NumPy two bytes of no type.
    bits = (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    x = bits.view("V2") if dtype == "bfloat16" else numbers.astype(dtype)
    np.save(tmp_path / "x.npy", x)
    done = arm_runner(
        *(runner, "--model", tmp_path / "echo.pte", "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy")
    )
    assert done.returncode == 0, done.stderr
    y = np.load(tmp_path / "y.npy")
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y, x)


def npy(header: str, data: bytes = bytes(24), version: bytes = b"\1\0") -> bytes:
    return b"\x93NUMPY" + version + len(header).to_bytes(2, "little") + header.encode() + data


GOOD = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
SPOILED: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is not a .npy file"),
    "magic": (b"\x94" + npy(GOOD)[1:], "is not a .npy file"),
    "version 9": (npy(GOOD, version=b"\x09\0"), "unknown version"),
    "header beyond the end": (npy(GOOD)[:20], "ends inside its header"),
    "header not closed": (npy(GOOD[:-2]), "header that is damaged"),
    "key twice": (npy(GOOD[:-2] + "'shape': (2, 3), }"), "header that is damaged"),
    "unknown key": (npy(GOOD[:-2] + "'other': 3, }"), "header that is damaged"),
    "no shape": (npy("{'descr': '<f4', 'fortran_order': False}"), "header that is damaged"),
    "order is no bool": (npy(GOOD.replace("False", "Falsch")), "header that is damaged"),
    "fortran order": (npy(GOOD.replace("False", "True")), "is in Fortran order; save numpy.ascontiguousarray(array)"),
    "big endian": (npy(GOOD.replace("<", ">")), "has elements of type '>f4', which is none of |b1, |i1"),
    "objects": (npy(GOOD.replace("<f4", "|O8")), "has elements of type '|O8'"),
    "negative": (npy(GOOD.replace("2", "-2")), "header that is damaged"),
    "huge": (npy(GOOD.replace("2", "2147483647")), "header that is damaged"),
    "endless number": (npy(GOOD.replace("2", "9" * 60)), "header that is damaged"),
    "many dimensions": (npy(GOOD.replace("2,", "1," * 40)), "header that is damaged"),
    "too little data": (npy(GOOD, bytes(23)), "has 23 bytes of data; its header says 24"),
    "too much data": (npy(GOOD, bytes(25)), "has 25 bytes of data; its header says 24"),
}


@pytest.mark.parametrize("name", ["good", *SPOILED])
def test_an_array_file_is_not_trusted(name: str, runner: str, echo: Callable[[str], bytes], tmp_path: Path) -> None:
    data, text = SPOILED.get(name, (npy(GOOD), ""))
    (tmp_path / "echo.pte").write_bytes(echo("float32"))
    (tmp_path / "x.npy").write_bytes(data)
    done = arm_runner(runner, "--model", tmp_path / "echo.pte", "--input", tmp_path / "x.npy")
    assert done.returncode == (1 if text else 0) and text in done.stderr, done.stderr
