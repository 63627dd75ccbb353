"""A name for everything that a ``.pte`` depends on: the program, the compile spec, and what is installed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, TypeGuard

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from ..exir.compile_spec import ArmCompileSpec
from ..exir.provenance import of_installation, of_spec


def fingerprint(program: ExportedProgram, compile_spec: ArmCompileSpec, *options: object) -> str | None:
    """A digest, in hexadecimal; None for what it cannot name: modules inside (control flow), sparse tensors.

    Args:
        options: what else is asked for; told apart by their text.
    """
    return _digest(program, [*of_installation(), *of_spec(compile_spec), *map(str, options)])


def program_fingerprint(program: ExportedProgram) -> str | None:
    """``fingerprint`` of the program alone, whatever it is compiled for and by."""
    return _digest(program, [])


def _digest(program: ExportedProgram, beside: list[str]) -> str | None:
    digest = hashlib.sha256()
    for part in [*beside, *_signature(program)]:
        digest.update(_encoded(part))
    for node in program.graph.nodes:
        if node.op == "get_attr":
            value = getattr(program.graph_module, str(node.target), None)
            if not _is_plain(value):
                return None
            _add_tensor(digest, node.name, value)
        digest.update(_encoded(_described(node)))
    for name, value in sorted([*program.state_dict.items(), *program.constants.items()]):
        if not _is_plain(value):
            return None
        _add_tensor(digest, name, value)
    return digest.hexdigest()


def _encoded(text: str) -> bytes:
    """A line of text, in which names of files may have bytes that are no text."""
    return f"{text}\n".encode(errors="surrogatepass")


def _is_plain(value: Any) -> TypeGuard[torch.Tensor]:
    """Whether it is a tensor whose elements are bytes in memory."""
    return isinstance(value, torch.Tensor) and value.layout is torch.strided and not value.is_quantized


def _described(node: Node) -> str:
    meta = node.meta.get("val")
    metas = meta if isinstance(meta, (list, tuple)) else [meta]
    shapes = [(m.dtype, m.shape, m.stride()) if isinstance(m, torch.Tensor) else m for m in metas]
    return f"{node.op} {node.name} {node.target} {node.args} {node.kwargs} {shapes} {node.meta.get('stack_trace')}"


def _add_tensor(digest: Any, name: str, tensor: torch.Tensor) -> None:
    tensor = tensor.detach()
    digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)} {tensor.stride()}\n".encode())
    digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy())


def _signature(program: ExportedProgram) -> Iterator[str]:
    yield str(program.graph_signature)
    yield str(program.range_constraints)
    for entry in program.module_call_graph:
        yield f"{entry.fqn} {entry.signature}"
