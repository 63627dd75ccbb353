"""The exporters of PyTorch and ExecuTorch without a library that they import if it is there, and do without."""

from __future__ import annotations

import sys
from importlib import import_module

#: ExecuTorch imports it for operators that only programs have which it has quantized.
_LEFT_OUT = "torchao"
_alone = False


def alone_in_process() -> None:
    """Says that nobody else uses this process: ``import_exporter`` may leave the library out for good."""
    global _alone
    _alone = True


def import_exporter() -> None:
    """Imports both, in a process of ours without torchao, for a program that nobody is going to quantize.

    Needs that ``executorch.exir.operator.util`` takes an ImportError for a library that is not installed. Without that,
    the import fails.
    """
    import_module(".torch", __package__)  # which leaves out Inductor
    if not _alone or _LEFT_OUT in sys.modules:
        return
    sys.modules[_LEFT_OUT] = None  # type: ignore[assignment]  # Python's way to say that there is no such module
    try:
        import_module("torch.export._trace")
        _ = import_module("executorch.exir").to_edge  # a name, lest the package stay deferred
    finally:
        del sys.modules[_LEFT_OUT]
