"""ONNX files: what they compute, the names they keep, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import helper
from onnx_kit import IMAGE, agreed, file_model, model, weights
from torch import nn

from arm_tosa_core import UsageError, load_model
from arm_tosa_core.lowering.exported_program import module_path, source_line
from arm_tosa_core.support.errors import DefaultInputWarning

N = helper.make_node
ROWS = {"x": (3, 5)}

#: Nodes, their inputs, their constants.
RIGHT: dict[str, tuple[list[onnx.NodeProto], dict[str, Any], dict[str, Any]]] = {
    "conv, more padding behind": (
        [N("Conv", ["x", "w"], ["y"], pads=[0, 0, 1, 1], strides=[2, 2])],
        IMAGE,
        {"w": weights(6, 4, 3, 3)},
    ),
    "conv, groups and dilations": (
        [N("Conv", ["x", "w", "b"], ["y"], group=2, dilations=[2, 1], pads=[2, 1, 2, 1])],
        IMAGE,
        {"w": weights(6, 2, 3, 3), "b": weights(6)},
    ),
    "transposed conv, output_padding": (
        [N("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2], output_padding=[1, 1], pads=[1, 1, 1, 1])],
        IMAGE,
        {"w": weights(4, 3, 3, 3)},
    ),
    "transposed conv, more padding behind": (
        [N("ConvTranspose", ["x", "w", "b"], ["y"], strides=[2, 2], pads=[0, 0, 1, 1])],
        IMAGE,
        {"w": weights(4, 3, 3, 3), "b": weights(3)},
    ),
    "transposed conv, more padding before": (
        [N("ConvTranspose", ["x", "w", "b"], ["y"], strides=[2, 2], pads=[2, 1, 0, 0])],
        IMAGE,
        {"w": weights(4, 3, 3, 3), "b": weights(3)},
    ),
    "gemm, alpha and beta": (
        [N("Gemm", ["x", "w", "b"], ["y"], alpha=0.5, beta=2.0)],
        ROWS,
        {"w": weights(5, 7), "b": weights(1, 7)},
    ),
    "gemm of integers": (
        [N("Cast", ["x"], ["i"], to=6), N("Gemm", ["i", "w", "b"], ["j"], transB=1), N("Cast", ["j"], ["y"], to=1)],
        ROWS,
        {"w": np.arange(-17, 18, dtype=np.int32).reshape(7, 5), "b": np.arange(7, dtype=np.int32)},
    ),
    "gemm, transposed, a number as bias": (
        [N("Gemm", ["x", "w", "b"], ["y"], transB=1)],
        ROWS,
        {"w": weights(7, 5), "b": weights(1)},
    ),
    "gemm, a bias for each row": (
        [N("Gemm", ["x", "w", "b"], ["y"], transB=1)],
        ROWS,
        {"w": weights(7, 5), "b": weights(3, 1)},
    ),
    "matrix times a constant that is computed": (
        [N("Transpose", ["w"], ["t"], perm=[1, 0]), N("MatMul", ["x", "t"], ["y"])],
        ROWS,
        {"w": weights(7, 5)},
    ),
    "a shape from sizes": (
        [
            N("Shape", ["x"], ["s"]),
            N("Gather", ["s", "zero"], ["n"]),
            N("Unsqueeze", ["n", "axes"], ["u"]),
            N("Concat", ["u", "rest"], ["shape"], axis=0),
            N("Reshape", ["x", "shape"], ["y"]),
        ],
        IMAGE,
        {"zero": np.array(0), "axes": [0], "rest": [-1]},
    ),
    "slices that run backwards": (
        [N("Slice", ["x", "a", "b", "axes", "steps"], ["y"])],
        IMAGE,
        {"a": [-1, 9], "b": [-(2**62), 1], "axes": [2, 3], "steps": [-1, -3]},
    ),
    "numbers on the left": (
        [
            N("Sub", ["one", "x"], ["a"]),
            N("Div", ["one", "x"], ["b"]),
            N("Less", ["one", "x"], ["c"]),
            N("Where", ["c", "a", "b"], ["y"]),
        ],
        ROWS,
        {"one": np.float32(0.3)},
    ),
    "a constant vector of one element, on a number": ([N("Add", ["x", "one"], ["y"])], {"x": ()}, {"one": [1.5]}),
    "gather, negative and repeated": ([N("Gather", ["x", "i"], ["y"], axis=1)], ROWS, {"i": [[-1, 0], [2, 2]]}),
    "gather, a run": ([N("Gather", ["x", "i"], ["y"], axis=1)], ROWS, {"i": [1, 2, 3]}),
    "slopes of channels": ([N("PRelu", ["x", "s"], ["y"])], IMAGE, {"s": weights(4, 1, 1)}),
    "slopes of columns": ([N("PRelu", ["x", "s"], ["y"])], IMAGE, {"s": weights(11)}),
    "a swish": ([N("Sigmoid", ["x"], ["s"]), N("Mul", ["x", "s"], ["y"])], IMAGE, {}),
    "a sigmoid that is read twice": (
        [N("Sigmoid", ["x"], ["s"]), N("Mul", ["s", "x"], ["m"]), N("Add", ["m", "s"], ["y"])],
        IMAGE,
        {},
    ),
    "a sigmoid of something else": (
        [N("Sigmoid", ["x"], ["s"]), N("Relu", ["x"], ["r"]), N("Mul", ["s", "r"], ["y"])],
        IMAGE,
        {},
    ),
    "a sigmoid squared": ([N("Sigmoid", ["x"], ["s"]), N("Mul", ["s", "s"], ["y"])], IMAGE, {}),
    "tensors with the names that a layer would give to its own": (
        [
            N("Gemm", ["x", "dense/weight", "dense/bias"], ["dense"], alpha=2.0),
            N("Gemm", ["dense", "dense/weight", "dense/bias"], ["y/weight"]),
            N("MatMul", ["y/weight", "dense/weight"], ["y"]),
        ],
        ROWS,
        {"dense/weight": weights(5, 5), "dense/bias": weights(5)},
    ),
    "resized linearly from the corner": (
        [N("Resize", ["x", "", "s"], ["y"], mode="linear", coordinate_transformation_mode="asymmetric")],
        IMAGE,
        {"s": [1.0, 1.0, 2.0, 3.0]},
    ),
    "resized with the channels last": (
        [N("Resize", ["x", "", "", "n"], ["y"], mode="linear")],
        {"x": (1, 4, 5, 3)},
        {"n": [1, 6, 4, 3]},
    ),
    "resized by cubics that end at the border": (
        [N("Resize", ["x", "", "s"], ["y"], mode="cubic", cubic_coeff_a=-0.5, exclude_outside=1)],
        IMAGE,
        {"s": [1.0, 1.0, 1.7, 0.6]},
    ),
    "a constant output": ([N("Relu", ["x"], ["r"]), N("Identity", ["c"], ["y"])], ROWS, {"c": weights(2)}),
}


@pytest.mark.parametrize("name", RIGHT)
def test_it_computes_what_onnx_does(name: str, tmp_path: Path) -> None:
    nodes, inputs, constants = RIGHT[name]
    agreed(model(*nodes, inputs=inputs, constants=constants), tmp_path / "t.onnx")


#: What ONNX Runtime 1.32 computes: a node, its opset, what it reads (``x``, then constants), what it makes.
COMPUTED: dict[str, tuple[onnx.NodeProto, int, list[Any], list[Any]]] = {
    "of equal numbers the first": (
        N("TopK", ["x", "k"], ["y", "i"]),
        17,
        [[1, 3, 3, 0, 5, 3, 0], [4]],
        [[5, 3, 3, 3], [4, 1, 2, 5]],
    ),
    "of equal numbers the first, smallest": (
        N("TopK", ["x", "k"], ["y", "i"], largest=0),
        17,
        [[3, 1, 0, 0, 5, 0], [4]],
        [[0, 0, 0, 1], [2, 3, 5, 1]],
    ),
    "of equal numbers the first alone": (N("TopK", ["x", "k"], ["y", "i"]), 17, [[1, 3, 3], [1]], [[3], [1]]),
    "bias without weight": (
        N("Gemm", ["x", "w", "b"], ["y"], beta=0.0),
        17,
        [[[1, 2]], [[1.0], [1.0]], [np.inf]],
        [[[3]]],
    ),
    "wrapped after it is cut": (
        N("Pad", ["x", "p"], ["y"], mode="wrap"),
        19,
        [[0, 1, 2, 3], [-1, 3]],
        [[1, 2, 3, 1, 2, 3]],
    ),
    "mirrored after it is cut": (
        N("Pad", ["x", "p"], ["y"], mode="reflect"),
        19,
        [[0, 1, 2, 3], [-1, 1]],
        [[1, 2, 3, 2]],
    ),
    "a sum of one number": (N("ReduceSumSquare", ["x"], ["y"]), 13, [3], [9]),
    "smaller by nearest, as opset 10 has it": (
        N("Resize", ["x", "s"], ["y"], mode="nearest"),
        10,
        [[[0, 1, 2, 3, 4]], [1.0, 0.6]],
        [[[0, 2, 4]]],
    ),
    "a scale that leaves a size moves elements": (
        N(
            "Resize",
            ["x", "", "s"],
            ["y"],
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        ),
        18,
        [[[0], [1], [2], [3], [4], [5], [6], [7], [8], [9]], [1.09, 2.0]],
        [[[0, 0], [0, 0], [1, 1], [2, 2], [3, 3], [4, 4], [5, 5], [6, 6], [7, 7], [8, 8]]],
    ),
    "no size changes": (
        N("Resize", ["x", "", "s"], ["y"], mode="linear"),
        18,
        [[[[0, 2, 4]]], [1, 1, 1.1]],
        [[[[0, 2, 4]]]],
    ),
    "a scale that makes no whole size": (
        N("Resize", ["x", "", "s"], ["y"], mode="linear"),
        18,
        [[[[0, 8, 16, 24]]], [1, 1, 1.6]],
        [[[[0, 3.5, 8.5, 13.5, 18.5, 23.5]]]],
    ),
    "of the middle of a pixel the nearest": (
        N("Resize", ["x", "", "s"], ["y"], mode="nearest", coordinate_transformation_mode="tf_half_pixel_for_nn"),
        11,
        [[0, 1, 2, 3, 4, 5], [0.5]],
        [[1, 3, 5]],
    ),
    "places in float32": (
        N(
            "Resize",
            ["x", "", "s"],
            ["y"],
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        ),
        18,
        [[0, 1, 2, 3, 4, 5, 6], [0.6]],
        [[0, 1, 3, 5]],
    ),
    "sizes in float32": (
        N(
            "Resize",
            ["x", "", "s"],
            ["y"],
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        ),
        18,
        [list(range(10)), [0.7]],
        [[0, 1, 2, 4, 5, 7, 8]],
    ),
}


F, I8, U8, I64 = (lambda values, kind=kind: np.array(values, kind) for kind in ("f4", "i1", "u1", "i8"))
#: What ONNX Runtime 1.32 computes of other types: a node, its opset, the input ``x``, constants by name, its result.
OF_TYPES: dict[str, tuple[onnx.NodeProto, int, list[np.ndarray], dict[str, np.ndarray], np.ndarray]] = {
    "one hot has the type of its values": (
        N("OneHot", ["x", "d", "v"], ["y"]),
        17,
        [I64([1, -1])],
        {"d": F(2.0), "v": np.array([2, 7], "i4")},
        np.array([[2, 7], [2, 7]], "i4"),
    ),
    "a power has the type of its base": (
        N("Pow", ["b", "x"], ["y"]),
        17,
        [F([2.0, 3.0])],
        {"b": I64(2)},
        I64([4, 8]),
    ),
    "a choice of two numbers has their type": (
        N("Where", ["x", "a", "b"], ["y"]),
        17,
        [np.array([True, False])],
        {"a": U8(3), "b": U8([4])},
        U8([3, 4]),
    ),
    "a constant condition": (
        N("Or", ["x", "b"], ["y"]),
        17,
        [np.array([True, False])],
        {"b": np.array(False)},
        np.array([True, False]),
    ),
    "integers that shrink": (N("Shrink", ["x"], ["y"], bias=0.3, lambd=1.0), 17, [U8([0, 1, 5])], {}, U8([0, 0, 4])),
    "a pool of integers along one axis": (
        N("MaxPool", ["x"], ["y"], kernel_shape=[2], pads=[0, 1], strides=[2]),
        17,
        [I8([[[-3, -5, -128]]])],
        {},
        I8([[[-3, -128]]]),
    ),
    "integers that are resized": (
        N("Resize", ["x", "", "s"], ["y"], mode="nearest"),
        18,
        [I8([[[[1, 2], [3, 4]]]])],
        {"s": F([1, 1, 2, 1])},
        I8([[[[1, 2], [1, 2], [3, 4], [3, 4]]]]),
    ),
    "a mirror of booleans": (
        N("Pad", ["x", "p"], ["y"], mode="reflect"),
        17,
        [np.array([[[[True, False]]]])],
        {"p": I64([0, 0, 0, 1, 0, 0, 0, 0])},
        np.array([[[[False, True, False]]]]),
    ),
    "the place of a number": (N("NonZero", ["c"], ["y"]), 17, [], {"c": F(1.0)}, I64([[0]])),
    "backwards to the end": (
        N("Slice", ["x", "a", "e", "axes", "s"], ["y"]),
        17,
        [F([1, 2, 3])],
        {"a": I64([1]), "e": I64([2**63 - 1]), "axes": I64([0]), "s": I64([-1])},
        F([2, 1]),
    ),
    "backwards from before the start": (
        N("Slice", ["x", "a", "e", "axes", "s"], ["y"]),
        17,
        [F([1, 2, 3])],
        {"a": I64([-9]), "e": I64([-(2**63)]), "axes": I64([0]), "s": I64([-1])},
        F([1]),
    ),
    "an index of the data": (N("Gather", ["c", "x"], ["y"]), 17, [I64(1)], {"c": F([[1, 2], [3, 4]])}, F([3, 4])),
    "indices of the data": (N("GatherND", ["c", "x"], ["y"]), 17, [I64([1, 0])], {"c": F([[1, 2], [3, 4]])}, F(3)),
    "weights with a scale for each block": (
        N("DequantizeLinear", ["c", "s", "z"], ["y"], axis=0, block_size=2),
        21,
        [],
        {"c": I8([[1, -2], [3, 4], [5, 6]]), "s": F([[1, 0.5], [2, 4]]), "z": I8([[1, 0], [0, 2]])},
        F([[0, -1], [2, 2], [10, 16]]),
    ),
}


@pytest.mark.parametrize("name", OF_TYPES)
def test_other_types_are_those_of_onnx_runtime(name: str, tmp_path: Path) -> None:
    node, opset, given, constants, wanted = OF_TYPES[name]
    named = dict(zip("x", given, strict=False))
    proto = model(node, inputs={}, constants=constants, opset=opset)
    for one, array in named.items():
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        proto.graph.input.append(helper.make_tensor_value_info(one, kind, array.shape))
    (tmp_path / "t.onnx").write_bytes(proto.SerializeToString())
    x = [torch.from_numpy(array) for array in named.values()]
    for run in (file_model(tmp_path / "t.onnx"), load_model(tmp_path / "t.onnx").module()):
        torch.testing.assert_close(run(*x)[0], torch.from_numpy(wanted))


@pytest.mark.parametrize("name", COMPUTED)
def test_it_computes_what_onnx_runtime_does(name: str, tmp_path: Path) -> None:
    node, opset, (x, *constants), wanted = COMPUTED[name]
    x = torch.tensor(x, dtype=torch.float32)
    named = dict(zip([one for one in node.input[1:] if one], constants, strict=True))
    proto = model(node, inputs={"x": x.shape}, constants=named, outputs=list(node.output), opset=opset)
    (tmp_path / "t.onnx").write_bytes(proto.SerializeToString())
    made = load_model(tmp_path / "t.onnx").module()(x)
    assert [one.tolist() for one in made] == wanted


@pytest.mark.parametrize(("opset", "axes"), [(9, (1, 2)), (12, (1, 2)), (13, (1,)), (21, (1,))])
def test_softmax_of_old_files_covers_all_axes_behind(opset: int, axes: tuple[int, ...], tmp_path: Path) -> None:
    """Of ONNX's evaluator and ours, only ours knows the old meaning."""
    (tmp_path / "t.onnx").write_bytes(
        model(N("Softmax", ["x"], ["y"], axis=1), inputs={"x": (2, 3, 4)}, opset=opset).SerializeToString()
    )
    (x,) = (module := file_model(tmp_path / "t.onnx")).examples()
    torch.testing.assert_close(module(x)[0], x.exp() / x.exp().sum(axes, keepdim=True))


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(("kind", "peepholes"), [("LSTM", False), ("LSTM", True), ("GRU", False), ("RNN", False)])
def test_recurrent_layers_are_those_of_pytorch(kind: str, peepholes: bool, direction: str, tmp_path: Path) -> None:
    """Gates are reordered, and what the file has as one array a direction is PyTorch's parameters; peepholes are 0."""
    order = {"LSTM": [0, 3, 1, 2], "GRU": [1, 0, 2], "RNN": [0]}[kind]  # of ONNX, in PyTorch's
    ways = 1 + (direction == "bidirectional")
    layer = getattr(nn, kind)(5, 4, bidirectional=ways == 2)

    def stacked(*names: str) -> np.ndarray:
        parts = []
        for way in ("", "_reverse")[:ways]:
            rows = [getattr(layer, f"{name}_l0{way}").detach().unflatten(0, (len(order), 4))[order] for name in names]
            parts.append(torch.cat([row.flatten(0, 1) for row in rows]))
        return torch.stack(parts).numpy()

    constants = {"w": stacked("weight_ih"), "r": stacked("weight_hh"), "b": stacked("bias_ih", "bias_hh")}
    attributes = {"linear_before_reset": 1} if kind == "GRU" else {}
    constants |= {"p": np.zeros((ways, 12), np.float32)} if peepholes else {}
    reads = ["x", "w", "r", "b", *(["", "", "", "p"] if peepholes else [])]
    node = N(kind, reads, ["y", "h"], hidden_size=4, direction=direction, **attributes)
    proto = model(node, inputs={"x": (6, 2, 5)}, constants=constants, outputs=["y", "h"])
    (tmp_path / "t.onnx").write_bytes(proto.SerializeToString())
    module = file_model(tmp_path / "t.onnx")
    (x,) = module.examples()
    y, h = layer(x.flip(0) if direction == "reverse" else x)
    h = h[0] if kind == "LSTM" else h
    y = (y.flip(0) if direction == "reverse" else y).unflatten(-1, (ways, 4)).transpose(1, 2)
    for made in (module(x), module.export().module()(x)):
        torch.testing.assert_close(made, (y, h))


