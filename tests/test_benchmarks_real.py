"""The benchmark of trained networks: which networks may be looked at, and what it does without their packages."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from test_readme import ROOT

sys.path.append(str(ROOT))  # benchmarks is no package that is installed

from benchmarks.figures import Figures
from benchmarks.real.metrics import above, agreement, decibels, nearest
from benchmarks.real.network import Call, Network, run
from benchmarks.real_tables import cycles
from benchmarks.results import Measurement

REAL = ROOT / "benchmarks" / "real"


def _registry() -> dict[str, list[str]]:
    """The names in each list, and the objects they stand for, of the source: importing it needs packages to fetch."""
    found = {}
    for node in ast.parse((REAL / "registry.py").read_text()).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict):
            found[ast.unparse(node.target)] = [ast.literal_eval(key) for key in node.value.keys if key is not None]
    return found


def test_each_network_is_in_one_list() -> None:
    lists = _registry()
    assert set(lists) == {"CHOSEN_ON", "HELD_OUT", "JUDGES"}
    names = [name for list_ in lists.values() for name in list_]
    assert len(names) == len(set(names)) >= 10


def test_defaults_are_chosen_on_eight_networks_at_least() -> None:
    assert len(_registry()["CHOSEN_ON"]) >= 8


def test_each_network_that_is_defined_is_listed() -> None:
    defined = sum(
        isinstance(call, ast.Call) and ast.unparse(call.func) in ("Origin", "_origin")
        for file in (REAL / "networks").glob("*.py")
        for statement in ast.parse(file.read_text()).body
        if isinstance(statement, ast.Assign)
        for call in [statement.value]
    )
    assert defined == sum(map(len, _registry().values()))


class Counter(torch.nn.Module):
    def forward(self, x: torch.Tensor, total: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x, total + x


@pytest.mark.parametrize(("states", "wanted"), [({"total": 1}, [1.0, 3.0, 6.0]), (None, [1.0, 2.0, 3.0])])
def test_states_are_carried(states: dict[str, int] | None, wanted: list[float]) -> None:
    calls = [(torch.tensor(float(i)), torch.tensor(0.0)) for i in (1, 2, 3)]
    network = Network(Counter(), (), calls, lambda exact, other: {}, states)
    assert [float(outputs[1]) for outputs in run(network, network.module)] == wanted


def _outputs(*rows: list[float]) -> list[Call]:
    return [(torch.tensor([row]),) for row in rows]


@pytest.mark.parametrize(
    ("metric", "exact", "other", "wanted"),
    [
        (lambda a, b: above(a, b, 0.5), _outputs([0.6], [0.4]), _outputs([0.7], [0.6]), 50.0),
        (nearest, _outputs([1.0, 0.0], [0.0, 1.0]), _outputs([0.9, 0.1], [0.8, 0.1]), 50.0),
        (lambda a, b: agreement(a[0][0], b[0][0]), _outputs([1.0, 2.0]), _outputs([1.0, 2.0]), 100.0),
    ],
)
def test_decisions_that_agree(
    metric: Callable[[list[Call], list[Call]], dict[str, float]], exact: list[Call], other: list[Call], wanted: float
) -> None:
    assert metric(exact, other)["agree"] == wanted


def test_decibels_by_output() -> None:
    exact = [(torch.tensor([10.0]), torch.tensor([1.0]))]
    other = [(torch.tensor([9.0]), torch.tensor([1.0]))]
    assert decibels(exact, other) == [20.0, 120.0]


def test_packages_are_pinned() -> None:
    lines = [line for line in Path(REAL / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    assert all("==" in line for line in lines)


def test_a_step_that_takes_too_long_is_shown_as_stopped() -> None:
    case = {"network": "slow", "scheme": "int8", "target": "ethos-u55-128"}
    made = [
        Measurement("real", case, side, {"error": error}, "c", "2026-01-01", "m", {}, "")
        for side, error in (("rival", "Stopped: after 300 CPU s of quantizing"), ("ours", "RuntimeError: refused"))
    ]
    line = cycles(Figures(made)).splitlines()[2]
    assert line.startswith("| slow | U55-128 | stopped | fails | – |")
