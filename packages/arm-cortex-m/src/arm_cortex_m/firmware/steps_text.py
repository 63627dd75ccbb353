"""The steps of a model as C: the lines of ``NAME_run``, and what functions are called with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .c_text import in_lines
from .c_text import number as literal
from .kernels.kernel import Functions, Kernel, as_one
from .memory import Arena
from .model import Called, Job, Loop, Model, Operator, Step, Value
from .repeats import step_operands, walk

_BYTES = {"int8_t": 1, "uint8_t": 1, "int16_t": 2, "int32_t": 4, "int64_t": 8}


def places_of(model: Model, arena: Arena) -> dict[Value, str]:
    """C expressions of the values that have memory of their own."""
    places = {value: f"value{number}" for number, value in enumerate(arena.values)}
    ports = [*zip(model.taken, model.inputs, strict=True), *zip(model.given, model.outputs, strict=True)]
    for value, port in reversed(ports):  # a value that is given twice lies where it is given first
        places[value] = f"{'inputs' if value in model.taken else 'outputs'}->{port.name}"
    return places | {value: f"{model.name}_constant{number}" for number, value in enumerate(model.constants)}


class StepsText:
    """The text of the steps of a model.

    Args:
        places: C expressions of the values that have memory of their own.
    """

    def __init__(self, model: Model, arena: Arena, places: dict[Value, str]) -> None:
        self.model = model
        self.arena = arena
        self.places = places
        self.functions = Functions()

    def body(self) -> str:
        """The steps, in order."""
        lines: list[str] = []
        loops = {loop.first: loop for loop in self.model.loops}
        number = 0
        while number < len(self.model.steps):
            if number in loops:
                lines += self._loop(loops[number])
                number = loops[number].end
            else:
                lines += self._step(number)
                number += 1
        return _indented([*lines, *self._copies()])

    def values(self) -> str:
        """Pointers to the values in the arena."""
        lines = [
            f"{value.dtype} *const {self.places[value]} = ({value.dtype} *)(void *)&model->arena[{at}u];"
            for value, at in self.arena.values.items()
        ]
        return _indented(["", "/* What steps leave in the arena for later ones. */", *lines]) if lines else ""

    def parameters(self) -> str:
        """What the functions of kernels are called with."""
        loops = {number: loop for loop in self.model.loops for number in range(loop.first, loop.end)}
        out = []
        for number, step in enumerate(self.model.steps):
            loop = loops.get(number)
            if loop is None:
                out += self._constants_of(number, [step])
            elif number < loop.first + loop.period:
                steps = [self.model.steps[time] for time in loop.each_time(number - loop.first)]
                out += [*self._constants_of(number, steps), *self._operand_tables(number, steps)]
                out += _numbers_of(number, steps)
        return "\n".join(out)

    def _step(self, number: int) -> list[str]:
        step = self.model.steps[number]
        if isinstance(step, Job):
            return self._job(number, step)
        head = f"/* Step {number + 1}, on the processor{_of(step)}. */"
        return ["", head, *self._call(number, [step], [self._place(value) for value in step_operands(step)])]

    def _loop(self, loop: Loop) -> list[str]:
        steps = f"Steps {loop.first + 1} to {loop.end}, on the processor: {loop.period} that come {loop.times} times"
        lines = ["", f"/* {steps}. */", f"for (size_t i = 0u; i < {loop.times}u; i++) {{"]
        for number in range(loop.first, loop.first + loop.period):
            step = self.model.steps[number]
            each = [self.model.steps[time] for time in loop.each_time(number - loop.first)]
            assert not isinstance(step, Job), "one is never in a loop"
            if isinstance(step, Called):
                lines.append(f"    /* {_names(step)}. */")
            operands = zip(*map(step_operands, each), strict=True)
            texts = [self._moving(number, position, values) for position, values in enumerate(operands)]
            lines += [f"    {line}" for line in self._call(number, each, texts)]
        return [*lines, "}"]

    def _call(self, number: int, steps: Sequence[Step], operands: list[str]) -> list[str]:
        """A call of a step with these C expressions, of the result and of the operands.

        Args:
            steps: that step, or those that a loop runs in its place, by i.
        """
        step = steps[0]
        assert not isinstance(step, Job), "one is called by another function"
        if isinstance(step, Called):
            which = "[i]" if len(set(self._fields(steps))) > 1 else ""
            scratch = [f"&model->arena[{self.arena.scratch(step)}u]"] if step.scratch else []
            return [f"{step.call.function}({', '.join([f'&step{number + 1}{which}', *operands, *scratch])});"]
        result, *others = operands
        kernel, rows = _as_one(steps)
        numbers = f"{_numbers(number)}[i]" if rows[0] else ""
        call = self.functions.call(step.op, kernel, dict(zip(step.inputs, others, strict=True)), result, numbers)
        return _checked(call) if kernel.may_fail else [f"{call};"]

    def _job(self, number: int, job: Job) -> list[str]:
        index, at = self.model.jobs.index(job), self.arena.scratch(job)
        lines = ["", f"/* Step {number + 1}, on the NPU. */"]
        lines += [
            f"(void)memcpy(&model->arena[{at + offset}u], {self._place(value)}, {value.size}u);"
            for value, offset in job.inputs
        ]
        lines += _checked(f"npu_job_{index}(model->arena)")
        return lines + [
            f"(void)memcpy({self._place(value)}, &model->arena[{at + offset}u], {value.size}u);"
            for value, offset in job.outputs
        ]

    def _copies(self) -> list[str]:
        """To outputs that are made elsewhere: given twice, or constant."""
        lines = []
        for value, port in zip(self.model.given, self.model.outputs, strict=True):
            if (place := self._place(value)) != f"outputs->{port.name}":
                lines.append(f"(void)memcpy(outputs->{port.name}, {place}, {value.size}u);")
        return ["", "/* Outputs that no step writes. */", *lines] if lines else []

    def _place(self, value: Value) -> str:
        return self._element(value.root, f"{value.offset // _BYTES[value.root.dtype]}u" if value.offset else "")

    def _moving(self, number: int, position: int, values: Sequence[Value]) -> str:
        """An operand of a step in a loop, by the number of the time, i."""
        way = walk(values)
        if way is None:
            return f"{_table(number, position)}[i]"
        size = _BYTES[way.root.dtype]
        first, stride, times = way.first // size, way.stride // size, "i"
        if way.in_turn:
            times = "(i % 2u)" if stride > 0 else "((i + 1u) % 2u)"
            first, stride = min(first, first + stride), abs(stride)
        moved = {0: "", 1: times}.get(abs(stride), f"{abs(stride)}u * {times}")
        if stride < 0:
            return self._element(way.root, f"{first}u - {moved}")
        return self._element(way.root, " + ".join(text for text in (f"{first}u" if first else "", moved) if text))

    def _element(self, root: Value, index: str) -> str:
        return f"&{self.places[root]}[{index}]" if index else self.places[root]

    def _fields(self, steps: Sequence[Step]) -> list[tuple[tuple[str, str], ...]]:
        """Of each, the fields of its parameters and their C text."""
        return [
            tuple(
                (name, self.places[step.constants[name]] if name in step.constants else literal(int(field)))
                for name, field in step.call.fields.items()
                if name in step.constants or isinstance(field, int | np.integer)
            )
            for step in steps
            if isinstance(step, Called)
        ]

    def _constants_of(self, number: int, steps: Sequence[Step]) -> list[str]:
        """The parameters of a step, or of each of those that a loop runs in its place."""
        step, name = steps[0], f"step{number + 1}"
        if not isinstance(step, Called):
            return []
        fields = self._fields(steps)
        kind, head = f"static const struct {step.call.function}", f"/* {_names(step)}. */"
        if len(set(fields)) == 1:
            return [
                "\n".join([head, f"{kind} {name} = {{", *(f"    .{key} = {text}," for key, text in fields[0]), "};\n"])
            ]
        own = [key for (key, _), texts in zip(fields[0], _columns(fields), strict=True) if len(set(texts)) > 1]
        macro = name.upper()
        lines = [f"#define {macro}({', '.join(map(_parameter, own))}) {{"]
        lines += [f"    .{key} = {_parameter(key) if key in own else text}," for key, text in fields[0]]
        rows = [f"{macro}({', '.join(text for key, text in each if key in own)})" for each in fields]
        macro_text = " \\\n".join([*lines, "}"])
        return [f"{head}\n{macro_text}\n{kind} {name}[{len(steps)}] = {{\n{in_lines(rows)}\n}};\n"]

    def _operand_tables(self, number: int, steps: Sequence[Step]) -> list[str]:
        """Constants that the steps in a loop read, another each time."""
        out = []
        for position, values in enumerate(zip(*map(step_operands, steps), strict=True)):
            if walk(values) is None:
                rows = in_lines([self.places[value] for value in values])
                name = f"static const {values[0].dtype} *const {_table(number, position)}[{len(values)}]"
                out.append(f"{name} = {{\n{rows}\n}};\n")
        return out


def _as_one(steps: Sequence[Step]) -> tuple[Kernel, list[list[str]]]:
    return as_one([step.kernel for step in steps if isinstance(step, Operator)])


def _numbers_of(number: int, steps: Sequence[Step]) -> list[str]:
    """The numbers of a kernel in a loop, others each time."""
    rows = _as_one(steps)[1] if isinstance(steps[0], Operator) else [[]]
    if not rows[0]:
        return []
    lines = "\n".join(f"    {{{', '.join(row)}}}," for row in rows)
    return [f"static const int32_t {_numbers(number)}[{len(rows)}][{len(rows[0])}] = {{\n{lines}\n}};\n"]


def _numbers(number: int) -> str:
    return f"step{number + 1}_numbers"


def _columns(fields: Sequence[tuple[tuple[str, str], ...]]) -> list[tuple[str, ...]]:
    return list(zip(*([text for _, text in each] for each in fields), strict=True))


def _parameter(field: str) -> str:
    """The parameter of a macro that stands for a field, and has no field's name."""
    return field.replace(".", "_") + "_"


def _table(number: int, position: int) -> str:
    return f"step{number + 1}_operand{position}"


def _of(step: Called | Operator) -> str:
    return f": {_names(step)}" if isinstance(step, Called) else ""


def _names(step: Called) -> str:
    return ", ".join(op.name for op in step.ops)


def _checked(call: str) -> list[str]:
    return [f"status = {call};", "if (status != MODEL_OK) {", "    return status;", "}"]


def _indented(lines: Sequence[str]) -> str:
    return "".join(f"    {line}".rstrip() + "\n" for line in lines)
