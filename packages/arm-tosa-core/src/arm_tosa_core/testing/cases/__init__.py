"""The operator cases, by family."""

from ..case import OpCase
from . import (
    activation,
    attention,
    convolution,
    creation,
    elementwise,
    index,
    linear,
    logic,
    normalization,
    pool,
    recurrent,
    reduction,
    resize,
    scatter,
    shape,
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
        resize,
        normalization,
        attention,
        reduction,
        shape,
        index,
        scatter,
        recurrent,
    )
    for case in family.CASES
]
