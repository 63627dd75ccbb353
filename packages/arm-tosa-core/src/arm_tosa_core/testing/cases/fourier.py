"""Cases of the rules in ``rules/fourier.py``; where results are complex, their parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import fft

from ..case import QUANTIZED, OpCase, refused, row


class _Filter(torch.nn.Module):
    """A layer of a Fourier neural operator: weights on the spectrum."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(2, 8, 5, dtype=torch.complex64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        spectrum: torch.Tensor = fft.rfft2(x) * self.weight
        result: torch.Tensor = fft.irfft2(spectrum + 0.5)
        return result


def _row(name: str, function: Callable[..., Any], *inputs: Any) -> OpCase:
    def parts(*args: torch.Tensor) -> torch.Tensor:
        result = function(*args)
        return torch.view_as_real(result) if result.is_complex() else result

    return row(name, parts, inputs, needs_float=QUANTIZED, tolerance=(1e-3, 1e-4))


_COMPLEX = {"fp32": "its complex result is used", **dict.fromkeys(QUANTIZED, "its complex result")}

CASES: list[OpCase] = [
    _row("rfft", fft.rfft, (3, 8)),
    _row("rfft/any size", lambda x: fft.rfft(x, dim=0), (6, 3)),
    _row("rfft2", fft.rfft2, (2, 3, 8, 4)),
    _row("rfft2/any size", lambda x: fft.rfft2(x, norm="ortho"), (3, 5, 8)),
    _row("fft", lambda x: fft.fft(x, norm="forward"), (3, 8)),
    _row("fft2/matrix", fft.fft2, (8, 4)),
    _row("fftn/real part", lambda x: fft.fftn(x, dim=(1, 2)).real, (2, 8, 4)),
    _row("fftn/three axes", lambda x: fft.fftn(x, dim=(0, 1, 2)).imag, (2, 8, 3)),
    _row("ifft", lambda x: fft.ifft(torch.view_as_complex(x)), (3, 8, 2)),
    _row("irfft", lambda x: fft.irfft(fft.rfft(x, norm="ortho") * 2j, norm="ortho"), (3, 8)),
    _row("irfft/odd", lambda x: fft.irfft(fft.rfft(x), n=7), (3, 7)),
    _row("irfft2/conjugate", lambda x: fft.irfft2(fft.rfft2(x).conj()), (2, 4, 8)),
    OpCase("fft/filter", _Filter, [(2, 8, 8)], needs_float=QUANTIZED, tolerance=(1e-3, 1e-4)),
    _row("fft/stft", lambda x: torch.stft(x, 16, 4, window=torch.hann_window(16), return_complex=True).abs(), (2, 64)),
    _row("fft/moved", lambda x: torch.cat([fft.rfft(x).t(), fft.rfft(x * 2).t()])[1:], (3, 8)),
    _row("complex/polar", lambda x, y: torch.polar(x.abs(), y) - torch.complex(x, y), (3, 4), (3, 4)),
    _row("complex/angle", lambda x: torch.view_as_complex(x).angle(), (9, 2)),
    row("fft/complex result", lambda x: fft.rfft(x), [(3, 8)], _COMPLEX),
    row(
        "fft/too long",
        lambda x: fft.rfft(x).abs(),
        [(1, 1100)],
        refused("1100 numbers; TOSA has powers of two (extension fft), or matrices up to 1024"),
    ),
]
