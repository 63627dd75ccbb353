"""Stand-ins for the classes with which the rival's operator tests run a module: ours compiles it.

A test makes a pipeline, may change its stages by name, and calls ``run``. Stages that say what must be delegated and
how results are compared keep their meaning; those that look into the rival's graphs are not there to be changed.
"""

from __future__ import annotations

import copy
import types
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_leaves

from arm_tosa_core import (
    MXFPOpConfig,
    TosaCompileSpec,
    get_symmetric_a16w8_quantization_config,
    get_symmetric_quantization_config,
    to_mxfp,
)
from arm_tosa_core.exir.compile_spec import ArmCompileSpec
from arm_tosa_core.lowering.exported_program import is_dequantize, is_int64_cast, is_quantize
from arm_tosa_core.quantize.quantizer import TOSAQuantizer
from arm_tosa_core.testing.harness import Execution, export_quantized, exported

#: Stages that a test may take away, or whose arguments it may change, and what then holds.
_DELEGATES, _NOTHING_LEFT, _COMPARISON = "check_count.exir", "check_not.exir", "run_method_and_compare_outputs"
IDLE = "computed from constants"
_CALL = "torch.ops.higher_order.executorch_call_delegate"


class _Tester:
    """What tests reach through ``pipeline.tester``: every attribute is a look into the rival's graphs."""

    def __getattr__(self, name: str) -> Any:
        def look(*_: Any, **__: Any) -> None:
            return None

        look.__name__ = name
        return look


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
        compile_spec: ArmCompileSpec | None = None,
        run_on_tosa_ref_model: bool = True,
        compare_tosa_ref_model_outputs: bool = True,
        **others: Any,
    ) -> None:
        if dynamic_shapes is not None:
            pytest.skip("left out: dynamic shapes")
        self.module, self.inputs = module.eval(), test_data
        named = "+".join([f"TOSA-{tosa_version}", self.profile, *(tosa_extensions or ())])
        self.spec = compile_spec or TosaCompileSpec(named)
        self.compared = run_on_tosa_ref_model and compare_tosa_ref_model_outputs
        self.tolerance = {"atol": atol, "rtol": rtol, "qtol": qtol}
        self.delegates: int | None = 1
        self.nothing_left = True
        self.most_transposes: int | None = None
        self.tester = _Tester()
        self.calibration_samples: Sequence[tuple[Any, ...]] | None = None
        self._stages = [types.SimpleNamespace(args=[self])]  # tests set samples through the stage that quantizes

    def pop_stage(self, stage: str | int) -> None:
        """Takes an expectation away."""
        if stage == _DELEGATES:
            self.delegates = None
        elif stage == _NOTHING_LEFT:
            self.nothing_left = False
        elif stage in (_COMPARISON, -1):
            self.compared = False

    def change_args(self, stage: str, *args: Any, **kwargs: Any) -> None:
        """Changes an expectation."""
        if stage == _DELEGATES:
            self.delegates = args[0].get(_CALL)
            self.nothing_left = self.nothing_left and len(args[0]) == 1
        elif stage.split(".")[0] == _COMPARISON:
            self.tolerance |= {k: v for k, v in kwargs.items() if k in self.tolerance}
            self.inputs = kwargs.get("inputs", self.inputs)
        elif stage == _NOTHING_LEFT:
            self.nothing_left = False

    def has_stage(self, stage: str) -> bool:
        return True

    def find_pos(self, stage: str) -> int:
        return 0

    def add_stage(self, function: Any, *_: Any, inputs: Any = None, **__: Any) -> None:
        """Checks of the rival's graphs are not ours; another comparison takes its inputs."""
        self.inputs = inputs or self.inputs

    def add_stage_after(self, _: str, function: Any, *__: Any, **___: Any) -> None:
        """See ``add_stage``."""
        if getattr(function, "__name__", "").startswith("_"):
            pytest.skip("left out: a function that looks into the rival's graphs")

    def count_tosa_ops(self, counts: dict[str, int], *_: Any, **__: Any) -> None:
        """The rival's exact counts are not ours, but no more TRANSPOSEs than the rival's are expected."""
        self.most_transposes = counts.get("TRANSPOSE")

    def count_program_io_kinds(self, *_: Any, **__: Any) -> None:
        """How the rival does it is not ours."""

    dump_artifact = dump_operator_distribution = visualize = count_program_io_kinds

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
            if not (is_quantize(node) or is_dequantize(node) or is_int64_cast(node) or _is_getitem(node))
        }
        if left and not execution.regions and all(IDLE in why for why in left.values()):
            pytest.skip("left out: computes nothing with its inputs, which stays on the CPU here by design")
        self.assert_delegates(len(execution.regions), left)
        if self.most_transposes is not None:
            count = sum(op.name == "TRANSPOSE" for region in execution.regions for op in region.graph.ops)
            assert count <= self.most_transposes, f"{count} TRANSPOSEs, the rival has {self.most_transposes}"
        if self.compared and execution.regions:
            self._compare(execution)

    def assert_delegates(self, count: int, left: Mapping[str, str]) -> None:
        """As many as the test expects or fewer, but one, and nothing left outside; where it expects none, any."""
        if self.delegates:  # none is the rival's limit
            assert 1 <= count <= self.delegates, f"{count} delegates, expected {self.delegates}; left outside: {left}"
            if self.delegates == 1 and self.nothing_left:
                assert not left, f"left outside: {left}"

    def _compare(self, execution: Execution) -> None:
        atol, rtol, qtol = (self.tolerance[name] for name in ("atol", "rtol", "qtol"))
        inputs = tree_leaves(copy.deepcopy(self.inputs))  # a test may write to them
        for node, (ours, eager) in zip(
            (n for region in execution.regions for n in region.outputs), execution.edges(inputs), strict=True
        ):
            assert ours.shape == eager.shape and ours.dtype == eager.dtype
            if eager.dtype in (torch.int8, torch.int16) and qtol:
                off = (ours.int() - eager.int()).abs().max().item() if ours.numel() else 0
                assert off <= max(qtol, 1), f"{node.name} is {off} quanta off"
            else:
                scale = float(node.args[1]) if is_dequantize(node) and isinstance(node.args[1], float) else 0.0
                if eager.itemsize == 1 and eager.is_floating_point():  # which PyTorch only compares exactly
                    ours, eager = ours.float(), eager.float()
                torch.testing.assert_close(
                    ours, eager, rtol=rtol, atol=atol + qtol * scale, equal_nan=True, check_dtype=True
                )


