"""The PT2E quantizer: which layers get which scheme, then ``annotate``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import QuantizationAnnotation, Quantizer

from ..compile_spec import ArmCompileSpec
from ..errors import UsageError
from ..specification import TosaSpecification
from .annotate import KEY, annotate
from .config import QuantizationConfig
from .decompose import decompose


class TOSAQuantizer(Quantizer):  # type: ignore[misc]  # torchao is untyped
    """Quantizes for a TOSA target, through ``prepare_pt2e`` and ``convert_pt2e``.

    Args:
        compile_spec_or_tosa_spec: what will be compiled for; it must have the INT profile.

    A layer's scheme is the one set for its module name, else for its module type, else the global one. ``None``
    as a scheme leaves a layer in float.
    """

    def __init__(self, compile_spec_or_tosa_spec: ArmCompileSpec | TosaSpecification) -> None:
        super().__init__()
        given = compile_spec_or_tosa_spec
        self.compile_spec = given if isinstance(given, ArmCompileSpec) else None
        spec = given.tosa_spec if isinstance(given, ArmCompileSpec) else given
        if not isinstance(spec, TosaSpecification):
            raise UsageError(
                f"{type(self).__name__} takes a compile spec or a TosaSpecification, got {type(given).__name__}"
            )
        if not spec.support_integer():
            raise UsageError(f"{spec} has no integers: quantize for a specification with the INT profile")
        self.tosa_spec = spec
        self.global_config: QuantizationConfig | None = None
        self.io_config: QuantizationConfig | None = None
        self.module_type_config: dict[Callable[..., Any], QuantizationConfig | None] = {}
        self.module_name_config: dict[str, QuantizationConfig | None] = {}

    def set_global(self, quantization_config: QuantizationConfig | None) -> Self:
        """The scheme of every layer that has none of its own."""
        self.global_config = self._valid(quantization_config)
        return self

    def set_io(self, quantization_config: QuantizationConfig | None) -> Self:
        """The scheme of the model's inputs and outputs."""
        self.io_config = self._valid(quantization_config)
        return self

    def set_module_type(self, module_type: Callable[..., Any], quantization_config: QuantizationConfig | None) -> Self:
        """The scheme of layers inside modules of this type, for example ``torch.nn.Softmax``."""
        self.module_type_config[module_type] = self._valid(quantization_config)
        return self

    def set_module_name(self, module_name: str, quantization_config: QuantizationConfig | None) -> Self:
        """The scheme of layers inside the module of this name, for example ``"encoder.layers.0"``."""
        self.module_name_config[module_name] = self._valid(quantization_config)
        return self

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        """Decomposes composites, so that each intermediate can be observed."""
        _drop_guards(model)
        return decompose(model, lambda node: self.config_of(node) is not None)

    def annotate(self, model: GraphModule) -> GraphModule:
        """Says where to observe what."""
        if self.io_config is not None:
            self._annotate_io(model, self.io_config)
        annotate(model, self.config_of)
        return model

    def validate(self, model: GraphModule) -> None:
        """Refuses a model that is not on the CPU.

        Raises:
            UsageError: names the parameter.
        """
        for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
            if tensor.device.type != "cpu":
                raise UsageError(
                    f"parameter {name} is on device {tensor.device}: move the model to the CPU, then export it"
                )

    def config_of(self, node: Node) -> QuantizationConfig | None:
        """The scheme of a node, by the modules it comes from."""
        stack = (node.meta.get("nn_module_stack") or {}).values()
        names = [_module_name(path) for path, _ in stack]
        best: str | None = None
        for name in self.module_name_config:
            inside = any(n == name or n.startswith(f"{name}.") for n in names)
            if inside and (best is None or len(name) > len(best)):
                best = name
        if best is not None:
            return self.module_name_config[best]
        types = {t if isinstance(t, str) else f"{t.__module__}.{t.__qualname__}" for _, t in stack}
        for kind, config in self.module_type_config.items():
            if f"{kind.__module__}.{kind.__qualname__}" in types:
                return config
        return self.global_config

    def _valid(self, config: QuantizationConfig | None) -> QuantizationConfig | None:
        if config is None:
            return None
        if not isinstance(config, QuantizationConfig):
            raise UsageError(f"expected a QuantizationConfig or None, got {type(config).__name__}")
        spec = config.input_activation
        if spec is None:
            raise UsageError("a config with weights only has no integer arithmetic: quantize activations as well")
        if spec.dtype == torch.int16 and not self.tosa_spec.support_extension("int16"):
            raise UsageError(f"int16 activations need the extension int16, which {self.tosa_spec} lacks")
        return config

    def _annotate_io(self, model: GraphModule, config: QuantizationConfig) -> None:
        for node in model.graph.nodes:
            if node.op == "placeholder" and _is_float32(node):
                node.meta[KEY] = QuantizationAnnotation(output_qspec=config.output_activation, _annotated=True)
            elif node.op == "output":
                results = [n for n in node.all_input_nodes if _is_float32(n)]
                specs = dict.fromkeys(results, config.input_activation)
                node.meta[KEY] = QuantizationAnnotation(input_qspec_map=specs, _annotated=True)


def _is_float32(node: Node) -> bool:
    meta = node.meta.get("val")
    return isinstance(meta, torch.Tensor) and meta.dtype == torch.float32


def _module_name(path: str) -> str:
    """``L['self'].encoder.layers[0]`` and the like, as ``named_modules`` writes it."""
    path = path.replace("L['self'].", "").replace("L['self']", "").replace("._modules['", ".").replace("']", "")
    return path.replace("[", ".").replace("]", "").replace('"', "").replace("'", "")


def _drop_guards(model: GraphModule) -> None:
    """``ExportedProgram.module()`` checks its inputs in a call of a submodule, which PT2E cannot take."""
    for node in list(model.graph.nodes):
        if node.op == "call_module" and str(node.target) == "_guards_fn" and not node.users:
            model.graph.erase_node(node)
    model.recompile()
