"""``arm-tosa compile``: a model to a ``.pte``, or to the target's own format."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from ..exir.compiled_delegate import CompiledDelegate
from ..exir.figures import Figures
from ..exir.target_options import compile_spec_for
from ..exir.watchers import watched
from ..plugin import entry_points as plugins
from ..plugin.target import Target
from ..report.page import require_page, write_page
from ..report.page_data import page_data
from ..support.atomic_files import require_folder, require_writable, write_atomic
from ..support.errors import UsageError
from .advice import advised, longest, with_advice
from .calibration import bundled_cases
from .chip import device as shown_device
from .compiled_delegates import data_of, say_notes, show_figures, show_layers, show_peaks, table_of, with_costs
from .delegate_times import DelegateTimes
from .files import read_tosa, require_takes
from .lowered import is_whole_file, lowered_file, lowered_program
from .making import making
from .model import FORMS, load_program
from .options import (
    Calibration,
    InputShapes,
    InputValues,
    Options,
    Quantize,
    Schedule,
    Sram,
    TargetName,
    Trust,
    parse_options,
)
from .progress import progress
from .quantize import prepare
from .report import Result, say
from .stages import printed_after, stages
from .whole_payload import whole_payload
from .whole_program import with_whole

if TYPE_CHECKING:
    from ..exir.compile_spec import ArmCompileSpec
    from ..flow import LoweredProgram
    from ..quantize.decisions import Decision

#: The end of the line about what takes the time.
_ADVICE = "; --advice tries what would help"
#: Of memory.
_USUAL_FORMAT = "contiguous"


def compile_(
    model: Annotated[str, typer.Argument(metavar="MODEL", help=FORMS.capitalize() + ".")],
    target: TargetName,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", help="The .pte to write, or a file in the target's own format, such as .vgf."),
    ],
    quantize: Quantize = None,
    calibration: Calibration = None,
    option: Options = None,
    memory_format: Annotated[
        str,
        typer.Option(
            metavar="FORMAT",
            help="How inputs lie in memory: contiguous (row-major), channels_last (as cameras give pictures), or "
            "preserve (as the example inputs lie).",
        ),
    ] = _USUAL_FORMAT,
    integer_io: Annotated[
        bool,
        typer.Option("--integer-io", help="Take and return the integers of a quantized model, no float tensors."),
    ] = False,
    schedule: Schedule = None,
    sram: Sram = None,
    bundle: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npz",
            help="Also write a bundled program (.bpte) beside the .pte: with these inputs, an array per input, samples "
            "first, and the outputs that PyTorch computes.",
        ),
    ] = None,
    etrecord: Annotated[
        Path | None,
        typer.Option(
            help="Write ExecuTorch's ETRecord to this file, for its Inspector. Implies --no-cache.",
        ),
    ] = None,
    external_constants: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Write weights to NAME.ptd in the folder of the .pte (Ethos-U only); run it with --data NAME.ptd. "
            "Implies --no-cache.",
        ),
    ] = None,
    artifacts: Annotated[
        Path | None, typer.Option(help="Folder for the TOSA graphs and the tools' outputs; `verify` needs them.")
    ] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Neither read nor write the cache of results.")] = False,
    print_after: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STAGE|REWRITE",
            help="Print the TOSA graphs after LOWER, OPTIMIZE or LEGALIZE, or after each use of the rewrite of this "
            "name, with the reason; may be given several times. Implies --no-cache.",
        ),
    ] = None,
    print_to: Annotated[Path | None, typer.Option(help="File for --print-after. Default: standard error.")] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.html",
            help="Write all figures as one page: the network, a table of operators, memory over time, what stayed on "
            "the CPU and why. If the target has a timing model, its estimate is included: the model is compiled once "
            "more, without the cache.",
        ),
    ] = None,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Run the program once, delegates and CPU, on the example inputs, in a process of its own, and compare "
            "its outputs with PyTorch's. A quantized program is compared with the quantized model.",
        ),
    ] = False,
    allow_missing_kernels: Annotated[
        bool,
        typer.Option(
            "--allow-missing-kernels",
            help="Write the .pte even if the ExecuTorch installed here lacks a kernel for an operator on the CPU: "
            "without this option that is an error. Your runtime has to register the kernel.",
        ),
    ] = False,
    details: Annotated[
        bool,
        typer.Option(
            "--details",
            help="Print the tensors that are in on-chip memory when most of it is in use, and the estimated time of "
            "each delegate on the device, by operator and by source line. With --quantize also the cost of its "
            "decisions: this quantizes once more for each reason.",
        ),
    ] = False,
    advice: Annotated[
        bool,
        typer.Option(
            "--advice",
            help="Also list changes that make the program faster: other options of the target, another quantization, "
            "changes of the network. Each is tried: up to 8 more compilations.",
        ),
    ] = False,
    trace: Annotated[
        Path | None, typer.Option(help="Write the timing model's estimate to this file, as a trace for Perfetto.")
    ] = None,
    trust: Trust = False,
    input_shape: InputShapes = None,
    input_value: InputValues = None,
    print_stages: Annotated[
        bool,
        typer.Option(
            "--print-stages",
            help="Print the order of a compile, and the rewrites in it, and exit: those of --target, or of all "
            "targets. Needs no MODEL and no --output.",
        ),
    ] = False,
) -> Result:
    """Compile a model for a target."""
    if print_stages:
        return stages(target)
    started = time.perf_counter()
    device = plugins.target(target)
    spec = compile_spec_for(device, parse_options(option, schedule=schedule, sram_budget=sram))
    for path in (output, trace, etrecord):
        if path is not None:
            require_writable(path)
    if report is not None:
        require_page(report)
    times = DelegateTimes(spec, details or report is not None, trace)
    is_program = output.suffix == ".pte"
    more = (quantize, calibration, bundle, etrecord, external_constants, artifacts, print_after, report, verify, advice)
    # A .tosa for the target's own format is compiled as it is, without a program.
    others = (*more[:5], *more[6:], print_to, memory_format != _USUAL_FORMAT)
    is_graph = Path(model).suffix == ".tosa" and output.suffix == device.compiler.suffix and not any(others)
    no_details = details and not times.wanted and times.target.compiler.compile_in_detail is None
    formats, suffixes = _memory_formats(memory_format), [".pte", device.compiler.suffix]
    rows: list[tuple[object, str]] = [
        (no_details, f"--details: target {target!r} tells neither times nor memory"),
        (
            output.suffix not in suffixes,
            f"-o {output}: target {device.name!r} makes {' or '.join(suffixes)}, not {output.suffix!r}",
        ),
        (
            (bundle or etrecord or external_constants) and not is_program,
            f"--bundle, --etrecord and --external-constants go with a .pte, and -o is {output}",
        ),
        (verify and not is_program, f"--verify runs a .pte, and -o is {output}"),
        (
            bundle and (integer_io or memory_format != _USUAL_FORMAT),
            "--bundle goes with inputs as PyTorch has them: leave out --integer-io and --memory-format",
        ),
        (
            bundle and external_constants,
            "--bundle makes one file with all that a test needs: leave out --external-constants",
        ),
        (memory_format not in formats, f"--memory-format is one of {', '.join(formats)}, not {memory_format!r}"),
    ]
    if conflicts := [text for holds, text in rows if holds]:
        raise UsageError("; ".join(conflicts))
    if artifacts is not None:
        require_folder(artifacts)
        spec.dump_intermediate_artifacts_to(artifacts)
    if is_graph:
        return _compile_tosa(Path(model), device, spec, output, artifacts, details, times)
    no_kernels = allow_missing_kernels or not is_program
    if is_whole_file(model) and not (details or trace or any(more)):
        lowered = lowered_file(
            model, spec, input_shape, input_value, memory_format, integer_io, not no_cache, no_kernels
        )
        figures = _written(lowered, output, spec.target(), started)
        return _result(lowered, figures, target, output, False, (), times, _ADVICE)
    from ..flow import ExecuTorchOptions

    options = None
    if etrecord is not None or external_constants is not None:
        options = ExecuTorchOptions(etrecord=etrecord, external_constants=external_constants)

    printed = printed_after(print_after or [], spec.target(), print_to)
    prepared = prepare(
        load_program(model, trust=trust, shapes=input_shape, values=input_value),
        spec,
        quantize,
        calibration,
        costs=details,
    )
    program, costs = prepared.program, prepared.costs
    tests = [] if bundle is None else bundled_cases(bundle, program)
    with printed, watched(times.watch):
        cache = not (no_cache or print_after or times.wanted)
        with progress() as shown:
            lowered = lowered_program(
                program,
                spec,
                quantization=quantize,
                cache=cache,
                memory_format=memory_format,
                integer_io=integer_io,
                allow_missing_kernels=no_kernels,
                executorch=options,
                progress=lambda stage, done: shown(stage, round(100 * done), 100),
            )
    figures = _written(lowered, output, spec.target(), started)
    if tests:
        write_atomic(output.with_suffix(".bpte"), lowered.bundled(tests))
    times.write_trace()
    found = advised(prepared, lowered, spec, memory_format, integer_io) if advice else None
    if report is not None:
        made = making(f"{output.name} for {shown_device(target)}", spec)
        told = () if found is None else found.told
        write_page(report, page_data(made, lowered.report, figures, times.of_delegates(), advice=told))
    result = with_costs(
        _result(lowered, figures, target, output, details, prepared.decisions, times, "" if advice else _ADVICE),
        costs,
        times.clock or figures.clock_hz,
    )
    if found is not None:
        result = with_advice(result, found)
    return with_whole(result, lowered.differences(program)) if verify else result


def _memory_formats(asked: str) -> Sequence[str]:
    if asked == _USUAL_FORMAT:
        return [asked]
    from ..aten.memory_format import MEMORY_FORMATS  # late: it loads PyTorch

    return list(MEMORY_FORMATS)


def _written(lowered: LoweredProgram, output: Path, target: Target, started: float) -> Figures:
    """The figures of the program, which is in ``output`` now."""
    if output.suffix == ".pte":
        lowered.save(output)
    else:
        write_atomic(output, whole_payload(lowered, output, target))
    return replace(lowered.figures, file_bytes=output.stat().st_size, seconds=time.perf_counter() - started)


def _compile_tosa(
    model: Path,
    target: Target,
    spec: ArmCompileSpec,
    output: Path,
    artifacts: Path | None,
    details: bool,
    times: DelegateTimes,
) -> Result:
    started = time.perf_counter()
    tosa = read_tosa(model)
    bound = spec.target()
    compiler = bound.compiler
    if compiler.compile is None:
        raise UsageError(f"target {target.name!r} takes TOSA itself: there is nothing to compile in {model}")
    require_takes(bound, tosa, model)
    options = {} if artifacts is None else {"artifacts": str(artifacts)}
    if compiler.compile_in_detail is not None:
        made = compiler.compile_in_detail(tosa, options)
        data, said = made.payload, CompiledDelegate.of(made, {})
    else:
        data, said = compiler.compile(tosa, options), CompiledDelegate()
    write_atomic(output, data)
    figures = Figures.of_graph(said, len(data), time.perf_counter() - started)
    times.take(tosa, data)
    times.write_trace()
    say_notes(figures)

    def show(console: Console) -> None:
        show_figures(console, f"{output} for {shown_device(target.name)}", figures)
        if details:
            show_peaks(console, [said])
            show_layers(console, [said])
            times.show(console)

    known = {"output": str(output), "target": target.name, "figures": figures.to_json(), "compiled": [asdict(said)]}
    return Result({**known, **times.data()}, show)


def _result(
    lowered: LoweredProgram,
    figures: Figures,
    target: str,
    output: Path,
    details: bool,
    decisions: Sequence[Decision],
    times: DelegateTimes,
    further: str,
) -> Result:
    rejected = lowered.report.rejected
    if rejected:
        say(
            "warning: 1 operator stays on the CPU"
            if len(rejected) == 1
            else f"warning: {len(rejected)} operators stay on the CPU"
        )
    if lacking := lowered.report.without_kernels():
        say(f"warning: {lacking}")
    say_notes(figures)
    memory = [None if taken is None else taken.memory for taken in lowered.inputs]
    data = {
        "output": str(output),
        "target": target,
        "inputs_in_memory": memory,
        "figures": figures.to_json(),
        "delegates": lowered.report.delegates,
        "cached": lowered.cached,
        "integers": {name: found.to_json() for name, found in lowered.integers.items()},
        "quantization": list(map(asdict, decisions)),
        "compiled": [asdict(said) for said in lowered.report.compiled],
        **data_of(lowered.report),
        **times.data(),
    }

    def show(console: Console) -> None:
        origin = ", from the cache" if lowered.cached else ""
        show_figures(console, f"{output} for {shown_device(target)}{origin}", figures)
        console.print(_inputs(memory))
        if details:
            show_peaks(console, lowered.report.compiled)
            show_layers(console, lowered.report.compiled)
            times.show(console)
        if text := longest(lowered.report.compiled):
            console.print(text + further, markup=False, highlight=False, soft_wrap=True)
        if rejected:
            console.print(table_of(lowered.report))

    return Result(data, show)


def _inputs(memory: Sequence[str | None]) -> str:
    """What who calls the program must know of how its inputs lie in memory."""
    orders = {order for order in memory if order is not None}
    if len(orders) == 1:
        return f"inputs in memory: {orders.pop()}"
    each = (f"input{i} {order}" for i, order in enumerate(memory) if order is not None)
    return f"inputs in memory: {', '.join(each) or 'none'}"
