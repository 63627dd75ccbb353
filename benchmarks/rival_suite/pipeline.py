"""Stand-ins for the classes with which the rival's operator tests run a module: ours compiles it.

A test makes a pipeline, may change its stages by name, and calls ``run``. Stages that say what must be delegated and
how results are compared keep their meaning; those that look into the rival's graphs are not there to be changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from arm_tosa_core import TosaCompileSpec, get_symmetric_quantization_config
from arm_tosa_core.program import is_dequantize, is_quantize
from arm_tosa_core.quantizer import TOSAQuantizer
from arm_tosa_core.testing.harness import Execution, export_quantized, exported

#: Stages that a test may take away, or whose arguments it may change, and what then holds.
_DELEGATES, _NOTHING_LEFT, _COMPARISON = "check_count.exir", "check_not.exir", "run_method_and_compare_outputs"
_CALL = "torch.ops.higher_order.executorch_call_delegate"


class _Pipeline:
    """A module on its way to TOSA, and what its test expects."""

    profile: str

    def __class_getitem__(cls, _: Any) -> type:  # the tests write Pipeline[InputTypes](...)
        return cls

    def __init__(
        self,
        module: torch.nn.Module,
        test_data: tuple[Any, ...],
        aten_op: Any = None,
        exir_op: Any = None,
        *_: Any,
        atol: float = 1e-3,
        rtol: float = 1e-3,
        qtol: float = 0,
        dynamic_shapes: Any = None,
        tosa_version: str = "1.0",
        tosa_extensions: Sequence[str] | None = None,
        run_on_tosa_ref_model: bool = True,
        **others: Any,
    ) -> None:
        if dynamic_shapes is not None:
            pytest.skip("left out: dynamic shapes")
        if others.get("transform_passes"):
            pytest.skip("left out: passes of the rival's own")
        self.module, self.inputs = module.eval(), test_data
        self.spec = TosaCompileSpec("+".join([f"TOSA-{tosa_version}", self.profile, *(tosa_extensions or ())]))
        self.compared = run_on_tosa_ref_model
        self.tolerance = {"atol": atol, "rtol": rtol, "qtol": qtol}
        self.delegates: int | None = 1
        self.nothing_left = True

    def pop_stage(self, stage: str | int) -> None:
        """Takes an expectation away."""
        if stage == _DELEGATES:
            self.delegates = None
        elif stage == _NOTHING_LEFT:
            self.nothing_left = False
        elif str(stage).split(".")[0] == _COMPARISON:
            self.compared = False
        elif stage == "quantize":
            pytest.skip("left out: an integer profile without quantization")

    def change_args(self, stage: str, *args: Any, **kwargs: Any) -> None:
        """Changes an expectation."""
        if stage == _DELEGATES:
            self.delegates = args[0].get(_CALL)
        elif stage.split(".")[0] == _COMPARISON:
            self.tolerance |= {k: v for k, v in kwargs.items() if k in self.tolerance}
            self.inputs = kwargs.get("inputs", self.inputs)
        elif stage == _NOTHING_LEFT:
            self.nothing_left = False

    def has_stage(self, stage: str) -> bool:
        return True

    def find_pos(self, stage: str) -> int:
        return 0

    def add_stage(self, *_: Any, **__: Any) -> None:
        pytest.skip("left out: looks into the rival's graphs")

    add_stage_after = dump_artifact = dump_operator_distribution = visualize = add_stage

    def count_tosa_ops(self, _: Any) -> None:
        """The rival's exact counts are not ours."""

    count_program_io_kinds = add_stage

    def export(self) -> torch.export.ExportedProgram:
        raise NotImplementedError

    def run(self) -> None:
        """Lowers the module and compares results with eager PyTorch on the same, quantized, program."""
        program = self.export()
        execution = Execution(program, self.spec.target())
        analysis = execution.analysis
        left = {
            node.name: str(analysis.rejected.get(node))
            for node in execution.program.graph.nodes
            if node.op == "call_function" and node not in analysis.accepted and node.meta.get("val") is not None
            if not (is_quantize(node) or is_dequantize(node) or getattr(node.target, "__name__", "") == "getitem")
        }
        if self.delegates is not None:
            assert len(execution.regions) == self.delegates, f"{len(execution.regions)} delegates; left outside: {left}"
            if self.delegates == 1 and self.nothing_left:
                assert not left, f"left outside: {left}"
        if self.compared and execution.regions:
            self._compare(execution)

    def _compare(self, execution: Execution) -> None:
        atol, rtol, qtol = (self.tolerance[name] for name in ("atol", "rtol", "qtol"))
        for node, (ours, eager) in zip(
            (n for region in execution.regions for n in region.outputs), execution.edges(self.inputs), strict=True
        ):
            assert ours.shape == eager.shape and ours.dtype == eager.dtype
            if eager.dtype in (torch.int8, torch.int16) and qtol:
                off = (ours.int() - eager.int()).abs().max().item() if ours.numel() else 0
                assert off <= max(qtol, 1), f"{node.name} is {off} quanta off"
            else:
                scale = float(node.args[1]) if is_dequantize(node) and isinstance(node.args[1], float) else 0.0
                torch.testing.assert_close(
                    ours, eager, rtol=rtol, atol=atol + qtol * scale, equal_nan=True, check_dtype=True
                )


class TosaPipelineFP(_Pipeline):
    """A float module on a target with the FP profile."""

    profile = "FP"

    def export(self) -> torch.export.ExportedProgram:
        return exported(self.module, self.inputs, self.spec, "fp32")


class TosaPipelineINT(_Pipeline):
    """A module, quantized to int8 unless the test says otherwise, on a target with the INT profile."""

    profile = "INT"

    def __init__(self, *args: Any, qtol: float = 1, **kwargs: Any) -> None:
        super().__init__(*args, qtol=qtol, **kwargs)
        if kwargs.get("symmetric_io_quantization"):
            pytest.skip("left out: symmetric quantization of inputs and outputs only")
        config = get_symmetric_quantization_config(is_per_channel=kwargs.get("per_channel_quantization", True))
        self.quantizer = TOSAQuantizer(self.spec).set_global(config)

    def export(self) -> torch.export.ExportedProgram:
        return export_quantized(self.module, self.inputs, self.quantizer)


def _left_out(reason: str) -> type:
    class Pipeline:
        def __class_getitem__(cls, _: Any) -> type:
            return cls

        def __init__(self, *_: Any, **__: Any) -> None:
            pytest.skip(f"left out: {reason}")

    return Pipeline


OTHERS = {
    "EthosU55PipelineINT": _left_out("Ethos-U55"),
    "EthosU65PipelineINT": _left_out("Ethos-U65"),
    "EthosU85PipelineINT": _left_out("Ethos-U85"),
    "VgfPipeline": _left_out("VGF"),
    "PassPipeline": _left_out("a pass of the rival's own"),
    "TransformAnnotationPassPipeline": _left_out("a pass of the rival's own"),
    "QuantizationPipeline": _left_out("counts the rival's quantize nodes"),
    "OpNotSupportedPipeline": _left_out("asserts what the rival refuses"),
    "BasePipeline": _left_out("the rival's own base class"),
}
