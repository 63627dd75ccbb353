"""The search for SRAM: with a stand-in for Vela whose figures are data, and with Vela on a small network."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sram_kit import U55, convolution, flatbuffer, network, rescaled

from arm_ethosu import EthosUCompileSpec, payload, sram_search, vela
from arm_ethosu.live_memory import at_peak, operator_peak, placed
from arm_ethosu.vela_batch import Order
from arm_ethosu.vela_ini import VelaIni, locate
from arm_tosa_core.support.errors import ToolError, UsageError
from arm_tosa_core.support.memory_size import size_of, size_text
from arm_tosa_core.support.passing import failures
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.loader import load

_FLAG = "--arena-cache-size="
Figures = Callable[[int | None], tuple[float, float] | None]


class StandIn:
    """A ``Workplace`` whose runs have the figures of a function from the limit to KiB and cycles; None: Vela fails."""

    def __init__(self, folder: Path, figures: Figures) -> None:
        self._folder, self._figures = folder, figures
        self.limits: list[int | None] = []

    def runs(self, flags: Sequence[Sequence[str]]) -> list[vela.Run | ToolError]:
        return [self._run(given) for given in flags]

    def _run(self, flags: Sequence[str]) -> vela.Run | ToolError:
        limit = next((int(flag.removeprefix(_FLAG)) for flag in flags if flag.startswith(_FLAG)), None)
        folder = self._folder / str(len(self.limits))
        self.limits.append(limit)
        if (figures := self._figures(limit)) is None:
            return ToolError("vela", f"failed at {limit}")
        run = vela.Run(folder, folder, [], "any")
        columns = dict.fromkeys(vela._FIGURES, 0.0) | {"sram_memory_used": figures[0], "cycles_total": figures[1]}
        run.csv.write_text(f"{','.join(columns)}\n{','.join(map(str, columns.values()))}\n")
        run.npz.write_bytes(b"commands")
        return run


def _kept(limit: int | None) -> float:
    """SRAM of a network of 72 KiB that keeps every limit, KiB."""
    return 72 if limit is None else min(72, limit / 1024)


@pytest.mark.parametrize(
    "figures, sram",
    [
        pytest.param(lambda limit: (_kept(limit), 1000), 28.8, id="less costs nothing"),
        pytest.param(lambda limit: (_kept(limit), 1000 if limit is None else 1003), 72, id="less costs too much"),
        pytest.param(lambda limit: (_kept(limit), 1000 if _kept(limit) > 50 else 1100), 50, id="less costs from 50 on"),
        pytest.param(lambda limit: (_kept(limit), 1000 if limit is None else 990), 28.8, id="less is faster"),
        pytest.param(lambda limit: (72, 1000) if limit is None else None, 72, id="Vela fails with limits"),
    ],
)
def test_without_a_budget_the_least_that_costs_nothing(figures: Figures, sram: float, tmp_path: Path) -> None:
    place = StandIn(tmp_path, figures)
    found = sram_search._smallest(sram_search._Search(place, []), len(flatbuffer()), network())
    fewest = min(made[1] for limit in place.limits if (made := figures(limit)) is not None)
    assert found.cycles <= fewest * (1 + sram_search.TOLERANCE)
    assert sram * 1024 - 16 <= found.sram <= sram * 1024 * 1.2
    assert place.limits[0] is None and len(place.limits) <= 6


def test_of_a_large_flatbuffer_few_limits_are_tried(tmp_path: Path) -> None:
    (tmp_path / "without").mkdir()
    place = StandIn(tmp_path / "without", lambda limit: (_kept(limit), 1000))
    sram_search._smallest(sram_search._Search(place, []), 2 << 20, network())
    assert place.limits == [None, 47920]
    place = StandIn(tmp_path, lambda limit: (_kept(limit), 1000))
    sram_search._within(sram_search._Search(place, []), bytes(2 << 20), 10 << 10)
    assert place.limits == [10240, 8192, 6144]


@pytest.mark.parametrize("budget", [None, "64K"])
def test_what_was_searched_is_not_searched_again(
    budget: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And another budget, configuration or flatbuffer has a limit of its own."""
    monkeypatch.setenv("ARM_TOSA_CACHE_DIR", str(tmp_path))
    counts: list[int] = []
    ask = vela.run_all

    def counted(executable: str, orders: Sequence[Order], timeout: float) -> list[str | ToolError]:
        counts.append(len(orders))
        return ask(executable, orders, timeout)

    monkeypatch.setattr(vela, "run_all", counted)
    spec, tosa = EthosUCompileSpec("ethos-u55-128", sram_budget=budget), flatbuffer()
    first, again = (spec.target().compiler.compile(tosa, {}) for _ in range(2))
    assert first == again and counts[-1] == 1 and sum(counts) > 2
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    EthosUCompileSpec("ethos-u55-128", sram_budget="65K").target().compiler.compile(tosa, {})
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == len(files) + 1


