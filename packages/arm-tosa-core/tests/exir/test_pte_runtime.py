"""A ``.pte`` in ExecuTorch's runtime: its bytes live as long as its methods."""

from __future__ import annotations

import sys

import torch
from executorch.exir import to_edge

from arm_tosa_core.exir.pte import read
from arm_tosa_core.exir.pte_runtime import load_method, load_program


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2 + 1


def test_a_method_keeps_the_bytes_of_its_program() -> None:
    """As ``compile_llm(...).generator()`` needs them, which nobody else keeps."""
    pte = to_edge(torch.export.export(Net(), (torch.ones(4),))).to_executorch().buffer
    before = sys.getrefcount(pte)
    method = load_method(load_program(read(pte), "it"), "forward", "it")
    assert sys.getrefcount(pte) > before
    assert method.execute([torch.ones(4)])[0].tolist() == [3.0] * 4
    del method
    assert sys.getrefcount(pte) == before, "and no longer"
