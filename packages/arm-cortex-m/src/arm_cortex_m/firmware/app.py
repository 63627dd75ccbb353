"""The program of a firmware: it runs each model once, on files."""

from __future__ import annotations

from collections.abc import Sequence

from .c_text import c_type, filled
from .memory import arena_bytes
from .model import Model, Port


def main_source(models: Sequence[Model]) -> str:
    """app/main.c."""
    return filled(
        "app/main.c.in",
        {
            "includes": "\n".join(f'#include "models/{model.name}.h"' for model in models),
            "functions": "".join(map(_function, models)).rstrip("\n") + "\n",
            "calls": " || ".join(f"{model.name}_on_files() != 0" for model in models),
        },
        arena=str(arena_bytes(models)),
    )


def file_of(model: str, port: Port) -> str:
    """The file that the program reads an input from, or writes an output to."""
    return f"{model}_{port.name}.bin"


def _function(model: Model) -> str:
    ports = [*model.inputs, *model.outputs]

    def each(call: str, of: Sequence[Port]) -> str:
        return " || ".join(
            f'{call}("{file_of(model.name, port)}", {port.name}, sizeof({port.name})) != 0' for port in of
        )

    return filled(
        "app/run_model.c.in",
        {
            "buffers": "\n".join(f"    MODEL_SRAM static {_declaration(model, port)};" for port in ports),
            "read": each("board_read", model.inputs),
            "write": each("board_write", model.outputs),
        },
        name=model.name,
        inputs=", ".join(port.name for port in model.inputs),
        outputs=", ".join(port.name for port in model.outputs),
    )


def _declaration(model: Model, port: Port) -> str:
    kind = c_type(port.dtype)
    bytes_ = f"{model.name.upper()}_{port.name.upper()}_BYTES"
    return f"{kind} {port.name}[{bytes_} / sizeof({kind})]"
