"""What the user asks a target to do: specification, tool flags, where to leave artifacts."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from enum import Enum
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ..support.errors import UsageError
from ..support.executorch_names import CompileSpecNames
from ..tosa.rewrite import rewrite_named
from ..tosa.specification import TosaSpecification

if TYPE_CHECKING:
    from executorch.exir.backend.compile_spec_schema import CompileSpec

    from ..plugin.target import Target


class _Shipped(bytes):
    """A value as a program's file has it, the same on every machine.

    Args:
        shipped: that value.
        here: the value in this process, with the paths of this machine.
    """

    here: str

    def __new__(cls, shipped: str, here: str) -> Self:
        value = super().__new__(cls, shipped.encode())
        value.here = here
        return value

    def __reduce__(self) -> tuple[type[Self], tuple[str, str]]:
        return type(self), (self.decode(), self.here)


class ArmCompileSpec(CompileSpecNames, ABC):
    """Base of the compile specs; ``to_list`` and ``from_list`` are how it travels through ExecuTorch.

    A subclass says which target it configures (``_target``) and what else it carries (``_options``, a
    mapping of strings that ``_from_options`` turns back into an object).
    """

    class DebugMode(Enum):
        """What ``dump_debug_info`` writes: a JSON file of its own, or the locations inside the TOSA flatbuffer."""

        JSON = 1
        TOSA = 2

    _output_format: ClassVar[str]

    def __init__(self, tosa_spec: TosaSpecification | str, compiler_flags: Iterable[str] = ()) -> None:
        if isinstance(tosa_spec, str):
            tosa_spec = TosaSpecification.create_from_string(tosa_spec)
        self.tosa_spec = tosa_spec
        self.compiler_flags = list(compiler_flags)
        self.rewrites: list[str] = []
        self.path_for_intermediates: str | None = None
        self.tosa_debug_mode: ArmCompileSpec.DebugMode | None = None

    def target(self) -> Target:
        """The target that this spec configures, its ``compile`` bound to these options, with the rewrites added.

        Raises:
            UsageError: one of them cannot be imported any more.
        """
        from ..plugin.entry_points import described
        from ..plugin.guard import guarded

        target = self._target()
        target = guarded(target, described(target.name), checks=False)
        return replace(target, rewrites=(*target.rewrites, *map(rewrite_named, self.rewrites)))

    @abstractmethod
    def _target(self) -> Target:
        """``target`` as it is without rewrites that were added."""

    def _options(self) -> dict[str, Any]:
        """What ``_from_options`` needs besides the specification and the flags; JSON values."""
        return {}

    def _shipped_options(self) -> dict[str, Any]:
        """``_options`` as a program's file has them: names of files, and no paths of this machine."""
        return self._options()

    def _depends_on(self) -> dict[str, Any]:
        """What of this machine a program depends on besides, by name, with the paths of files; it is not shipped."""
        return {}

    def _files(self) -> Iterable[Path]:
        """Files whose contents a program depends on, where the options do not name them as they lie on this machine."""
        return ()

    @classmethod
    def _from_options(cls, tosa_spec: TosaSpecification, flags: list[str], options: Mapping[str, Any]) -> Self:
        spec = cls.__new__(cls)
        ArmCompileSpec.__init__(spec, tosa_spec, flags)
        return spec

    @classmethod
    def get_output_format(cls) -> str:
        """Name of the payload format, for example ``"tosa"``, ``"vela"`` or ``"vgf"``."""
        return cls._output_format

    def with_options(self, **options: Any) -> Self:
        """A copy with other values of the target's options, which leaves no artifacts.

        Raises:
            UsageError: the target does not take them.
        """
        made = self._from_options(self.tosa_spec, list(self.compiler_flags), {**self._options(), **options})
        return made.add_rewrites(*self.rewrites)

    def get_intermediate_path(self) -> str | None:
        """The folder given to ``dump_intermediate_artifacts_to``, or None."""
        return self.path_for_intermediates

    def dump_intermediate_artifacts_to(self, output_path: str | PathLike[str] | None) -> Self:
        """Leaves each delegate's TOSA flatbuffer and the tool's outputs in this folder; None turns it off.

        They take the place of those that an earlier compilation for the same target left there.
        """
        self.path_for_intermediates = None if output_path is None else fspath(output_path)
        return self

    def dump_debug_info(self, debug_mode: DebugMode | None) -> Self:
        """Also writes which TOSA operator comes from which ATen node and source line; needs a folder for artifacts."""
        self.tosa_debug_mode = debug_mode
        return self

    def add_rewrites(self, *names: str) -> Self:
        """Adds rewrites of yours to those of the target, for programs that this spec is used for.

        Args:
            names: ``module:NAME`` of a ``Rewrite`` each; the compile spec travels through ExecuTorch as text. Its stage
                is OPTIMIZE or LEGALIZE.

        Raises:
            UsageError: a module cannot be imported, or has no rewrite of this name.
        """
        for name in names:
            rewrite_named(name)
        self.rewrites.extend(names)
        return self

    def to_list(self) -> list[CompileSpec]:
        """This object as ExecuTorch's key-value list; ``from_list`` is the inverse.

        Raises:
            UsageError: ``dump_debug_info`` without ``dump_intermediate_artifacts_to``.
        """
        from executorch.exir.backend.compile_spec_schema import CompileSpec

        if self.tosa_debug_mode is not None and not self.path_for_intermediates:
            raise UsageError("dump_debug_info() needs a folder: call dump_intermediate_artifacts_to(path) as well")
        values: dict[str, str] = {"tosa_spec": str(self.tosa_spec), "output_format": self._output_format}
        if self.compiler_flags:
            values["compile_flags"] = json.dumps(self.compiler_flags)
        if self.rewrites:
            values["rewrites"] = json.dumps(self.rewrites)
        if options := self._options():
            values["options"] = json.dumps(options, sort_keys=True)
        if self.path_for_intermediates:
            values["debug_artifact_path"] = self.path_for_intermediates
        if self.tosa_debug_mode:
            values["dump_debug_info"] = self.tosa_debug_mode.name
        shipped = dict(values)
        if options:
            shipped["options"] = json.dumps(self._shipped_options(), sort_keys=True)
        if self.path_for_intermediates:
            shipped["debug_artifact_path"] = Path(self.path_for_intermediates).name
        return [CompileSpec(key, _Shipped(shipped[key], value)) for key, value in values.items()]

    def to_dict(self) -> dict[str, Any]:
        """What it asks for, by name, as JSON values: for people."""
        flags = {"flags": self.compiler_flags} if self.compiler_flags else {}
        rewrites = {"rewrites": self.rewrites} if self.rewrites else {}
        return {"tosa_spec": str(self.tosa_spec), **self._options(), **self._depends_on(), **flags, **rewrites}

    @classmethod
    def from_list(cls, compile_specs: Iterable[CompileSpec]) -> Self:
        """The object that ``to_list`` was called on.

        Raises:
            UsageError: a key is missing, unknown or given twice, or the list is of another format.
        """
        values: dict[str, str] = {}
        for item in compile_specs:
            if item.key in values:
                raise UsageError(f"{cls.__name__}: key {item.key!r} is given twice")
            values[item.key] = item.value.here if isinstance(item.value, _Shipped) else bytes(item.value).decode()
        known = {"tosa_spec", "output_format", "compile_flags", "rewrites", "options"}
        known |= {"debug_artifact_path", "dump_debug_info"}
        if unknown := sorted(values.keys() - known):
            raise UsageError(f"{cls.__name__}: unknown key {unknown[0]!r}; known keys: {', '.join(sorted(known))}")
        for key in ("tosa_spec", "output_format"):
            if key not in values:
                raise UsageError(f"{cls.__name__}: key {key!r} is missing")
        if values["output_format"] != cls._output_format:
            raise UsageError(f"{cls.__name__} takes format {cls._output_format!r}, not {values['output_format']!r}")
        spec = cls._from_options(
            TosaSpecification.create_from_string(values["tosa_spec"]),
            json.loads(values.get("compile_flags", "[]")),
            json.loads(values.get("options", "{}")),
        )
        spec.add_rewrites(*json.loads(values.get("rewrites", "[]")))
        spec.dump_intermediate_artifacts_to(values.get("debug_artifact_path"))
        mode = values.get("dump_debug_info")
        return spec.dump_debug_info(ArmCompileSpec.DebugMode[mode] if mode else None)

    def _key(self) -> tuple[Any, ...]:
        return (
            type(self),
            self.tosa_spec,
            self.compiler_flags,
            self.rewrites,
            self._options(),
            self.path_for_intermediates,
            self.tosa_debug_mode,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArmCompileSpec) and self._key() == other._key()

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.tosa_spec}, flags={self.compiler_flags}, {self._options()})"


