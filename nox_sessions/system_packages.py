"""Debian packages that sessions need: what they bring, and their installation."""

from __future__ import annotations

import ctypes.util
import fcntl
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import nox


def _vulkan_driver() -> bool:
    folders = (Path(root, "vulkan/icd.d") for root in ("/etc", "/usr/share", "/usr/local/share"))
    return "VK_DRIVER_FILES" in os.environ or any(folder.glob("*.json") for folder in folders if folder.is_dir())


KHRONOS = "VkLayer_khronos_validation.json"
#: Debian packages, and whether what they bring is there.
COMPILER: dict[str, Callable[[], object]] = {"g++": lambda: shutil.which("c++")}
VULKAN: dict[str, Callable[[], object]] = {
    "libvulkan-dev": lambda: Path("/usr/include/vulkan/vulkan_raii.hpp").is_file(),
    "libvulkan1": lambda: ctypes.util.find_library("vulkan"),
    "mesa-vulkan-drivers": _vulkan_driver,
    "vulkan-validationlayers": lambda: Path("/usr/share/vulkan/explicit_layer.d", KHRONOS).is_file(),
}
FUZZER: dict[str, Callable[[], object]] = {
    "clang": lambda: shutil.which("clang++"),
    # What -fsanitize links; it is only recommended by clang.
    "libclang-rt-14-dev": lambda: any(Path("/usr/lib").glob("llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a")),
}
UNIT_TESTS: dict[str, Callable[[], object]] = {"libgtest-dev": lambda: Path("/usr/include/gtest/gtest.h").is_file()}
#: What draws reports is fetched with npm; Chromium opens them.
PAGES: dict[str, Callable[[], object]] = {
    "npm": lambda: shutil.which("npm"),
    "chromium": lambda: shutil.which("chromium"),
    "chromium-driver": lambda: shutil.which("chromedriver"),
}
BARE_METAL: dict[str, Callable[[], object]] = {
    "cmake": lambda: shutil.which("cmake"),
    "gcc-arm-none-eabi": lambda: shutil.which("arm-none-eabi-g++"),
    "libnewlib-arm-none-eabi": lambda: Path("/usr/lib/arm-none-eabi/newlib").is_dir(),
    "libstdc++-arm-none-eabi-newlib": lambda: Path("/usr/share/doc/libstdc++-arm-none-eabi-newlib").is_dir(),
    "qemu-system-arm": lambda: shutil.which("qemu-system-arm"),
}
CROSS: dict[str, Callable[[], object]] = {
    "g++-aarch64-linux-gnu": lambda: shutil.which("aarch64-linux-gnu-g++"),
    "qemu-user": lambda: shutil.which("qemu-aarch64"),
}


def install(session: nox.Session, *groups: dict[str, Callable[[], object]]) -> None:
    """Installs the Debian packages whose contents are missing; one session at a time, as apt-get waits for no other."""
    with _turn():
        _install(session, *groups)


@contextmanager
def _turn() -> Iterator[None]:
    with Path(tempfile.gettempdir(), "arm-tosa-apt.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install(session: nox.Session, *groups: dict[str, Callable[[], object]]) -> None:
    missing = [name for group in groups for name, there in group.items() if not there()]
    if not missing:
        return
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if sys.platform == "linux" and shutil.which("apt-get") and (not sudo or shutil.which("sudo")):
        install = ("install", "--yes", "--quiet", "--no-install-recommends", *missing)
        for words in (("update", "--quiet"), install):
            session.run(*sudo, "apt-get", *words, env={"DEBIAN_FRONTEND": "noninteractive"}, success_codes=range(256))
        missing = [name for name in missing if not any(name in group and group[name]() for group in groups)]
    if missing:
        # Where nobody looks at warnings, a test that is skipped would pass for one that passed.
        tell = session.error if "CI" in os.environ else session.warn
        tell(f"not installed, so what needs them is skipped or fails: {' '.join(missing)}")
