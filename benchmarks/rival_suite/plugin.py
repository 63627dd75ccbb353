"""A pytest plugin that puts our pipelines, quantizer and configurations where the rival's tests import theirs."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

import arm_tosa_core
from benchmarks.rival_suite import device_pipelines, pipeline

_RIVAL = "executorch.backends.arm"


def _alias(name: str, **members: object) -> None:
    module = types.ModuleType(f"{_RIVAL}.{name}")
    module.__dict__.update(members)
    sys.modules[module.__name__] = module


def _a8w4(is_per_channel: bool = True, **_: object) -> arm_tosa_core.QuantizationConfig:
    return arm_tosa_core.get_symmetric_quantization_config(is_per_channel, weight_qmin=-7, weight_qmax=7)


def _a16w8(is_per_channel: bool = True, **_: object) -> arm_tosa_core.QuantizationConfig:
    return arm_tosa_core.get_symmetric_a16w8_quantization_config(is_per_channel)


def _quantizer(spec: object) -> arm_tosa_core.TOSAQuantizer:
    """Ours; of their specification too."""
    ours = isinstance(spec, (arm_tosa_core.TosaCompileSpec, arm_tosa_core.TosaSpecification))
    return arm_tosa_core.TOSAQuantizer(spec if ours else arm_tosa_core.TosaSpecification.create_from_string(str(spec)))


def _private(*_: object, **__: object) -> None:
    pytest.skip("left out: a private class of the rival's")


def _as_it_is(test: Callable[..., None] | None = None) -> Any:
    """In place of marks of what fails without Arm's simulators: we have a model of our own."""
    return test or _as_it_is


_alias(
    "test.tester.test_pipeline",
    TosaPipelineFP=pipeline.TosaPipelineFP,
    TosaPipelineINT=pipeline.TosaPipelineINT,
    **device_pipelines.PIPELINES,
    **pipeline.OTHERS,
)
_alias(
    "test.ops.mxfp.common",
    MXFPTosaPipelineFP=pipeline.MXFPTosaPipelineFP,
    MXFPVgfPipeline=device_pipelines.MXFPVgfPipeline,
)
import executorch.backends.arm.ao_ext as ao_ext  # noqa: E402

ao_ext.MXFPOpConfig, ao_ext.to_mxfp = arm_tosa_core.MXFPOpConfig, arm_tosa_core.to_mxfp
import executorch.backends.arm.quantizer as quantizer  # noqa: E402
import executorch.backends.arm.test.common as common  # noqa: E402

for needs in ("XfailIfNoCorstone300", "XfailIfNoCorstone300_u65", "XfailIfNoCorstone320"):
    setattr(common, needs, _as_it_is)
import executorch.backends.arm.quantizer.arm_quantizer as arm_quantizer  # noqa: E402
import executorch.backends.arm.quantizer.quantization_config as quantization_config  # noqa: E402

quantization_config.TOSAQuantizationConfig = _private
for module in (quantizer, arm_quantizer, quantization_config):
    module.QuantizationConfig = arm_tosa_core.QuantizationConfig
for module in (quantizer, arm_quantizer):
    module.TOSAQuantizer = _quantizer
    module.get_symmetric_quantization_config = arm_tosa_core.get_symmetric_quantization_config
    module.get_symmetric_a8w4_quantization_config = _a8w4
    module.get_symmetric_a16w8_quantization_config = _a16w8
    module._TOSAQuantizerV2 = _private
