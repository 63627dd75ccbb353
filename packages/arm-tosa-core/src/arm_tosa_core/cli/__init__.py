"""The ``arm-tosa`` command."""
