"""The steps of results of which rules say that they keep those of their operands, or are clamped."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.fx import Node

from .builder.quantization import Inexact
from .operator_names import map_arguments
from .quantize_nodes import steps_behind
from .rule import Rule, made
from .values import QParams, Value, same_steps

if TYPE_CHECKING:
    from .builder import Builder
    from .node_lowering import NodeLowering


def results_of(rule: Rule, builder: Builder, node: Node, args: Any, kwargs: Any) -> Any:
    """What a rule makes of its operands; None for a result that nobody reads."""
    read = {user.args[1] for user in node.users if user.target is operator.getitem and user.users}
    return made(rule.function(builder, *args, **kwargs), read.__contains__)


def in_shared_steps(
    lowering: NodeLowering,
    rule: Rule,
    node: Node,
    args: Any,
    kwargs: Any,
    quantized: list[Value],
    wanted: tuple[QParams, torch.dtype] | None,
) -> Any:
    """In the steps of its operands, if these are the steps of the result: see ``Q.SHARED``.

    Where nothing quantizes the result, or to other steps, nothing may be rounded to the steps of an operand.

    Args:
        quantized: the operands that are, constants apart.
        wanted: the steps that the result is quantized to, and their type; None if it is not.
    """
    b = lowering.builder

    def result(change: Callable[[Value], Value] = lambda v: v) -> Any:
        changed = map_arguments(args, lambda v: change(v) if isinstance(v, Value) and v.dtype.is_floating_point else v)
        return results_of(rule, b, node, changed, kwargs)

    adds = rule.traits.adds is not None and rule.traits.adds(*node.args, **node.kwargs)
    if wanted is not None and len(quantized) > 1 and not adds:
        return result(lambda v: b.quantize(v, *wanted))
    steps = wanted or steps_behind(node, lowering.rules, lowering.constants)
    own = quantized[0].quant
    only_moved = rule.traits.moves and not any(v.clamp for v in quantized)
    alike = steps is not None and own is not None and len(quantized) == 1 and same_steps(own, steps[0])
    if only_moved or alike or own is None or own.run_time:
        return result()
    mark = b.mark()
    try:
        with b.exactly():
            return result()
    except Inexact as why:
        b.undo(mark)
        return result(_exact_operand(b, why, own, steps))


def _exact_operand(
    b: Builder, why: Inexact, own: QParams, steps: tuple[QParams, torch.dtype] | None
) -> Callable[[Value], Value]:
    """What makes of an operand one whose steps the result may have."""
    if steps is None:
        return b.real
    if not why.averages:
        return lambda v: b.quantize(v, *steps)
    if own.scalar <= steps[0].scalar:  # averages are rounded twice, at first to finer steps
        return lambda v: v
    if own.bits > 8:
        return b.real
    fine = QParams((steps[0].scalar,), 0, -(2**15) + 1, 2**15 - 1)
    return lambda v: b.quantize(v, fine, torch.int16)


def bounded(lowering: NodeLowering, value: Value) -> Value:
    """A clamped value that is computed with before it is quantized: its bounds are not rounded to its steps."""
    b, quant = lowering.builder, value.quant
    if quant is None or value.clamp is None or quant.axis is not None or quant.run_time or quant.bits > 16:
        return value
    mark = b.mark()
    try:
        with b.exactly():
            return b.apply_clamp(value)
    except Inexact:
        b.undo(mark)
    if lowering.target.tosa_spec.support_float():
        return b.real(value)
    low, high = value.clamp
    fine = b.MAXIMUM(value.replace(clamp=None), low)
    return b.MINIMUM(fine, high)
