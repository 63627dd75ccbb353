"""Delegates of targets that have none in C++, in ExecuTorch's Python runtime: their payloads are TOSA graphs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from hashlib import sha256
from importlib import import_module

import numpy as np

from ..plugin.target import Target
from ..support.errors import UsageError
from ..support.runtime_package import remedy
from ..tosa.dtypes import numpy_dtype
from ..tosa.loader import load
from .pte import Delegate, Pte, target_of

#: For each delegate that this process has registered, by its name: the target that runs a payload, by its SHA-256.
_runners: dict[str, dict[bytes, Target]] = {}


def register(pte: Pte, missing: Collection[str]) -> set[str]:
    """Registers the delegates of these names that the targets of a program can stand for in this process.

    A delegate that is registered already takes the payloads of this program too. The target's ``Host.run`` computes a
    delegate whose payload is its TOSA graph. Other names are left as they are.

    Returns:
        The names of registered delegates of which nothing runs a payload of this program.

    Raises:
        UsageError: the runtime that is installed is of an earlier version.
    """
    unknown = set()
    for backend_id in sorted({*missing, *_runners}):
        delegates = [delegate for delegate in pte.delegates if delegate.backend_id == backend_id]
        targets = [_runner(delegate) for delegate in delegates]
        runners = {
            _digest(delegate.payload): target for delegate, target in zip(delegates, targets, strict=True) if target
        }
        if None in targets:
            unknown |= {backend_id} & _runners.keys()
            continue
        if backend_id not in _runners:
            _register(backend_id)
        _runners[backend_id].update(runners)
    return unknown


def _digest(payload: bytes) -> bytes:
    return sha256(payload).digest()


def _runner(delegate: Delegate) -> Target | None:
    """The target that runs a payload; None: it cannot, or the payload is no TOSA graph."""
    try:
        target = target_of(delegate)
        load(delegate.payload)
    except UsageError:
        return None
    return target if target.host.run is not None else None


def _register(backend_id: str) -> None:
    def run(payload: bytes, buffers: Sequence[memoryview]) -> None:
        graph, host_run = load(payload), _runners[backend_id][_digest(payload)].host.run
        assert host_run is not None, "only such targets are among them"
        arrays = [
            np.frombuffer(buffer, numpy_dtype(tensor.dtype)).reshape(tensor.shape)
            for tensor, buffer in zip(graph.inputs, buffers, strict=False)
        ]
        results = host_run(payload, arrays)
        for buffer, result in zip(buffers[len(arrays) :], results, strict=True):
            buffer[:] = np.ascontiguousarray(result).tobytes()

    try:
        host = import_module("arm_runtime.host")
    except (ImportError, OSError) as error:
        raise UsageError(f"running {backend_id} needs a newer runtime ({error}): {remedy(again=True)}") from error
    host.register(backend_id, run)
    _runners[backend_id] = {}
