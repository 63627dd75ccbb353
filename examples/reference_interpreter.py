"""Runs a lowered program on this machine, its delegates on the TOSA reference model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from executorch.exir import EdgeProgramManager
from executorch.exir.delegate import executorch_call_delegate
from executorch.exir.tensor import dim_order_from_stride

from arm_tosa_core.tosa import reference_model as reference


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
        self.data = {**self.program.constants, **self.program.state_dict}

    def run(self, *args: torch.Tensor, **kwargs: Any) -> tuple[torch.Tensor, ...]:
        """The program's outputs for these inputs; what it writes to its buffers is there in the next call."""
        self._waiting = iter(self.graphs)
        given = iter(args)
        signature = self.program.graph_signature
        inputs = (next(given) if i.kind.name == "USER_INPUT" else self.data[i.target] for i in signature.input_specs)
        outputs = []
        for spec, result in zip(signature.output_specs, super().run(*inputs, **kwargs), strict=True):
            if spec.kind.name == "BUFFER_MUTATION":
                self.data[spec.target] = result
            else:
                outputs.append(result)
        return tuple(outputs)

    def run_node(self, n: torch.fx.Node) -> Any:
        """One operator of the program; a delegate's arguments are its lowered module, then its inputs."""
        if n.target is not executorch_call_delegate:
            return super().run_node(n)
        _, *inputs = self.fetch_args_kwargs_from_env(n)[0]
        # A delegate reads and writes bytes: axes come in the order in which ExecuTorch has them lie in memory.
        arrays = [tensor.detach().permute(dim_order_from_stride(tensor.stride())).numpy() for tensor in inputs]
        outputs = reference.run(next(self._waiting), arrays)
        return [_as_in_program(torch.tensor(a), tensor) for a, tensor in zip(outputs, n.meta["val"], strict=True)]


def _as_in_program(result: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    """Bytes of a delegate as the program reads them: unsigned integers are signed ones in TOSA."""
    if tensor.dtype in (torch.uint8, torch.uint16):
        result = result.view(tensor.dtype)
    return result.permute(_inverse(dim_order_from_stride(tensor.stride())))


def _inverse(order: Sequence[int]) -> list[int]:
    return sorted(range(len(order)), key=order.__getitem__)
