"""Operators that ONNX Runtime's optimizer makes of several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from onnx import NodeProto, helper
from onnx_kit import IMAGE, model, weights
from torch.nn import functional

from arm_tosa_core import UsageError, load_model

W, B = weights(6, 4, 3, 3), weights(6)


def _fused(kind: str = "Conv", reads: str = "x w b", **attributes: Any) -> NodeProto:
    inputs = ["" if name == "-" else name for name in reads.split()]
    return helper.make_node(f"Fused{kind}", inputs, ["y"], name="layer", domain="com.microsoft", **attributes)


ACTIVATIONS: dict[str, tuple[list[float], Any]] = {
    "": ([], lambda x: x),
    "Relu": ([], torch.relu),
    "Clip": ([0.1, 0.7], lambda x: x.clamp(0.1, 0.7)),
    "LeakyRelu": ([0.25], lambda x: functional.leaky_relu(x, 0.25)),
    "HardSigmoid": ([0.25, 0.5], lambda x: (x / 4 + 0.5).clamp(0, 1)),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("reads", ["x w b", "x w - z"])
def test_a_layer_has_its_sum_and_its_activation(name: str, reads: str, tmp_path: Path) -> None:
    given, function = ACTIVATIONS[name]
    attributes: dict[str, Any] = {"activation": name} if name else {}
    attributes |= {"activation_params": given} if given else {}
    constants = {"w": W, "b": B, "z": weights(1, 6, 7, 9)}
    proto = model(_fused(reads=reads, **attributes), inputs=IMAGE, constants=constants, domains=["com.microsoft"])
    (tmp_path / "t.onnx").write_bytes(proto.SerializeToString())
    x, w, b, z = (torch.from_numpy(value) for value in (weights(*IMAGE["x"]), W, B, constants["z"]))
    wanted = functional.conv2d(x, w, b) if reads.endswith("b") else functional.conv2d(x, w) + z
    torch.testing.assert_close(load_model(tmp_path / "t.onnx").module()(x)[0], function(wanted))


def test_a_product_has_its_activation(tmp_path: Path) -> None:
    layer = _fused("Gemm", activation="LeakyRelu", activation_alpha=0.5, alpha=2.0)
    constants = {"w": weights(3, 5), "b": weights(5)}
    proto = model(layer, inputs={"x": (2, 3)}, constants=constants, domains=["com.microsoft"])
    (tmp_path / "t.onnx").write_bytes(proto.SerializeToString())
    x, w, b = (torch.from_numpy(value) for value in (weights(2, 3), *constants.values()))
    wanted = functional.leaky_relu(2 * x @ w + b, 0.5)
    torch.testing.assert_close(load_model(tmp_path / "t.onnx").module()(x)[0], wanted)


REFUSED = {
    "another activation": (_fused(activation="Elu"), "FusedConv 'layer': its activation is Elu"),
    "parameters that are missing": (_fused(activation="Clip"), r"its activation Clip has the parameters \[\]"),
    "no row": (
        helper.make_node("NhwcMaxPool", ["x"], ["y"], domain="com.microsoft"),
        "arm-tosa does not read this operator, .*\\. ONNX Runtime's optimizer made it: take the file as",
    ),
    "for the CPU": (
        helper.make_node("MatMulNBits", ["x"], ["y"], domain="com.microsoft"),
        "arm-tosa does not read this operator, .*\\. It quantizes for ONNX Runtime. Take the float file",
    ),
    "random": (helper.make_node("RandomNormalLike", ["x"], ["y"]), "It draws at random. Make its numbers an input"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_others_are_refused_with_what_to_do(name: str, tmp_path: Path) -> None:
    node, why = REFUSED[name]
    proto = model(node, inputs=IMAGE, constants={"w": W, "b": B}, domains=["com.microsoft"])
    (tmp_path / "t.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(UsageError, match=why):
        load_model(tmp_path / "t.onnx")
