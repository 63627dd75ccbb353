"""Every network in float, int8 and a16w8, on every target whose tools are here: lowered, run and compared with eager.

    python benchmarks/schemes.py                                           # all of tests/models' zoo: hours
    python benchmarks/schemes.py --networks swin unet --schemes int8 --targets vgf     # a part
    python benchmarks/schemes.py ... --rows rows.jsonl                     # each row also goes to a file
    python benchmarks/schemes.py --report rows.jsonl ... --update docs/benchmarks.md

TOSA runs on the reference model, Ethos-U on the functional model, VGF on the Vulkan device there is; integers of both
are compared with the reference model's bit for bit. Quantized with four samples, judged on eight others. Fails where
anything is left outside but what TOSA has no type for, or differs, or where integers lose more than 1.5 dB against the
eager quantized graph, or float is off by more than 1e-3 of the largest output.
"""

from __future__ import annotations

import argparse
import json
import math
import operator
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "tests"))

import torch

from arm_tosa_core.lower.exported_program import is_dequantize, is_int64_cast, is_quantize
from arm_tosa_core.plugin.entry_points import target as find_target
from arm_tosa_core.quantize.quantizer import TOSAQuantizer
from arm_tosa_core.testing.harness import Execution, export_quantized, scheme_config
from models import MODELS, ZOO
from report import parser, show

