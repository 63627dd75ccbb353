"""Quantization schemes: integers, scales and observers."""
