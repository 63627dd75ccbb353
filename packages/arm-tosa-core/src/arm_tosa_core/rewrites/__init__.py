"""Rewrites of the TOSA graph that every target gets."""

from ..tosa.rewrite import Rewrite
from .data_movement import (
    DROP_RESCALE,
    DROP_RESHAPE,
    EQUAL_VIEWS,
    MERGE_RESHAPES,
    MERGE_SLICES,
    MERGE_TRANSPOSES,
    TRANSPOSE_AS_RESHAPE,
    TRANSPOSE_BEFORE_CAST,
    TRANSPOSE_BEFORE_TILE,
)
from .fold_affine import FOLD_AFFINE
from .rescales import MERGE_SIGNS, RESCALE_FIRST
from .tables import MERGE_TABLES

REWRITES: tuple[Rewrite, ...] = (
    FOLD_AFFINE,
    RESCALE_FIRST,
    MERGE_SIGNS,
    MERGE_TABLES,
    DROP_RESCALE,
    DROP_RESHAPE,
    EQUAL_VIEWS,
    MERGE_RESHAPES,
    MERGE_SLICES,
    MERGE_TRANSPOSES,
    TRANSPOSE_AS_RESHAPE,
    TRANSPOSE_BEFORE_CAST,
    TRANSPOSE_BEFORE_TILE,
)
