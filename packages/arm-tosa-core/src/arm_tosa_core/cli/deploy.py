"""``arm-tosa deploy``: models as firmware, whose sources CMake builds for a board."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from ..exir.pte import Pte, target_of
from ..exir.target_options import checked_spec, compile_spec_for
from ..plugin import entry_points as plugins
from ..plugin.chip import FACTS
from ..plugin.firmware import Deployed, Firmware, Program, firmware_of
from ..plugin.target import Target
from ..support.atomic_files import require_folder
from ..support.errors import UsageError
from .chip import chip_given
from .files import read, read_program
from .lowered import lowered_program
from .model import FORMS, load_program
from .options import Calibration, InputShapes, InputValues, Options, Quantize, Sram, Trust, parse_options
from .quantize import prepare
from .report import Result, table

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from ..exir.compile_spec import ArmCompileSpec

#: The board that is there to be filled in, and facts of a chip that belong into its files.
_GENERIC = "generic"
_OF_BOARD = ("cpu", "sram", "memories", "nonvolatile", "dram", "npu")


def deploy(
    models: Annotated[
        list[str],
        typer.Argument(metavar="MODEL...", help=f"{FORMS.capitalize()}; or a .pte."),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="Where the firmware's sources go.")],
    board: Annotated[
        str,
        typer.Option(
            help="The board, such as mps3-an547, generic (a chip of yours) or host. A wrong name: the error lists all."
        ),
    ] = "",
    form: Annotated[
        str,
        typer.Option(
            "--format",
            help="cmake: a project for the board; zephyr, cmsis-pack: a part of your system, for any board; "
            "executorch: a project with ExecuTorch's runtime, for models of which a part stays on the CPU.",
        ),
    ] = "cmake",
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            "-t",
            help="The target to compile models for, such as ethos-u55-128. Not for a .pte, which is compiled.",
        ),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(
            help="Name of a model in C: give one per MODEL, in order. Default: the name of its file or function."
        ),
    ] = None,
    quantize: Quantize = None,
    calibration: Calibration = None,
    option: Options = None,
    sram: Sram = None,
    trust: Trust = False,
    input_shape: InputShapes = None,
    input_value: InputValues = None,
) -> Result:
    """Make firmware of models: a C library each, and a CMake project that builds them for a board.

    Required besides MODEL and --output: --board with the format cmake, --target unless each MODEL is a .pte, and
    --quantize unless each is quantized.
    """
    named = dict(zip(_names(models, name or []), models, strict=True))
    by_name = {each: read_program(Path(model)) for each, model in named.items() if Path(model).suffix == ".pte"}
    compiled = {each: read(Path(named[each])) for each in by_name}
    options = parse_options(option, sram_budget=sram)
    if len(compiled) == len(named) and (quantize or calibration or options.keys() - {"config_ini"}):
        raise UsageError(
            "--quantize, --calibration, --chip, --option and --sram are for models that are not compiled yet; but for "
            "--option config_ini=FILE, the configuration file that a .pte was compiled with"
        )
    if target is None and not compiled:
        and_board = "; and --board: a wrong name lists all boards" if form == "cmake" and not board else ""
        raise UsageError(f"give --target: what to compile the models for, a name from `arm-tosa targets`{and_board}")
    device = _target(target, by_name.values())
    maker = firmware_of(device)
    if form not in maker.formats():
        raise UsageError(f"there is no format {form!r}; formats are: {', '.join(maker.formats())}")
    if form == "cmake":
        if not board:
            raise UsageError(f"give --board; boards are: {', '.join(maker.boards())}")
        maker.require_board(board, device.name)
    if form != "cmake" and board:
        raise UsageError(f"the format {form} is for any board: leave --board {board} out")
    require_folder(output)
    programs = {}
    for each, model in named.items():
        if each in compiled:
            programs[each] = Program(compiled[each], options=options)
        else:
            from ..lowering.exported_program import is_quantized  # late: it loads PyTorch

            spec = compile_spec_for(device, options)
            given = load_program(model, trust=trust, shapes=input_shape, values=input_value)
            if quantize is not None and len(named) > 1 and is_quantized(given):
                raise UsageError(
                    f"{model} is quantized already, and --quantize is for all models: compile the others to .pte files "
                    "first, and give those"
                )
            program = prepare(given, spec, quantize, calibration).program
            programs[each] = replace(deployable(program, spec, maker, form), options=options)
    return _result(output, board, maker.deploy(programs, device.name, board, output, form))


def deployable(program: ExportedProgram, spec: ArmCompileSpec, maker: Firmware, form: str = "cmake") -> Program:
    """What firmware is made of: the program compiled, and what ``arm-tosa verify`` needs of it."""
    from ..exir.watchers import watched
    from ..tosa.serializer import serialize

    graphs: dict[bytes, bytes] = {}
    with watched(lambda graph, payload: graphs.update({payload: serialize(graph, spec.tosa_spec)})):
        remainder = [checked_spec(rest, spec.target()) for rest in maker.remainder(form)]
        # Anew: a program from the cache shows its graphs to nobody.
        pte = lowered_program(program, spec, remainder=remainder, cache=False).buffer
    example, _ = program.example_inputs or ((), {})
    return Program(pte, graphs, [tensor.numpy() for tensor in example])


def _names(models: Sequence[str], own: Sequence[str]) -> list[str]:
    """The models' names: their files', or that of the function in a .py file."""
    if own and len(own) != len(models):
        raise UsageError(f"{len(models)} models and {len(own)} --name were given")
    names = list(own) or [model.rpartition(":")[2] if ".py:" in model else Path(model).stem for model in models]
    if len(set(names)) < len(names):
        raise UsageError(f"two models have one name ({', '.join(names)}): give each a --name")
    return names


def _target(name: str | None, compiled: Iterable[Pte]) -> Target:
    names = {target_of(delegate).name for program in compiled for delegate in program.delegates}
    names |= {name} if name is not None else set()
    if len(names) != 1:
        raise UsageError(
            f"firmware is for one target, and --target and the .pte files name several: {', '.join(sorted(names))}"
            if names
            else "no .pte has a part for a target: give --target, a name from `arm-tosa targets`"
        )
    return plugins.target(names.pop())


def _result(folder: Path, board: str, done: Deployed) -> Result:
    done = replace(done, notes=[*done.notes, *_facts_to_fill_in(board)])

    def show(console: Console) -> None:
        console.print(f"{folder}: {len(done.changed)} files written, {len(done.removed)} removed", markup=False)
        rows = [(part, memory, str(size)) for part, memory, size in done.memory]
        console.print(table("memory", ("", "where", "bytes"), rows))
        if done.processor:
            console.print(_processor_table(done))
        for note in done.notes:
            console.print(note, markup=False)
        if not board:
            return
        place = shlex.quote(str(folder))
        console.print(f"build it: cd {place} && cmake --preset board && cmake --build build", markup=False)
        if done.runs:
            console.print(f"or build and run it: arm-tosa run {place} --input x.npy --output y.npy", markup=False)

    memory = [{"part": part, "where": where, "bytes": size} for part, where, size in done.memory]
    data = {"output": str(folder), "board": board, "changed": done.changed, "removed": done.removed, "memory": memory}
    data["processor"] = [asdict(row) for row in done.processor]
    data["notes"] = list(done.notes)
    return Result(data, show)


def _facts_to_fill_in(board: str) -> list[str]:
    """What is known of the chip that the command was given, for who fills in a board's files."""
    if board != _GENERIC or (chip := chip_given()) is None:
        return []
    known = [f"{FACTS[key]}: {chip.facts[key].value}" for key in _OF_BOARD if key in chip.facts]
    return [
        f"to fill in boards/{_GENERIC} for {chip.name}: {'; '.join(known)}. `arm-tosa chips {chip.name}` has the "
        "sources. The addresses of memories and NPU, and its interrupt, are not among the facts: the manual has them"
    ]


def _processor_table(done: Deployed) -> Table:
    """Operators on the processor, and each one's share of the element operations there."""
    whole = sum(row.element_operations for row in done.processor)
    rows = [
        (
            f"{row.model}: {row.operator}",
            str(row.steps),
            str(row.element_operations),
            f"{row.element_operations / whole:.0%}",
        )
        for row in done.processor
    ]
    return table("on the processor", ("", "steps", "element operations", "share"), rows)
