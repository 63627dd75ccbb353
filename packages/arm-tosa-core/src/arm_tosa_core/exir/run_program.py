"""Runs method ``forward`` of a ``.pte`` in this process, which may die of it: ``python -m ... FOLDER``.

The folder holds ``program.pte``, its ``.ptd`` files and ``inputs.pt``, a list of tensors; ``outputs.pt`` is written.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from ..support.errors import UsageError
from .pte import read
from .pte_runtime import arranged, load_method, load_program, logged


def main(folder: Path) -> None:
    """Runs it.

    Raises:
        UsageError: it cannot be loaded, or fails.
    """
    data = sorted(folder.glob("*.ptd"))
    pte = read((folder / "program.pte").read_bytes(), [file.read_bytes() for file in data])
    method = load_method(load_program(pte, "the program", data=data), "forward", "the program")
    inputs = torch.load(folder / "inputs.pt", weights_only=True)
    with logged("running the program failed"):
        results = method.execute(
            [arranged(x, expected) for x, expected in zip(inputs, pte.inputs["forward"], strict=True)]
        )
    torch.save([x if isinstance(x, torch.Tensor) else torch.tensor(x) for x in results], folder / "outputs.pt")


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except UsageError as error:
        sys.exit(str(error))
