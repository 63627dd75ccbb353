"""A small ONNX file, with a weight in a file of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper


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
