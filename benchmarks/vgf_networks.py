"""Networks on VGF: whether outputs are those of the TOSA reference model, and how long loading takes (CPU time).

    python -m benchmarks.vgf_networks                  # those of CASES, int8 but for the one in float
    python -m benchmarks.vgf_networks digits:fp32

Weights and inputs are random; the engine is compute. Exit status 1: an int8
network differs in a bit, or float by more than 1e-4 of the largest output.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.results import Measurement, Run, add_results_option, run_and_record
from benchmarks.vgf.networks import compile_network, random_input
from benchmarks.vgf.worker import load_twice

CASES = ("mobilenet_v2", "mobilenet_v2:fp32", "resnet18", "bert_tiny", "deit_tiny", "digits")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", default=CASES, help="NETWORK or NETWORK:fp32")
    add_results_option(parser, "vgf_networks")
    options = parser.parse_args()
    return run_and_record(options.results, map(_measured, options.programs), _wrong)


def _measured(program: str) -> Measurement:
    from arm_runtime.vgf import Session
    from arm_tosa_core.tosa import reference_model as reference

    name, _, scheme = program.partition(":")
    scheme = scheme or "int8"
    vgf, tosa = compile_network(name, scheme)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "network.vgf")
        file.write_bytes(vgf)
        worker, found = load_twice("compute", scheme, file, [], "", Path(folder))
        worker.close()
    loads = {f"load_{which}_ms": found[f"load_{which}_cpu_ms"] for which in ("first", "second_process")}
    rng = np.random.default_rng(0)
    with Session(vgf, engine="compute") as session:
        run = Run.here("vgf_networks", gpu=f"{session.device}, engine {session.engine}")
        inputs = [random_input(tensor.shape, tensor.dtype, rng) for tensor in session.inputs]
        outputs = session.run(inputs)
    wanted = reference.run(tosa, inputs)
    worst = max(
        float(np.abs(y.astype(np.float64) - z).max() / np.abs(z).max()) for y, z in zip(outputs, wanted, strict=True)
    )
    return run.measured({"network": name, "scheme": scheme}, "ours", {"error_of_largest": worst, **loads})


def _wrong(measurement: Measurement) -> str:
    found = measurement.metrics
    if found["error_of_largest"] > (1e-4 if measurement.case["scheme"] == "fp32" else 0):
        return f"off by {found['error_of_largest']:.1e} of the largest output"
    return ""


if __name__ == "__main__":
    sys.exit(main())
