"""Quantization schemes: which integers, scales and observers for activations, weights and biases."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.fx import Node
from torchao.quantization.pt2e import (
    FakeQuantize,
    FakeQuantizeBase,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    PerChannelMinMaxObserver,
    PlaceholderObserver,
)
from torchao.quantization.pt2e.quantizer import QuantizationSpec

from ...support.errors import UsageError
from .fake_quantizers import MaskedFakeQuantize
from .observers import MaskedHistogramObserver

_EPS = 2**-48  # the smallest scale of weights: constant ones must not divide by zero
SMALLEST_SCALE = 2**-48  # of activations that vary: the power of faint sound is 1e-8
SMALLEST_MEAN = 2**-24  # of means that norms subtract: those of a normed tensor are 0 but for its roundings
SMALLEST_RANGE = 2**-8  # of activations in training, which begins with nothing seen, and in front of poles

_INT8 = (-128, 127)
_INT16 = (-32768, 32767)
_INT4 = (-7, 7)  # symmetric, as TOSA's i4_t


@dataclass(frozen=True)
class QuantizationConfig:
    """What to observe at inputs, outputs, weights and biases; None leaves it in float.

    Args:
        input_activation: of the operator's inputs.
        output_activation: of its results.
        weight: of convolutions and linear layers.
        bias: usually None: a bias has the steps of the accumulator that it is added to, and is float in training.
        wide: of results that only additions, products and sums read (``TOSAQuantizer(wide=...)``); None for
            the same as the others.
    """

    input_activation: QuantizationSpec | None
    output_activation: QuantizationSpec | None
    weight: QuantizationSpec | None
    bias: QuantizationSpec | None = None
    wide: QuantizationSpec | None = None

    @property
    def is_dynamic(self) -> bool:
        """Whether scales of activations are computed at run time."""
        return self.input_activation is not None and bool(self.input_activation.is_dynamic)

    @property
    def is_qat(self) -> bool:
        """Whether it is for training with quantization."""
        made_by = getattr(getattr(self.weight, "observer_or_fake_quant_ctr", None), "p", None)
        return made_by is not None and issubclass(made_by.func, FakeQuantizeBase)

    def get_input_act_qspec(self, node: Node | None = None, input_node: Node | None = None) -> QuantizationSpec | None:
        """The spec of input activations: the same for every node."""
        return self.input_activation

    def get_output_act_qspec(self, node: Node | None = None) -> QuantizationSpec | None:
        """The spec of output activations."""
        return self.output_activation

    def get_weight_qspec(self, node: Node | None = None) -> QuantizationSpec | None:
        """The spec of weights, channels along axis 0."""
        return self.weight

    def get_bias_qspec(self, node: Node | None = None) -> QuantizationSpec | None:
        """The spec of biases."""
        return self.bias


def _activation(
    dtype: torch.dtype, low: int, high: int, symmetric: bool, qat: bool, eps: float | None = None
) -> QuantizationSpec:
    scheme = torch.per_tensor_symmetric if symmetric else torch.per_tensor_affine
    observer: Any
    if qat:
        eps = eps or SMALLEST_RANGE / (high - low + 1)
        observer = MaskedFakeQuantize.with_args(observer=MovingAverageMinMaxObserver, eps=eps)
    else:
        observer = MaskedHistogramObserver.with_args(eps=eps or SMALLEST_SCALE)
    return QuantizationSpec(
        dtype=dtype,
        quant_min=low,
        quant_max=high,
        qscheme=scheme,
        is_dynamic=False,
        observer_or_fake_quant_ctr=observer,
    )


def _dynamic(low: int, high: int, eps: float | None) -> QuantizationSpec:
    return QuantizationSpec(
        dtype=torch.int8,
        quant_min=low,
        quant_max=high,
        qscheme=torch.per_tensor_affine,
        is_dynamic=True,
        observer_or_fake_quant_ctr=PlaceholderObserver.with_args(eps=eps or _EPS),
    )


def _weight(low: int, high: int, per_channel: bool, qat: bool, eps: float | None) -> QuantizationSpec:
    observer: Any
    if qat:
        inside = MovingAveragePerChannelMinMaxObserver if per_channel else MovingAverageMinMaxObserver
        observer = FakeQuantize.with_args(observer=inside, eps=eps or 2**-12)
    else:
        observer = (PerChannelMinMaxObserver if per_channel else MinMaxObserver).with_args(eps=eps or _EPS)
    return QuantizationSpec(
        dtype=torch.int8,
        quant_min=low,
        quant_max=high,
        qscheme=torch.per_channel_symmetric if per_channel else torch.per_tensor_symmetric,
        ch_axis=0 if per_channel else None,
        is_dynamic=False,
        observer_or_fake_quant_ctr=observer,
    )


def get_symmetric_quantization_config(
    is_per_channel: bool = True,
    is_qat: bool = False,
    is_dynamic: bool = False,
    act_qmin: int = _INT8[0],
    act_qmax: int = _INT8[1],
    weight_qmin: int = -_INT8[1],
    weight_qmax: int = _INT8[1],
    eps: float | None = None,
) -> QuantizationConfig:
    """int8 weights, symmetric; int8 activations, asymmetric.

    Args:
        is_per_channel: a scale per output channel of a weight, not one for all.
        is_qat: fake quantization for training instead of observers.
        is_dynamic: scales of the inputs of convolutions and linear layers are computed at run time; all else
            stays in float. For specifications with the FP and INT profiles.
        act_qmin: the smallest integer of activations, within int8.
        act_qmax: the largest one.
        weight_qmin: the smallest integer of weights, within int8.
        weight_qmax: the largest one.
        eps: the smallest scale, of weights and activations; None for one of their own for each.

    Raises:
        UsageError: a range outside int8, an ``eps`` that is not positive, or both ``is_dynamic`` and ``is_qat``.
    """
    if is_dynamic and is_qat:
        raise UsageError("scales computed at run time are not trained: is_qat=False, or is_dynamic=False")
    if eps is not None and not eps > 0:
        raise UsageError(f"eps is the smallest scale, a positive number, not {eps}")
    for name, low, high in (("act", act_qmin, act_qmax), ("weight", weight_qmin, weight_qmax)):
        if not _INT8[0] <= low < high <= _INT8[1]:
            raise UsageError(f"{name}_qmin={low}, {name}_qmax={high} is no range within int8, {_INT8[0]} to {_INT8[1]}")
    weight = _weight(weight_qmin, weight_qmax, is_per_channel, is_qat, eps)
    if is_dynamic:
        return QuantizationConfig(_dynamic(act_qmin, act_qmax, eps), None, weight)
    activation = _activation(torch.int8, act_qmin, act_qmax, False, is_qat, eps)
    wide = _activation(torch.int16, *_INT16, True, is_qat, eps)
    return QuantizationConfig(activation, activation, weight, wide=wide)


def get_symmetric_a16w8_quantization_config(
    is_per_channel: bool = True,
    is_qat: bool = False,
    is_dynamic: bool = False,
    weight_qmin: int = -_INT8[1],
    weight_qmax: int = _INT8[1],
    epsilon: float | None = None,
) -> QuantizationConfig:
    """int8 weights and int16 activations, both symmetric. Arguments as ``get_symmetric_quantization_config``.

    Args:
        epsilon: the smallest scale of activations; None for one of their own.

    Raises:
        UsageError: ``is_dynamic``: PT2E computes scales of 8 bits only at run time.
    """
    if is_dynamic:
        raise UsageError("activations of 16 bits have static scales: is_dynamic=False")
    base = get_symmetric_quantization_config(is_per_channel, is_qat, weight_qmin=weight_qmin, weight_qmax=weight_qmax)
    if epsilon is not None and not epsilon > 0:
        raise UsageError(f"epsilon is the smallest scale, a positive number, not {epsilon}")
    activation = _activation(torch.int16, *_INT16, True, is_qat, epsilon)
    return replace(base, input_activation=activation, output_activation=activation, wide=None)


def get_symmetric_a8w4_quantization_config(
    is_per_channel: bool = True, is_qat: bool = True, is_dynamic: bool = False
) -> QuantizationConfig:
    """int4 weights and int8 activations. Arguments as ``get_symmetric_quantization_config``.

    Where the specification has the extension int4, weights of convolutions and linear layers are stored in 4 bits.
    """
    return get_symmetric_quantization_config(
        is_per_channel, is_qat, is_dynamic, weight_qmin=_INT4[0], weight_qmax=_INT4[1]
    )


def get_uint8_io_quantization_config(
    is_qat: bool = False, is_dynamic: bool = False, eps: float | None = None
) -> QuantizationConfig:
    """uint8 inputs and outputs, asymmetric, for ``set_io``: what lies between is int8.

    Args:
        is_qat: fake quantization for training instead of observers.
        is_dynamic: must be False.
        eps: the smallest scale; None for one of its own.

    Raises:
        UsageError: ``is_dynamic``: inputs and outputs have static scales.
    """
    if is_dynamic:
        raise UsageError("inputs and outputs of a model have static scales: is_dynamic=False")
    activation = _activation(torch.uint8, 0, 255, False, is_qat, eps)
    return QuantizationConfig(activation, activation, None)
