"""Writes small ``.tflite`` files."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from arm_tosa_core.frontends.tflite.constants import KINDS
from arm_tosa_core.frontends.tflite.operators import _FIELDS, _NAMES
from arm_tosa_core.tosa.flatbuffer import Offsets, Table, Vector, int32_vector, write

_TYPES = {kind.dtype: number for number, kind in KINDS.items() if number not in (13, 17)}
_INT4 = 17
#: The number of each table of options in the union of the schema, by the operators that have it.
_OPTIONS = {
    "CONV_2D": 1,
    "DEPTHWISE_CONV_2D": 2,
    "AVERAGE_POOL_2D MAX_POOL_2D L2_POOL_2D": 5,
    "SVDF": 6,
    "RNN": 7,
    "FULLY_CONNECTED": 8,
    "LSTM": 14,
    "SOFTMAX": 9,
    "CONCATENATION": 10,
    "ADD": 11,
    "L2_NORMALIZATION": 12,
    "LOCAL_RESPONSE_NORMALIZATION": 13,
    "RESIZE_BILINEAR": 15,
    "RESHAPE": 17,
    "SPACE_TO_DEPTH": 19,
    "MUL": 21,
    "GATHER": 23,
    "MEAN SUM REDUCE_PROD REDUCE_MAX REDUCE_MIN REDUCE_ANY REDUCE_ALL": 27,
    "SUB": 28,
    "DIV": 29,
    "SQUEEZE": 30,
    "UNIDIRECTIONAL_SEQUENCE_RNN": 31,
    "STRIDED_SLICE": 32,
    "SPLIT": 35,
    "ARG_MAX": 40,
    "TRANSPOSE_CONV": 49,
    "ARG_MIN": 57,
    "PACK": 59,
    "ONE_HOT": 61,
    "UNPACK": 64,
    "BIDIRECTIONAL_SEQUENCE_RNN": 70,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": 71,
    "RESIZE_NEAREST_NEIGHBOR": 74,
    "LEAKY_RELU": 75,
    "REVERSE_SEQUENCE": 87,
    "MIRROR_PAD": 77,
    "SPLIT_V": 79,
    "IF": 92,
    "WHILE": 93,
    "DEPTH_TO_SPACE": 94,
    "BATCH_MATMUL": 101,
    "CUMSUM": 102,
    "CALL_ONCE": 103,
    "CONV_3D": 106,
    "VAR_HANDLE": 111,
    "GELU": 116,
    "STABLEHLO_COMPOSITE": 21,  # of the second union
}
_UNION = {kind: number for kinds, number in _OPTIONS.items() for kind in kinds.split()}


@dataclass(frozen=True)
class T:
    """A tensor of the file: numbers for a constant, else sizes; with scales it is of integers."""

    what: Any
    dtype: torch.dtype = torch.float32
    scale: Sequence[float] = ()
    zero: Sequence[int] = (0,)
    axis: int = 0
    bits: int = 8
    open: bool = False  #: the first size is -1
    variable: bool = False  #: it stays from call to call

    @property
    def data(self) -> torch.Tensor | None:
        if isinstance(self.what, tuple):
            return None
        return self.what if isinstance(self.what, torch.Tensor) else torch.tensor(self.what, dtype=self.dtype)


@dataclass(frozen=True)
class Op:
    """An operator."""

    kind: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    options: Mapping[str, Any] = field(default_factory=dict)
    custom: bytes = b""
    intermediates: Sequence[str] = ()


@dataclass(frozen=True)
class G:
    """A graph."""

    tensors: Mapping[str, T]
    operators: Sequence[Op]
    inputs: Sequence[str]
    outputs: Sequence[str]


def int32(*numbers: int) -> T:
    return T(list(numbers), torch.int32)


def tflite(*graphs: G) -> bytes:
    """A file of these graphs; the first is the model's."""
    codes = sorted({one.kind for graph in graphs for one in graph.operators})
    buffers: list[Table] = [Table()]
    made = Offsets([_graph(graph, codes, buffers) for graph in graphs])
    return write(
        Table(("I", 3), Offsets([_code(kind) for kind in codes]), made, "made by a test", Offsets(buffers)), b"TFL3"
    )


def _code(kind: str) -> Table:
    custom = kind.removeprefix("CUSTOM ") if kind.startswith("CUSTOM ") else None
    number = _NAMES.index("CUSTOM" if custom else kind)
    return Table(("B", min(number, 127)), custom, ("i", 1), ("i", number))


def _graph(graph: G, codes: list[str], buffers: list[Table]) -> Table:
    place = {name: i for i, name in enumerate(graph.tensors)} | {"": -1}
    tensors = Offsets([_tensor(name, one, buffers) for name, one in graph.tensors.items()])
    operators = Offsets([_operator(one, codes, place) for one in graph.operators])
    ends = (int32_vector([place[name] for name in names]) for names in (graph.inputs, graph.outputs))
    return Table(tensors, *ends, operators)


