"""The operator cases, by family."""

from importlib import import_module

from ..case import OpCase

_FAMILIES = (
    *("elementwise", "activation", "logic", "creation", "convolution", "linear", "pool", "batch", "resize"),
    *("normalization", "attention", "reduction", "order", "shape", "index", "scatter", "recurrent", "signs"),
    *("sample", "fourier", "energies"),
)
CASES: list[OpCase] = [case for family in _FAMILIES for case in import_module(f"{__name__}.{family}").CASES]