def test_an_if_with_a_constant_condition_is_its_branch(tmp_path: Path) -> None:
    branches = {
        f"{name}_branch": helper.make_graph(
            [N(kind, ["x"], ["same"])], name, [], [helper.make_tensor_value_info("same", 1, None)]
        )
        for name, kind in (("then", "Relu"), ("else", "Neg"))
    }
    nodes = [
        N("Size", ["x"], ["n"]),
        N("Greater", ["n", "many"], ["more"]),
        N("If", ["more"], ["y"], **branches),
        N("If", ["no"], ["z"], **branches),
    ]
    constants = {"many": np.array(3), "no": np.array(False)}
    agreed(model(*nodes, inputs=ROWS, constants=constants, outputs=["y", "z"]), tmp_path / "t.onnx")


def test_an_input_with_a_number_is_a_constant(tmp_path: Path) -> None:
    """The branch of a sample rate, and sizes of an input."""
    branches = {
        f"{name}_branch": helper.make_graph(
            [N(kind, ["x"], ["b"])], name, [], [helper.make_empty_tensor_value_info("b")]
        )
        for name, kind in (("then", "Relu"), ("else", "Neg"))
    }
    nodes = [N("Equal", ["rate", "low"], ["is"]), N("If", ["is"], ["y"], **branches)]
    proto = model(*nodes, inputs={"x": (3,)}, constants={"low": np.array(8000)})
    proto.graph.input.insert(0, helper.make_tensor_value_info("rate", 7, []))
    path, x = tmp_path / "t.onnx", torch.tensor([-1.0, 0.0, 2.0])
    path.write_bytes(proto.SerializeToString())
    with pytest.warns(UserWarning, match="both branches are computed.*--input-value NAME=NUMBER"):
        both = load_model(path).module()
    for rate, result in ((8000, [0.0, 0.0, 2.0]), (16000, [1.0, 0.0, -2.0])):
        assert both(torch.tensor(rate), x)[0].tolist() == result
    assert load_model(path, input_values={"rate": 8000}).module()(x)[0].tolist() == [0.0, 0.0, 2.0]
    assert load_model(path, input_values={"rate": 16000}).module()(x)[0].tolist() == [1.0, 0.0, -2.0]
    for values, why in (({"rate": 0.5}, "'rate' is of int64, which cannot be 0.5"), ({"sr": 1}, "no input 'sr'")):
        with pytest.raises(UsageError, match=why):
            load_model(path, input_values=values)


