"""What the operator cases cannot see of convolutions, matrix products, pools and resizes: the operators themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from arm_tosa_core import TOSAQuantizer, TosaSpecification, get_symmetric_quantization_config
from arm_tosa_core.exir.compile_spec import TosaCompileSpec
from arm_tosa_core.exir.tosa_targets import tosa_fp, tosa_int
from arm_tosa_core.lowering.builder import Builder
from arm_tosa_core.lowering.values import QParams, Value
from arm_tosa_core.rules.resize import upsample_nearest2d
from arm_tosa_core.support.errors import Rejected
from arm_tosa_core.testing.harness import Execution, exported
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op

SPEC = TosaCompileSpec("TOSA-1.0+INT+FP+int16")
IMAGE = (1, 4, 8, 8)
INT8 = QParams((0.5,), 3, -128, 127)
INT16 = QParams((0.5,), 0, -32767, 32767)
WEIGHT = QParams((0.25,), 0, -127, 127)


def _builder() -> Builder:
    return Builder(Graph(), TosaSpecification.create_from_string("TOSA-1.0+INT+int16"))


def _input(b: Builder, shape: tuple[int, ...], quant: QParams) -> Value:
    kind = DType.INT8 if quant.bits == 8 else DType.INT16
    return b.value(b.graph.input("x", shape, kind), torch.float32, quant=quant)


def _conv(b: Builder, x: Value, bias: float | None = None, weight: QParams = WEIGHT) -> Value:
    kernel = b.const(torch.ones((2, 3, 3, x.shape[3]), dtype=torch.int8), weight)
    added = None if bias is None else b.const(torch.tensor([bias, -bias]))
    return b.conv("CONV2D", x, kernel, added, stride=(1, 1), pad=(0, 0, 0, 0), dilation=(1, 1))


def _lowered(module: nn.Module, shape: tuple[int, ...], scheme: str = "int8") -> list[Op]:
    torch.manual_seed(0)
    target = tosa_fp() if scheme == "fp32" else tosa_int()
    run = Execution(exported(module.eval(), (torch.randn(shape),), SPEC, scheme), target)
    (region,) = run.regions
    return region.graph.ops


def _names(ops: list[Op]) -> list[str]:
    return [op.name for op in ops]


@pytest.mark.parametrize(
    ("range_", "least", "dtype"),
    [((-8, 7), -7, DType.INT4), ((-8, 7), -8, DType.INT8), ((-7, 7), -7, DType.INT4), ((-128, 127), -7, DType.INT8)],
)
def test_weights_of_4_bits_have_4_bits_unless_one_is_8_below_zero(
    range_: tuple[int, int], least: int, dtype: DType
) -> None:
    b = Builder(Graph(), TosaSpecification.create_from_string("TOSA-1.0+INT+int4"))
    weights = torch.full((2, 1, 1, 4), least, dtype=torch.int8)
    kernel = b.const(weights, QParams((0.25,), 0, *range_))
    image = _input(b, (1, 5, 5, 4), INT8)
    b.conv("CONV2D", image, kernel, None, stride=(1, 1), pad=(0, 0, 0, 0), dilation=(1, 1))
    (op,) = (op for op in b.graph.ops if op.name == "CONV2D")
    assert op.inputs[1].dtype is op.inputs[4].dtype is dtype


class _Between(nn.Module):
    """Something between two convolutions, which want their images NHWC."""

    def __init__(self, channels: int, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(4, 16, 1), nn.Conv2d(channels, 4, 1)
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.last(self.function(self.first(x)))
        return y


@pytest.mark.parametrize(
    ("channels", "function"),
    [
        (16, lambda x: x.view(1, 2, 8, 8, 8).transpose(1, 2).reshape(1, 16, 8, 8)),
        (16, lambda x: F.channel_shuffle(x, 4)),
        (4, lambda x: F.pixel_shuffle(x, 2)),
        (64, lambda x: F.pixel_unshuffle(x, 2)),
    ],
    ids=["shuffle", "channel_shuffle", "pixel_shuffle", "pixel_unshuffle"],
)
def test_merged_axes_stay_where_the_largest_lies(
    channels: int, function: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    """One TRANSPOSE, beside those of the input and the output: none to NCHW and back."""
    assert _names(_lowered(_Between(channels, function), IMAGE)).count("TRANSPOSE") == 3


class _Of(nn.Module):
    """A function, perhaps of one layer."""

    def __init__(self, function: Callable[..., torch.Tensor], layer: Callable[[], nn.Module] = nn.Identity) -> None:
        super().__init__()
        self.function, self.layer = function, layer()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x, self.layer)


@pytest.mark.parametrize(
    ("module", "shape", "transposes"),
    [
        (nn.Conv2d(4, 4, 3, groups=2), IMAGE, 2),
        (nn.ConvTranspose2d(4, 4, 3, groups=2), IMAGE, 2),
        (nn.MaxPool2d(3, 1, 1, dilation=2), IMAGE, 2),
        (nn.MaxPool2d(1), IMAGE, 0),
        (nn.AvgPool2d(1), IMAGE, 0),
        (_Of(lambda x, f: f(x.transpose(0, 1)).transpose(0, 1).contiguous(), lambda: nn.Linear(8, 3)), (2, 5, 8), 0),
        (_Of(lambda x, f: x.permute(1, 0, 2).reshape(20, 6).t()), (4, 5, 6), 1),
        (_Of(lambda x, f: x.index_select(1, torch.tensor([3, 0])).relu()), (2, 4, 3), 0),
        (
            _Of(lambda x, f: F.max_pool1d(f(x), 2) + F.max_pool1d(x, 2), lambda: nn.Conv1d(8, 8, 3, padding=1)),
            (2, 8, 16),
            2,
        ),
    ],
    ids=["groups", "transposed groups", "dilated", "point", "mean of a point", "rows", "twice", "picked", "two uses"],
)
def test_no_more_is_transposed_than_needs_be(module: nn.Module, shape: tuple[int, ...], transposes: int) -> None:
    module = nn.Sequential(nn.Threshold(0.0, 0.0), module)
    assert _names(_lowered(module, shape, "fp32")).count("TRANSPOSE") == transposes


def test_what_was_transposed_is_not_transposed_again() -> None:
    """An operator takes the order that costs no further TRANSPOSE, and moves narrow integers rather than wide ones."""
    b = _builder()
    x = b.value(b.graph.input("x", (1, 8, 4), DType.INT8), torch.float32, (0, 2, 1), INT8)
    b.tensor(x)
    y = b.SUB(x, _input(b, (1, 4, 1), INT8))
    assert y.perm is None
    (move,) = [op for op in b.graph.ops if op.name == "TRANSPOSE"]
    assert move.output.dtype is DType.INT8


def test_operands_of_one_scale_are_added_as_they_are() -> None:
    """As integers, so that an NPU adds what is narrow; of different scales with as many more bits as fit."""
    b = _builder()
    x, y = (_input(b, IMAGE, INT8) for _ in range(2))
    same, other = b.ADD(x, y), b.ADD(x, _input(b, IMAGE, QParams((0.25,), 0, -128, 127)))
    assert same.quant is not None and other.quant is not None
    assert (same.quant.scalar, same.quant.qmin, same.quant.qmax) == (0.5, -262, 248)
    assert other.quant.scalar == 0.5 / 2**19


@pytest.mark.parametrize(
    ("quant", "accumulator", "largest"),
    [(INT8, DType.INT32, 2**30), (INT16, DType.INT48, 2**38)],  # biases of Ethos-U have 40 bits
)
def test_accumulator_and_bias(quant: QParams, accumulator: DType, largest: int) -> None:
    b = _builder()
    y = _conv(b, _input(b, (1, 5, 5, 4), quant), 10.0)
    assert y.quant is not None and y.tensor is not None
    assert y.quant.scalar == 0.125
    assert y.tensor.dtype == accumulator
    bias = b.graph.ops[-1].inputs[2]
    assert bias.dtype == accumulator
    assert bias.data is not None and bias.data.tolist() == [80, -80]
    y = _conv(b, _input(b, (1, 5, 5, 4), quant), 1e30)  # weights give way to it
    bias = b.graph.ops[-1].inputs[2]
    assert bias.data is not None and bias.data.tolist() == [largest, -largest]
    assert y.quant is not None and y.quant.scalar == pytest.approx(1e30 / largest)


def test_range_of_an_accumulator_counts_zero_points_and_bias() -> None:
    b = _builder()
    y = _conv(b, _input(b, (1, 5, 5, 4), INT8), 10.0)
    assert y.quant is not None
    assert y.quant.qmax == 3 * 3 * 4 * (128 + 3) + 80  # weights of 1


@pytest.mark.parametrize(("bias", "dropped"), [(None, 0), (2.0**35, 8)])
def test_wide_accumulators_are_narrowed_to_be_moved(bias: float | None, dropped: int) -> None:
    """TOSA has no RESHAPE of INT48. Bits are dropped only where the range needs more than 32."""
    b = _builder()
    y = _conv(b, _input(b, (1, 5, 5, 4), INT16), bias)
    assert y.quant is not None
    moved = b.RESHAPE(y, [9, 2])
    assert moved.tensor is not None and moved.quant is not None
    assert moved.tensor.dtype == DType.INT32
    assert moved.quant.scalar == y.quant.scalar * 2**dropped
    assert _names(b.graph.ops) == ["CONV2D", "RESCALE", "RESHAPE"]


def test_weights_of_16_bits_are_refused() -> None:
    b = _builder()
    with pytest.raises(Rejected, match="weights of 16 bits"):
        _conv(b, _input(b, (1, 5, 5, 4), INT16), weight=INT16)


@pytest.mark.parametrize(("groups", "name"), [(1, "CONV2D"), (4, "DEPTHWISE_CONV2D")])
@pytest.mark.parametrize("scheme", ["fp32", "int8"])
def test_weights_may_be_computed(scheme: str, groups: int, name: str) -> None:
    class Convolution(nn.Module):
        def forward(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
            return F.conv2d(x, weight, groups=groups)

    torch.manual_seed(0)
    inputs = (torch.randn(IMAGE), torch.randn(8, 4 // groups, 3, 3))
    target = tosa_fp() if scheme == "fp32" else tosa_int()
    run = Execution(exported(Convolution(), inputs, SPEC, scheme), target)
    (region,) = run.regions
    assert name in _names(region.graph.ops)
    for ours, eager in run.edges(inputs):
        assert (ours.float() - eager.float()).abs().max() <= (1e-4 if scheme == "fp32" else 1)


class _Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv2d(4, 4, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(self.layer(x).tanh())  # type: ignore[no-any-return]


@pytest.mark.parametrize("scheme", ["fp32", "int8", "int16"])
def test_a_weight_of_two_layers_is_one_constant(scheme: str) -> None:
    first, second = (op for op in _lowered(_Twice(), IMAGE, scheme) if op.name == "CONV2D")
    assert first.inputs[1] is second.inputs[1]


@pytest.mark.parametrize("activation", [nn.ReLU, nn.ReLU6, nn.Hardtanh, lambda: _Clamp(-0.3, 0.4)])
@pytest.mark.parametrize(
    "layer", [lambda: nn.Conv2d(4, 4, 3), lambda: nn.Conv2d(4, 4, 3, groups=4), lambda: nn.ConvTranspose2d(4, 4, 3)]
)
def test_bounds_are_those_of_the_rescale(layer: Callable[[], nn.Module], activation: Callable[[], nn.Module]) -> None:
    """The result's scale is observed after the clamp, so int8 saturates where the clamp would."""
    names = _names(_lowered(nn.Sequential(layer(), activation()), IMAGE))
    assert "CLAMP" not in names
    assert names.count("RESCALE") == 1


