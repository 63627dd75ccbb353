"""Rewrites of the TOSA graph that every target gets."""

from ..rewrite import Rewrite

REWRITES: tuple[Rewrite, ...] = ()
