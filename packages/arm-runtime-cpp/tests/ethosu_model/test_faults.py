"""What is wrong with a program is a fault that says what and where; it is never a crash, also under the sanitizers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import graphs
import numpy as np
import pytest
import rows_u85
from graphs import compile_graph
from model_library import Fault, Region, decode_weights, library, run, run_stream
from streams import REDUCE_SUM, Long, cop2, payload, program, with_later_blockdeps, without_waits

CONTAINER, COMMAND, REGISTER, UNMODELLED, ADDRESS, UNWRITTEN, WEIGHTS, OVERFLOW = range(1, 9)
HAZARD = 11
_SUM = ("POOL", 2)
_CONV = {"IFM_PRECISION": 1, "OFM_PRECISION": 1, "WEIGHT_LENGTH": 16, "SCALE_LENGTH": 10, "OFM_STRIDE_X": 1}

ROWS: dict[str, tuple[bytes, int, str]] = {
    "empty": (b"", CONTAINER, "whole number of words"),
    "half a word": (program(*_SUM, {})[:-2], CONTAINER, "whole number of words"),
    "cut short": (program(*_SUM, {})[:-8], CONTAINER, "longer than the payload"),
    "another magic": (b"COP3" + program(*_SUM, {})[4:], CONTAINER, "begin with COP1 or COP2"),
    "short COP2": (b"COP2" + bytes(4), CONTAINER, "too short for COP2"),
    "another COP2": (cop2([0], version=2), CONTAINER, "COP2 of an unknown version"),
    "no stream in COP2": (cop2([0], kind=2), CONTAINER, "no command stream"),
    "long stream in COP2": (cop2([0], more=4), CONTAINER, "longer than the payload"),
    "half a word in COP2": (cop2([0], more=2), CONTAINER, "a length that is none"),
    "no stream behind metadata": (cop2([0], more=-8), CONTAINER, "a length that is none"),
    "no stop in COP2": (cop2([256]), COMMAND, "without NPU_OP_STOP"),
    "no stream": (program(*_SUM, {})[:16], CONTAINER, "no command stream"),
    "unknown action": (b"COP1" + bytes([77, 0, 0, 0]), CONTAINER, "unknown driver action"),
    "no stop": (program(*_SUM, {}, end=False), COMMAND, "without NPU_OP_STOP"),
    "unknown operation": (payload([4]), COMMAND, "command 0 .*0x00000004 is no command"),
    "unknown register": (payload([0x106]), COMMAND, "is no command"),
    "unknown kind": (payload([3 << 14]), COMMAND, "is no command"),
    "half a command": (payload([1 << 14]), COMMAND, "ends inside"),
    "unset register": (program(*_SUM, {"IFM_BASE0": None}), REGISTER, "NPU_SET_IFM_BASE0 was never set"),
    "64-bit elements": (program(*_SUM, {"IFM_PRECISION": 1 | 3 << 2}), REGISTER, "64 bits"),
    "all padding": (program(*_SUM, {"IFM_PAD_TOP": 4}), REGISTER, "nothing but padding"),
    "block dependency": (program(*_SUM, {"BLOCKDEP": 4}), REGISTER, "BLOCKDEP has no value 4"),
    "tanh": (program(*_SUM, {"ACTIVATION": 3}), UNMODELLED, "activation function 3"),
    "float accumulator": (program(*_SUM, {"ACC_FORMAT": 2}), UNMODELLED, "accumulator format 2"),
    "pooling mode": (program("POOL", 3, {}), UNMODELLED, "pooling mode 3"),
    "elementwise mode": (program("ELEMENTWISE", 20, {}), UNMODELLED, "elementwise mode 20"),
    "2D DMA": (program("DMA_START", 0, {"DMA0_SRC_REGION": 1 << 9}), UNMODELLED, "one run of bytes"),
    "32-bit conv": (program("CONV", 0, {"IFM_PRECISION": 1 | 2 << 2}), UNMODELLED, "32-bit elements"),
    "beyond the end": (program(*_SUM, {"IFM_BASE0": 249}), ADDRESS, "IFM: 8 bytes at 249 are outside region 1 of 256"),
    "before the start": (
        program(*_SUM, {"OFM_HEIGHT_M1": 1, "IFM_HEIGHT0_M1": 1, "IFM_STRIDE_Y": -8}), ADDRESS, "at -8 are outside",
    ),
    "40-bit address": (program(*_SUM, {"IFM_BASE0": Long(0, 1)}), ADDRESS, "at 4294967296"),
    "absent region": (program(*_SUM, {"IFM_REGION": 5}), ADDRESS, "region 5, of which there is no memory"),
    "no such region": (program(*_SUM, {"IFM_REGION": 4000}), ADDRESS, "region 4000"),
    "read-only": (program(*_SUM, {"OFM_REGION": 0, "OFM_BASE0": 0}), ADDRESS, "region 0, which is read-only"),
    "DMA beyond on-chip memory": (
        program("DMA_START", 0, {"DMA0_DST_REGION": 1 << 8, "DMA0_DST": 24 * 1024 - 8}), ADDRESS, "on-chip memory",
    ),
    "table beyond its memory": (program(*_SUM, {"ACTIVATION": 21}), ADDRESS, "table 5 of 1024 bytes"),
    "unwritten": (program(*_SUM, {"IFM_BASE0": 12}), UNWRITTEN, "IFM reads byte 16 of region 1, which nobody wrote"),
    "no weights": (program("CONV", 0, _CONV | {"WEIGHT_LENGTH": 0}), WEIGHTS, "has 0 weights, and 256 are needed"),
    "garbage weights": (program("CONV", 0, _CONV | {"WEIGHT_BASE": 16}), WEIGHTS, "the weight stream has "),
    "few scales": (program("CONV", 0, _CONV | {"SCALE_LENGTH": 9, "WEIGHT_BASE": 32}), WEIGHTS, "weight"),
    "overflow": (program(*_SUM, {"IFM_PRECISION": 1 | 2 << 2, "IFM_DEPTH_M1": 3}), OVERFLOW, "does not fit 32 bits"),
}  # fmt: skip


#: Those that only Ethos-U85 has.
ROWS_U85: dict[str, tuple[bytes, int, str]] = {
    "float accumulator": (program(*_SUM, {"ACC_FORMAT": 2}), UNMODELLED, "accumulator format 2"),
    "block dependency": (program(*_SUM, {"BLOCKDEP": 8}), REGISTER, "BLOCKDEP has no value 8"),
    "three tiles": (program(*_SUM, {"IFM_PRECISION": 1 | 1 << 14}), UNMODELLED, "IFM has three tiles"),
    "nothing chained": (program(*_SUM, {"IFM_PRECISION": 1 | 2 << 14}), REGISTER, "chaining buffer 1 holds 0x0x0"),
    "no such chain": (program(*_SUM, {"IFM_PRECISION": 1 | 2 << 14, "IFM_REGION": 9}), REGISTER, "chaining buffer 9"),
    "nothing kept": (program(*_SUM, {"ACC_FORMAT": 1 << 4}), REGISTER, "accumulators that were kept are of 0x0x0"),
    "transposition": (program(*_SUM, {"OFM_PRECISION": 0x105 | 4 << 11}), REGISTER, "no transposition 4"),
    "pooling mode": (program("POOL", 8, {}), UNMODELLED, "pooling mode 8"),
    "elementwise mode": (program("ELEMENTWISE", 20, {}), UNMODELLED, "elementwise mode 20"),
    "resizing mode": (program("RESIZE", 1, {}), UNMODELLED, "resizing mode 1"),
    "tanh": (program(*_SUM, {"ACTIVATION": 3}), UNMODELLED, "activation function 3"),
    "64-bit input": (program(*_SUM, {"IFM_PRECISION": 1 | 3 << 2}), UNMODELLED, "IFM has elements of 64 bits"),
    "DMA beyond on-chip memory": (
        program("DMA_START", 0, {"DMA0_DST_REGION": 1 << 8, "DMA0_DST": 2040}), ADDRESS, "on-chip memory of 2048",
    ),
    "unset size": (program("DMA_START", 0, {"DMA0_SRC_REGION": 1 << 9}), REGISTER, "DMA0_SIZE0 was never set"),
}  # fmt: skip
CASES = [
    pytest.param(accelerator, *row, id=f"{accelerator}-{name}")
    for accelerator, rows in (("ethos-u55-128", ROWS), ("ethos-u85-256", ROWS_U85))
    for name, row in rows.items()
]


def memory() -> list[Region]:
    """Region 0 of weights, read-only, and region 1, of whose 256 bytes the first 16 are written."""
    weights = np.arange(64, dtype=np.uint8)
    data = np.zeros(256, np.uint8)
    data[:16] = np.array([0x7F] * 4 * 4, np.uint8)
    return [Region(weights, read_only=True), Region(data, (np.arange(256) < 16).astype(np.uint8))]


@pytest.mark.parametrize(("accelerator", "stream", "code", "text"), CASES)
def test_fault(accelerator: str, stream: bytes, code: int, text: str, model: Path) -> None:
    with pytest.raises(Fault, match=text) as raised:
        run_stream(model, accelerator, stream, memory())
    assert raised.value.code == code, str(raised.value)


@pytest.mark.parametrize("accelerator", ["ethos-u55-128", "ethos-u65-512", "ethos-u85-256"])
def test_a_missing_wait_is_a_hazard(accelerator: str, model: Path) -> None:
    """A table arrives by DMA, and the operation that uses it must wait for that."""
    graph = graphs.build(graphs.ROWS["table INT8"])
    arrays = dict(compile_graph(graph, accelerator).arrays)
    run(model, accelerator, arrays, graphs.inputs(graph))
    arrays["cmd_data"] = np.frombuffer(without_waits(arrays["cmd_data"].tobytes()), np.uint8)
    with pytest.raises(Fault, match=r"table: reads bytes .* transfer of command .* no wait for it") as raised:
        run(model, accelerator, arrays, graphs.inputs(graph))
    assert raised.value.code == HAZARD


@pytest.mark.parametrize(
    ("accelerator", "name"),
    [
        ("ethos-u55-32", "transpose conv, stride 2"), ("ethos-u55-128", "matmul"), ("ethos-u65-512", "matmul"),
        ("ethos-u85-256", "matmul"), ("ethos-u85-512", "resize bilinear"),
    ],
)  # fmt: skip
def test_a_later_block_dependency_is_a_hazard(accelerator: str, name: str, model: Path) -> None:
    """Operations read what the one before writes; Vela's BLOCKDEP is the largest that keeps them apart."""
    graph = graphs.build((graphs.ROWS | rows_u85.ROWS)[name])
    arrays = dict(compile_graph(graph, accelerator).arrays)
    run(model, accelerator, arrays, graphs.inputs(graph))
    faults = []
    for stream in with_later_blockdeps(arrays["cmd_data"].tobytes(), 7 if "u85" in accelerator else 3):
        arrays["cmd_data"] = np.frombuffer(stream, np.uint8)
        try:
            run(model, accelerator, arrays, graphs.inputs(graph))
            faults.append("none")
        except Fault as fault:
            assert fault.code == HAZARD
            faults.append(str(fault))
    if faults[0] == "none":  # the first kernel has nothing before it, and the second one another value
        del faults[0]
    assert faults
    assert all(re.search(r"job \d+ reads what .* command \d+ writes .* too early", text) for text in faults)


