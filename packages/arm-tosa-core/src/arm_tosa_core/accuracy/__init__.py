"""How much a quantized model differs from the float one: per operator, end to end, and what 16 bits would mend."""
