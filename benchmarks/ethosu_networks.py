"""Whole networks on the functional model of every Ethos-U accelerator: the TOSA reference model's results, bit for bit.

    python benchmarks/ethosu_networks.py [--networks mobilenet_v2 resnet18] [--schemes int8] [--targets ethos-u55-128]
        [--rows new.jsonl | --report rows.jsonl ...] [--update docs/ethosu-model.md]

Each network is quantized once per scheme, with one sample, and run on another. Prints a table of what differs; fails
where anything does. Needs the packages and the runtime (``nox -s bench`` sets them up).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from arm_ethosu.accelerators import ACCELERATORS
from arm_tosa_core.plugin.entry_points import target as find_target
from arm_tosa_core.testing.harness import Execution, exported
from models import MODELS
from report import parser, show

NETWORKS = ("mobilenet_v2", "resnet18", "bert_tiny_states", "deit_tiny")
SCHEMES = {"int8": "int8", "int16": "a16w8"}
Row = dict[str, Any]


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """One row for each network, scheme and accelerator, also appended to ``--rows``."""
    for network in options.networks:
        module, inputs = MODELS[network]()
        for scheme in options.schemes:
            programs: dict[str, Any] = {}
            for accelerator in options.targets:
                target = find_target(accelerator)
                if target.run is None or target.compile_spec is None:
                    sys.exit("needs the runtime: pip install packages/arm-runtime-cpp")
                spec = target.compile_spec()
                key = str(target.tosa_spec)
                if key not in programs:
                    programs[key] = exported(module, inputs(0), spec, scheme)
                start = time.process_time()
                row = {"network": network, "scheme": scheme, "target": accelerator}
                try:
                    run = Execution(programs[key], target)
                    made, _ = run.edges(inputs(100))[-1]  # fails where the model and the reference model differ
                    row |= {"delegates": len(run.regions), "distinct": made.unique().numel(), "differs": ""}
                except Exception as error:
                    row |= {"differs": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
                row["seconds"] = round(time.process_time() - start, 1)
                if options.rows:
                    with options.rows.open("a") as file:
                        file.write(json.dumps(row) + "\n")
                yield row


def table(made: list[Row]) -> str:
    """Per network and scheme: on how many accelerators the outputs are equal, and what they are like."""
    lines = [
        "| network | scheme | equal, of accelerators | delegates | distinct output values |",
        "|---|---|---|---|---|",
    ]
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in made:
        groups.setdefault((row["network"], row["scheme"]), []).append(row)
    for (network, scheme), group in groups.items():
        equal = [row for row in group if not row["differs"]]
        delegates, distinct = (sorted({row[key] for row in equal}) for key in ("delegates", "distinct"))
        cells = [f"{len(equal)} of {len(group)}", ", ".join(map(str, delegates)), ", ".join(map(str, distinct))]
        lines.append(f"| {network} | {SCHEMES[scheme]} | {' | '.join(cells)} |")
    lines += [
        f"\n{row['network']} {row['scheme']} on {row['target']}: {row['differs']}" for row in made if row["differs"]
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    options = parser(__doc__, MODELS, NETWORKS, SCHEMES, ACCELERATORS).parse_args()
    differs: list[Row] = []

    def measure(options: argparse.Namespace) -> Iterator[Row]:
        for row in rows(options):
            print(row, file=sys.stderr, flush=True)
            differs.extend([row] if row["differs"] else [])
            yield row

    show(options, measure, table, "networks")
    return int(bool(differs))


if __name__ == "__main__":
    sys.exit(main())
