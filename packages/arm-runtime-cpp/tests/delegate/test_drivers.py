"""The drivers of the delegate over fakes, under the address, leak and undefined behaviour sanitizers.

Each fake checks how it is called and computes on the functional model, so outputs must be those of the model.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

#: Calls of one program run on eight inputs: what is per program happens once.
CALLS = {
    "linux_driver_test": {
        "open": 1, "query": 1, "create_commands": 1, "create_buffer": 2, "map_offset": 2,
        "submit": 8, "wait": 8, "close_buffer": 3, "all closed": 1,
    },
    "driver_library_test": {
        "open": 1, "network": 1, "buffer": 4, "write": 9, "inference": 8, "wait": 8, "status": 8, "read": 8,
        "all closed": 1,
    },
    "core_driver_test": {"reserve": 8, "invoke": 8, "release": 8},
}  # fmt: skip

FAILURES = {
    ("linux_driver_test", "open"): "/dev/accel/fake: Permission denied",
    ("linux_driver_test", "config"): "the program is for CONFIG 0x00001807 and the NPU has 0x00003008",
    ("linux_driver_test", "create_commands"): "refused the command stream: Invalid argument",
    ("linux_driver_test", "create_buffer"): "no memory for weights and scratch: Cannot allocate memory",
    ("linux_driver_test", "submit"): "refused the job: Invalid argument",
    ("linux_driver_test", "wait"): "waiting for the NPU failed: Connection timed out",
    ("driver_library_test", "open"): "/dev/ethosu0: open refused",
    ("driver_library_test", "network"): "refused the command stream (it takes those of Vela's --cop-format COP2",
    ("driver_library_test", "container"): "for the NPU that it has): not COP2",
    ("driver_library_test", "buffer"): "no memory for weights and scratch: buffer refused",
    ("driver_library_test", "inference"): "refused the inference: inference refused",
    ("driver_library_test", "wait"): "waiting for the NPU failed: no answer",
    ("driver_library_test", "status"): "the inference failed: see the kernel's log",
    ("core_driver_test", "reserve"): "has no Ethos-U to reserve",
    ("core_driver_test", "invoke"): "could not run the command stream",
}


def program_for(test: str, fails: str, compiled: Callable[..., Any]) -> Any:
    """Arm's driver stack takes command streams in containers of version 2 only."""
    new = test == "driver_library_test" and fails != "container"
    return compiled("ethos-u55-128", *(("--cop-format", "COP2") if new else ()))


def run(folder: Path, test: str, tmp_path: Path, program: Any, fails: str = "") -> tuple[int, dict[str, int], str]:
    """Runs a program on a driver; exit status, calls by name, and errors."""
    (tmp_path / "payload").write_bytes(program.payload)
    (tmp_path / "inputs").write_bytes(program.inputs.tobytes())
    done = subprocess.run(
        [str(folder / "tests/delegate/drivers" / test), "payload", "inputs", "outputs"],
        cwd=tmp_path, env={"FAKE_FAILS": fails, "ARM_ETHOSU_DEVICE": "/dev/ethosu0"},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    calls = {name: int(count) for name, count in (line.rsplit(" ", 1) for line in lines[len(errors) :])}
    assert not done.stderr, done.stderr[-4000:]
    return done.returncode, calls, "\n".join(errors)


@pytest.fixture(scope="module")
def folder(extra_build: Callable[..., Path]) -> Path:
    return extra_build("host-asan", *CALLS)


@pytest.mark.parametrize("test", CALLS)
def test_a_driver_computes_what_the_model_does(
    test: str, folder: Path, runtime: Any, compiled: Callable[..., Any], tmp_path: Path
) -> None:
    from arm_runtime import ethosu

    program = program_for(test, "", compiled)
    assert run(folder, test, tmp_path, program) == (0, CALLS[test], "")
    outputs = np.fromfile(tmp_path / "outputs", np.int8).reshape(8, -1)
    for row, output in zip(program.inputs, outputs, strict=True):
        np.testing.assert_array_equal(output, ethosu.run(program.payload, [row])[0])


@pytest.mark.parametrize(("test", "fails"), FAILURES)
def test_a_failure_is_reported_and_leaves_nothing_open(
    test: str, fails: str, folder: Path, compiled: Callable[..., Any], tmp_path: Path
) -> None:
    status, calls, error = run(folder, test, tmp_path, program_for(test, fails, compiled), fails)
    assert status == 1 and FAILURES[test, fails] in error
    assert ("did not end, and may still write to its memory: load the program again" in error) == (fails == "wait")
    assert "takes inputs beside a job" not in error
    assert max(calls.get("submit", 0), calls.get("inference", 0)) <= 1
    assert calls.get("reserve", 0) - calls.get("release", 0) == (1 if fails == "reserve" else 0)
    created = calls.get("create_buffer", 0) + calls.get("create_commands", 0) - fails.startswith("create")
    assert calls.get("close_buffer", 0) == created
    if test == "driver_library_test" and fails != "open":
        assert calls["all closed"] == 1


def test_the_runner_under_sanitizers(
    extra_build: Callable[..., Path], runtime: Any, compiled: Callable[..., Any], tmp_path: Path
) -> None:
    """Good and spoiled programs: errors are fine, reports of the sanitizers are not."""
    folder = extra_build("host-asan", "arm_runner")
    program = compiled("ethos-u55-128")
    np.save(tmp_path / "x.npy", program.pictures[:1])
    rng = np.random.default_rng(5)
    start = program.pte.index(b"vela_bin_stream")
    statuses = []
    for i in range(24):
        pte = bytearray(program.pte)
        for at in rng.integers(start, start + len(program.payload), size=0 if i == 0 else 4):
            pte[at] ^= 1 << int(rng.integers(8))
        (tmp_path / "model.pte").write_bytes(pte)
        done = subprocess.run(
            [str(folder / "arm_runner"), "--model", "model.pte", "--input", "x.npy", "--output", "y.npy"],
            cwd=tmp_path, env={}, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr[-4000:]
        statuses.append(done.returncode)
    assert statuses[0] == 0 and set(statuses) == {0, 1}


def test_fuzzing_the_payload_reader(
    extra_build: Callable[..., Path], compiled: Callable[..., Any], tmp_path: Path
) -> None:
    """A short run of the libFuzzer target; ``-max_total_time=600`` is the long one."""
    folder = extra_build("fuzz", "fuzz_payload", compiler="clang++")
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "payload").write_bytes(compiled("ethos-u55-128").payload)
    done = subprocess.run(  # without what nox -s sanitize preloads: it has its own sanitizers
        [str(folder / "tests/delegate/drivers/fuzz_payload"), "-runs=50000", "-max_len=20000", "-seed=1", "corpus"],
        cwd=tmp_path, env={}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and "Done 50000 runs" in done.stderr, done.stderr[-4000:]
