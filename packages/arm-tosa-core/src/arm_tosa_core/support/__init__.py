"""Errors, files written whole or not at all, and external tools: what every subpackage stands on."""
