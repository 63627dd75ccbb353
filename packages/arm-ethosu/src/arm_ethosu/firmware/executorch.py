"""A CMake project around a whole ``.pte``: ExecuTorch's runtime runs operators that the NPU does not take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from arm_cortex_m.firmware.c_text import filled, text
from arm_cortex_m.firmware.folder import write_folder
from arm_cortex_m.firmware.manifest import DeployedModel
from arm_cortex_m.firmware.model import Port, identifier
from arm_cortex_m.firmware.program import model_of
from arm_tosa_core.compat.executorch import operators_with_kernels
from arm_tosa_core.exir.pte import Delegate, Pte, read
from arm_tosa_core.exir.pte_steps import Needs, TensorValue, needs
from arm_tosa_core.plugin.firmware import Deployed, Program
from arm_tosa_core.support.errors import UsageError

from ..payload import unpack
from .npu import FOLDER, NPU

FORMAT = "executorch"
_METHOD = "forward"
_FILES = FOLDER / FORMAT
#: Namespaces of operators, by the owner of their kernels; the runtime's own kernels are in no library.
_PORTABLE, _QUANTIZED, _RUNTIME = ("aten", "dim_order_ops"), ("quantized_decomposed",), ("executorch_prim",)


def deploy(programs: Mapping[str, Program], target: str, board: str, folder: Path) -> Deployed:
    """Writes the folder: :meth:`arm_tosa_core.plugin.firmware.Firmware.deploy` for this format.

    Raises:
        UsageError: a board, several programs, one that ExecuTorch's runtime could not run so, or files of the user's in
            the way.
    """
    if board:
        raise UsageError(f"the format {FORMAT} is for any board: leave --board {board} out")
    if len(programs) != 1:
        raise UsageError(
            f"the format {FORMAT} takes one model, and {len(programs)} were given: deploy each into a folder of its own"
        )
    ((method, program),) = programs.items()
    name, pte = identifier(method), read(program.pte)
    requirements = needs(program.pte, _METHOD)
    inputs, outputs = _ports(name, requirements)
    files = _files(name, target, pte, requirements, inputs)
    written = write_folder(folder, files, board, target, [DeployedModel(name, inputs, outputs)])
    memory = [
        (f"{name}: program", "yours (.model_flash)", len(program.pte)),
        (f"{name}: inputs, outputs and all between", "yours (.bss.model_sram)", sum(requirements.planned)),
        (f"{name}: what ExecuTorch keeps, at most", "yours (.bss.model_sram)", _method_bytes(pte, requirements)),
        (f"{name}: scratch memory of the NPU", "yours (.bss.model_sram)", _scratch(pte)),
    ]
    return Deployed(written.changed, written.removed, memory, notes=_notes(name, program, target, folder, requirements))


def _files(name: str, target: str, pte: Pte, requirements: Needs, inputs: Sequence[Port]) -> dict[str, bytes]:
    """By path; same arguments, same bytes."""
    words: dict[str, Any] = {"name": name, "NAME": name.upper(), "target": target}
    portable, quantized = (_of(requirements, namespaces) for namespaces in (_PORTABLE, _QUANTIZED))
    planned = {f"planned{number}": size for number, size in enumerate(requirements.planned)}
    out = {
        "CMakeLists.txt": filled(
            _FILES / "CMakeLists.txt.in", **words, portable=",".join(portable), quantized=",".join(quantized)
        ),
        "kernels.txt": "".join(f"{operator}\n" for operator in requirements.operators),
        "app/app.cmake": text(_FILES / "app/app.cmake"),
        "app/main.cpp": filled(_FILES / "app/main.cpp.in", **words, method=_METHOD),
        f"models/{name}.hpp": filled(
            _FILES / "models/program.hpp.in", **words, largest=str(max((port.size for port in inputs), default=1))
        ),
        f"models/{name}_pte.S": filled(_FILES / "models/pte.S.in", **words),
        f"models/{name}_memory.cpp": filled(
            _FILES / "models/memory.cpp.in",
            {
                "planned": "\n".join(f"MODEL_SRAM uint8_t {buffer}[{size}];" for buffer, size in planned.items()),
                "buffers": ", ".join(f"{{{buffer}, sizeof({buffer})}}" for buffer in planned),
            },
            **words,
            pte_bytes=str(len(pte.data)),
            method_bytes=str(_method_bytes(pte, requirements)),
            scratch=str(_scratch(pte)),
        ),
    }
    out |= {f"cmake/{file}": text(_FILES / "cmake" / file) for file in ("from_python.cmake", "from_sources.cmake")}
    return {path: body.encode() for path, body in out.items()} | {f"models/{name}.pte": pte.data}


def _of(requirements: Needs, namespaces: tuple[str, ...]) -> list[str]:
    return [operator for operator in requirements.operators if operator.partition("::")[0] in namespaces]


def _ports(name: str, requirements: Needs) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    """Inputs and outputs, as the program has them.

    Raises:
        UsageError: one is no tensor, or has no place in planned memory.
    """

    def ports(kind: str, values: tuple[TensorValue | None, ...]) -> tuple[Port, ...]:
        out = []
        for number, value in enumerate(values):
            if value is None:
                raise UsageError(
                    f"{name}: {kind} {number} is no tensor, or the program plans no memory for it. Compile it with "
                    f"tensors alone, and with ExecuTorch's default MemoryPlanningPass(alloc_graph_{kind}=True)"
                )
            out.append(Port(f"{kind}{number}", value.shape, value.dtype, value.dtype))
        return tuple(out)

    return ports("input", requirements.inputs), ports("output", requirements.outputs)


def _method_bytes(pte: Pte, requirements: Needs) -> int:
    """A bound of the allocator's memory for ExecuTorch's Method on 64 bits: its records have fixed sizes."""
    of_delegates = sum(1024 + 64 * len(delegate.compile_specs) for delegate in _delegates(pte))
    records = 160 * requirements.values + 32 * requirements.items + 64 * requirements.calls + 8 * requirements.arguments
    return -(-(2048 + of_delegates + records) // 16) * 16


def _scratch(pte: Pte) -> int:
    """Scratch bytes of the delegate that needs most: they run one after the other."""
    return max(-(-int(unpack(delegate.payload)["scratch_size"]) // 16) * 16 for delegate in _delegates(pte))


def _delegates(pte: Pte) -> list[Delegate]:
    """The delegates of the method.

    Raises:
        UsageError: there is none, or one that is not for Ethos-U.
    """
    delegates = [delegate for delegate in pte.delegates if delegate.method == _METHOD]
    if backends := sorted({delegate.backend_id for delegate in delegates} - {NPU.backend_id}):
        raise UsageError(
            f"the program has delegates of {', '.join(backends)}, which a Cortex-M with an Ethos-U does not run; "
            "compile the model with `arm-tosa compile --target ethos-u...`"
        )
    if not delegates:
        raise UsageError(f"method {_METHOD!r} of the program has no delegate, so nothing of it runs on the NPU")
    return delegates


def _notes(name: str, program: Program, target: str, folder: Path, requirements: Needs) -> list[str]:
    listed = [operator for operator in requirements.operators if operator.partition("::")[0] not in _RUNTIME]
    notes = [f"on the processor, by ExecuTorch's kernels (kernels.txt): {', '.join(listed) or 'nothing'}"]
    if missing := sorted(set(listed) - operators_with_kernels()):
        notes.append(
            f"ExecuTorch's portable and quantized libraries have no kernel for {', '.join(missing)}: link one of yours "
            "in app/app.cmake, or the method does not load"
        )
    try:
        model_of(name, program, target, NPU)
        notes.append(
            "all of it but conversions at the edges runs on the NPU: --format cmake needs no ExecuTorch for it"
        )
    except UsageError:
        pass  # the purpose of this format
    if find_spec("arm_runtime") is None:
        notes.append(
            "arm_runtime is not installed, so the folder does not build for this machine; for a Cortex-M it builds "
            "from sources (-DEXECUTORCH_ROOT=, -DARM_RUNTIME_ROOT=)"
        )
    else:
        notes.append(f"build it for this machine: cmake -S {folder} -B {folder}/build && cmake --build {folder}/build")
    return notes
