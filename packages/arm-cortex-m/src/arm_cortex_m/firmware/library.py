"""The C library of a model: its header, its source, and its constants."""

from __future__ import annotations

from collections.abc import Iterable

from .c_text import bytes_of_array, c_type, filled, float_text, numbers_of_array, operand
from .memory import ARENA_ALIGNMENT, Arena
from .model import Model, Operator, Port
from .steps_text import StepsText, places_of


def library(model: Model) -> dict[str, str]:
    """The files of a model, by name."""
    return _Library(model).files()


class _Library:
    def __init__(self, model: Model) -> None:
        self.model = model
        self.arena = Arena(model)
        self.places = places_of(model, self.arena)
        self.steps = StepsText(model, self.arena, self.places)

    def files(self) -> dict[str, str]:
        model = self.model
        body = self.steps.body()
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
                        part for part in (self._jobs(), self.steps.parameters(), self.steps.functions.text) if part
                    ),
                    "status": "    model_status status;\n\n" if "status = " in body else "",
                    "missing": " || ".join(
                        [f"inputs->{port.name} == NULL" for port in model.inputs]
                        + [f"outputs->{port.name} == NULL" for port in model.outputs]
                    ),
                    "values": self.steps.values(),
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