@pytest.mark.parametrize("passing", [True, False])
@pytest.mark.parametrize("budget", [None, "64K"])
def test_a_limit_that_was_found_though_vela_died_is_not_kept(
    budget: str | None, passing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the system was out of memory for a while; a refusal of Vela would be the same again, and is kept."""
    monkeypatch.setenv("ARM_TOSA_CACHE_DIR", str(tmp_path))
    ask, spec, tosa = vela.run_all, EthosUCompileSpec("ethos-u55-128", sram_budget=budget), flatbuffer()

    def some_die(executable: str, orders: Sequence[Order], timeout: float) -> list[str | ToolError]:
        limited = [any(word.startswith(_FLAG) for word in order.arguments) for order in orders]
        made = ask(executable, orders, timeout)
        last = max((number for number, limit in enumerate(limited) if limit), default=-1)
        return [ToolError("vela", "died", passing=passing) if i == last else one for i, one in enumerate(made)]

    before = failures()
    with monkeypatch.context() as patched:
        patched.setattr(vela, "run_all", some_die)
        spec.target().compiler.compile(tosa, {})
    assert any(path.is_file() for path in tmp_path.rglob("*")) != passing
    assert (failures() > before) == passing, "so that the .pte is not kept either"


_WITHOUT_PYTORCH = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "torchao", "executorch"):
            raise ImportError(f"there is no {name}")

sys.meta_path.insert(0, Missing())
from arm_ethosu import EthosUCompileSpec

made = EthosUCompileSpec("ethos-u55-128").target().compiler.compile(open(sys.argv[1], "rb").read(), {})
assert made[:16] == b"vela_bin_stream\\0"
"""


def test_a_limit_is_kept_without_pytorch(tmp_path: Path) -> None:
    (tmp_path / "in.tosa").write_bytes(flatbuffer())
    command = [sys.executable, "-c", _WITHOUT_PYTORCH, str(tmp_path / "in.tosa")]
    environment = {**os.environ, "ARM_TOSA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_a_small_graph_is_compiled_once(tmp_path: Path) -> None:
    place = StandIn(tmp_path, lambda limit: (1, 1000))
    sram_search._smallest(sram_search._Search(place, []), len(flatbuffer(network(8))), network(8))
    assert place.limits == [None]


def test_where_vela_fails_without_a_limit_that_is_the_error(tmp_path: Path) -> None:
    place = StandIn(tmp_path, lambda limit: None)
    with pytest.raises(ToolError, match="failed at None"):
        sram_search._smallest(sram_search._Search(place, []), len(flatbuffer()), network())


@pytest.mark.parametrize(
    "figures, budget, sram, cycles",
    [
        pytest.param(lambda limit: (_kept(limit), 1000), "64K", 32, 1000, id="the least of equal cycles"),
        pytest.param(lambda limit: (_kept(limit), 2000 - _kept(limit)), "64K", 64, 1936, id="the fewest cycles"),
        pytest.param(lambda limit: (_kept(limit) * 1.2, 2000 - _kept(limit)), "60K", 57.6, 1952, id="Vela overshoots"),
        pytest.param(lambda limit: (_kept(limit), 1000) if limit < 60000 else None, "64K", 32, 1000, id="some fail"),
    ],
)
def test_with_a_budget_the_fewest_cycles_that_fit(
    figures: Figures, budget: str, sram: float, cycles: float, tmp_path: Path
) -> None:
    found = sram_search._within(sram_search._Search(StandIn(tmp_path, figures), []), b"", size_of(budget, "budget"))
    assert (found.sram / 1024, found.cycles) == pytest.approx((sram, cycles), abs=0.05)


def test_a_budget_that_nothing_keeps(tmp_path: Path) -> None:
    place = StandIn(tmp_path, lambda limit: (40 if limit < 1000 else 44, 1000))
    message = (
        r"sram_budget=32K is missed by 8.0 KiB: 40.0 KiB is the least SRAM that 7 runs of Vela found.* 1,000 cycles"
    )
    with pytest.raises(UsageError, match=message):
        sram_search._within(sram_search._Search(place, []), b"", 32 << 10)


def figures_of(spec: EthosUCompileSpec) -> dict[str, float]:
    estimate = spec.target().report.estimate
    assert estimate is not None
    return dict(estimate(flatbuffer()))


def specs() -> list[EthosUCompileSpec]:
    """With Vela's own choice of SRAM, the least, and a budget."""
    return [
        EthosUCompileSpec("ethos-u55-128", extra_flags="--optimise=Performance"),
        U55,
        EthosUCompileSpec("ethos-u55-128", sram_budget="40K"),
    ]


def payload_of(spec: EthosUCompileSpec, **options: str) -> bytes:
    compile_ = spec.target().compiler.compile
    assert compile_ is not None
    return compile_(flatbuffer(), options)


def test_vela_keeps_a_budget(tmp_path: Path) -> None:
    own, least, within = map(figures_of, specs())
    assert within["sram_kib"] <= 40 < own["sram_kib"]
    assert least["sram_kib"] <= own["sram_kib"] and least["cycles"] <= own["cycles"] * (1 + sram_search.TOLERANCE)
    made = payload_of(specs()[2])
    assert made == payload_of(specs()[2], artifacts=str(tmp_path))
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "out.tosa", "out_debug.xml", "out_summary_Ethos_U55_High_End_Embedded.csv", "out_vela.npz",
    ]  # fmt: skip
    assert payload.unpack(made)["scratch_size"] <= 40 << 10


@pytest.mark.parametrize(
    ("target", "mode", "where"),
    [
        ("ethos-u55-128", "Shared_Sram", "flash"),
        ("ethos-u85-256", "Sram_Only", "sram"),
        ("ethos-u65-256", "Dedicated_Sram_384KB", "dram"),
    ],
)
def test_sram_is_what_a_device_sets_aside(target: str, mode: str, where: str) -> None:
    """Tensors at their peak, or the whole cache, and weights and commands where the memory mode has them in SRAM."""
    spec = EthosUCompileSpec(target)
    assert spec.memory_mode == mode
    arrays, figures = payload.unpack(payload_of(spec)), figures_of(spec)
    constants = sum(len(arrays[name]) for name in ("weight_data", "cmd_data")) / 1024
    assert figures[f"constants_in_{where}_kib"] == pytest.approx(constants, rel=0.02)  # waits are added to commands
    assert figures["flash_kib"] == (figures["constants_in_flash_kib"] if where == "flash" else 0)
    within = figures.get("cache_kib", figures["tensors_kib"])
    assert figures["sram_kib"] == within + (figures["constants_in_sram_kib"] if where == "sram" else 0)
    assert within == (384 if where == "dram" else pytest.approx(int(arrays["scratch_size"]) / 1024, rel=0.01))


@pytest.mark.parametrize("target", ["ethos-u65-256", "ethos-u85-256"])
def test_dram_has_commands_and_weights(target: str) -> None:
    """Vela's "DRAM used" has weights and, in the modes with a cache, tensors, and no commands."""
    places = {"system_config": "Ethos_U85_SYS_DRAM_Mid"} if "u85" in target else {}
    weights = figures_of(EthosUCompileSpec(target, memory_mode="Shared_Sram", **places))
    assert weights["dram_kib"] == weights["constants_in_dram_kib"] > 0
    cached = figures_of(EthosUCompileSpec(target, memory_mode="Dedicated_Sram_384KB", **places))
    assert cached["dram_kib"] - cached["constants_in_dram_kib"] > 1


def test_a_budget_counts_weights_that_lie_in_sram() -> None:
    own = figures_of(EthosUCompileSpec("ethos-u85-256"))
    budget = round(own["sram_kib"] * 1024) - 4096
    within = figures_of(EthosUCompileSpec("ethos-u85-256", sram_budget=budget))
    assert within["sram_kib"] * 1024 <= budget
    with pytest.raises(UsageError, match=r"KiB are weights and commands: another memory mode, such as Shared_Sram"):
        figures_of(EthosUCompileSpec("ethos-u85-256", sram_budget=round(own["constants_in_sram_kib"] * 1024)))


def test_results_are_the_same_whatever_the_sram() -> None:
    pytest.importorskip("arm_runtime", reason="arm-runtime-cpp is not installed")
    run = U55.target().host.run
    assert run is not None
    x = np.random.default_rng(0).integers(-128, 128, (1, 32, 32, 8)).astype(np.int8)
    first, *others = [run(payload_of(spec), [x])[0].tobytes() for spec in specs()]
    assert others == [first, first] and len(set(first)) > 9


def test_a_budget_that_vela_cannot_keep() -> None:
    with pytest.raises(UsageError, match=r"sram_budget=4K is missed by .* KiB is the least SRAM that 7 runs of Vela"):
        figures_of(EthosUCompileSpec("ethos-u55-128", sram_budget=4096))


@pytest.mark.parametrize("flags", ["--arena-cache-size=30000", "--optimise Size", "--opt=Size"])
def test_flags_decide_over_sram(flags: str) -> None:
    with pytest.raises(UsageError, match="and sram_budget='1M' both decide over SRAM"):
        EthosUCompileSpec("ethos-u55-128", extra_flags=flags, sram_budget="1M")
    options = {name: getattr(U55, name) for name in ("system_config", "memory_mode", "timeout")}
    split = EthosUCompileSpec("ethos-u55-128", extra_flags=flags).compiler_flags
    alone = vela.compile(flatbuffer(), accelerator=U55.accelerator, config=None, flags=split, **options)
    assert figures_of(EthosUCompileSpec("ethos-u55-128", extra_flags=flags))["sram_kib"] == alone.sram_kib


def test_a_device_that_is_large_enough_changes_nothing() -> None:
    least = figures_of(U55)
    assert figures_of(EthosUCompileSpec("ethos-u55-128", sram_size="1M")) == least
    size = round(least["sram_kib"] * 1024) - 1024
    smaller = figures_of(EthosUCompileSpec("ethos-u55-128", sram_size=size))
    assert smaller["sram_kib"] * 1024 <= size and smaller["cycles"] > least["cycles"]
    assert smaller == figures_of(EthosUCompileSpec("ethos-u55-128", sram_budget=size))
    with pytest.raises(UsageError, match=r"sram_size=4K is missed by .* KiB is the least SRAM that 7 runs of Vela"):
        figures_of(EthosUCompileSpec("ethos-u55-128", sram_size="4K"))


@pytest.mark.parametrize(
    ("target", "options"),
    [
        ("ethos-u55-128", {"extra_flags": "--optimise=Performance"}),
        ("ethos-u65-256", {"memory_mode": "Dedicated_Sram_384KB"}),
    ],
)
def test_where_nothing_is_searched_a_device_that_is_too_small_is_an_error(target: str, options: dict[str, Any]) -> None:
    taken = figures_of(EthosUCompileSpec(target, **options))["sram_kib"]
    sizes = [round(taken * 1024) - less for less in (0, 1)]
    fits, small = (EthosUCompileSpec(target, sram_size=size, **options) for size in sizes)
    assert figures_of(fits)["sram_kib"] == taken
    with pytest.raises(UsageError, match=rf"the device has sram_size={sizes[1]} of SRAM, and {taken:,.1f} KiB are"):
        figures_of(small)


def test_a_budget_is_within_the_device() -> None:
    with pytest.raises(UsageError, match="sram_budget=2M is more than the SRAM of the device, sram_size=1M"):
        EthosUCompileSpec("ethos-u55-128", sram_budget="2M", sram_size="1M")
    within = EthosUCompileSpec("ethos-u55-128", sram_budget="40K", sram_size="1M")
    assert figures_of(within) == figures_of(EthosUCompileSpec("ethos-u55-128", sram_budget="40K"))


@pytest.mark.parametrize(
    "text, size", [("512K", 524288), ("1M", 1 << 20), ("1.5k", 1536), ("384 KiB", 393216), ("65536", 65536), (100, 100)]
)
def test_sizes(text: str | int, size: int) -> None:
    assert size_of(text, "budget") == size == size_of(size_text(size), "budget")


@pytest.mark.parametrize("text", ["", "K", "12T", "-1K", "0", 0, -5, True, "1e6", "9" * 400])
def test_what_is_no_size(text: str | int) -> None:
    with pytest.raises(UsageError, match=r"sram_budget must be a size such as 512K, 1M or 65536 \(bytes\), not"):
        EthosUCompileSpec("ethos-u55-128", sram_budget=text)


@pytest.mark.parametrize(
    "memory_mode, cache", [("Sram_Only", False), ("Shared_Sram", False), ("Dedicated_Sram_384KB", True)]
)
def test_where_sram_is_a_cache(memory_mode: str, cache: bool) -> None:
    assert VelaIni(locate(None)).has_cache(memory_mode) is cache


def _after_the_input(graph: Graph, build: Callable[[Graph, Tensor], Tensor], shape: tuple[int, ...]) -> Graph:
    graph.outputs = [build(graph, graph.input("x", shape, DType.INT8))]
    return graph


def _sum(graph: Graph, x: Tensor) -> Tensor:
    first = convolution(graph, x, 32)
    second = convolution(graph, first, 32)
    wide = [rescaled(graph, t, DType.INT32) for t in (first, second)]
    return rescaled(graph, graph.append("ADD", wide).output, DType.INT8)


def _turned(graph: Graph, x: Tensor) -> Tensor:
    turned = graph.append("TRANSPOSE", [x], {"perms": (0, 2, 3, 1)}).output
    return convolution(graph, turned, 16, 2)


@pytest.mark.parametrize(
    "build, shape, kib",
    [
        pytest.param(lambda g, x: convolution(g, x, 64), (1, 32, 32, 16), 80, id="operand and result of int8"),
        pytest.param(_sum, (1, 32, 32, 32), 96, id="an addition reads two scales, and nothing lies in int32"),
        pytest.param(lambda g, x: convolution(g, convolution(g, x, 8), 8), (1, 32, 32, 8), 32, id="16 channels"),
        pytest.param(_turned, (1, 3, 32, 32), 7, id="moves keep 3 channels"),
    ],
)
def test_what_is_alive_at_once(build: Callable[[Graph, Tensor], Tensor], shape: tuple[int, ...], kib: float) -> None:
    assert operator_peak(_after_the_input(Graph(), build, shape)) / 1024 == kib
    assert operator_peak(load(flatbuffer(_after_the_input(Graph(), build, shape)))) / 1024 == kib


def test_tensors_at_the_peak_as_vela_placed_them(tmp_path: Path) -> None:
    options = {name: getattr(U55, name) for name in ("system_config", "memory_mode", "timeout")}
    made = vela.compile(
        flatbuffer(), accelerator=U55.accelerator, config=None, flags=["--verbose-allocation"], **options
    )
    tensors = placed(made.printed)
    assert {"x", "output_1"} <= {tensor.name for tensor in tensors}
    assert sum(t.name == "output_1" for t in tensors) == 1 and not any(t.size > made.sram_kib * 1024 for t in tensors)
    peak = at_peak(tensors)
    assert max(tensor.end for tensor in peak) == made.sram_kib * 1024 == max(t.end for t in tensors)
    assert max(tensor.first for tensor in peak) <= min(tensor.last for tensor in peak)
    assert placed("Vela says nothing") == [] == at_peak([])
