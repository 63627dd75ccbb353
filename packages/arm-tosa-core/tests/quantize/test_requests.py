"""What the quantizer is asked for: bad schemes, names and data are refused with the reason."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest
import torch
from executorch.exir import to_edge_transform_and_lower
from quantizer_kit import (
    IMAGE,
    INT8,
    INT16,
    MIXED,
    SPEC,
    Branches,
    assert_matches,
    data,
    quantize_nodes,
    quantized,
    quantizer,
)
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import prepare_pt2e

from arm_tosa_core import (
    QuantizationConfig,
    TosaCompileSpec,
    TOSAPartitioner,
    TOSAQuantizer,
    get_symmetric_a16w8_quantization_config,
    get_symmetric_quantization_config,
    get_uint8_io_quantization_config,
    quantize_program,
)
from arm_tosa_core.quantize import post_training
from arm_tosa_core.quantize.decisions import CORRECTED
from arm_tosa_core.support.errors import LoweringError, UsageError

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations


_TEXT: Any = "TOSA-1.0+INT"  # where an object belongs


class Counted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.full((1,), 3.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls.add_(1)
        return x * self.calls


COUNTED = torch.export.export(Counted(), (torch.ones(4),))


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: quantizer(config=get_symmetric_quantization_config(is_dynamic=True)), "has integers only"),
        (lambda: quantizer(MIXED).set_io(get_symmetric_quantization_config(is_dynamic=True)), "set_io"),
        (lambda: get_symmetric_quantization_config(is_dynamic=True, is_qat=True), "is_qat=False"),
        (lambda: quantizer(config=get_uint8_io_quantization_config()), "set_io"),
        (lambda: get_symmetric_a16w8_quantization_config(is_dynamic=True), "is_dynamic=False"),
        (lambda: get_symmetric_quantization_config(act_qmin=-300), "act_qmin=-300"),
        (lambda: get_symmetric_quantization_config(eps=0.0), "eps is the smallest scale"),
        (lambda: get_symmetric_a16w8_quantization_config(epsilon=-1.0), "epsilon is the smallest scale"),
        (lambda: get_uint8_io_quantization_config(is_dynamic=True), "static scales"),
        (lambda: get_symmetric_quantization_config(weight_qmin=5, weight_qmax=5), "weight_qmin=5"),
        (lambda: quantizer(config=QuantizationConfig(None, None, INT8.weight)), "weights only"),
        (lambda: quantize_program(COUNTED, _TEXT, []), "takes a quantizer with a scheme, not 'TOSA-1.0.INT'"),
        (lambda: quantize_program(COUNTED, [(torch.ones(9, 9),)] * 9, quantizer()), ", ...]: for a target by its name"),
        (lambda: quantizer(TosaCompileSpec("TOSA-1.0+INT"), INT16), "extension int16"),
        (lambda: quantizer().set_io(_TEXT), "expected a QuantizationConfig or None, got str"),
        (lambda: TOSAQuantizer(TosaCompileSpec("TOSA-1.0+FP")), "INT profile"),
        (lambda: TOSAQuantizer(_TEXT), "got str"),
    ],
    ids=[
        "dynamic",
        "dynamic io",
        "dynamic training",
        "uint8 inside",
        "dynamic int16",
        "range",
        "eps",
        "epsilon",
        "dynamic uint8",
        "empty",
        "weights only",
        "a name for a quantizer",
        "samples for a quantizer",
        "no int16",
        "no config",
        "no INT",
        "no spec",
    ],
)
def test_bad_requests(make: Callable[[], Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason.replace("+", r"\+")):
        make()


@pytest.mark.parametrize(
    ("configure", "reason"),
    [
        (lambda q: q.set_module_name("con1", None), r"'con1', but no operator is in a module.*did you mean conv1"),
        (lambda q: q.set_node_name("conv2dd", None), r"'conv2dd', but no operator is a node.*did you mean conv2d"),
        (lambda q: q.set_module_name("qqq", None), "those of the exported program"),
    ],
)
def test_names_that_the_model_has_not(configure: Callable[[TOSAQuantizer], Any], reason: str) -> None:
    model = nn.Sequential(OrderedDict(conv1=nn.Conv2d(3, 3, 1), conv2=nn.Conv2d(3, 3, 1)))
    program = torch.export.export(model.eval(), tuple(data(IMAGE)))
    made = quantizer()
    configure(made)
    with pytest.raises(UsageError, match=reason):
        quantize_program(program, made, data(IMAGE))


def test_a_quantizer_that_was_told_nothing() -> None:
    program = torch.export.export(nn.Conv2d(3, 3, 1).eval(), tuple(data(IMAGE)))
    with pytest.raises(UsageError, match="the quantizer has no scheme.*: call quantizer.set_global"):
        quantize_program(program, TOSAQuantizer(SPEC), data(IMAGE))


def test_a_chain_beyond_pythons_recursion_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with 2,500 layers that share one scale, which torchao's own recursion does not bear."""

    def recursive(*_: Any) -> None:
        recursive()

    monkeypatch.setattr(post_training, "prepare_pt2e", recursive)
    program = torch.export.export(nn.ReLU(), (torch.ones(4),))
    with pytest.raises(UsageError, match="longer chain of them than Python allows"):
        quantize_program(program, quantizer(), [torch.ones(4)])


