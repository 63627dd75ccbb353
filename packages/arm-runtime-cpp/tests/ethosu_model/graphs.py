"""TOSA graphs of one or a few operators, one row each, with constants of many values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from arm_ethosu import comparison, vela
from arm_ethosu.accelerators import ACCELERATORS, DEFAULTS
from arm_ethosu.vela import VelaOutput
from arm_ethosu.waits import with_waits
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification

I8, U8, I16, I32, I48 = (getattr(DType, n) for n in ("INT8", "UINT8", "INT16", "INT32", "INT48"))
_NUMPY = {I8: np.int8, U8: np.uint8, I16: np.int16, I32: np.int32, I48: np.int64}


class Maker:
    """A graph in the making; ``rng`` gives its constants."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.rng = np.random.default_rng(7)

    def input(self, dtype: DType, *shape: int) -> Tensor:
        return self.graph.input(f"x{len(self.graph.inputs)}", shape, dtype)

    def const(self, dtype: DType, values: Any) -> Tensor:
        return self.graph.constant(np.asarray(values, _NUMPY[dtype]), dtype)

    def random(self, dtype: DType, low: int, high: int, *shape: int) -> Tensor:
        return self.const(dtype, self.rng.integers(low, high, shape))

    def op(self, name: str, *operands: Tensor, **attrs: Any) -> Tensor:
        return self.graph.append(name, list(operands), attrs).output

    def rescale(
        self, x: Tensor, to: DType, scale: float, *, channels: int = 1, zero_in: int = 0, zero_out: int = 0,
        wide: bool = True,
    ) -> Tensor:  # fmt: skip
        """RESCALE by about ``scale``; with more channels, by a scale for each between a third of it and it."""
        bits, kind = (31, I32) if wide else (15, I16)
        scales = scale * self.rng.uniform(0.3, 1, channels) if channels > 1 else np.array([scale])
        mantissa, exponent = np.frexp(scales)
        multiplier = np.minimum(np.round(mantissa * 2.0**bits), 2**bits - 1).astype(np.int64)
        return self.op(
            "RESCALE", x, self.const(kind, multiplier), self.const(I8, bits - exponent),
            self.const(x.dtype, [zero_in]), self.const(to, [zero_out]),
            output_dtype=to, scale32=wide, per_channel=channels > 1, rounding_mode="SINGLE_ROUND",
            **({"output_unsigned": True} if to is U8 else {}),
        )  # fmt: skip

    def conv(
        self, x: Tensor, kernel: tuple[int, ...], outputs: int, *, zero: int = 0, op: str = "CONV2D",
        scale: float = 2e-3, keep: tuple[int, ...] = (1,), step: int = 1, **attrs: Any,
    ) -> Tensor:  # fmt: skip
        """A convolution and the RESCALE after it.

        Args:
            keep: of the weights along the input channels, in turn, which are kept and which are 0.
            step: weights are multiples of it.
        """
        channels = x.shape[-1]
        shape = (*kernel, channels, 1) if op == "DEPTHWISE_CONV2D" else (outputs, *kernel, channels)
        wide = x.dtype is I8
        bias = self.random(I32 if wide else I48, -4000, 4000, outputs)
        ones = (1,) * len(kernel)
        attrs = {"pad": (0, 0) * len(kernel), "stride": ones, "dilation": ones} | attrs
        if op == "TRANSPOSE_CONV2D":
            attrs = {"out_pad": attrs["pad"], "stride": attrs["stride"]}
        values = self.rng.integers(-127, 128, shape) // step * step * np.resize(keep, channels if op == "CONV2D" else 1)
        weights = self.const(I8, np.clip(values, -127, 127))
        made = self.op(op, x, weights, bias, self.const(x.dtype, [zero]), self.const(I8, [0]), **attrs)
        return self.rescale(made, x.dtype, scale, channels=outputs, zero_out=3 if wide else 0, wide=wide)

    def pool(
        self, op: str, x: Tensor, kernel: tuple[int, int], stride: tuple[int, int], pad: tuple[int, ...]
    ) -> Tensor:
        zeros = [self.const(x.dtype, [0])] * 2 if op == "AVG_POOL2D" else []
        return self.op(op, x, *zeros, kernel=kernel, stride=stride, pad=pad)

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        product = self.op("MATMUL", x, y, self.const(x.dtype, [2]), self.const(y.dtype, [-3]))
        return self.rescale(product, I8, 1e-3)

    def sum(self, op: str, x: Tensor, y: Tensor, shift: int) -> Tensor:
        """The sum of two maps of different scales, as a quantized program has it: shifted up, added, scaled down."""
        unit = float(1 << shift)
        a = self.rescale(x, I32, 0.37 * unit, zero_in=5 if x.dtype is I8 else 0)
        b = self.rescale(y, I32, unit, zero_in=-9 if x.dtype is I8 else 0)
        return self.rescale(self.op(op, a, b), x.dtype, 0.71 / unit, zero_out=-2 if x.dtype is I8 else 0)

    def bilinear(self, x: Tensor, size: tuple[int, int], *, half: bool) -> Tensor:
        """A bilinear RESIZE with half-pixel centres, or with aligned corners, and the RESCALE after it."""
        scale, offset, border = [], [], []
        for length, results in zip(x.shape[1:3], size, strict=True):
            ratio = Fraction(results, length) if half else Fraction(max(results - 1, 1), max(length - 1, 1))
            up, down = (2 * ratio.numerator, 2 * ratio.denominator) if half else ratio.as_integer_ratio()
            offset.append(ratio.denominator - ratio.numerator if half else 0)
            border.append((results - 1) * down - (length - 1) * up + offset[-1])
            scale += [up, down]
        shapes = (self.graph.shape(values) for values in (scale, offset, border))
        wide = self.op("RESIZE", x, *shapes, mode="BILINEAR")
        return self.rescale(wide, x.dtype, 1 / (scale[0] * scale[2]), wide=x.dtype is I8)


