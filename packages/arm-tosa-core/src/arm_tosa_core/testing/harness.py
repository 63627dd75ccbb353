"""Runs a program on a target: regions as the target executes them, the rest eagerly."""

from __future__ import annotations

import copy
import functools
import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.export import ExportedProgram
from torch.fx import Node

from ..compat.executorch import aten_overload
from ..exir.compilation import Compilation
from ..exir.compile_spec import ArmCompileSpec
from ..lowering.analysis_result import Analysis
from ..lowering.exported_program import is_dequantize, is_int64_cast, is_quantize
from ..lowering.memory_order import memory_order
from ..lowering.regions import Region
from ..lowering.rule_set import RuleSet
from ..lowering.values import inverse
from ..plugin.target import Target
from ..quantize.quantizer import TOSAQuantizer
from ..quantize.schemes.config import (
    QuantizationConfig,
    get_symmetric_a8w4_quantization_config,
    get_symmetric_a16w8_quantization_config,
    get_symmetric_quantization_config,
)
from ..tosa.dtypes import from_array, to_array
from ..tosa.reference_model import run as run_reference
from ..tosa.reference_model import validate
from ..tosa.serializer import serialize
from .case import OpCase
from .exact import evaluate


def scheme_config(scheme: str) -> QuantizationConfig:
    """The quantization of a scheme."""
    if scheme == "int8x4":
        return get_symmetric_a8w4_quantization_config(is_qat=False)
    return get_symmetric_quantization_config() if scheme == "int8" else get_symmetric_a16w8_quantization_config()


def exported(
    module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], spec: ArmCompileSpec, scheme: str
) -> ExportedProgram:
    """The program, quantized with these inputs as calibration data unless the scheme is float."""
    return _in_scheme(torch.export.export(module, inputs), inputs, spec, scheme)


def exported_case(case: OpCase, spec: ArmCompileSpec, scheme: str) -> ExportedProgram:
    """The program of a case, as ``exported``; the float program is exported once for all of its schemes."""
    return _in_scheme(_float_program(case), case.example(0), spec, scheme)


@functools.lru_cache(maxsize=1)  # the schemes of a case follow one another
def _float_program(case: OpCase) -> ExportedProgram:
    return torch.export.export(case.module(), case.example(0))


def _in_scheme(
    program: ExportedProgram, inputs: tuple[torch.Tensor, ...], spec: ArmCompileSpec, scheme: str
) -> ExportedProgram:
    if scheme == "fp32":
        return program
    quantizer = TOSAQuantizer(spec).set_global(scheme_config(scheme))
    if scheme == "int16":  # which tells what functions read of 32 bits
        quantizer.set_samples([(inputs, {})])
    return _quantized(program, inputs, quantizer, (inputs,))


def export_quantized(
    module: torch.nn.Module,
    inputs: tuple[torch.Tensor, ...],
    quantizer: TOSAQuantizer,
    samples: Sequence[tuple[torch.Tensor, ...]] | None = None,
) -> ExportedProgram:
    """The program, quantized as the quantizer says, calibrated with ``samples``; default: with the inputs alone."""
    return _quantized(torch.export.export(module, inputs), inputs, quantizer, samples or (inputs,))


def _quantized(
    program: ExportedProgram,
    inputs: tuple[torch.Tensor, ...],
    quantizer: TOSAQuantizer,
    samples: Sequence[tuple[torch.Tensor, ...]],
) -> ExportedProgram:
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    # With parameters and buffers of its own: quantization changes some, and the program may be quantized again.
    module = copy.deepcopy(program.module())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepared = prepare_pt2e(module, quantizer)
        with torch.no_grad():
            for sample in samples:
                prepared(*sample)
        return torch.export.export(convert_pt2e(prepared), inputs)


def delegated(program: ExportedProgram, target: Target) -> tuple[ExportedProgram, Analysis]:
    """The program as ``arm_tosa_core.lower`` cuts it, and where."""
    compilation = Compilation(program, target, decompose_rest=True).run()
    return compilation.program, compilation.analysis


