"""Kernels of whole TOSA operators in C, for Cortex-M: the fast ones, which a model's source calls.

``calls`` finds the operators of a graph that one of these functions computes, alone or with operators behind. Each
family is one C source in ``files/``, with variants for Helium, for the DSP extension and for C alone, chosen by the
compiler's macros. A program needs the headers,
and of each family that it calls the ``.c``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Op

from .binary import OPERATIONS, binary
from .call import Call
from .chain import Chains
from .conv2d import conv2d
from .depthwise import depthwise_conv2d
from .matmul import matmul
from .pool import avg_pool2d, max_pool2d
from .reduce import extreme, reduce_sum
from .softmax import softmax
from .table import FIRST, table
from .transpose import transpose
from .transpose_conv2d import transpose_conv2d

#: The C sources, and ``tosa_kernels.h``, which all of them include.
FILES = Path(__file__).parent / "files"
#: By the name of the first operator, what makes the call.
_MAKERS: Mapping[str, Callable[[Op, Chains], Call | None]] = {
    **dict.fromkeys(FIRST, table),
    **dict.fromkeys(OPERATIONS, binary),
    "AVG_POOL2D": avg_pool2d,
    "CONV2D": conv2d,
    "DEPTHWISE_CONV2D": depthwise_conv2d,
    "MATMUL": matmul,
    "MAX_POOL2D": max_pool2d,
    "REDUCE_MAX": lambda op, chains: softmax(op, chains) or extreme(op, chains),
    "REDUCE_MIN": extreme,
    "REDUCE_SUM": reduce_sum,
    "TRANSPOSE": transpose,
    "TRANSPOSE_CONV2D": transpose_conv2d,
}


def calls(graph: Graph) -> list[Call | Op]:
    """The steps of a graph, in an order in which they can run; an operator itself: no function here computes it."""
    chains = Chains(graph)
    found: dict[Op, Call] = {}  # by the last operator
    covered: set[Op] = set()
    for op in graph.ops:
        if op in covered or op.name not in _MAKERS:
            continue
        call = _MAKERS[op.name](op, chains)
        if call is not None:
            found[call.ops[-1]] = call
            covered.update(call.ops)
    return [found.get(op, op) for op in graph.ops if op not in covered or op in found]


__all__ = ["FILES", "Call", "calls"]
