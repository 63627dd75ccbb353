"""Kernels as functions of a C source file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from arm_tosa_core.tosa.ir import Op, Tensor

from ..c_text import c_type
from .kernel import Kernel


class Functions:
    """The functions that a source file needs; operators that compute the same share one."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, str], str] = {}
        self._texts: list[str] = []
        self._counts: Counter[str] = Counter()

    @property
    def text(self) -> str:
        """All functions, in the order of their first use."""
        return "\n".join(self._texts)

    def call(self, op: Op, kernel: Kernel, operands: Mapping[int, str], result: str) -> str:
        """A call of an operator's function, without a semicolon.

        Args:
            operands: C expressions, by position, for those that the kernel reads.
        """
        parameters = ", ".join(
            [f"{c_type(op.output.dtype)} *output"]
            + [f"const {c_type(op.inputs[position].dtype)} *input{position}" for position in kernel.reads]
        )
        body = "\n".join(f"    {line}".rstrip() for line in kernel.body)
        key = parameters, body
        if key not in self._names:
            name = f"{op.name.lower()}_kernel{self._counts[op.name]}"
            self._counts[op.name] += 1
            kind = "model_status" if kernel.may_fail else "void"
            self._names[key] = name
            self._texts.append(
                f"/* {_described(op)} */\nTOSA_KERNEL static {kind} {name}({parameters}) {{\n{body}\n}}\n"
            )
        return f"{self._names[key]}({', '.join([result, *(operands[position] for position in kernel.reads)])})"


def _described(op: Op) -> str:
    operands = ", ".join(_type(tensor) for tensor in op.inputs if not tensor.is_constant or tensor.size > 1)
    return f"{op.name} of {operands} to {_type(op.output)}."


def _type(tensor: Tensor) -> str:
    return f"{tensor.dtype} {' x '.join(map(str, tensor.shape)) or 'scalar'}"
