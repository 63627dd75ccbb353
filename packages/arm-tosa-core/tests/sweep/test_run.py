"""The loop of a sweep with made-up evaluations: what is tried, what is kept, and what is not done twice."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sweep_kit import NoSources, evaluation, made_up, notes

from arm_tosa_core.plugin import entry_points as plugins
from arm_tosa_core.plugin.chip import Chip
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.sweep import run
from arm_tosa_core.sweep.engine import Done, Here
from arm_tosa_core.sweep.limits import Limits
from arm_tosa_core.sweep.point import Evaluation, Failure, Outcome, Point, Result
from arm_tosa_core.sweep.space import Space

pytest.importorskip("optuna", reason="sweeps are kept by Optuna: install arm-tosa-core[sweep]")

Sweep = Callable[..., list[Result]]
SPACE = Space({"tosa-int": {}, "tosa": {}}, ["int8", "int16x8"], {"width": [1, 2]})


@pytest.fixture
def sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sweep:
    """A sweep of ``SPACE``, here, with made-up evaluations."""
    monkeypatch.setattr(run, "evaluate", made_up)
    monkeypatch.setattr(run, "identify", lambda sources, parameters: "p")

    def call(space: Space = SPACE, most: int = 100, engine: Any = None, sources: Any = None) -> list[Result]:
        return run.sweep(
            space,
            sources or NoSources(),
            tmp_path / "study",
            engine or Here(),
            limits=Limits(latency=3e-3),
            judged=True,
            most=most,
        )

    return call


def _done(tmp_path: Path) -> list[str]:
    return notes(tmp_path / "study" / "quantized")


def test_a_small_space_is_tried_as_a_whole_and_once(sweep: Sweep, tmp_path: Path) -> None:
    first, second = sweep(), sweep()
    assert first == second and len(first) == len(SPACE) == len(_done(tmp_path))
    assert {result.point for result in first} == set(SPACE)


def test_another_space_takes_over_what_is_known(sweep: Sweep, tmp_path: Path) -> None:
    sweep()
    more = Space({**SPACE.targets, "tosa-fp": {}}, SPACE.schemes, SPACE.parameters)
    assert len(sweep(more)) == len(more) == len(_done(tmp_path))


def test_another_model_takes_over_nothing(sweep: Sweep, tmp_path: Path) -> None:
    sweep()
    sweep(sources=NoSources("another"))
    assert len(_done(tmp_path)) == 2 * len(SPACE)


class _Stops(Here):
    """Stops as a killed process would: between an answer and the next."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self._after = after

    def next(self) -> Done:
        if self._after == 0:
            raise KeyboardInterrupt
        self._after -= 1
        return super().next()


@pytest.mark.parametrize("most", [100, 6])
def test_a_sweep_that_was_stopped_goes_on(sweep: Sweep, tmp_path: Path, most: int) -> None:
    with pytest.raises(KeyboardInterrupt):
        sweep(most=most, engine=_Stops(3))
    before = _done(tmp_path)
    assert len(before) == 3
    results = sweep(most=most)
    after = _done(tmp_path)
    assert len(after) == len(set(after))
    assert all(isinstance(result.outcome, Evaluation) for result in results)
    if most == 100:
        assert len(results) == len(SPACE) == len(after)


