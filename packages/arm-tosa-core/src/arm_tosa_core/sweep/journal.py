"""The results of a sweep on disk: a study of Optuna's, which also proposes the next points."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..support import foreign
from ..support.errors import UsageError
from . import extra
from .journal_file import storage
from .limits import Limits, costs
from .point import Evaluation, Failure, Outcome, Parameters, Point
from .space import DEFAULT, Space
from .study_folder import JOURNAL, locked


@dataclass(frozen=True)
class Trial:
    """A point that is being tried, as Optuna knows it."""

    point: Point
    trial: Any


class Journal:
    """The study of one model, one set of data and one space, with results of other spaces for the same model and data.

    Args:
        folder: where it is kept; made if it is not there.
        space: the points to propose from.
        origin: a name for the model and the data.
        judged: accuracy is an objective.

    Attributes:
        outcomes: results so far, by the digests of points.

    Raises:
        UsageError: Optuna is not installed, the folder holds files and no study, it cannot be written, another process
            is using it, or its file is none of Optuna's. The methods raise it too, where what the file says turns out
            to be wrong later.
    """

    def __init__(self, folder: Path, space: Space, origin: str, limits: Limits, *, judged: bool) -> None:
        self.outcomes: dict[str, Outcome] = {}
        self._optuna = optuna = extra.optuna()
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._lock = locked(folder)
        self._space, self._origin, self._limits = space, origin, limits
        self._judged = judged
        self._failed = optuna.trial.TrialState.FAIL
        self._programs: dict[str, str] = {}
        self._file = folder / JOURNAL
        try:
            with self._replayed():
                self._storage = storage(self._file)
                self._open()
        except OSError as error:
            self._lock.release()
            raise self._unreadable(error) from error
        except UsageError:
            self._lock.release()
            raise

    @contextmanager
    def _replayed(self) -> Iterator[None]:
        """Within it, what Optuna raises about the file becomes an error that names it; a full disk stays an OSError.

        Optuna takes the lines of the file as they are, some of them later than others, and does not say what it raises
        if they are wrong: an index of a choice that is infinite is an OverflowError.
        """
        try:
            yield
        except OSError:
            raise
        except Exception as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> UsageError:
        return UsageError(
            f"{self._file} cannot be read ({type(error).__name__}: {error}). Remove it: results are worked out "
            "again, from the quantized programs beside it"
        )

    def _open(self) -> None:
        """Opens the study and reads its results."""
        optuna = self._optuna
        self._study = optuna.create_study(
            storage=self._storage,
            study_name=_name(self._space, self._origin, self._judged),
            directions=["minimize", "minimize", "minimize", *(["maximize"] if self._judged else [])],
            load_if_exists=True,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            last = ["accuracy"] if self._judged else []
            self._study.set_metric_names(["SRAM, KiB", ".pte, KiB", "latency, ms", *last])
        self._study.set_user_attr("origin", self._origin)
        self._study.sampler = _sampler(len(self._study.get_trials(deepcopy=False)))
        self._read()

    def _read(self) -> None:
        """Reads all results of this origin, whatever the space, and closes the trials of a killed process."""
        optuna = self._optuna
        for name in optuna.get_all_study_names(self._storage):
            study = optuna.load_study(study_name=name, storage=self._storage)
            if study.user_attrs.get("origin") != self._origin:
                continue
            self._programs |= study.user_attrs.get("programs", {})
            for trial in study.get_trials(deepcopy=False):
                if trial.state == optuna.trial.TrialState.RUNNING:
                    study.tell(trial.number, state=self._failed)
                elif (outcome := _outcome(trial.user_attrs)) is not None:
                    self.outcomes[trial.user_attrs["digest"]] = outcome

    def program(self, parameters: Parameters) -> str | None:
        """Digest of the program that the recorded results of these parameters belong to, or None."""
        return self._programs.get(json.dumps(parameters))

    def remember_program(self, parameters: Parameters, digest: str) -> None:
        """Notes it."""
        self._programs[json.dumps(parameters)] = digest
        self._study.set_user_attr("programs", self._programs)

    def begin(self, point: Point) -> Trial:
        """Notes that a point is being tried."""
        parameters = dict(_words(point, self._space))
        self._study.enqueue_trial(parameters)
        while True:  # a point that a killed process had put in line comes first
            trial = self.propose()
            if trial.point == point:
                return trial
            self.drop(trial)

    def propose(self) -> Trial:
        """A point that the sampler would try next, or the first in line."""
        with self._replayed():
            trial = self._study.ask()
            scheme = trial.suggest_categorical("quantize", list(self._space.schemes))
            target = trial.suggest_categorical("target", list(self._space.targets))
            choices = self._space.targets[target]
            options = [(key, trial.suggest_categorical(f"{target}: {key}", list(v))) for key, v in choices.items()]
            parameters = [
                (key, trial.suggest_categorical(f"model: {key}", list(values)))
                for key, values in self._space.parameters.items()
            ]
        chosen = tuple((key, value) for key, value in options if value != DEFAULT)
        return Trial(Point(target, scheme, chosen, tuple(parameters)), trial)

    def end(self, trial: Trial, digest: str, outcome: Outcome) -> None:
        """Notes the outcome of a trial."""
        trial.trial.set_user_attr("digest", digest)
        trial.trial.set_user_attr("outcome", asdict(outcome))
        self.outcomes[digest] = outcome
        if isinstance(outcome, Failure):
            self.drop(trial)
            return
        for miss in self._limits.judged(outcome):
            trial.trial.set_constraint(miss.limit, miss.part)
        sram, file, latency, _, loss = costs(outcome)
        values = [sram / 1024, file / 1024, latency * 1e3, *([-loss] if self._judged else [])]
        with self._replayed():
            self._study.tell(trial.trial, values)

    def drop(self, trial: Trial) -> None:
        """Notes that a trial was given up."""
        with self._replayed():
            self._study.tell(trial.trial, state=self._failed)

    def close(self) -> None:
        """Lets other processes use the folder."""
        self._lock.release()


def _sampler(seed: int) -> Any:
    optuna = extra.optuna()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True, constant_liar=True)


def _name(space: Space, origin: str, judged: bool) -> str:
    targets = {name: dict(options) for name, options in space.targets.items()}
    text = json.dumps([[targets, space.schemes, dict(space.parameters)], origin, judged])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _words(point: Point, space: Space) -> Iterator[tuple[str, Any]]:
    """A point as Optuna's parameters."""
    yield "quantize", point.scheme
    yield "target", point.target
    options = dict(point.options)
    for key in space.targets[point.target]:
        yield f"{point.target}: {key}", options.get(key, DEFAULT)
    for key, value in point.parameters:
        yield f"model: {key}", value


def _outcome(attributes: Mapping[str, Any]) -> Outcome | None:
    """The outcome of a trial; None for a failure that may pass."""
    data = attributes.get("outcome")
    if data is None:
        return None
    if "reason" in data:
        failure = foreign.record(Failure, data)
        return failure if failure.lasting else None
    return foreign.record(Evaluation, data)
