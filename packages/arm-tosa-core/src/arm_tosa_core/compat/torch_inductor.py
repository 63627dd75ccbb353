"""PyTorch's Inductor, which compiles for CPUs and GPUs: ExecuTorch imports most of it for one function."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch.fx import Graph

_MAKER = "torch._inductor.fx_passes.post_grad"
_READER = "torch.export._remove_auto_functionalized_pass"


#: Operators that the function looks for; it changes no other.
_TAKEN = {"auto_functionalized", "auto_functionalized_v2", "control_deps"}


def decompose_auto_functionalized(graph: Graph) -> None:
    """Inductor's function of this name, which is imported if there is something to decompose."""
    if any(getattr(node.target, "__name__", "") in _TAKEN for node in graph.nodes):
        import_module(_MAKER).decompose_auto_functionalized(graph)


def import_without_inductor() -> None:
    """Imports the part of ``torch.export`` that reads the function, which takes a second less of CPU time.

    Needs that ``torch.export._remove_auto_functionalized_pass`` imports ``decompose_auto_functionalized`` by this name,
    and that the function takes no operators but those of ``_TAKEN``. Without the one, all of Inductor is imported;
    without the other, an operator in place may stay functional.
    """
    if _MAKER in sys.modules or _READER in sys.modules:
        return
    maker = ModuleType(_MAKER)
    vars(maker)["decompose_auto_functionalized"] = decompose_auto_functionalized
    sys.modules[_MAKER] = maker
    try:
        with suppress(ImportError):
            import_module(_READER)
    finally:
        del sys.modules[_MAKER]
