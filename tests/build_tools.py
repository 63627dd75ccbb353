"""Compilers and emulators that tests run."""

from __future__ import annotations

import shutil

import pytest

#: The Debian package of a tool, where it is called otherwise.
_PACKAGES = {
    "arm-none-eabi-g++": "libstdc++-arm-none-eabi-newlib",
    "arm-none-eabi-gcc": "gcc-arm-none-eabi libnewlib-arm-none-eabi",
    "cc": "gcc",
    "c++": "g++",
}


def require(*tools: str) -> None:
    """Skips the test on a machine that lacks one of the tools, and names the command that installs it."""
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool}: apt-get install {_PACKAGES.get(tool, tool)}")
