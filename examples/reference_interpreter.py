"""Runs a lowered program on this machine, its delegates on the TOSA reference model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from executorch.exir import EdgeProgramManager
from executorch.exir.delegate import executorch_call_delegate

from arm_tosa_core import reference


class ReferenceInterpreter(torch.fx.Interpreter):
    """What stays on the CPU (quantize and dequantize, mostly) runs in PyTorch, delegates run as TOSA graphs.

    Args:
        edge: what ``to_edge_transform_and_lower`` returned.
        graphs: TOSA flatbuffers of the delegates, in the order in which they are called.
    """

    def __init__(self, edge: EdgeProgramManager, graphs: Sequence[bytes]) -> None:
        self.program = edge.exported_program()
        super().__init__(self.program.graph_module)
        self.graphs = graphs

    def run(self, *args: torch.Tensor, **kwargs: Any) -> tuple[torch.Tensor, ...]:
        """The program's outputs for these inputs."""
        self._waiting = iter(self.graphs)
        given = iter(args)
        data = {**self.program.constants, **self.program.state_dict}
        inputs = self.program.graph_signature.input_specs
        return super().run(*(next(given) if i.kind.name == "USER_INPUT" else data[i.target] for i in inputs), **kwargs)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """One operator of the program; a delegate's arguments are its lowered module, then its inputs."""
        if target is not executorch_call_delegate:
            return super().call_function(target, args, kwargs)
        arrays = [tensor.detach().numpy() for tensor in args[1:]]
        return [torch.tensor(array) for array in reference.run(next(self._waiting), arrays)]