def test_layers_in_float_keep_their_biases() -> None:
    x = torch.rand(1, 3)
    program = torch.export.export(nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2)).eval(), (x,))
    made = quantize_program(program, quantizer().set_module_name("0", None), [x])
    assert [row.node for row in made.report if row.kind == CORRECTED] == ["linear_1"]


def test_samples_as_a_data_loader_gives_them() -> None:
    program = torch.export.export(nn.Conv2d(3, 3, 1).eval(), tuple(data(IMAGE)))
    (x,) = data(IMAGE)
    forms: list[Any] = [[x], [(x,)], [[x]], [((x,), {})], [((), {"input": x})]]
    results = [quantize_program(program, quantizer(), samples).converted(x) for samples in forms]
    assert all(torch.equal(result, results[0]) for result in results)
    bad: Any = ["x"]
    with pytest.raises(UsageError, match="sample 0 is of type str: give a tensor"):
        quantize_program(program, quantizer(), bad)


def test_nan_in_calibration_data() -> None:
    x = data(IMAGE)[0]
    with pytest.raises(UsageError, match=r"15 of the 60 numbers of a tensor of shape \[1, 3, 4, 5\] are NaN"):
        quantized(Branches(), [x], calibration=[x.index_fill(2, torch.tensor(1), float("nan"))])
    program = torch.export.export(Branches().eval(), (x,))
    with pytest.raises(UsageError, match="15 of the 60 numbers") as caught:
        quantize_program(program, quantizer(), [x.index_fill(2, torch.tensor(1), float("nan"))])
    said = str(caught.value)
    assert "They are in " in said and "the model's own" not in said and "While executing" not in said


INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ({"0.weight": [INF, -INF]}, "2 of the 81 numbers of 0.weight of the model"),
        ({"0.weight": [NAN], "0.bias": [INF]}, "1 of the 81 numbers of 0.weight, 1 of the 3 numbers of 0.bias of"),
        ({"1.running_mean": [-INF]}, "1 of the 3 numbers of 1.running_mean of"),
        ({"1.running_var": [INF]}, "1 of the 3 numbers of 1.running_var of"),
        (
            {"0.weight": [NAN], "0.bias": [NAN], "1.weight": [NAN], "1.bias": [NAN], "1.running_mean": [NAN]},
            "1 of the 3 numbers of 1.weight and 2 more weights of the model",
        ),
    ],
)
def test_weights_that_no_scale_fits_are_named_before_calibration(numbers: dict[str, list[float]], said: str) -> None:
    x = data(IMAGE)[0]
    model = nn.Sequential(nn.Conv2d(3, 3, 3), nn.BatchNorm2d(3), nn.ReLU()).eval()
    for name, bad in numbers.items():
        model.state_dict()[name].view(-1)[: len(bad)] = torch.tensor(bad)
    program = torch.export.export(model, (x,))
    with pytest.raises(UsageError, match=f"inf or NaN are in .*{said}.*: train or load it again"):
        quantize_program(program, quantizer(), [x], progress=lambda done: pytest.fail("it was calibrated"))


