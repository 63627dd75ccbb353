"""``--quantize`` and ``--calibration``: the program as it is to be lowered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..accuracy.scheme import ALIASES, unknown_scheme
from ..support.errors import UsageError
from .calibration import samples
from .progress import progress
from .report import say

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from ..accuracy.scheme import Scheme
    from ..exir.compile_spec import ArmCompileSpec
    from ..quantize.decision_costs import DecisionCost
    from ..quantize.decisions import Decision
    from ..quantize.quantizer import TOSAQuantizer

#: Calibration samples below which a note says that there are few.
_FEW = 8
QUANTIZATIONS = ("int8", "int16x8", "int8x4")


class Prepared(NamedTuple):
    """A program as it is to be lowered, what quantization decided for its operators, and what that costs.

    Args:
        original: the program before quantization.
        quantizer, samples: what quantized it, and with what; None and nothing: it is as it was.
    """

    program: ExportedProgram
    original: ExportedProgram
    decisions: Sequence[Decision] = ()
    costs: Sequence[DecisionCost] = ()
    quantizer: TOSAQuantizer | None = None
    samples: Sequence[Any] = ()


def prepare(
    program: ExportedProgram,
    spec: ArmCompileSpec,
    quantization: str | None,
    calibration: Path | None,
    *,
    costs: bool = False,
) -> Prepared:
    """The program as it is to be lowered: quantized by ``quantization``, calibrated with ``calibration``, if asked for.

    Args:
        costs: find out what decisions cost, which takes another quantization and estimate for each reason.

    Raises:
        UsageError: an unknown quantization, a target without integers, bad calibration data, or a program that is
            quantized already.
    """
    from ..lowering.exported_program import is_quantized  # late: it loads PyTorch

    if quantization is None:
        if calibration is not None:
            raise UsageError("--calibration needs --quantize: add --quantize int8, int16x8 or int8x4")
        return Prepared(program, program)
    quantization = ALIASES.get(quantization, quantization)
    if quantization not in QUANTIZATIONS and not quantization.endswith(".json"):
        raise unknown_scheme(quantization, QUANTIZATIONS)
    if not spec.tosa_spec.support_integer():
        raise UsageError(f"--quantize {quantization} needs the INT profile, which the target's {spec.tosa_spec} lacks")
    if quantization == "int16x8" and not spec.tosa_spec.support_extension("int16"):
        raise UsageError(f"--quantize int16x8 needs the extension int16, which the target's {spec.tosa_spec} lacks")
    if is_quantized(program):
        raise UsageError("the model is quantized already; leave --quantize out")
    return _quantize(program, spec, quantization, calibration, costs)


def hint(program: ExportedProgram, spec: ArmCompileSpec, quantization: str | None) -> str:
    """What to do about a float model on a target that has integers only; empty if that is not the trouble.

    Args:
        program: after quantization, if one was asked for.
    """
    from ..lowering.exported_program import has_reals, is_quantized  # late: it loads PyTorch

    if spec.tosa_spec.support_float() or is_quantized(program) or not has_reals(program):
        return ""
    if quantization:
        return "No operator of the model is one that quantization has a rule for"
    return "The model is not quantized and the target has no floating point: add --quantize int8"


def _quantize(
    program: ExportedProgram,
    spec: ArmCompileSpec,
    quantization: str,
    calibration: Path | None,
    costs: bool,
) -> Prepared:
    import torch

    from ..compat.torch_sizes import dynamic_shapes
    from ..quantize.decision_costs import decision_costs
    from ..quantize.decisions import summary
    from ..quantize.post_training import quantize_program

    if calibration is not None:
        data = list(samples(calibration, program))
        if len(data) < _FEW:
            many = "samples set" if len(data) > 1 else "sample sets"
            say(f"note: {len(data)} {many} the ranges of activations; give 32 or more, or accuracy may suffer")
    elif program.example_inputs is not None:
        say("note: calibrating with the example inputs alone; --calibration gives data of your own")
        data = [program.example_inputs]
    else:
        raise UsageError("the model was saved without example inputs; give data with --calibration")
    quantizer = _scheme(quantization).quantizer(spec)
    with progress() as shown:
        quantized = quantize_program(
            program,
            quantizer,
            data,
            progress=lambda done: shown("calibrating", done, len(data)),
        )
    for name, place in quantized.states.items():
        say(f"note: by its name, input {name!r} is output {place} of the call before: both have one scale")
    if decided := summary(quantized.report):
        say(f"note: quantization changed operators: {decided}. `compile --json` lists them")
    args, kwargs = program.example_inputs or data[0]
    exported = torch.export.export(quantized.converted, args, kwargs, dynamic_shapes=dynamic_shapes(program))
    if not costs:
        return Prepared(exported, program, quantized.report, quantizer=quantizer, samples=data)
    with progress() as shown:
        cost = decision_costs(
            program, quantizer, data, quantized.report, progress=lambda *step: shown("estimating decisions", *step)
        )
    return Prepared(exported, program, quantized.report, cost, quantizer, data)


def _scheme(quantization: str) -> Scheme:
    from ..accuracy.scheme import Scheme, read_scheme

    return read_scheme(Path(quantization)) if quantization.endswith(".json") else Scheme(quantization)
