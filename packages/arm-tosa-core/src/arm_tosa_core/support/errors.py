"""Every error a user can meet. Each names the fault, its place, and the remedy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .printable import printable


class ArmTosaError(Exception):
    """Base of all errors raised on purpose by these packages.

    Its text has names from files: as a string, control characters in it are escaped.
    """

    def __str__(self) -> str:
        return printable(super().__str__())


class UsageError(ArmTosaError, ValueError):
    """The caller's request is not valid: an unknown name, a malformed file, an option out of range."""


class Rejected(ArmTosaError):
    """An operator cannot be lowered under this specification and target; it stays on the CPU.

    Args:
        reason: one clause that says why, for example ``"kernel width 65 exceeds 64"``.
        fix: the remedy, if one is known.
    """

    def __init__(self, reason: str, fix: str = "") -> None:
        super().__init__(f"{reason} ({fix})" if fix else reason)
        self.reason = reason
        self.fix = fix


def require(condition: bool, reason: str, fix: str = "") -> None:
    """Raises ``Rejected`` unless the condition holds."""
    if not condition:
        raise Rejected(reason, fix)


class LoweringError(ArmTosaError):
    """A node that had been accepted failed to lower: a fault of a rule or a rewrite, or a graph never partitioned."""


class ToolError(ArmTosaError):
    """An external tool (Vela, the model converter, tosa-opt) is missing, failed, hung or wrote garbage.

    Args:
        tool: its name, as a user would call it.
        problem: one clause, for example ``"exited with status 1"``.
        command: the argument list that was run.
        output: of the tool; the last lines are quoted.
        kept: where its input was kept, if anywhere.
        fix: the remedy.
        passing: it died, ran out of time, memory or disk: the same run may succeed another time.
    """

    def __init__(
        self,
        tool: str,
        problem: str,
        *,
        command: Sequence[str] = (),
        output: str = "",
        kept: str | None = None,
        fix: str = "",
        passing: bool = False,
    ) -> None:
        lines = [f"{tool} {problem}"]
        tail = [line for line in output.strip().splitlines() if line.strip()][-12:]
        if tail:
            lines.append("its last lines:")
            lines += [f"    {line}" for line in tail]
        if command:
            lines.append("command: " + " ".join(_quoted(word) for word in command))
        if kept:
            lines.append(f"its input was kept in {kept}")
        if fix:
            lines.append(fix)
        super().__init__("\n".join(lines))
        self.tool = tool
        self.command = tuple(command)
        self.output = output
        self.passing = passing


class MiscompiledError(ToolError):
    """A compiler's program differs from its TOSA graph, and would give wrong results.

    Args:
        difference: an operator or tensor of the graph, and its fault.
        tensor: the operator's result, by its name in the flatbuffer; empty: it is not known.
        details: keyword arguments of ``ToolError``.
    """

    def __init__(self, tool: str, difference: str, *, tensor: str = "", **details: Any) -> None:
        super().__init__(tool, f"wrote another program than its TOSA graph: {difference}", **details)
        self.tensor = tensor
        self._again = tool, difference, details

    def at(self, source: str) -> MiscompiledError:
        """The same with the user's source line."""
        tool, difference, details = self._again
        return MiscompiledError(tool, f"{difference} (from {source})", tensor=self.tensor, **details)


def _quoted(word: str) -> str:
    return f'"{word}"' if " " in word else word


class DefaultInputWarning(UserWarning):
    """Inputs of a model file that have a default are constants of the program."""


class LongTailWarning(UserWarning):
    """Most numbers of an input become 0 when it is quantized, or a number far from all others does harm."""


class AllZerosWarning(UserWarning):
    """Calibration has shown nothing but zeros of an input or a result: the quantized model has no others."""


class CoarseFunctionWarning(UserWarning):
    """A function turns between two integers of its operand: its results are noise in the quantized model."""


class LostResultWarning(UserWarning):
    """A result of the quantized model has little in common with that in float, on samples of the calibration."""


class BatchNormWarning(UserWarning):
    """torchao gives a batch norm another ``eps`` when a quantized model is trained."""


class NothingDelegatedWarning(UserWarning):
    """No operator of a program was delegated."""


class MissingKernelWarning(UserWarning):
    """The ExecuTorch that is installed has no kernel for an operator that stays on the CPU."""


class WrittenInputWarning(UserWarning):
    """A model writes to one of its inputs, which a program leaves as it is."""