def test_names_of_the_file_are_in_the_program(tmp_path: Path) -> None:
    nodes = [N("Conv", ["x", "w"], ["a"], name="/stem/conv"), N("Relu", ["a"], ["y"])]
    path = tmp_path / "net.onnx"
    onnx.save(model(*nodes, inputs={"x": ("N", 4, 9, 11)}, constants={"w": weights(2, 4, 3, 3)}), path)
    calls = [node for node in load_model(path).graph.nodes if node.op == "call_function"]
    assert [module_path(node) for node in calls] == ["_stem_conv", "of_y"]
    assert source_line(calls[0]) == "net.onnx:1, in Conv: a = Conv(x, w)"


def test_a_swish_is_one_operator(tmp_path: Path) -> None:
    nodes = [N("Sigmoid", ["x"], ["s"]), N("Mul", ["s", "x"], ["y"], name="act")]
    (tmp_path / "t.onnx").write_bytes(model(*nodes, inputs=ROWS).SerializeToString())
    (call,) = (node for node in load_model(tmp_path / "t.onnx").graph.nodes if node.op == "call_function")
    assert (str(call.target), module_path(call)) == ("aten.silu.default", "act")


def test_open_sizes_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    onnx.save(model(N("Relu", ["x"], ["y"]), inputs={"x": ("N", 3, "H", "W")}), path)
    with pytest.raises(UsageError, match="--input-shape x=Nx3xNxN, with a number in place of each N"):
        load_model(path)
    assert load_model(path, input_shapes={"x": (2, 3, 8, 8)}).module()(torch.ones(2, 3, 8, 8))[0].shape == (2, 3, 8, 8)


