"""The stages of a compile, and the rewrites that run in two of them.

A rewrite names its stage, never a neighbour: rewrites of one stage must be right in any order (``rewrite_engine`` runs
them, in order of name, until none changes anything).
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from ..support.errors import UsageError
from .graph import Graph
from .ir import DType, Op, Origin, Tensor, joined
from .table import require_operators


class Stage(IntEnum):
    """All that happens to a program, in this order: the only list of it. ``purpose`` says what for.

    ``exir.compilation.Compilation`` runs those of the program, ``lowering.pipeline`` those of a region's graph.
    """

    purpose: str

    def __new__(cls, purpose: str) -> Stage:
        stage = int.__new__(cls, len(cls.__members__) + 1)
        stage._value_, stage.purpose = int(stage), purpose
        return stage

    CANONICALIZE = "program: in-place operators and torch.cond become functional, those without a rule are decomposed"
    LOWER = "program: rules emit TOSA for what the target takes, and regions are numbered, one for each delegate"
    SEPARATE = "program: a region gets its own constants, only inputs that it reads, and int32 for int64"
    DECOMPOSE = "program: operators that stay on the CPU are decomposed as ExecuTorch does, or as its kernels need it"
    LAY_OUT = "program: what the CPU reads gets an order in memory that its kernels know"
    PARTITION = "region: its graph is cut out of the emitted TOSA"
    OPTIMIZE = "region: rewrites for every target, and those of one target that look for operators as rules emit them"
    LEGALIZE = "region: rewrites that one target needs, and those of OPTIMIZE again"
    VERIFY = "region: data flow, operator table, specification and the checks of the target"


#: The stages in which rewrites run.
REWRITING = (Stage.OPTIMIZE, Stage.LEGALIZE)


@dataclass(frozen=True)
class Rewrite:
    """A local rewrite of the TOSA graph. ``pattern.pattern_rewrite`` makes one of a pattern, a replacement and a check.

    Args:
        name: for logs and errors.
        stage: when it runs, one of ``REWRITING``.
        ops: the TOSA operators at which it is tried; empty means all.
        apply: looks at one operator and changes the graph around it; True if it did, or a few words that say why. It
            may insert operators before the one it looks at (``graph.insert_before``), replace results
            (``graph.replace``), and leave dead ones.
        through: the TOSA operators through which it looks at others, however many there are in a row. It is tried
            again where something changed within two operators, besides those of these names.
        rounds: a result may be off by a quantum after it. The conformance kit grants some composites of 16 bits more
            on targets that have such a rewrite.
    """

    name: str
    stage: Stage
    ops: tuple[str, ...]
    apply: Callable[[Graph, Op], bool | str]
    through: frozenset[str] = frozenset()
    rounds: bool = False

    def __post_init__(self) -> None:
        """Refuses a stage in which it would not run, and fields of another type.

        Raises:
            UsageError: no rewrites run in this stage, a field is of another type, or TOSA has no operator of a name.
        """
        if self.stage not in REWRITING:
            stages = " or ".join(f"Stage.{stage.name}" for stage in REWRITING)
            raise UsageError(f"rewrite {self.name!r}: no rewrite runs in {self.stage!r}; name {stages}")
        if isinstance(self.ops, str):
            raise UsageError(f'rewrite {self.name!r}: ops is a tuple of names such as ("CONV2D",), not {self.ops!r}')
        require_operators((*self.ops, *self.through), f"rewrite {self.name!r}")
        if not callable(self.apply):
            raise UsageError(f"rewrite {self.name!r}: apply is a function of graph and operator, not {self.apply!r}")

    @property
    def reason(self) -> str:
        """Why it applies, unless it says more itself: the first line of its function's docstring."""
        return (inspect.getdoc(self.apply) or self.name).partition("\n")[0]


def rewrite_named(name: str) -> Rewrite:
    """The rewrite that ``module:NAME`` stands for.

    Raises:
        UsageError: the module cannot be imported, or has no rewrite of this name.
    """
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(
            f"rewrite {name!r}: {error}; a rewrite is named module:NAME, and Python finds the module"
        ) from error
    if not isinstance(found, Rewrite):
        raise UsageError(f"rewrite {name!r} is of type {type(found).__name__}, not a Rewrite")
    return found


