"""Errors, files written whole or not at all, and external tools: what every room stands on."""
