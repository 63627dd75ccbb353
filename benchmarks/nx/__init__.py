"""Cycles of a GPU's neural accelerator by Arm's estimator: this project beside executorch.backends.arm."""
