"""PyTorch models to TOSA: rules, quantizer, partitioner, serializer, and the door for targets.

Names are imported when they are used: ``import arm_tosa_core`` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .support.lazy_names import lazy_names

if TYPE_CHECKING:
    from .accuracy.keep import Kept as Kept
    from .accuracy.keep import Minutes as Minutes
    from .accuracy.keep import quantize_by_recipe as quantize_by_recipe
    from .accuracy.keep import quantize_to_keep as quantize_to_keep
    from .accuracy.recipe import Recipe as Recipe
    from .accuracy.recipe import read_recipe as read_recipe
    from .advice.advise import Advice as Advice
    from .advice.advise import Advised as Advised
    from .advice.advise import advise as advise
    from .exir.backend import TOSABackend as TOSABackend
    from .exir.compile_spec import ArmCompileSpec as ArmCompileSpec
    from .exir.compile_spec import TosaCompileSpec as TosaCompileSpec
    from .exir.partitioner import TOSAPartitioner as TOSAPartitioner
    from .flow import ExecuTorchOptions as ExecuTorchOptions
    from .flow import LoweredProgram as LoweredProgram
    from .flow import lower as lower
    from .flow.recipe import export_recipe as export_recipe
    from .frontends import load_model as load_model
    from .llm import LanguageProgram as LanguageProgram
    from .llm import TextAccuracy as TextAccuracy
    from .llm import TextGenerator as TextGenerator
    from .llm import compile_llm as compile_llm
    from .llm import evaluate_llm as evaluate_llm
    from .lowering.rule import Q as Q
    from .lowering.rule import op as op
    from .plugin.entry_points import PluginWarning as PluginWarning
    from .plugin.target import Target as Target
    from .quantize.corrections.catalogue import Corrections as Corrections
    from .quantize.decision_costs import DecisionCost as DecisionCost
    from .quantize.decision_costs import decision_costs as decision_costs
    from .quantize.post_training import quantize_program as quantize_program
    from .quantize.quantizer import TOSAQuantizer as TOSAQuantizer
    from .quantize.schemes.config import QuantizationConfig as QuantizationConfig
    from .quantize.schemes.config import (
        get_symmetric_a8w4_quantization_config as get_symmetric_a8w4_quantization_config,
    )
    from .quantize.schemes.config import (
        get_symmetric_a16w8_quantization_config as get_symmetric_a16w8_quantization_config,
    )
    from .quantize.schemes.config import get_symmetric_quantization_config as get_symmetric_quantization_config
    from .quantize.schemes.config import get_uint8_io_quantization_config as get_uint8_io_quantization_config
    from .quantize.schemes.mxfp import MXFPOpConfig as MXFPOpConfig
    from .quantize.schemes.mxfp import to_mxfp as to_mxfp
    from .support.errors import AllZerosWarning as AllZerosWarning
    from .support.errors import ArmTosaError as ArmTosaError
    from .support.errors import BatchNormWarning as BatchNormWarning
    from .support.errors import CoarseFunctionWarning as CoarseFunctionWarning
    from .support.errors import LongTailWarning as LongTailWarning
    from .support.errors import LostResultWarning as LostResultWarning
    from .support.errors import LoweringError as LoweringError
    from .support.errors import MiscompiledError as MiscompiledError
    from .support.errors import MissingKernelWarning as MissingKernelWarning
    from .support.errors import NothingDelegatedWarning as NothingDelegatedWarning
    from .support.errors import Rejected as Rejected
    from .support.errors import ToolError as ToolError
    from .support.errors import UsageError as UsageError
    from .support.errors import WrittenInputWarning as WrittenInputWarning
    from .tosa.rewrite import Rewrite as Rewrite
    from .tosa.rewrite import Stage as Stage
    from .tosa.specification import TosaSpecification as TosaSpecification

_HOME = {
    "Advice": "advice.advise",
    "Advised": "advice.advise",
    "ArmCompileSpec": "exir.compile_spec",
    "ArmTosaError": "support.errors",
    "Corrections": "quantize.corrections.catalogue",
    "DecisionCost": "quantize.decision_costs",
    "ExecuTorchOptions": "flow",
    "Kept": "accuracy.keep",
    "LanguageProgram": "llm",
    "AllZerosWarning": "support.errors",
    "BatchNormWarning": "support.errors",
    "CoarseFunctionWarning": "support.errors",
    "LongTailWarning": "support.errors",
    "LostResultWarning": "support.errors",
    "LoweredProgram": "flow",
    "LoweringError": "support.errors",
    "MiscompiledError": "support.errors",
    "MXFPOpConfig": "quantize.schemes.mxfp",
    "Minutes": "accuracy.keep",
    "MissingKernelWarning": "support.errors",
    "NothingDelegatedWarning": "support.errors",
    "PluginWarning": "plugin.entry_points",
    "Q": "lowering.rule",
    "QuantizationConfig": "quantize.schemes.config",
    "Recipe": "accuracy.recipe",
    "Rejected": "support.errors",
    "Rewrite": "tosa.rewrite",
    "Stage": "tosa.rewrite",
    "TOSABackend": "exir.backend",
    "TOSAPartitioner": "exir.partitioner",
    "TOSAQuantizer": "quantize.quantizer",
    "Target": "plugin.target",
    "TextAccuracy": "llm",
    "TextGenerator": "llm",
    "ToolError": "support.errors",
    "TosaCompileSpec": "exir.compile_spec",
    "TosaSpecification": "tosa.specification",
    "UsageError": "support.errors",
    "WrittenInputWarning": "support.errors",
    "advise": "advice.advise",
    "compile_llm": "llm",
    "decision_costs": "quantize.decision_costs",
    "evaluate_llm": "llm",
    "export_recipe": "flow.recipe",
    "get_symmetric_a16w8_quantization_config": "quantize.schemes.config",
    "get_symmetric_quantization_config": "quantize.schemes.config",
    "get_symmetric_a8w4_quantization_config": "quantize.schemes.config",
    "get_uint8_io_quantization_config": "quantize.schemes.config",
    "load_model": "frontends",
    "lower": "flow",
    "op": "lowering.rule",
    "quantize_by_recipe": "accuracy.keep",
    "quantize_to_keep": "accuracy.keep",
    "read_recipe": "accuracy.recipe",
    "quantize_program": "quantize.post_training",
    "to_mxfp": "quantize.schemes.mxfp",
}

__all__ = sorted(_HOME)


__getattr__, __dir__ = lazy_names(__name__, _HOME, globals())