def test_a_trial_of_a_killed_process_is_closed(sweep: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import optuna
    from optuna.storages.journal import JournalFileBackend

    with monkeypatch.context() as killed:  # nobody says that a trial is given up
        killed.setattr("arm_tosa_core.sweep.journal.Journal.drop", lambda self, trial: None)
        with pytest.raises(KeyboardInterrupt):
            sweep(engine=_Stops(3))
    sweep()
    storage = optuna.storages.JournalStorage(JournalFileBackend(str(tmp_path / "study" / "journal.log")))
    (name,) = optuna.get_all_study_names(storage)
    states = [trial.state.name for trial in optuna.load_study(study_name=name, storage=storage).trials]
    assert sorted(states) == ["COMPLETE"] * len(SPACE) + ["FAIL"]
    assert len(_done(tmp_path)) == len(SPACE)


def test_a_process_that_is_killed_as_it_writes_is_no_obstacle(sweep: Sweep, tmp_path: Path) -> None:
    sweep()
    with (tmp_path / "study" / "journal.log").open("ab") as journal:
        journal.write(b'{"op_code":4,"worker')  # half of a line
    (tmp_path / "study" / "journal.log.lock").symlink_to("study/journal.log")  # Optuna's lock, of a dead process
    assert len(sweep()) == len(SPACE) == len(_done(tmp_path))
    assert len(sweep(sources=NoSources("another"))) == len(SPACE)  # what is written behind it can be read


#: What can become of a line of the journal.
SPOILED = {
    "flipped": lambda line: bytes([line[0] ^ 4]) + line[1:],
    "no text": lambda line: b"\xff\xfe" + line,
    "another number": lambda line: line.replace(b"1", b"2"),
    "not an object": lambda line: b"[" * 5000,
    "nothing": lambda line: b"",
}


@pytest.mark.parametrize("at", [0, 7, -1])
@pytest.mark.parametrize("kind", SPOILED)
def test_a_damaged_journal_is_read_up_to_there(sweep: Sweep, tmp_path: Path, kind: str, at: int) -> None:
    file = tmp_path / "study" / "journal.log"
    first = sweep()
    lines = file.read_bytes().splitlines()
    changed = SPOILED[kind](lines[at])
    assert changed != lines[at]
    lines[at] = changed
    file.write_bytes(spoiled := b"\n".join(lines) + b"\n")
    with pytest.warns(UserWarning, match=rf"journal.log is damaged from line {at % len(lines) + 1} "):
        second = sweep()
    assert [result.point for result in first] == [result.point for result in second]
    assert [result.outcome.figures for result in first] == [result.outcome.figures for result in second]
    assert (tmp_path / "study" / "journal.log.damaged").read_bytes() == spoiled
    assert sweep() == second, "and without a warning"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("line", ['{"op_code":4}', '{"op_code":"x","worker_id":"a"}', '{"op_code":99,"worker_id":"a"}'])
def test_a_journal_that_is_none_of_optunas_is_named(sweep: Sweep, tmp_path: Path, line: str) -> None:
    """Lines without a checksum are other programs', such as those of ``optuna-dashboard``."""
    sweep()
    with (tmp_path / "study" / "journal.log").open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(UsageError, match=r"study/journal.log cannot be read .* Remove it"):
        sweep()
    (tmp_path / "study" / "journal.log").unlink()
    assert len(sweep()) == len(SPACE)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("file_bytes", "1"),
        pytest.param("file_bytes", 10**400, id="no 64 bits"),
        ("figures", []),
        ("seconds", None),
        ("cached", {}),
    ],
)
def test_a_journal_with_an_outcome_that_is_none_is_named(sweep: Sweep, tmp_path: Path, key: str, value: object) -> None:
    sweep()
    file = tmp_path / "study" / "journal.log"
    text = re.sub(r',\s*"sha256":\s*"\w+"', "", file.read_text())
    changed, count = re.subn(rf'"{key}": ?(\{{[^}}]*\}}|[^,}}]+)', f'"{key}": {json.dumps(value)}', text, count=1)
    assert count
    file.write_text(changed)
    with pytest.raises(UsageError, match=r"journal.log cannot be read .*Evaluation.* Remove it"):
        sweep()


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r'"param_value_internal": ?[\d.]+', '"param_value_internal": Infinity'),
        (r'"param_value_internal": ?[\d.]+', '"param_value_internal": NaN'),
        (r'"param_value_internal": ?[\d.]+', '"param_value_internal": 99'),
        (r'"values": ?\[[^\]]+\]', '"values": ["x", "y", "z", "t"]'),  # Optuna looks at them when it proposes a point
        (r'"values": ?\[[^\]]+\]', '"values": [1.0]'),
        (r'"directions": ?\[[^\]]+\]', '"directions": [1]'),
        (r'"directions": ?\[[^\]]+\]', '"directions": []'),
        (r'"datetime_complete": ?"[^"]+"', '"datetime_complete": "yesterday"'),
        (r'"constraints:latency": ?[^}]+', '"constraints:latency": "x"'),
        (r'\\"choices\\": ?\[[^\]]+\]', r'\\"choices\\": 3'),
    ],
)
def test_whatever_optuna_does_not_take_in_a_journal_is_named(
    sweep: Sweep, tmp_path: Path, pattern: str, text: str
) -> None:
    large = Space(SPACE.targets, SPACE.schemes, {"width": list(range(20)), "depth": list(range(5))})
    sweep(large, most=12)
    file = tmp_path / "study" / "journal.log"
    changed, count = re.subn(pattern, lambda _: text, re.sub(r',\s*"sha256":\s*"\w+"', "", file.read_text()))
    assert count
    file.write_text(changed)
    with pytest.raises(UsageError, match=r"study/journal.log cannot be read .* Remove it"):
        sweep(large, most=24)