class Execution:
    """A program whose regions are lowered for a target.

    Args:
        check: also have ``tosa-opt`` validate each graph.
    """

    def __init__(self, program: ExportedProgram, target: Target, *, check: bool = False) -> None:
        compilation = Compilation(program, target, decompose_rest=True)
        self.target = target
        self.rules = RuleSet.of(target.name)
        self.regions = list(compilation.regions())
        self.program, self.analysis = compilation.program, compilation.analysis
        self.flatbuffers = [serialize(r.graph, target.tosa_spec) for r in self.regions]
        self.payloads = [target.compiler.compile(t, {}) if target.compiler.compile else t for t in self.flatbuffers]
        if check:
            for tosa in self.flatbuffers:
                validate(tosa, target.tosa_spec)

    def run(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The outputs of the program, its regions executed as the target does (or by the reference model)."""
        return [self._value(n, self._start(inputs)) for n in _results(self.program)]

    def edges(self, inputs: Sequence[torch.Tensor]) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Each region's results and those of eager PyTorch, both from the same inputs of eager PyTorch.

        Reals that integers stand for are float64 in eager PyTorch here.
        """
        exact: dict[Node, Any] = self._start(inputs)
        pairs = []

        def value(n: Node) -> torch.Tensor:
            tensor: torch.Tensor = self._value(n, exact, exactly=True)
            return tensor.float() if tensor.dtype == torch.float64 else tensor

        for region, payload in zip(self.regions, self.payloads, strict=True):
            results = self._execute(region, payload, [value(n) for n in region.inputs])
            pairs += [(results[n], value(n)) for n in region.outputs]
        return pairs

    def _start(self, inputs: Sequence[torch.Tensor]) -> dict[Node, Any]:
        values: dict[Node, Any] = {}
        data = iter(inputs)
        placeholders = [n for n in self.program.graph.nodes if n.op == "placeholder"]
        for node, spec in zip(placeholders, self.program.graph_signature.input_specs, strict=True):
            if spec.kind.name == "USER_INPUT":
                values[node] = next(data)
            else:
                name = str(spec.target)
                values[node] = self.program.state_dict.get(name, self.program.constants.get(name))
        return values

    def _execute(self, region: Region, payload: bytes, arguments: list[torch.Tensor]) -> dict[Node, torch.Tensor]:
        arrays = [_to_memory(a) for a in arguments]
        tosa = self.flatbuffers[self.regions.index(region)]
        results = self.target.host.run(payload, arrays) if self.target.host.run else run_reference(tosa, arrays)
        if self.target.host.run and not any(
            t.dtype.is_float for op in region.graph.ops for t in (*op.inputs, *op.outputs)
        ):
            _assert_same(self.target.name, results, run_reference(tosa, arrays))
        return {n: _from_memory(r, n.meta["val"]) for n, r in zip(region.outputs, results, strict=True)}

    def _value(self, node: Node, values: dict[Node, Any], exactly: bool = False) -> Any:
        """The value of a node; first, without recursion, those of all that it needs.

        Args:
            exactly: by eager PyTorch alone, in float64.
        """
        makers = {} if exactly else {n: i for i, region in enumerate(self.regions) for n in region.outputs}
        waiting = [node]
        while waiting:
            n = waiting[-1]
            needs = self.regions[makers[n]].inputs if n in makers else n.all_input_nodes
            missing = [m for m in needs if m not in values]
            if n not in values and missing:
                waiting += missing
                continue
            waiting.pop()
            if n in values:
                continue
            if n in makers:
                region = self.regions[makers[n]]
                values.update(self._execute(region, self.payloads[makers[n]], [values[m] for m in region.inputs]))
                continue
            if n.op == "get_attr":
                values[n] = operator.attrgetter(str(n.target))(self.program.graph_module)
                continue
            args, kwargs = torch.fx.map_arg((n.args, n.kwargs), values.__getitem__)
            with torch.no_grad():
                values[n] = evaluate(n, args, kwargs, self.rules) if exactly else _call(n, args, kwargs)
        return values[node]


def left_outside(program: ExportedProgram, analysis: Analysis) -> dict[str, str]:
    """Operators outside, and why; not the quantize, dequantize and int64 casts at the edges, nor assertions.

    Nor copies of an input, to the layout that the CPU's quantize kernel reads.
    """

    def must_be_inside(node: Node) -> bool:
        if node.op != "call_function" or node in analysis.accepted or node.meta.get("val") is None:
            return False
        edge = is_quantize(node) or is_dequantize(node) or is_int64_cast(node)
        copies = node.target is torch.ops.aten.clone.default and node.all_input_nodes[0].op == "placeholder"
        return not (edge or node.target is operator.getitem or (copies and all(map(is_quantize, node.users))))

    return {n.name: str(analysis.rejected.get(n)) for n in program.graph.nodes if must_be_inside(n)}


def _call(node: Node, args: Any, kwargs: Any) -> Any:
    return aten_overload(node.target)(*args, **kwargs)


def _results(program: ExportedProgram) -> list[Node]:
    (output,) = (n for n in program.graph.nodes if n.op == "output")
    return [n for n in output.args[0] if isinstance(n, Node)]


def _assert_same(
    target: str, actual: Sequence[np.ndarray[Any, Any]], references: Sequence[np.ndarray[Any, Any]]
) -> None:
    """Integers must equal those of the TOSA reference model, bit for bit; a target may give them flat."""
    for number, (ours, reference) in enumerate(zip(actual, references, strict=True)):
        bits = np.ascontiguousarray(ours).view(np.uint8).reshape(-1)
        expected = np.ascontiguousarray(reference).view(np.uint8).reshape(-1)
        assert bits.size == expected.size, f"output {number} on {target} has {bits.size} bytes, not {expected.size}"
        wrong = np.flatnonzero((bits != expected).reshape(-1, reference.itemsize).any(1))
        assert not wrong.size, (
            f"output {number} on {target} differs from the TOSA reference model in {wrong.size} of {reference.size} "
            f"elements, first in {wrong[0]}: {reference.reshape(-1)[wrong[0]]} there, {ours.reshape(-1)[wrong[0]]} here"
        )


def _to_memory(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """The elements in the order in which they lie, as a delegate gets them; int64 narrowed."""
    tensor = tensor.detach()
    if tensor.dtype == torch.int64:
        tensor = tensor.to(torch.int32)
    if (order := memory_order(tensor)) is not None:
        tensor = tensor.permute(inverse(order))
    return np.ascontiguousarray(to_array(tensor)).reshape(tuple(tensor.shape))


def _from_memory(array: np.ndarray[Any, Any], meta: torch.Tensor) -> torch.Tensor:
    tensor = from_array(array, meta.dtype)
    if (order := memory_order(meta)) is None:
        return tensor.reshape(meta.shape)
    return tensor.reshape([meta.shape[i] for i in inverse(order)]).permute(order)