class Inserter:
    """Puts operators before one, each behind those that it put there already.

    Args:
        before: the operator before which they go.
        origin: where they come from; that of ``before`` if none is given.
    """

    def __init__(self, graph: Graph, before: Op, origin: Origin | None = None) -> None:
        self.graph, self.before, self.origin = graph, before, origin

    def __call__(self, name: str, *inputs: Tensor, **attrs: Any) -> Tensor:
        """The result of an operator that is inserted."""
        return self.graph.insert_before(self.before, name, inputs, attrs, self.origin).output

    def like(self, op: Op, *inputs: Tensor, **attrs: Any) -> Tensor:
        """The result of an operator like another one, with its origin, on other operands and with other attributes."""
        return self.graph.insert_before(self.before, op.name, inputs, {**op.attrs, **attrs}, op.origin).output

    def reshape(self, x: Tensor, *shape: int) -> Tensor:
        """RESHAPE of what has another shape."""
        return x if x.shape == shape else self("RESHAPE", x, self.graph.shape(shape))

    def zero(self, dtype: DType) -> Tensor:
        """A zero point of 0."""
        kinds = {DType.INT8: np.int8, DType.INT16: np.int16, DType.INT32: np.int32}
        return self.graph.constant(np.zeros(1, kinds.get(dtype, np.int64)), dtype)

    def int32(self, number: int, rank: int) -> Tensor:
        """A constant of one number, beside tensors of this rank."""
        return self.graph.constant(np.full((1,) * rank, number, np.int32), DType.INT32)

    def slice(self, x: Tensor, axis: int, start: int, size: int) -> Tensor:
        """Part of an axis."""
        starts, sizes = [0] * x.rank, list(x.shape)
        starts[axis], sizes[axis] = start, size
        if sizes == list(x.shape):
            return x
        return self("SLICE", x, self.graph.shape(starts), self.graph.shape(sizes))

    def join(self, parts: Sequence[Tensor], axis: int) -> Tensor:
        """CONCAT of what is more than one part."""
        return joined(lambda group: self("CONCAT", *group, axis=axis), parts)

    def rescale(
        self, x: Tensor, to: DType, factor: tuple[int, int] | None = None, zero: Tensor | None = None
    ) -> Tensor:
        """RESCALE by a multiplier and a shift, by 1 without, to a zero point, 0 without; ``x`` has none."""
        wide = x.dtype is not DType.INT48
        shift = 30 if wide else 14
        multiplier, shift = factor or (1 << shift, shift)
        return self(
            "RESCALE",
            x,
            self.graph.constant(
                np.array([multiplier], np.int32 if wide else np.int16), DType.INT32 if wide else DType.INT16
            ),
            self.graph.constant(np.array([shift], np.int8), DType.INT8),
            self.zero(x.dtype),
            zero or self.zero(to),
            scale32=wide,
            rounding_mode="SINGLE_ROUND",
            per_channel=False,
            input_unsigned=False,
            output_unsigned=False,
            output_dtype=to,
        )

    def convolve(
        self,
        name: str,
        x: Tensor,
        weights: np.ndarray[Any, Any],
        stride: tuple[int, ...] = (1, 1),
        pad: tuple[int, ...] = (0, 0, 0, 0),
        zero: Tensor | None = None,
    ) -> Tensor:
        """With weights from 0 to 255, and no bias; ``zero`` is the zero point of ``x``, 0 without."""
        low = -128 if weights.max() > 127 else 0
        kind = DType.INT32 if x.dtype is DType.INT8 else DType.INT48
        results = weights.shape[2 if name == "DEPTHWISE_CONV2D" else 0]
        return self(
            name,
            x,
            self.graph.constant((weights + low).astype(np.int8), DType.INT8),
            self.graph.constant(np.zeros(results, np.int32 if kind is DType.INT32 else np.int64), kind),
            zero or self.zero(x.dtype),
            self.graph.constant(np.array([low], np.int8), DType.INT8),
            pad=pad,
            stride=stride,
            dilation=(1, 1),
            acc_type=kind,
            local_bound=False,
        )

    def spread(self, x: Tensor, weights: np.ndarray[Any, Any]) -> Tensor:
        """A TRANSPOSE_CONV2D of INT8 whose windows do not overlap, with weights from 0 to 127, and no bias."""
        return self(
            "TRANSPOSE_CONV2D",
            x,
            self.graph.constant(weights.astype(np.int8), DType.INT8),
            self.graph.constant(np.zeros(weights.shape[0], np.int32), DType.INT32),
            self.zero(x.dtype),
            self.zero(DType.INT8),
            out_pad=(0, 0, 0, 0),
            stride=weights.shape[1:3],
            acc_type=DType.INT32,
            local_bound=False,
        )
