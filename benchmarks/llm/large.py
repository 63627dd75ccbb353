"""A language model of 135 million parameters, untrained: what compiling it takes, and whether all of it is delegated.

    python -m benchmarks.llm.large [--targets ethos-u85-2048 vgf]

It has the shape of SmolLM2-135M. ``peak_mib`` is the most memory of the process that compiles, ``base_mib`` that of
Python with PyTorch and transformers before there is a model, and ``largest_mib`` the most of any process, Vela's among
them. CPU time is of all processes, from their start. Fails where an operator is left to the CPU, compiling takes more
than 3 minutes of CPU time, or memory beyond the base is more than 4 times the float weights.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.processes import run_case
from benchmarks.results import Measurement, Run, add_results_option, run_and_record

CONTEXT = 256
_MOST_SECONDS, _MOST_COPIES = 180, 4
_SIZES: dict[str, Any] = {
    "vocab_size": 49152,
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": True,
    "bos_token_id": None,
    "eos_token_id": None,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", nargs="+", default=["ethos-u85-2048", "vgf"])
    add_results_option(parser, "llm_large")
    options = parser.parse_args()
    return run_and_record(options.results, _measured(options.targets), wrong)


def _measured(targets: list[str]) -> Iterator[Measurement]:
    run = Run.here("llm_large", command=f"python -m benchmarks.llm.large --targets {' '.join(targets)}")
    for target in targets:
        case = {"network": "SmolLM2-135M", "scheme": "a8w8", "target": target, "context": str(CONTEXT)}
        yield run.measured(case, "ours", run_case("llm.large", "--case", target))


def wrong(measurement: Measurement) -> str:
    """Why a measurement is not as it should be; empty if it is."""
    found = measurement.metrics
    if "error" in found:
        return str(found["error"])
    copies = (found["peak_mib"] - found["base_mib"]) / found["weights_mib"]
    if found["left"]:
        return f"{found['left']} operators are left to the CPU"
    if found["compile_s"] > _MOST_SECONDS:
        return f"compiling took {found['compile_s']:.0f} s"
    return "" if copies <= _MOST_COPIES else f"memory was {copies:.1f} times the weights"


def _case(target: str, result: str) -> None:
    """Compiles in a process of its own, whose time and memory are known when it has ended."""
    with tempfile.TemporaryDirectory(prefix="bench_") as folder:
        path = Path(folder, "found.json")
        child = subprocess.Popen([sys.executable, "-m", "benchmarks.llm.large", "--compile", target, str(path)])
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        found = json.loads(path.read_text())
    found |= {"compile_s": round(used.ru_utime + used.ru_stime, 1), "largest_mib": round(used.ru_maxrss / 2**10)}
    Path(result).write_text(json.dumps(found))


def _compile(target: str, result: str) -> None:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from arm_tosa_core.llm import compile_llm

    torch.set_num_threads(1)
    torch.manual_seed(0)
    base = _peak_mib()
    model = LlamaForCausalLM(LlamaConfig(**_SIZES)).eval()
    weights = sum(weight.nbytes for weight in model.parameters()) / 2**20
    text = torch.randint(_SIZES["vocab_size"], (CONTEXT // 2,)).tolist()
    program = compile_llm(model, target=target, context=CONTEXT, prefill=1, calibration=[text])
    report, cycles = program.reports["decode"], program.figures["decode"].cycles
    found = {
        "base_mib": base,
        "peak_mib": _peak_mib(),
        "weights_mib": round(weights),
        "pte_bytes": len(program.buffer),
        "delegates": report.delegates,
        "left": len(report.rejected),
    }
    Path(result).write_text(json.dumps(found if cycles is None else {**found, "decode_cycles": cycles}))


def _peak_mib() -> int:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10)


if __name__ == "__main__":
    parts = {"--case": _case, "--compile": _compile}
    if sys.argv[1:2] and sys.argv[1] in parts:
        parts[sys.argv[1]](*sys.argv[2:])
    else:
        sys.exit(main())
