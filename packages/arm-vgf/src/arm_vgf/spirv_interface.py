"""What a compute shader's SPIR-V says of itself: its bindings, and how many threads a work group has."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from arm_tosa_core.support.errors import UsageError

from .spirv import HEADER_WORDS, MAGIC, instructions

_COMPUTE = 5
# Instructions.
_ENTRY_POINT, _EXECUTION_MODE = 15, 16
_IMAGE, _SAMPLED_IMAGE, _STRUCT, _POINTER = 25, 27, 30, 32
_VARIABLE, _DECORATE, _MEMBER_DECORATE = 59, 71, 72
# Decorations.
_NON_WRITABLE, _BINDING, _SET = 24, 33, 34
_LOCAL_SIZE = 17

BUFFER, STORAGE_IMAGE, SAMPLER, OTHER = "a buffer", "a storage image", "a sampler", "something else"


@dataclass(frozen=True)
class Variable:
    """What stands at a binding.

    Args:
        kind: one of the four above.
        read_only: the code cannot write to it.
    """

    kind: str
    read_only: bool


@dataclass(frozen=True)
class Interface:
    """Of an entry point.

    Args:
        variables: by descriptor set and binding.
        local_size: threads of a work group along x, y and z; None: the code does not say it as plain numbers.
    """

    variables: dict[tuple[int, int], Variable]
    local_size: tuple[int, int, int] | None


def interface_of(code: bytes, entry_point: str) -> Interface:
    """Reads a module.

    Raises:
        UsageError: it is no SPIR-V, is damaged, or has no compute shader of this name.
    """
    try:
        return _Reader(code, entry_point).interface()
    except (struct.error, IndexError, KeyError) as error:
        raise UsageError(f"the SPIR-V is damaged ({type(error).__name__}: {error})") from None


class _Reader:
    def __init__(self, code: bytes, entry_point: str) -> None:
        if len(code) < 4 * HEADER_WORDS or len(code) % 4 or struct.unpack_from("<I", code)[0] != MAGIC:
            raise UsageError("this is no SPIR-V: it begins with another word, or is no whole number of words")
        self._words: tuple[int, ...] = struct.unpack(f"<{len(code) // 4}I", code)
        self._entry_point = entry_point
        self._types: dict[int, tuple[int, list[int]]] = {}
        self._decorations: dict[int, dict[int, int]] = {}
        self._read_only_members: dict[int, set[int]] = {}
        self._variables: list[tuple[int, int]] = []
        self._entries: dict[str, int] = {}
        self._sizes: dict[int, tuple[int, int, int]] = {}

    def interface(self) -> Interface:
        for _, number, ops in instructions(self._words):
            self._note(number, ops)
        if self._entry_point not in self._entries:
            there = f"; it has {', '.join(map(repr, self._entries))}" if self._entries else ""
            raise UsageError(f"the SPIR-V has no compute shader {self._entry_point!r}{there}")
        found = {}
        for variable, pointer in self._variables:
            noted = self._decorations.get(variable, {})
            if _BINDING in noted:
                found[noted.get(_SET, 0), noted[_BINDING]] = self._variable(variable, pointer)
        return Interface(found, self._sizes.get(self._entries[self._entry_point]))

    def _note(self, number: int, ops: list[int]) -> None:
        if number == _ENTRY_POINT and ops[0] == _COMPUTE:
            text = struct.pack(f"<{len(ops) - 2}I", *ops[2:])
            self._entries[text.split(b"\0", 1)[0].decode(errors="replace")] = ops[1]
        elif number == _EXECUTION_MODE and ops[1] == _LOCAL_SIZE:
            self._sizes[ops[0]] = (ops[2], ops[3], ops[4])
        elif number == _DECORATE:
            self._decorations.setdefault(ops[0], {})[ops[1]] = ops[2] if len(ops) > 2 else 0
        elif number == _MEMBER_DECORATE and ops[2] == _NON_WRITABLE:
            self._read_only_members.setdefault(ops[0], set()).add(ops[1])
        elif number in (_IMAGE, _SAMPLED_IMAGE, _STRUCT, _POINTER):
            self._types[ops[0]] = number, ops[1:]
        elif number == _VARIABLE:
            self._variables.append((ops[1], ops[0]))

    def _variable(self, variable: int, pointer: int) -> Variable:
        pointed = self._types[pointer][1][1]
        number, ops = self._types.get(pointed, (0, []))
        plain = _NON_WRITABLE in self._decorations.get(variable, {})
        if number == _STRUCT:
            members = self._read_only_members.get(pointed, set())
            return Variable(BUFFER, plain or (bool(ops) and members >= set(range(len(ops)))))
        if number == _SAMPLED_IMAGE:
            return Variable(SAMPLER, read_only=True)
        if number == _IMAGE and ops[5] == 2:  # used without a sampler
            return Variable(STORAGE_IMAGE, plain)
        return Variable(OTHER, read_only=False)