@pytest.mark.parametrize(
    "names",
    [["self"], ["class", "_class"], ["a.b", "a_b", "a/b"], ["1", "_1"], ["args", "kwargs"], ["forward"], ["b_w"]],
)
def test_inputs_may_have_any_name(names: list[str], tmp_path: Path) -> None:
    nodes = [N("Sum", names, ["s"]), N("Add", ["s", "w"], ["y"])]
    proto = model(*nodes, inputs=dict.fromkeys(names, (2, 3)), constants={"w": weights(3)})
    agreed(proto, tmp_path / "t.onnx")


@pytest.mark.parametrize("name", ["self", "forward", "training", "class", "_operators"])
def test_constants_may_have_any_name(name: str, tmp_path: Path) -> None:
    nodes = [N("Add", ["x", name], ["s"], name=name), N("Gather", ["s", "i"], ["y"])]
    agreed(model(*nodes, inputs=ROWS, constants={name: weights(5), "i": [2, 0]}), tmp_path / "t.onnx")


def test_a_number_may_be_stored_as_an_integer(tmp_path: Path) -> None:
    """ONNX Runtime quantizes the number that a Pad writes."""
    nodes = [N("DequantizeLinear", ["q", "s"], ["v"]), N("Pad", ["x", "p", "v"], ["y"])]
    constants = {"q": np.array(3, np.int8), "s": np.array(0.5, np.float32), "p": np.array([1, 0])}
    (tmp_path / "t.onnx").write_bytes(model(*nodes, inputs={"x": (1,)}, constants=constants).SerializeToString())
    assert load_model(tmp_path / "t.onnx").module()(torch.ones(1))[0].tolist() == [1.5, 1.0]


