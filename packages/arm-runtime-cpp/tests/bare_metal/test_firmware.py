"""The delegate on a Cortex-M55: built for it, and run in QEMU on the demo's program.

QEMU's mps3-an547 has no Ethos-U, so the delegate runs on the functional model; ExecuTorch's package has no runtime for
Cortex-M, so the firmware has stand-ins for the few functions of it that the delegate calls.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

COMPILER = "arm-none-eabi-g++"
#: Bytes of code and constants, delegate and functional model together; it was 58,182 when this was written.
MOST_CODE = 80_000


@pytest.fixture(scope="module")
def folder(extra_build: Callable[..., Path]) -> Path:
    """The preset cortex-m55-tested, built."""
    return extra_build("cortex-m55-tested", "ethosu_firmware", "arm_runtime_ethosu", compiler=COMPILER)


def test_the_code_is_small(folder: Path) -> None:
    archives = ("libarm_runtime_ethosu.a", "libarm_ethosu_network.a", "libarm_ethosu_model.a")
    done = subprocess.run(
        ["arm-none-eabi-size", "--totals", *archives],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    total = re.search(r"^\s*(\d+)\s+(\d+)\s+(\d+).*TOTALS", done.stdout, re.MULTILINE)
    assert total is not None
    code, data, _ = map(int, total.groups())
    print(f"{code} bytes of code and constants, {data} of data")
    assert code < MOST_CODE and data < 64


def test_outputs_are_those_of_the_host(
    folder: Path, runtime: Any, compiled: Callable[[str], Any], tmp_path: Path
) -> None:
    from arm_runtime import ethosu

    qemu = shutil.which("qemu-system-arm")
    if qemu is None:
        pytest.skip("nothing to run firmware on: apt install qemu-system-arm")
    program = compiled("ethos-u55-128")
    (tmp_path / "payload.bin").write_bytes(program.payload)
    (tmp_path / "inputs.bin").write_bytes(program.inputs.tobytes())
    machine = ["-M", "mps3-an547", "-nographic", "-monitor", "none", "-serial", "none"]
    firmware = folder / "tests/bare_metal/firmware/ethosu_firmware.elf"
    done = subprocess.run(
        [qemu, *machine, "-semihosting-config", "enable=on,target=native", "-kernel", str(firmware)],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and "8 runs" in done.stdout + done.stderr, done.stdout + done.stderr
    outputs = np.fromfile(tmp_path / "outputs.bin", np.int8).reshape(8, -1)
    expected = [ethosu.run(program.payload, [row])[0] for row in program.inputs]
    np.testing.assert_array_equal(outputs, expected)
    assert len({int(output.argmax()) for output in outputs}) > 3, "the digits are of few classes"
