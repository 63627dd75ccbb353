"""CONV3D with a depth, for Ethos-U55 and U65, whose kernels have none: planes side by side as channels."""

from __future__ import annotations

import numpy as np

from arm_tosa_core.tosa.ir import Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Stage

from ..native.conv3d import is_native, why_no_planes


def _native(match: Match) -> str | None:
    return "Vela has it, or there are too many channels" if is_native(match.op) or why_no_planes(match.op) else None


def _planes_as_channels(match: Match) -> Tensor:
    """A CONV3D becomes one with a kernel of one plane: the planes that a result reads lie side by side as channels."""
    graph, op, insert = match.graph, match.op, match.insert
    x, weight, *others = op.inputs
    assert weight.data is not None
    results, depth = op.output.shape[1], weight.shape[1]
    before, after, *pad = op.attrs["pad"]
    (step, *stride), (apart, *dilation) = op.attrs["stride"], op.attrs["dilation"]

    def empty(planes: int) -> list[Tensor]:
        zero = others[1].data
        assert zero is not None
        data = np.full((x.shape[0], planes, *x.shape[2:]), zero[0])
        return [graph.constant(data, x.dtype)] if planes else []

    padded = insert.join([*empty(before), x, *empty(after)], 1)
    parts = []
    for k in range(depth):
        first = k * apart
        planes = [insert.slice(padded, 1, first, results)] if step == 1 else []
        planes = planes or [insert.slice(padded, 1, first + i * step, 1) for i in range(results)]
        parts.append(insert.join(planes, 1))
    data = weight.data.transpose(0, 2, 3, 1, 4).reshape(weight.shape[0], 1, *weight.shape[2:4], -1)
    kernel = graph.constant(np.ascontiguousarray(data), weight.dtype)
    attrs = {name: op.attrs[name] for name in ("acc_type", "local_bound")}
    attrs |= {"pad": (0, 0, *pad), "stride": (1, *stride), "dilation": (1, *dilation)}
    return insert("CONV3D", insert.join(parts, 4), kernel, *others, **attrs)


PLANES_AS_CHANNELS = pattern_rewrite(
    "planes_as_channels", Stage.LEGALIZE, Pattern("CONV3D", {1: Pattern(constant=True)}), _planes_as_channels, _native
)
