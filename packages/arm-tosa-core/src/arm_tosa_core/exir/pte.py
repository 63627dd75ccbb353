"""Reading an ExecuTorch program (``.pte``): the delegates' payloads, and what the program takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from ..plugin import entry_points
from ..plugin.target import Target
from ..support import foreign
from ..support.errors import UsageError
from .data_file import read_data_file
from .pte_schema import read_tables
from .target_options import checked_spec


@dataclass(frozen=True)
class Delegate:
    """One delegate of a program.

    Args:
        backend_id: the ExecuTorch delegate that executes it, for example ``"VgfBackend"``.
        payload: what the backend's ``preprocess`` returned, with data in place of the names of named data. It has names
            still where data is in a ``.ptd`` that was not given, or no installed target knows the backend.
        index: its place among all delegates of the program, from 0.
        method: the method that it belongs to, usually ``"forward"``.
        compile_specs: key and value of each compile spec, as stored.
    """

    backend_id: str
    payload: bytes
    index: int
    method: str
    compile_specs: tuple[tuple[str, bytes], ...]

    @property
    def options(self) -> dict[str, Any]:
        """Those of the target that it was compiled with, as its compile specs say; empty if they do not."""
        try:
            options = foreign.parsed(dict(self.compile_specs).get("options", b"{}"))
        except UsageError:
            return {}
        return options if isinstance(options, dict) else {}


@dataclass(frozen=True)
class InputTensor:
    """A tensor that a program takes.

    Args:
        order: its axes as they lie in memory, outermost first: (0, 1, 2, 3) is row-major, (0, 2, 3, 1) channels-last.
        bounded: its sizes may be smaller than what the program says.
        sizes: of its axes, at most.
    """

    order: tuple[int, ...]
    bounded: bool = False
    sizes: tuple[int, ...] = ()

    @property
    def memory(self) -> str:
        """Its order in words; an axis of one element may stand anywhere in it."""
        for words, order in (
            ("row-major", range(len(self.order))),
            ("channels-last", (0, *range(2, len(self.order)), 1)),
        ):
            if self._long(self.order) == self._long(order):
                return words
        return f"with its axes as {', '.join(map(str, self.order))}"

    def _long(self, axes: Iterable[int]) -> list[int]:
        return [axis for axis in axes if not self.sizes or self.sizes[axis] != 1]


@dataclass(frozen=True)
class Pte:
    """A serialized program, and what is read of it.

    Args:
        delegates: every delegate, in order; payloads stored inline or in segments alike.
        inputs: of each method, by name; None where an input is no tensor.
        named: the named data of it and of the ``.ptd`` files that were given.
    """

    data: bytes
    delegates: list[Delegate]
    inputs: dict[str, list[InputTensor | None]]
    named: Mapping[str, bytes] = field(default_factory=dict)


def read(pte: bytes, files: Sequence[bytes] = ()) -> Pte:
    """Reads a serialized program.

    Args:
        files: the contents of the ``.ptd`` files that belong to it.

    Raises:
        UsageError: ``pte`` is not an ExecuTorch program, or was cut short; or one of ``files`` is no ``.ptd``.
    """
    program, named = read_tables(pte)
    plans = [(plan.name, delegate) for plan in program.execution_plan for delegate in plan.delegates]
    delegates = [
        Delegate(
            backend_id=delegate.id,
            payload=bytes(program.backend_delegate_data[delegate.processed.index].data),
            index=index,
            method=method,
            compile_specs=tuple((spec.key, bytes(spec.value)) for spec in delegate.compile_specs),
        )
        for index, (method, delegate) in enumerate(plans)
    ]
    inputs = {plan.name: [_input(plan.values[index].val) for index in plan.inputs] for plan in program.execution_plan}
    for file in files:
        named |= read_data_file(file)
    return Pte(pte, [_whole(delegate, named) for delegate in delegates] if named else delegates, inputs, named)


def _whole(delegate: Delegate, named: Mapping[str, bytes]) -> Delegate:
    for target in entry_points.targets().values():
        if target.compiler.backend_id == delegate.backend_id and target.compiler.without_names is not None:
            with suppress(UsageError):  # whoever takes the payload apart says what is wrong with it
                return replace(delegate, payload=target.compiler.without_names(delegate.payload, named))
    return delegate


def delegates(pte: bytes) -> list[Delegate]:
    """Every delegate of a serialized program, in order.

    Raises:
        UsageError: ``pte`` is not an ExecuTorch program, or was cut short.
    """
    return read(pte).delegates


def target_of(delegate: Delegate) -> Target:
    """The installed target that a delegate was compiled for, with the options of its file, as far as it trusts them.

    Raises:
        UsageError: the compile specs do not say which, or it is not installed.
    """
    known = {
        name: target
        for name, target in entry_points.targets().items()
        if target.compiler.backend_id == delegate.backend_id
    }
    names = [str(delegate.options.get(key)) for key in ("target", "name")]
    # Where executorch.backends.arm writes it.
    names.append(dict(delegate.compile_specs).get("target", b"").decode(errors="replace"))
    chosen = [known[name] for name in names if name in known] or list(known.values())
    if len(chosen) != 1:
        raise UsageError(
            f"delegate {delegate.index} is for {delegate.backend_id}, and its compile specs do not say which target "
            f"of {', '.join(known) or 'none installed'} that is"
        )
    (target,) = chosen
    of_program = target.compiler.of_program
    return target if of_program is None else checked_spec(of_program(delegate.options), target).target()


def _input(value: Any) -> InputTensor | None:
    """What the schema's value of an input says (ExecuTorch's schema/program.fbs); a number has no order."""
    if not hasattr(value, "dim_order"):
        return None
    return InputTensor(tuple(value.dim_order), value.shape_dynamism.name != "STATIC", tuple(value.sizes))
