"""Inserting operators before another one, among them convolutions with small weights of our own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..tosa import rewrite
from ..tosa.ir import DType, Tensor, joined


class Inserter(rewrite.Inserter):
    """As of ``tosa.rewrite``, with more operators."""

    def zero(self, dtype: DType) -> Tensor:
        """A zero point of 0."""
        kinds = {DType.INT8: np.int8, DType.INT16: np.int16, DType.INT32: np.int32}
        return self.graph.constant(np.zeros(1, kinds.get(dtype, np.int64)), dtype)

    def slice(self, x: Tensor, axis: int, start: int, size: int) -> Tensor:
        """Part of an axis."""
        starts, sizes = [0] * x.rank, list(x.shape)
        starts[axis], sizes[axis] = start, size
        if sizes == list(x.shape):
            return x
        return self("SLICE", x, self.graph.shape(starts), self.graph.shape(sizes))

    def join(self, parts: Sequence[Tensor], axis: int) -> Tensor:
        """CONCAT of what is more than one part."""
        return joined(lambda group: self("CONCAT", *group, axis=axis), parts)

    def rescale(
        self, x: Tensor, to: DType, factor: tuple[int, int] | None = None, zero: Tensor | None = None
    ) -> Tensor:
        """RESCALE by a multiplier and a shift, by 1 without, to a zero point, 0 without; ``x`` has none."""
        wide = x.dtype is not DType.INT48
        shift = 30 if wide else 14
        multiplier, shift = factor or (1 << shift, shift)
        return self(
            "RESCALE",
            x,
            self.graph.constant(np.array([multiplier], np.int32 if wide else np.int16), _multiplier(wide)),
            self.graph.constant(np.array([shift], np.int8), DType.INT8),
            self.zero(x.dtype),
            zero or self.zero(to),
            scale32=wide,
            rounding_mode="SINGLE_ROUND",
            per_channel=False,
            input_unsigned=False,
            output_unsigned=False,
            output_dtype=to,
        )

    def convolve(
        self,
        name: str,
        x: Tensor,
        weights: np.ndarray[Any, Any],
        stride: tuple[int, ...] = (1, 1),
        pad: tuple[int, ...] = (0, 0, 0, 0),
        zero: Tensor | None = None,
    ) -> Tensor:
        """With weights from 0 to 255, and no bias; ``zero`` is the zero point of ``x``, 0 without."""
        low = -128 if weights.max() > 127 else 0
        kind = DType.INT32 if x.dtype is DType.INT8 else DType.INT48
        results = weights.shape[2 if name == "DEPTHWISE_CONV2D" else 0]
        return self(
            name,
            x,
            self.graph.constant((weights + low).astype(np.int8), DType.INT8),
            self.graph.constant(np.zeros(results, np.int32 if kind is DType.INT32 else np.int64), kind),
            zero or self.zero(x.dtype),
            self.graph.constant(np.array([low], np.int8), DType.INT8),
            pad=pad,
            stride=stride,
            dilation=(1, 1),
            acc_type=kind,
            local_bound=False,
        )

    def spread(self, x: Tensor, weights: np.ndarray[Any, Any]) -> Tensor:
        """A TRANSPOSE_CONV2D of INT8 whose windows do not overlap, with weights from 0 to 127, and no bias."""
        return self(
            "TRANSPOSE_CONV2D",
            x,
            self.graph.constant(weights.astype(np.int8), DType.INT8),
            self.graph.constant(np.zeros(weights.shape[0], np.int32), DType.INT32),
            self.zero(x.dtype),
            self.zero(DType.INT8),
            out_pad=(0, 0, 0, 0),
            stride=weights.shape[1:3],
            acc_type=DType.INT32,
            local_bound=False,
        )


def _multiplier(wide: bool) -> DType:
    return DType.INT32 if wide else DType.INT16
