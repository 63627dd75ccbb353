"""The rules of the ATen operators, by family; the entry point ``arm-tosa-core`` of ``arm_tosa.rules`` names them."""