class _Clamp(nn.Module):
    def __init__(self, low: float, high: float) -> None:
        super().__init__()
        self.bounds = low, high

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.clamp(*self.bounds)


def test_a_clamp_within_the_range_stays() -> None:
    """int16 is symmetric: zero is no end of its range."""
    assert "CLAMP" in _names(_lowered(nn.Sequential(nn.Conv2d(4, 4, 3), nn.ReLU()), IMAGE, "int16"))


@pytest.mark.parametrize(
    ("layer", "channels"),
    [
        (lambda: nn.Conv2d(4, 6, 3), 6),
        (lambda: nn.Conv2d(4, 8, 3, groups=4), 8),
        (lambda: nn.ConvTranspose2d(4, 6, 3), 6),
        (lambda: nn.ConvTranspose2d(4, 6, 3, groups=2), 3),
    ],
)
@pytest.mark.parametrize("per_channel", [True, False])
def test_scales_per_channel_and_per_tensor(layer: Callable[[], nn.Module], channels: int, per_channel: bool) -> None:
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    torch.manual_seed(0)
    module, x = layer().eval(), torch.randn(IMAGE)
    quantizer = TOSAQuantizer(SPEC).set_global(get_symmetric_quantization_config(is_per_channel=per_channel))
    prepared = prepare_pt2e(torch.export.export(module, (x,)).module(), quantizer)
    prepared(x)
    program = torch.export.export(convert_pt2e(prepared), (x,))
    run = Execution(program, tosa_int())
    (region,) = run.regions
    convolutions = [op for op in region.graph.ops if "CONV2D" in op.name]
    rescales = [op.output.uses[0] for op in convolutions]
    assert all(op.name == "RESCALE" and op.attrs["per_channel"] == per_channel for op in rescales)
    assert {op.inputs[1].size for op in rescales} == {channels if per_channel else 1}
    for ours, eager in run.edges((x,)):
        assert (ours.int() - eager.int()).abs().max() <= 1


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        (nn.Conv2d(4, 4, 3, padding="same"), "PAD"),
        (nn.Conv2d(4, 4, 4, padding="same", dilation=3), "PAD"),
        (nn.AvgPool2d(3, 1, padding=1, count_include_pad=False), "PAD"),
        (nn.Conv2d(4, 4, 3, stride=2, padding=1), "SLICE"),
        (nn.Conv2d(4, 4, 3, stride=2, padding=1), "PAD"),
    ],
)
def test_padding_is_the_operators_own(module: nn.Module, absent: str) -> None:
    assert absent not in _names(_lowered(module, IMAGE))


