"""A pytest plugin that puts our pipelines, quantizer and configurations where the rival's tests import theirs."""

from __future__ import annotations

import sys
import types

from benchmarks.rival_suite import pipeline

import arm_tosa_core

_RIVAL = "executorch.backends.arm"


def _alias(name: str, **members: object) -> None:
    module = types.ModuleType(f"{_RIVAL}.{name}")
    module.__dict__.update(members)
    sys.modules[module.__name__] = module


_alias(
    "test.tester.test_pipeline",
    TosaPipelineFP=pipeline.TosaPipelineFP,
    TosaPipelineINT=pipeline.TosaPipelineINT,
    **pipeline.OTHERS,
)
import executorch.backends.arm.quantizer as _quantizer  # noqa: E402
import executorch.backends.arm.quantizer.arm_quantizer as _arm_quantizer  # noqa: E402

_NAMES = (
    "QuantizationConfig",
    "TOSAQuantizer",
    "get_symmetric_a16w8_quantization_config",
    "get_symmetric_quantization_config",
)
for _module in (_quantizer, _arm_quantizer):
    for _name in _NAMES:
        setattr(_module, _name, getattr(arm_tosa_core, _name))
