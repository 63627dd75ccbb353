"""The judges: what they are given, what they say, and that they say it without printing."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from arm_tosa_core.support.errors import ToolError, UsageError
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.reference_model import run, validate
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification

SPEC = TosaSpecification.create_from_string("TOSA-1.0+INT+FP+int16+int4+bf16+fp8e4m3+fp8e5m2")


def identity(dtype: DType, shape: tuple[int, ...]) -> bytes:
    graph = Graph()
    graph.outputs = [graph.append("IDENTITY", [graph.input("x", shape, dtype)]).output]
    return serialize(graph, SPEC)


@pytest.mark.parametrize("shape", [(), (1,), (2, 3)])
@pytest.mark.parametrize(
    "dtype",
    [np.bool_, np.int8, np.int16, np.int32, np.float16, np.float32, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn],
)
def test_every_type_and_rank_goes_through(dtype: type, shape: tuple[int, ...]) -> None:
    from arm_tosa_core.tosa.dtypes import _NUMPY

    tosa_type = next(key for key, value in _NUMPY.items() if value == np.dtype(dtype) and key is not DType.INT4)
    x = np.asarray(np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2 * 2 - 1).astype(dtype)
    (y,) = run(identity(tosa_type, shape), [x])
    assert y.dtype == x.dtype and y.shape == x.shape and y.tobytes() == x.tobytes()


@pytest.mark.parametrize(
    ("tosa", "inputs", "reason"),
    [
        (b"garbage!!", [], "not a TOSA flatbuffer"),
        (identity(DType.INT8, (2,)), [], "takes 1 inputs, got 0"),
        (identity(DType.INT8, (2,)), [np.zeros(3, np.int8)], r"input x takes int8\[2\], got int8\[3\]"),
        (identity(DType.INT8, (2,)), [np.zeros(2, np.float32)], r"input x takes int8\[2\], got float32\[2\]"),
        (identity(DType.INT48, (2,)), [np.zeros(2, np.int64)], "is INT48, which the reference model does not"),
    ],
)
def test_inputs_that_do_not_fit(tosa: bytes, inputs: list[np.ndarray], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        run(tosa, inputs)


def binary(name: str, dtype: DType) -> bytes:
    graph = Graph()
    graph.outputs = [graph.append(name, [graph.input("x", (1,), dtype), graph.input("y", (1,), dtype)]).output]
    return serialize(graph, SPEC)


@pytest.mark.parametrize("isolated", [False, True])
def test_an_unpredictable_result_is_an_error_and_nothing_is_printed(
    capfd: pytest.CaptureFixture[str], isolated: bool
) -> None:
    largest, one = np.array([2**31 - 1], np.int32), np.array([1], np.int32)
    tosa = binary("ADD", DType.INT32)
    assert run(tosa, [one, one], isolated=isolated)[0].tolist() == [2]
    with pytest.raises(ToolError, match="(?s)TOSA_UNPREDICTABLE.*exceeds INT32_MAX"):
        run(tosa, [largest, one], isolated=isolated)
    assert capfd.readouterr() == ("", "")


def test_isolated_survives_what_aborts_the_model() -> None:
    with pytest.raises(ToolError, match="was killed by signal SIGFPE"):
        run(binary("INTDIV", DType.INT32), [np.array([7], np.int32), np.array([0], np.int32)], isolated=True)


def test_validate_says_what_is_wrong() -> None:
    tosa = identity(DType.FP32, (2,))
    validate(tosa, SPEC)
    with pytest.raises(ToolError, match=r"'tosa.identity' op illegal: requires any of \[pro_fp\]"):
        validate(tosa, TosaSpecification.create_from_string("TOSA-1.0+INT"))


def test_a_missing_tool_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match=r"tosa-opt is not installed\ninstall it with: pip install tosa-tools"):
        validate(identity(DType.FP32, (2,)), SPEC)