Make = Callable[[Maker], Tensor]


def _binary(op: str, dtype: DType, **attrs: Any) -> Make:
    return lambda m: m.op(op, m.input(dtype, 1, 5, 6, 19), m.input(dtype, 1, 1, 6, 19), **attrs)


def _mul(dtype: DType) -> Make:
    def make(m: Maker) -> Tensor:
        x, y = m.input(dtype, 1, 5, 6, 19), m.input(dtype, 1, 5, 1, 1)
        return m.rescale(m.op("MUL", x, y, m.const(I8, [0])), dtype, 1e-2 if dtype is I8 else 3e-5)

    return make


_BIG = (1, 1, 1, 1)


#: Name, and what makes the graph's output.
def _square(m: Maker, channels: int, side: int) -> Tensor:
    """An image of equal height and width, transposed."""
    return m.op("TRANSPOSE", m.input(I8, 1, side, side, channels), perms=[0, 2, 1, 3])


ROWS: dict[str, Make] = {
    "conv 3x3, padding": lambda m: m.conv(m.input(I8, 1, 9, 11, 21), (3, 3), 30, zero=-4, pad=_BIG),
    "conv 3x3, 3 channels, stride 2": lambda m: m.conv(
        m.input(I8, 1, 17, 19, 3), (3, 3), 18, stride=(2, 2), scale=6e-3
    ),
    "conv 3x3, stride 3x1": lambda m: m.conv(m.input(I8, 1, 18, 9, 12), (3, 3), 10, stride=(3, 1)),
    "conv 1x1": lambda m: m.conv(m.input(I8, 1, 5, 6, 70), (1, 1), 45, zero=17),
    "conv 10x9": lambda m: m.conv(m.input(I8, 1, 14, 15, 9), (10, 9), 9, scale=1e-3),
    "conv 3x3, dilation 2": lambda m: m.conv(m.input(I8, 1, 12, 12, 20), (3, 3), 17, dilation=(2, 2), pad=(2, 2, 2, 2)),
    "conv INT16": lambda m: m.conv(m.input(I16, 1, 8, 7, 20), (3, 3), 17, pad=_BIG, scale=2e-3),
    "conv INT16, 3 channels": lambda m: m.conv(m.input(I16, 1, 8, 7, 3), (3, 3), 17, scale=5e-3),
    "conv of one row": lambda m: m.conv(m.input(I8, 1, 1, 1, 300), (1, 1), 99, scale=1e-3),
    "conv to one channel": lambda m: m.conv(m.input(I8, 1, 5, 5, 40), (3, 3), 1),
    "two convs": lambda m: m.conv(m.conv(m.input(I8, 1, 40, 40, 16), (3, 3), 33, pad=_BIG), (3, 3), 24, pad=_BIG),
    "depthwise 3x3": lambda m: m.conv(
        m.input(I8, 1, 9, 10, 37), (3, 3), 37, op="DEPTHWISE_CONV2D", zero=7, pad=_BIG, scale=5e-3
    ),
    "depthwise 5x5, stride 2, dilation 2": lambda m: m.conv(
        m.input(I8, 1, 19, 19, 20), (5, 5), 20, op="DEPTHWISE_CONV2D", stride=(2, 2), dilation=(2, 2), scale=5e-3
    ),
    "depthwise INT16": lambda m: m.conv(m.input(I16, 1, 9, 10, 21), (3, 3), 21, op="DEPTHWISE_CONV2D", scale=5e-3),
    "transpose conv, stride 2": lambda m: m.conv(
        m.input(I8, 1, 5, 6, 12), (3, 3), 14, op="TRANSPOSE_CONV2D", stride=(2, 2)
    ),
    "max pool": lambda m: m.pool("MAX_POOL2D", m.input(I8, 1, 9, 9, 20), (3, 3), (2, 2), _BIG),
    "max pool INT16": lambda m: m.pool("MAX_POOL2D", m.input(I16, 1, 10, 9, 20), (2, 3), (2, 1), (0, 0, 1, 1)),
    "average pool, padding": lambda m: m.pool("AVG_POOL2D", m.input(I8, 1, 9, 9, 20), (3, 3), (2, 2), _BIG),
    "average pool INT16, padding": lambda m: m.pool("AVG_POOL2D", m.input(I16, 1, 9, 9, 20), (3, 3), (1, 2), _BIG),
    "average pool of all": lambda m: m.pool("AVG_POOL2D", m.input(I8, 1, 7, 7, 50), (7, 7), (1, 1), (0, 0, 0, 0)),
    "add INT8": lambda m: m.sum("ADD", m.input(I8, 1, 5, 6, 19), m.input(I8, 1, 5, 6, 19), 19),
    "add INT8, broadcast": lambda m: m.sum("ADD", m.input(I8, 1, 5, 6, 19), m.input(I8, 1, 5, 1, 19), 19),
    "sub INT8": lambda m: m.sum("SUB", m.input(I8, 1, 5, 6, 19), m.input(I8, 1, 5, 6, 19), 19),
    "add INT16": lambda m: m.sum("ADD", m.input(I16, 1, 5, 6, 19), m.input(I16, 1, 5, 6, 19), 14),
    "add INT32": _binary("ADD", I32),
    "sub INT32": _binary("SUB", I32),
    "minimum INT32": _binary("MINIMUM", I32),
    "maximum INT32": _binary("MAXIMUM", I32),
    "mul INT8": _mul(I8),
    "mul INT16": _mul(I16),
    "abs INT32": lambda m: m.op("ABS", m.input(I32, 1, 5, 6, 19)),
    "clz INT32": lambda m: m.op("CLZ", m.input(I32, 1, 5, 6, 19)),
    "right shift INT32": lambda m: m.op(
        "ARITHMETIC_RIGHT_SHIFT", m.input(I32, 1, 5, 6, 19), m.random(I32, 0, 31, 1, 5, 6, 19), round=True
    ),
    "left shift INT32": lambda m: m.op(
        "LOGICAL_LEFT_SHIFT", m.input(I32, 1, 5, 6, 19), m.random(I32, 0, 31, 1, 5, 6, 19)
    ),
    "table INT8": lambda m: m.op("TABLE", m.input(I8, 1, 5, 6, 19), m.random(I8, -128, 128, 256)),
    "table INT16": lambda m: m.rescale(
        m.op("TABLE", m.input(I16, 1, 5, 6, 19), m.const(I16, np.arange(513) * 60 - 15000)), I16, 2.0**-7
    ),
    "sum of channels": lambda m: m.op("REDUCE_SUM", m.input(I32, 1, 5, 6, 19), axis=3),
    "sum of columns": lambda m: m.op("REDUCE_SUM", m.input(I32, 1, 5, 6, 19), axis=2),
    "maximum of channels": lambda m: m.op("REDUCE_MAX", m.input(I8, 1, 5, 6, 19), axis=3),
    "matmul": lambda m: m.matmul(m.input(I8, 2, 7, 33), m.input(I8, 2, 33, 12)),
    "transpose": lambda m: m.op("TRANSPOSE", m.input(I8, 1, 5, 6, 19), perms=[0, 3, 1, 2]),
    "transpose INT32": lambda m: m.op("TRANSPOSE", m.input(I32, 1, 5, 6, 19), perms=[0, 2, 1, 3]),
    # Between blocks written along one axis and read along the other there are gaps, in which the reader may begin.
    "square transpose, then add": lambda m: m.sum("ADD", _square(m, 192, 4), m.input(I8, 1, 4, 4, 192), 19),
    "square transpose, then matmul": lambda m: m.matmul(
        m.op("RESHAPE", _square(m, 16, 16), m.graph.shape((16, 16, 16))), m.input(I8, 16, 16, 16)
    ),
    "concat": lambda m: m.op("CONCAT", m.input(I8, 1, 5, 6, 19), m.input(I8, 1, 5, 6, 7), axis=3),
    "reverse": lambda m: m.op("REVERSE", m.input(I8, 1, 5, 6, 19), axis=2),
    "slice": lambda m: m.op(
        "SLICE", m.input(I8, 1, 5, 6, 19), m.graph.shape((0, 1, 2, 3)), m.graph.shape((1, 3, 4, 11))
    ),
    "rescale INT32 to INT8": lambda m: m.rescale(m.input(I32, 1, 5, 6, 19), I8, 4e-6, zero_out=11),
    "rescale INT8 to INT16, channels": lambda m: m.rescale(
        m.input(I8, 1, 5, 6, 19), I16, 90.0, channels=19, zero_in=-8
    ),
}  # fmt: skip


