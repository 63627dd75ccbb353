"""One side and scheme of one trained network, in a process of its own: quantize, compare with float, lower, estimate.

Usage: python -m benchmarks.real.case SIDE NETWORK SCHEME CPU_LIMIT TARGETS RESULT. TARGETS are joined by commas. RESULT
is a JSON file of figures by target, rewritten after every step, so that a case that dies leaves what it knew.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.lowering_case import left_outside
from benchmarks.probes import OutOfTime, cpu_seconds, limit, vela
from benchmarks.real.metrics import decibels
from benchmarks.real.network import Call, Network, run
from benchmarks.real.registry import NETWORKS
from benchmarks.sides import SIDES, Side

_PROBE = 8  # calls that tell whether a second target's quantized network computes what the first one's does
_ON_MODEL_S = 10.0  # how long samples run on the functional model


def main(side: str, name: str, scheme: str, cpu_limit: str, targets: str, result_path: str) -> None:
    """Runs the case and writes its figures; an exception becomes the figure ``error`` of its target."""
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    network = NETWORKS[name].make()
    case = _Case(side, SIDES[side](), scheme, int(cpu_limit), network, run(network, network.module), [])
    result: dict[str, dict[str, Any]] = {}
    for target in targets.split(","):
        found = result[target] = {"load": round(os.getloadavg()[0], 1)}
        try:
            for step in case.steps(target):
                found |= step
                Path(result_path).write_text(json.dumps(result))
        except Exception as error:
            lines = str(error).strip().splitlines() or [""]
            found["error"] = f"{type(error).__name__}: {lines[0]}"[:300]
        Path(result_path).write_text(json.dumps(result))


class Stopped(Exception):
    """The CPU limit was reached: a result, not a fault of the case."""


@dataclass(frozen=True)
class _Case:
    """What is the same for all targets: the float outputs, and what is known of the targets before."""

    name: str
    side: Side
    scheme: str
    cpu_limit: int
    network: Network
    exact: list[Call]
    known: list[tuple[list[Call], dict[str, Any]]]

    def steps(self, target: str) -> Iterator[dict[str, Any]]:
        """Figures of one target, in the order in which they are found."""
        network, side = self.network, self.side
        program = torch.export.export(network.module, network.calibration[0])
        spec = side.compile_spec(target)
        start = cpu_seconds(children=True)
        quantizer = side.quantizer(target, spec, self.scheme)
        with self._stopped_in("quantizing"):
            quantized = side.quantize(program, quantizer, rolled(network, network.calibration), network.states)
        yield {"quantize_s": round(cpu_seconds(children=True) - start, 1)}
        yield self._accuracy(quantized)
        program = torch.export.export(quantized, network.calibration[0])
        with tempfile.TemporaryDirectory(prefix="bench_dump_") as dump:
            spec.dump_intermediate_artifacts_to(dump)
            start = cpu_seconds(children=True)
            with self._stopped_in("lowering"):
                buffer, left = self._lower(program, target, spec)
            yield {"lower_s": round(cpu_seconds(children=True) - start, 1), **left}
            graphs = sorted({path.read_bytes() for path in Path(dump).rglob("*.tosa")})
        yield vela(graphs, target)
        if buffer:
            yield on_model(self.network, buffer, quantized)

    @contextmanager
    def _stopped_in(self, step: str) -> Iterator[None]:
        """Ends a step that takes more CPU time than a case may, with what the table reads as *stopped*."""
        try:
            with limit(self.cpu_limit):
                yield
        except OutOfTime:
            raise Stopped(f"after {self.cpu_limit} CPU s of {step}") from None

    def _accuracy(self, quantized: Any) -> dict[str, Any]:
        """SQNR by output, and the network's metric; those of a target before, where both compute the same."""
        probe = run(self.network, quantized, self.network.held_out[:_PROBE])
        for outputs, figures in self.known:
            if _equal(outputs, probe):
                return figures
        made = run(self.network, quantized)
        by_output = decibels(self.exact, made)
        figures = {"sqnr_db": by_output, "worst_db": min(by_output), **self.network.metric(self.exact, made)}
        self.known.append((probe, figures))
        return figures

    def _lower(self, program: Any, target: str, spec: Any) -> tuple[bytes, dict[str, Any]]:
        """The ``.pte`` of this project (no bytes of the rival's, which are not run), and what is left on the CPU."""
        if self.name == "ours":
            from arm_tosa_core import lower

            made = lower(program, spec)
            return made.buffer, {"delegates": made.report.delegates, "left": len(made.report.rejected)}
        from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower

        partitioner = self.side.partitioner(target, spec)
        config = EdgeCompileConfig(_check_ir_validity=False)
        edge = to_edge_transform_and_lower(program, partitioner=[partitioner], compile_config=config)
        found = left_outside(edge.exported_program().graph)
        return b"", {"delegates": found["delegates"], "left": found["left"]}


def on_model(network: Network, buffer: bytes, quantized: Any, seconds: float = _ON_MODEL_S) -> dict[str, Any]:
    """The program on the functional model, beside the quantized graph, for as many samples as time allows."""
    import executorch.kernels.quantized  # noqa: F401
    from executorch.runtime import Runtime

    import arm_runtime  # its delegate registers itself

    del arm_runtime
    method = Runtime.get().load_program(buffer).load_method("forward")
    held_out, start = network.held_out, time.monotonic()

    def call(*args: torch.Tensor) -> tuple[torch.Tensor, ...]:
        # Row-major, as the program takes them: the runtime reads memory as it lies.
        return tuple(x.clone() for x in method.execute([x.contiguous() for x in args]))

    run(network, call, held_out[:1])
    count = min(len(held_out), max(4, int(seconds / (time.monotonic() - start))))
    part = Network(network.module, (), held_out[:count], network.metric, network.states)
    exact, eager, made = (run(part, who) for who in (network.module, quantized, call))
    return {
        "model_samples": count,
        "model_db": decibels(exact, made),
        "model_eager_db": decibels(exact, eager),
        "model_agree": part.metric(exact, made)["agree"],
        "model_eager_agree": part.metric(exact, eager)["agree"],
    }


def rolled(network: Network, samples: Sequence[Call]) -> Sequence[Call]:
    """Samples in a sequence; of a network with states, with those that the float network has along it."""
    if not network.states:
        return samples
    inputs: list[Call] = []

    def recorded(*args: torch.Tensor) -> Any:
        inputs.append(args)
        return network.module(*args)

    run(Network(network.module, (), samples, network.metric, network.states), recorded)
    return inputs


def _equal(one: list[Call], other: list[Call]) -> bool:
    pairs = ((a, b) for x, y in zip(one, other, strict=True) for a, b in zip(x, y, strict=True))
    return all(torch.equal(a, b) for a, b in pairs)


if __name__ == "__main__":
    main(*sys.argv[1:])
