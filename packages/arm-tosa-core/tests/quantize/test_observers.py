"""What the quantizer does for accuracy: ranges."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from quantizer_kit import (
    INT8,
    INT16,
    assert_matches,
    data,
    kinds,
    named,
    parameters,
    quantized,
    quantizer,
)
from torch import nn

from arm_tosa_core import QuantizationConfig, TosaCompileSpec, TOSAQuantizer, get_symmetric_quantization_config
from arm_tosa_core.quantize.schemes.observers import MaskedHistogramObserver

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations


@pytest.mark.parametrize("qat", [False, True])
def test_norms_that_change_nothing_are_no_operators(qat: bool) -> None:
    """Unless training will change them."""
    by = TOSAQuantizer(TosaCompileSpec("TOSA-1.0+INT")).set_global(get_symmetric_quantization_config(is_qat=qat))
    model = by.transform_for_annotation(torch.export.export(nn.LayerNorm(8), tuple(data((1, 6, 8)))).module())
    names = [n.name for n in model.graph.nodes if n.op == "call_function"]
    assert sum(n.startswith(("mul", "add")) for n in names) == (5 if qat else 3)  # square, eps, scale; weight, bias


def test_a_sum_that_a_layer_reads_has_8_bits() -> None:
    model = quantized(lambda x, y: torch.relu(x + y) @ y.T + x.sum(), data((4, 4), (4, 4)))
    assert set(kinds(model, "relu")) == {torch.int8}


def test_an_average_of_windows_shares_its_scale() -> None:
    model = quantized(nn.Sequential(nn.ReLU(), nn.AvgPool2d(2)), data((1, 3, 6, 4)))
    assert parameters(named(model, "relu")[0]) == parameters(named(model, "avg_pool2d")[0])


@pytest.mark.parametrize("qscheme", [torch.per_tensor_affine, torch.per_tensor_symmetric])
@pytest.mark.parametrize("kind", ["normal", "relu", "outlier", "positive", "constant"])
def test_ranges_have_the_least_error(kind: str, qscheme: torch.qscheme) -> None:
    """No range among a grid has an error that is less by a percent or more."""
    g = torch.Generator().manual_seed(0)
    x = torch.randn(200_000, generator=g)
    x = {
        "normal": x,
        "relu": x.relu(),
        "outlier": torch.cat([x, torch.tensor([60.0])]),
        "positive": x.exp(),
        "constant": torch.full((200_000,), 3.0),
    }[kind]
    observer = MaskedHistogramObserver(dtype=torch.int8, quant_min=-128, quant_max=127, qscheme=qscheme, eps=2**-16)
    observer(x)

    def error(scale: float, zero: int) -> float:
        return float((torch.fake_quantize_per_tensor_affine(x, scale, zero, -128, 127) - x).square().mean())

    scale, zero = (v.item() for v in observer.calculate_qparams())
    ours = error(scale, int(zero))
    if kind == "constant":
        assert ours < 0.02**2
        return
    best = min(error(scale * factor, int(zero)) for factor in torch.linspace(0.5, 2.0, 61).tolist())
    assert ours <= best * 1.05  # it is widened by a percent, for what was not seen


@pytest.mark.parametrize(
    ("module", "number", "expected"),
    [(nn.Hardtanh(), 2.5, 1.0), (nn.Hardtanh(), -2.5, -1.0), (nn.ReLU6(), 0.0, 0.0), (nn.ReLU6(), 1.0, 1.0)],
)
def test_one_number_stays_what_it_is(module: nn.Module, number: float, expected: float) -> None:
    x = (torch.full((3, 4), number),)
    made = quantized(module, x)
    assert torch.equal(made(*x), torch.full((3, 4), expected))


@pytest.mark.parametrize("module", [nn.Hardtanh(), nn.ReLU6(), nn.Identity()])
@pytest.mark.parametrize("number", [2.5, -2.5, 0.0, 0.75])
def test_one_number_seen_once_leaves_room(module: nn.Module, number: float) -> None:
    """Results of one element, one sample: the next will be another, or larger."""
    made = quantized(nn.Sequential(module, nn.Sigmoid()), (torch.full((1,), number),))
    for factor in (1.0, 1.3):
        x = torch.full((1,), factor * number)
        assert torch.allclose(made(x), module(x).sigmoid(), atol=0.02)


class Sum(nn.Module):
    """The first program of many."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


@pytest.mark.parametrize("config", [INT8, INT16], ids=["int8", "int16"])
@pytest.mark.parametrize("number", [1.0, -1.0, 3.7, 1e-3, 250.0])
def test_one_number_seen_once_is_exact(number: float, config: QuantizationConfig) -> None:
    x, y = torch.full((1, 1, 1, 1), number), torch.full((1, 1, 1, 1), number)
    made = quantized(Sum(), (x, y), quantizer(config=config))
    torch.testing.assert_close(made(x, y), x + y, rtol=1e-6, atol=0.0)
    torch.testing.assert_close(made(2 * x, y), 3 * x, rtol=0.02, atol=0.0)  # and there is room


