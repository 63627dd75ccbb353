"""A TOSA graph on this machine, computed by the C functions of firmware."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from arm_tosa_core.support.errors import ToolError
from arm_tosa_core.support.external_tools import run_tool
from arm_tosa_core.tosa.loader import load

from .c_text import c_type
from .formats.sources import model_files, processor_files, sources
from .model import Model
from .processor_steps import model_of_graph

Array = np.ndarray[Any, Any]
COMPILER = "cc"
FIX = "apt-get install build-essential"
_FLAGS = ("-std=c11", "-O1", "-I.", "-Icommon", "-Iprocessor")
_SECONDS = 600
#: Programs that are kept while this process lives.
_KEPT = 4

_MAIN = """
#include "models/graph.h"

#include <stdio.h>

_Alignas(GRAPH_ARENA_ALIGNMENT) static uint8_t arena[GRAPH_ARENA_BYTES];
{arrays}
int main(void) {{
    const graph_inputs inputs = {{{inputs}}};
    const graph_outputs outputs = {{{outputs}}};
    graph_model model;
    FILE *file = fopen("inputs", "rb");

    if (file == NULL{read}) {{
        return 100;
    }}
    (void)fclose(file);
    int status = (int)graph_init(&model, arena, sizeof arena);

    if (status == 0) {{
        status = (int)graph_run(&model, &inputs, &outputs);
    }}
    file = fopen("outputs", "wb");
    if (file == NULL{write}) {{
        return 101;
    }}
    return fclose(file) == 0 ? status : 101;
}}
"""


def run(tosa: bytes, inputs: Sequence[Array]) -> list[Array]:
    """Computes a graph by the functions that firmware of it has, built by this machine's C compiler.

    Raises:
        ToolError: there is no C compiler, it fails, or the run does.
    """
    graph = load(tosa)
    program = _built(tosa)
    with tempfile.TemporaryDirectory(prefix="arm_cortex_m_") as folder:
        data = b"".join(np.ascontiguousarray(array).tobytes() for array in inputs)
        (Path(folder) / "inputs").write_bytes(data)
        why = "the graph on this machine"
        run_tool(why, [str(Path(program.name) / "graph")], cwd=folder, timeout=_SECONDS, fix=_STATUS)
        results = (Path(folder) / "outputs").read_bytes()
    out, at = [], 0
    for port in model_of_graph(graph, "").outputs:
        out.append(np.frombuffer(results[at : at + port.size], port.dtype).reshape(port.shape))
        at += port.size
    return out


_STATUS = "the status is model_status of common/model_status.h: an index beyond what it counts is 6"


@lru_cache(maxsize=_KEPT)
def _built(tosa: bytes) -> tempfile.TemporaryDirectory[str]:
    """The folder of a program, which lasts as long as this object."""
    if shutil.which(COMPILER) is None:
        raise ToolError(COMPILER, "is not installed: it compiles the C of Cortex-M for this machine", fix=FIX)
    model = model_of_graph(load(tosa), "this machine")
    folder = tempfile.TemporaryDirectory(prefix="arm_cortex_m_")
    for path, text in {**sources([model], None), "main.c": _main(model)}.items():
        file = Path(folder.name) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    files = ["main.c", *model_files(model), *processor_files([model])]
    run_tool(COMPILER, [COMPILER, *_FLAGS, *files, "-o", "graph"], cwd=folder.name, timeout=_SECONDS, fix=FIX)
    return folder


def _main(model: Model) -> str:
    arrays = [(c_type(port.dtype), port.name, prod(port.shape)) for port in (*model.inputs, *model.outputs)]

    def all_of(function: str, names: Sequence[str]) -> str:
        return "".join(f" || {function}({name}, sizeof {name}, 1, file) != 1" for name in names)

    inputs, outputs = ([port.name for port in each] for each in (model.inputs, model.outputs))
    return _MAIN.format(
        arrays="\n".join(f"_Alignas(16) static {kind} {name}[{size}];" for kind, name, size in arrays),
        inputs=", ".join(f".{name} = {name}" for name in inputs),
        outputs=", ".join(f".{name} = {name}" for name in outputs),
        read=all_of("fread", inputs),
        write=all_of("fwrite", outputs),
    )
