"""A byte-level Llama of 1.3 million parameters, trained here: cycles per token, bytes, and accuracy of integers.

    python -m benchmarks.llm                                    # all cases; the model is trained first, unless it was
    python -m benchmarks.llm --sides ours --schemes a8w8 --contexts 256

Cycles and SRAM are Vela's estimate. Text is generated, and perplexity measured, on the functional model of Ethos-U, or
on the Vulkan device there is. Fails where perplexity is more than 5 % (a16w8: 2 %) above that of float, or a score is
not that of the TOSA reference model.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from benchmarks.llm.model import STEPS, trained
from benchmarks.processes import run_case
from benchmarks.results import Measurement, Run, add_results_option, run_and_record

SIDES = ("ours", "lengths", "weights", "reference", "buffers", "rival", "rival buffers")
SCHEMES = ("a8w8", "a16w8", "a8w4")
CONTEXTS = ("64", "256", "1024")
_ALLOWED = {"a8w8": 1.05, "a16w8": 1.02}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=list(SIDES))
    parser.add_argument("--schemes", nargs="+", choices=SCHEMES, default=["a8w8", "a16w8"])
    parser.add_argument("--targets", nargs="+", default=["ethos-u85-256"])
    parser.add_argument("--contexts", nargs="+", choices=CONTEXTS, default=list(CONTEXTS))
    add_results_option(parser, "llm")
    options = parser.parse_args()
    trained()
    return run_and_record(options.results, _measured(options), wrong)


def _measured(options: argparse.Namespace) -> Iterator[Measurement]:
    run = Run.here("llm")
    for target in options.targets:
        for scheme in options.schemes:
            for context in options.contexts:
                case = {"network": f"llama-{STEPS}", "scheme": scheme, "target": target, "context": context}
                for side in options.sides:
                    if side == "lengths" and context != CONTEXTS[-1]:
                        continue  # the others are its lengths
                    if side == "weights" and (context != "256" or not target.startswith("ethos-u")):
                        continue  # they depend little on the context, and other targets do not share them
                    if side == "reference" and context != "256":
                        continue  # that which the model was trained with
                    yield run.measured(case, side, run_case("llm.case", side, scheme, target, context))


def wrong(measurement: Measurement) -> str:
    """Why a measurement is not as it should be; empty if it is."""
    found = measurement.metrics
    if measurement.side not in ("ours", "lengths", "weights", "reference"):
        return ""  # what another side cannot do is a result
    if "error" in found:
        return str(found["error"])
    if found.get("equal_scores") != found.get("tokens"):
        return f"{found['equal_scores']} of {found['tokens']} scores are those of the reference model"
    ratio = found.get("perplexity", 1.0) / found.get("float_perplexity", 1.0)
    allowed = _ALLOWED.get(measurement.case["scheme"], ratio)
    return "" if ratio <= allowed else f"perplexity is {ratio:.3f} times that of float"


if __name__ == "__main__":
    sys.exit(main())