@pytest.mark.parametrize("accelerator", ["ethos-u55-128", "ethos-u85-256"])
def test_velas_other_container(accelerator: str, model: Path) -> None:
    graph = graphs.build(graphs.ROWS["conv 1x1"])
    results = []
    for flags in ((), ("--cop-format", "COP2")):
        arrays = compile_graph(graph, accelerator, flags).arrays
        results += run(model, accelerator, arrays, graphs.inputs(graph))
    assert arrays["cmd_data"].tobytes().startswith(b"COP2")
    np.testing.assert_array_equal(*results)


def test_the_good_program_runs(model: Path) -> None:
    regions = memory()
    run_stream(model, "ethos-u55-128", program(*_SUM, {}), regions)
    assert regions[1].data[64:68].view(np.int32)[0] == 8 * 0x7F
    assert regions[1].written is not None and regions[1].written.sum() == 16 + 4


def test_a_fault_names_command_index_and_registers(model: Path) -> None:
    with pytest.raises(Fault) as raised:
        run_stream(model, "ethos-u55-128", program(*_SUM, {"IFM_BASE0": 249}), memory())
    text = str(raised.value)
    assert text.startswith(f"command {len(REDUCE_SUM)} (NPU_OP_POOL, word ")
    assert " IFM_DEPTH_M1=7 " in text and " IFM_BASE0=0xf9 " in text


