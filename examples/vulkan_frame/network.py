"""Makes the upscaler of this example: twice as many pixels from each frame and the last result, trained on its scene.

    python network.py --width 160 --height 90 --out upscale.vgf

Samples of a frame lie at other places of their pixels than those of the last one (jitter). The last result (history) is
moved to where things are now. The network compares both, colors and depth, and says for each pixel of the result how
much of the frame to take.

| input | shape | |
|---|---|---|
| 0 | [1, 4, height, width] | the frame: color, and depth in the last channel |
| 1 | [1, 2, height, width] | motion since the last frame, x before y, in parts of the picture |
| 2 | [1, 2, 1, 1] | jitter, in parts of the picture |
| 3 | [1, 4, 2 * height, 2 * width] | history: the last result, zeros at first |

The output is the result, [1, 4, 2 * height, 2 * width].
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from arm_tosa_core import lower
from arm_vgf import extract_vgf

STEP = 0.05  # of time from frame to frame
SPOTS = ((0.25, -0.25), (-0.25, 0.25), (0.25, 0.25), (-0.25, -0.25))  # of samples in their pixels, one after the other


def jitter(number: int, width: int, height: int) -> torch.Tensor:
    """Of a frame, [1, 2, 1, 1]."""
    x, y = SPOTS[number % 4]
    return torch.tensor([x / width, y / height]).reshape(1, 2, 1, 1)


def middle(disc: int, time: float) -> torch.Tensor:
    turn = time * torch.tensor([0.9 - 0.25 * disc, 0.6 + 0.2 * disc]) + 2.1 * disc
    return torch.stack([0.5 + 0.33 * torch.cos(turn[0]), 0.45 + 0.25 * torch.sin(turn[1])])


def scene(
    width: int, height: int, time: float, shift: torch.Tensor, step: float = STEP
) -> tuple[torch.Tensor, torch.Tensor]:
    """What scene.comp draws: color and depth, [1, 4, height, width], and motion, [1, 2, height, width]."""
    y, x = torch.meshgrid((torch.arange(height) + 0.5) / height, (torch.arange(width) + 0.5) / width, indexing="ij")
    x, y, aspect = x + shift[0, 0], y + shift[0, 1], width / height
    found = torch.stack([0.45 + 0.4 * y, 0.6 + 0.3 * y, torch.full_like(x, 0.9), torch.ones_like(x)])
    away = 0.35 / (y - 0.29).clamp(min=0.01)
    before = away + 0.6 * step
    odd = (torch.floor(6 * (x - 0.5) * aspect * away) + torch.floor(6 * (away + 0.6 * time))) % 2
    dark, light = (torch.tensor(c)[:, None, None] for c in ([0.15, 0.2, 0.3], [0.9, 0.85, 0.7]))
    fog = torch.exp(-0.35 * away)
    floor = torch.cat([found[:3] * (1 - fog) + (dark + (light - dark) * odd) * fog, (away / (away + 1))[None]])
    found = torch.where(y > 0.3, floor, found)
    moved = torch.stack([x - 0.5 - (x - 0.5) * away / before, y - 0.29 - 0.35 / before])
    moved = torch.where(y > 0.3, moved, 0)
    for i in range(3):
        from_x, from_y = (x - middle(i, time)[0]) * aspect, y - middle(i, time)[1]
        far = torch.hypot(from_x, from_y)
        ray = torch.where(torch.sin(18 * torch.atan2(from_y, from_x)) * torch.sin(70 * far) > 0, 1.0, 0.25)
        paint = 0.55 + 0.45 * torch.cos(torch.tensor([0.0, 2.0, 4.0]) + 1.5 * i)
        disc = torch.cat([paint[:, None, None] * ray, torch.full_like(x, 0.2 - 0.06 * i)[None]])
        found = torch.where(far > 0.2, found, disc)
        moved = torch.where(far > 0.2, moved, (middle(i, time) - middle(i, time - step))[:, None, None])
    return found[None], moved[None]


def right(width: int, height: int, time: float) -> torch.Tensor:
    """What the result should be: each pixel the mean of 16 samples, [1, 3, 2 * height, 2 * width]."""
    return F.avg_pool2d(scene(8 * width, 8 * height, time, torch.zeros(1, 2, 1, 1))[0][:, :3], 4)


def sampled(image: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """An image at places from 0 to 1, between texels, as a sampler does that clamps to the edge."""
    grid = torch.stack([2 * x - 1, 2 * y - 1], -1)
    return F.grid_sample(image, grid, padding_mode="border", align_corners=False)


class Upscaler(nn.Module):
    def __init__(self, width: int, height: int) -> None:
        super().__init__()
        self.shares = nn.Sequential(
            *(nn.Conv2d(20, 16, 3, padding=1), nn.ReLU()),
            *(nn.Conv2d(16, 16, 3, padding=1), nn.ReLU()),
            *(nn.Conv2d(16, 4, 3, padding=1), nn.Sigmoid()),
        )
        self.resize(width, height)

    def resize(self, width: int, height: int) -> None:
        """For frames of another size."""
        self.x = ((torch.arange(2 * width) + 0.5) / (2 * width)).reshape(1, 1, -1)
        self.y = ((torch.arange(2 * height) + 0.5) / (2 * height)).reshape(1, -1, 1)
        self.size = torch.tensor([width, height]).reshape(1, 2, 1, 1)
        # Of the four pixels that one becomes, from its middle, in pixels of the frame: left and right, above and below.
        self.parts = torch.tensor([[-0.25, 0.25, -0.25, 0.25], [-0.25, -0.25, 0.25, 0.25]]).reshape(1, 2, 4, 1)

    def forward(
        self, frame: torch.Tensor, motion: torch.Tensor, jitter: torch.Tensor, history: torch.Tensor
    ) -> torch.Tensor:
        moved = F.interpolate(motion, scale_factor=2.0, mode="nearest")
        before = sampled(history, self.x - moved[:, 0], self.y - moved[:, 1])
        shift_x, shift_y = jitter[:, 0], jitter[:, 1]
        now = sampled(frame, (self.x - shift_x).expand(-1, self.y.shape[1], -1), self.y - shift_y + 0 * self.x)
        near = torch.exp(-4 * (self.parts - jitter * self.size).square().sum(1))[..., None]
        near = near.expand(-1, -1, frame.shape[2], frame.shape[3])
        features = torch.cat([F.pixel_unshuffle(now - before, 2), near], 1)
        return before + F.pixel_shuffle(self.shares(features), 2) * (now - before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=160)
    parser.add_argument("--height", type=int, default=90)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path("upscale.vgf"))
    options = parser.parse_args()
    torch.manual_seed(0)
    width, height = 80, 45
    network = Upscaler(width, height)
    optimizer = torch.optim.Adam(network.parameters(), 5e-3)
    # Larger pictures move by more pixels in a frame than these small ones.
    for start in torch.randint(1000, (options.steps,)).tolist():
        history, loss = torch.zeros(1, 4, 2 * height, 2 * width), torch.zeros(())
        step = STEP * 2 ** (start % 4)
        for number in range(start, start + 6):
            shift, time = jitter(number, width, height), step * number
            history = network(*scene(width, height, time, shift, step), shift, history)
            loss = loss + F.mse_loss(history[:, :3], right(width, height, time))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss of the last step {loss.item() / 6:.5f}")
    width, height = options.width, options.height
    network.resize(width, height)
    shapes = ((1, 4, height, width), (1, 2, height, width), (1, 2, 1, 1), (1, 4, 2 * height, 2 * width))
    example = tuple(torch.zeros(shape) for shape in shapes)
    lower(torch.export.export(network.eval(), example), "vgf").save(options.out.with_suffix(".pte"))
    (payload,) = extract_vgf(options.out.with_suffix(".pte"))
    options.out.write_bytes(payload)
    print(f"{options.out}: {len(payload)} bytes")


if __name__ == "__main__":
    main()
