"""The documented names, at the top level of the package, with the documented arguments."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys

import pytest

import arm_tosa_core

ARGUMENTS = {
    "TosaCompileSpec": ["tosa_spec"],
    "TOSAPartitioner": ["compile_spec", "additional_checks"],
    "TOSAPartitioner.partition": ["self", "exported_program"],
    "TOSAPartitioner.ops_to_not_decompose": ["self", "ep"],
    "TOSAQuantizer": ["compile_spec_or_tosa_spec"],
    "TOSAQuantizer.set_global": ["self", "quantization_config"],
    "TOSAQuantizer.set_io": ["self", "quantization_config"],
    "TOSAQuantizer.set_module_name": ["self", "module_name", "quantization_config"],
    "TOSAQuantizer.set_module_type": ["self", "module_type", "quantization_config"],
    "TOSAQuantizer.transform_for_annotation": ["self", "model"],
    "TOSAQuantizer.annotate": ["self", "model"],
    "TOSAQuantizer.validate": ["self", "model"],
    "TOSABackend.preprocess": ["edge_program", "compile_specs"],
    "TosaCompileSpec.dump_intermediate_artifacts_to": ["self", "output_path"],
    "TosaCompileSpec.dump_debug_info": ["self", "debug_mode"],
    "TosaCompileSpec.get_intermediate_path": ["self"],
    "TosaCompileSpec.get_output_format": [],
    "QuantizationConfig": ["input_activation", "output_activation", "weight", "bias"],
    "get_symmetric_quantization_config": ["is_per_channel", "is_qat", "is_dynamic", "act_qmin", "act_qmax"],
    "get_symmetric_a16w8_quantization_config": ["is_per_channel", "is_qat", "is_dynamic"],
}


@pytest.mark.parametrize(("name", "arguments"), ARGUMENTS.items())
def test_documented_arguments(name: str, arguments: list[str]) -> None:
    found: object = arm_tosa_core
    for part in name.split("."):
        found = getattr(found, part)
    assert callable(found)
    assert list(inspect.signature(found).parameters)[: len(arguments)] == arguments


def test_every_name_that_is_promised_is_there() -> None:
    for name in arm_tosa_core.__all__:
        assert getattr(arm_tosa_core, name).__name__ == name
    assert set(arm_tosa_core.__all__) <= set(dir(arm_tosa_core))
    with pytest.raises(AttributeError, match="has no attribute 'TOSAPartitionr'"):
        arm_tosa_core.TOSAPartitionr  # noqa: B018


def test_what_plugins_import_is_there_and_loads_nothing() -> None:
    code = (
        "import sys, arm_tosa_core.extend as extend; assert not {'torch', 'numpy'} & sys.modules.keys(); "
        "named = {name: getattr(getattr(extend, name), '__name__', name) for name in extend.__all__}; "
        "print([name for name, own in named.items() if own.rpartition('.')[2] != name])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, timeout=60, capture_output=True, text=True)
    assert ast.literal_eval(done.stdout) == ["HealthCheck"]  # a type's other name


def test_importing_the_package_imports_neither_torch_nor_executorch() -> None:
    code = "import sys, arm_tosa_core; assert not {'torch', 'executorch', 'numpy'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