def test_a_size_of_0_is_no_open_one(tmp_path: Path) -> None:
    (tmp_path / "t.onnx").write_bytes(model(N("Relu", ["x"], ["y"]), inputs={"x": (0, 3)}).SerializeToString())
    assert load_model(tmp_path / "t.onnx").module()(torch.ones(0, 3))[0].shape == (0, 3)


def test_what_nobody_can_read_is_left_out(tmp_path: Path) -> None:
    nodes = [N("Constant", [], [""], value_float=1.0), N("Sigmoid", ["x"], []), N("Relu", ["x"], ["y"])]
    (tmp_path / "t.onnx").write_bytes(model(*nodes, inputs=ROWS).SerializeToString())
    assert load_model(tmp_path / "t.onnx").module()(torch.ones(3, 5))[0].tolist() == [[1.0] * 5] * 3


def test_an_output_that_nobody_reads_is_left_out(tmp_path: Path) -> None:
    inner = helper.make_graph([N("Relu", ["p"], ["t"])], "b", [], [helper.make_tensor_value_info("t", 1, None)])
    nodes = [
        N("MaxPool", ["x"], ["p", "indices"], kernel_shape=[2]),
        N("If", ["c"], ["y"], then_branch=inner, else_branch=inner),
    ]
    proto = model(*nodes, inputs={"x": (1, 1, 2)}, constants={"c": np.array(True)})
    (tmp_path / "t.onnx").write_bytes(proto.SerializeToString())
    assert load_model(tmp_path / "t.onnx").module()(torch.tensor([[[1.0, 2.0]]]))[0].tolist() == [[[2.0]]]


