"""What differs between a graph and what Vela made of it."""

from __future__ import annotations

from dataclasses import dataclass

from arm_tosa_core.tosa.ir import Op


@dataclass(frozen=True)
class Difference:
    """A fault of Vela.

    Args:
        op: the operator of the graph that is computed wrongly; None: it is not known which.
        what: what is wrong, as in ``"padding"``.
    """

    op: Op | None
    what: str
    written: str
    right: str

    @property
    def tensor(self) -> str:
        """The operator's result, by its name in the flatbuffer; empty: it is not known."""
        return (self.op.outputs[0].name or "") if self.op is not None else ""

    def __str__(self) -> str:
        where = f"{self.op.name} {self.tensor}" if self.op is not None else "a command of no operator"
        return f"{where}: {self.what} {self.written}, right is {self.right}"