@pytest.mark.parametrize("accelerator", ["ethos-u55-512", "ethos-u65-128"])
def test_no_such_accelerator(accelerator: str, model: Path) -> None:
    with pytest.raises(Fault, match="no accelerator of this family has"):
        run_stream(model, accelerator, program(*_SUM, {}), memory())


@pytest.mark.parametrize(
    ("members", "regions", "text"),
    [
        ({"size": 0}, 2, "a structure's member `size` is not set: sizeof is wanted"),
        ({"size": 32}, 2, "the model takes .* bytes of workspace, and 0 are allowed"),  # up to macs
        ({"family": 56}, 2, "there is no Ethos-U56: the family is 55, 65 or 85"),
        ({"workspace_limit": 1}, 2, "the model takes .* bytes of workspace, and 1 are allowed"),
        ({}, 9, "9 regions, of 8 at most"),
    ],
)
def test_what_a_caller_gives_is_checked(members: dict[str, int], regions: int, text: str, model: Path) -> None:
    """A structure ends where its size says; what is wrong before the program starts is no fault of it."""
    given = (memory() * 5)[:regions]
    with pytest.raises(Fault, match=text) as raised:
        run_stream(model, "ethos-u55-128", program(*_SUM, {}), given, **members)
    assert raised.value.code == 0


