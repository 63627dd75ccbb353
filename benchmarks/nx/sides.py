"""The two implementations that are compared, on VGF: from a network to TOSA graphs and VGFs.

A process imports one of them only, as ``benchmarks/sides.py`` says.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram

from benchmarks.nx.registry import Network

#: What a program takes and returns.
EDGES = ("float", "integer")


@dataclass(frozen=True)
class Delegate:
    """A part of a network that runs as VGF."""

    tosa: bytes
    vgf: bytes


class Side(ABC):
    @abstractmethod
    def quantize(self, network: Network) -> ExportedProgram:
        """The network in int8 by this implementation's documented flow."""

    @abstractmethod
    def lower(self, program: ExportedProgram, edges: str, folder: Path) -> tuple[list[Delegate], int]:
        """The delegates of a quantized program, and how many operators are outside of them.

        Args:
            edges: one of EDGES.
            folder: an empty one.
        """


class Ours(Side):
    def quantize(self, network: Network) -> ExportedProgram:
        from arm_tosa_core import get_symmetric_quantization_config, quantize_program
        from arm_vgf import VgfCompileSpec, VgfQuantizer

        quantizer = VgfQuantizer(VgfCompileSpec()).set_global(get_symmetric_quantization_config())
        example = network.calibration[0]
        program = torch.export.export(network.module, example)
        made = quantize_program(program, quantizer, [(sample, {}) for sample in network.calibration])
        return torch.export.export(made.converted, example)

    def lower(self, program: ExportedProgram, edges: str, folder: Path) -> tuple[list[Delegate], int]:
        from arm_tosa_core import lower
        from arm_vgf import VgfCompileSpec

        made = lower(program, VgfCompileSpec().dump_intermediate_artifacts_to(folder), integer_io=edges == "integer")
        return _delegates(folder), len(made.reports["forward"].rejected)


class Rival(Side):
    """``executorch.backends.arm`` of the installed executorch."""

    def quantize(self, network: Network) -> ExportedProgram:
        from executorch.backends.arm.quantizer import VgfQuantizer, get_symmetric_quantization_config
        from executorch.backends.arm.vgf import VgfCompileSpec
        from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

        quantizer = VgfQuantizer(VgfCompileSpec())
        quantizer.set_global(get_symmetric_quantization_config())
        example = network.calibration[0]
        # Its quantizer does not take the guards node.
        prepared = prepare_pt2e(torch.export.export(network.module, example).module(check_guards=False), quantizer)
        with torch.no_grad():
            for sample in network.calibration:
                prepared(*sample)
        return torch.export.export(convert_pt2e(prepared), example)

    def lower(self, program: ExportedProgram, edges: str, folder: Path) -> tuple[list[Delegate], int]:
        """Integers at the edges: its profile of integers, which leaves the float edges to passes of ExecuTorch."""
        from executorch.backends.arm.vgf import VgfCompileSpec, VgfPartitioner
        from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower

        from benchmarks.lowering_case import left_outside

        spec = VgfCompileSpec() if edges == "float" else VgfCompileSpec("TOSA-1.0+INT+int4+int16")
        spec.dump_intermediate_artifacts_to(str(folder))
        edge = to_edge_transform_and_lower(
            program,
            partitioner=[VgfPartitioner(spec)],
            compile_config=EdgeCompileConfig(_check_ir_validity=False),
        )
        if edges == "integer":
            edge = _with_integers(edge)
        return _delegates(folder), left_outside(edge.exported_program().graph)["left"]


SIDES: dict[str, type[Side]] = {"ours": Ours, "rival": Rival}


def _delegates(folder: Path) -> list[Delegate]:
    """What either side left there: graphs and VGFs, each in the order in which they were compiled."""
    graphs, vgfs = (
        sorted(folder.rglob(f"*.{suffix}"), key=lambda path: path.stat().st_mtime_ns) for suffix in ("tosa", "vgf")
    )
    return [Delegate(graph.read_bytes(), vgf.read_bytes()) for graph, vgf in zip(graphs, vgfs, strict=True)]


def _with_integers(edge: Any) -> Any:
    """The program without quantize nodes at its inputs and dequantize nodes at its outputs."""
    from executorch.exir.passes.quantize_io_pass import QuantizeInputs, QuantizeOutputs

    program = edge.exported_program()
    names = set(program.graph_signature.user_inputs)
    nodes = [node for node in program.graph.nodes if node.op == "placeholder" and node.name in names]
    inputs = [i for i, node in enumerate(nodes) if all("quantize_per_tensor" in str(u.target) for u in node.users)]
    outputs = [
        i for i, node in enumerate(program.graph.output_node().args[0]) if "dequantize_per_tensor" in str(node.target)
    ]
    return edge.transform([QuantizeInputs(edge, inputs), QuantizeOutputs(edge, outputs)])
