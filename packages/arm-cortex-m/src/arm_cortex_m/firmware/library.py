"""The C library of a model: its header, its source, and its constants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from .c_text import bytes_of_array, c_type, filled, float_text, numbers_of_array, operand
from .c_text import number as literal
from .kernels.kernel import Functions
from .memory import ARENA_ALIGNMENT, Arena
from .model import Called, Job, Model, Operator, Port, Value


def library(model: Model) -> dict[str, str]:
    """The files of a model, by name."""
    return _Library(model).files()


class _Library:
    def __init__(self, model: Model) -> None:
        self.model = model
        self.arena = Arena(model)
        self.functions = Functions()
        self.places: dict[Value, str] = {}  # C expressions
        self.places |= {value: f"value{number}" for number, value in enumerate(self.arena.values)}
        ports = [*zip(model.taken, model.inputs, strict=True), *zip(model.given, model.outputs, strict=True)]
        for value, port in reversed(ports):  # a value that is given twice lies where it is given first
            self.places[value] = f"{'inputs' if value in model.taken else 'outputs'}->{port.name}"
        self.places |= {value: f"{model.name}_constant{number}" for number, value in enumerate(model.constants)}

    def files(self) -> dict[str, str]:
        model = self.model
        body = self.body()
        words = {
            "name": model.name,
            "NAME": model.name.upper(),
            "target": model.target,
            "alignment": str(ARENA_ALIGNMENT),
            "arena": str(self.arena.size),
        }
        npu = bool(model.jobs)
        sizes = model.constant_bytes if npu else {"constants": model.constant_bytes["constants"]}
        of = ": the NPU's command streams, its weights, and what operators on the processor read" if npu else ""
        ports = [*model.inputs, *model.outputs]
        return {
            f"{model.name}.h": filled(
                "model/model.h.in",
                {
                    "ports": "\n".join(_macros(model, port) for port in ports),
                    "inputs": _lines(f"    const {c_type(port.dtype)} *{port.name};" for port in model.inputs),
                    "workers": "the NPU and the operators on the processor" if npu else "operators",
                    "of": of,
                    "sizes": _lines(
                        f"#define {model.name.upper()}_{kind.upper()}_BYTES {size}u" for kind, size in sizes.items()
                    ),
                    "npu_failed": ",\n   MODEL_NPU_FAILED" if npu else "\n  ",
                    "outputs": _lines(f"    {c_type(port.dtype)} *{port.name};" for port in model.outputs),
                },
                **words,
            ),
            f"{model.name}.c": filled(
                "model/model.c.in",
                {
                    "includes": "".join(f'#include "{header}"\n' for header in self._headers()),
                    "functions": "\n".join(
                        part for part in (self._jobs(), self._parameters(), self.functions.text) if part
                    ),
                    "status": "    model_status status;\n\n" if "status = " in body else "",
                    "missing": " || ".join(
                        [f"inputs->{port.name} == NULL" for port in model.inputs]
                        + [f"outputs->{port.name} == NULL" for port in model.outputs]
                    ),
                    "values": self._values(),
                    "body": body,
                },
                **words,
            ),
            f"{model.name}_data.h": filled("model/data.h.in", {"arrays": self._declarations()}, **words),
            f"{model.name}_data.c": filled("model/data.c.in", {"arrays": self._definitions(), "of": of}, **words),
        }

    def _headers(self) -> list[str]:
        of_calls = sorted({step.call.source.removesuffix(".c") + ".h" for step in self.model.calls})
        plain = any(isinstance(step, Operator) for step in self.model.steps)
        return [*(["npu.h"] if self.model.jobs else []), *of_calls, *(["tosa_math.h"] if plain else [])]

    def body(self) -> str:
        """The steps, in order."""
        texts = []
        for number, step in enumerate(self.model.steps, 1):
            if isinstance(step, Job):
                texts.append(self._job_step(number, step))
            elif isinstance(step, Operator):
                texts.append(self._operator_step(number, step))
            else:
                texts.append(self._called_step(number, step))
        return "".join(texts) + self._copies()

    def _job_step(self, number: int, job: Job) -> str:
        index, at = self.model.jobs.index(job), self.arena.scratch(job)
        lines = ["", f"/* Step {number}, on the NPU. */"]
        lines += [
            f"(void)memcpy(&model->arena[{at + offset}u], {self.places[value]}, {value.size}u);"
            for value, offset in job.inputs
        ]
        lines += _checked(f"npu_job_{index}(model->arena)")
        lines += [
            f"(void)memcpy({self.places[value]}, &model->arena[{at + offset}u], {value.size}u);"
            for value, offset in job.outputs
        ]
        return _indented(lines)

    def _operator_step(self, number: int, step: Operator) -> str:
        operands = {position: self.places[value] for position, value in step.inputs.items()}
        call = self.functions.call(step.op, step.kernel, operands, self.places[step.output])
        lines = ["", f"/* Step {number}, on the processor. */"]
        return _indented([*lines, *(_checked(call) if step.kernel.may_fail else [f"{call};"])])

    def _called_step(self, number: int, step: Called) -> str:
        arguments = [f"&step{number}", self.places[step.output], *(self.places[value] for value in step.inputs)]
        if step.scratch:
            arguments.append(f"&model->arena[{self.arena.scratch(step)}u]")
        text = f"{step.call.function}({', '.join(arguments)});"
        return _indented(["", f"/* Step {number}, on the processor: {_names(step)}. */", text])

    def _parameters(self) -> str:
        """What the functions of kernels are called with."""
        out = []
        for number, step in enumerate(self.model.steps, 1):
            if isinstance(step, Called):
                fields = {
                    name: self.places[step.constants[name]] if name in step.constants else literal(int(field))
                    for name, field in step.call.fields.items()
                    if name in step.constants or isinstance(field, int | np.integer)
                }
                lines = [f"    .{name} = {text}," for name, text in fields.items()]
                head = f"/* {_names(step)}. */\nstatic const struct {step.call.function} step{number} = {{"
                out.append("\n".join([head, *lines, "};"]) + "\n")
        return "\n".join(out)

    def _copies(self) -> str:
        """To outputs that are made elsewhere: given twice, or constant."""
        lines = []
        for value, port in zip(self.model.given, self.model.outputs, strict=True):
            if (place := self.places[value]) != f"outputs->{port.name}":
                lines.append(f"(void)memcpy(outputs->{port.name}, {place}, {value.size}u);")
        return _indented(["", "/* Outputs that no step writes. */", *lines]) if lines else ""

    def _values(self) -> str:
        """Pointers to the values in the arena."""
        lines = [
            f"{value.dtype} *const {self.places[value]} = ({value.dtype} *)(void *)&model->arena[{at}u];"
            for value, at in self.arena.values.items()
        ]
        return _indented(["", "/* What steps leave in the arena for later ones. */", *lines]) if lines else ""

    def _jobs(self) -> str:
        return "\n".join(
            filled(
                "model/job.c.in",
                {
                    "weights": f"{self.model.name}_weights{index}" if job.weights else "NULL",
                    "weights_size": f"sizeof({self.model.name}_weights{index})" if job.weights else "0u",
                    "scratch": f"&arena[{self.arena.scratch(job)}u]",
                    "scratch_size": f"{job.scratch}u",
                    "fast": f"&arena[{self.arena.fast_scratch(job)}u]" if job.fast_scratch else "NULL",
                    "fast_size": f"{job.fast_scratch}u",
                },
                index=str(index),
                name=self.model.name,
            )
            for index, job in enumerate(self.model.jobs)
        )

    def _arrays(self) -> list[tuple[str, str]]:
        """Declaration and numbers of each constant array; C has no arrays of no elements."""
        name, out = self.model.name, []
        for index, job in enumerate(self.model.jobs):
            for kind, data in (("commands", job.commands), ("weights", job.weights)):
                if data:
                    out.append((f"const uint8_t {name}_{kind}{index}[{len(data)}]", bytes_of_array(data)))
        for value in self.model.constants:
            assert value.data is not None, "it is constant"
            declared = f"const {value.dtype} {self.places[value]}[{value.data.size}]"
            out.append((declared, numbers_of_array(value.data)))
        return out

    def _declarations(self) -> str:
        return _lines(f"extern {declared};" for declared, _ in self._arrays())

    def _definitions(self) -> str:
        return "\n\n".join(f"MODEL_FLASH {declared} = {{\n{numbers}\n}};" for declared, numbers in self._arrays())


def _names(step: Called) -> str:
    return ", ".join(op.name for op in step.ops)


def _checked(call: str) -> list[str]:
    return [f"status = {call};", "if (status != MODEL_OK) {", "    return status;", "}"]


def _macros(model: Model, port: Port) -> str:
    name = f"{model.name.upper()}_{port.name.upper()}"
    sizes = " x ".join(map(str, port.shape)) or "scalar"
    lines = [f"/* {port.name}: {port.dtype}, {sizes}, row-major. */", f"#define {name}_BYTES {port.size}u"]
    if port.scale is not None:
        lines[0] = lines[0].replace(". */", "; a real number is SCALE * (integer - ZERO_POINT). */")
        lines += [f"#define {name}_SCALE {float_text(port.scale)}", f"#define {name}_ZERO_POINT ({port.zero_point})"]
        if port in model.inputs:
            least, most = map(operand, port.bounds)
            lines += [
                f"#define {name}_INVERSE_SCALE {float_text(1 / port.scale)}",
                f"#define {name}_LEAST {least}",
                f"#define {name}_MOST {most}",
            ]
    return "\n".join(lines) + "\n"


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(lines)


def _indented(lines: Sequence[str]) -> str:
    return "".join(f"    {line}".rstrip() + "\n" for line in lines)
