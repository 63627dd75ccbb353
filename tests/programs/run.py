"""Runs a program in one way, in a process of its own, and says how it ended."""

from __future__ import annotations

import contextlib
import copy
import os
import pickle
import re
import resource
import select
import shutil
import signal
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from arm_ethosu import vela_batch
from arm_tosa_core import LoweringError, MissingKernelWarning, Rejected, ToolError, UsageError
from arm_tosa_core.aten.functionalize import without_transforms

from . import judge
from .draw import draw
from .program import WAYS, Program, Statement, Way, imports

SECONDS = 240  # on a clock, of which a busy machine may give little
CPU_SECONDS = 90
MEMORY = 12 << 30

#: How a program may end. ``no program``: PyTorch does not export it. ``executorch``: in ExecuTorch's own flow, and the
#: program without any delegate has a fault there too. ``fault``: what must not be.
RIGHT, REFUSED, NO_PROGRAM, EXECUTORCH, FAULT = "right", "refused", "no program", "executorch", "fault"
KINDS = (RIGHT, REFUSED, EXECUTORCH, NO_PROGRAM, FAULT)


@dataclass(frozen=True)
class Outcome:
    """How a program ended.

    Args:
        kind: one of those above.
        stage: ``export``, ``quantize``, ``lower``, ``load``, ``run`` or ``compare``.
        reason: one line.
        place: file and line of ours where an exception came from.
        program: what ran.
        delegated: how many operators were.
        left: the operators that stayed on the CPU, and why.
    """

    kind: str
    stage: str
    reason: str = ""
    place: str = ""
    program: Program | None = None
    delegated: int = 0
    left: tuple[tuple[str, str], ...] = ()

    @property
    def symptom(self) -> tuple[str, str, str]:
        """What stays the same while a fault is shrunk."""
        return self.stage, self.reason.split(":")[0] if self.stage != "compare" else "", self.place.split(":")[0]


def warm_up() -> None:
    """Compiles a program in each flow and scheme, so that children, forks of this process, find all imported and read.

    Nothing is loaded or run, which would start threads. This process's Vela is lent to one child after the other.
    """
    layers = "self.m0 = nn.Conv2d(2, 4, 3)", "self.m1 = nn.Linear(4, 4)"
    text = "v0 = self.m1(self.m0(x0).relu().permute(0, 2, 3, 1)).softmax(-1)"
    program = Program(0, (("x0", "torch.randn(1, 2, 6, 6)"),), (Statement(text, ("v0",), layers),), ("v0",))
    for way in WAYS:
        if way.target in ("ethos-u55-128", "vgf"):
            scope: dict[str, Any] = {}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(imports(way), scope)
                for stage, step in program.steps(way).items():
                    if stage != "load":
                        exec(step, scope)


def _fresh_vela() -> None:
    """Another Vela in place of one that may have an answer which nobody has read."""
    if vela_batch._kept is not None:
        vela_batch._kept.kill()
        vela_batch.close()
        vela_batch.warm_up(shutil.which("vela") or "vela")


def _borrow_vela() -> None:
    """Lets this process ask its parent's Vela, whose child it is not: Python would take it for ended."""
    if vela_batch._kept is not None:
        vela_batch._kept.owner = os.getpid()
        vela_batch._kept._process.poll = lambda: None


def drawn(seed: str, way: Way) -> Outcome:
    """Draws programs until PyTorch exports one, and runs it."""

    def work(tell: Callable[[str], None]) -> Outcome:
        for number in range(30):
            program = draw(f"{seed}.{number}", way)
            outcome = attempt(program, way, tell)
            if outcome.kind != NO_PROGRAM:
                return outcome
        return outcome

    return _blamed(_apart(work), way)


def again(program: Program, way: Way) -> Outcome:
    """Runs a program."""
    return _blamed(_apart(lambda tell: attempt(program, way, tell)), way)


def _blamed(outcome: Outcome, way: Way) -> Outcome:
    """Of a program that died while it ran: whether ExecuTorch's own, without any delegate, dies as well."""
    program = outcome.program
    if program is None or way.flow != "edge" or outcome.stage not in ("load", "run") or "signal" not in outcome.reason:
        return outcome

    def stock(tell: Callable[[str], None]) -> Outcome:
        scope: dict[str, Any] = {}
        exec(imports(way), scope)
        steps = program.steps(way)
        for stage in list(steps)[: list(steps).index("lower")]:
            exec(steps[stage], scope)
        tell("run")
        wrong = _stock_is_wrong(
            scope, without_transforms(copy.deepcopy(scope["program"])).module(), _calls(program, scope)
        )
        return replace(outcome, kind=EXECUTORCH if wrong else FAULT)

    again = _apart(stock)
    died = again.stage == "run" and "signal" in again.reason
    return replace(outcome, kind=EXECUTORCH) if died or again.kind == EXECUTORCH else outcome


