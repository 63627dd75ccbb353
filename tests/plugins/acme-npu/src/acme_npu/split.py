"""A rewrite that Acme's NPU needs: its accumulators hold 128 channels, so wider convolutions become several."""

from __future__ import annotations

from arm_tosa_core.extend import Graph, Op, Rewrite, Stage, Tensor

MAX_CHANNELS = 128


def _split_wide_conv(graph: Graph, op: Op) -> bool:
    """CONV2D with more output channels than the accumulators hold: several, and a CONCAT of their results."""
    data, weight, bias, *zero_points = op.inputs
    channels = weight.shape[0]
    if channels <= MAX_CHANNELS or weight.data is None or bias.data is None:
        return False
    parts: list[Tensor] = []
    for first in range(0, channels, MAX_CHANNELS):
        chosen = slice(first, first + MAX_CHANNELS)
        part_weight = graph.constant(weight.data[chosen], weight.dtype)
        # TOSA also takes a bias of one element, for all channels.
        part_bias = bias if bias.shape == (1,) else graph.constant(bias.data[chosen], bias.dtype)
        inputs = [data, part_weight, part_bias, *zero_points]
        parts.append(graph.insert_before(op, "CONV2D", inputs, op.attrs).output)
    graph.replace(op.output, graph.insert_before(op, "CONCAT", parts, {"axis": 3}).output)
    return True


SPLIT_WIDE_CONV = Rewrite("acme-split-wide-conv", Stage.LEGALIZE, ("CONV2D",), _split_wide_conv)
