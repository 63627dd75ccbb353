"""One side of ``coverage.py``: says of each operator of the conformance kit whether it lowers, as lines of JSON.

Usage: python -m benchmarks.coverage_side SIDE RESULTS OPERATOR... . Measurements are appended to RESULTS.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

import arm_tosa_core
from arm_tosa_core.testing.case import OpCase
from arm_tosa_core.testing.cases import CASES
from benchmarks.results import Measurement, Run, record

#: Scheme of the kit to TOSA specification.
SPECS = {"fp32": "TOSA-1.0+FP", "int8": "TOSA-1.0+INT", "int16": "TOSA-1.0+INT+int16"}


def first_cases() -> dict[str, dict[str, OpCase]]:
    """Per operator and scheme the first case that the kit lowers; where it lowers none, the first."""
    found: dict[str, dict[str, OpCase]] = {}
    for case in sorted(CASES, key=lambda c: c.name.split("/")[0]):
        schemes = found.setdefault(case.name.split("/")[0], {})
        for scheme, spec in SPECS.items():
            whole = scheme not in case.refuses and not (scheme in case.needs_float and "FP" not in spec)
            known = schemes.get(scheme)
            if known is None or (whole and scheme in known.refuses):
                schemes[scheme] = case
    return found


def main() -> None:
    side, results, *names = sys.argv[1:]
    warnings.simplefilter("ignore")
    if side == "rival":  # ExecuTorch finds backends by class name
        arm_tosa_core.TOSABackend.__name__ = "NotTOSABackend"
    for _ in record(Path(results), _judged(side, names)):
        pass


def _judged(side: str, names: list[str]) -> Iterator[Measurement]:
    run = Run.here("coverage", command="python -m benchmarks.coverage")
    cases = first_cases()
    judge = _ours if side == "ours" else _rival
    for name in names:
        for scheme in SPECS:
            case = cases[name][scheme]
            try:
                verdict = judge(case, scheme)
            except Exception as error:  # whatever a compiler fails with is its answer
                verdict = f"error: {type(error).__name__}: {str(error).strip().splitlines()[:1]}"
            yield run.measured({"operator": name, "case": case.name, "scheme": scheme}, side, {"verdict": verdict})


def _ours(case: OpCase, scheme: str) -> str:
    from arm_tosa_core.lowering.exported_program import is_dequantize
    from arm_tosa_core.testing.harness import Execution, exported, left_outside

    spec = arm_tosa_core.TosaCompileSpec(SPECS[scheme])
    run = Execution(exported(case.module(), case.example(0), spec, scheme), spec.target())
    outside = list(left_outside(run.program, run.analysis).values())
    if outside or not run.regions:
        return f"refused: {outside[0] if outside else 'nothing to compute'}"
    worst, bad = 0.0, False
    nodes = [n for region in run.regions for n in region.outputs]
    for node, (made, eager) in zip(nodes, run.edges(case.example(1)), strict=True):
        if is_dequantize(node):
            made, eager = (v / float(node.args[1]) for v in (made, eager))
        elif eager.is_floating_point():
            bad |= not torch.allclose(made, eager, rtol=case.tolerance[0], atol=case.tolerance[1], equal_nan=True)
            continue
        worst = max(worst, (made.double() - eager.double()).abs().max().item() if eager.numel() else 0.0)
    if bad or worst > case.allowed(scheme) + 0.01:
        return f"wrong: {worst:.1f} quanta off"
    return "exact" if worst < 0.01 else f"within {round(worst)}"


def _rival(case: OpCase, scheme: str) -> str:
    from executorch.backends.arm import quantizer as theirs
    from executorch.backends.arm.tosa.compile_spec import TosaCompileSpec
    from executorch.backends.arm.tosa.partitioner import TOSAPartitioner
    from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    spec: Any = TosaCompileSpec(SPECS[scheme])
    inputs = case.example(0)
    program = torch.export.export(case.module(), inputs)
    if scheme != "fp32":
        wide = scheme == "int16"
        make = theirs.get_symmetric_a16w8_quantization_config if wide else theirs.get_symmetric_quantization_config
        prepared = prepare_pt2e(
            program.module(check_guards=False), theirs.TOSAQuantizer(spec).set_global(make(is_per_channel=True))
        )
        prepared(*inputs)
        program = torch.export.export(convert_pt2e(prepared), inputs)
    config = EdgeCompileConfig(_check_ir_validity=False)  # its users turn that off for operators outside core ATen
    edge = to_edge_transform_and_lower(program, partitioner=[TOSAPartitioner(spec)], compile_config=config)
    names = [
        str(getattr(n.target, "__name__", n.target))
        for n in edge.exported_program().graph.nodes
        if n.op == "call_function"
    ]
    delegates = sum("call_delegate" in name for name in names)
    passing = ("call_delegate", "getitem", "quantize_per", "lowered_module", "_to_dim_order_copy")
    outside = [name for name in names if not any(word in name for word in passing)]
    if not delegates or outside:
        return f"refused: {', '.join(sorted(set(outside))) or 'no delegate'}"
    return "lowers"


if __name__ == "__main__":
    main()
