"""The operator cases, by family."""

from ..case import OpCase
from . import (
    activation,
    attention,
    batch,
    convolution,
    creation,
    elementwise,
    fourier,
    index,
    linear,
    logic,
    normalization,
    order,
    pool,
    recurrent,
    reduction,
    resize,
    sample,
    scatter,
    shape,
    signs,
)

CASES: list[OpCase] = [
    case
    for family in (
        elementwise,
        activation,
        logic,
        creation,
        convolution,
        linear,
        pool,
        batch,
        resize,
        normalization,
        attention,
        reduction,
        order,
        shape,
        index,
        scatter,
        recurrent,
        signs,
        sample,
        fourier,
    )
    for case in family.CASES
]
