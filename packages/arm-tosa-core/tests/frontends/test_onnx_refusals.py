"""What is refused of ONNX files: operators, attributes, damaged and hostile files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx_kit import IMAGE, model, weights

from arm_tosa_core import UsageError, load_model

N = helper.make_node
#: The end of a refusal: a sentence that begins with what to do.
WHAT_TO_DO = re.compile(r"\. (?!Its)[A-Z][a-z]+ [^.]*$|\. Its operands do not fit: check")


def _with(change: Callable[[onnx.ModelProto], Any]) -> onnx.ModelProto:
    proto = model(N("Conv", ["x", "w"], ["y"], name="stem"), inputs=IMAGE, constants={"w": weights(2, 4, 3, 3)})
    change(proto)
    return proto


def _external(location: str, **more: str) -> onnx.ModelProto:
    def change(proto: onnx.ModelProto) -> None:
        tensor = proto.graph.initializer[0]
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in {"location": location, **more}.items():
            tensor.external_data.add(key=key, value=value)

    return _with(change)


def _if(proto: onnx.ModelProto) -> None:
    empty = helper.make_graph([], "g", [], [])
    proto.graph.node.append(N("If", ["y"], ["z"], name="choice", then_branch=empty, else_branch=empty))


REFUSED: dict[str, tuple[onnx.ModelProto, str]] = {
    "no row": (
        _with(lambda p: p.graph.node.append(N("NonMaxSuppression", ["y", "y"], ["z"], name="/head/nms"))),
        r"net.onnx: NonMaxSuppression '/head/nms': arm-tosa does not read this operator",
    ),
    "another domain": (
        _with(lambda p: p.graph.node.append(N("Relu", ["y"], ["z"], name="own", domain="com.acme"))),
        r"com.acme.Relu 'own': arm-tosa does not read",
    ),
    "an attribute": (
        _with(lambda p: p.graph.node.append(N("MaxPool", ["y"], ["z"], name="p", kernel_shape=[2, 2], spiral=1))),
        r"MaxPool 'p': its attribute spiral = 1 is not read",
    ),
    "a window unlike its weights": (
        _with(lambda p: p.graph.node[0].attribute.append(helper.make_attribute("kernel_shape", [5, 3]))),
        r"Conv 'stem': its kernel_shape is \[5, 3\], and its weights are of \[3, 3\]",
    ),
    "pads below 0": (
        _with(lambda p: p.graph.node[0].attribute.append(helper.make_attribute("pads", [-1, 0, 0, 0]))),
        r"Conv 'stem': its pads are \[-1, 0, 0, 0\], and ONNX has none below 0",
    ),
    "a convolution of integers": (
        model(
            N("Cast", ["x"], ["i"], to=6),
            N("ConvTranspose", ["i", "w"], ["y"], name="up"),
            inputs=IMAGE,
            constants={"w": np.ones((4, 4, 3, 3), np.int32)},
        ),
        r"ConvTranspose 'up': its input is int32, and ONNX has it for reals only",
    ),
    "a layer of integers": (
        model(
            N("Cast", ["x"], ["i"], to=6),
            N("Gemm", ["i", "w"], ["y"], name="last", alpha=2.0),
            inputs={"x": (2, 3)},
            constants={"w": np.ones((3, 4), np.int32)},
        ),
        r"Gemm 'last': its input is int32, and its alpha or beta is not 1",
    ),
    "an output": (
        _with(lambda p: p.graph.node.append(N("MaxPool", ["y"], ["z", "i"], name="p", kernel_shape=[2, 2]))),
        r"MaxPool 'p': its output 'i' is not made",
    ),
    "branches that make nothing": (_with(_if), "If 'choice': its branches do not make its outputs"),
    "a shape of data": (
        _with(lambda p: p.graph.node.append(N("Reshape", ["y", "y"], ["z"], name="r"))),
        "Reshape 'r': its operand 'y' is computed while the model runs",
    ),
    "an input that nobody makes": (
        _with(lambda p: p.graph.node.append(N("Relu", ["missing"], ["z"], name="r"))),
        "Relu 'r' reads 'missing', which no operator before it makes",
    ),
    "a circle": (
        _with(lambda p: p.graph.node.extend([N("Relu", ["b"], ["a"], name="r"), N("Relu", ["a"], ["b"])])),
        "Relu 'r' reads 'b', which no operator before it makes",
    ),
    "an output that nobody makes": (
        _with(lambda p: p.graph.output.append(helper.make_tensor_value_info("z", 1, None))),
        "no operator makes the output 'z'",
    ),
    "a result made twice": (
        _with(lambda p: p.graph.node.append(N("Relu", ["y"], ["y"], name="r"))),
        "Relu 'r' makes 'y', which is there already",
    ),
    "an old opset": (_with(lambda p: setattr(p.opset_import[0], "version", 6)), "opset 6; 7 to .* are read"),
    "a negative power of integers": (
        model(
            N("Cast", ["x"], ["i"], to=onnx.TensorProto.INT32),
            N("Pow", ["i", "n"], ["y"], name="p"),
            inputs=IMAGE,
            constants={"n": np.array(-1)},
        ),
        "Pow 'p': it raises integers to a negative power",
    ),
    "a new opset": (_with(lambda p: setattr(p.opset_import[0], "version", 999)), "opset 999; 7 to .* are read"),
    "an input that is no tensor": (
        _with(lambda p: p.graph.input.append(helper.make_tensor_sequence_value_info("s", 1, None))),
        "input 's' is no tensor",
    ),
    "a constant of strings": (
        _with(lambda p: p.graph.initializer.append(helper.make_tensor("s", 8, [1], [b"a"]))),
        "constant 's' has the type STRING, which is not read. Use one of FLOAT, ",
    ),
    "a constant that lacks data": (
        _with(lambda p: p.graph.initializer[0].dims.append(2)),
        "constant 'w' is damaged",
    ),
    "a constant larger than memory": (
        _with(lambda p: p.graph.initializer[0].dims.extend([2**31, 2**31])),
        "constant 'w' has .* elements",
    ),
    "a size larger than memory": (
        _with(
            lambda p: (
                p.graph.initializer.append(numpy_helper.from_array(np.array([2**40]), "n")),
                p.graph.node.append(N("ConstantOfShape", ["n"], ["z"], name="fill")),
            )
        ),
        "ConstantOfShape 'fill': it makes a constant of the sizes",
    ),
    "an operand too many": (
        _with(lambda p: p.graph.node.append(N("Relu", ["y", "x"], ["z"], name="r"))),
        "Relu 'r': it has 2 operands: one is missing, or one too many",
    ),
    "an operand too few": (
        _with(lambda p: p.graph.node.append(N("QuantizeLinear", ["y"], ["z"], name="q"))),
        "QuantizeLinear 'q': it has 1 operands: one is missing",
    ),
    "data outside of the folder": (_external("../secret"), "would lie outside of the folder"),
    "data at an absolute path": (_external("/etc/passwd"), "would lie outside of the folder"),
    "data that is not there": (_external("weights"), "cannot be read: No such file"),
    "data that is too short": (_external("net.onnx", length="288", offset="9999"), "has 288 bytes in .*, which has 0"),
    "data of a negative length": (_external("net.onnx", length="-5"), "which is no place"),
    "data that says it is larger than memory": (_external("net.onnx", length=str(2**62)), f"has {2**62} bytes in"),
    "data in a pipe": (_external("pipe"), "has its data in .*pipe, which is no file"),
    "data at no place": (_external("net.onnx", offset="x"), "is no place"),
    "data before the file": (_external("net.onnx", offset="-1"), "is no place|cannot be read"),
    "a mean of integers": (
        model(N("Cast", ["x"], ["i"], to=7), N("ReduceL2", ["i"], ["y"], name="norm"), inputs={"x": (2, 3)}),
        "ReduceL2 'norm': it reduces integers to numbers that are none. Cast them to float before it",
    ),
    "pictures of integers between their elements": (
        model(
            N("Cast", ["x"], ["i"], to=2),
            N("Resize", ["i", "", "s"], ["y"], name="up", mode="linear"),
            inputs={"x": (1, 1, 2)},
            constants={"s": [1.0, 1.0, 2.0]},
            opset=18,
        ),
        "Resize 'up': it interpolates torch.uint8, which ONNX does not say how to round",
    ),
    "SAME padding of a dilated pool": (
        model(
            N("MaxPool", ["x"], ["y"], name="p", auto_pad="SAME_UPPER", kernel_shape=[2], dilations=[2]),
            inputs={"x": (1, 1, 9)},
        ),
        "MaxPool 'p': its window has SAME padding and dilations. Give it pads",
    ),
    "a bound that is no number": (
        model(N("Clip", ["x", "low"], ["y"], name="c"), inputs={"x": (2,)}, constants={"low": np.float32(np.nan)}),
        "Clip 'c': a bound of it is NaN",
    ),
    "windows that do not fit": (
        _with(lambda p: p.graph.node[0].attribute.add(name="pads", type=7, ints=[1])),
        "Conv 'stem': its strides",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_the_operator_and_the_reason(name: str, tmp_path: Path) -> None:
    proto, why = REFUSED[name]
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "net.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(UsageError, match=why) as refused:
        load_model(tmp_path / "net.onnx")
    assert WHAT_TO_DO.search(str(refused.value))


def test_damaged_files_are_errors(tmp_path: Path) -> None:
    whole = _with(lambda p: None).SerializeToString()
    path, draw = tmp_path / "net.onnx", np.random.default_rng(1)
    damaged = [b"", b"\x00", b"not a model", whole[:40], whole[:-100], b"\xff" * 100]
    for _ in range(300):
        data = bytearray(whole)
        for place in draw.integers(0, min(len(whole), 600), draw.integers(1, 4)):
            data[place] = draw.integers(0, 256)
        damaged.append(bytes(data))
    refused = 0
    for data in damaged:
        path.write_bytes(data)
        try:
            load_model(path)
        except UsageError:
            refused += 1
    assert refused > 100  # the others differ in a name or a number