NETWORKS = MODELS | ZOO
SCHEMES = {"fp32": "float", "int8": "int8", "int16": "a16w8"}
TARGETS = ("tosa", "ethos-u55-128", "ethos-u85-256", "vgf")
SAMPLES = 8  # with two, figures of integers of a network with ten outputs wander by 2 dB
_ENOUGH = 100.0  # dB: float, and the eager graph of float
_VIEWS = ("view", "_unsafe_view", "expand", "clone", "transpose", "permute", "unsqueeze", "squeeze")
Row = dict[str, Any]


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """One row for each network, scheme and target, also appended to ``--rows``."""
    for network in options.networks:
        module, inputs = NETWORKS[network]()
        for scheme in options.schemes:
            for name in options.targets:
                if scheme == "fp32" and not find_target(name).tosa_spec.support_float():
                    continue
                start = time.process_time()
                row = {"network": network, "scheme": scheme, "target": name}
                try:
                    row |= measured(module, inputs, scheme, name)
                except Exception as error:
                    row |= {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
                row["seconds"] = round(time.process_time() - start, 1)
                print(row, file=sys.stderr, flush=True)
                if options.rows:
                    with options.rows.open("a") as file:
                        file.write(json.dumps(row) + "\n")
                yield row


def measured(module: torch.nn.Module, inputs: Any, scheme: str, name: str) -> Row:
    """What one network makes of some samples on one target, and what eager PyTorch makes of them."""
    target = find_target(name)
    if scheme == "fp32":
        program = torch.export.export(module, inputs(0))
    else:
        if target.compile_spec is None:
            sys.exit(f"{name} has no compile spec")
        quantizer = TOSAQuantizer(target.compile_spec()).set_global(scheme_config(scheme))
        program = export_quantized(module, inputs(0), quantizer, [inputs(seed) for seed in range(4)])
    run = Execution(program, target)
    samples = [inputs(seed) for seed in range(100, 100 + SAMPLES)]
    with torch.no_grad():
        exact = [module(*sample) for sample in samples]
        eager = [program.module()(*sample) for sample in samples]
        made = [run.run(sample)[0] for sample in samples]
    return {
        "delegates": len(run.regions),
        "outside": sorted(_outside(run)),
        "sqnr_db": _sqnr(exact, made),
        "eager_db": _sqnr(exact, eager),
        "error_of_largest": max(
            float((a - b).abs().max() / a.abs().max().clamp_min(1e-30)) for a, b in zip(eager, made, strict=True)
        ),
    }


def _outside(run: Execution) -> Iterator[str]:
    for node in run.program.graph.nodes:
        if node.op != "call_function" or node in run.analysis.accepted or node.target is operator.getitem:
            continue
        if node.meta.get("val") is None or is_quantize(node) or is_dequantize(node) or is_int64_cast(node):
            continue
        yield f"{node.target}: {run.analysis.rejected.get(node)}"


def _sqnr(exact: list[torch.Tensor], made: list[torch.Tensor]) -> float:
    signal = sum(float((a.double() ** 2).sum()) for a in exact)
    noise = sum(float(((a.double() - b.double()) ** 2).sum()) for a, b in zip(exact, made, strict=True))
    return min(_ENOUGH, 10 * math.log10(signal / max(noise, 1e-30)))


def wrong(row: Row) -> str:
    """Why a row is not as it should be; empty if it is."""
    if "error" in row:
        return str(row["error"])
    if row["outside"] or row["delegates"] != 1:
        return f"{row['delegates']} delegates; outside: {'; '.join(row['outside']) or 'nothing'}"
    if row["scheme"] == "fp32":
        return "" if row["error_of_largest"] <= 1e-3 else f"off by {row['error_of_largest']:.1e} of the largest output"
    lost = row["eager_db"] - row["sqnr_db"]
    return "" if lost <= 1.5 else f"{lost:.1f} dB below the eager quantized graph"


def table(made: list[Row]) -> str:
    """Networks down; of all targets, float's largest error, integers' least SQNR beside eager's, what is outside."""
    newest = {(row["network"], row["scheme"], row["target"]): row for row in made}
    lines = [
        "| network | float, error of the largest | int8, dB: compiled / eager | a16w8, dB | on the CPU |",
        "|---|---:|---:|---:|---|",
    ]
    for network in dict.fromkeys(key[0] for key in newest):
        of_it = [row for key, row in newest.items() if key[0] == network]
        cells = [_cell([row for row in of_it if row["scheme"] == scheme]) for scheme in SCHEMES]
        outside = "; ".join(text for row in of_it if (text := _left(row)))
        lines.append(f"| {network} | {' | '.join(cells)} | {outside} |")
    lines += [
        f"\n{row['network']}, {SCHEMES[row['scheme']]}, {row['target']}: {why}"
        for row in newest.values()
        if (why := wrong(row if "error" in row else {**row, "outside": [], "delegates": 1}))
    ]
    return "\n".join(lines) + "\n"


def _cell(rows: list[Row]) -> str:
    """One scheme's figures; a target that has none is named."""
    absent = sorted({row["target"] for row in rows if "error" in row})
    rows = [row for row in rows if "error" not in row]
    text = "–"
    if rows and rows[0]["scheme"] == "fp32":
        text = f"{max(row['error_of_largest'] for row in rows):.0e}"
    elif rows:
        worst = max(rows, key=lambda row: row["eager_db"] - row["sqnr_db"])
        text = f"{worst['sqnr_db']:.1f} / {worst['eager_db']:.1f}"
    return text + "".join(f", not {target}" for target in absent)


def _left(row: Row) -> str:
    """What a row left outside, but for views, whose place is where their reader is."""
    if "error" in row or not (row["outside"] or row["delegates"] != 1):
        return ""
    names = Counter(text.partition(":")[0].split(".")[1] for text in row["outside"])
    listed = ", ".join(f"{count} {name}" for name, count in sorted(names.items()) if name not in _VIEWS)
    pieces = f" ({row['delegates']} delegates)" if row["delegates"] != 1 else ""
    return f"{SCHEMES[row['scheme']]} on {row['target']}: {listed}{pieces}"


def main() -> int:
    options = parser(__doc__, NETWORKS, ZOO, SCHEMES, TARGETS).parse_args()
    failed: list[Row] = []

    def measure(options: argparse.Namespace) -> Iterator[Row]:
        for row in rows(options):
            failed.extend([row] if wrong(row) else [])
            yield row

    show(options, measure, table, "schemes")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