def build(make: Make) -> Graph:
    """The graph of a row."""
    maker = Maker()
    maker.graph.outputs = [make(maker)]
    return maker.graph


def inputs(graph: Graph) -> list[np.ndarray[Any, Any]]:
    """Random inputs over the range of their types; of INT32, a quarter of it, so that no sum overflows."""
    rng = np.random.default_rng(3)
    made = []
    for tensor in graph.inputs:
        kind = np.iinfo(_NUMPY[tensor.dtype])
        part = 64 if tensor.dtype is I32 else 1
        made.append(rng.integers(kind.min // part, kind.max // part + 1, tensor.shape).astype(kind.dtype))
    return made


def flatbuffer(graph: Graph, accelerator: str) -> bytes:
    """The graph under the specification of an accelerator."""
    spec = DEFAULTS[ACCELERATORS[accelerator]].tosa_spec
    return serialize(graph, TosaSpecification.create_from_string(spec))


def compile_graph(
    graph: Graph, accelerator: str, flags: Sequence[str] = (), compile: Callable[..., VelaOutput] = vela.compile
) -> VelaOutput:
    """What Vela makes of a graph, in the accelerator's default memory mode."""
    defaults = DEFAULTS[ACCELERATORS[accelerator]]
    return compile(
        flatbuffer(graph, accelerator), accelerator=accelerator, config=None, system_config=defaults.system_config,
        memory_mode=defaults.memory_mode, flags=flags, timeout=60,
    )  # fmt: skip


def settled_arrays(graph: Graph, accelerator: str) -> dict[str, np.ndarray[Any, Any]]:
    """What Vela makes of a graph, compared with that, and with what ``arm_ethosu`` changes in its commands."""
    arrays = compile_graph(graph, accelerator, compile=comparison.compile).arrays
    return {**arrays, "cmd_data": with_waits(arrays["cmd_data"], accelerator)}
