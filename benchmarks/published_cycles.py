"""Cycles of Ethos-U that others have published, and what is known of how they came about.

All but the last are of Arm's FVPs. Where the network can be built here, the row names it, and
``python -m benchmarks.timing --published`` puts the estimate beside.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """One figure.

    Args:
        what: the network as the source calls it, and what is known of the setting.
        source: where it stands.
        target: the accelerator; empty: not said.
        cycles: of the NPU; 0: not said.
        network: of ``tests/models``, if it is the same but for its weights; its input is channels last, as theirs is.
        memory_mode: that it was compiled with; empty: the target's default.
    """

    what: str
    source: str
    target: str = ""
    cycles: int = 0
    network: str = ""
    memory_mode: str = ""


_KIT = "Arm ML embedded evaluation kit, docs/use_cases"

PUBLISHED = (
    Published(
        "MobileNetV2 1.0 224 int8, 1001 classes, Corstone-300 FVP",
        f"{_KIT}/img_class.md",
        "ethos-u55-128",
        7_346_172,
        "mobilenet_v2",
    ),
    Published(
        "MobileNetV2, Sram_Only, Corstone-300 FVP; rounded",
        "https://github.com/pytorch/executorch/pull/9830",
        "ethos-u55-128",
        5_500_000,
        "mobilenet_v2",
        "Sram_Only",
    ),
    Published(
        "MobileNetV2, Corstone-320 FVP, input permuted by the processor",
        "ExecuTorch documentation, tutorial of the Arm backend, output of a run",
        "ethos-u85-128",
        5_920_305,
        "mobilenet_v2",
    ),
    Published("MicroNet (keywords), Corstone-300 FVP", f"{_KIT}/kws.md", "ethos-u55-128", 414_172),
    Published(
        "MicroNet (visual wake words), Corstone-300 FVP", f"{_KIT}/visual_wake_word.md", "ethos-u55-128", 717_708
    ),
    Published("Wav2Letter, pruned, Corstone-300 FVP", f"{_KIT}/asr.md", "ethos-u55-128", 28_451_172),
    Published("YOLO Fastest 192, Corstone-300 FVP", f"{_KIT}/object_detection.md", "ethos-u55-128", 2_051_194),
    Published("DNN small (keywords), Corstone-300 FVP", f"{_KIT}/inference_runner.md", "ethos-u55-128", 34_178),
    Published(
        "MobileNetV2 on a board with Ethos-U55: 113 ms (ExecuTorch), 91.2 ms (LiteRT); MACs, clock and flash not said",
        "https://github.com/pytorch/executorch/issues/17157",
    ),
)
