"""The builder that rules are run under when a model is lowered; ``op_builder`` describes its methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from ...compat.torch import OpOverload
from ...plugin.target import Preferences
from ...support.errors import UsageError, require
from ...tosa.graph import Graph
from ...tosa.ir import Origin
from ...tosa.specification import TosaSpecification
from ...tosa.verifier import Check
from ..op_builder import OpBuilder
from ..operator_names import AtenCalls, canonical
from ..rule import made
from ..rule_set import NO_RULES, RuleSet
from ..values import Complex, Value
from .arithmetic import Arithmetic
from .block_scaled import BlockScaled
from .casts import Casts
from .convolution import Convolutions
from .custom import CustomOperators
from .data_movement import DataMovement
from .dynamic_quantization import DynamicQuantization
from .emitter import Emitter
from .images import ImageOperators
from .quantization import Quantization
from .reductions import Reductions
from .rescaling import Rescaling
from .rounding import Rounding
from .selection import Selection
from .tables import Tables


class Builder:
    """Emits TOSA: the ``OpBuilder`` of a graph. ``OpBuilder`` describes the methods.

    Args:
        rules: of the target, for ``b.aten``.
    """

    def __init__(
        self,
        graph: Graph,
        spec: TosaSpecification,
        checks: Sequence[Check] = (),
        *,
        rules: RuleSet = NO_RULES,
        preferences: Preferences | None = None,
    ) -> None:
        self.rules = rules
        emitter = self._emitter = Emitter(graph, spec, checks, preferences=preferences)
        rescaling = Rescaling(emitter)
        quantization = Quantization(emitter, rescaling)
        casts = Casts(emitter, rescaling)
        arithmetic = Arithmetic(emitter, quantization, casts)
        selection = Selection(emitter, casts, arithmetic)
        data = DataMovement(emitter, quantization, casts)
        reductions = Reductions(emitter, quantization, arithmetic, data)
        dynamic = DynamicQuantization(emitter, quantization, arithmetic)
        convolutions = Convolutions(emitter, rescaling, quantization, casts, arithmetic, dynamic)
        blocks = BlockScaled(emitter)
        images = ImageOperators(emitter, rescaling, quantization)
        tables = Tables(emitter, rescaling, quantization)
        rounding = Rounding(emitter, rescaling, quantization)
        custom = CustomOperators(emitter, quantization)

        self.graph, self.spec, self.preferences = graph, spec, emitter.preferences
        self.mark, self.undo, self.caches = emitter.mark, emitter.undo, emitter.caches
        self.emit, self.emit_all = emitter.emit, emitter.emit_all
        self.const, self.scalar = emitter.const, emitter.scalar
        self.tensor, self.value = emitter.tensor, emitter.value
        self.reshape, self.lift = emitter.reshape, emitter.lift
        self.elementwise = emitter.elementwise

        self.rescale, self.zero_point = rescaling.rescale, rescaling.zero_point
        self.signed, self.unsigned = rescaling.signed, rescaling.unsigned
        self.quantize, self.real = quantization.quantize, quantization.real
        self.apply_clamp, self.to_int16 = quantization.apply_clamp, quantization.to_int16
        self.centered = quantization.centered
        self.integers, self.reals = quantization.integers, quantization.reals
        self.quantize_at_run_time = dynamic.quantize_at_run_time

        self.cast, self.floating = casts.cast, casts.floating
        self.operands, self.binary, self.unary = arithmetic.operands, arithmetic.binary, arithmetic.unary
        self.ADD, self.SUB, self.MUL, self.INTDIV = arithmetic.ADD, arithmetic.SUB, arithmetic.MUL, arithmetic.INTDIV
        self.MAXIMUM, self.MINIMUM, self.NEGATE = arithmetic.MAXIMUM, arithmetic.MINIMUM, arithmetic.NEGATE
        self.clamp, self.wrapped = arithmetic.clamp, arithmetic.wrapped
        self.compare, self.SELECT = selection.compare, selection.SELECT
        self.reduce, self.mean, self.ARGMAX = reductions.reduce, reductions.mean, reductions.ARGMAX
        self.require_sums = reductions.require_sums
        self.real_for_step_function = rounding.real_for_step_function
        self.can_round_in_integers, self.round_to_integer = rounding.can_round_in_integers, rounding.round_to_integer
        self.signs, self.to_fixed_point = rounding.signs, rounding.to_fixed_point
        self.round_fixed_point, self.divide_rounding = rounding.round_fixed_point, rounding.divide_rounding
        self.TABLE = tables.TABLE

        self.TRANSPOSE, self.nhwc, self.nchw = data.TRANSPOSE, data.nhwc, data.nchw
        self.RESHAPE, self.split_channels = data.RESHAPE, data.split_channels
        self.SLICE, self.slice_axis, self.gather_by_slices = data.SLICE, data.slice_axis, data.gather_by_slices
        self.CONCAT, self.concat_channels, self.PAD, self.TILE = data.CONCAT, data.concat_channels, data.PAD, data.TILE
        self.REVERSE, self.GATHER, self.SCATTER = data.REVERSE, data.GATHER, data.SCATTER
        self.in_order, self.as_index_numbers = data.in_order, data.as_index_numbers

        self.conv, self.MATMUL = convolutions.conv, convolutions.MATMUL
        self.equal_weights, self.channel_weights = convolutions.equal_weights, convolutions.channel_weights
        self.MAX_POOL2D, self.AVG_POOL2D, self.RESIZE = images.MAX_POOL2D, images.AVG_POOL2D, images.RESIZE
        self.FFT2D, self.RFFT2D = images.FFT2D, images.RFFT2D
        self.MATMUL_T_BLOCK_SCALED, self.CONV2D_BLOCK_SCALED = blocks.MATMUL_T_BLOCK_SCALED, blocks.CONV2D_BLOCK_SCALED
        self.CUSTOM = custom.CUSTOM
        self.block_scaled, self.block_scaled_weight = blocks.block_scaled, blocks.block_scaled_weight

    require = staticmethod(require)

    @property
    def aten(self) -> AtenCalls[Value]:
        """``b.aten.sub(x, y)`` runs the rule of ``aten.sub`` in place."""
        return AtenCalls(self._run_rule, _fake)

    def _run_rule(self, overload: OpOverload, args: Any, kwargs: Any) -> Any:
        name = canonical(overload)
        rule = self.rules.find(name)
        if rule is None:
            raise UsageError(f"a rule calls {name}, which has no rule itself: declare one")
        return made(rule.function(self, *args, **kwargs))

    @property
    def origin(self) -> Origin | None:
        """The place in the program that operators emitted now come from."""
        return self._emitter.origin

    @origin.setter
    def origin(self, origin: Origin | None) -> None:
        self._emitter.origin = origin

    # -- composites, whose scales are chosen already: nothing is bounded for them, and nothing left out ----------------

    def within(self, value: Value, low: float, high: float) -> Value:
        return value

    def range_of_interest(self, value: Value, low: float, high: float) -> Value:
        return value

    def is_neutral(self, operand: Value, number: float) -> bool:
        return False

    def as_where(self, value: Value) -> tuple[Value, Value, float] | None:
        return None

    def is_quantized(self, value: Value) -> bool:
        return value.quant is not None


def _fake(value: Any) -> Any:
    if isinstance(value, (Value, Complex)):
        return torch.empty(value.shape, dtype=value.dtype, device="meta")
    return value


if TYPE_CHECKING:

    def _implements(builder: Builder) -> OpBuilder:
        return builder
