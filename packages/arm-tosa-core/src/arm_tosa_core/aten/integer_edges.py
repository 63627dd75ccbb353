"""Programs that take and return the integers of a quantized model, without quantize and dequantize nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind
from torch.fx import Node

from ..compat.executorch import scalar_type_code
from ..compat.torch import program_like, tree_flatten, tree_unflatten
from ..lowering.exported_program import copy_program, is_dequantize, is_quantize


@dataclass(frozen=True)
class Integers:
    """The reals of an input's or output's integers: ``scale * (integer - zero_point)``.

    Args:
        low: the least integer.
        high: the greatest integer.
        dtype: of the tensor.
    """

    scale: float
    zero_point: int
    low: int
    high: int
    dtype: torch.dtype

    @staticmethod
    def of(node: Node) -> Integers:
        """The integers of a quantize or dequantize node whose scale is known when the program is compiled."""
        return Integers(*cast(tuple[float, int, int, int, torch.dtype], node.args[1:6]))

    def to_json(self) -> dict[str, float | str]:
        return {**asdict(self), "dtype": str(self.dtype)}

    def constants(self, name: str) -> dict[str, float | int]:
        """The methods that tell of them in a ``.pte``, named as ExecuTorch's ``QuantizeInputs`` does."""
        values = {"scale": self.scale, "zp": self.zero_point, "quant_min": self.low, "quant_max": self.high}
        return {f"{name}_{key}": value for key, value in values.items()} | {
            f"{name}_dtype": scalar_type_code(self.dtype)
        }


def with_integer_edges(program: ExportedProgram) -> tuple[ExportedProgram, dict[str, Integers]]:
    """The program that takes and returns integers wherever it quantizes an input or dequantizes an output.

    Inputs that it also reads in float, and outputs that it computes in float, stay as they are.

    Returns:
        the program, the one given is left as it is; and the quantization of inputs and outputs that are integers now,
        by ``input0``, ``output0`` and so on.
    """
    program = copy_program(program)
    inputs = {f"input{i}": integers for i, integers in enumerate(_take_quantize(program)) if integers}
    outputs = {f"output{i}": integers for i, integers in enumerate(_take_dequantize(program)) if integers}
    program.graph.eliminate_dead_code()
    changed: ExportedProgram = program_like(
        program,
        program.graph,
        program.graph_signature,
        root=program.graph_module,
        state_dict=program.state_dict,
        example_inputs=_examples(program.example_inputs, inputs),
        constants=program.constants,
    )
    return changed, inputs | outputs


def _take_quantize(program: ExportedProgram) -> list[Integers | None]:
    """Makes inputs integers; returns the quantization of each of the user's inputs, None if it stays as it is."""
    placeholders = {node.name: node for node in program.graph.find_nodes(op="placeholder")}
    return [_as_integers(placeholders[name]) for name in program.graph_signature.user_inputs if name in placeholders]


def _as_integers(node: Node) -> Integers | None:
    readers = list(node.users)
    if not readers or not all(is_quantize(n) and isinstance(n.args[1], float) for n in readers):
        return None
    first, *others = map(Integers.of, readers)
    if any(other != first for other in others):
        return None
    node.meta["val"] = readers[0].meta["val"]
    for reader in readers:
        reader.replace_all_uses_with(node)
        node.graph.erase_node(reader)
    return first


def _take_dequantize(program: ExportedProgram) -> list[Integers | None]:
    """Makes outputs integers; as ``_take_quantize``."""
    output, signature = program.graph.output_node(), program.graph_signature
    results, integers = list(cast(Any, output.args[0])), []
    for position, (result, spec) in enumerate(zip(results, signature.output_specs, strict=True)):
        if spec.kind is not OutputKind.USER_OUTPUT:
            continue
        fixed = isinstance(result, Node) and is_dequantize(result) and isinstance(result.args[1], float)
        integers.append(Integers.of(result) if fixed else None)
        if fixed:
            results[position] = result.args[0]
            signature.output_specs[position] = replace(spec, arg=replace(spec.arg, name=result.args[0].name))
    output.args = (tuple(results),)
    return integers


def _examples(examples: Any, inputs: Mapping[str, Integers]) -> Any:
    """The example inputs as integers."""
    if examples is None:
        return None
    leaves, structure = tree_flatten(examples)
    for name, integers in inputs.items():
        position = int(name.removeprefix("input"))
        leaves[position] = torch.ops.quantized_decomposed.quantize_per_tensor(
            leaves[position], integers.scale, integers.zero_point, integers.low, integers.high, integers.dtype
        )
    return tree_unflatten(leaves, structure)
