"""A recipe for ``executorch.export.export``: quantizer and partitioner of one compile spec."""

from __future__ import annotations

from executorch.export import ExportRecipe, LoweringRecipe, QuantizationRecipe

from ..compat.executorch import edge_config
from ..exir.compile_spec import ArmCompileSpec
from ..exir.partitioner import TOSAPartitioner
from ..quantize.quantizer import TOSAQuantizer
from ..quantize.schemes.config import QuantizationConfig


def export_recipe(compile_spec: ArmCompileSpec, quantization_config: QuantizationConfig | None = None) -> ExportRecipe:
    """What ExecuTorch's ``export(model, example_inputs, recipe)`` needs to compile for a target.

    ``export`` calibrates with the example inputs, so give several that are like those of the device.

    Args:
        compile_spec: what to compile for.
        quantization_config: the scheme of every layer; None compiles the model as it is.

    Raises:
        UsageError: a scheme that the specification of ``compile_spec`` does not take.
    """
    quantization = None
    if quantization_config is not None:
        quantizer = TOSAQuantizer(compile_spec).set_global(quantization_config)
        quantization = QuantizationRecipe(quantizers=[quantizer], is_qat=quantization_config.is_qat)
    return ExportRecipe(
        name=compile_spec.target().name,
        quantization_recipe=quantization,
        lowering_recipe=LoweringRecipe(
            partitioners=[TOSAPartitioner(compile_spec)],
            edge_compile_config=edge_config(),
        ),
    )