def attempt(program: Program, way: Way, tell: Callable[[str], None]) -> Outcome:
    """Runs a program in this process.

    Args:
        tell: is given the stage that begins, and the program first.
    """
    scope: dict[str, Any] = {}
    stage, warned, calls, reference = "model", [], [], None
    tell(pickle.dumps(program).hex())

    def ended(kind: str, reason: str = "", place: str = "") -> Outcome:
        report = _report(scope)
        left = [] if report is None else [(row.target, row.reason) for row in report.rejected]
        return Outcome(kind, stage, reason, place, program, len(report.delegated) if report else 0, tuple(left))

    try:
        exec(imports(way), scope)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for stage, text in program.steps(way).items():
                tell(stage)
                if stage == "load":
                    warned = [w for w in caught if issubclass(w.category, MissingKernelWarning)]
                    if refusal := _kernels(warned, scope):
                        stage = "lower"
                        return ended(REFUSED, refusal)
                if stage == "lower":
                    reference = without_transforms(copy.deepcopy(scope["program"])).module()
                if stage == "quantize":
                    program_of_floats = scope["program"]
                    floats = without_transforms(copy.deepcopy(program_of_floats)).module()
                exec(compile(text, f"<{stage}>", "exec"), scope)
                if stage == "quantize" and (said := _misquantized(scope, floats, program_of_floats, program, way)):
                    return ended(FAULT, f"quantized: {said}")
        calls = _calls(program, scope)
        stage = "run"
        tell(stage)
        got = _executed(scope["method"], calls)
        stage = "compare"
        tell(stage)
        said = judge.wrong(got, reference, calls)
        kind = FAULT if said else RIGHT
        place = ""
    except Exception as error:
        kind, said = _kind(error, stage, way, scope, program)
        place = _place(error)
    if kind == FAULT and way.flow == "edge" and stage in ("load", "run", "compare"):
        kind = EXECUTORCH if _stock_is_wrong(scope, reference, calls) else FAULT
    return ended(kind, said, place)


def _stock_is_wrong(scope: dict[str, Any], reference: Any, calls: list[Any]) -> bool:
    """Whether ExecuTorch's program has a fault without any delegate too."""
    from executorch.exir import to_edge_transform_and_lower
    from executorch.runtime import Runtime

    try:
        buffer = to_edge_transform_and_lower(copy.deepcopy(scope["program"])).to_executorch().buffer
        method = Runtime.get().load_program(bytes(buffer)).load_method("forward")
        return bool(judge.wrong(_executed(method, calls), reference, calls))
    except Exception:
        return True


def _misquantized(scope: dict[str, Any], floats: Any, calibrated: Any, program: Program, way: Way) -> str:
    """What is wrong with the quantized module's results of the samples, in comparison with the float module's.

    Args:
        calibrated: the float program, whose buffers PT2E's own steps write in calibration.
    """
    if "converted" not in scope:
        return ""
    quantized = copy.deepcopy(scope["converted"])
    own, written = dict(quantized.named_buffers()), dict(calibrated.module().named_buffers())
    for name, start in floats.named_buffers():
        if name in own and not torch.equal(start, written[name]):
            own[name].copy_(start)
    return judge.misquantized(
        quantized, floats, scope["samples"], program.schemes_of(way), one_scale=way.flow == "edge"
    )


def _executed(method: Any, calls: list[Any]) -> list[list[Any]]:
    """The results of calls that follow one another."""
    return [[_kept(r) for r in tree_leaves(list(method.execute([t.contiguous() for t in call])))] for call in calls]


def _report(scope: dict[str, Any]) -> Any:
    """The report of either flow, if it came so far."""
    if "partitioner" in scope:
        return scope["partitioner"].report
    return scope["lowered"].report if "lowered" in scope else scope.get("report")


def _kept(result: Any) -> Any:
    return result.clone() if isinstance(result, torch.Tensor) else result


def _calls(program: Program, scope: dict[str, Any]) -> list[tuple[torch.Tensor, ...]]:
    """The example, others of its sizes, and some of the least and largest sizes."""
    made = [scope["example"], scope["inputs"]()]
    if program.sizes:
        for end in (1, 2):
            made.append(scope["inputs"](**{name: size[end] for name, size in program.sizes.items()}))
        made.append(scope["inputs"]())
    return made


def _kernels(warned: list[Any], scope: dict[str, Any]) -> str:
    """What the compiler, or the report of its partitioner, says of operators that have no kernel."""
    if warned:
        return str(warned[0].message)
    if "manager" in scope and scope["partitioner"].report is not None:
        from arm_tosa_core.compat.executorch import kernels_of

        return str(scope["partitioner"].report.with_kernels_of(kernels_of(scope["manager"])).without_kernels())
    return ""


