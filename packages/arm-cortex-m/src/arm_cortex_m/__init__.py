"""Arm Cortex-M as a target of ``arm_tosa_core``: TOSA operators in C, and firmware for boards."""
