"""Measurements of this project beside ``executorch.backends.arm``; README.md says how to run them."""
