"""A compiled program, its delegates and its part on the CPU, beside the PyTorch program that it was made of."""

from __future__ import annotations

import copy
import math
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from torch.export import ExportedProgram

from ..compat.torch import tree_leaves
from ..exir import run_program
from ..exir.pte_steps import needs
from ..lowering.exported_program import is_quantize, user_results
from ..quantize.probe.runner import unwritten
from ..support.errors import ToolError, UsageError
from ..support.external_tools import run_tool

NO_FILES: Mapping[str, bytes] = MappingProxyType({})
#: Seconds that one run may take.
_TIMEOUT_S = 600.0
#: Noise of right programs, dB: what is rounded to 8 bits, to 16 bits, or only sums in another order.
_QUANTIZED_DB, _HALF_DB, _FLOAT_DB = 15.0, 30.0, 60.0
#: Part of an output's integers, such as indices of nearly equal numbers, that may be others; never the only one.
_OTHERS = 0.1


@dataclass(frozen=True)
class OutputDifference:
    """One output of a program that differs from PyTorch's."""

    output: int
    why: str

    def __str__(self) -> str:
        return f"output {self.output} {self.why}"


def differences(
    pte: bytes,
    program: ExportedProgram,
    inputs: Sequence[Any] | None = None,
    *,
    data_files: Mapping[str, bytes] = NO_FILES,
) -> list[OutputDifference]:
    """Runs method ``forward`` once, in a process of its own, beside the program in PyTorch; which outputs differ.

    Args:
        program: that ``pte`` was made of, quantized if that is; it is left as it is.
        inputs: positional ones; None: the example inputs.
        data_files: the contents of the ``.ptd`` files that belong to it, by their names.

    Raises:
        UsageError: there are no inputs, or some that are no tensors; or the program cannot be loaded, fails or dies,
            with what ExecuTorch logged, or with the signal.
    """
    args, kwargs = (program.example_inputs or ((), {})) if inputs is None else (tuple(inputs), {})
    tensors = tree_leaves((args, kwargs))
    if inputs is None and program.example_inputs is None:
        raise UsageError("the program has no example inputs to run it with: give some")
    if not all(isinstance(x, torch.Tensor) for x in tensors):
        raise UsageError("the program takes inputs that are no tensors, which cannot be compared: give tensors only")
    results = _run(pte, data_files, tensors)
    module = program.module()
    with unwritten(module), torch.no_grad():
        wanted = copy.deepcopy(tree_leaves(module(*copy.deepcopy(args), **copy.deepcopy(kwargs))))
    least = _least_db(program, pte)
    if len(results) != len(wanted):
        return [OutputDifference(len(wanted), f"is one of {len(results)}; PyTorch gives {len(wanted)}")]
    zeros = _zero_points(program, len(wanted))
    triples = enumerate(zip(results, wanted, zeros, strict=True))
    unequal = ((i, _difference(x, y, least, zero)) for i, (x, y, zero) in triples)
    return [OutputDifference(i, why) for i, why in unequal if why]


def _run(pte: bytes, data_files: Mapping[str, bytes], inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    with tempfile.TemporaryDirectory(prefix="arm_tosa_") as name:
        folder = Path(name)
        (folder / "program.pte").write_bytes(pte)
        for file, data in data_files.items():
            (folder / file).write_bytes(data)
        torch.save([x.detach().contiguous() for x in inputs], folder / "inputs.pt")
        try:
            run_tool(
                "the compiled program", [sys.executable, "-P", "-m", run_program.__name__, name], timeout=_TIMEOUT_S
            )
        except ToolError as error:
            raise UsageError(f"the compiled program does not run: {error}") from error
        outputs: list[torch.Tensor] = torch.load(folder / "outputs.pt", weights_only=True)
        return outputs


def _least_db(program: ExportedProgram, pte: bytes) -> float:
    """The noise that a right program may have: by how the roughest part of it rounds."""
    nodes = [node for node in program.graph.nodes if node.op in ("placeholder", "call_function")]
    if any(is_quantize(node) for node in nodes) or any("quantize" in name for name in needs(pte).operators):
        return _QUANTIZED_DB
    half = (torch.float16, torch.bfloat16)
    return _HALF_DB if any(getattr(node.meta.get("val"), "dtype", None) in half for node in nodes) else _FLOAT_DB


def _zero_points(program: ExportedProgram, count: int) -> list[int | None]:
    """Of each output whose integers stand for real numbers of one scale; None: of the others."""
    results = user_results(program)
    if len(results) != count:  # some are no tensors
        return [None] * count
    zeros = [node.args[2] if isinstance(node, torch.fx.Node) and is_quantize(node) else None for node in results]
    return [zero if isinstance(zero, int) else None for zero in zeros]


def _difference(result: torch.Tensor, wanted: Any, least_db: float, zero_point: int | None) -> str:
    """How a tensor differs from PyTorch's; empty if it does not."""
    wanted = wanted if isinstance(wanted, torch.Tensor) else torch.tensor(wanted)
    if result.shape != wanted.shape:
        return f"has shape {list(result.shape)}; PyTorch gives {list(wanted.shape)}"
    if zero_point is not None and result.dtype == wanted.dtype:
        result, wanted = result.double() - zero_point, wanted.double() - zero_point
    few = math.ceil(_OTHERS * wanted.numel()) if least_db < _FLOAT_DB and wanted.numel() > 1 else 0
    if not wanted.is_floating_point():
        others = int((result != wanted).sum())
        return f"has {others} of {wanted.numel()} numbers that are others in PyTorch" if others > few else ""
    x, y = result.double(), wanted.double()
    finite = x.isfinite() & y.isfinite()
    if int(((x != y) & ~finite & ~(x.isnan() & y.isnan())).sum()) > few:
        return "has infinities or NaN elsewhere than in PyTorch"
    noise, power = ((x - y)[finite] ** 2).sum(), (y[finite] ** 2).sum()
    decibels = math.inf if not noise else 10 * math.log10(max(float(power), 1e-30) / float(noise))
    largest = float((x - y)[finite].abs().max()) if finite.any() else 0.0
    return f"differs from PyTorch by up to {largest:.3g}, SQNR {decibels:.1f} dB" if decibels < least_db else ""
