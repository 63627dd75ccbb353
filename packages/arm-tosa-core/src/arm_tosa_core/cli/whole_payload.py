"""A model in the target's own format: the payload of its one delegate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..exir.pte import delegates
from ..exir.pte_steps import Method, method
from ..plugin.target import Target
from ..support.errors import UsageError
from .report import say

if TYPE_CHECKING:
    from ..flow import LoweredProgram


def whole_payload(lowered: LoweredProgram, output: Path, target: Target) -> bytes:
    """The one delegate's payload, in which the model must be as a whole, with the model's order of outputs.

    Args:
        output: the file that it is for.

    Raises:
        UsageError: the model is more than one delegate.
    """
    outside = sorted({row.target for row in lowered.report.rejected})
    if lowered.report.delegates != 1 or outside:
        left = f" and left {', '.join(outside)} outside" if outside else ""
        raise UsageError(
            f"-o {output} takes a model that is one delegate as a whole, "
            f"but this one made {lowered.report.delegates}{left}; "
            "write a .pte and take the parts out with `arm-tosa extract`"
        )
    if lowered.report.edges:
        say(f"note: {output} takes and gives the target's integers: what quantizes or casts at its edges is not in it")
    payload = delegates(lowered.buffer)[0].payload
    program = method(lowered.buffer)
    for text in differences(program):
        say(f"note: {output}: {text}")
    order = output_order(program)
    if order is not None and order == sorted(order):
        return payload
    if order is None or target.compiler.outputs_in_order is None:
        numbers = "" if order is None else f": {', '.join(str(order.index(place)) for place in sorted(order))}"
        say(f"note: {output} gives the model's outputs in an order of its own{numbers}")
        return payload
    return target.compiler.outputs_in_order(payload, order)


def differences(program: Method) -> list[str]:
    """Where the only delegate of a program has other inputs or outputs than the program: unread, or the same twice."""
    (delegate,) = (call for call in program.calls if call.delegate >= 0)
    found = []
    for index, number in enumerate(program.inputs):
        reached = {number}
        for call in program.calls:
            if call.operator and reached.intersection(call.arguments[:-2]):
                reached.update(call.arguments[-2:])
        if reached.isdisjoint(delegate.arguments):
            found.append(f"it has no input for the model's input {index}, which nothing reads; those after it move up")
    for number in dict.fromkeys(program.outputs):
        same = [str(index) for index, other in enumerate(program.outputs) if other == number]
        if len(same) > 1:
            found.append(f"the model's outputs {', '.join(same)} are one tensor and one output; others move up")
    return found


def output_order(program: Method) -> list[int] | None:
    """The number in the delegate's outputs of each output of a program with one delegate; of one given twice, once.

    None: it cannot be told, as when an output is an input.
    """
    (call,) = (call for call in program.calls if call.delegate >= 0)
    made_by = {number: each.arguments[0] for each in program.calls if each.operator for number in each.arguments[-2:]}
    places: list[int] = []
    for number in program.outputs:
        seen = set()
        while number not in call.arguments and number in made_by and number not in seen:
            seen.add(number)
            number = made_by[number]
        if number not in call.arguments:
            return None
        places.append(call.arguments.index(number))
    first = min(places)
    order = [place - first for place in dict.fromkeys(places)]
    return order if sorted(order) == list(range(len(order))) else None
