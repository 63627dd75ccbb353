"""How the tests compile C."""

from __future__ import annotations

WARNINGS = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