def test_a_large_space_is_sampled_without_doing_anything_twice(sweep: Sweep, tmp_path: Path) -> None:
    large = Space(SPACE.targets, SPACE.schemes, {"width": list(range(20)), "depth": list(range(5))})
    results = sweep(large, most=12)
    done = _done(tmp_path)
    assert len(results) == len(done) == len(set(done)) == 12
    again = sweep(large, most=16)  # what is known is not worth another try
    assert len(_done(tmp_path)) == len(set(_done(tmp_path))) and len(again) == 16


def test_points_that_fail_are_kept_unless_their_worker_died(sweep: Sweep, tmp_path: Path, monkeypatch: Any) -> None:
    def evaluate(sources: Any, folder: str, point: Any) -> Any:
        found = made_up(sources, folder, point)
        if point.target == "tosa":
            return Failure(f"{point.scheme} is not for {point.parameters}", lasting=point.scheme == "int8")
        return found

    monkeypatch.setattr(run, "evaluate", evaluate)
    first, second = sweep(), sweep()
    assert first == second and sum(isinstance(result.outcome, Failure) for result in first) == 4
    assert len(_done(tmp_path)) == len(SPACE) + 2


def test_a_fault_that_all_points_share_ends_the_sweep(sweep: Sweep, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(run, "evaluate", lambda *_: made_up(*_) and Failure("m.py:f failed at line 3"))
    with pytest.raises(UsageError, match=r"every point that was tried fails alike: m.py:f failed at line 3"):
        sweep()
    assert len(_done(tmp_path)) == 5


def test_chips_that_are_alike_fail_as_one(tmp_path: Path, monkeypatch: Any) -> None:
    """Ten chips have one core; that the model is too large for it says nothing of the eleventh."""
    chips = [Chip(name=f"c{i}", title="", target="acme", options={"size": "1" if i < 10 else "2"}) for i in range(11)]
    monkeypatch.setattr(plugins, "chips", lambda: {chip.name: chip for chip in chips})

    def outcome(sources: object, folder: str, point: Point) -> Outcome:
        return Failure("too large") if point.target != "c10" else evaluation()

    monkeypatch.setattr(run, "evaluate", outcome)
    results = run.compare(Space({chip.name: {} for chip in chips}), NoSources(), tmp_path)
    assert [isinstance(result.outcome, Failure) for result in results] == [*[True] * 10, False]


def test_a_model_that_has_changed_is_noticed(sweep: Sweep, monkeypatch: Any) -> None:
    sweep()
    monkeypatch.setattr(run, "identify", lambda sources, parameters: "another")
    with pytest.raises(UsageError, match=r"the model is not the one whose results are in .*study.*--study"):
        sweep()


def test_two_sweeps_do_not_share_a_folder(sweep: Sweep, monkeypatch: Any) -> None:
    def nested(*arguments: Any) -> Any:
        with pytest.raises(UsageError, match=r"another sweep is at work in .*study"):
            sweep()
        return made_up(*arguments)

    monkeypatch.setattr(run, "evaluate", nested)
    assert len(sweep()) == len(SPACE)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"main.c": ""}, r"holds main\.c and no results of a sweep, .* give --study a new or empty folder"),
        ({"main.c": "", "a\x1b[2J": "", "lock": ""}, r"holds a\\x1b\[2J and 1 more and"),
        ({"main.c": "", "journal.log": "12:03 started\n"}, r"holds main\.c and"),
        ({"lock": "", "quantized": None, "journal.log": ""}, None),
        (
            {"journal.log": '{"op_code": 0, "worker_id": "w", "study_name": "s", "directions": [1]}\n', "o.html": ""},
            None,
        ),
    ],
)
def test_a_folder_of_other_files_is_left_alone(
    sweep: Sweep, tmp_path: Path, files: dict[str, str | None], said: str | None
) -> None:
    folder = tmp_path / "study"
    folder.mkdir()
    for name, text in files.items():
        (folder / name).mkdir() if text is None else (folder / name).write_text(text)
    if said is None:
        assert len(sweep()) == len(SPACE)
    else:
        with pytest.raises(UsageError, match=said):
            sweep()
        assert {path.name: path.read_text() for path in folder.iterdir()} == files


def test_workers_get_points_of_different_groups() -> None:
    from collections import Counter

    from arm_tosa_core.sweep.run import All

    order = All(SPACE)
    running: Counter[Any] = Counter()
    groups = []
    while (point := order.next(running)) is not None:
        running[point.group] += 1
        groups.append(point.group)
    assert len(set(groups[:4])) == 4 and len(groups) == len(SPACE)
