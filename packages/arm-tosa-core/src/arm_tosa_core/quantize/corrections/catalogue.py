"""The corrections of quantization in their order, and what each gains on networks that did not choose it."""

from __future__ import annotations

from dataclasses import dataclass

from ..decisions import CORRECTED, EQUALIZED, OWN_SCALE, ROUNDED


@dataclass(frozen=True, kw_only=True)
class Corrections:
    """Which corrections ``quantize_program`` makes.

    Args:
        equalization: of channels between layers, see ``equalization.equalize``.
        smoothing: the same behind layer norms.
        rescaling: scales of their own where several tensors have one, see ``shared_scales.keep_narrow``.
        rounding: of weights together, see ``weight_rounding.round_weights``.
        bias_correction: see ``bias_correction.correct_biases``.
    """

    equalization: bool = True
    smoothing: bool = True
    rescaling: bool = True
    rounding: bool = True
    bias_correction: bool = True


@dataclass(frozen=True)
class Correction:
    """A change of the float or of the converted model.

    Args:
        kind: of its decisions.
        switches: the fields of ``Corrections`` that turn it off.
        is_free: whether it changes numbers of constants alone, which costs no cycle.
        gains: dB of the worst output in int8, by trained networks that only judge (``benchmarks/real/registry.py``);
            measured in docs/notes/2026-11-28-corrections.md.
    """

    kind: str
    switches: tuple[str, ...]
    is_free: bool
    gains: dict[str, float]


CORRECTIONS = (
    Correction(
        EQUALIZED,
        ("equalization", "smoothing"),
        True,
        {"mtcnn_pnet": 0.0, "text_direction": 0.0, "speech_embedding": 0.0},
    ),
    Correction(OWN_SCALE, ("rescaling",), False, {}),
    Correction(ROUNDED, ("rounding",), True, {"mtcnn_pnet": 0.2, "text_direction": 0.4, "speech_embedding": 0.2}),
    Correction(
        CORRECTED, ("bias_correction",), True, {"mtcnn_pnet": 0.2, "text_direction": -3.4, "speech_embedding": 0.1}
    ),
)
