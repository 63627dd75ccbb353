"""From a ``.pte`` to a model: its delegates become steps, and the conversions at its edges become ports."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from arm_tosa_core.exir.pte import Delegate, read
from arm_tosa_core.exir.pte_steps import Call, Method, TensorValue, method
from arm_tosa_core.plugin.firmware import Program
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.tosa.ir import Tensor
from arm_tosa_core.tosa.loader import load

from ..cores import BACKEND_ID
from .c_text import c_type, has_c_type
from .kernels import why_not
from .model import Job, Model, Port, Reference, ReferenceStep, Step, Value
from .npu import Npu
from .processor_steps import steps_of
from .repeats import with_loops
from .views import without_copies

_QUANTIZE = "quantized_decomposed::quantize_per_tensor.out"
_DEQUANTIZE = "quantized_decomposed::dequantize_per_tensor.out"
_CAST = "dim_order_ops::_to_dim_order_copy.out"
_PROCESSOR = (BACKEND_ID, "TOSABackend")


def model_of(name: str, program: Program, target: str, npu: Npu | None) -> Model:
    """Reads a program that is nothing but delegates, for the NPU and for the processor, and conversions at its edges.

    Raises:
        UsageError: it is another kind of program; lists the operators that firmware cannot run.
    """
    return with_loops(without_copies(_Reader(name, program, npu).model(target)))


@dataclass(frozen=True)
class _Quantization:
    scale: float | None = None
    zero_point: int = 0
    bounds: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class _Edge:
    """An input or output of the program, and the value that delegates have in its place; both by number."""

    outer: int
    inner: int
    how: _Quantization = _Quantization()


class _Reader:
    def __init__(self, name: str, program: Program, npu: Npu | None) -> None:
        self.name = name
        self.npu = npu
        self.graphs = program.graphs
        self.options = program.options
        self.program: Method = method(program.pte)
        self.delegates = [each for each in read(program.pte).delegates if each.method == "forward"]
        self.values: dict[int, Value] = {}
        self.constants: dict[tuple[str, bytes], Value] = {}
        self.steps: list[Step] = []

    def model(self, target: str) -> Model:
        before, after = self._edges()
        ports = [self._port(f"input{index}", edges[0]) for index, edges in enumerate(before)]
        input_values = []
        for index, edges in enumerate(before):
            value = self._new_value(edges[0].inner)
            if any(edge.how != edges[0].how for edge in edges):
                raise UsageError(f"{self.name}: input {index} is quantized in two ways; firmware has one array for it")
            self.values.update((edge.inner, value) for edge in edges)
            input_values.append(value)
        for call in self.program.calls:
            if not call.operator:
                self._step(call)
        for index, edge in enumerate(after):
            if edge.inner not in self.values:
                raise UsageError(
                    f"{self.name}: output {index} is the same in every run, a constant of the program, and firmware "
                    "does not hold it: leave it out of what the model returns"
                )
        if self.npu is not None and not any(isinstance(step, Job) for step in self.steps):
            raise UsageError(f"{self.name}: nothing of it runs on the NPU. `arm-tosa explain` says why")
        return Model(
            name=self.name,
            target=target,
            steps=tuple(self.steps),
            inputs=tuple(ports),
            outputs=tuple(self._port(f"output{index}", edge) for index, edge in enumerate(after)),
            taken=tuple(input_values),
            given=tuple(self.values[edge.inner] for edge in after),
            reference=self._reference(before, after),
        )

    def _reference(self, before: list[list[_Edge]], after: list[_Edge]) -> Reference | None:
        steps = []
        for call in self.program.calls:
            if not call.operator:
                payload = self.delegates[call.delegate].payload
                if payload not in self.graphs:
                    return None
                count = len(load(self.graphs[payload]).inputs)
                steps.append(ReferenceStep(self.graphs[payload], call.arguments[:count], call.arguments[count:]))
        inputs = tuple(tuple(edge.inner for edge in edges) for edges in before)
        return Reference(tuple(steps), inputs, tuple(edge.inner for edge in after))

    def _edges(self) -> tuple[list[list[_Edge]], list[_Edge]]:
        """The edges: for each input, one for each use that converts it; for each output, one.

        Raises:
            UsageError: there are operators besides; names each.
        """
        program = self.program
        into: dict[int, list[_Edge]] = {}
        out_of: dict[int, _Edge] = {}
        refused = set()
        for call in program.calls:
            first, last = (call.arguments[0], call.arguments[-1]) if call.arguments else (-1, -1)
            narrows = call.operator == _CAST and self._dtypes(first, last) == ("int64", "int32")
            widens = call.operator == _CAST and self._dtypes(first, last) == ("int32", "int64")
            if first in program.inputs and (call.operator == _QUANTIZE or narrows):
                into.setdefault(first, []).append(_Edge(first, last, self._quantization(call)))
            elif last in program.outputs and (call.operator == _DEQUANTIZE or widens):
                out_of[last] = _Edge(last, first, self._quantization(call))
            elif call.operator:
                refused.add(call.operator)
        if refused:
            what = "what is on the NPU and integers of TOSA" if self.npu else "integers of TOSA"
            advice = (
                ". A .pte keeps all that is not on the NPU for ExecuTorch: deploy the model that it was made of "
                "instead, or link ExecuTorch's runtime with --format executorch"
            )
            raise UsageError(
                f"{self.name}: firmware runs {what}, and this program leaves to ExecuTorch: "
                f"{', '.join(sorted(refused))}. `arm-tosa explain` says why, operator by operator"
                f"{advice if self.npu else ''}"
            )
        return (
            [into.get(number, [_Edge(number, number)]) for number in program.inputs],
            [out_of.get(number, _Edge(number, number)) for number in program.outputs],
        )

    def _dtypes(self, *numbers: int) -> tuple[str, ...]:
        return tuple(self.program.tensor(number).dtype for number in numbers)

    def _quantization(self, call: Call) -> _Quantization:
        """From ``quantize_per_tensor(input, scale, zero_point, quant_min, quant_max, ...)``, or the opposite."""
        if call.operator == _CAST:
            return _Quantization()
        numbers = [self.program.values[number] for number in call.arguments[1:5]]
        if len(numbers) != 4 or not all(isinstance(number, int | float) for number in numbers):
            raise UsageError(f"{self.name} is damaged: {call.operator} has {numbers} for scale, zero point and bounds")
        scale, zero_point, least, most = numbers
        return _Quantization(float(scale), int(zero_point), (int(least), int(most)))

    def _port(self, name: str, edge: _Edge) -> Port:
        outer, inner, how = self.program.tensor(edge.outer), self._tensor(edge.inner, name), edge.how
        if not has_c_type(inner.dtype):
            raise UsageError(
                f"{self.name}: {name} is {inner.dtype} and no operator of the model quantizes it, so that firmware, "
                "which holds integers, has no place for it: leave it out of what the model takes and returns"
            )
        return Port(name, inner.shape, inner.dtype, outer.dtype, how.scale, how.zero_point, how.bounds)

    def _tensor(self, number: int, name: str) -> TensorValue:
        tensor = self.program.tensor(number)
        if not tensor.row_major:
            output = name.startswith("output")
            advice = "end the model with .contiguous()" if output else "compile it with --memory-format contiguous"
            raise UsageError(f"{self.name}: {name} is not row-major; {advice}")
        return tensor

    def _new_value(self, number: int) -> Value:
        """A new value in place of the program's of that number.

        The order of its axes does not matter: the delegates on both sides agree about it.
        """
        tensor = self.program.tensor(number)
        kind = c_type(tensor.dtype)
        self.values[number] = Value(kind, prod(tensor.shape) * np.dtype(tensor.dtype).itemsize)
        return self.values[number]

    def _value(self, number: int) -> Value:
        """The value that an input or an earlier step put in place of the program's of that number."""
        if number not in self.values:
            tensor = self.program.tensor(number)
            raise UsageError(
                f"{self.name}: a delegate reads {tensor.dtype}{list(tensor.shape)}, which is no input of the model and "
                "no result of another delegate; firmware holds only the constants that are in delegates"
            )
        return self.values[number]

    def _step(self, call: Call) -> None:
        delegate = self.delegates[call.delegate]
        if self.npu is not None and delegate.backend_id == self.npu.backend_id:
            self._job(call, delegate, self.npu)
        elif delegate.backend_id in _PROCESSOR:
            self._operators(call, delegate)
        else:
            raise UsageError(f"{self.name}: firmware cannot run a delegate of {delegate.backend_id}")

    def _job(self, call: Call, delegate: Delegate, npu: Npu) -> None:
        work = npu.work(self.name, delegate, self.options)
        inputs, outputs = self._operands(call, len(work.inputs), len(work.outputs))

        def places(kind: str, values: list[Value], offsets: tuple[int, ...]) -> tuple[tuple[Value, int], ...]:
            for value, offset in zip(values, offsets, strict=True):
                if not 0 <= offset <= work.scratch - value.size:
                    raise UsageError(
                        f"{self.name} is damaged: an {kind} of {value.size} bytes is at byte {offset} of the NPU's "
                        f"scratch memory, which has {work.scratch}"
                    )
            return tuple(zip(values, offsets, strict=True))

        self.steps.append(
            Job(
                commands=work.commands,
                weights=work.weights,
                scratch=work.scratch,
                fast_scratch=work.fast_scratch,
                inputs=places("input", list(map(self._value, inputs)), work.inputs),
                outputs=places("output", list(map(self._new_value, outputs)), work.outputs),
                weights_in=work.weights_in,
                scratch_in=work.scratch_in,
            )
        )

    def _operands(self, call: Call, inputs: int, outputs: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The values that a delegate reads and makes, by number; it says how many those are."""
        if len(call.arguments) != inputs + outputs:
            raise UsageError(
                f"{self.name} is damaged: a delegate of {inputs} inputs and {outputs} outputs is called with "
                f"{len(call.arguments)} values"
            )
        return call.arguments[:inputs], call.arguments[inputs:]

    def _operators(self, call: Call, delegate: Delegate) -> None:
        graph = load(delegate.payload)
        if missing := sorted({why for op in graph.ops if (why := why_not(op))}):
            advice = (
                ". `arm-tosa explain` says why it is not on the NPU; "
                "--format executorch leaves it to ExecuTorch's runtime"
            )
            raise UsageError(
                f"{self.name}: firmware computes {'what is not on the NPU ' if self.npu else ''}by kernels of TOSA "
                f"operators, and {', '.join(missing)}{advice if self.npu else ''}"
            )
        inputs, outputs = self._operands(call, len(graph.inputs), len(graph.outputs))
        values: dict[Tensor, Value] = {
            tensor: self._value(number) for tensor, number in zip(graph.inputs, inputs, strict=True)
        }

        self.steps += steps_of(graph, values, self.constants)
        for tensor, number in zip(graph.outputs, outputs, strict=True):
            self.values[number] = values[tensor]
