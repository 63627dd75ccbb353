"""The table of ``docs/benchmarks.md`` about the code of firmware."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.figures import Figures


@dataclass(frozen=True)
class PublishedSize:
    """The size of a runtime as others say it.

    Args:
        what: is counted.
        size: as the source has it.
        source: where it stands.
    """

    what: str
    size: str
    source: str


_AT = "https://github.com/pytorch/executorch/blob/cff6f4d"
RIVAL = (
    PublishedSize(
        "ExecuTorch's core, without kernels and delegates", "< 50 kB", f"{_AT}/docs/source/runtime-overview.md"
    ),
    PublishedSize(
        "ExecuTorch's size test for Cortex-M: a program that loads a model, without kernels; the whole ELF, stripped",
        "115,868",
        f"{_AT}/.github/workflows/pull.yml",
    ),
    PublishedSize(
        "ExecuTorch's runtime of its CMSIS pack",
        "50 to 100 KB",
        f"{_AT}/backends/arm/cmsis_pack/contributions/add/Documentation/README.md",
    ),
)


def code_size(figures: Figures) -> str:
    """Bytes of code by network, and what others say of ExecuTorch's."""
    rows = [
        "| network | model | calls of the driver | memcpy, memset | code in all | stack |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    parts = ("model_bytes", "npu_bytes", "libc_bytes", "code_bytes", "stack_bytes")
    for case in figures.cases("firmware_size"):
        found = [figures.figure("firmware_size", case, "ours", part) for part in parts]
        cells = ["–" if figure is None else f"{figure.value:,.0f}" for figure in found]
        rows.append(f"| {case['network']} | {' | '.join(cells)} |")
    rows += ["", "| the rival's way | bytes | source |", "|---|---:|---|"]
    rows += [f"| {row.what} | {row.size} | <{row.source}> |" for row in RIVAL]
    return "\n".join(rows)
