"""Quantized ONNX files: their scales are kept, and scales that are none are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import helper
from onnx_kit import IMAGE, R, agreed, model

from arm_tosa_core import UsageError, load_model

N = helper.make_node


def _quantized(kind: type[np.generic], *, channels: bool, operator: str) -> onnx.ModelProto:
    """A convolution with a bias, quantized: between QuantizeLinear and DequantizeLinear, or as one operator."""
    zero, per = np.array(3, kind), 6 if channels else 1
    weight = R.integers(-100, 100, (6, 4, 3, 3)).astype(np.int8)
    scales = np.linspace(0.01, 0.03, per).astype(np.float32).reshape(per if channels else ())
    constants = {
        "xs": np.float32(0.05),
        "xz": zero,
        "w": weight,
        "ws": scales,
        "wz": np.zeros(scales.shape, np.int8),
        "b": R.integers(-999, 999, 6).astype(np.int32),
        "bs": (scales * np.float32(0.05)).astype(np.float32),
        "ys": np.float32(0.2),
        "yz": zero,
    }
    quantize = N("QuantizeLinear", ["x", "xs", "xz"], ["q"])
    last = N("DequantizeLinear", ["r", "ys", "yz"], ["y"])
    if operator:
        nodes = [quantize, N(operator, ["q", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"], ["r"]), last]
    else:
        nodes = [
            quantize,
            N("DequantizeLinear", ["q", "xs", "xz"], ["a"]),
            N("DequantizeLinear", ["w", "ws", "wz"], ["u"], axis=0),
            N("DequantizeLinear", ["b", "bs"], ["v"], axis=0),
            N("Conv", ["a", "u", "v"], ["c"]),
            N("QuantizeLinear", ["c", "ys", "yz"], ["r"]),
            last,
        ]
    return model(*nodes, inputs=IMAGE, constants=constants, opset=19)


@pytest.mark.parametrize("operator", ["", "QLinearConv"])
@pytest.mark.parametrize("channels", [True, False])
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_quantized_layers_keep_the_scales_of_the_file(
    kind: type[np.generic], channels: bool, operator: str, tmp_path: Path
) -> None:
    path = tmp_path / "t.onnx"
    agreed(_quantized(kind, channels=channels, operator=operator), path, within=0.201)  # a step: ties round otherwise
    program = load_model(path)
    called = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    weights = "per_channel" if channels else "per_tensor"
    assert [name.split(".")[1] for name in called] == [
        "quantize_per_tensor",
        "dequantize_per_tensor",
        f"dequantize_{weights}",
        "conv2d",
        "quantize_per_tensor",
        "dequantize_per_tensor",
    ]
    assert {tensor.dtype for tensor in program.state_dict.values() if tensor.dim() == 4} == {torch.int8}


REFUSED_SCALES = {
    "a scale of data": ({"xz": np.array(0, np.int8)}, "its scale is computed while the model runs"),
    "a scale of 0": ({"s": np.float32(0), "xz": np.array(0, np.int8)}, "a scale of it is not positive"),
    "a scale that is no number": ({"s": np.float32("nan"), "xz": np.array(0, np.int8)}, "not positive"),
    "too many zero points": ({"s": np.float32(1), "xz": np.zeros(3, np.int8)}, "another number of zero points"),
    "scales that do not fit": ({"s": np.ones(3, np.float32), "xz": np.zeros(3, np.int8)}, "do not fit its axis"),
}


@pytest.mark.parametrize("name", REFUSED_SCALES)
def test_scales_that_are_none_are_refused(name: str, tmp_path: Path) -> None:
    constants, why = REFUSED_SCALES[name]
    inputs = {**IMAGE, **({} if "s" in constants else {"s": ()})}
    proto = model(N("QuantizeLinear", ["x", "s", "xz"], ["y"]), inputs=inputs, constants=constants)
    (tmp_path / "t.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(UsageError, match=why):
        load_model(tmp_path / "t.onnx")
