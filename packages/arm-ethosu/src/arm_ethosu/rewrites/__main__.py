"""Prints the table of the rewrites as Markdown."""

from .catalogue import markdown

print(markdown(), end="")
