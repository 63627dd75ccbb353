"""Worker processes: this machine's and dask's; what becomes of work whose worker dies."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sweep_kit
from sweep_kit import notes

from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.sweep import extra
from arm_tosa_core.sweep.dask_engine import Dask
from arm_tosa_core.sweep.engine import Engine, Here
from arm_tosa_core.sweep.point import Failure
from arm_tosa_core.sweep.pool import Pool

pytest.importorskip("distributed", reason="needs dask: install arm-tosa-core[sweep]")


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool(2)
    yield made
    made.close()


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A dask cluster of two processes on this machine, which find the helpers of these tests."""
    from distributed import LocalCluster

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as made:
        yield made


def _through(engine: Engine, work: dict[Any, tuple[Any, ...]]) -> dict[Any, Any]:
    """Does work, as much at a time as the engine likes."""
    waiting, done = list(work.items()), {}
    while len(done) < len(work):
        while engine.free and waiting:
            name, (function, *arguments) = waiting.pop(0)
            engine.start(name, function, *arguments)
        name, value = engine.next()
        done[name] = value
    return done


def _squares(folder: Path, deadly: int | None = None, times: int = 1) -> dict[Any, tuple[Any, ...]]:
    return {n: (sweep_kit.square_or_die, str(folder), n, deadly, times) for n in range(6)}


def test_work_here_is_done_one_by_one(tmp_path: Path) -> None:
    assert _through(Here(), _squares(tmp_path)) == {n: n * n for n in range(6)}
    assert notes(tmp_path) == [str(n) for n in range(6)]


def test_a_process_that_dies_is_replaced_and_its_work_done_again(pool: Pool, tmp_path: Path) -> None:
    assert _through(pool, _squares(tmp_path, deadly=2)) == {n: n * n for n in range(6)}
    assert sorted(notes(tmp_path)) == ["0", "1", "2", "3", "4", "5", "died"]  # nothing lost, nothing twice


def test_work_that_kills_every_process_fails_and_the_rest_goes_on(pool: Pool, tmp_path: Path) -> None:
    done = _through(pool, _squares(tmp_path, deadly=2, times=9))
    failure = done.pop(2)
    assert isinstance(failure, Failure) and not failure.lasting
    assert "its worker process died, 2 times" in failure.reason
    assert done == {n: n * n for n in (0, 1, 3, 4, 5)}
    assert sorted(notes(tmp_path)) == ["0", "1", "3", "4", "5", "died", "died"]


def test_errors_come_back_as_text_and_memory_is_bounded(tmp_path: Path) -> None:
    pool = Pool(1, memory=256 << 20)
    done = _through(
        pool, {"large": (sweep_kit.fill, 1 << 30), "small": (sweep_kit.fill, 1 << 20), "bad": (sweep_kit.fail, "no")}
    )
    pool.close()
    assert done["small"] == 1 << 20
    assert done["large"].reason.startswith("the worker ran out of memory") and not done["large"].lasting
    assert done["bad"] == Failure("Local: no", lasting=False)


def test_too_little_memory_for_any_process_is_refused() -> None:
    with pytest.raises(UsageError, match="--memory 1M: a process needs 128M at least"):
        Pool(1, memory=1 << 20)


def _ended(process: int) -> bool:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        state = Path(f"/proc/{process}/stat")
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


def _worker(folder: Path) -> int:
    deadline = time.monotonic() + 60
    while not notes(folder) and time.monotonic() < deadline:
        time.sleep(0.05)
    return int(notes(folder)[0])


@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc, which only Linux has")
def test_closing_ends_what_is_at_work(tmp_path: Path) -> None:
    pool = Pool(1)
    pool.start("slow", sweep_kit.slow, str(tmp_path), 600)
    process = _worker(tmp_path)
    pool.close()
    assert _ended(process)


@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc, which only Linux has")
def test_a_process_ends_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    code = (
        "import sys, sweep_kit\nfrom arm_tosa_core.sweep.pool import Pool\n"
        "if __name__ == '__main__':\n"
        " pool = Pool(1)\n pool.start(0, sweep_kit.slow, sys.argv[1], 600)\n pool.next()\n"
    )
    script = tmp_path / "parent.py"
    script.write_text(code)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, str(script), str(tmp_path)], env=env) as parent:
        process = _worker(tmp_path)
        parent.kill()
    assert _ended(process)


def test_a_dask_worker_that_is_killed_loses_nothing(cluster: Any, tmp_path: Path) -> None:
    from distributed import Client

    with Client(cluster) as client:
        done = _through(Dask(client), _squares(tmp_path, deadly=2))
    assert done == {n: n * n for n in range(6)}
    counted = notes(tmp_path)
    assert counted.count("died") == 1 and sorted(set(counted)) == ["0", "1", "2", "3", "4", "5", "died"]
    # A result that dies with its worker before it was fetched is made again: points of a sweep are cached, and are not.
    assert len(counted) - len(set(counted)) <= 1


def test_an_address_is_as_good_as_a_client(cluster: Any, tmp_path: Path) -> None:
    engine = Dask(cluster.scheduler_address)
    assert _through(engine, _squares(tmp_path)) == {n: n * n for n in range(6)}
    engine.close()


def test_a_scheduler_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arm_tosa_core.sweep.dask_engine._PATIENCE", 1)
    with pytest.raises(UsageError, match=r"no dask scheduler answers at tcp://127.0.0.1:9: .*dask scheduler"):
        Dask("tcp://127.0.0.1:9")


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extra, "find_spec", lambda name: None)
    for asked, name in ((extra.optuna, "optuna"), (extra.distributed, "distributed")):
        with pytest.raises(UsageError, match=rf"needs {name}: pip install {name} .*arm-tosa-core\[sweep\]"):
            asked()
