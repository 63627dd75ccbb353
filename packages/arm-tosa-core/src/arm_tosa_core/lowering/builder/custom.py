"""Operators that TOSA does not define, CUSTOM, and those of programs that were TOSA before."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ...support.errors import require
from ...tosa.dtypes import torch_to_tosa, tosa_to_torch
from ...tosa.graph import Graph
from ...tosa.ir import Tensor
from ..values import Value
from .quantization import Quantization


class CustomOperators(Quantization):
    """Operands and results have their axes in the order in which PyTorch has them."""

    def CUSTOM(
        self,
        operands: Sequence[Value],
        results: Sequence[tuple[Sequence[int], torch.dtype]],
        *,
        domain_name: str,
        operator_name: str,
        implementation_attrs: bytes,
    ) -> tuple[Value, ...]:
        for dtype in (*(v.dtype for v in operands), *(dtype for _, dtype in results)):
            require(dtype is not torch.int64, "takes or gives int64, which TOSA has not", "use int32")
        tensors = self.emit_all(
            "CUSTOM",
            [self.tensor(self.real(value)) for value in operands],
            domain_name=domain_name,
            operator_name=operator_name,
            implementation_attrs=implementation_attrs,
            results=[(tuple(shape), torch_to_tosa(dtype)) for shape, dtype in results],
        )
        return tuple(self.value(tensor, dtype) for tensor, (_, dtype) in zip(tensors, results, strict=True))

    def inlined(self, graph: Graph, operands: Sequence[Value]) -> tuple[Value, ...]:
        tensors = {own: self.tensor(value) for own, value in zip(graph.inputs, operands, strict=True)}

        def here(tensor: Tensor) -> Tensor:
            if tensor.data is not None and tensor not in tensors:
                tensors[tensor] = self.graph.constant(tensor.data, tensor.dtype)
            return tensors[tensor]

        for op in graph.ops:
            results = self.emit_all(op.name, [here(tensor) for tensor in op.inputs], **op.attrs)
            tensors.update(zip(op.outputs, results, strict=True))
        return tuple(self.value(here(tensor), tosa_to_torch(tensor.dtype)) for tensor in graph.outputs)