class Faint(nn.Module):
    """A layer that reads small numbers, which are far less than its bias, or as large as it.

    Args:
        size: of these numbers.
        weights: what its weights are multiplied by.
    """

    def __init__(self, bias: float, size: float = 1e-6, weights: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.layer = nn.Conv2d(3, 4, 1)
        self.layer.weight.data *= weights
        nn.init.constant_(self.layer.bias, bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x * self.size)


@pytest.mark.parametrize("shape", [(1, 256, 16), (1, 16, 16, 16)], ids=["tokens", "picture"])
def test_what_is_alike_counts_once(shape: tuple[int, ...]) -> None:
    """256 positions that hardly differ say no more of the range than one of them does."""
    generator = torch.Generator().manual_seed(0)
    position = torch.randn([1, *[1] * (len(shape) - 2), 16], generator=generator)
    noise = torch.randn(shape, generator=generator)

    def reach(*samples: torch.Tensor) -> float:
        """The largest real that is represented, in parts of the largest that was seen."""
        observer = MaskedHistogramObserver(dtype=torch.int8, qscheme=torch.per_tensor_symmetric)
        for x in samples:
            observer(x)
        return float(observer.calculate_qparams()[0]) * 127 / max(float(x.abs().max()) for x in samples if x.numel())

    assert reach(noise) < 1.07
    assert 1.9 < reach(position + 1e-3 * noise) <= 2.01
    assert reach(torch.stack([noise[0]] * 64)) == pytest.approx(reach(noise), rel=0.05)
    assert reach(position.expand(shape)) == pytest.approx(reach(position), rel=0.05)
    tokens = position + 1e-3 * noise
    assert reach(tokens, tokens[:, :0]) == reach(tokens)
    assert reach(tokens, tokens.flatten()) > 1.9  # a view that shares the observer is no other sample
    assert reach(tokens, 0.999 * tokens, 1.001 * tokens) < 1.05  # samples that say how little they differ
    assert 1.6 < reach(tokens, 0.5 * tokens) <= 2.01
    assert 1.2 < reach(*[factor * tokens for factor in (0.6, 0.5, 1.0, 0.8, 0.7)]) < 1.3


@pytest.mark.parametrize("config", [INT8, INT16], ids=["int8", "int16"])
@pytest.mark.parametrize("bias", [0.0, 1e-6, 30.0])
@pytest.mark.parametrize(("size", "weights"), [(1e-6, 1.0), (1e-10, 1.0), (1e4, 1e-7), (1.0, 1e-10)])
def test_numbers_that_vanish(size: float, weights: float, bias: float, config: QuantizationConfig) -> None:
    torch.manual_seed(0)
    model, inputs = Faint(bias, size, weights), data((1, 3, 8, 8))
    converted = quantized(model, inputs, quantizer(config=config))
    exact, got = model(*inputs), converted(*inputs)
    assert (exact - got).square().sum() < 1e-2 * exact.square().sum()
    assert_matches(converted, inputs)


def test_a_variance_that_vanishes_keeps_its_scale() -> None:
    """What a norm divides by must not be measured on numbers so small that the next ones lie beyond."""
    torch.manual_seed(0)
    model = quantized(nn.Sequential(Faint(0.0), nn.LayerNorm(8)), data((1, 3, 8, 8)))
    assert parameters(named(model, "conv2d")[0])[0] < 2**-18
    assert parameters(named(model, "mean")[1])[0] >= 2**-16


@pytest.mark.parametrize(("config", "exact"), [(INT16, True), (INT8, False)], ids=["int16", "int8"])
def test_16_bits_without_their_mean_keep_their_scale(config: QuantizationConfig, exact: bool) -> None:
    """A difference that is exact; of 8 bits the mean, and what is left without it, have scales of their own."""
    model = quantized(nn.GroupNorm(2, 4), data((2, 4, 6)), quantizer(config=config))
    (difference,) = named(model, "sub")
    whole, mean = difference.args
    scales = [whole.args[1], mean.args[1], parameters(difference)[0]]
    assert (len(set(scales)) == 1) == exact
    assert (scales[1] != parameters(named(model, "mean")[0])[0]) == exact  # the mean is rounded twice
    assert_matches(model, data((2, 4, 6)))


@pytest.mark.parametrize(
    ("function", "name", "reach"),
    [
        (torch.sigmoid, "sigmoid", 1.0),
        (torch.tanh, "tanh", 1.0),
        (torch.atan, "atan", math.pi / 2),
        (nn.functional.hardsigmoid, "hardsigmoid", 1.0),
        (nn.functional.relu6, "relu6", 6.0),
        (lambda x: x.softmax(-1), "exp", 1.0),
        (lambda x: x.softmax(-1), "sum", 6.5),
        (lambda x: x.softmax(-1), "reciprocal", 1.0),
        (lambda x: x.softmax(-1), "mul", 1.0),
        (lambda x: x * CONSTANT, "mul", None),
        (lambda x: x + x, "add", None),
        (lambda x: -x.relu(), "neg", None),
    ],
)
def test_16_bits_have_head_room_up_to_what_is_known(
    function: Callable[[torch.Tensor], torch.Tensor], name: str, reach: float | None
) -> None:
    """Twice what calibration has shown, but no more than a function can give."""
    x = (10 * data((64, 6))[0],)
    node = named(quantized(function, x, quantizer(config=INT16)), name)[0]
    scale, zero = parameters(node)
    assert zero == 0
    if reach is not None:
        assert scale == pytest.approx(reach / 32767, rel=1e-5)
    else:
        assert scale * 32767 >= 2 * float(function(*x).abs().max())


CONSTANT = torch.linspace(-3.0, 2.0, 6)


@pytest.mark.parametrize(("config", "most"), [(INT8, 127), (INT16, 32767)], ids=["int8", "int16"])
def test_constants_have_no_head_room(config: QuantizationConfig, most: int) -> None:
    model = quantized(lambda x: x + CONSTANT, data((64, 6)), quantizer(config=config))
    (total,) = named(model, "add")
    reach = 5.0 / 2 if config is INT8 else 3.0  # of int8 with a zero point
    assert total.args[1].args[1] * most == pytest.approx(reach, rel=0.01)  # type: ignore[union-attr,operator]


def test_inputs_beyond_the_samples_are_not_clipped_in_16_bits() -> None:
    torch.manual_seed(0)
    net, inputs = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).eval(), data((64, 8))
    model = quantized(net, inputs, quantizer(config=INT16))
    exact, got = net(1.9 * inputs[0]), model(1.9 * inputs[0])
    assert (exact - got).square().sum() < 1e-4 * exact.square().sum()


