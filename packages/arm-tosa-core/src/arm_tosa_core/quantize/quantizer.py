"""The PT2E quantizer: which layers get which scheme, then ``annotate``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Self, get_args

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import Quantizer, SharedQuantizationSpec

from ..aten.control_flow import choose
from ..aten.functionalize import transforms
from ..compat.torchao import annotation, is_annotated
from ..exir.compile_spec import ArmCompileSpec
from ..lowering.exported_program import source_line
from ..lowering.node_facts import UNDECIDED, facts, note
from ..lowering.rule_set import RuleSet
from ..support.arguments import brief
from ..support.errors import UsageError
from ..support.executorch_names import OneQuantizer
from ..tosa.specification import TosaSpecification
from .annotate.annotator import KEY, annotate
from .annotate.composites import decompose
from .annotate.far_copies import copy_for_blind
from .annotate.finer_norms import refine_norms
from .annotate.image_means import take_means
from .annotate.norms_behind_layers import warn_of_eps
from .annotate.plain_module import drop_idle, flatten_attributes, make_plain
from .annotate.slice_assignments import without_assignments
from .annotate.wide_results import Wide
from .probe.calls import Sample
from .probe.states import is_appended, state_nodes
from .schemes.config import QuantizationConfig
from .usable_weights import require_usable


class TOSAQuantizer(Quantizer):  # type: ignore[misc]  # torchao is untyped
    """Quantizes for a TOSA target, through ``prepare_pt2e`` and ``convert_pt2e``.

    Args:
        compile_spec_or_tosa_spec: what will be compiled for; it must have the INT profile.
        use_composable_quantizer: changes nothing; see ``executorch_names.OneQuantizer``.
        wide: results of int8 schemes that are kept in 16 bits, if only additions, products and sums read them:

            - ``"none"``.
            - ``"streams"``: the sums of a residual stream that other sums read (their errors add up along the
              network), the begin of the stream, and the centred values of its norms.
            - ``"residuals"``: also sums that are normalized at once, and the results of norms for the next sum, of
              which layers read 8 bits. Where the target has int16, also energies: sums of squares under a root.
            - ``"all"``.

    A layer's scheme is that of the last node finder that wants it (``set_node_finder``, ``set_node_name``,
    ``set_node_target``), else the one set for its module name, else for its module type, else the global one. ``None``
    as a scheme leaves a layer in float. Parts of a composite have the scheme of the whole.
    """

    def __init__(
        self,
        compile_spec_or_tosa_spec: ArmCompileSpec | TosaSpecification,
        use_composable_quantizer: OneQuantizer = True,
        *,
        wide: Wide = "residuals",
    ) -> None:
        super().__init__()
        if wide not in get_args(Wide):
            raise UsageError(f"wide is one of {', '.join(get_args(Wide))}, not {brief(wide)}")
        self.wide = wide
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
        #: The rules of the target; those for all targets, if only a specification is given.
        self.rules = RuleSet.of(None if self.compile_spec is None else self.compile_spec.target().name)
        #: Whether it was told of any scheme, float (None) among them.
        self.is_configured = False
        self.global_config: QuantizationConfig | None = None
        self.io_config: QuantizationConfig | None = None
        self.states: dict[str, int] = {}
        self.samples: Sequence[Sample] = ()
        self.left_narrow: frozenset[str] = frozenset()
        self.module_type_config: dict[Callable[..., Any], QuantizationConfig | None] = {}
        self.module_name_config: dict[str, QuantizationConfig | None] = {}
        self.node_names: list[str] = []
        self.node_finders: list[tuple[Callable[[Node], bool], QuantizationConfig | None]] = []
        self.quantizers: list[Quantizer] = []

    def set_global(self, quantization_config: QuantizationConfig | None) -> Self:
        """The scheme of every layer that has none of its own."""
        self.global_config = self._valid(quantization_config)
        return self

    def set_io(self, quantization_config: QuantizationConfig | None) -> Self:
        """The scheme of the model's inputs and outputs; may be uint8 (``get_uint8_io_quantization_config``)."""
        self.io_config = self._valid(quantization_config, io=True)
        return self

    def set_states(self, states: Mapping[str, int]) -> Self:
        """Inputs fed from an output of the previous call, and the index of that output.

        Both ends have one scale, so that a host hands integers on. They have 16 bits where the target has int16, but
        for ``wide="none"``, and but for states that only rows are written into (``states.is_appended``). Layers read 8
        bits of them. ``quantize_program(states=...)`` calls this, and takes names.
        """
        self.states = dict(states)
        return self

    def set_samples(self, samples: Sequence[Sample]) -> Self:
        """Calls of the model: with them, sums of squares under a root have 16 bits only where that gains something.

        ``quantize_program`` calls this.
        """
        self.samples = samples
        return self

    def set_left_narrow(self, reasons: Iterable[str]) -> Self:
        """Keeps no result in 16 bits for one of these reasons, ``why`` of decisions, nor what follows from it.

        States keep their bits. ``decision_costs`` calls this.
        """
        self.left_narrow = frozenset(reasons)
        return self

    def set_module_type(self, module_type: Callable[..., Any], quantization_config: QuantizationConfig | None) -> Self:
        """The scheme of layers inside modules of this type, for example ``torch.nn.Softmax``."""
        self.module_type_config[module_type] = self._valid(quantization_config)
        return self

    def set_module_name(self, module_name: str, quantization_config: QuantizationConfig | None) -> Self:
        """The scheme of layers inside the module of this name, for example ``"encoder.layers.0"``."""
        self.module_name_config[module_name] = self._valid(quantization_config)
        return self

    def set_node_finder(
        self, quantization_config: QuantizationConfig | None, node_finder: Callable[[Node], bool]
    ) -> Self:
        """The scheme of the nodes of the exported graph for which the function says True; later calls come first."""
        self.node_finders.insert(0, (node_finder, self._valid(quantization_config)))
        return self

    def set_node_name(self, node_name: str, quantization_config: QuantizationConfig | None) -> Self:
        """The scheme of the node of this name in the exported graph, for example ``"conv2d_3"``."""
        self.node_names.append(node_name)
        return self.set_node_finder(quantization_config, lambda node: node.name == node_name)

    def set_node_target(self, node_target: Any, quantization_config: QuantizationConfig | None) -> Self:
        """The scheme of every call of an operator, for example ``torch.ops.aten.softmax.int``."""
        return self.set_node_finder(quantization_config, lambda node: node.target == node_target)

    def add_quantizer(self, quantizer: Quantizer) -> Self:
        """Another PT2E quantizer, for example XNNPACK's, that is asked before this one; later calls come first.

        What it annotates keeps its annotation. It sees the graph after ``transform_for_annotation``: composites that
        have a scheme here are in parts.

        Raises:
            UsageError: it is not a PT2E quantizer, or one of this kind.
        """
        if isinstance(quantizer, TOSAQuantizer):
            raise UsageError(
                "add_quantizer takes no second TOSAQuantizer: one has schemes for each part of the model, see "
                "set_module_name, set_module_type and set_node_finder"
            )
        if not isinstance(quantizer, Quantizer):
            raise UsageError(f"add_quantizer takes a torchao (PT2E) Quantizer, not {type(quantizer).__name__}")
        self.quantizers.insert(0, quantizer)
        self.is_configured = True
        return self

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        """Decomposes composites, so that each intermediate can be observed, of the plain module (``make_plain``).

        Parameters move to the module itself.

        Raises:
            UsageError: a scheme is for a node or a module that the graph lacks, or the model has ``torch.vmap``, or
                weights with inf or NaN.
        """
        self._check_names(model)
        _require_whole_tensors(model)
        require_usable(model)
        for other in self.quantizers:
            model = other.transform_for_annotation(model)
        make_plain(model, self.rules, is_trained=self._trains())
        if self._trains():
            warn_of_eps(model)
        for node in model.graph.nodes:
            note(node, whole=node.name)
        drop_idle(model, self.rules)
        flatten_attributes(model)
        choose(model)
        without_assignments(model, self.rules)
        for node in model.graph.nodes:  # before composites are replaced: finders know the exported graph
            note(node, scheme=self._find_config(node))
        preferences = None if self.compile_spec is None else self.compile_spec.target().preferences
        model = take_means(model, self.rules, self.config_of)
        model = decompose(model, self.rules, self._decomposed, preferences)
        model = refine_norms(model, self.rules, self.config_of)
        copy_for_blind(model, self.rules, self._decomposed)
        return model

    def _trains(self) -> bool:
        finders = [config for _, config in self.node_finders]
        configs = [self.global_config, *self.module_type_config.values(), *self.module_name_config.values(), *finders]
        return any(config is not None and config.is_qat for config in configs)

    def _check_names(self, model: GraphModule) -> None:
        nodes = [node for part in model.modules() if isinstance(part, GraphModule) for node in part.graph.nodes]
        paths = {_module_name(path) for n in nodes for path, _ in (n.meta.get("nn_module_stack") or {}).values()}
        modules = {".".join(path.split(".")[:end]) for path in paths for end in range(1, path.count(".") + 2)}
        for kind, wanted, known in (
            ("in a module", self.module_name_config, modules),
            ("a node", self.node_names, {n.name for n in nodes}),
        ):
            for name in wanted:
                if name not in known:
                    near = get_close_matches(name, known)
                    hint = f"did you mean {' or '.join(near)}?" if near else "names are those of the exported program"
                    raise UsageError(f"a scheme is for {name!r}, but no operator is {kind} of this name: {hint}")

    def _decomposed(self, node: Node) -> bool:
        config = self.config_of(node)
        return config is not None and not config.is_dynamic  # dynamic schemes leave all but layers in float

    def annotate(self, model: GraphModule) -> GraphModule:
        """Says where to observe what."""
        for other in self.quantizers:
            other.annotate(model)
        for node in filter(is_annotated, model.graph.nodes):
            note(node, scheme=None)  # theirs, not ours
        if self.io_config is not None:
            self._annotate_io(model, self.io_config)
        tables = self.tosa_spec.support_extension("int16")
        samples = () if facts(model).loop_body else self.samples  # a body has other inputs
        states = self._annotate_states(model)
        annotate(model, self.rules, self.config_of, self.wide, tables, states, samples, self.left_narrow)
        return model

    def validate(self, model: GraphModule) -> None:
        """Refuses a model that is not on the CPU.

        Raises:
            UsageError: names the parameter.
        """
        for other in self.quantizers:
            other.validate(model)
        for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
            if tensor.device.type != "cpu":
                raise UsageError(
                    f"parameter {name} is on device {tensor.device}: move the model to the CPU, then export it"
                )

    def config_of(self, node: Node) -> QuantizationConfig | None:
        """The scheme of a node."""
        scheme: QuantizationConfig | None = facts(node).scheme
        return self._find_config(node) if scheme is UNDECIDED else scheme

    def _find_config(self, node: Node) -> QuantizationConfig | None:
        for finder, config in self.node_finders:
            if node.op == "call_function" and finder(node):
                return config
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

    def _valid(self, config: QuantizationConfig | None, io: bool = False) -> QuantizationConfig | None:
        self.is_configured = True
        if config is None:
            return None
        if not isinstance(config, QuantizationConfig):
            raise UsageError(f"expected a QuantizationConfig or None, got {type(config).__name__}")
        spec = config.input_activation
        if spec is None:
            raise UsageError("a config with weights only has no integer arithmetic: quantize activations as well")
        if config.is_dynamic and not self.tosa_spec.support_float():
            raise UsageError(
                f"dynamic quantization computes scales in float at run time, and {self.tosa_spec} has integers only: "
                "use static scales (is_dynamic=False), or a specification with the FP profile"
            )
        if config.is_dynamic and io:
            raise UsageError("inputs and outputs of a model have static scales: is_dynamic=False for set_io")
        if spec.dtype == torch.uint8 and not io:
            raise UsageError("TOSA computes on int8: uint8 is for the model's inputs and outputs (set_io)")
        if spec.dtype == torch.int16 and not self.tosa_spec.support_extension("int16"):
            raise UsageError(f"int16 activations need the extension int16, which {self.tosa_spec} lacks")
        return config

    def _annotate_states(self, model: GraphModule) -> dict[Node, Node]:
        """Gives both ends of each state one scale; returns the input and the result of those that have one."""
        results: dict[Node, Node] = {}
        for state, result in state_nodes(model, self.states).items():
            config = next((c for user in state.users if (c := self.config_of(user)) is not None), None)
            if config is None or config.is_dynamic or not _is_float32(state):
                continue
            carried = not is_appended(state, result)  # rows are computed once: no error adds up in them
            wide = carried and self.wide != "none" and self.tosa_spec.support_extension("int16")
            state.meta[KEY] = annotation({}, config.wide if wide and config.wide else config.input_activation)
            results[state] = result
        output = model.graph.output_node()
        others = output.meta[KEY].input_qspec_map if KEY in output.meta else {}
        if results:
            own = {result: SharedQuantizationSpec(state) for state, result in results.items()}
            output.meta[KEY] = annotation({**others, **own}, None)
        return results

    def _annotate_io(self, model: GraphModule, config: QuantizationConfig) -> None:
        for node in model.graph.nodes:
            if is_annotated(node):
                continue
            if node.op == "placeholder" and _is_float32(node):
                node.meta[KEY] = annotation({}, config.output_activation)
            elif node.op == "output":
                results = [n for n in node.all_input_nodes if _is_float32(n)]
                specs = dict.fromkeys(results, config.input_activation)
                node.meta[KEY] = annotation(specs, None)


def _require_whole_tensors(model: GraphModule) -> None:
    """Raises UsageError for ``torch.vmap``, which torchao's steps break: its operators see parts of tensors."""
    if names := transforms(model):
        raise UsageError(
            f"torch.vmap at {source_line(names[0]) or names[0].name} cannot be calibrated by PT2E: call "
            "quantize_program, which takes it apart, or prepare program.run_decompositions({}).module()"
        )


def _is_float32(node: Node) -> bool:
    meta = node.meta.get("val")
    return isinstance(meta, torch.Tensor) and meta.dtype == torch.float32


def _module_name(path: str) -> str:
    """``L['self'].encoder.layers[0]`` and the like, as ``named_modules`` writes it."""
    path = path.replace("L['self'].", "").replace("L['self']", "").replace("._modules['", ".").replace("']", "")
    return path.replace("[", ".").replace("]", "").replace('"', "").replace("'", "")