class TosaCompileSpec(ArmCompileSpec):
    """Compile to a TOSA flatbuffer.

    Args:
        tosa_spec: a specification or a string such as ``"TOSA-1.0+INT"``.
    """

    _output_format = "tosa"

    def __init__(self, tosa_spec: TosaSpecification | str) -> None:
        super().__init__(tosa_spec)

    def _target(self) -> Target:
        from ..plugin.target import Target

        return Target(name="tosa", spec=self.tosa_spec)


def require_option(target: str, key: str, known: Collection[str]) -> None:
    """Refuses an option that a target has not.

    Raises:
        UsageError: lists those that it has.
    """
    if key not in known:
        valid = f"its options are {', '.join(known)}" if known else "it has none"
        raise UsageError(f"target {target!r} has no option {key!r}; {valid}")


class TargetCompileSpec(ArmCompileSpec):
    """Compile for an installed target by its name: what targets without a compile spec of their own use.

    Args:
        name: as listed by ``arm-tosa targets``.
        options: passed to the target's ``compile``, which knows them (``Compiler.options``).

    Raises:
        UsageError: the target is not installed, has no such option, or a value is none that it takes.
    """

    _output_format = "target"

    def __init__(self, name: str, /, **options: str) -> None:
        from ..plugin.entry_points import target

        made = target(name)
        for key, value in options.items():
            require_option(name, key, made.compiler.options)
            if not isinstance(value, str):
                raise UsageError(f"option {key!r} of target {name!r} is a text, not {value!r}")
        if made.compiler.require_options is not None:
            made.compiler.require_options(options)
        self.name = name
        self.options = dict(options)
        super().__init__(made.tosa_spec)

    def _target(self) -> Target:
        from ..plugin.entry_points import target

        made = target(self.name)
        compiler = made.compiler
        if not self.options:
            return made
        if (compile_ := compiler.compile) is not None:
            compiler = replace(compiler, compile=lambda tosa, options: compile_(tosa, {**self.options, **options}))
        if (detail := compiler.compile_in_detail) is not None:
            compiler = replace(
                compiler, compile_in_detail=lambda tosa, options: detail(tosa, {**self.options, **options})
            )
        return replace(made, compiler=compiler)

    def _options(self) -> dict[str, Any]:
        return {"name": self.name, **self.options}

    @classmethod
    def _from_options(cls, tosa_spec: TosaSpecification, flags: list[str], options: Mapping[str, Any]) -> Self:
        name = options["name"]
        return cls(name, **{key: value for key, value in options.items() if key != "name"})
