"""Networks on VGF: whether outputs are those of the TOSA reference model, and how long loading takes (CPU time).

    python benchmarks/vgf_networks.py                  # those of CASES, int8 but for the one in float
    python benchmarks/vgf_networks.py digits:fp32

Weights and inputs are random. Exit status 1: an int8 network differs in a bit, or float by more than 1e-4 of the
largest output, or a second load took more than half of the first.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from vgf import compile_network, load_times, random_input

CASES = ("mobilenet_v2", "mobilenet_v2:fp32", "resnet18", "bert_tiny", "deit_tiny", "digits")


def judge(case: str) -> bool:
    """Prints a row of a network and scheme (``name`` or ``name:fp32``); whether it is as it should be."""
    from arm_runtime.vgf import Session
    from arm_tosa_core.tosa import reference_model as reference

    name, _, scheme = case.partition(":")
    vgf, tosa = compile_network(name, scheme or "int8")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "network.vgf")
        file.write_bytes(vgf)
        loads = load_times(file, "process_time")
    rng = np.random.default_rng(0)
    with Session(vgf) as session:
        inputs = [random_input(tensor.shape, tensor.dtype, rng) for tensor in session.inputs]
        outputs = session.run(inputs)
    wanted = reference.run(tosa, inputs)
    worst = max(
        float(np.abs(y.astype(np.float64) - z).max() / np.abs(z).max()) for y, z in zip(outputs, wanted, strict=True)
    )
    print(f"{name:14} {scheme or 'int8':5} error {worst:.1e}", *(f"{key} {ms:.0f} ms" for key, ms in loads.items()))
    return worst <= (1e-4 if scheme == "fp32" else 0) and loads["second_process"] <= loads["first"] / 2


def main() -> None:
    results = [judge(case) for case in sys.argv[1:] or CASES]
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
