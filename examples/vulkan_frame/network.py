"""Makes the upscaler of this example: twice as many pixels from color and depth, trained on its scene for some seconds.

    python network.py --width 160 --height 90 --out upscale.vgf

The inputs are the frame, [1, 4, height, width], and what the network remembers of the last, [1, 8, height, width],
zeros at first. The outputs are the larger frame, [1, 3, 2 * height, 2 * width], and what it remembers of this one.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from arm_tosa_core import lower
from arm_vgf import extract_vgf


def scene(width: int, height: int, time: float) -> torch.Tensor:
    """What scene.comp draws, [1, 4, height, width]."""
    y, x = torch.meshgrid((torch.arange(height) + 0.5) / height, (torch.arange(width) + 0.5) / width, indexing="ij")
    found = torch.stack([0.5 * x, 0.5 * y, torch.full_like(x, 0.25), torch.ones_like(x)])
    for i in range(6):
        turn = time * torch.tensor([0.6 + 0.2 * i, 0.5 + 0.15 * i]) + torch.tensor([1.3, 2.1]) * i
        away_x = (x - 0.5 - 0.35 * torch.cos(turn[0])) * width / height
        away_y = y - 0.5 - 0.35 * torch.sin(turn[1])
        stripe = 0.75 + 0.25 * torch.sin(40 * (x + y))
        paint = 0.5 + 0.5 * torch.cos(torch.tensor([0.0, 2.0, 4.0]) + i)
        disk = torch.cat([paint[:, None, None] * stripe, torch.full_like(x, (5 - i) / 6)[None]])
        found = torch.where(away_x**2 + away_y**2 > 0.02, found, disk)
    return found[None]


class Upscaler(nn.Module):
    """What bilinear interpolation leaves out, at each of the four pixels that one becomes."""

    memory = 8

    def __init__(self) -> None:
        super().__init__()
        self.inside = nn.Conv2d(4 + self.memory, 24, 3, padding=1)
        self.outside = nn.Conv2d(24, 12, 3, padding=1)

    def forward(self, frame: torch.Tensor, history: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        smooth = F.interpolate(frame[:, :3], scale_factor=2.0, mode="bilinear")
        found = torch.relu(self.inside(torch.cat([frame, history], 1)))
        return smooth + F.pixel_shuffle(self.outside(found), 2), found[:, : self.memory]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=160)
    parser.add_argument("--height", type=int, default=90)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--out", type=Path, default=Path("upscale.vgf"))
    options = parser.parse_args()
    torch.manual_seed(0)
    network = Upscaler()
    optimizer = torch.optim.Adam(network.parameters(), 1e-2)
    times = torch.rand(options.steps).mul(20).tolist()
    for start in times:
        history, loss = torch.zeros(1, network.memory, 45, 80), torch.zeros(())
        for time in (start, start + 0.05):
            larger, history = network(scene(80, 45, time), history)
            loss = loss + F.mse_loss(larger, scene(2 * 80, 2 * 45, time)[:, :3])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    size = (options.height, options.width)
    example = (torch.zeros(1, 4, *size), torch.zeros(1, network.memory, *size))
    lower(torch.export.export(network.eval(), example), "vgf").save(options.out.with_suffix(".pte"))
    (payload,) = extract_vgf(options.out.with_suffix(".pte"))
    options.out.write_bytes(payload)
    print(f"{options.out}: {len(payload)} bytes")


if __name__ == "__main__":
    main()
