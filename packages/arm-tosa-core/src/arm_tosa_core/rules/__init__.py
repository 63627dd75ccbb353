"""The rules of the ATen operators, by family. Importing a module declares its rules."""

from . import (  # noqa: F401
    activation,
    attention,
    convolution,
    creation,
    dynamic,
    elementwise,
    fourier,
    index,
    linear,
    logic,
    normalization,
    pool,
    reduction,
    refused,
    resize,
    sample,
    scatter,
    shape,
    signs,
    volume,
)