class MaskedByNumber(nn.Module):
    """Attention of large scores whose mask holds a bias, and the least number where nothing counts (as in T5)."""

    def __init__(self, number: float) -> None:
        super().__init__()
        self.number = number
        self.bias = nn.Parameter(torch.randn(1, 2, 9, 9))

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        seen = torch.ones(9, 9, dtype=torch.bool).tril()
        mask = torch.where(seen, self.bias, self.number).contiguous()
        return nn.functional.scaled_dot_product_attention(q, k, v, mask, scale=1.0)


@pytest.mark.parametrize("number", [torch.finfo(torch.float32).min, -math.inf, -65504.0, -1.0])
def test_what_a_number_masks_does_not_count(number: float) -> None:
    """Saturated to the scale of the biases it would be less than the difference of two scores; -1 is no mask."""
    torch.manual_seed(0)
    net, inputs = MaskedByNumber(number), data(*[(1, 2, 9, 16)] * 3)
    inputs = [2 * inputs[0], *inputs[1:]]
    model = quantized(net, inputs)
    exact, got = net(*inputs), model(*inputs)
    assert (exact - got).square().sum() < 10**-2.5 * exact.square().sum()
    assert_matches(model, inputs)


def _range(x: torch.Tensor, bounds: tuple[float, float] = (-math.inf, math.inf)) -> tuple[float, float]:
    """What an observer of 8 bits says is represented, once it has seen this."""
    observer = MaskedHistogramObserver(
        dtype=torch.int8, quant_min=-128, quant_max=127, qscheme=torch.per_tensor_affine, eps=2**-24, bounds=bounds
    )
    observer(x)
    scale, zero = (float(v) for v in observer.calculate_qparams())
    return (-128 - zero) * scale, (127 - zero) * scale


@pytest.mark.parametrize(("numbers", "low", "high"), [(1, -4.0, 5.0), (2, -2.0, 1 + 8**0.5), (16, -0.25, 2.0)])
def test_few_numbers_leave_room_on_both_sides_of_zero(numbers: int, low: float, high: float) -> None:
    """As those of a classifier of two classes: the next have another sign perhaps."""
    seen = torch.linspace(1.0, 0.99, numbers)
    assert _range(seen) == (pytest.approx(low, rel=0.02), pytest.approx(high, rel=0.02))
    assert _range(-seen) == (pytest.approx(-high, rel=0.02), pytest.approx(-low, rel=0.02))
    assert _range(seen, (0.0, math.inf))[0] == 0


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda x: (x * x).mean(-1, keepdim=True).sum(0), "sum"),
        (lambda x: x.square().mean(-1)[:1] + 1e-5, "add"),
        (lambda x: torch.cat([x.relu().amax(-1, keepdim=True), (x**2).sum(-1, keepdim=True)]).T, "cat"),
    ],
)
def test_what_cannot_be_negative_has_no_room_there(function: Callable[[torch.Tensor], torch.Tensor], name: str) -> None:
    """Of few numbers, which would have some otherwise: squares, and what is chosen or added up of them."""
    model = quantized(function, data((2, 8)))
    assert parameters(named(model, name)[0])[1] == -128


def test_a_sum_with_less_than_nothing_may_be_negative() -> None:
    model = quantized(lambda x: x.square().sum(-1) - 1.0, data((2, 8)))
    other = quantized(lambda x: torch.add(x.square().sum(-1), x.relu().sum(-1), alpha=-1), data((2, 8)))
    assert parameters(named(model, "sub")[0])[1] > -128
    assert parameters(named(other, "add")[0])[1] > -128
