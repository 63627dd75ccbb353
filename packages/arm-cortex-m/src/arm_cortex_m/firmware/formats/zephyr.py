"""A module of Zephyr: a library that an application turns on in its configuration."""

from __future__ import annotations

from collections.abc import Sequence

from ..c_text import filled, text
from ..model import Model
from ..npu import Npu
from .sources import model_files, processor_files


def zephyr_module(models: Sequence[Model], npu: Npu | None) -> dict[str, str]:
    """The files that Zephyr's build reads, by path."""
    return {
        "zephyr/module.yml": text("zephyr/module.yml"),
        "zephyr/Kconfig": filled(
            "zephyr/Kconfig.in",
            {"npu": npu.build("Kconfig") if npu else "", "where": ", mostly on an NPU" if npu else ""},
            models=", ".join(model.name for model in models),
        ),
        "zephyr/CMakeLists.txt": filled(
            "zephyr/CMakeLists.txt.in",
            {
                "models": "\n".join(
                    f"  ../{file}"
                    for file in (*(file for model in models for file in model_files(model)), *processor_files(models))
                ),
                "npu": npu.build("zephyr.cmake") if npu else "",
            },
        ),
    }
