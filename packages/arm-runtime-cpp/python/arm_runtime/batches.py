"""One program for several batch sizes: a method for each, and the smallest that fits runs.

For targets and engines on which shapes are fixed (docs/adr/0004-vgf-shapes.md): a ``.pte`` may have several methods.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


class BatchedProgram:
    """A program whose methods ``NAME_N`` are one model, exported for N rows.

    It is for models that treat each row by itself: missing rows are filled with zeros, and theirs are cut off the
    outputs. A method is loaded when it is first needed.

    Args:
        program: an ``executorch.runtime.Program``.
        name: what the methods' names begin with.

    Raises:
        ValueError: the program has no such method.
    """

    def __init__(self, program: Any, name: str = "forward") -> None:
        self._program = program
        found = (re.fullmatch(rf"{re.escape(name)}_(\d+)", method) for method in program.method_names)
        self._names = {int(match[1]): match[0] for match in found if match}
        if not self._names:
            raise ValueError(f"no method is called {name}_N; there are {sorted(program.method_names)}")
        self._methods: dict[int, Any] = {}

    @property
    def sizes(self) -> list[int]:
        """The compiled batch sizes, smallest first."""
        return sorted(self._names)

    def execute(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Runs the model on the rows of the inputs, which lie along their first dimension.

        The methods take row-major inputs, as ``lower`` makes them; inputs that lie otherwise are copied.

        Raises:
            ValueError: the inputs differ in rows, or have more than the largest method takes.
        """
        import torch

        rows = {x.shape[0] for x in inputs}
        if len(rows) != 1:
            raise ValueError(f"the inputs have {sorted(rows)} rows; they must have as many")
        (count,) = rows
        size = next((s for s in self.sizes if s >= count), None)
        if size is None:
            raise ValueError(f"{count} rows are more than the largest method takes ({self.sizes[-1]})")
        if size not in self._methods:
            self._methods[size] = self._program.load_method(self._names[size])
        # ExecuTorch takes channels-last tensors for row-major ones without a word, and torch.cat keeps their order.
        padded = [torch.cat([x, x.new_zeros(size - count, *x.shape[1:])]).contiguous() for x in inputs]
        return [y[:count] for y in self._methods[size].execute(padded)]
