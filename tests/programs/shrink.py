"""Makes a program with a fault smaller, as long as the fault stays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from .program import NAME, Program

_RANDN = re.compile(r"torch\.randn?\(([\d, st]+)\)")


def shrunk(program: Program, fails: Callable[[Program], bool], trials: int = 60) -> Program:
    """The smallest program found that still fails, after at most so many trials.

    Args:
        fails: whether a program has the fault still.
    """
    progress = True
    while progress and trials > 0:
        progress = False
        for smaller in _smaller(program):
            if trials <= 0:
                break
            trials -= 1
            if fails(smaller):
                program, progress = smaller, True
                break
    return program


def _smaller(program: Program) -> Iterator[Program]:
    """Programs that are smaller by one thing, the boldest first."""
    if len(program.outputs) > 1:
        for output in program.outputs:
            yield replace(program, outputs=(output,)).pruned()
        for place in range(len(program.outputs)):
            yield replace(program, outputs=program.outputs[:place] + program.outputs[place + 1 :]).pruned()
    yield from _shorter(program)
    if program.schemes:
        yield replace(program, schemes=())
        for place in range(len(program.schemes)):
            yield replace(program, schemes=program.schemes[:place] + program.schemes[place + 1 :])
    if program.sizes:
        yield _fixed(program)
    if program.form != "({},)":
        yield replace(program, form="({},)")
    if program.half:
        inputs = tuple((name, text.replace(".half()", "")) for name, text in program.inputs)
        yield replace(program, half=False, inputs=inputs)
    if program.picture:
        yield replace(program, picture="")
    if program.integers:
        yield replace(program, integers=False)
    for place, statement in enumerate(program.statements):
        simpler = [replace(statement, body="")] if statement.body else []
        simpler += (
            [replace(statement, init=statement.init[:-1])] if len(statement.init) > 1 and statement.module else []
        )
        for other in simpler:
            yield replace(program, statements=(*program.statements[:place], other, *program.statements[place + 1 :]))
    used = {name for statement in program.statements for name in statement.reads()}
    used |= {name for output in program.outputs for name in NAME.findall(output)}
    for name, text in program.inputs:
        if name not in used and len(program.inputs) > 1:
            inputs = tuple(row for row in program.inputs if row[0] != name)
            yield replace(program, inputs=inputs, varying={k: v for k, v in program.varying.items() if k != name})
        if "torch.randn(" not in text and _RANDN.search(text):
            sizes = re.search(r"\(\(?([\d, st]+),?\)", text)
            if sizes:
                plain = tuple((n, f"torch.randn({sizes[1]})" if n == name else t) for n, t in program.inputs)
                yield replace(program, inputs=plain)


def _shorter(program: Program) -> Iterator[Program]:
    """Without a statement: an operand, an input or an output in place of what it makes."""
    for place in reversed(range(len(program.statements))):
        statement = program.statements[place]
        for other in [*sorted(statement.reads()), *(name for name, _ in program.inputs)]:
            rest = [replace(s, text=_renamed(s.text, statement.makes, other)) for s in program.statements[place + 1 :]]
            outputs = tuple(_renamed(text, statement.makes, other) for text in program.outputs)
            yield replace(program, statements=(*program.statements[:place], *rest), outputs=outputs).pruned()


def _renamed(text: str, names: tuple[str, ...], other: str) -> str:
    return NAME.sub(lambda found: other if found[0] in names else found[0], text)


def _fixed(program: Program) -> Program:
    """With the example's sizes."""

    def plain(text: str) -> str:
        return re.sub(r"\b[st]\b", lambda found: str(program.sizes.get(found[0], (found[0],))[0]), text)

    return replace(program, inputs=tuple((name, plain(text)) for name, text in program.inputs), sizes={}, varying={})
