"""Networks of latent diffusion (Rombach et al. 2022) with few channels: the UNet, and both halves of the VAE."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from .realistic import unit_gain

LATENT, SIDE, WIDTH = 4, 16, 32  # channels and side of a latent; channels of the first level
TOKENS, CONTEXT, EMBEDDING = 8, 48, 64  # of a prompt; size of its states; size of what is known of the time step


class _Residual(nn.Module):
    """Two convolutions behind norms; what is known of the time step is added between them."""

    def __init__(self, channels: int, out: int, embedding: int = 0) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.GroupNorm(8, channels), nn.SiLU(), nn.Conv2d(channels, out, 3, padding=1))
        self.time = nn.Sequential(nn.SiLU(), nn.Linear(embedding, out)) if embedding else None
        self.second = nn.Sequential(nn.GroupNorm(8, out), nn.SiLU(), nn.Conv2d(out, out, 3, padding=1))
        self.skip = nn.Identity() if channels == out else nn.Conv2d(channels, out, 1)

    def forward(self, x: torch.Tensor, time: torch.Tensor | None = None) -> torch.Tensor:
        y = self.first(x)
        if self.time is not None:
            y = y + self.time(time)[:, :, None, None]
        return self.skip(x) + self.second(y)


class _Attention(nn.Module):
    """Of tokens to a context, which may be the tokens themselves."""

    def __init__(self, width: int, context: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.out = nn.Linear(width, width, bias=False), nn.Linear(width, width)
        self.key, self.value = (nn.Linear(context, width, bias=False) for _ in range(2))

    def forward(self, x: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
        query, key, value = (
            part.unflatten(2, (self.heads, -1)).transpose(1, 2)
            for part in (self.query(x), self.key(context), self.value(context))
        )
        return self.out(functional.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2))


class _Gated(nn.Module):
    """A feed-forward layer whose hidden half is gated by the GELU of the other."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner, self.out = nn.Linear(width, 8 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden, gate = self.inner(x).chunk(2, -1)
        return self.out(hidden * functional.gelu(gate))


class _Transformer(nn.Module):
    """Attention among the pixels, then to the prompt, then a feed-forward layer."""

    def __init__(self, width: int, heads: int = 4) -> None:
        super().__init__()
        self.norm, self.before, self.after = (
            nn.GroupNorm(8, width),
            nn.Conv2d(width, width, 1),
            nn.Conv2d(width, width, 1),
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.own, self.cross, self.feed = (
            _Attention(width, width, heads),
            _Attention(width, CONTEXT, heads),
            _Gated(width),
        )

    def forward(self, x: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
        tokens = self.before(self.norm(x)).flatten(2).transpose(1, 2)
        own, cross, feed = self.norms
        y = own(tokens)
        tokens = tokens + self.own(y, y)
        tokens = tokens + self.cross(cross(tokens), context)
        tokens = tokens + self.feed(feed(tokens))
        return x + self.after(tokens.transpose(1, 2).unflatten(2, x.shape[2:]))


class _UNet(nn.Module):
    """Two levels. Takes the embedding of the time step, not its number, whose sines want more than 8 bits."""

    def __init__(self) -> None:
        super().__init__()
        wide = 2 * WIDTH
        self.first = nn.Conv2d(LATENT, WIDTH, 3, padding=1)
        self.down, self.down_attention = _Residual(WIDTH, WIDTH, EMBEDDING), _Transformer(WIDTH)
        self.smaller = nn.Conv2d(WIDTH, WIDTH, 3, stride=2, padding=1)
        self.middle, self.middle_attention = _Residual(WIDTH, wide, EMBEDDING), _Transformer(wide)
        self.middle_after = _Residual(wide, wide, EMBEDDING)
        self.larger = nn.Conv2d(wide, wide, 3, padding=1)
        self.up, self.up_attention = _Residual(wide + WIDTH, WIDTH, EMBEDDING), _Transformer(WIDTH)
        self.last = nn.Sequential(nn.GroupNorm(8, WIDTH), nn.SiLU(), nn.Conv2d(WIDTH, LATENT, 3, padding=1))

    def forward(self, x: torch.Tensor, time: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
        skip = self.down_attention(self.down(self.first(x), time), context)
        x = self.middle_attention(self.middle(self.smaller(skip), time), context)
        x = self.larger(functional.interpolate(self.middle_after(x, time), scale_factor=2.0, mode="nearest"))
        return self.last(self.up_attention(self.up(torch.cat([x, skip], 1), time), context))


class _PixelAttention(nn.Module):
    """One head over all pixels, as the VAE has it in its middle."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.attention = nn.GroupNorm(8, width), _Attention(width, width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tokens = self.norm(x).flatten(2).transpose(1, 2)
        return x + self.attention(tokens, tokens).transpose(1, 2).unflatten(2, x.shape[2:])


class _Smaller(nn.Module):
    """Halves a picture; its padding is on the right and at the bottom only."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(width, width, 3, stride=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.convolution(functional.pad(x, (0, 1, 0, 1)))


def _middle(width: int) -> list[nn.Module]:
    return [_Residual(width, width), _PixelAttention(width), _Residual(width, width)]


def _end(width: int, out: int) -> list[nn.Module]:
    return [nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, out, 3, padding=1)]


def vae_encoder() -> nn.Module:
    """A picture to the mean and the logarithm of the variance of its latent."""
    wide = 2 * WIDTH
    layers = [nn.Conv2d(3, WIDTH, 3, padding=1), _Residual(WIDTH, WIDTH), _Smaller(WIDTH), _Residual(WIDTH, wide)]
    return unit_gain(
        nn.Sequential(*layers, *_middle(wide), *_end(wide, 2 * LATENT), nn.Conv2d(2 * LATENT, 2 * LATENT, 1))
    )


def vae_decoder() -> nn.Module:
    """A latent to a picture of twice its side."""
    wide = 2 * WIDTH
    layers = [
        nn.Conv2d(LATENT, LATENT, 1),
        nn.Conv2d(LATENT, wide, 3, padding=1),
        *_middle(wide),
        _Residual(wide, WIDTH),
    ]
    larger = [nn.UpsamplingNearest2d(scale_factor=2), nn.Conv2d(WIDTH, WIDTH, 3, padding=1), _Residual(WIDTH, WIDTH)]
    return unit_gain(nn.Sequential(*layers, *larger, *_end(WIDTH, 3)))


def unet() -> nn.Module:
    """What is left of the noise of a latent, given the time step and the prompt."""
    return unit_gain(_UNet())


def _noise(seed: int, *shapes: tuple[int, ...]) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(shape, generator=generator) for shape in shapes)


#: Name, what builds it, its inputs by seed.
NETWORKS = {
    "unet": (unet, lambda seed: _noise(seed, (1, LATENT, SIDE, SIDE), (1, EMBEDDING), (1, TOKENS, CONTEXT))),
    "vae_encoder": (vae_encoder, lambda seed: _noise(seed, (1, 3, 2 * SIDE, 2 * SIDE))),
    "vae_decoder": (vae_decoder, lambda seed: _noise(seed, (1, LATENT, SIDE, SIDE))),
}
