"""The SPIR-V of a VGF's graph: its operators, and what of it must be the same in one for several sizes."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from arm_tosa_core.support.errors import UsageError

from .spirv import MAGIC, instructions
from .vgf_format import MODULES, section
from .vgf_ports import ports

_EXT_INST, _COMPOSITE_EXTRACT, _GRAPH_CONSTANT, _SET_OUTPUT = 12, 81, 4181, 4185

_FIX = "export with these sizes fixed, or with other bounds"


@dataclass(frozen=True)
class GraphOperator:
    """An operator in the code of a VGF's graph.

    Args:
        kind: its number in the set of TOSA's instructions.
        result: the number of its result.
        reads: the numbers of what it reads, constants too.
    """

    kind: int
    result: int
    reads: tuple[int, ...]


def operators_of(vgf: bytes) -> list[GraphOperator]:
    """The operators of a VGF with one module, in order. A part of a result of several counts as the whole."""
    operators, wholes = [], dict[int, int]()
    for _, number, ops in instructions(_code(section(vgf, MODULES))[1].tolist()):
        if number == _COMPOSITE_EXTRACT:
            wholes[ops[1]] = wholes.get(ops[2], ops[2])
        elif number == _EXT_INST:
            operators.append(GraphOperator(ops[3], ops[1], tuple(wholes.get(id, id) for id in ops[4:])))
    return operators


def module_table_of(sample: bytes, largest: bytes) -> bytes:
    """The module table of a VGF, in which each constant has the number that it has at the largest sizes.

    The model converter writes constants of few elements into the code, and numbers the others, which are in the file.
    A constant that grows with a size is in the code of some sizes only, and the numbers of those behind it differ.

    Args:
        sample: the program at other sizes.
        largest: the program at its largest sizes.

    Raises:
        UsageError: they differ in more than sizes.
    """
    table = section(sample, MODULES)
    if largest == sample:
        return table
    start, words = _code(table)
    theirs, ours = (list(instructions(each.tolist())) for each in (words, _code(section(largest, MODULES))[1]))
    numbers = {ops[1]: ops[2] for _, number, ops in ours if number == _GRAPH_CONSTANT}
    places = {ops[1]: place for place, number, ops in theirs if number == _GRAPH_CONSTANT}
    pairs = [[ops for _, number, ops in each if number == _EXT_INST] for each in (ours, theirs)]
    if [(ops[3], len(ops)) for ops in pairs[0]] != [(ops[3], len(ops)) for ops in pairs[1]]:
        raise UsageError(f"the model converter makes other operators at some sizes of a part that varies: {_FIX}")
    results = {ops[1] for ops in pairs[0]}
    computed = [ops[0] for _, number, ops in ours if number == _SET_OUTPUT and ops[0] in results]
    if len(computed) != len(ports(largest)[1]):
        raise UsageError(f"the model converter makes an input or a constant of a result whose sizes vary: {_FIX}")
    for our, their in zip(*pairs, strict=True):
        for id, larger in zip(our[4:], their[4:], strict=True):
            if larger not in places:
                continue
            if id not in numbers:
                raise UsageError(f"a constant is larger at smaller sizes of a part that varies: {_FIX}")
            words[places[larger] + 3] = numbers[id]
    return table[:start] + words.tobytes() + table[start + words.nbytes :]


def _code(table: bytes) -> tuple[int, np.ndarray[tuple[int], np.dtype[np.uint32]]]:
    """The position of the only module's code in a module table, and a copy of its words."""
    start = table.index(struct.pack("<I", MAGIC))
    (count,) = struct.unpack_from("<I", table, start - 4)
    return start, np.frombuffer(table, "<u4", count, start).copy()
