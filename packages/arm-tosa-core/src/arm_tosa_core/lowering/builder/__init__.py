"""The builder that emits TOSA, of parts with one job each."""

from .builder import Builder as Builder
