"""The base of every part of the builder: checked emission, constants, order of axes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from math import prod
from typing import Any

import numpy as np
import torch

from ...plugin.target import Preferences
from ...support.errors import Rejected, require
from ...tosa.dtypes import numpy_dtype, to_array, torch_to_tosa
from ...tosa.graph import Graph
from ...tosa.ir import DType, Origin, Tensor, fewest_axes, finest_axes
from ...tosa.specification import TosaSpecification
from ...tosa.table_checks import check
from ...tosa.verifier import Check
from ..values import Axes, QParams, Value, inverse, is_identity, moves_only_ones, of_type

#: Constants with more elements are made at their first read: most nodes that a target refuses have some.
_SMALL = 1024
_INT32 = (-(2**31), 2**31 - 1)

#: Results of composites on constants are computed at compile time.
_FOLDED: dict[str, Callable[..., torch.Tensor]] = {
    "ADD": torch.add,
    "SUB": torch.sub,
    "MUL": torch.mul,
    "NEGATE": torch.neg,
    "RECIPROCAL": torch.reciprocal,
    "RSQRT": torch.rsqrt,
    "POW": torch.pow,
    "EXP": torch.exp,
    "LOG": torch.log,
}


class Cache(dict[Any, Tensor]):
    """Tensors that are emitted once for all their readers, in order of emission.

    ``asked`` notes the keys that were looked up, and whether they were there at first.
    """

    def __init__(self) -> None:
        super().__init__()
        self.asked: dict[Any, bool] = {}

    def __contains__(self, key: object) -> bool:
        present = super().__contains__(key)
        self.asked.setdefault(key, present)
        return present

    def since(self, size: int) -> dict[Any, Tensor]:
        """The tensors that were put in after the first ``size``."""
        return dict(islice(self.items(), size, None)) if len(self) > size else {}


class Emitter:
    """Emits checked TOSA operators into a graph; nothing here knows of quantization.

    Args:
        graph: where operators go.
        spec: the specification of emitted operators.
        checks: limits of the target, asked about every operator.
        preferences: the target's choices among equivalent graphs.
    """

    def __init__(
        self,
        graph: Graph,
        spec: TosaSpecification,
        checks: Sequence[Check] = (),
        *,
        preferences: Preferences | None = None,
    ) -> None:
        self.graph = graph
        self.spec = spec
        self.checks = tuple(checks)
        self.preferences = preferences or Preferences()
        self.origin: Origin | None = None
        self.exact_only = False  # set by ``exactly``
        self._ordered = Cache()  # by the tensor and the order of axes
        self._signed = Cache()  # int8, by the tensor of uint8
        self.caches = [self._ordered, self._signed]

    def emit(self, name: str, inputs: Sequence[Tensor], **attrs: Any) -> Tensor:
        """Appends one operator with one result.

        Raises:
            Rejected: the operator table, the specification or the target does not allow it.
        """
        (result,) = self.emit_all(name, inputs, **attrs)
        return result

    def emit_all(self, name: str, inputs: Sequence[Tensor], **attrs: Any) -> list[Tensor]:
        """``emit`` for an operator with any number of results."""
        op = self.graph.append(name, inputs, attrs, self.origin)
        try:
            check(op, self.spec)
            for ask in self.checks:
                if refusal := ask(op):
                    raise refusal
        except Rejected:
            self.graph.remove(op)
            raise
        return op.outputs

    @contextmanager
    def exactly(self) -> Iterator[None]:
        """Raises ``Inexact`` where reals would be rounded to the steps that a quantized operand has."""
        self.exact_only = True
        try:
            yield
        finally:
            self.exact_only = False

    def mark(self) -> tuple[int, ...]:
        """The present end of the graph, for ``undo``."""
        return len(self.graph.ops), *map(len, self.caches)

    def undo(self, mark: tuple[int, ...]) -> None:
        """Takes back all operators emitted since ``mark``, such as those of a rule before it refused."""
        while len(self.graph.ops) > mark[0]:
            self.graph.remove(self.graph.ops[-1])
        for cache, size in zip(self.caches, mark[1:], strict=True):
            while len(cache) > size:
                cache.popitem()

    def scalar(self, number: float | bool, like: Value) -> Value:
        return self.const(of_type(number, like.dtype))

    def const(self, data: torch.Tensor, quant: QParams | None = None) -> Value:
        """A constant; ``quant`` if ``data`` holds the integers of a quantized tensor."""
        dtype = torch.float32 if quant else data.dtype
        return Value(tuple(data.shape), dtype, const=data, quant=quant, bounds=_bounds(data))

    def constant(self, shape: Sequence[int], dtype: DType, make: Callable[[], np.ndarray[Any, Any]]) -> Tensor:
        """A constant of the TOSA graph; a large one is made at its first read."""
        if prod(shape) > _SMALL:
            return Tensor(shape, dtype, data=make)
        return self.graph.constant(make(), dtype)

    def int32(self, number: int, rank: int) -> Tensor:
        """A constant of one number, beside tensors of this rank."""
        return self.graph.constant(np.full((1,) * rank, number, np.int32), DType.INT32)

    def changed(self, constant: Tensor, shape: Sequence[int], dtype: DType) -> Tensor:
        """A constant in another shape, or as a type that holds its numbers."""

        def make() -> np.ndarray[Any, Any]:
            assert constant.data is not None
            return constant.data.reshape(tuple(shape))

        return self.constant(shape, dtype, make)

    def _const_tensor(self, value: Value, perm: Axes) -> Tensor:
        data = value.const
        assert data is not None
        if data.device.type != "cpu":
            raise Rejected(f"a constant lives on device {data.device}", "move the model to the CPU before exporting it")
        if data.dtype == torch.int64:
            require(
                value.bounds is None or (value.bounds[0] >= _INT32[0] and value.bounds[1] <= _INT32[1]),
                f"an int64 constant has values in {value.bounds}, beyond int32",
            )
        kind = torch.int32 if data.dtype == torch.int64 else data.dtype
        moved = data.detach().permute(inverse(perm)) if value.rank else data.detach()
        return self.constant(moved.shape, torch_to_tosa(kind), lambda: to_array(moved.to(kind)))

    def tensor(self, value: Value, perm: Axes | None = None) -> Tensor:
        """The TOSA tensor of a value, its axes in the order ``perm`` (``Value.perm``); default: as PyTorch has them.

        Emits a TRANSPOSE, or a RESHAPE where only axes of size 1 move, if they lie otherwise.
        """
        perm = perm or tuple(range(value.rank))
        if value.tensor is None:
            return self._const_tensor(value, perm)
        move = self._move(value, perm)
        if is_identity(move):
            return value.tensor
        if value.tensor.shape and moves_only_ones(value.tensor.shape, move):
            return self.reshape(value.tensor, [value.tensor.shape[p] for p in move])
        key = (value.tensor, move)
        if key not in self._ordered:
            self._ordered[key] = self._transposed(value.tensor, move)
        return self._ordered[key]

    def _transposed(self, x: Tensor, perms: Axes) -> Tensor:
        """TRANSPOSE; of a transposed and reshaped tensor, one of finer axes if the target has it."""
        inner = x.producer
        while inner is not None and inner.name == "RESHAPE":
            inner = inner.inputs[0].producer
        if inner is not None and inner.name == "TRANSPOSE":
            source, turned = inner.inputs[0], inner.output
            sizes, (first, second) = finest_axes(turned.shape, x.shape)
            order = [first[a] for a in inverse(inner.attrs["perms"])]  # of the source's axes
            before = [part for parts in order for part in parts]
            move = tuple(before.index(part) for p in perms for part in second[p])
            if len(before) == len(sizes):
                axes, turn = fewest_axes([sizes[part] for part in before], move)
                with suppress(Rejected):
                    moved = self.reshape(source, axes)
                    moved = moved if is_identity(turn) else self.emit("TRANSPOSE", [moved], perms=turn)
                    return self.reshape(moved, [x.shape[p] for p in perms])
        try:
            return self.emit("TRANSPOSE", [x], perms=perms)
        except Rejected:  # a target may take fewer axes where it does not take these
            axes, turn = fewest_axes(x.shape, perms)
            mark = self.mark()
            with suppress(Rejected):
                if len(axes) < len(perms):
                    moved = self.emit("TRANSPOSE", [self.reshape(x, axes)], perms=turn)
                    return self.reshape(moved, [x.shape[p] for p in perms])
            self.undo(mark)
            raise

    def reshape(self, tensor: Tensor, shape: Sequence[int]) -> Tensor:
        """RESHAPE, unless the shape is that already."""
        if tuple(shape) == tensor.shape:
            return tensor
        if tensor.is_constant:
            return self.changed(tensor, shape, tensor.dtype)
        return self.emit("RESHAPE", [tensor, self.graph.shape(shape)])

    def value(
        self, tensor: Tensor, dtype: torch.dtype, perm: Axes | None = None, quant: QParams | None = None, **more: Any
    ) -> Value:
        """A TOSA tensor as a value; ``perm`` tells the order of its axes."""
        shape = tuple(tensor.shape[p] for p in perm) if perm else tensor.shape
        return Value(
            shape, dtype, tensor, perm=None if perm is None or is_identity(perm) else perm, quant=quant, **more
        )

    def same_order(self, *values: Value) -> tuple[Axes, list[Tensor]]:
        """The tensors of values of one rank, all with axes in one order: the one that moves least."""
        perm = self._order(values)
        return perm, [self.tensor(v, perm) for v in values]

    def aligned(self, *values: Value) -> list[Value]:
        """Values of one rank with axes in one order, which ``same_order`` finds there; constants stay as they are."""
        rank = max(v.rank for v in values)
        lifted = [self.lift(v, rank) for v in values]
        perm = self._order(lifted)
        order = None if is_identity(perm) else perm
        return [v if v.is_const else v.replace(tensor=self.tensor(v, perm), perm=order) for v in lifted]

    def _order(self, values: Sequence[Value]) -> Axes:
        """The order of axes in which the fewest numbers are moved; where that is equal, one that some were moved to."""
        costs: dict[Axes, tuple[int, bool, bool]] = {}
        movable = [v for v in values if v.tensor is not None]
        for candidate in dict.fromkeys(v.axes for v in movable):
            moved = [v for v in movable if self._moves(v, candidate)]
            again = [v for v in moved if (v.tensor, self._move(v, candidate)) in self._ordered]
            elements = sum(v.size for v in moved) - sum(v.size for v in again)
            costs[candidate] = elements, not again, is_identity(candidate)
        return min(costs, key=lambda p: costs[p]) if costs else tuple(range(values[0].rank))

    def _moves(self, value: Value, perm: Axes) -> bool:
        """Whether a TRANSPOSE is needed to bring the axes of a value to the order ``perm``."""
        assert value.tensor is not None
        return not moves_only_ones(value.tensor.shape, self._move(value, perm))

    @staticmethod
    def _move(value: Value, perm: Axes) -> Axes:
        """The TRANSPOSE that brings the axes of a value to the order ``perm``."""
        return tuple(value.axes[i] for i in inverse(perm))

    def lift(self, value: Value, rank: int) -> Value:
        extra = rank - value.rank
        if extra <= 0:
            return value
        quant = value.quant
        if quant is not None and quant.axis is not None:
            quant = QParams(quant.scale, quant.zero_point, quant.qmin, quant.qmax, quant.axis + extra)
        shape = (1,) * extra + value.shape
        if value.const is not None:
            return value.replace(shape=shape, const=value.const.reshape(shape), quant=quant)
        assert value.tensor is not None
        tensor = self.reshape(value.tensor, (1,) * extra + value.tensor.shape)
        perm = tuple(range(extra)) + tuple(p + extra for p in value.axes)
        return value.replace(shape=shape, tensor=tensor, perm=perm, quant=quant)

    def elementwise(self, name: str, *operands: Value, dtype: torch.dtype | None = None, **attrs: Any) -> Value:
        """Emits an elementwise operator on plain values: ranks lifted, axes brought to one order.

        Args:
            dtype: of the result; default: the first operand's.
        """
        if name in _FOLDED and all(v.const is not None and v.quant is None for v in operands):
            result = _FOLDED[name](*(v.const for v in operands))
            return self.const(result if dtype is None else result.to(dtype))
        rank = max(v.rank for v in operands)
        lifted = [self.lift(v, rank) for v in operands]
        perm, tensors = self.same_order(*lifted)
        if name == "MUL":
            tensors.append(self.graph.constant(np.zeros(1, np.int8), DType.INT8))
        if name == "NEGATE":
            tensors += [self.graph.constant(np.zeros(1, numpy_dtype(t.dtype)), t.dtype) for t in tensors * 2]
        return self.value(self.emit(name, tensors, **attrs), dtype or operands[0].dtype, perm)

    def plain_cast(self, value: Value, dtype: torch.dtype) -> Value:
        """CAST between plain types; int64 is int32 with a promise about its range."""
        if value.dtype == dtype:
            return value
        if value.const is not None:
            return self.const(value.const.to(dtype))
        narrow = torch.int32 if dtype == torch.int64 else dtype
        if (value.dtype == torch.int64 and narrow == torch.int32) or value.dtype == torch.int32 == narrow:
            return value.replace(dtype=dtype)
        assert value.tensor is not None
        tensor = self.emit("CAST", [value.tensor], output_dtype=torch_to_tosa(narrow))
        return Value(value.shape, dtype, tensor, perm=value.perm)


def _bounds(data: torch.Tensor) -> tuple[int, int] | None:
    if data.dtype not in (torch.int64, torch.int32) or not data.numel():
        return None
    return int(data.min()), int(data.max())