def _with_default(ir_version: int) -> onnx.ModelProto:
    proto = model(N("Add", ["x", "w"], ["y"]), inputs={"x": (2,), "w": (2,)}, constants={"w": [3.0, 4.0]})
    proto.ir_version = ir_version
    return proto


def test_an_input_with_a_default_is_a_constant_and_said_to_be(tmp_path: Path) -> None:
    path, x = tmp_path / "t.onnx", torch.ones(2)
    path.write_bytes(_with_default(10).SerializeToString())
    with pytest.warns(DefaultInputWarning, match=r"constants of the program: w\. To keep .*--input-shape w=2"):
        assert load_model(path).module()(x)[0].tolist() == [4.0, 5.0]
    assert load_model(path, input_shapes={"w": (2,)}).module()(x, x)[0].tolist() == [2.0, 2.0]


def test_initializers_of_old_files_are_constants(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    (tmp_path / "t.onnx").write_bytes(_with_default(3).SerializeToString())
    assert load_model(tmp_path / "t.onnx").module()(torch.ones(2))[0].tolist() == [4.0, 5.0]
    assert not [one for one in recwarn if issubclass(one.category, DefaultInputWarning)]


def test_an_index_beyond_the_depth_has_no_place(tmp_path: Path) -> None:
    """Unlike ONNX's evaluator, which wraps it round."""
    node = helper.make_node("OneHot", ["i", "depth", "values"], ["y"])
    proto = model(node, inputs={}, constants={"i": [5, -4, 1, -1], "depth": [3], "values": [2, 7]})
    path = tmp_path / "net.onnx"
    path.write_bytes(proto.SerializeToString())
    (made,) = file_model(path)()
    assert made.tolist() == [[2, 2, 2], [2, 2, 2], [2, 7, 2], [2, 2, 7]]
