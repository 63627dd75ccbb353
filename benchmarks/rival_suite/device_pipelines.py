"""Stand-ins for the pipelines of devices: module to ``.pte``, which ExecuTorch's runtime runs with our delegates."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_leaves

from arm_ethosu import EthosUCompileSpec
from arm_tosa_core import get_symmetric_a16w8_quantization_config, lower
from arm_tosa_core.exir.compile_spec import ArmCompileSpec
from arm_vgf import VgfCompileSpec
from benchmarks.rival_suite.pipeline import IDLE, TosaPipelineINT, output_scales


class DevicePipeline(TosaPipelineINT):
    """A module on its way to a device: as for TOSA, but what is compared is what the runtime gives."""

    def __init__(self, spec: ArmCompileSpec, *args: Any, wide: bool, run: bool, **kwargs: Any) -> None:
        # The rival compares programs of devices only with the quantized program, not with the float module.
        kwargs |= {"frobenius_threshold": None, "cosine_threshold": None}
        super().__init__(*args, compile_spec=spec, **kwargs)
        if wide:
            self.quantizer.set_global(get_symmetric_a16w8_quantization_config())
        self.near_float = None
        self.compared = run

    def run(self) -> None:
        """Compiles the module, runs the ``.pte`` and compares its results with PyTorch on the same program."""
        program = self.export()
        expected = tree_leaves(program.module()(*copy.deepcopy(self.inputs)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = lower(program, self.spec, memory_format=torch.preserve_format)
        left = {row.node: row.reason for row in made.report.rejected}
        if left and not made.report.delegates and all(IDLE in why for why in left.values()):
            pytest.skip("left out: computes nothing with its inputs, which stays on the CPU here by design")
        self.assert_delegates(made.report.delegates, left)
        if self.compared and made.report.delegates:
            self._assert_close(_run(made.buffer, tree_leaves(copy.deepcopy(self.inputs))), expected, program)

    def _assert_close(
        self, made: Sequence[Any], expected: Sequence[Any], program: torch.export.ExportedProgram
    ) -> None:
        atol, rtol, qtol = (self.tolerance[name] for name in ("atol", "rtol", "qtol"))
        scales = output_scales(program)
        made = made[len(made) - len(expected) :]  # ExecuTorch gives inputs that were written to first
        for ours, eager, scale in zip(made, expected, scales, strict=True):
            if not isinstance(eager, torch.Tensor):
                assert ours == eager
                continue
            assert ours.shape == eager.shape and ours.dtype == eager.dtype
            allowed = atol + qtol * (scale or 0.0)
            torch.testing.assert_close(ours, eager, rtol=rtol, atol=allowed, equal_nan=True)


def _run(pte: bytes, inputs: Sequence[Any]) -> Sequence[Any]:
    from executorch.runtime import Runtime, Verification

    import arm_runtime  # noqa: F401  registers the delegates

    program = Runtime.get().load_program(pte, verification=Verification.Minimal)
    method = program.load_method("forward")
    assert method is not None
    outputs: Sequence[Any] = method.execute(inputs)
    return outputs


def ethos_u(target: str) -> type:
    """The pipeline for an accelerator."""

    class Pipeline(DevicePipeline):
        def __init__(
            self,
            module: torch.nn.Module,
            test_data: tuple[Any, ...],
            *args: Any,
            run_on_fvp: bool = True,
            a16w8_quantization: bool = False,
            **kwargs: Any,
        ) -> None:
            spec = EthosUCompileSpec(target)
            super().__init__(spec, module, test_data, *args, wide=a16w8_quantization, run=run_on_fvp, **kwargs)

        def dump_operator_distribution(self, *_: Any, **__: Any) -> None:
            pytest.skip("left out: what the rival's tester prints")

    return Pipeline


class VgfPipeline(DevicePipeline):
    """The pipeline for VGF, of integers or of floating point."""

    def __init__(
        self,
        module: torch.nn.Module,
        test_data: tuple[Any, ...],
        *args: Any,
        run_on_vulkan_runtime: bool = True,
        vgf_compiler_flags: str | None = "",
        quantize: bool = True,
        tosa_version: str | None = None,
        tosa_extensions: Sequence[str] | None = None,
        tosa_spec: Any = None,
        n_expected_delegates: int = 1,
        **kwargs: Any,
    ) -> None:
        named = str(tosa_spec or tosa_version or VgfCompileSpec().tosa_spec)
        if tosa_spec is None:
            added = ["bf16"] if tosa_extensions is None and "FP" in named else list(tosa_extensions or ())
            named = "+".join([named, *added])
        spec = VgfCompileSpec(named, vgf_compiler_flags)
        super().__init__(spec, module, test_data, *args, wide=False, run=run_on_vulkan_runtime, **kwargs)
        self.quantized &= quantize
        self.delegates = n_expected_delegates


class MXFPVgfPipeline:
    """MXFP for VGF, which the rival's tests expect to fail: the model converter refuses the operators."""

    def __class_getitem__(cls, _: Any) -> type:
        return cls

    def __init__(self, *_: Any, **__: Any) -> None:
        pytest.skip("left out: MXFP, which the model converter does not take")


PIPELINES = {
    "EthosU55PipelineINT": ethos_u("ethos-u55-128"),
    "EthosU65PipelineINT": ethos_u("ethos-u65-256"),
    "EthosU85PipelineINT": ethos_u("ethos-u85-128"),
    "VgfPipeline": VgfPipeline,
}
