"""Every scheme on real data: networks trained on handwritten digits lose next to nothing by it, on every target."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.fx import GraphModule
from torchao.quantization.pt2e import move_exported_model_to_eval
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_qat_pt2e

from arm_tosa_core import (
    QuantizationConfig,
    TOSAQuantizer,
    get_symmetric_a8w4_quantization_config,
    get_symmetric_a16w8_quantization_config,
    get_symmetric_quantization_config,
    get_uint8_io_quantization_config,
    quantize_program,
)
from arm_tosa_core.lowering.exported_program import is_quantize
from quantization import digit_nets
from quantization.deploy import TARGETS, batch_of, deploy

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # PyTorch's and torchao's own
    pytest.mark.usefixtures("qat_patterns"),
]

CALIBRATION = 72  # pictures of the training set

SCHEMES: dict[str, Callable[[], QuantizationConfig]] = {
    "int8": get_symmetric_quantization_config,
    "int8, per tensor": lambda: get_symmetric_quantization_config(is_per_channel=False),
    "int16 activations": get_symmetric_a16w8_quantization_config,
    "scales at run time": lambda: get_symmetric_quantization_config(is_dynamic=True),
}

trained = functools.cache(digit_nets.trained)
digits = functools.cache(digit_nets.digits)


@functools.cache
def post_training(
    name: str, target: str, scheme: str = "int8", wide: Any = "streams", uint8: bool = False
) -> GraphModule:
    """A trained network, calibrated for a target."""
    pictures, batch = digits()[0][0], batch_of(target)
    quantizer = TOSAQuantizer(TARGETS[target](), wide=wide).set_global(SCHEMES[scheme]())
    if uint8:
        quantizer.set_io(get_uint8_io_quantization_config())
    program = torch.export.export(trained(name), (pictures[:batch],))
    return quantize_program(program, quantizer, [((x,), {}) for x in pictures[:CALIBRATION].split(batch)]).converted


@functools.cache
def trained_int8(name: str) -> GraphModule:
    """The trained network, trained further with fake quantization."""
    return _quantization_aware(name, get_symmetric_quantization_config(is_qat=True))


@functools.cache
def trained_int4(name: str) -> GraphModule:
    """The trained network, trained further with weights of 4 bits."""
    return _quantization_aware(name, get_symmetric_a8w4_quantization_config(is_qat=True))


def _quantization_aware(name: str, config: QuantizationConfig, epochs: int = 15) -> GraphModule:
    pictures, labels = digits()[0]
    quantizer = TOSAQuantizer(TARGETS["reference"]()).set_global(config)
    batch = {0: torch.export.Dim("batch")}
    model = copy.deepcopy(trained(name)).train()
    program = torch.export.export(model, (pictures[:32],), dynamic_shapes=(batch,))
    prepared = prepare_qat_pt2e(program.module(), quantizer)
    torch.manual_seed(0)
    digit_nets.train(prepared, pictures, labels, epochs)
    return move_exported_model_to_eval(convert_pt2e(prepared))


@functools.cache
def top1_in_float(name: str) -> float:
    return digit_nets.top1(trained(name), *digits()[1], digit_nets.HELD_OUT)


def lost(name: str, model: GraphModule, target: str, folder: Path) -> float:
    """Points of top-1 that a converted network loses against float, as compiled for a target."""
    (pictures, labels), batch = digits()[1], batch_of(target)
    run = deploy(model, pictures[:batch], target, folder)
    return top1_in_float(name) - digit_nets.top1(run, pictures, labels, batch)


@pytest.mark.parametrize("target", ["reference", "ethos-u55", "ethos-u85", "vgf"])
@pytest.mark.parametrize("name", digit_nets.NETS)
def test_int8(name: str, target: str, tmp_path: Path) -> None:
    model = post_training(name, target)
    stream = {torch.int16} if name == "vit" else set()
    assert {n.args[5] for n in model.graph.nodes if is_quantize(n)} == {torch.int8} | stream
    assert lost(name, model, target, tmp_path) <= 0.5


@pytest.mark.parametrize("target", ["reference", "ethos-u55", "vgf"])
@pytest.mark.parametrize("name", ["cnn", "ds_cnn"])
def test_per_tensor(name: str, target: str, tmp_path: Path) -> None:
    assert lost(name, post_training(name, target, "int8, per tensor"), target, tmp_path) <= 0.5


@pytest.mark.parametrize(
    ("name", "target"),
    [
        *((name, target) for name in digit_nets.NETS for target in ("reference", "ethos-u85")),
        *((name, "ethos-u55") for name in ("cnn", "ds_cnn")),  # for the ViT, it multiplies no matrices of 16 bits
        ("lstm", "ethos-u55"),
    ],
)
def test_int16_activations(name: str, target: str, tmp_path: Path) -> None:
    assert lost(name, post_training(name, target, "int16 activations"), target, tmp_path) <= 0.5


@pytest.mark.parametrize("target", ["reference", "ethos-u55", "vgf"])
def test_uint8_inputs_and_outputs(target: str, tmp_path: Path) -> None:
    model = post_training("cnn", target, uint8=True)
    kinds = [n.args[5] for n in model.graph.nodes if is_quantize(n)]
    assert (kinds[0], kinds[-1], set(kinds[1:-1])) == (torch.uint8, torch.uint8, {torch.int8})
    assert lost("cnn", model, target, tmp_path) <= 0.5


@pytest.mark.parametrize(
    ("wide", "target"),
    [("none", "reference"), ("none", "ethos-u55"), ("residuals", "ethos-u55"), ("all", "ethos-u85"), ("all", "vgf")],
)
def test_results_of_16_bits(wide: str, target: str, tmp_path: Path) -> None:
    """None; all sums of a transformer; the operands of sums as well. The default is that of every other test."""
    model = post_training("vit", target, wide=wide)
    kinds = {n.args[5] for n in model.graph.nodes if is_quantize(n)}
    assert kinds == ({torch.int8} if wide == "none" else {torch.int8, torch.int16})
    assert lost("vit", model, target, tmp_path) <= 0.5


@pytest.mark.parametrize("target", ["reference, float", "vgf, float"])
@pytest.mark.parametrize("name", digit_nets.NETS)
def test_scales_at_run_time(name: str, target: str, tmp_path: Path) -> None:
    assert lost(name, post_training(name, target, "scales at run time"), target, tmp_path) <= 0.5


@pytest.mark.parametrize("target", ["reference", "ethos-u55", "ethos-u85", "vgf"])
def test_int8_training(target: str, tmp_path: Path) -> None:
    model = trained_int8("ds_cnn")
    assert not any("batch_norm" in n.name for n in model.graph.nodes if n.op == "call_function")
    assert lost("ds_cnn", model, target, tmp_path) <= 0.5


@pytest.mark.parametrize(
    ("name", "target"),
    [
        *(
            (name, target)
            for name in ("ds_cnn", "vit")
            for target in ("reference", "ethos-u55", "ethos-u85", "vgf, int4")
        ),
        ("lstm", "reference"),
        ("lstm", "ethos-u55"),
    ],  # the CNN: test_documented.py
)
def test_int4_weights_after_training(name: str, target: str, tmp_path: Path) -> None:
    assert lost(name, trained_int4(name), target, tmp_path) <= 1.0
