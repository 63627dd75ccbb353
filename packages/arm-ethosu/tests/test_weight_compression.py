"""``quantize_program(compression=...)``: fewer bytes by Vela's encoder, for the loss that is allowed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
import torch
from torch import nn
from torch.export import ExportedProgram

from arm_ethosu import EthosUCompileSpec, EthosUQuantizer
from arm_tosa_core import TosaCompileSpec, TOSAQuantizer, get_symmetric_quantization_config, quantize_program
from arm_tosa_core.plugin.target import LayerWeights
from arm_tosa_core.quantize.post_training import Quantized
from arm_tosa_core.quantize.weight_compression import ENOUGH, Compression, held_out
from arm_tosa_core.support.errors import UsageError

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations


class _Net(nn.Module):
    """Dense, grouped, depthwise and transposed convolutions, a linear layer whose weight is read twice."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Conv2d(3, 16, 3, stride=2)
        self.depthwise = nn.Conv2d(16, 16, 3, padding="same", groups=16)
        self.grouped = nn.Conv2d(16, 32, 1, groups=2)
        self.up = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.linear = nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.grouped(self.depthwise(self.dense(x).relu()).relu()).relu()
        x = self.up(x).relu().mean((2, 3))
        return self.linear(self.linear(x).relu())


def _samples(seed: int, count: int = 16) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.rand(1, 3, 16, 16, generator=generator) for _ in range(count)]


@cache
def _program() -> ExportedProgram:
    torch.manual_seed(0)
    return torch.export.export(_Net().eval(), (_samples(0)[0],))


def _quantized(
    compression: float | Compression | None, accelerator: str = "ethos-u55-128", count: int = 16, **kwargs: bool
) -> Quantized:
    config = get_symmetric_quantization_config(**kwargs)
    quantizer = EthosUQuantizer(EthosUCompileSpec(accelerator)).set_global(config)
    return quantize_program(_program(), quantizer, _samples(0, count), compression=compression)


def _sqnr(made: Quantized, samples: Sequence[torch.Tensor]) -> float:
    exact, noisy = _program().module(), made.converted
    with torch.no_grad():
        pairs = [(exact(x), noisy(x)) for x in samples]
    signal, noise = (
        sum(float(y.square().sum()) for y in row) for row in ([a for a, _ in pairs], [a - b for a, b in pairs])
    )
    return 10 * math.log10(signal / noise)


@pytest.mark.parametrize("accelerator", ["ethos-u55-128", "ethos-u85-256"])
@pytest.mark.parametrize("per_channel", [True, False])
def test_fewer_bytes_for_the_loss_that_is_allowed(accelerator: str, per_channel: bool) -> None:
    plain = _quantized(None, accelerator, is_per_channel=per_channel)
    made = _quantized(1.0, accelerator, is_per_channel=per_channel)
    assert plain.compressed is None and made.compressed is not None
    assert {row.name for row in made.compressed.layers} == {"conv2d", "conv2d_1", "conv2d_2", "linear"}
    assert made.compressed.after < made.compressed.before
    assert made.compressed.loss_db + made.compressed.error_db <= 1.0 and made.compressed.held_out
    # The second half tells of the loss.
    assert _sqnr(plain, _samples(0)[8:]) - _sqnr(made, _samples(0)[8:]) == pytest.approx(
        made.compressed.loss_db, abs=0.02
    )
    assert 0 < made.compressed.error_db < 2


@pytest.mark.parametrize(("count", "fitted", "judging"), [(1, 1, 1), (7, 7, 7), (8, 4, 4), (9, 5, 4), (64, 32, 16)])
def test_the_loss_is_measured_on_samples_that_nothing_is_fitted_to(count: int, fitted: int, judging: int) -> None:
    numbers = [((number,), {}) for number in range(count)]
    first, judges = held_out(numbers)
    assert (len(first), len(judges)) == (fitted, judging)
    assert [*first] == numbers[:fitted] and (count < ENOUGH or judges[0][0] > first[-1][0])


def test_few_samples_say_that_none_is_held_out() -> None:
    made = _quantized(0.5, count=4).compressed
    assert made is not None and not made.held_out
    assert "samples to which weights were fitted (give 8 or more" in str(made)
    assert str(_quantized(0.5).compressed).endswith("dB on samples that were held out")


def test_a_slope_gives_what_the_search_found() -> None:
    found, again = _quantized(0.5), _quantized(0.5)
    assert found.compressed is not None and found.compressed == again.compressed
    given = _quantized(Compression(slope=found.compressed.slope))
    for x in _samples(1, 2):
        assert torch.equal(found.converted(x), again.converted(x))
        assert torch.equal(found.converted(x), given.converted(x))


def test_weights_that_stay_say_so() -> None:
    made = _quantized(Compression(slope=0.0))
    assert str(made.compressed).startswith("weights stay as they are")


def test_layers_can_be_kept() -> None:
    made = _quantized(Compression(1.0, keep=["linear"]))
    assert made.compressed is not None and "linear" not in {row.name for row in made.compressed.layers}


@pytest.mark.parametrize(
    ("compression", "error"),
    [(-0.5, "loss_db"), (math.nan, "loss_db"), (Compression, "slope"), (Compression(keep=["nothing"]), "nothing")],
)
def test_bad_values_are_refused(compression: float | Compression, error: str) -> None:
    with pytest.raises(UsageError, match=error):
        _quantized(Compression(slope=-1.0) if compression is Compression else compression)


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        (TosaCompileSpec("TOSA-1.0+INT"), "stores weights as they are"),
        (TosaCompileSpec("TOSA-1.0+INT").tosa_spec, "compile spec"),
    ],
)
def test_without_an_encoder_there_is_nothing_to_compress_for(spec: object, error: str) -> None:
    quantizer = TOSAQuantizer(spec).set_global(get_symmetric_quantization_config())  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=error):
        quantize_program(_program(), quantizer, _samples(0), compression=0.5)


@pytest.mark.parametrize(
    ("shape", "groups"),
    [
        ((32, 16), 1),
        ((32, 16, 3), 1),
        ((32, 16, 3, 3), 1),
        ((32, 1, 3, 3), 32),
        ((32, 2, 2, 2, 2), 1),
        ((32, 1, 80), 1),
    ],
)
def test_zeros_take_fewer_bytes(shape: tuple[int, ...], groups: int) -> None:
    encoder = EthosUCompileSpec("ethos-u55-128").target().encoded_bytes
    assert encoder is not None
    full = np.random.default_rng(0).integers(-127, 128, shape).astype(np.int8)
    sparse = full * (np.random.default_rng(1).random(shape) < 0.2)
    most, least = encoder([LayerWeights(full, groups), LayerWeights(sparse.astype(np.int8), groups)])
    assert least < most
