"""Arguments of the public functions that are of another kind than the function takes."""

from __future__ import annotations

import reprlib

from .errors import UsageError


def brief(value: object) -> str:
    """A caller's value as an error shows it: long texts, lists and tensors are cut."""
    return reprlib.repr(value)


def require_program(value: object, function: str) -> None:
    """Refuses a value that is no program of ``torch.export``.

    Raises:
        UsageError: says how to make one of the value; also for a program in ExecuTorch's edge dialect.
    """
    from torch import nn
    from torch.export import ExportedProgram

    if isinstance(value, ExportedProgram):
        if value.dialect == "EDGE":
            raise UsageError(f"{function} takes a program of torch.export, not one of to_edge: give that of before")
        return
    if isinstance(getattr(value, "converted", None), nn.Module):
        advice = "export the quantized model: torch.export.export(quantized.converted, inputs)"
    elif isinstance(value, nn.Module):
        advice = "export the model: torch.export.export(model.eval(), inputs)"
    else:
        advice = "torch.export.export(model, inputs) makes one, and torch.export.load(path) reads a .pt2"
    raise UsageError(f"{function} takes a program of torch.export, not {type(value).__name__}: {advice}")


def require_kind(value: object, kind: type, argument: str) -> None:
    """Refuses a value of another type.

    Raises:
        UsageError: names the argument and the type.
    """
    if not isinstance(value, kind):
        takes = "True or False" if kind is bool else f"{kind.__name__}(...)"
        raise UsageError(f"{argument} takes {takes}, not {brief(value)}")


def require_callable(value: object, argument: str) -> None:
    """Refuses a value that cannot be called.

    Raises:
        UsageError: names the argument.
    """
    if not callable(value):
        raise UsageError(f"{argument} takes a function, not {brief(value)}")
