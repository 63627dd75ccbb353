"""A program as data, its text, and the texts of what is done with it: what runs is what is printed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

NAME = re.compile(r"\bv\d+\b|\bx\d+\b")

#: How integers are made of a float model.
CONFIGS = {"int8": "get_symmetric_quantization_config()", "int16x8": "get_symmetric_a16w8_quantization_config()"}
#: Targets whose delegates ExecuTorch's runtime has on this machine; of others the delegates run in Python.
RUNTIME = ("ethos-u55-128", "ethos-u65-256", "ethos-u85-256", "vgf", "cortex-m55")


@dataclass(frozen=True)
class Way:
    """A flow (``lower`` or ``edge``, ExecuTorch's own), a target and a scheme."""

    flow: str
    target: str
    scheme: str

    def __str__(self) -> str:
        return f"{self.flow} {self.target} {self.scheme}"


_SCHEMES = {
    **dict.fromkeys((*RUNTIME[:3], "cortex-m55"), ("int8", "int16x8")),
    **dict.fromkeys(("vgf", "tosa"), ("float", "int8", "int16x8")),
    "acme": ("int8",),
}
WAYS = tuple(
    Way(flow, target, scheme)
    for target, schemes in _SCHEMES.items()
    for scheme in schemes
    for flow in ("lower", "edge")
)


@dataclass(frozen=True)
class Statement:
    """A line of ``forward``.

    Args:
        text: without ``body``, which stands before it.
        makes: the names that it assigns.
        init: lines of ``__init__``, the first of which makes ``module``.
    """

    text: str
    makes: tuple[str, ...]
    init: tuple[str, ...] = ()
    body: str = ""
    module: str = ""

    def reads(self) -> set[str]:
        """The names that it needs from before."""
        return set(NAME.findall(self.text)) - set(self.makes)


@dataclass(frozen=True)
class Program:
    """A random program.

    Args:
        seed: of its weights and inputs.
        inputs: name and text of each input.
        statements: in order.
        outputs: expressions.
        form: of the result, ``{}`` for the outputs: ``({},)``, ``[{}]`` ...
        varying: of each input, the symbols of axes: ``{"x0": {0: "s"}}``.
        sizes: of each symbol, the example's, the least and the largest size.
        schemes: those of single modules; ``float`` leaves one as it is.
        half: float16 in place of float32.
        picture: its first input has unsigned integers of 8 bits, as a camera's picture; this expression makes reals of
            them.
        integers: the quantized program takes and gives integers, as those of ``.tflite`` files do.
    """

    seed: int
    inputs: tuple[tuple[str, str], ...]
    statements: tuple[Statement, ...]
    outputs: tuple[str, ...]
    form: str = "({},)"
    varying: dict[str, dict[int, str]] = field(default_factory=dict)
    sizes: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    schemes: tuple[tuple[str, str], ...] = ()
    half: bool = False
    picture: str = ""
    integers: bool = False

    def pruned(self) -> Program:
        """Without statements that no output needs, unless they write a buffer, and without schemes of modules gone."""
        needed = {name for text in self.outputs for name in NAME.findall(text)}
        kept = []
        for statement in reversed(self.statements):
            if needed & set(statement.makes) or "_(" in statement.text or "self.b" in statement.text:
                kept.append(statement)
                needed |= statement.reads()
        modules = {statement.module for statement in kept}
        schemes = tuple(row for row in self.schemes if f"self.{row[0]}" in modules)
        return replace(self, statements=tuple(reversed(kept)), schemes=schemes)

    def model(self) -> str:
        """The module and its inputs."""
        init = [line for statement in self.statements for line in statement.init]
        lines = [
            *("import torch", "from torch import nn", "from torch.nn import functional as F", "", ""),
            "class Program(nn.Module):",
            *(("    def __init__(self):", "        super().__init__()") if init else ()),
            *(f"        {line}" for line in init),
            *(("",) if init else ()),
            f"    def forward(self, {', '.join(name for name, _ in self.inputs)}):",
            *((f"        x0 = {self.picture}",) if self.picture else ()),
            *(f"        {statement.body}{statement.text}" for statement in self.statements),
            f"        return {self.form.format(', '.join(self.outputs))}",
            "",
            "",
            f"def inputs({', '.join(f'{name}={size[0]}' for name, size in self.sizes.items())}):",
            f"    return ({', '.join(self._input_texts())},)",
            "",
            "",
            f"torch.manual_seed({self.seed})",
            f"model = Program().eval(){'.half()' if self.half else ''}.requires_grad_(False)",
            "example = inputs()",
        ]
        return "\n".join(lines)

    def _input_texts(self) -> list[str]:
        texts = [text for _, text in self.inputs]
        if self.picture:
            texts[0] = f"torch.randint(0, 256, ({texts[0]}).shape, dtype=torch.uint8)"
        return texts

    def export(self) -> str:
        """The exported program."""
        if not self.sizes:
            return "program = torch.export.export(model, example)"
        dims = "\n".join(
            f'{name} = torch.export.Dim("{name}", min={low}, max={high})' for name, (_, low, high) in self.sizes.items()
        )
        axes = [", ".join(f"{a}: {s}" for a, s in self.varying.get(name, {}).items()) for name, _ in self.inputs]
        shapes = "".join(f"{{{inside}}}, " for inside in axes)
        return f"{dims}\nprogram = torch.export.export(model, example, dynamic_shapes=({shapes.rstrip()}))"

    def quantize(self, way: Way) -> str:
        """The quantized model in place of the float one, exported; empty in float."""
        if way.scheme == "float":
            return ""
        made = f"quantizer = TOSAQuantizer(spec).set_global({CONFIGS[way.scheme]})\n"
        for name, scheme in self.schemes:
            made += f'quantizer.set_module_name("{name}", {CONFIGS.get(scheme)})\n'
        made += "samples = [example, inputs(), inputs()]\n"
        if way.flow == "lower":
            made += "model = converted = quantize_program(program, quantizer, samples).converted\n"
        else:
            made += "prepared = prepare_pt2e(program.module(), quantizer)\n[prepared(*sample) for sample in samples]\n"
            made += "model = converted = convert_pt2e(prepared)\n"
        made += self.export().rpartition("\n")[2]
        if self.integers:
            made += "\nfrom arm_tosa_core.aten.integer_edges import with_integer_edges\n"
            made += "from programs.integer_inputs import integer_inputs  # PYTHONPATH=tests"
            made += "\nprogram, edges = with_integer_edges(program)\nmodel = program.module()\n"
            made += "example, inputs = program.example_inputs[0], integer_inputs(inputs, edges)"
        return made

    def schemes_of(self, way: Way) -> list[str]:
        """The schemes that make integers of the module or a part of it."""
        return sorted({scheme for scheme in (way.scheme, *dict(self.schemes).values()) if scheme in CONFIGS})

    def lowered(self, way: Way) -> str:
        """The program of ExecuTorch, or the edge program where that is what can be run."""
        if way.flow == "lower":
            if way.target not in RUNTIME:
                return "edge, report = lower_to_edge(program, spec)"
            return "lowered = lower(program, spec)\nbuffer = lowered.buffer"
        made = "partitioner = TOSAPartitioner(spec)\n"
        made += "edge = to_edge_transform_and_lower(program, partitioner=[partitioner])"
        return made + (
            "\nmanager = edge.to_executorch()\nbuffer = bytes(manager.buffer)" if way.target in RUNTIME else ""
        )

    def steps(self, way: Way) -> dict[str, str]:
        """The text of each step, by its name: together they are a program that stands alone."""
        return {
            "model": self.model(),
            "export": self.export(),
            "quantize": f'spec = compile_spec_of("{way.target}")\n{self.quantize(way)}'.rstrip(),
            "lower": self.lowered(way),
            "load": _load(way.target),
        }

    def alone(self, way: Way) -> str:
        """A file that shows what comes beside what is expected."""
        steps = self.steps(way)
        calls = "for call in [example, inputs()]:\n    print(method.execute(list(call)), model(*call))"
        return "\n".join([*(imports(way),), *steps.values(), calls, ""])


def _load(target: str) -> str:
    if target not in RUNTIME:
        return "method = Interpreted(edge, spec)"
    if target == "cortex-m55":  # whose delegates are compiled for this machine when they are loaded
        return 'method = load_method(load_program(read(buffer), "program"), "forward", "program")'
    return 'method = Runtime.get().load_program(buffer).load_method("forward")'


def imports(way: Way) -> str:
    """What the steps need."""
    lines = ["from arm_tosa_core.flow.lowered import compile_spec_of"]
    if way.scheme != "float":
        made = "quantize_program" if way.flow == "lower" else ""
        names = sorted({"TOSAQuantizer", *(config.removesuffix("()") for config in CONFIGS.values()), made} - {""})
        lines.append(f"from arm_tosa_core import {', '.join(names)}")
        if way.flow == "edge":
            lines.append("from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e")
    if way.flow == "edge":
        lines += ["from arm_tosa_core import TOSAPartitioner"]
        lines += ["from executorch.exir import to_edge_transform_and_lower"]
    elif way.target in RUNTIME:
        lines += ["from arm_tosa_core import lower"]
    if way.target == "cortex-m55":
        lines += ["from arm_tosa_core.exir.pte import read"]
        lines += ["from arm_tosa_core.exir.pte_runtime import load_method, load_program"]
    elif way.target in RUNTIME:
        lines += ["import arm_runtime, executorch.kernels.quantized", "from executorch.runtime import Runtime"]
    else:
        lines += ["from arm_tosa_core.flow.edge import lower_to_edge"] if way.flow == "lower" else []
        lines += ["from programs.interpreted import Interpreted  # PYTHONPATH=tests"]
    return "\n".join(lines)


@dataclass(frozen=True)
class Saved(Program):
    """An exported program in a file, whose inputs are drawn anew."""

    file: str = ""

    def model(self) -> str:
        """The module of the file and its inputs."""
        return "\n".join(
            (
                "import torch",
                f"torch.manual_seed({self.seed})",
                f'program = torch.export.load("{self.file}")',
                "model, example = program.module(), program.example_inputs[0]",
                "def inputs():",
                "    return tuple(torch.randn_like(x) if x.is_floating_point() else x.clone() for x in example)",
            )
        )

    @staticmethod
    def of(file: str) -> Saved:
        """The program of a ``.pt2``."""
        return Saved(0, (), (), ("",), file=file)