def _tensor(name: str, one: T, buffers: list[Table]) -> Table:
    data, buffer = one.data, 0
    shape = list(one.what if data is None else data.shape)
    dtype = one.dtype if data is None else data.dtype
    if data is not None:
        stored = data.contiguous().numpy().tobytes()
        if one.bits == 4:
            nibbles = [byte & 15 for byte in stored] + [0] * (len(stored) % 2)
            stored = bytes(low | high << 4 for low, high in zip(nibbles[::2], nibbles[1::2], strict=True))
        buffers.append(Table(Vector(stored, len(stored), 16)))
        buffer = len(buffers) - 1
    quantization = None
    if one.scale:
        zeros = list(one.zero) * (len(one.scale) // len(one.zero))
        scales = Vector(struct.pack(f"<{len(one.scale)}f", *one.scale), len(one.scale), 4)
        quantization = Table(
            None,
            None,
            scales,
            Vector(struct.pack(f"<{len(zeros)}q", *zeros), len(zeros), 8),
            None,
            None,
            ("i", one.axis),
        )
    signature = int32_vector([-1, *shape[1:]]) if one.open else None
    kind = _INT4 if one.bits == 4 else _TYPES[dtype]
    variable = ("B", 1) if one.variable else None
    return Table(int32_vector(shape), ("B", kind), ("I", buffer), name, quantization, variable, None, signature)


def _operator(one: Op, codes: list[str], place: Mapping[str, int]) -> Table:
    fields: list[Any] = []
    for spec in _FIELDS.get(one.kind, ()):
        name, _, code = spec.partition(":")
        value, code = one.options.get(name), code.partition("=")[0]
        if value is None or name == "_":
            fields.append(None)
        elif code == "s":
            fields.append(value)
        elif code == "v":
            fields.append(int32_vector(value))
        else:
            fields.append((code, value) if code in "if" else ("B", int(value) & 0xFF))
    ends = (int32_vector([place[name] for name in names]) for names in (one.inputs, one.outputs))
    custom = Vector(one.custom, len(one.custom), 4) if one.custom else None
    union = ("B", _UNION[one.kind]) if one.kind in _UNION else None
    between = int32_vector([place[name] for name in one.intermediates]) if one.intermediates else None
    options = Table(*fields) if union else None
    if one.kind.startswith("STABLEHLO_"):
        return Table(("I", codes.index(one.kind)), *ends, *[None] * 8, union, options)
    return Table(("I", codes.index(one.kind)), *ends, union, options, custom, None, None, between)


def int8(*shape: int, scale: float, zero: int = 0) -> T:
    """A quantized tensor of the network."""
    return T(shape, torch.int8, (scale,), (zero,))


def image_network(weights: int = 8) -> G:
    """Convolution, depthwise convolution, sum, pool, layer and softmax, with weights of so many bits."""
    numbers, low = torch.Generator().manual_seed(0), -(2 ** (weights - 1))

    def weight(*shape: int, axis: int = 0) -> T:
        data = torch.randint(low, -low, shape, generator=numbers, dtype=torch.int8)
        scales = [(0.5 + 0.1 * i) / -low for i in range(shape[axis])]
        return T(data, scale=scales, axis=axis, bits=weights)

    def bias(count: int) -> T:
        return T(torch.randint(-500, 500, (count,), generator=numbers, dtype=torch.int32))

    same = {"stride_h": 1, "stride_w": 1, "activation": 3}
    tensors = {
        "image": T((1, 9, 9, 3), torch.int8, (0.02,), (3,), open=True),
        "first weight": weight(8, 3, 3, 3),
        "first bias": bias(8),
        "first": int8(1, 5, 5, 8, scale=6 / 255, zero=-128),
        "second weight": weight(1, 3, 3, 8, axis=3),
        "second bias": bias(8),
        "second": int8(1, 5, 5, 8, scale=6 / 255, zero=-128),
        "sum": int8(1, 5, 5, 8, scale=0.045, zero=-100),
        "pooled": int8(1, 3, 3, 8, scale=0.045, zero=-100),
        "row": int8(1, 72, scale=0.045, zero=-100),
        "sizes": int32(-1, 72),
        "last weight": T(torch.randint(-128, 128, (4, 72), generator=numbers, dtype=torch.int8), scale=[0.005]),
        "last": int8(1, 4, scale=0.2, zero=10),
        "classes": int8(1, 4, scale=1 / 256, zero=-128),
    }
    operators = [
        Op("CONV_2D", ["image", "first weight", "first bias"], ["first"], {**same, "stride_h": 2, "stride_w": 2}),
        Op("DEPTHWISE_CONV_2D", ["first", "second weight", "second bias"], ["second"], same),
        Op("ADD", ["first", "second"], ["sum"]),
        Op("AVERAGE_POOL_2D", ["sum"], ["pooled"], {"stride_h": 2, "stride_w": 2, "height": 2, "width": 2}),
        Op("RESHAPE", ["pooled", "sizes"], ["row"]),
        Op("FULLY_CONNECTED", ["row", "last weight", ""], ["last"]),
        Op("SOFTMAX", ["last"], ["classes"], {"beta": 1.0}),
    ]
    return G(tensors, operators, ["image"], ["last", "classes"])
