"""ONNX files: a small one with a weight in a file of its own, and a quantized network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper


def write_onnx(path: Path) -> None:
    """Writes a model, and beside it the file ``weights`` with its bias."""
    weight = np.random.default_rng(0).standard_normal((4, 3, 3, 3)).astype(np.float32)
    bias = helper.make_tensor("bias", TensorProto.FLOAT, [4], np.ones(4, np.float32).tobytes(), raw=True)
    bias.ClearField("raw_data")
    bias.data_location = TensorProto.EXTERNAL
    bias.external_data.add(key="location", value="./weights")
    (path.parent / "weights").write_bytes(np.ones(4, np.float32).tobytes())
    nodes = [
        helper.make_node("Conv", ["x", "weight", "bias"], ["a"], name="conv", strides=[2, 2], auto_pad="SAME_UPPER"),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Shape", ["b"], ["s"]),
        helper.make_node("Reshape", ["b", "s"], ["y"]),
    ]
    ends = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, s)] for n, s in (("x", [1, 3, 6, 6]), ("y", None))]
    graph = helper.make_graph(nodes, "g", *ends, [numpy_helper.from_array(weight, "weight"), bias])
    model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)])
    path.write_bytes(model.SerializeToString())


def quantized_network(kind: type[np.generic]) -> ModelProto:
    """Two convolutions, a residual sum, a pool and a softmax, quantized as ONNX Runtime does it.

    Args:
        kind: of activations, ``int8`` or ``uint8``; weights are int8, one scale a channel.

    Returns:
        The model. Its outputs are what the softmax reads, in steps of 0.15, and its result, in steps of 1/256.
    """
    draw, nodes, constants = np.random.default_rng(0), [], {}
    middle = 128 if kind is np.uint8 else 0

    def constant(name: str, value: np.ndarray) -> str:
        constants[name] = numpy_helper.from_array(value, name)
        return name

    def quantized(x: str, scale: float, zero: int = 0) -> str:
        ends = [
            constant(f"{x}/scale", np.array(scale, np.float32)),
            constant(f"{x}/zero", np.array(middle + zero, kind)),
        ]
        nodes.append(helper.make_node("QuantizeLinear", [x, *ends], [f"{x}/q"]))
        nodes.append(helper.make_node("DequantizeLinear", [f"{x}/q", *ends], [f"{x}/d"]))
        return f"{x}/d"

    def layer(kind: str, x: str, scale: float, shape: tuple[int, ...], name: str, **attributes: object) -> str:
        scales = draw.uniform(0.004, 0.01, shape[0]).astype(np.float32)
        parts = {
            f"{name}/w": (draw.integers(-127, 128, shape).astype(np.int8), scales, np.zeros(shape[0], np.int8)),
            f"{name}/b": (draw.integers(-3000, 3000, shape[0]).astype(np.int32), scales * np.float32(scale), None),
        }
        for part, (integers, factors, zeros) in parts.items():
            reads = [constant(part, integers), constant(f"{part}/scale", factors)]
            reads += [] if zeros is None else [constant(f"{part}/zero", zeros)]
            nodes.append(helper.make_node("DequantizeLinear", reads, [f"{part}/d"], axis=0))
        nodes.append(helper.make_node(kind, [x, *(f"{part}/d" for part in parts)], [name], name=name, **attributes))
        return name

    x = quantized("x", 0.03)
    a = layer("Conv", x, 0.03, (8, 3, 3, 3), "stem", strides=[2, 2], pads=[1, 1, 1, 1])
    nodes.append(helper.make_node("Relu", [a], ["relu"]))
    a = quantized("relu", 0.05, -128)
    b = quantized(layer("Conv", a, 0.05, (8, 1, 3, 3), "depthwise", group=8, pads=[1, 1, 1, 1]), 0.1)
    nodes.append(helper.make_node("Add", [a, b], ["sum"]))
    c = quantized("sum", 0.12, 5)
    nodes.append(helper.make_node("GlobalAveragePool", [c], ["pool"]))
    d = quantized("pool", 0.06, 5)
    nodes.append(helper.make_node("Flatten", [d], ["flat"]))
    e = quantized(layer("Gemm", quantized("flat", 0.06, 5), 0.06, (10, 8), "head", transB=1), 0.15)
    nodes.append(helper.make_node("Softmax", [e], ["softmax"]))
    y = quantized("softmax", 1 / 256, -128)
    info = helper.make_tensor_value_info
    ends = [[info("x", TensorProto.FLOAT, [1, 3, 16, 16])], [info(n, TensorProto.FLOAT, [1, 10]) for n in (e, y)]]
    graph = helper.make_graph(nodes, "g", *ends, list(constants.values()))
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 19)])
