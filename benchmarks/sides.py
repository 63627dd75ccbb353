"""The two implementations that are compared, behind one small interface.

A process imports one of them only: each has a class called ``EthosUBackend``, and ExecuTorch finds backends by
class name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import torch

ETHOS_U = {"ethos-u55-128", "ethos-u85-256"}
_CALIBRATION_SEEDS = range(4)


class Side(ABC):
    """What differs between the two: class names, and how the exported program becomes a module."""

    @abstractmethod
    def compile_spec(self, target: str) -> Any: ...

    @abstractmethod
    def quantizer(self, target: str, spec: Any, scheme: str = "int8") -> Any:
        """A PT2E quantizer, weights in int8 per channel, activations in int8, or in int16 with the scheme ``a16w8``."""

    @abstractmethod
    def partitioner(self, target: str, spec: Any) -> Any: ...

    @abstractmethod
    def backend(self, target: str) -> type:
        """The ExecuTorch backend whose ``preprocess`` compiles a delegate."""

    def module(self, program: torch.export.ExportedProgram) -> torch.nn.Module:
        """What ``prepare_pt2e`` takes."""
        return program.module()

    def quantize(
        self,
        program: torch.export.ExportedProgram,
        quantizer: Any,
        samples: Sequence[tuple[Any, ...]],
        states: Mapping[str, int] | None = None,
    ) -> Any:
        """The quantized model, calibrated with samples: as well as this implementation does by default.

        Args:
            states: inputs that are outputs of the call before, with their indices; samples then are a sequence, and
                have the states with which the float model is rolled along it.
        """
        from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

        prepared = prepare_pt2e(self.module(program), quantizer)
        with torch.no_grad():
            for sample in samples:
                prepared(*sample)
        return convert_pt2e(prepared)

    def stopwatch_exclusions(self) -> list[tuple[Any, str]]:
        """Functions (owner, name) that run other people's compilers in this process; their time is not counted."""
        return []


class Ours(Side):
    def compile_spec(self, target: str) -> Any:
        if target in ETHOS_U:
            from arm_ethosu import EthosUCompileSpec

            return EthosUCompileSpec(target)
        if target == "vgf-fp":
            from arm_vgf import VgfCompileSpec

            return VgfCompileSpec("TOSA-1.0+FP")
        from arm_tosa_core import TosaCompileSpec

        return TosaCompileSpec("TOSA-1.0+INT")

    def quantizer(self, target: str, spec: Any, scheme: str = "int8") -> Any:
        import arm_tosa_core

        if target in ETHOS_U:
            from arm_ethosu import EthosUQuantizer as Quantizer
        else:
            Quantizer = arm_tosa_core.TOSAQuantizer
        return Quantizer(spec).set_global(_configuration(arm_tosa_core, scheme))

    def partitioner(self, target: str, spec: Any) -> Any:
        if target in ETHOS_U:
            from arm_ethosu import EthosUPartitioner as Partitioner
        elif target == "vgf-fp":
            from arm_vgf import VgfPartitioner as Partitioner
        else:
            from arm_tosa_core import TOSAPartitioner as Partitioner
        return Partitioner(spec)

    def backend(self, target: str) -> type:
        if target in ETHOS_U:
            from arm_ethosu import EthosUBackend as Backend
        elif target == "vgf-fp":
            from arm_vgf import VgfBackend as Backend
        else:
            from arm_tosa_core import TOSABackend as Backend
        return Backend

    def quantize(
        self,
        program: torch.export.ExportedProgram,
        quantizer: Any,
        samples: Sequence[tuple[Any, ...]],
        states: Mapping[str, int] | None = None,
    ) -> Any:
        from arm_tosa_core import quantize_program

        return quantize_program(program, quantizer, [(sample, {}) for sample in samples], states=states).converted


class Rival(Side):
    """``executorch.backends.arm`` of the installed executorch."""

    def compile_spec(self, target: str) -> Any:
        if target in ETHOS_U:
            from executorch.backends.arm.ethosu import EthosUCompileSpec

            return EthosUCompileSpec(target)
        if target == "vgf-fp":
            from executorch.backends.arm.vgf import VgfCompileSpec

            return VgfCompileSpec("TOSA-1.0+FP")
        from executorch.backends.arm.tosa.compile_spec import TosaCompileSpec

        return TosaCompileSpec("TOSA-1.0+INT")

    def quantizer(self, target: str, spec: Any, scheme: str = "int8") -> Any:
        from executorch.backends.arm import quantizer as theirs

        quantizer = (theirs.EthosUQuantizer if target in ETHOS_U else theirs.TOSAQuantizer)(spec)
        quantizer.set_global(_configuration(theirs, scheme))
        return quantizer

    def partitioner(self, target: str, spec: Any) -> Any:
        if target in ETHOS_U:
            from executorch.backends.arm.ethosu import EthosUPartitioner as Partitioner
        elif target == "vgf-fp":
            from executorch.backends.arm.vgf import VgfPartitioner as Partitioner
        else:
            from executorch.backends.arm.tosa.partitioner import TOSAPartitioner as Partitioner
        return Partitioner(spec)

    def backend(self, target: str) -> type:
        if target in ETHOS_U:
            from executorch.backends.arm.ethosu import EthosUBackend as Backend
        elif target == "vgf-fp":
            from executorch.backends.arm.vgf import VgfBackend as Backend
        else:
            from executorch.backends.arm.tosa.backend import TOSABackend as Backend
        return Backend

    def module(self, program: torch.export.ExportedProgram) -> torch.nn.Module:
        return program.module(check_guards=False)  # its quantizer does not take the guards node

    def stopwatch_exclusions(self) -> list[tuple[Any, str]]:
        from executorch.backends.arm.ethosu import backend

        return [(backend, "vela_compile")]


def _configuration(package: Any, scheme: str) -> Any:
    make = {
        "int8": package.get_symmetric_quantization_config,
        "a16w8": package.get_symmetric_a16w8_quantization_config,
    }[scheme]
    return make(is_per_channel=True)


SIDES = {"ours": Ours, "rival": Rival}


def quantize(side: Side, program: torch.export.ExportedProgram, quantizer: Any, inputs: Any) -> torch.nn.Module:
    """The module, quantized by a side's quantizer with four inputs as calibration data."""
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    prepared = prepare_pt2e(side.module(program), quantizer)
    with torch.no_grad():
        for seed in _CALIBRATION_SEEDS:
            prepared(*inputs(seed))
    return convert_pt2e(prepared)
