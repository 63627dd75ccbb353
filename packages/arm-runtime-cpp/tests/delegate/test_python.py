"""Programs run from Python through ExecuTorch's runtime, bit for bit as the TOSA reference model computes them."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arm_tosa_core.tosa import reference_model as reference

ACCELERATORS = ("ethos-u55-32", "ethos-u55-128", "ethos-u65-512", "ethos-u85-256")


@pytest.fixture(scope="module")
def executorch(runtime: Any) -> Any:
    """ExecuTorch's runtime, with the delegates and the kernels for quantize and dequantize."""
    import executorch.kernels.quantized  # noqa: F401
    from executorch.runtime import Runtime

    return Runtime.get()


def method(executorch: Any, pte: bytes) -> Any:
    from executorch.runtime import Verification

    return executorch.load_program(pte, verification=Verification.InternalConsistency).load_method("forward")


def execute(loaded: Any, picture: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    import torch

    (result,) = loaded.execute([torch.from_numpy(picture)])
    return np.array(result.numpy())


def test_importing_registers_both_delegates(executorch: Any) -> None:
    assert {"EthosUBackend", "VgfBackend"} <= set(executorch.backend_registry.registered_backend_names)


@pytest.mark.parametrize("accelerator", ACCELERATORS)
def test_a_payload_computes_what_the_reference_model_does(
    accelerator: str, runtime: Any, compiled: Callable[[str], Any]
) -> None:
    from arm_runtime import ethosu

    program = compiled(accelerator)
    results = []
    for row in program.inputs:
        (expected,) = reference.run(program.tosa, [row.reshape(1, 1, 8, 8)])
        (result,) = ethosu.run(program.payload, [row])
        np.testing.assert_array_equal(result, expected.reshape(-1))
        results.append(result)
    assert len(np.unique(results)) > 40, "the results say too little"


@pytest.mark.parametrize("accelerator", ACCELERATORS)
def test_programs_for_different_accelerators_agree(
    accelerator: str, executorch: Any, compiled: Callable[[str], Any]
) -> None:
    first, program = compiled(ACCELERATORS[0]), compiled(accelerator)
    one, other = method(executorch, first.pte), method(executorch, program.pte)
    for picture in program.pictures:
        np.testing.assert_array_equal(execute(one, picture[None]), execute(other, picture[None]))


def test_methods_run_at_the_same_time(executorch: Any, compiled: Callable[[str], Any]) -> None:
    program = compiled("ethos-u55-128")
    expected = [execute(method(executorch, program.pte), picture[None]) for picture in program.pictures]
    wrong: list[int] = []

    def work() -> None:
        own = method(executorch, program.pte)
        for i in range(80):
            if not np.array_equal(execute(own, program.pictures[i % 8][None]), expected[i % 8]):
                wrong.append(i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_loading_and_unloading_leaves_no_memory_behind(executorch: Any, compiled: Callable[[str], Any]) -> None:
    program = compiled("ethos-u55-128")

    def cycles(count: int) -> int:
        for _ in range(count):
            execute(method(executorch, program.pte), program.pictures[:1])
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    before = cycles(100)
    assert cycles(1000) - before < 2 << 20


def test_events_reach_the_etdump(executorch: Any, compiled: Callable[[str], Any], tmp_path: Path) -> None:
    import torch

    from arm_tosa_core.cli.profile import read_events

    program = compiled("ethos-u55-128")
    loaded = executorch.load_program(program.pte, enable_etdump=True)
    loaded.load_method("forward").execute([torch.from_numpy(program.pictures[:1])])
    loaded.write_etdump_result_to_file(str(tmp_path / "dump"), str(tmp_path / "debug"))
    events = {event.name: event for event in read_events((tmp_path / "dump").read_bytes())}
    call = events["DELEGATE_CALL"]
    for name in ("EthosU copy inputs", "EthosU run", "EthosU copy outputs"):
        assert events[name].depth == call.depth + 1 and events[name].ms <= call.ms
    assert events["EthosU run"].ms > 0
