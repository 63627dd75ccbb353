"""Changes of constants that lower the error of a quantized model."""
