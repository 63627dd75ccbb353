"""What a rule is run under: the protocols that all builders implement, and all that a rule may ask of one.

A composite (an operator whose rule only calls other operators) takes a ``CompositeBuilder``: it runs both when a model
is taken apart to be quantized, on nodes of the FX graph, and when it is lowered, on TOSA values. A rule that emits TOSA
takes an ``OpBuilder``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import torch

from ..plugin.target import Preferences
from ..tosa.graph import Graph
from ..tosa.ir import DType
from ..tosa.specification import TosaSpecification
from .values import Operand, Value


class OpValue(Protocol):
    """A tensor, as every builder has it: what a composite may ask of its operands."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def rank(self) -> int: ...

    @property
    def size(self) -> int:
        """Number of elements."""

    @property
    def dtype(self) -> torch.dtype: ...


V = TypeVar("V", bound=OpValue)
_V_co = TypeVar("_V_co", bound=OpValue, covariant=True)


class AtenOperator(Protocol[_V_co]):
    """An ATen operator with one tensor as its result: the overload that PyTorch calls for the arguments.

    Each attribute is one of its overloads.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> _V_co: ...

    def __getattr__(self, overload: str, /) -> Callable[..., _V_co]: ...


class AtenOperators(Protocol[_V_co]):
    """Each attribute is the ATen operator of that name."""

    def __getattr__(self, name: str, /) -> AtenOperator[_V_co]: ...


class CompositeBuilder(Protocol[V]):
    """What the rule of a composite is run under."""

    @property
    def aten(self) -> AtenOperators[V]:
        """ATen operators: ``b.aten.sub(x, y)``, or ``b.aten.max.dim(x, 1)`` to say the overload."""

    @property
    def preferences(self) -> Preferences:
        """Which of several ways to say the same suits the target."""

    def require(self, condition: bool, reason: str, fix: str = "") -> None:
        """Refuses the operator, with this reason, unless the condition holds.

        Raises:
            Rejected: it does not hold.
        """

    def const(self, data: torch.Tensor, /) -> V:
        """A constant."""

    def within(self, value: V, low: float, high: float) -> V:
        """The value, of which it is known that its numbers lie between these: of use to those who choose ranges."""

    def range_of_interest(self, value: V, low: float, high: float) -> V:
        """The value; numbers outside the bounds may be saturated.

        Clamped where a scale is chosen for it, which numbers beyond would only make coarser.
        """

    def known(self, value: V) -> torch.Tensor | None:
        """The numbers of a constant that no training will change; None for any other value."""

    def is_neutral(self, operand: V, number: float) -> bool:
        """Whether an operand is a constant filled with the neutral ``number``, so that the operation may be left out.

        Only where it would round once more: reals are computed as the program says.
        """

    def as_where(self, value: V) -> tuple[V, V, float] | None:
        """If the value is ``where(condition, tensor, number)``: the condition, the tensor and the number.

        None if it is not, or where no scale is chosen, which such a number could stretch.
        """

    def is_quantized(self, value: V) -> bool:
        """Whether integers stand for the numbers of a value, or will once the model is quantized."""

    def channel_weights(self, factors: V) -> V:
        """Factors per channel, [C], as the weight [C, 1, 1, 1] of a depthwise convolution of what ``is_quantized``."""

    def split_channels(self, value: V, groups: int) -> tuple[V, list[int]]:
        """The channels, axis 1, in groups: [N, groups, ...], and the axes behind that hold the numbers of one group."""


class OpBuilder(CompositeBuilder[Value], Protocol):
    """What a rule that emits TOSA is run under. Methods in capitals are TOSA operators, on values in PyTorch's axes.

    Operands are values or Python numbers, promoted as PyTorch does. Arithmetic on quantized values is done on INT32,
    and the result carries the scale that it has; it is rounded to 8 or 16 bits where the program quantizes it.
    """

    @property
    def spec(self) -> TosaSpecification:
        """What the operators must conform to."""

    # -- values ------------------------------------------------------------------------------------

    def scalar(self, number: float | bool, like: Value) -> Value:
        """A constant with one element and the type of ``like``."""

    def operands(self, *given: Operand) -> list[Value]:
        """Values of one type, promoted as PyTorch does; numbers become constants."""

    def cast(self, value: Value, dtype: torch.dtype) -> Value:
        """CAST between plain types, rounding reals to the nearest integer; int64 is int32 with known ``bounds``."""

    def floating(self, value: Value) -> Value:
        """The value, integers and bools turned into float32 as PyTorch does for functions of reals."""

    def real(self, value: Value) -> Value:
        """The value as floating point, dequantized if it is quantized."""

    def apply_clamp(self, value: Value) -> Value:
        """Emits the pending bounds of a value (``Value.clamp``) that is used before it is requantized."""

    def to_int16(self, value: Value, largest: float) -> Value:
        """A quantized value, in symmetric 16 bits whose largest integer stands for ``largest``; others as they are."""

    def centered(self, value: Value, bits: int = 31) -> Value:
        """The integers as int32 with zero point 0, at most ``bits`` wide; scaled down if they are wider."""

    def integers(self, value: Value) -> Value:
        """What ``centered`` gives, as plain int32: for arithmetic whose scale the rule knows."""

    def reals(self, integers: Value, like: Value, *, steps: int = 1, terms: int = 1) -> Value:
        """Plain int32 as a quantized value again.

        Args:
            like: what ``centered`` gave.
            steps: how many of the integers make one of ``like``.
            terms: how many integers of ``like`` each is the sum of, at most.
        """

    def as_index_numbers(self, indices: Value) -> Value:
        """Indices for arithmetic and moves: int32, or float32 where the specification has no integers."""

    # -- elementwise -------------------------------------------------------------------------------

    def ADD(self, x: Operand, y: Operand) -> Value:
        """``x + y``."""

    def SUB(self, x: Operand, y: Operand) -> Value:
        """``x - y``."""

    def MUL(self, x: Operand, y: Operand) -> Value:
        """``x * y``; a positive constant factor of a quantized value only changes its scale."""

    def wrapped(self, name: str, x: Operand, y: Operand) -> Value:
        """ADD, SUB or MUL of numbers of the program, of which int32 may leave 32 bits: they wrap as in PyTorch.

        For numbers that a rule itself bounds, ``ADD`` and its like are enough.
        """

    def INTDIV(self, x: Operand, y: Operand) -> Value:
        """``x / y`` of integers, rounded towards 0."""

    def MAXIMUM(self, x: Operand, y: Operand) -> Value:
        """``max(x, y)``."""

    def MINIMUM(self, x: Operand, y: Operand) -> Value:
        """``min(x, y)``."""

    def NEGATE(self, x: Value) -> Value:
        """``-x``."""

    def clamp(self, x: Value, low: float, high: float) -> Value:
        """``min(max(x, low), high)``: on a quantized value only a note for its next requantization."""

    def unary(self, name: str, x: Value) -> Value:
        """An operator of one operand, such as EXP, on reals; integers become reals first."""

    def binary(self, name: str, x: Operand, y: Operand) -> Value:
        """A binary operator on bool, integers or reals that has no quantized form (LOGICAL_AND, POW, ...)."""

    def elementwise(self, name: str, *operands: Value) -> Value:
        """An elementwise operator on values that are not quantized and have one type."""

    def compare(self, name: str, x: Operand, y: Operand) -> Value:
        """EQUAL, GREATER or GREATER_EQUAL; the result is bool."""

    def SELECT(self, condition: Value, x: Operand, y: Operand) -> Value:
        """``x`` where the condition holds, else ``y``."""

    # -- reductions --------------------------------------------------------------------------------

    def reduce(self, name: str, x: Value, axis: int) -> Value:
        """REDUCE_SUM, REDUCE_MAX, ...: along one axis, which stays with size 1."""

    def mean(self, x: Value, axes: list[int]) -> Value:
        """The mean over axes, which stay with size 1."""

    def require_sums(self, x: Value, count: int) -> None:
        """Refuses sums of so many int64 numbers that may not fit int32."""

    def ARGMAX(self, x: Value, axis: int) -> Value:
        """Index of the maximum along ``axis``, which goes; int64."""

    # -- whole numbers -----------------------------------------------------------------------------

    def real_for_step_function(self, x: Value) -> Value:
        """The value as reals, for a function with jumps.

        Raises:
            Rejected: it is quantized, and the target has integers only.
        """

    def can_round_in_integers(self, x: object) -> bool:
        """Whether ``round_to_integer`` takes it: a quantized value of 16 bits at most, where there is no float."""

    def round_to_integer(
        self, x: Value, mode: str, exact: Callable[[torch.Tensor], torch.Tensor], divisor: float = 1.0
    ) -> Value:
        """``x / divisor`` of what ``can_round_in_integers`` takes, rounded to whole numbers in INT32.

        Args:
            mode: "floor", "ceil", "trunc", or "round", which rounds ties to even numbers.
            exact: the same function of all reals that the value can be, float32.
        """

    def signs(self, x: Value) -> Value:
        """-1, 0 or 1 in INT32, for what ``can_round_in_integers`` takes."""

    def to_fixed_point(self, x: Value, bits: int) -> Value:
        """A quantized value as plain int32: fixed-point numbers with so many bits of fraction."""

    def round_fixed_point(self, x: Value, bits: int, mode: str) -> Value:
        """Fixed-point numbers of plain int32, rounded to whole ones as ``round_to_integer`` does."""

    def divide_rounding(self, x: Value, divisor: int) -> Value:
        """``x / divisor`` of plain int32, to the nearest integer; halves go up."""

    # -- data movement -----------------------------------------------------------------------------

    def TRANSPOSE(self, x: Value, perm: Sequence[int]) -> Value:
        """``x.permute(perm)``. Emits nothing: see ``Value.perm``."""

    def nhwc(self, x: Value) -> Value:
        """Channels from axis 1 to the end: what TOSA's image operators take."""

    def nchw(self, x: Value) -> Value:
        """Channels from the end to axis 1: what PyTorch has."""

    def in_order(self, x: Value) -> Value:
        """The value, its axes in memory in the order in which PyTorch has them."""

    def RESHAPE(self, x: Value, shape: Sequence[int]) -> Value:
        """``x.reshape(shape)``; axes of size 1 come and go without moving data."""

    def lift(self, value: Value, rank: int) -> Value:
        """The value with axes of size 1 in front, up to ``rank`` of them, as broadcasting wants."""

    def SLICE(self, x: Value, start: Sequence[int], size: Sequence[int]) -> Value:
        """``size`` elements from ``start``, along every axis."""

    def slice_axis(self, x: Value, axis: int, start: int, size: int) -> Value:
        """``size`` elements from ``start`` along one axis."""

    def CONCAT(self, values: Sequence[Value], axis: int) -> Value:
        """The values one after the other along ``axis``; quantized ones are brought to one scale first."""

    def concat_channels(self, parts: Sequence[Value], axis: int) -> Value:
        """CONCAT along the channels; accumulators keep the scales that each of their channels has."""

    def PAD(self, x: Value, padding: Sequence[tuple[int, int]], number: float = 0.0) -> Value:
        """Constant padding, ``(before, after)`` per axis."""

    def TILE(self, x: Value, repeats: Sequence[int]) -> Value:
        """``x`` repeated along every axis."""

    def REVERSE(self, x: Value, axis: int) -> Value:
        """``x.flip(axis)``."""

    def GATHER(self, values: Value, indices: Value) -> Value:
        """``values[n, indices[n, w], c]`` for values [N, K, C] and int32 indices [N, W]."""

    def SCATTER(self, values: Value, indices: Value, new: Value) -> Value:
        """``values`` [N, K, C] with ``new[n, w, c]`` at ``[n, indices[n, w], c]``; indices [N, W], none twice."""

    def gather_by_slices(self, values: Sequence[Value], axis: int, places: Sequence[tuple[int, int]]) -> Value | None:
        """Elements along ``axis``, each as the number of a value and an index, by SLICE and CONCAT.

        None where those are too many.
        """

    # -- layers and images, which are NHWC ---------------------------------------------------------

    def conv(self, name: str, x: Value, weight: Value, bias: Value | None, **attrs: Sequence[int]) -> Value:
        """CONV2D, CONV3D, DEPTHWISE_CONV2D or TRANSPOSE_CONV2D; ``attrs`` are the operator's.

        Args:
            x: image, channels last.
            weight: in the order that the operator takes.
            bias: one real per output channel, or None.

        Returns:
            The image; quantized operands give an accumulator whose scale is the product of theirs. With a scale that is
            known only at run time, reals.
        """

    def equal_weights(self, shape: Sequence[int], number: float, image: Value) -> Value:
        """A convolution's weight that is one positive number throughout, exact to the last bit of its scale.

        Args:
            shape: in the order that the operator takes.
            image: what is convolved: the weight is quantized if it is.
        """

    def MATMUL(self, x: Value, y: Value) -> Value:
        """``x @ y`` for [N, H, C] and [N, C, W]."""

    def MAX_POOL2D(self, x: Value, kernel: Sequence[int], stride: Sequence[int], pad: Sequence[int]) -> Value:
        """Maximum over windows of an NHWC image; ``pad`` is top, bottom, left, right."""

    def AVG_POOL2D(self, x: Value, kernel: Sequence[int], stride: Sequence[int], pad: Sequence[int]) -> Value:
        """Mean over windows of an NHWC image, padding not counted."""

    def RESIZE(self, x: Value, scale: Sequence[int], offset: Sequence[int], border: Sequence[int], mode: str) -> Value:
        """Resamples an NHWC image; scale is (y numerator, y denominator, x numerator, x denominator)."""

    # -- transforms --------------------------------------------------------------------------------

    def FFT2D(self, real: Value, imag: Value, inverse: bool) -> tuple[Value, Value]:
        """The Fourier transform of images [N, H, W], sizes powers of two; real and imaginary part."""

    def RFFT2D(self, real: Value) -> tuple[Value, Value]:
        """``FFT2D`` of real images: the half [N, H, W / 2 + 1] that the other half mirrors."""

    # -- block-scaled formats (MXFP, of TOSA 1.1), whose blocks of 32 lie along the last axis ------------------------

    def block_scaled(self, x: Value, dtype: DType) -> Value:
        """The numbers of a value as a cast to blocks of this type rounds them, in float32."""

    def block_scaled_weight(self, weight: Value, scale: Value, dtype: DType) -> Value:
        """What constant codes and scales (uint8) stand for, as a constant of float32."""

    def MATMUL_T_BLOCK_SCALED(self, x: Value, weight: Value, scale: Value, dtype: DType) -> Value:
        """[N, H, C], cast to blocks, times the transpose of constant codes [1, W, C] with scales: float32 [N, H, W]."""

    def CONV2D_BLOCK_SCALED(
        self,
        x: Value,
        weight: Value,
        scale: Value,
        bias: Value,
        dtype: DType,
        *,
        pad: Sequence[int],
        stride: Sequence[int],
        dilation: Sequence[int],
    ) -> Value:
        """NHWC, cast to blocks, convolved with constant codes [OC, KH, KW, IC] with scales; float32."""

    # -- operators of a target's own ---------------------------------------------------------------

    def CUSTOM(
        self,
        operands: Sequence[Value],
        results: Sequence[tuple[Sequence[int], torch.dtype]],
        *,
        domain_name: str,
        operator_name: str,
        implementation_attrs: bytes,
    ) -> tuple[Value, ...]:
        """An operator that the target knows by its domain and name; quantized operands are dequantized.

        Args:
            results: shape and type of each.
            implementation_attrs: what the operator's definition says.
        """

    def inlined(self, graph: Graph, operands: Sequence[Value]) -> tuple[Value, ...]:
        """The outputs of a graph of TOSA, whose operators are emitted as they are; operands are its inputs."""
