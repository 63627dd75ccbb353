"""Quantization through PT2E: configurations, the annotator, the quantizer."""

from ..support.library_messages import without_import_messages

with without_import_messages():  # before a module of this room imports it
    import torchao.quantization.pt2e  # noqa: F401
