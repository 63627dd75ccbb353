"""SHA-256 of what the networks of ``tests/models`` compile to: shows whether a change alters any byte.

    python -m benchmarks.digests -o before.json        # on the old sources
    python -m benchmarks.digests --compare before.json # on the new ones: lists what differs, exit status 1 if any

Each network is quantized and lowered for each target; the digests are those of every delegate's TOSA flatbuffer and of
the ``.pte``. All networks take a quarter of an hour on one processor; ``--networks`` and ``--cases`` choose a part.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from arm_ethosu import EthosUCompileSpec
from arm_tosa_core import (
    QuantizationConfig,
    TOSAQuantizer,
    get_symmetric_a16w8_quantization_config,
    get_symmetric_quantization_config,
    lower,
)
from arm_vgf import VgfCompileSpec
from models import MODELS, ZOO


@dataclass(frozen=True)
class Case:
    """A compile spec, and the quantization scheme; None: float."""

    spec: Callable[[], EthosUCompileSpec | VgfCompileSpec]
    config: Callable[[], QuantizationConfig] | None


CASES = {
    "u55-128-int8": Case(lambda: EthosUCompileSpec("ethos-u55-128"), get_symmetric_quantization_config),
    "u85-256-int8": Case(lambda: EthosUCompileSpec("ethos-u85-256"), get_symmetric_quantization_config),
    "vgf-int8": Case(lambda: VgfCompileSpec("TOSA-1.0+INT"), get_symmetric_quantization_config),
    "vgf-fp": Case(lambda: VgfCompileSpec("TOSA-1.0+FP"), None),
    "u85-256-a16w8": Case(lambda: EthosUCompileSpec("ethos-u85-256"), get_symmetric_a16w8_quantization_config),
}


def digests(network: str, case: Case) -> dict[str, str]:
    """Digests by file: ``model.pte``, and ``delegate_N/tosa.tosa``."""
    torch.manual_seed(0)
    module, inputs = (MODELS | ZOO)[network]()
    program = torch.export.export(module, inputs(0))
    spec = case.spec()
    if case.config is not None:
        quantizer = TOSAQuantizer(spec).set_global(case.config())
        prepared = prepare_pt2e(program.module(), quantizer)
        with torch.no_grad():
            for seed in range(2):
                prepared(*inputs(seed))
        program = torch.export.export(convert_pt2e(prepared), inputs(0))
    found = {"model.pte": hashlib.sha256(lower(program, spec).buffer).hexdigest()}  # before the spec names a folder
    with tempfile.TemporaryDirectory() as folder:
        lower(program, spec.dump_intermediate_artifacts_to(folder))
        for file in sorted(Path(folder).rglob("*.tosa")):
            found[str(file.relative_to(folder))] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=[*MODELS, *ZOO], default=[*MODELS, *ZOO])
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("-o", "--output", type=Path, help="write the digests to this JSON file")
    parser.add_argument("--compare", type=Path, help="a file of an earlier run")
    options = parser.parse_args()
    before = json.loads(options.compare.read_text()) if options.compare else {}
    made: dict[str, dict[str, str]] = {}
    different = 0
    for network in options.networks:
        for name in options.cases:
            key = f"{network} {name}"
            try:
                made[key] = digests(network, CASES[name])
            except Exception as error:  # a network that does not lower is a result too
                made[key] = {"error": f"{type(error).__name__}: {str(error)[:200]}"}
            same = key not in before or before[key] == made[key]
            different += not same
            print(
                f"{key}: {'' if same else 'DIFFERENT '}{len(made[key])} files {made[key].get('error', '')}", flush=True
            )
            if options.output:
                options.output.write_text(json.dumps(made, indent=1, sort_keys=True) + "\n")
    if before:
        print(f"{different} of {len(made)} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
