"""CPU time of the rewrite engine against the size of the graph: a row of operators, each of which is rewritten.

    python -m benchmarks.rewrites [--operators 2000 4000 8000 16000]

Time should be proportional to the number of operators. Each line is the best of three runs.
"""

from __future__ import annotations

import argparse
import time

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Stage
from arm_tosa_core.tosa.rewrite_engine import run_rewrites


def _row(count: int) -> Graph:
    graph = Graph()
    x = graph.input("x", (1, 8), DType.INT32)
    for _ in range(count):
        x = graph.append("ABS", [x]).output
    graph.outputs = [x]
    return graph


def _other(match: Match) -> Tensor:
    """ABS becomes BITWISE_NOT."""
    return match.insert("BITWISE_NOT", *match.op.inputs)


def measure(count: int) -> tuple[float, int]:
    """CPU seconds, and operators that were visited."""
    graph = _row(count)
    began = time.process_time()
    statistics = run_rewrites(graph, [pattern_rewrite("other", Stage.OPTIMIZE, Pattern("ABS"), _other)])
    took = time.process_time() - began
    assert all(op.name == "BITWISE_NOT" for op in graph.ops)
    return took, statistics.visited


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operators", nargs="+", type=int, default=[2000, 4000, 8000, 16000])
    for count in parser.parse_args().operators:
        took, visited = min(measure(count) for _ in range(3))
        print(f"{count} operators: {took:.3f} s CPU, {visited} visited")


if __name__ == "__main__":
    main()
