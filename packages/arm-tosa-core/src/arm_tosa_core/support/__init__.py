"""Errors, files written whole or not at all, and external tools: the base of every subpackage."""
