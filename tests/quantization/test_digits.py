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
from arm_tosa_core.program import is_quantize
from quantization import digit_nets
from quantization.deploy import TARGETS, deploy

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own

Change = Callable[[TOSAQuantizer], Any]

trained = functools.cache(digit_nets.trained)
digits = functools.cache(digit_nets.digits)

INT8 = get_symmetric_quantization_config()


def post_training(name: str, target: str, config: QuantizationConfig, change: Change = lambda q: None) -> GraphModule:
    """Calibrated with 64 pictures of the training set."""
    pictures = digits()[0][0]
    quantizer = TOSAQuantizer(TARGETS[target]()).set_global(config)
    change(quantizer)
    program = torch.export.export(trained(name), (pictures[:1],))
    return quantize_program(program, quantizer, [((picture,), {}) for picture in pictures[:64].split(1)]).converted


@functools.cache
def quantization_aware(name: str, config: QuantizationConfig, epochs: int) -> GraphModule:
    """The trained network, trained further with fake quantization."""
    pictures, labels = digits()[0]
    quantizer = TOSAQuantizer(TARGETS["reference"]()).set_global(config)
    batch = {0: torch.export.Dim("batch")}
    model = copy.deepcopy(trained(name)).train()
    program = torch.export.export(model, (pictures[:32],), dynamic_shapes=(batch,))
    prepared = prepare_qat_pt2e(program.module(), quantizer)
    digit_nets.train(prepared, pictures, labels, epochs, 1e-3)
    return move_exported_model_to_eval(convert_pt2e(prepared))


def lost(name: str, model: GraphModule, target: str, folder: Path, judged: int = digit_nets.HELD_OUT) -> float:
    """Points of top-1 that a converted network loses against float, as compiled for a target."""
    pictures, labels = (data[:judged] for data in digits()[1])
    run = deploy(model, pictures[:1], target, folder)
    return digit_nets.top1(trained(name), pictures, labels) - digit_nets.top1(run, pictures, labels)


@pytest.mark.parametrize("target", ["reference", "ethos-u55", "ethos-u85", "vgf"])
@pytest.mark.parametrize("name", digit_nets.NETS)
def test_int8(name: str, target: str, tmp_path: Path) -> None:
    assert lost(name, post_training(name, target, INT8), target, tmp_path) <= 0.5


@pytest.mark.parametrize("target", ["reference", "ethos-u55", "vgf"])
@pytest.mark.parametrize("name", ["cnn", "ds_cnn"])
def test_per_tensor(name: str, target: str, tmp_path: Path) -> None:
    config = get_symmetric_quantization_config(is_per_channel=False)
    assert lost(name, post_training(name, target, config), target, tmp_path) <= 0.5


@pytest.mark.parametrize(
    ("name", "target"),
    [
        *((name, target) for name in digit_nets.NETS for target in ("reference", "ethos-u85")),
        *((name, "ethos-u55") for name in digit_nets.NETS if name != "vit"),  # it multiplies no matrices of 16 bits
    ],
)
def test_int16_activations(name: str, target: str, tmp_path: Path) -> None:
    model = post_training(name, target, get_symmetric_a16w8_quantization_config())
    assert lost(name, model, target, tmp_path) <= 0.5


@pytest.mark.parametrize("target", ["reference", "ethos-u55", "vgf"])
def test_uint8_inputs_and_outputs(target: str, tmp_path: Path) -> None:
    model = post_training("cnn", target, INT8, lambda q: q.set_io(get_uint8_io_quantization_config()))
    kinds = [n.args[5] for n in model.graph.nodes if is_quantize(n)]
    assert (kinds[0], kinds[-1], set(kinds[1:-1])) == (torch.uint8, torch.uint8, {torch.int8})
    assert lost("cnn", model, target, tmp_path) <= 0.5


@pytest.mark.parametrize("wide", ["none", "all"])
@pytest.mark.parametrize("target", ["reference", "ethos-u55", "ethos-u85", "vgf"])
def test_results_of_16_bits(wide: str, target: str, tmp_path: Path) -> None:
    """The residual stream of a transformer, the sums in front of a network's additions."""
    quantizer = functools.partial(TOSAQuantizer, TARGETS[target](), wide=wide)
    pictures = digits()[0][0]
    program = torch.export.export(trained("vit"), (pictures[:1],))
    samples = [((picture,), {}) for picture in pictures[:64].split(1)]
    model = quantize_program(program, quantizer().set_global(INT8), samples).converted
    kinds = {n.args[5] for n in model.graph.nodes if is_quantize(n)}
    assert kinds == ({torch.int8} if wide == "none" else {torch.int8, torch.int16})
    assert lost("vit", model, target, tmp_path) <= 0.5


@pytest.mark.parametrize("target", ["reference, float", "vgf, float"])
@pytest.mark.parametrize("name", ["cnn", "ds_cnn", "vit"])  # torchao 0.18 fails on the LSTM: PortNodeMetaForQDQ
def test_scales_at_run_time(name: str, target: str, tmp_path: Path) -> None:
    model = post_training(name, target, get_symmetric_quantization_config(is_dynamic=True))
    assert lost(name, model, target, tmp_path) <= 0.5


@pytest.mark.parametrize("name", ["cnn", "ds_cnn"])
def test_int8_training(name: str, tmp_path: Path) -> None:
    model = quantization_aware(name, get_symmetric_quantization_config(is_qat=True), 2)
    assert not any("batch_norm" in n.name for n in model.graph.nodes if n.op == "call_function")
    assert lost(name, model, "reference", tmp_path) <= 0.5


@pytest.mark.parametrize("target", ["reference", "ethos-u55", "ethos-u85", "vgf, int4"])
@pytest.mark.parametrize("name", digit_nets.NETS)
def test_int4_weights_after_training(name: str, target: str, tmp_path: Path) -> None:
    model = quantization_aware(name, get_symmetric_a8w4_quantization_config(is_qat=True), 5)
    assert lost(name, model, target, tmp_path) <= 1.0