@pytest.mark.parametrize("module", [nn.Conv2d(4, 4, 3, stride=2), nn.MaxPool2d(3, 2), nn.AvgPool2d(3, 2)])
def test_the_layout_of_windows_comes_before_their_part(module: nn.Module) -> None:
    assert _names(_lowered(module, IMAGE))[:2] == ["TRANSPOSE", "SLICE"]


@pytest.mark.parametrize("factor", [2, 3, 4])
def test_nearest_by_whole_factors_is_what_vela_takes(factor: int) -> None:
    b = _builder()
    x = _input(b, (1, 3, 5, 6), INT8)
    y = upsample_nearest2d(b, x, [5 * factor, 6 * factor])
    assert y.shape == (1, 3, 5 * factor, 6 * factor)
    op = b.graph.ops[-1]
    scale, offset, border = (t.data for t in op.inputs[1:])
    np.testing.assert_array_equal(scale, [2 * factor, 2, 2 * factor, 2])
    np.testing.assert_array_equal(offset, [1 - factor] * 2)
    np.testing.assert_array_equal(border, [factor - 1] * 2)
    assert op.output.dtype == DType.INT8


@pytest.mark.parametrize(("mode", "names"), [("nearest", ["RESIZE"]), ("bilinear", ["RESIZE", "RESCALE"])])
def test_resize_returns_to_the_scale_of_its_input(mode: str, names: list[str]) -> None:
    class Resize(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return F.interpolate(x, scale_factor=2, mode=mode)

    assert [op for op in _names(_lowered(Resize(), IMAGE)) if op != "TRANSPOSE"] == names
