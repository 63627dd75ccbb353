"""Zero points of what convolutions and pools read, and of what is rescaled; the range of unsigned results."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.scaling import is_by_one

from ..command_stream import registers as r
from .debug_database import Owned
from .difference import Difference
from .windows import READERS

#: Where an operator has the zero point of what it reads.
_READ = {"AVG_POOL2D": 1, "CONV2D": 3, "CONV3D": 3, "DEPTHWISE_CONV2D": 3, "RESCALE": 3, "TRANSPOSE_CONV2D": 3}
_WRITTEN = 4  # of RESCALE
#: What Vela calls operators that move numbers.
_COPIES = ("MemoryCopy", "Reverse", "Tile", "Transpose")
#: A product is made by several kernels, of which the last one scales.
_IN_STEPS = "MatMul"


def zero_point_difference(kernels: Sequence[Owned]) -> Difference | None:
    """The first kernel that takes another zero point than the graph has."""
    owners = {each.op for each in kernels}
    for each in kernels:
        for op, register, right in (*_read(each, owners), *_written(each)):
            value = each.command.get(register, 0)
            written = value - (1 << 16) if value >> 15 else value
            if each.kind in _COPIES and value == each.command.get(r.IFM_ZERO_POINT, 0) == 0:
                continue  # of numbers that another kernel has brought to this zero point
            if written != right:
                what = "zero point of the input" if register == r.IFM_ZERO_POINT else "zero point of the result"
                return Difference(op, what, f"{written}", f"{right}")
    return None


def range_difference(kernels: Sequence[Owned]) -> Difference | None:
    """The first RESCALE to UINT8 whose results saturate before the ends of the type."""
    for each in kernels:
        op = each.last
        if op is None or op.name != "RESCALE" or not op.attrs.get("output_unsigned") or op.output.dtype.bits != 8:
            continue
        ends = each.command.get(r.ACTIVATION_MIN, 0), each.command.get(r.ACTIVATION_MAX, 0)
        if ends != (0, 255):
            return Difference(op, "range of the result", f"{ends[0]} to {ends[1]}", "0 to 255")
    return None


def _read(kernel: Owned, owners: Collection[Op | None]) -> list[tuple[Op, int, int]]:
    op = kernel.op
    if op is None or op.name not in _READ or op.attrs.get("input_unsigned"):
        return []
    if kernel.kind not in (("Rescale",) if op.name == "RESCALE" else READERS):
        return []
    if op.name == "TRANSPOSE_CONV2D" and kernel.command.code == r.DEPTHWISE:
        return []  # it writes the bias to results that read no pixel
    source = _source(op)
    if (
        not kernel.command.get(r.IFM_PRECISION, 0) & 1  # it reads unsigned integers, whose RESCALE has no kernel
        and source is not None
        and source.name == "RESCALE"
        and source.attrs.get("input_unsigned")
        and source not in owners
        and is_by_one(source)
        and _zero(source.inputs[_WRITTEN]) == _zero(op.inputs[_READ[op.name]])
    ):
        return [(op, r.IFM_ZERO_POINT, zero & 255) for zero in _zero(source.inputs[_READ["RESCALE"]])]
    reader = _merged(op, owners) if op.name == "RESCALE" else op
    return [(op, r.IFM_ZERO_POINT, zero) for zero in _zero(reader.inputs[_READ[op.name]])]


def _source(op: Op) -> Op | None:
    """The operator that makes the numbers which this one reads; RESHAPEs move none."""
    source = op.inputs[0].producer
    while source is not None and source.name == "RESHAPE":
        source = source.inputs[0].producer
    return source


def _merged(op: Op, owners: Collection[Op | None]) -> Op:
    """The first of RESCALEs in a row that Vela makes one kernel of: all but the last are by 1, to INT32, from 0 on."""
    source = _source(op)
    if source is None or source.name != "RESCALE" or source in owners or not is_by_one(source):
        return op
    between = [*_zero(source.inputs[_WRITTEN]), *_zero(op.inputs[_READ["RESCALE"]])]
    return op if any(between) or source.output.dtype is not DType.INT32 else _merged(source, owners)


def _written(kernel: Owned) -> list[tuple[Op, int, int]]:
    op = kernel.last
    if op is None or op.name != "RESCALE" or op.attrs.get("output_unsigned") or kernel.kind == _IN_STEPS:
        return []
    return [(op, r.OFM_ZERO_POINT, zero) for zero in _zero(op.inputs[_WRITTEN])]


def _zero(tensor: Tensor) -> list[int]:
    return [] if tensor.data is None else [int(tensor.data.item())]
