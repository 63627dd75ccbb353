"""Streams with constants prefetched, on the functional model: Vela's results, and no hazard."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import graphs
import numpy as np
import pytest
from model_library import run
from scheduled import SYSTEMS, deep, network, random_costs, velas

from arm_ethosu.waits import with_waits


@pytest.mark.parametrize(("accelerator", "system_config", "memory_mode"), SYSTEMS)
def test_results_are_velas(accelerator: str, system_config: str, memory_mode: str, model: Path) -> None:
    graph = graphs.build(network(2, 200))
    system = (accelerator, system_config, memory_mode)
    made = velas(graph, *system)
    inputs = graphs.inputs(graph)
    before = {**made.arrays, "cmd_data": with_waits(made.arrays["cmd_data"], accelerator)}
    (expected,) = run(model, accelerator, before, inputs)
    assert len(np.unique(expected)) > 15, "the result says too little"
    fetched = 0
    for seed in range(4):
        costs = partial(random_costs, np.random.default_rng(seed)) if seed else None
        arrays, outcome = deep(made, *system, costs)
        fetched += len(outcome.plan.fetches)
        (result,) = run(model, accelerator, arrays, inputs)
        np.testing.assert_array_equal(result, expected)
    assert fetched > 0, "no schedule differs from Vela's"


def test_the_estimate_finds_what_to_fetch() -> None:
    system = SYSTEMS[1]
    _, outcome = deep(velas(graphs.build(network(2, 200)), *system), *system)
    assert outcome.plan.fetches and 0 < outcome.plan.saved < outcome.cycles


def test_schedules_are_the_same_each_time() -> None:
    system = SYSTEMS[1]
    made = velas(graphs.build(network(1, 200)), *system)
    assert deep(made, *system)[0]["cmd_data"].tobytes() == deep(made, *system)[0]["cmd_data"].tobytes()
