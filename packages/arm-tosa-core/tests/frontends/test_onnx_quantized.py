"""Quantized ONNX files: their scales are kept, and scales that are none are refused; types of 4 bits and of UINT16."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

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


def _of(name: str, kind: int, values: Any) -> onnx.TensorProto:
    return helper.make_tensor(name, kind, np.shape(values), np.asarray(values).flatten().tolist())


INT4, UINT4, UINT16 = onnx.TensorProto.INT4, onnx.TensorProto.UINT4, onnx.TensorProto.UINT16
S, Z16 = ("s", 1, 0.25), ("z", UINT16, 32770)
Quantize, Dequantize = (partial(N, f"{what}Linear") for what in ("Quantize", "Dequantize"))
#: Nodes, constants (name, type, values), and what they make of [[-1, 0.3, 99999, 2]].
OTHER_TYPES: dict[str, tuple[list[onnx.NodeProto], list[tuple[str, int, Any]], list[Any]]] = {
    "uint16": (
        [Quantize(["x", "s", "z"], ["q"]), Dequantize(["q", "s", "z"], ["y"])],
        [S, Z16],
        [[-1, 0.25, 32765 / 4, 2]],
    ),
    "uint16 that is moved": (
        [
            Quantize(["x", "s", "z"], ["q"]),
            N("Transpose", ["q"], ["t"]),
            N("Concat", ["t", "t"], ["c"], axis=1),
            Dequantize(["c", "s", "z"], ["y"]),
        ],
        [S, Z16],
        [[-1, -1], [0.25, 0.25], [32765 / 4, 32765 / 4], [2, 2]],
    ),
    "uint16 without a zero point": (
        [Quantize(["x", "s"], ["q"], output_dtype=UINT16), Dequantize(["q", "s"], ["y"])],
        [S],
        [[0, 0.25, 65535 / 4, 2]],
    ),
    "uint16 for each channel": (
        [Dequantize(["w", "t"], ["v"], axis=1), N("MatMul", ["x", "v"], ["y"])],
        [("w", UINT16, [[1, 0], [0, 0], [0, 0], [0, 65535]]), ("t", 1, [0.5, 2])],
        [[-0.5, 2 * 2 * 65535]],
    ),
    "uint16 in blocks": (
        [Dequantize(["w", "t"], ["v"], axis=0, block_size=2), N("MatMul", ["x", "v"], ["y"])],
        [("w", UINT16, [[1], [0], [0], [65535]]), ("t", 1, [[0.5], [2]])],
        [[-0.5 + 2 * 2 * 65535]],
    ),
    "4 bits that are moved": (
        [N("Transpose", ["w"], ["t"]), Dequantize(["t", "s", "z"], ["v"]), N("MatMul", ["x", "v"], ["y"])],
        [S, ("w", UINT4, [[15, 8, 8, 0]]), ("z", UINT4, 8)],
        [[-7 / 4 - 2 * 8 / 4]],
    ),
}


def _model(nodes: list[onnx.NodeProto], constants: list[tuple[str, int, Any]]) -> onnx.ModelProto:
    proto = model(*nodes, inputs={"x": (1, 4)}, opset=21)
    proto.graph.initializer.extend(_of(*one) for one in constants)
    return proto


@pytest.mark.parametrize("name", OTHER_TYPES)
def test_types_that_pytorch_has_not(name: str, tmp_path: Path) -> None:
    nodes, constants, wanted = OTHER_TYPES[name]
    (tmp_path / "t.onnx").write_bytes(_model(nodes, constants).SerializeToString())
    made = load_model(tmp_path / "t.onnx").module()(torch.tensor([[-1, 0.3, 99999, 2]]))[0]
    torch.testing.assert_close(made, torch.tensor(wanted))


REFUSED_TYPES = {
    "activations of 4 bits": (
        [N("Identity", ["z"], ["i"]), Quantize(["x", "s", "i"], ["y"], name="q")],
        [S, ("z", INT4, 0)],
        "QuantizeLinear 'q' makes INT4. Quantize activations to 8 or 16 bits",
    ),
    "4 bits by an attribute": (
        [Quantize(["x", "s"], ["y"], name="q", output_dtype=INT4)],
        [S],
        "QuantizeLinear 'q' makes INT4",
    ),
    "a cast to 4 bits": ([N("Cast", ["x"], ["y"], name="c", to=INT4)], [], "Cast 'c': it casts to the type INT4"),
    "4 bits as they are": (
        [N("CastLike", ["x", "w"], ["y"], name="c")],
        [("w", INT4, [1])],
        "CastLike 'c' reads 'w' of INT4, which only DequantizeLinear and .* Dequantize it first",
    ),
    "uint16 that is computed with": (
        [Quantize(["x", "s", "z"], ["q"]), N("Cast", ["q"], ["y"], name="c", to=1)],
        [S, Z16],
        "Cast 'c' reads 'q' of UINT16",
    ),
    "uint16 beside others": (
        [Quantize(["x", "s", "z"], ["q"]), N("Concat", ["q", "x"], ["y"], name="c", axis=0)],
        [S, Z16],
        "Concat 'c' reads 'q' of UINT16",
    ),
    "uint16 that leaves": ([Quantize(["x", "s", "z"], ["y"])], [S, Z16], "the output 'y' has the type UINT16"),
}


@pytest.mark.parametrize("name", REFUSED_TYPES)
def test_other_uses_of_these_types_are_refused(name: str, tmp_path: Path) -> None:
    nodes, constants, why = REFUSED_TYPES[name]
    (tmp_path / "t.onnx").write_bytes(_model(nodes, constants).SerializeToString())
    with pytest.raises(UsageError, match=why):
        load_model(tmp_path / "t.onnx")


def test_a_quantized_layer_may_have_a_real_result(tmp_path: Path) -> None:
    constants = {
        "xs": np.float32(0.5),
        "xz": np.array(3, np.uint8),
        "w": np.array([[2], [-3]], np.int8),
        "ws": np.float32(0.25),
        "wz": np.array(0, np.int8),
        "b": np.array([8], np.int32),
    }
    reads = ["q", "xs", "xz", "w", "ws", "wz", "b"]
    nodes = [Quantize(["x", "xs", "xz"], ["q"]), N("QGemm", reads, ["y"], domain="com.microsoft")]
    proto = model(*nodes, inputs={"x": (1, 2)}, constants=constants, domains=["com.microsoft"])
    (tmp_path / "t.onnx").write_bytes(proto.SerializeToString())
    assert load_model(tmp_path / "t.onnx").module()(torch.tensor([[1.0, 2.5]]))[0].tolist() == [[0.5 - 1.875 + 1]]


def test_weights_of_4_bits_are_said_to_have_them(tmp_path: Path) -> None:
    proto = model(
        Dequantize(["w", "s"], ["v"]), N("MatMul", ["x", "v"], ["y"]), inputs={"x": (1, 2)}, constants={"s": 0.25}
    )
    proto.graph.initializer.append(_of("w", INT4, [[1], [-8]]))
    (tmp_path / "t.onnx").write_bytes(proto.SerializeToString())
    nodes = load_model(tmp_path / "t.onnx").graph.nodes
    (call,) = (node for node in nodes if "dequantize" in node.name)
    assert call.args[3:5] == (-8, 7)
