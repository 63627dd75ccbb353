"""``ArmCompileSpecBuilder``, the interface of ExecuTorch 0.4 to 0.7 to the compile specs of today."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING

from arm_tosa_core.exir.compile_spec import ArmCompileSpec, TosaCompileSpec
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.support.install_advice import from_here

from .compile_spec import EthosUCompileSpec
from .vela_ini import DEFAULT_INI

if TYPE_CHECKING:
    from typing import Self

    from arm_tosa_core.tosa.specification import TosaSpecification


class ArmCompileSpecBuilder:
    """Collects the options of a compile spec; ``build`` returns it.

    New code calls ``EthosUCompileSpec`` or ``TosaCompileSpec`` itself.
    """

    DebugMode = ArmCompileSpec.DebugMode

    def __init__(self) -> None:
        self._spec: ArmCompileSpec | None = None
        self._artifacts: str | PathLike[str] | None = None
        self._debug_mode: ArmCompileSpec.DebugMode | None = None

    def ethosu_compile_spec(
        self,
        target: str,
        system_config: str | None = None,
        memory_mode: str | None = None,
        extra_flags: str | Iterable[str] | None = None,
        config_ini: str | PathLike[str] | None = DEFAULT_INI,
    ) -> Self:
        """Compile for an Ethos-U accelerator; arguments and errors are those of ``EthosUCompileSpec``."""
        return self._choose(EthosUCompileSpec(target, system_config, memory_mode, extra_flags, config_ini))

    def tosa_compile_spec(self, tosa_spec: TosaSpecification | str) -> Self:
        """Compile to a TOSA flatbuffer; ``tosa_spec`` is that of ``TosaCompileSpec``."""
        return self._choose(TosaCompileSpec(tosa_spec))

    def vgf_compile_spec(self, *arguments: object, **options: object) -> Self:
        """Refused: VGF has a package of its own.

        Raises:
            UsageError: always; says what to write instead.
        """
        raise UsageError(f"for VGF use arm_vgf.VgfCompileSpec(tosa_spec, compiler_flags) ({from_here('arm-vgf')})")

    def dump_intermediate_artifacts_to(self, output_path: str | PathLike[str]) -> Self:
        """Leaves each delegate's TOSA flatbuffer and the tool's outputs in this folder."""
        self._artifacts = output_path
        return self

    def dump_debug_info(self, debug_mode: ArmCompileSpec.DebugMode) -> Self:
        """Also writes which TOSA operator comes from which ATen node."""
        self._debug_mode = debug_mode
        return self

    def set_permute_memory_format(self, set_nhwc_permutation: bool = True) -> Self:
        """No effect: layouts are chosen by the compiler, and a program keeps the layout of its inputs."""
        return self._ignored("set_permute_memory_format", "the compiler chooses layouts by itself")

    def set_quantize_io(self, quantize_io: bool = False) -> Self:
        """No effect: the program's inputs and outputs have the types that the model was exported with."""
        return self._ignored("set_quantize_io", "use QuantizeInputs and QuantizeOutputs of executorch.exir.passes")

    def set_input_order(self, input_order: str | None = None) -> Self:
        """No effect: inputs are matched with Vela's by the compiler."""
        return self._ignored("set_input_order", "inputs keep the order of the exported program")

    def build(self) -> ArmCompileSpec:
        """The compile spec, as the partitioners and quantizers take it.

        Raises:
            UsageError: no target was chosen.
        """
        if self._spec is None:
            raise UsageError("choose a target first: ethosu_compile_spec(...) or tosa_compile_spec(...)")
        return self._spec.dump_intermediate_artifacts_to(self._artifacts).dump_debug_info(self._debug_mode)

    def _choose(self, spec: ArmCompileSpec) -> Self:
        if self._spec is not None:
            raise UsageError(f"a target was chosen already: {self._spec!r}")
        self._spec = spec
        return self

    def _ignored(self, method: str, instead: str) -> Self:
        warnings.warn(f"ArmCompileSpecBuilder.{method} has no effect any more: {instead}", stacklevel=3)
        return self