def test_the_version_is_that_of_the_header(model: Path) -> None:
    header = (Path(__file__).parents[2] / "include/arm_runtime/ethosu_model_c.h").read_text(encoding="utf-8")
    assert f"#define ARM_ETHOSU_MODEL_API_VERSION {library(model).arm_ethosu_model_api_version()} " in header


@pytest.mark.parametrize("seed", range(20))
def test_weight_decoder_reads_what_the_encoder_writes(seed: int, model: Path) -> None:
    codec = pytest.importorskip("ethosu.mlw_codec", reason="needs ethos-u-vela")
    rng = np.random.default_rng(seed)
    spread = float(rng.choice([0.6, 3, 20, 90]))
    weights = np.clip(np.round(rng.normal(0, spread, int(rng.integers(1, 60000)))), -255, 255).astype(np.int16)
    weights[rng.random(weights.size) < rng.choice([0, 0.3, 0.95])] = 0
    stream = bytes(codec.encode(weights.tolist()))
    out = decode_weights(model, stream, weights.size + 64)
    assert out is not None
    np.testing.assert_array_equal(out, weights)
    assert codec.decode(bytearray(stream)) == out.tolist()


#: Rows of ``graphs`` whose programs are spoiled: between them, every kind of operation.
SPOILED = {
    "ethos-u55-128": (
        "conv 3x3, padding", "conv INT16, 3 channels", "depthwise 3x3", "add INT8", "average pool, padding",
        "table INT16",
    ),
    "ethos-u85-256": (
        "conv 1x1", "conv INT16", "transpose conv INT16", "softmax", "resize bilinear", "gather INT8", "scatter",
        "matmul", "max pool, stride 4, padding", "reverse of channels", "argmax of channels",
    ),
}  # fmt: skip


def test_hostile_programs_under_the_sanitizers(extra_build: Callable[..., Path], tmp_path: Path) -> None:
    """Runs ``hostile.py`` in a process with AddressSanitizer's runtime, which Python itself does not have."""
    folder = extra_build("host-asan", "arm_ethosu_model_c")
    for accelerator, names in SPOILED.items():
        for i, name in enumerate(names):
            graph = graphs.build((graphs.ROWS | rows_u85.ROWS)[name])
            made = compile_graph(graph, accelerator)
            inputs = {f"x{n}": x for n, x in enumerate(graphs.inputs(graph))}
            np.savez(tmp_path / f"{accelerator}.{i}.npz", **made.arrays, **inputs)
    preloaded = [
        subprocess.run(["c++", f"-print-file-name={name}"], capture_output=True, text=True, check=True, timeout=60)
        for name in ("libasan.so", "libstdc++.so.6")  # the second for the exceptions of the first's interceptors
    ]
    environment = os.environ | {
        "LD_PRELOAD": " ".join(found.stdout.strip() for found in preloaded),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    script = Path(__file__).with_name("hostile.py")
    done = subprocess.run(
        [sys.executable, str(script), str(folder / "libarm_ethosu_model_c.so"), str(tmp_path)],
        env=environment, capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    print(done.stdout)