def _kind(error: Exception, stage: str, way: Way, scope: dict[str, Any], program: Program) -> tuple[str, str]:
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    reason = f"{type(error).__name__}: {lines[0][:400] if lines else ''}"
    if stage in ("model", "export"):
        return NO_PROGRAM, reason
    if stage == "run" and way.target == "tosa" and isinstance(error, ToolError) and _left_open(error):
        return REFUSED, "TOSA leaves POW of NaN, an infinity or a negative number open, and its reference model stops"
    refuses = isinstance(error, (UsageError, ToolError, Rejected)) and not isinstance(error, LoweringError)
    if refuses and stage in ("quantize", "lower"):
        return REFUSED, reason
    if stage == "lower" and way.flow == "edge" and _stock_fails(scope):
        return REFUSED, f"ExecuTorch without a partitioner: {reason}"
    if stage == "quantize" and _eager_fails(scope):
        return NO_PROGRAM, reason
    if stage == "quantize" and way.flow == "edge" and _pt2e_fails(scope, program):
        return EXECUTORCH, f"PT2E without a quantizer: {reason}"
    return FAULT, reason


def _left_open(error: ToolError) -> bool:
    """Whether the reference model finds nothing unpredictable but powers, which are PyTorch's on VGF."""
    operators = set(re.findall(r"REQUIRE\(\) fails .*\n\s*(\w+):", error.output))
    return "TOSA_UNPREDICTABLE" in str(error) and operators == {"OpPow"}


def _eager_fails(scope: dict[str, Any]) -> bool:
    """Whether the float model fails with a sample too, as with an index beyond an axis."""
    try:
        for sample in scope["samples"]:
            copy.deepcopy(scope["program"]).module()(*sample)
    except Exception:
        return True
    return False


def _stock_fails(scope: dict[str, Any]) -> bool:
    """Whether ExecuTorch cannot make a program of it without our partitioner either."""
    from executorch.exir import to_edge_transform_and_lower

    try:
        to_edge_transform_and_lower(copy.deepcopy(scope["program"])).to_executorch()
    except Exception:
        return True
    return False


def _pt2e_fails(scope: dict[str, Any], program: Program) -> bool:
    """Whether PT2E's steps end with an error where a quantizer quantizes nothing."""
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    from torchao.quantization.pt2e.quantizer import Quantizer

    class Nothing(Quantizer):  # type: ignore[misc]  # torchao is untyped
        def annotate(self, model: torch.fx.GraphModule) -> torch.fx.GraphModule:
            return model

        def validate(self, model: torch.fx.GraphModule) -> None:
            pass

    try:
        prepared = prepare_pt2e(copy.deepcopy(scope["program"]).module(), Nothing())
        prepared(*scope["example"])
        exec(program.export(), {**scope, "model": convert_pt2e(prepared)})
    except Exception:
        return True
    return False


def _place(error: BaseException) -> str:
    """File and line of this project, the innermost that an exception came through; else of anybody."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/packages/arm-" in frame.filename] or frames
    return f"{os.path.basename(ours[-1].filename)}:{ours[-1].lineno}" if ours else ""


def _apart(work: Callable[[Callable[[str], None]], Outcome]) -> Outcome:
    """Does work in a fork of this process, with limits; the stage that it was in when it died, else what it returns."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        _child(work, writer)
    os.close(writer)
    said, ended = _listen(reader, time.monotonic() + SECONDS)
    os.close(reader)
    if not ended:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what it started
    lines = said.split("\n")
    if lines[-1].startswith("="):
        outcome: Outcome = pickle.loads(bytes.fromhex(lines[-1][1:]))
        return outcome
    _fresh_vela()
    program = next((pickle.loads(bytes.fromhex(line)) for line in reversed(lines) if len(line) > 40), None)
    stage = next((line for line in reversed(lines) if 0 < len(line) <= 40), "draw")
    if not ended or status == -signal.SIGXCPU:
        return Outcome(FAULT, stage, "not ended in time", "", program)
    return Outcome(
        FAULT, stage, f"ended by signal {-status}" if status < 0 else f"ended with status {status}", "", program
    )


def _listen(reader: int, deadline: float) -> tuple[str, bool]:
    """What a child says until it ends, and whether it did."""
    said = b""
    while (left := deadline - time.monotonic()) > 0:
        if not select.select([reader], [], [], left)[0]:
            break
        part = os.read(reader, 1 << 16)
        if not part:
            return said.decode().rstrip("\n"), True
        said += part
    return said.decode().rstrip("\n"), False


def _child(work: Callable[[Callable[[str], None]], Outcome], writer: int) -> None:
    """Does the work and ends this process."""
    os.setpgid(0, 0)
    _borrow_vela()
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    try:
        outcome = work(lambda text: os.write(writer, f"{text}\n".encode()) and None)
        os.write(writer, f"={pickle.dumps(outcome).hex()}\n".encode())
    finally:
        os._exit(0)