def test_weights_are_looked_at_in_prepare_pt2e_too() -> None:
    layer = nn.Linear(2, 2)
    layer.weight.data[0] = INF
    with pytest.raises(UsageError, match="inf or NaN are in 2 of the 4 numbers of weight of the model"):
        prepare_pt2e(torch.export.export(layer.eval(), (torch.ones(1, 2),)).module(), quantizer())


class Masked(nn.Module):
    """Adds a mask, and has a weight that nothing reads."""

    def __init__(self, mask: torch.Tensor, *, trained: bool) -> None:
        super().__init__()
        self.mask: torch.Tensor
        if trained:
            self.mask = nn.Parameter(mask, requires_grad=False)
        else:
            self.register_buffer("mask", mask)
        self.unread = nn.Parameter(torch.full((2,), NAN))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x + self.mask, -1)


@pytest.mark.parametrize(
    ("mask", "trained"),
    [([0.0, -INF], True), ([0.0, -INF], False), ([-0.5, -INF], False), ([-0.5, -INF], True), ([-0.5, -1.0], True)],
)
def test_masks_may_be_infinite(mask: list[float], trained: bool) -> None:
    x = torch.rand(3, 2)
    program = torch.export.export(Masked(torch.tensor(mask), trained=trained).eval(), (x,))
    quantize_program(program, quantizer(), [x])


def test_buffers_of_nan_that_are_not_saved_are_named() -> None:
    model = nn.ReLU()
    model.register_buffer("table", torch.full((3,), NAN), persistent=False)
    model.forward = lambda x: torch.relu(x + model.table)  # type: ignore[method-assign]
    with pytest.raises(UsageError, match=r"They are in table\. NaN are in the model's own table$"):
        quantize_program(torch.export.export(model.eval(), (torch.ones(3),)), quantizer(), [torch.ones(3)])


@pytest.mark.parametrize("scale", [float("nan"), float("inf"), 0.0, -1.0])
def test_bad_scale_is_named(scale: float) -> None:
    model = quantized(Branches(), data(IMAGE))
    node = next(n for n in quantize_nodes(model) if n.args[0].name == "cat")
    node.args = (node.args[0], scale, *node.args[2:])
    program = torch.export.export(model, tuple(data(IMAGE)))
    with pytest.raises(LoweringError, match=f"which quantizes cat, has the scale {scale}"):
        to_edge_transform_and_lower(program, partitioner=[TOSAPartitioner(SPEC)])


@pytest.mark.parametrize("number", [0.0, 3.0, 1e-30])
@pytest.mark.parametrize("config", [INT8, INT16], ids=["int8", "int16"])
def test_constant_calibration_data(number: float, config: QuantizationConfig) -> None:
    model = quantized(Branches(), data(IMAGE), quantizer(config=config), [torch.full(IMAGE, number)])
    assert_matches(model, [torch.full(IMAGE, number)])
    assert_matches(model, data(IMAGE))


@pytest.mark.parametrize(
    "config",
    [get_symmetric_quantization_config(eps=0.5), get_symmetric_a16w8_quantization_config(epsilon=0.5)],
    ids=["int8", "int16"],
)
def test_no_scale_is_smaller_than_eps(config: QuantizationConfig) -> None:
    assert config.input_activation is not None
    observer = config.input_activation.observer_or_fake_quant_ctr()
    observer(torch.tensor([-1.0, 1.0]))
    scale, _ = observer.calculate_qparams()
    assert scale == 0.5


def test_buffers_are_left_where_calibration_fails() -> None:
    with pytest.raises(ZeroDivisionError):
        quantize_program(COUNTED, quantizer(), [torch.ones(4)], progress=lambda done: 1 // 0)
    assert COUNTED.state_dict["calls"].item() == 3