class TosaPipelineFP(_Pipeline):
    """A float module on a target with the FP profile."""

    profile = "FP"

    def export(self) -> torch.export.ExportedProgram:
        return exported(self.module, copy.deepcopy(self.inputs), self.spec, "fp32")


class MXFPTosaPipelineFP(TosaPipelineFP):
    """A float module whose layers become MXFP; results are compared with those of the float module too."""

    def __init__(
        self,
        module: torch.nn.Module,
        *args: Any,
        filter_fn: Any,
        frobenius_threshold: float | None,
        cosine_threshold: float | None,
        mxfp_config: MXFPOpConfig | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(copy.deepcopy(module), *args, **kwargs)
        self.near_float = (frobenius_threshold, cosine_threshold)
        self.float_results = tree_leaves(module.eval()(*copy.deepcopy(self.inputs)))
        to_mxfp(self.module, mxfp_config or MXFPOpConfig(), filter_fn)

    def _compare(self, execution: Execution) -> None:
        super()._compare(execution)
        made = [ours for ours, _ in execution.edges(tree_leaves(copy.deepcopy(self.inputs)))]
        for expected, ours in zip(self.float_results, made, strict=True):
            _assert_near(expected, ours, None, *self.near_float)


class TosaPipelineINT(_Pipeline):
    """A module on a target with the INT profile, quantized to int8, or to int16 with that extension."""

    profile = "INT"

    def __init__(
        self,
        *args: Any,
        qtol: float = 1,
        per_channel_quantization: bool = True,
        symmetric_io_quantization: bool = False,
        frobenius_threshold: float | None = 0.15,
        cosine_threshold: float | None = 0.9,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, qtol=qtol, **kwargs)
        wide = "int16" in (kwargs.get("tosa_extensions") or ())
        scheme = get_symmetric_a16w8_quantization_config if wide else get_symmetric_quantization_config
        config = scheme(is_per_channel=per_channel_quantization)
        self.quantized = self.spec.tosa_spec.support_integer()
        self.quantizer = TOSAQuantizer(self.spec if self.quantized else TosaCompileSpec("TOSA-1.0+INT")).set_global(
            config
        )
        self.near_float: tuple[float | None, float | None] | None = (frobenius_threshold, cosine_threshold)
        if symmetric_io_quantization:
            self.quantizer.set_io(config)

    def pop_stage(self, stage: str | int) -> None:
        """Takes an expectation away."""
        super().pop_stage(stage)
        if stage == "quantize":
            self.quantized = False
        elif stage == f"{_COMPARISON}.original_model":
            self.near_float = None

    def run_and_compare_to_initial_model(
        self, frobenius_threshold: float | None = None, cosine_threshold: float | None = None, **_: Any
    ) -> None:
        """Changes how near the quantized program must be to the float module."""
        self.near_float = (frobenius_threshold, cosine_threshold)

    def export(self) -> torch.export.ExportedProgram:
        inputs = copy.deepcopy(self.inputs)
        if not self.quantized:
            return exported(self.module, inputs, self.spec, "fp32")
        program = export_quantized(self.module, inputs, self.quantizer, self.calibration_samples)
        if self.near_float:
            expected, made = (m(*copy.deepcopy(self.inputs)) for m in (self.module, program.module()))
            pairs = zip(tree_leaves(expected), tree_leaves(made), output_scales(program), strict=False)
            for float_, integer, scale in pairs:
                _assert_near(float_, integer, scale, *self.near_float)
        return program


def output_scales(program: torch.export.ExportedProgram) -> list[float | None]:
    """The scales of a program's results; None for what is not quantized by one scale."""
    return [_output_scale(node) for node in program.graph.output_node().args[0]]


def _output_scale(node: Any) -> float | None:
    found = is_dequantize(node) and isinstance(node.args[1], float)
    return float(node.args[1]) if found else None


def _assert_near(
    expected: torch.Tensor, made: torch.Tensor, scale: float | None, most: float | None, cosine: float | None
) -> None:
    """Relative Frobenius error and cosine similarity, as the rival's tests bound them.

    Reals below one quantum count as 0; where all is of that size, there is nothing to compare.
    """
    if not isinstance(expected, torch.Tensor) or not expected.is_floating_point():
        return
    expected, made = expected.detach().double(), made.detach().double()  # squares of 1e31 are to fit
    if scale is not None:
        expected = expected.where(expected.abs() >= scale, 0.0)
        expected = expected.nan_to_num(nan=0.0, posinf=float(made.max()), neginf=float(made.min()))
    expected = expected.nan_to_num(nan=0.0)
    if not expected.any():
        return
    error = float(torch.linalg.vector_norm(made - expected) / torch.linalg.vector_norm(expected))
    alike = float(torch.nn.functional.cosine_similarity(made.flatten(), expected.flatten(), dim=0))
    noise = (scale or 0.0) * expected.numel() ** 0.5
    allowance = 0.02 if alike >= max(0.98, cosine or 0.0) else 0.0
    if most is not None and float(torch.linalg.vector_norm(expected)) > max(1e-8, noise):
        assert error - allowance <= most, f"quantized: relative error {error:.3f} from float, cosine {alike:.3f}"
    assert cosine is None or alike >= cosine, f"quantized: cosine {alike:.3f} with float, relative error {error:.3f}"


def _is_getitem(node: Any) -> bool:
    return getattr(node.target, "__name__", "") == "getitem"


def _left_out(reason: str) -> type:
    class Pipeline:
        def __class_getitem__(cls, _: Any) -> type:
            return cls

        def __init__(self, *_: Any, **__: Any) -> None:
            pytest.skip(f"left out: {reason}")

    return Pipeline


OTHERS = {
    "PassPipeline": _left_out("a pass of the rival's own"),
    "TransformAnnotationPassPipeline": _left_out("a pass of the rival's own"),
    "QuantizationPipeline": _left_out("counts the rival's quantize nodes"),
    "OpNotSupportedPipeline": _left_out("asserts what the rival refuses"),
    "BasePipeline": _left_out("the rival's own base class"),
}
