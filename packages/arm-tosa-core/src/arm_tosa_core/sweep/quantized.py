"""Quantized programs and their accuracy, made once: by whoever needs one first, on whatever process."""

from __future__ import annotations

import copy
import hashlib
import io
import json
from collections.abc import Callable, Hashable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import torch
from filelock import FileLock

from ..accuracy.compare import Comparison, compare
from ..accuracy.model import Model
from ..accuracy.scheme import Scheme, read_scheme
from ..compat.torch_pt2 import load_pt2
from ..compat.torch_sizes import dynamic_shapes
from ..exir.compile_spec import ArmCompileSpec
from ..exir.provenance import of_installation
from ..flow.fingerprint import program_fingerprint
from ..lowering.exported_program import is_quantized
from ..lowering.rule_set import RuleSet
from ..support import foreign
from ..support.atomic_files import write_atomic
from ..support.errors import UsageError
from .point import AS_IS, Accuracy, Parameters
from .sources import Sources

if TYPE_CHECKING:
    from torch.export import ExportedProgram

T = TypeVar("T")
FLOAT = "float"


class Quantized(NamedTuple):
    """A program as it is to be lowered.

    Args:
        program: quantized by a scheme.
        accuracy: None if it was not judged.
        origin: a digest of the program in float; None if it has none.
    """

    program: ExportedProgram
    accuracy: Accuracy | None
    origin: str | None


def quantized(sources: Sources, folder: Path, parameters: Parameters, scheme: str, spec: ArmCompileSpec) -> Quantized:
    """A program under a scheme, from memory, from ``folder``, or made; another process that makes it is waited for.

    Targets of one specification and without rules of their own share it.

    Raises:
        UsageError: whatever the sources, the scheme or the metric do not like.
    """
    if scheme == AS_IS:
        quantization = Scheme(FLOAT)  # what makes no change
    else:
        quantization = read_scheme(Path(scheme)) if scheme.endswith(".json") else Scheme(scheme)
        if is_quantized(in_float(sources, parameters).program):
            raise UsageError(f"the model is quantized already: {scheme} does not apply to it, but {AS_IS} does")
    name = spec.target().name
    own = sorted(str(rule) for rule in RuleSet.of(name) if rule.target == name)
    kind = json.dumps([asdict(quantization), str(spec.tosa_spec), own])
    key = (sources, folder, parameters, kind)
    return _recent.get(key, lambda: _shared(in_float(sources, parameters), quantization, spec, folder, kind))


def _shared(model: InFloat, scheme: Scheme, spec: ArmCompileSpec, folder: Path, kind: str) -> Quantized:
    if model.digest is None:
        return model.quantized(scheme, spec)
    beside = [model.digest, model.sources.digest(), kind, *of_installation()]
    file = folder / f"{hashlib.sha256('|'.join(beside).encode()).hexdigest()}.pt2"
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(file.with_suffix(".lock")):  # the system releases that of a process that dies
        result = _loaded(file, model.digest)
        if result is None:
            result = model.quantized(scheme, spec)
            _store(file, result)
        return result


def _store(file: Path, result: Quantized) -> None:
    buffer = io.BytesIO()
    torch.export.save(result.program, buffer)
    accuracy = None if result.accuracy is None else asdict(result.accuracy)
    record = {"accuracy": accuracy, "sha256": _sum(buffer.getvalue(), accuracy)}
    write_atomic(file.with_suffix(".json"), json.dumps(record))
    write_atomic(file, buffer.getvalue())


def _loaded(file: Path, origin: str) -> Quantized | None:
    """The contents of a file and the one beside it; None if it is missing, or differs from the data written."""
    try:
        program = file.read_bytes()
        record = foreign.parsed(file.with_suffix(".json").read_bytes())
        accuracy = record["accuracy"]
        if record["sha256"] != _sum(program, accuracy):
            return None
        judged = None if accuracy is None else foreign.record(Accuracy, accuracy)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    try:
        loaded = load_pt2(program)
    except Exception:  # its inputs are more than tensors and numbers; in a foreign study that may be code
        return None
    return Quantized(loaded, judged, origin)


def _sum(program: bytes, accuracy: dict[str, Any] | None) -> str:
    return hashlib.sha256(json.dumps(accuracy).encode() + program).hexdigest()


class InFloat:
    """A model in float, with its data."""

    def __init__(self, sources: Sources, parameters: Parameters) -> None:
        self.sources, self.parameters = sources, dict(parameters)
        torch.manual_seed(0)  # so that random weights are the same in every process
        self.program = sources.program(self.parameters)
        self.digest = program_fingerprint(self.program)

    def quantized(self, scheme: Scheme, spec: ArmCompileSpec) -> Quantized:
        """The program under a scheme, and its loss."""
        judges = self.sources.evaluation(self.program, self.parameters)
        metric = self.sources.metric()
        if scheme == Scheme(FLOAT):
            module: Any = self.program.module()
            twin = copy.deepcopy(module)  # with buffers of its own
            same = compare(module, twin, judges, operators=False, metric=metric) if judges else None
            return Quantized(self.program, _accuracy(same), self.digest)
        calls = self.sources.calibration(self.program, self.parameters)
        model = Model(self.program, spec, calls, judges or calls, metric=metric)
        variant = model.quantize(scheme)
        judged = model.compare(variant, operators=False) if judges else None
        args, kwargs = self.program.example_inputs or calls[0]
        exported = torch.export.export(variant.converted, args, kwargs, dynamic_shapes=dynamic_shapes(self.program))
        return Quantized(exported, _accuracy(judged), self.digest)


def in_float(sources: Sources, parameters: Parameters) -> InFloat:
    """The model in float, from memory or made."""
    return _models.get((sources, parameters), lambda: InFloat(sources, parameters))


def _accuracy(comparison: Comparison | None) -> Accuracy | None:
    if comparison is None:
        return None
    if comparison.metric is None and comparison.sqnr_db is None:
        raise UsageError("the model gives integers only, which have no SQNR: judge them with --metric")
    return Accuracy(comparison.metric, comparison.float_metric, comparison.sqnr_db)


class _Recent(Generic[T]):
    """A cache of the last few values."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: dict[Hashable, T] = {}

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of a key."""
        self._values[key] = value = self._values.pop(key) if key in self._values else make()
        while len(self._values) > self._most:
            del self._values[next(iter(self._values))]
        return value


_models: _Recent[InFloat] = _Recent(2)
_recent: _Recent[Quantized] = _Recent(4)
