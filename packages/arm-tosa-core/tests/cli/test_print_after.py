"""``arm-tosa compile --print-after``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cli_kit import error, run

from arm_tosa_core.tosa.ir import Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Rewrite, Stage

_COMPILE = ("compile", "models.py:whole", "--target", "tosa", "-o", "net.pte")


def _add_becomes_sub() -> Rewrite:
    def replacement(match: Match) -> Tensor:
        """Acme has no ADD."""
        return match.insert("SUB", *match.op.inputs)

    return pattern_rewrite("no_add", Stage.LEGALIZE, Pattern("ADD"), replacement)


def test_graphs_after_stages(folder: Path) -> None:
    printed = run(*_COMPILE, "--print-after", "lower", "--print-after", "LEGALIZE").stderr
    first, second = printed.split("# after LEGALIZE\n")
    assert first.count("# after LOWER\ngraph main(") == 1 and " = MUL(" in first
    assert second.startswith("# all: applied 0 times of 2 tried") and "models.py:" in second


def test_a_rewrite_each_time_it_applied_with_the_reason(folder: Path, acme: Callable[..., None]) -> None:
    acme(rewrites=(_add_becomes_sub(),))
    command = ("compile", "models.py:whole", "--target", "acme", "-o", "net.pte", "--print-to", "graph.txt")
    result = run(*command, "--print-after", "no_add")
    assert result.exit_code == 0 and "# after" not in result.stderr
    printed = Path("graph.txt").read_text()
    assert printed.startswith("# after no_add at ADD of add, ") and "Acme has no ADD." in printed.splitlines()[0]
    assert printed.count("# after") == 1 and " = SUB(" in printed


def test_an_unknown_name_lists_the_valid_ones(folder: Path) -> None:
    message = error(*_COMPILE, "--print-after", "annotate")
    assert "no stage with a TOSA graph and no rewrite for tosa" in message
    assert "LOWER, OPTIMIZE, LEGALIZE" in message and "merge_reshapes" in message
    assert "calibrating" not in error(*_COMPILE, "--quantize", "int8", "--print-after", "annotate")
    assert "--print-to needs --print-after" in error(*_COMPILE, "--print-to", "graph.txt")
    assert not Path("net.pte").exists()


def test_the_help_tells_of_it() -> None:
    assert "--print-after" in run("compile", "--help").stdout
