"""Whole networks through the documented flow, and the judges of what comes out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
from executorch.exir import EdgeProgramManager, to_edge_transform_and_lower
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

import example_scripts
from arm_tosa_core import TosaCompileSpec, TOSAPartitioner, TOSAQuantizer, get_symmetric_quantization_config
from arm_tosa_core.flow.edge import lower_to_edge
from models import MODELS, ZOO

Run = Callable[..., torch.Tensor]
Samples = Iterable[tuple[torch.Tensor, ...]]


@dataclass(frozen=True)
class Lowered:
    """One network at the three stages of the flow.

    Args:
        exact: the float module.
        quantized: the eager quantized graph.
        edge: the lowered program.
        graphs: TOSA flatbuffer of each delegate.
        samples: inputs that calibration did not see.
    """

    exact: Run
    quantized: Run
    edge: EdgeProgramManager
    graphs: list[bytes]
    samples: list[tuple[torch.Tensor, ...]]

    def compiled(self, *inputs: torch.Tensor) -> torch.Tensor:
        """The lowered program's first output, its delegates run by the TOSA reference model."""
        interpreter = example_scripts.load("reference_interpreter").ReferenceInterpreter(self.edge, self.graphs)
        return interpreter.run(*inputs)[0]

    def left_outside(self) -> Counter[str]:
        """Names of the operators that stayed on the CPU; "delegate" counts the delegates."""
        names: Counter[str] = Counter()
        for node in self.edge.exported_program().graph.nodes:
            if node.op == "call_function" and node.target.__name__ != "getitem":
                names["delegate" if "call_delegate" in node.target.__name__ else node.target.__name__] += 1
        return names


def lower_int8(name: str, artifacts: Path, samples: int, flow: str = "fast") -> Lowered:
    """Quantizes a network of ``tests/models`` to int8 and lowers it to TOSA 1.0 INT, artifacts in the folder.

    Args:
        flow: ``fast``, or ``ordinary`` for ExecuTorch's own.
    """
    module, inputs = (MODELS | ZOO)[name]()
    spec = TosaCompileSpec("TOSA-1.0+INT").dump_intermediate_artifacts_to(artifacts)
    quantizer = TOSAQuantizer(spec).set_global(get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(torch.export.export(module, inputs(0)).module(), quantizer)
    with torch.no_grad():
        for seed in range(4):
            prepared(*inputs(seed))
    quantized = convert_pt2e(prepared)
    program = torch.export.export(quantized, inputs(0))
    if flow == "fast":
        edge, _ = lower_to_edge(program, spec)
    else:
        edge = to_edge_transform_and_lower(program, partitioner=[TOSAPartitioner(spec)])
    graphs = [path.read_bytes() for path in sorted(artifacts.glob("delegate_*/tosa.tosa"))]
    return Lowered(module, quantized, edge, graphs, [inputs(100 + i) for i in range(samples)])


def sqnr(exact: Run, noisy: Run, samples: Samples) -> float:
    """Signal to noise ratio of ``noisy`` against ``exact`` over all samples, in dB."""
    signal = noise = 0.0
    with torch.no_grad():
        for inputs in samples:
            wanted, got = exact(*inputs).double(), noisy(*inputs).double()
            signal += float((wanted**2).sum())
            noise += float(((wanted - got) ** 2).sum())
    return 10 * math.log10(signal / noise)
