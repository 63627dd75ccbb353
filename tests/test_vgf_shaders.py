"""Compute shaders within models, compiled to one VGF and run, beside what their PyTorch functions compute."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from arm_tosa_core import get_symmetric_quantization_config, lower, quantize_program
from arm_tosa_core.cli.whole_payload import whole_payload
from arm_tosa_core.support.errors import NothingDelegatedWarning, UsageError
from arm_vgf import Buffer, Image, Sampler, Shader, VgfCompileSpec, VgfQuantizer, extract_vgf, shader

vgf = pytest.importorskip("arm_runtime.vgf", reason="the VGFs are run: nox builds arm-runtime-cpp")

H, W = 6, 10
RGBA32, RGBA16, RGBA8 = "R32G32B32A32_SFLOAT", "R16G16B16A16_SFLOAT", "R8G8B8A8_UNORM"
_HEAD = "layout(local_size_x = 8, local_size_y = 4) in;\n"
_MAIN = f"void main() {{ ivec2 p = ivec2(gl_GlobalInvocationID.xy); if (p.x >= {W} || p.y >= {H}) return; %s }}"
_AT = f"p.y * {W} + p.x"


def _glsl(*bindings: str, body: str) -> str:
    declared = "\n".join(binding.replace("@", str(i)) for i, binding in enumerate(bindings))
    return f"{_HEAD}{declared}\n{_MAIN % body}"


_IN = "layout(binding = @) readonly buffer B@ { vec4 b@[]; };"
_OUT = "layout(binding = @) writeonly buffer B@ { vec4 b@[]; };"
_SAMPLED = "layout(binding = @) uniform sampler2D i@;"
_READ = "layout(binding = @, rgba32f) readonly uniform image2D i@;"
_WRITTEN = "layout(binding = @, rgba32f) writeonly uniform image2D i@;"


@shader(_glsl(_IN, _OUT, body=f"b1[{_AT}] = 2 * b0[{_AT}];"), [Buffer()], [Buffer()])
def twice(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


@shader(_glsl(_IN, _IN, _OUT, body=f"b2[{_AT}] = b0[{_AT}] - b1[{_AT}];"), [Buffer(), Buffer()], [Buffer()])
def difference(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x - y


@shader(_glsl(_READ, _WRITTEN, body="imageStore(i1, p, imageLoad(i0, p) + 1);"), [Image(RGBA32)], [Image(RGBA32)])
def plus_one(x: torch.Tensor) -> torch.Tensor:
    return x + 1


@shader(
    _glsl(_SAMPLED, _OUT, body=f"b1[{_AT}] = texelFetch(i0, ivec2({W - 1} - p.x, p.y), 0);"),
    [Image(RGBA32, Sampler())],
    [Buffer()],
)
def mirrored(x: torch.Tensor) -> torch.Tensor:
    return x.flip(-2)


@shader(
    _glsl(_IN, _OUT, _WRITTEN, body=f"b1[{_AT}] = -b0[{_AT}]; imageStore(i2, p, b0[{_AT}] * b0[{_AT}]);"),
    [Buffer()],
    [Buffer(), Image(RGBA32)],
)
def two_results(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return -x, x * x


class Program(nn.Module):
    """A function with a layer of its own for channels last."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.function = function
        self.layer = nn.Conv2d(4, 4, 3, padding=1)

    def conv(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(self.conv, *inputs)


def _payload(
    function: Callable[..., Any], *inputs: torch.Tensor, **options: Any
) -> tuple[bytes, list[np.ndarray[Any, Any]]]:
    """The VGF, and what PyTorch computes."""
    model, spec = Program(function).eval(), VgfCompileSpec(**options)
    payload = whole_payload(lower(torch.export.export(model, inputs), spec), Path("x.vgf"), spec.target())
    with torch.no_grad():
        wanted = model(*inputs)
    return payload, [x.numpy() for x in ((wanted,) if isinstance(wanted, torch.Tensor) else wanted)]


def _kernels(payload: bytes) -> str:
    """The order of segments: s(hader) and g(raph)."""
    with vgf.Session(payload, engine="compute") as session:
        steps = ["s" if step["kernel"] == "shader" else "g" for step in session.plan()]
    return "".join(step for i, step in enumerate(steps) if i == 0 or step == "s" or steps[i - 1] == "s")


def _input(seed: int = 0) -> torch.Tensor:
    return torch.randn(1, H, W, 4, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(
    ("segments", "function"),
    [
        ("s", lambda conv, x: twice(x)),
        ("sg", lambda conv, x: conv(twice(x))),
        ("gs", lambda conv, x: twice(conv(x))),
        ("sgs", lambda conv, x: plus_one(conv(mirrored(x)))),
        ("gsg", lambda conv, x: conv(mirrored(conv(x)))),
        ("ss", lambda conv, x: mirrored(plus_one(x))),
        ("gs", lambda conv, x: (twice(y := conv(x)), y)),  # its input leaves the program, too
        ("sg", lambda conv, x: (y := mirrored(x), conv(y))),  # its output does
        ("sgs", lambda conv, x: difference(conv(mirrored(x)), x)),  # an input as an image and as a buffer
        ("sgss", lambda conv, x: plus_one(difference(x, conv(mirrored(x))))),
        ("sg", lambda conv, x: conv((two := two_results(x))[0]) + two[1]),
        ("gssg", lambda conv, x: (torch.tanh(twice(y := conv(x))).sum(1), y, mirrored(y))),
        ("ssg", lambda conv, x: (conv(mirrored(y := plus_one(x))), y)),
        ("ss", lambda conv, x: (plus_one(x), mirrored(x))),
    ],
)
def test_segments(segments: str, function: Callable[..., Any]) -> None:
    x = _input()
    payload, wanted = _payload(function, x)
    made = vgf.run(payload, [x.numpy()])
    for ours, theirs in zip(made, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
    assert sorted(_kernels(payload)) == sorted(segments), _kernels(payload)


def _copy(format_: str, qualifier: str, kind: str = "") -> Shader:
    image = f"{kind}image2D"
    code = f"""
        layout(local_size_x = 8, local_size_y = 4) in;
        layout(binding = 0, {qualifier}) readonly uniform {image} x;
        layout(binding = 1, {qualifier}) writeonly uniform {image} y;
        void main() {{ ivec2 p = ivec2(gl_GlobalInvocationID.xy); imageStore(y, p, imageLoad(x, p)); }}
    """

    @shader(code, [Image(format_)], [Image(format_)])
    def copy(x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    return copy


@pytest.mark.parametrize(
    ("format_", "qualifier", "kind", "dtype", "channels"),
    [
        ("R8G8B8A8_UNORM", "rgba8", "", torch.uint8, 4),
        ("R8G8B8A8_UINT", "rgba8ui", "u", torch.uint8, 4),
        ("R8G8_SNORM", "rg8_snorm", "", torch.int8, 2),
        ("R8_SINT", "r8i", "i", torch.int8, 1),
        ("R16_SINT", "r16i", "i", torch.int16, 1),
        ("R32G32_SINT", "rg32i", "i", torch.int32, 2),
        ("R16G16_SFLOAT", "rg16f", "", torch.float16, 2),
        ("R32_SFLOAT", "r32f", "", torch.float32, 1),
    ],
)
def test_images(format_: str, qualifier: str, kind: str, dtype: torch.dtype, channels: int) -> None:
    """Images that enter and leave the program, as arrays of their format's type, of two sizes of axes."""
    numbers = torch.randint(-127 if dtype.is_signed else 0, 127, (1, H, W, channels)).to(dtype)
    for x in (numbers, numbers[0]):
        payload, wanted = _payload(lambda _, x: _copy(format_, qualifier, kind)(x), x)
        (made,) = vgf.run(payload, [x.numpy()])
        assert made.dtype == wanted[0].dtype
        assert np.array_equal(made, wanted[0])


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda conv, x: difference(x, x), "takes one tensor twice"),
        (lambda conv, x: conv(two_results(x)[1]), "result 0 of shader .*two_results is read by nothing"),
        (
            lambda conv, x: ((two := two_results(x))[1], plus_one(two[0])),
            "two_results has results that leave the program",
        ),
    ],
)
def test_refused(function: Callable[..., Any], error: str) -> None:
    """What the model converter does wrongly."""
    with pytest.raises((UsageError, NothingDelegatedWarning), match=error):
        _payload(function, _input())


def test_an_ordinary_program_has_its_outputs_in_order() -> None:
    payload, wanted = _payload(lambda conv, x: (torch.tanh(y := conv(x)), y), _input())
    for ours, theirs in zip(vgf.run(payload, [_input().numpy()]), wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def _sampled(*options: Any) -> Callable[..., torch.Tensor]:
    mode, padding, align_corners = options

    def program(_: Any, x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        return F.grid_sample(x * 2, at, mode, padding, align_corners) + 1

    return program


@pytest.mark.parametrize(
    ("segments", "padding", "align_corners", "channels", "mode", "dtype"),
    [
        ("gsg", "zeros", False, 4, "bilinear", torch.float32),
        ("gsg", "border", True, 3, "bilinear", torch.float16),
        ("gsg", "zeros", True, 2, "bilinear", torch.float16),
        ("gsg", "reflection", False, 1, "bilinear", torch.float32),
        ("g", "reflection", True, 1, "bilinear", torch.float32),
        ("g", "border", False, 5, "bilinear", torch.float32),
        ("g", "border", False, 4, "nearest", torch.float32),
    ],
)
def test_grid_sample_by_samplers(
    segments: str, padding: str, align_corners: bool, channels: int, mode: str, dtype: torch.dtype
) -> None:
    """Where a sampler does the same; of random numbers of unit size it is right to about 1/256 of a pixel."""
    x = torch.randn(1, channels, H, W, generator=torch.Generator().manual_seed(0)).to(dtype)
    at = torch.rand(1, 5, 7, 2, generator=torch.Generator().manual_seed(1)).to(dtype) * 3 - 1.5
    payload, wanted = _payload(_sampled(mode, padding, align_corners), x, at, samplers=True)
    (made,) = vgf.run(payload, [x.numpy(), at.numpy()])
    np.testing.assert_allclose(made, wanted[0], atol=0.05 if dtype == torch.float32 else 0.2)
    assert _kernels(payload) == segments


def test_without_the_option_pixels_are_gathered() -> None:
    payload, _ = _payload(_sampled("bilinear", "zeros", False), torch.rand(1, 4, H, W), torch.rand(1, 5, 7, 2))
    assert _kernels(payload) == "g"


def test_a_pt2_is_read_by_who_does_not_have_the_shader(tmp_path: Path) -> None:
    model = Program(lambda conv, x: conv(twice(x))).eval()
    torch.export.save(torch.export.export(model, (_input(),)), tmp_path / "a.pt2")
    code = "import sys; from arm_tosa_core.cli.model import load_program; print(load_program(sys.argv[1]).graph)"
    command = [sys.executable, "-c", code, tmp_path / "a.pt2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert "arm_vgf.shader.default" in done.stdout, done.stderr
    command[2] = code.replace("print(", "print(*").replace(".graph", ".module()(__import__('torch').ones(1, 6, 10, 4))")
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert "the PyTorch function of shader 'tests.test_vgf_shaders.twice' is not here: import the module" in done.stderr


def test_a_quantized_grid_sample_by_a_sampler() -> None:
    """Its pixels are reals for the sampler, and quantized behind it."""
    generator = torch.Generator().manual_seed(0)
    samples = [(torch.rand(1, 3, H, W, generator=generator), torch.rand(1, 5, 7, 2, generator=generator) * 2 - 1)]
    spec = VgfCompileSpec(samplers=True)
    quantizer = VgfQuantizer(spec).set_global(get_symmetric_quantization_config())
    program = torch.export.export(Program(_sampled("bilinear", "border", False)).eval(), samples[0])
    quantized = quantize_program(program, quantizer, samples * 4).converted
    lowered = lower(torch.export.export(quantized, samples[0]), spec)
    (made,) = vgf.run(extract_vgf(lowered.buffer)[0], [x.numpy() for x in samples[0]])
    np.testing.assert_allclose(made, quantized(*samples[0]).detach().numpy(), atol=0.05)
