"""A quantized network on what runs here: the TOSA reference model, Ethos-U's functional model, VGF on Vulkan."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from executorch.exir.delegate import executorch_call_delegate
from torch.fx import GraphModule, Interpreter, Node

from arm_ethosu import EthosUCompileSpec
from arm_tosa_core import TosaCompileSpec
from arm_tosa_core.exir.compile_spec import ArmCompileSpec
from arm_tosa_core.flow.edge import lower_to_edge
from arm_tosa_core.tosa import reference_model as reference
from arm_vgf import VgfCompileSpec

Run = Callable[[torch.Tensor], torch.Tensor]

#: Compile specs by the name of what runs them.
TARGETS: dict[str, Callable[[], ArmCompileSpec]] = {
    "reference": lambda: TosaCompileSpec("TOSA-1.0+INT+int16+int4"),
    "reference, float": lambda: TosaCompileSpec("TOSA-1.0+INT+FP+int16+int4"),
    "ethos-u55": lambda: EthosUCompileSpec("ethos-u55-128"),
    "ethos-u85": lambda: EthosUCompileSpec("ethos-u85-256"),
    "vgf": lambda: VgfCompileSpec("TOSA-1.0+INT"),
    "vgf, int4": lambda: VgfCompileSpec("TOSA-1.0+INT+int4"),
    "vgf, float": lambda: VgfCompileSpec("TOSA-1.0+INT+FP"),
}


def batch_of(target: str) -> int:
    """How many pictures a network for a target takes at once: NPUs one, what has a cost per operator more."""
    return 1 if target.startswith("ethos") else 24


class OnReferenceModel(Interpreter):
    """Runs an edge program, its delegates on the TOSA reference model."""

    def run_node(self, n: Node) -> Any:
        if n.target is not executorch_call_delegate:
            return super().run_node(n)
        module, *inputs = self.fetch_args_kwargs_from_env(n)[0]
        results = reference.run(module.processed_bytes, [x.numpy() for x in inputs])
        return [torch.tensor(r).to(m.dtype) for r, m in zip(results, n.meta["val"], strict=True)]


def deploy(model: GraphModule, example: torch.Tensor, target: str, folder: Path) -> Run:
    """Lowers a converted model as one delegate that holds all but the conversions at its edges; how to run it."""
    spec = TARGETS[target]()
    edge, report = lower_to_edge(torch.export.export(model, (example,)), spec)
    outside = [str(row) for row in report.rejected if "quantize_per_tensor" not in row.target]
    assert (report.delegates, outside) == (1, []), outside[:5]
    if target.startswith("reference"):
        program = edge.exported_program()
        data = {**program.constants, **program.state_dict}
        kinds = [(spec.kind.name, spec.target) for spec in program.graph_signature.input_specs]
        interpreter = OnReferenceModel(program.graph_module)
        return lambda x: interpreter.run(*(x if kind == "USER_INPUT" else data[name] for kind, name in kinds))[0]

    import executorch.kernels.quantized  # noqa: F401
    from executorch.runtime import Runtime

    import arm_runtime  # noqa: F401

    path = folder / "model.pte"
    path.write_bytes(edge.to_executorch().buffer)
    method = Runtime.get().load_program(path).load_method("forward")
    return lambda x: method.execute([x])[0].clone()
