"""Networks in the forms of ncnn, IREE and ExecuTorch's XNNPACK delegate."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from pathlib import Path

import torch

from arm_tosa_core.support.errors import ToolError
from arm_tosa_core.support.external_tools import find_tool, run_tool
from benchmarks.registry import Network

TIMEOUT_S = 900
_PACKAGES = {"pnnx": "pnnx", "iree-compile": "iree-base-compiler", "tosa-opt": "tosa-tools"}
_TYPES = {torch.float32: "f32", torch.float16: "f16", torch.int64: "i64"}


def ncnn(made: Network, to: Path) -> None:
    """Writes ``to`` with the endings .param and .bin; weights are float32, whatever ncnn computes in later.

    Raises:
        ToolError: it is not installed, or refuses the network.
    """
    module, inputs = made
    example = inputs(1)
    shapes = [f"[{','.join(map(str, x.shape))}]{_TYPES[x.dtype]}" for x in example]
    with tempfile.TemporaryDirectory() as folder:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            traced = torch.jit.trace(module, example, check_trace=False)  # type: ignore[no-untyped-call]
            traced.save(str(Path(folder, "model.pt")))
        _run(folder, "pnnx", "model.pt", f"inputshape={','.join(shapes)}", "fp16=0")
        for ending in ("param", "bin"):
            made_file = Path(folder, f"model.ncnn.{ending}")
            if not made_file.exists():
                raise ToolError("pnnx", f"made no {made_file.name}")
            shutil.move(made_file, f"{to}.{ending}")


def iree(tosa: bytes, to: Path, *flags: str) -> None:
    """Writes the module of a TOSA graph.

    Args:
        flags: of iree-compile; which target, above all.

    Raises:
        ToolError: it is not installed, or refuses the network.
    """
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "graph.tosa").write_bytes(tosa)
        Path(folder, "empty.mlir").write_text("module {}\n")
        read = "--tosa-deserialize=tosa-flatbuffer-filename=graph.tosa"
        _run(folder, "tosa-opt", read, "--mlir-print-op-generic", "-o=graph.mlir", "empty.mlir")
        _run(folder, "iree-compile", "--iree-input-type=tosa", *flags, "graph.mlir", "-o", "graph.vmfb")
        shutil.move(Path(folder, "graph.vmfb"), to)


def iree_vulkan(target: str) -> tuple[str, str]:
    """Flags for a GPU, such as ``ampere``."""
    return "--iree-hal-target-backends=vulkan-spirv", f"--iree-vulkan-target={target}"


IREE_CPU = ("--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host")


def xnnpack(made: Network, to: Path) -> None:
    """Writes a .pte, int8 as ExecuTorch's XNNPACK quantizer has it."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from executorch.exir import to_edge_transform_and_lower
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    module, inputs = made
    example = inputs(1)
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        prepared = prepare_pt2e(torch.export.export(module, example).module(), quantizer)
        prepared(*example)
        quantized = torch.export.export(convert_pt2e(prepared), example)
        lowered = to_edge_transform_and_lower(quantized, partitioner=[XnnpackPartitioner()])
    to.write_bytes(lowered.to_executorch().buffer)


def _run(folder: str, tool: str, *arguments: str) -> None:
    command = [find_tool(tool, package=_PACKAGES[tool]), *arguments]
    run_tool(tool, command, timeout=TIMEOUT_S, cwd=folder)
