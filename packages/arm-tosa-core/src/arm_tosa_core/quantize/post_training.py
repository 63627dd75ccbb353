"""Post-training quantization in one call: equalize, prepare, calibrate, convert, round weights, correct biases."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from ..aten.functionalize import without_transforms
from ..aten.written_state import with_own_inputs
from ..lowering.exported_program import QUANTIZE
from ..lowering.operator_names import canonical
from ..support.arguments import brief, require_callable, require_kind, require_program
from ..support.errors import UsageError
from ..support.library_messages import without_torch_warnings
from .all_zeros import warn_of_all_zeros
from .annotate.norms_behind_layers import settle_norms
from .annotate.plain_module import make_plain
from .coarse_functions import warn_of_coarse_functions
from .corrections.bias_correction import correct_biases
from .corrections.catalogue import Corrections
from .corrections.equalization import equalize
from .corrections.layer_inputs import LayerInputs
from .corrections.shared_scales import keep_narrow
from .corrections.weight_rounding import round_weights
from .decisions import CORRECTED, EQUALIZED, OWN_SCALE, ROUNDED, Decision, decisions, wide_decisions
from .infinities import Infinities
from .long_tails import warn_of_long_tails
from .lost_results import Results, warn_of_lost_results
from .probe.calls import SAMPLES, Sample, as_call, inputs_of
from .probe.runner import Runner, unwritten
from .probe.states import States, find_states, resolve_states, with_carried_states
from .quantizer import TOSAQuantizer
from .usable_weights import require_usable


@dataclass(frozen=True)
class Quantized:
    """A calibrated model.

    Args:
        prepared: it still computes in float.
        converted: what is exported and lowered.
        states: inputs fed from an output of the previous call, given or found by their names, and that output's index.
        report: what was decided for which operator, and why.
    """

    prepared: GraphModule
    converted: GraphModule
    states: Mapping[str, int] = field(default_factory=dict)
    report: Sequence[Decision] = ()


def quantize_program(
    program: ExportedProgram,
    quantizer: TOSAQuantizer,
    samples: Iterable[Sample | Sequence[Any] | torch.Tensor],
    *,
    corrections: Corrections | None = None,
    states: States | None = None,
    progress: Callable[[int], None] = lambda done: None,
    compare: bool = True,
) -> Quantized:
    """Quantizes a float program.

    Args:
        program: of ``torch.export``; it is left as it is, its buffers too.
        samples: calls of the model, each a tensor, a list or tuple of arguments (what a ``DataLoader`` gives without
            labels), or a tuple of arguments and keyword arguments; read once.
        corrections: the corrections to make; None: all.
        states: inputs fed from an output of the previous call: for each its name, and the output's index, name, or key
            in the dictionary that the model returns. Samples then are a sequence, in which only the first call's own
            states count. Both ends have one scale, and 16 bits where the target has int16 (``set_states``).
            None: those that ``states.find_states`` finds, of which samples have their own; ``{}``: there are none.
        progress: called after each sample with their number so far.
        compare: run the quantized model on two of the samples, and compare its results with those in float.

    Raises:
        UsageError: there is no sample, or one is no call of the model, or has infinities that an operator asks for, a
            state that the model does not have, a model that is not in float32, is quantized or has weights with inf or
            NaN, or no quantizer, or one without a scheme.

    Warns:
        AllZerosWarning: no sample has a number other than 0 of an input or a result.
        LongTailWarning: most numbers of an input are lost in 8 bits, or numbers far from all others do harm.
        CoarseFunctionWarning: a function turns between two integers of its operand.
        LostResultWarning: a result has little in common with that in float.
        WrittenInputWarning: the model writes to an input, which the quantized one leaves as it is.
    """
    require_program(program, "quantize_program")
    _require_single_precision(program)
    _require_float(program)
    if not isinstance(quantizer, TOSAQuantizer):
        raise UsageError(
            f"quantize_program takes a quantizer with a scheme, not {brief(quantizer)}: for a target by its name, "
            "TOSAQuantizer(compile_spec).set_global(get_symmetric_quantization_config()), where compile_spec is for "
            'example EthosUCompileSpec("ethos-u55-128") or VgfCompileSpec()'
        )
    if not quantizer.is_configured:
        raise UsageError(
            "the quantizer has no scheme, so nothing would be quantized: call "
            "quantizer.set_global(get_symmetric_quantization_config()) first"
        )
    switches = Corrections() if corrections is None else corrections
    require_kind(switches, Corrections, "corrections")
    if not isinstance(samples, Iterable):
        raise UsageError(f"samples are calls of the model, such as [inputs], not {brief(samples)}")
    if states is not None and not isinstance(states, Mapping):
        raise UsageError(f"states is a dictionary from the names of inputs to outputs, not {brief(states)}")
    require_callable(progress, "progress")
    carried = find_states(program) if states is None else resolve_states(program, states)
    quantizer = copy.copy(quantizer).set_states(carried)
    program = with_own_inputs(without_transforms(program))
    module = program.module()
    require_usable(module)
    make_plain(module, quantizer.rules)
    calls: Iterator[Sample] = (as_call(number, sample) for number, sample in enumerate(samples))
    if states:
        sequence = list(with_carried_states(module, carried, calls))
        calls = iter(_evenly_sampled(sequence))
    first = list(islice(calls, SAMPLES))
    if not first:
        raise UsageError("calibration data is empty: give one sample at least")
    equalized = equalize(module, first, quantizer.rules, layers=switches.equalization, norms=switches.smoothing)
    report = decisions(module, equalized, EQUALIZED)
    if switches.rescaling:
        report += decisions(module, keep_narrow(module, first, quantizer.rules), OWN_SCALE)
    settle_norms(module, quantizer.rules)
    with unwritten(module):
        prepared = _prepared(module, quantizer.set_samples(first))
        inputs = LayerInputs(prepared, quantizer.rules, spreads=switches.rounding)
        layers = inputs.nodes if switches.rounding or switches.bias_correction else ()
        infinities = Infinities(prepared, quantizer.rules)
        looking = Runner(prepared, dict.fromkeys(layers, inputs.see), observe=True)
        plain = Runner(prepared, observe=True)
        floats = _calibrate(looking, plain, len(first), infinities.kept(chain(first, calls)), inputs, progress)
    infinities.refuse()
    report = [*wide_decisions(prepared), *report]
    warn_of_long_tails(prepared)
    warn_of_all_zeros(prepared)
    warn_of_coarse_functions(prepared, quantizer.rules)
    # This one runs only: the annotations of a copy name nodes of the original, and its weights are the original's.
    copies: dict[int, Any] = {id(weight): weight for weight in prepared.parameters()}
    with without_torch_warnings():
        floating = copy.deepcopy(prepared, copies)
    converted = convert_pt2e(prepared)
    if switches.rounding:
        report += decisions(converted, round_weights(converted, inputs), ROUNDED)
    if switches.bias_correction:
        report += decisions(converted, correct_biases(converted, inputs), CORRECTED)
    if compare:
        warn_of_lost_results(floating, converted, floats)
    return Quantized(floating, converted, carried, report)


def _prepared(module: GraphModule, quantizer: TOSAQuantizer) -> GraphModule:
    try:
        prepared: GraphModule = prepare_pt2e(module, quantizer)
    except RecursionError as error:
        raise UsageError(
            "torchao follows operators that share one scale by recursion, and the model has a longer chain of them "
            "than Python allows: raise the limit with sys.setrecursionlimit, or quantize the model in parts"
        ) from error
    return prepared


def _calibrate(
    looking: Runner,
    plain: Runner,
    first: int,
    samples: Iterable[Sample],
    inputs: LayerInputs,
    progress: Callable[[int], None],
) -> Results:
    """Observes all samples, and what layers read of the first ones."""
    prepared, results = looking.program, Results()
    for done, sample in enumerate(samples, 1):
        outputs = (looking if done <= first else plain).outputs(inputs_of(prepared, sample))
        results.add(sample, outputs)
        inputs.next_call()
        progress(done)
    if not results.samples:
        raise UsageError("no tensor of the calibration data has an element: give one sample at least that has some")
    return results


def _require_single_precision(program: ExportedProgram) -> None:
    """Refuses half and double precision: a calibrated scale is a float32. Layers of other types stay in float."""
    floats = {name: tensor for name, tensor in program.state_dict.items() if tensor.is_floating_point()}
    if floats and all(tensor.dtype != torch.float32 for tensor in floats.values()):
        name, tensor = next(iter(floats.items()))
        kind = str(tensor.dtype).removeprefix("torch.")
        raise UsageError(
            f"{name} is {kind}, and a model is quantized from float32: export model.float(), with float32 inputs"
        )


def _require_float(program: ExportedProgram) -> None:
    """Refuses a program that is quantized: it would be rounded twice."""
    if any(node.op == "call_function" and canonical(node.target) in QUANTIZE for node in program.graph.nodes):
        raise UsageError("the program is quantized: lower() takes it as it is, and quantize_program the float one")


def _evenly_sampled(sequence: list[Sample]) -> list[Sample]:
    """A sequence of calls, those first that are spread over all of it: corrections look at the first."""
    step = max(len(sequence) // SAMPLES, 1)
    return sequence[step - 1 :: step] + [call for i, call in enumerate(sequence) if i % step != step - 1]
