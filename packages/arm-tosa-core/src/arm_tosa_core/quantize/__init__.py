"""Quantization through PT2E: configurations, the annotator, the quantizer."""
