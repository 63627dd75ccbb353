"""The table of ``docs/trained-networks.md``, from measurements."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.documents import table
from benchmarks.figures import Figure, Figures, shown

#: Decisions as in float from which on a scheme is recommended, in per cent.
ENOUGH = 98.0
_TARGETS = {"ethos-u55-128": "U55-128", "ethos-u85-256": "U85-256"}
#: Heads of columns, sides and schemes.
_COLUMNS = (("rival int8", "rival", "int8"), ("int8", "ours", "int8"), ("int16x8", "ours", "a16w8"))


def accuracy(figures: Figures) -> str:
    """Decisions that are float's, and SQNR of the worst output, a line per network."""
    heads = ["network", "decisions"]
    heads += [f"{what}, {label}" for what in ("as in float, %", "worst output, dB") for label, _, _ in _COLUMNS]
    heads.append("recommended")
    lines = []
    for name in _networks(figures):
        base = {"network": name, "target": "ethos-u55-128"}
        count = figures.figure("real", {**base, "scheme": "int8"}, "ours", "decisions")
        cells = [name, shown(count, 0)]
        for metric, decimals in (("agree", 2), ("worst_db", 1)):
            for _, side, scheme in _COLUMNS:
                cells.append(shown(figures.figure("real", {**base, "scheme": scheme}, side, metric), decimals))
        cells.append(
            _recommended(
                {
                    label: figures.figure("real", {**base, "scheme": scheme}, side, "agree")
                    for label, side, scheme in _COLUMNS
                    if side == "ours"
                }
            )
        )
        lines.append(cells)
    return table(heads, lines)


def _recommended(agree: Mapping[str, Figure | None]) -> str:
    """The first scheme, cheapest first, that keeps enough decisions; where all are known and none does, the best."""
    known = {scheme: figure.value for scheme, figure in agree.items() if figure is not None}
    enough = [scheme for scheme, kept in known.items() if kept >= ENOUGH]
    if not enough and len(known) < len(agree):
        return "–"
    return enough[0] if enough else max(known, key=lambda scheme: known[scheme])


def cycles(figures: Figures) -> str:
    """Vela's million cycles and KiB of SRAM, a line per network and device."""
    heads = ["network", "device"]
    heads += [f"{what}, {label}" for what in ("M cycles", "SRAM, KiB") for label, _, _ in _COLUMNS]
    heads.append("left on the CPU, rival / int8 / int16x8")
    lines = []
    for name in _networks(figures):
        for target, device in _TARGETS.items():
            cells = [name, device]
            for metric, decimals, divisor in (("cycles", 3, 1e6), ("sram_kib", 0, 1.0)):
                for _, side, scheme in _COLUMNS:
                    case = {"network": name, "target": target, "scheme": scheme}
                    failed = figures.error("real", case, side)
                    found = figures.figure("real", case, side, metric)
                    cells.append(_ended(failed) if failed else shown(found, decimals, divisor))
            cells.append(
                " / ".join(
                    shown(
                        figures.figure("real", {"network": name, "target": target, "scheme": scheme}, side, "left"), 0
                    )
                    for _, side, scheme in _COLUMNS
                )
            )
            lines.append(cells)
    return table(heads, lines)


def _ended(error: str) -> str:
    return "stopped" if error.startswith("Stopped:") else "fails"


def _networks(figures: Figures) -> list[str]:
    return sorted({case["network"] for case in figures.cases("real")})


BLOCKS = {"real-accuracy": accuracy, "real-cycles": cycles}
