"""The user's options of VGF: a TOSA specification and flags for the model converter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from arm_tosa_core.exir.compile_spec import ArmCompileSpec
from arm_tosa_core.support.atomic_files import write_atomic
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.tosa.specification import TosaSpecification

from .environment import VgfEnvironmentReport, look
from .model_converter import convert, parse_flags
from .nx_cycles import NxCycles
from .nx_estimator import NxEstimator, estimate_or_warning, find_program, require_system
from .shader_segments import convert_shaders
from .vgf_target import vgf_target
from .vgf_versions import as_version, require_version

if TYPE_CHECKING:
    from arm_tosa_core.plugin.target import Target

DEFAULT_SPEC = "TOSA-1.0+FP+INT+int4+int16"


class VgfCompileSpec(ArmCompileSpec):
    """Compile to VGF.

    Args:
        tosa_spec: a specification or a string; the default takes floating-point and integer graphs.
        compiler_flags: flags of ``model-converter``, as a list or as one string.
        system: of the neural accelerator whose cycles Arm's estimator tells, where it is installed: the name of a
            description that comes with it, such as ``"peak-12SC-8NX-600MHz"``, or an ``.ini`` file; None: its own.
        samplers: ``grid_sample`` becomes a compute shader that uses the device's sampler, where that does the same:
            bilinear, of one image of at most four channels, and for reflection without ``align_corners``. Samplers
            know positions to about 1/256 of a pixel.
        vgf_version: of the format: ``"0.4"``, which tools with a VGF library up to 0.9 read, or ``"0.5"``; None: what
            the model converter writes.

    Raises:
        UsageError: a malformed specification, a flag that the backend sets itself, a version that is none, or a system
            that is not there.
    """

    _output_format = "vgf"

    def __init__(
        self,
        tosa_spec: TosaSpecification | str | None = None,
        compiler_flags: Iterable[str] | str | None = None,
        *,
        system: str | None = None,
        samplers: bool = False,
        vgf_version: str | None = None,
    ) -> None:
        super().__init__(DEFAULT_SPEC if tosa_spec is None else tosa_spec, parse_flags(compiler_flags))
        if system is not None:
            require_system(system)
        self.system = system
        self.samplers = samplers
        if vgf_version is not None:
            require_version(vgf_version)
        self.vgf_version = vgf_version

    def validate_environment(
        self, build_dir: str | PathLike[str] | None = None, *, require_runtime_build: bool = False
    ) -> VgfEnvironmentReport:
        """Checks this machine for compiling for VGF.

        Args:
            build_dir: must be None: no build of ExecuTorch's sources is needed.
            require_runtime_build: also checks it for running: Vulkan and the runtime.

        Returns:
            The report, with all checks passed. ``arm-tosa doctor`` prints the same lines.

        Raises:
            ToolError: a tool or library is missing or broken; names the remedy.
            UsageError: ``build_dir`` is given.
        """
        if build_dir is not None:
            raise UsageError(
                f"build_dir={fspath(build_dir)!r}: the runtime is the package arm-runtime-cpp here, not a build of "
                "ExecuTorch; validate_environment(require_runtime_build=True) looks at it"
            )
        report = look(run=require_runtime_build)
        report.raise_for_errors()
        return report

    def _target(self) -> Target:
        """VGF with this specification; ``compile`` runs the model converter with these flags."""
        return vgf_target(
            self.tosa_spec,
            self.compiler_flags,
            self._compile,
            VgfCompileSpec,
            partial(estimate_or_warning, system=self.system),
            NxCycles(self.system, tuple(self.compiler_flags)),
            samplers=self.samplers,
        )

    def _options(self) -> dict[str, Any]:
        return {**({} if self.system is None else {"system": self.system}), **self._choices()}

    def _depends_on(self) -> dict[str, Any]:
        """The estimator and its settings: figures of it are kept with a program, and it may choose rewrites."""
        if (program := find_program()) is None:
            return {}
        files: dict[str, Path | None] = {"estimator": program}
        with suppress(UsageError):  # a system of another machine
            used = NxEstimator.of(program, self.system)
            files |= {"system_file": used.system, "scheduler_file": used.scheduler}
        return {name: str(file) for name, file in files.items() if file is not None}

    def _shipped_options(self) -> dict[str, Any]:
        return {**({} if self.system is None else {"system": Path(self.system).name}), **self._choices()}

    def _choices(self) -> dict[str, Any]:
        version = {} if self.vgf_version is None else {"vgf_version": self.vgf_version}
        return {**({"samplers": True} if self.samplers else {}), **version}

    @classmethod
    def _from_options(cls, tosa_spec: TosaSpecification, flags: list[str], options: Mapping[str, Any]) -> Self:
        """The estimator is looked for anew: a file must not say which program runs."""
        spec = super()._from_options(tosa_spec, flags, options)
        spec.system = options.get("system")
        spec.samplers = bool(options.get("samplers"))
        spec.vgf_version = options.get("vgf_version")
        if spec.vgf_version is not None:
            require_version(spec.vgf_version)
        return spec

    def _compile(self, tosa: bytes, options: Mapping[str, str]) -> bytes:
        """The VGF of a flatbuffer; also left in the folder that the option ``artifacts`` names."""
        vgf = convert_shaders(tosa, self.tosa_spec, partial(convert, flags=self.compiler_flags))
        if self.vgf_version is not None:
            vgf = as_version(vgf, self.vgf_version)
        if "artifacts" in options:
            write_atomic(Path(options["artifacts"]) / "vgf.vgf", vgf)
        return vgf
