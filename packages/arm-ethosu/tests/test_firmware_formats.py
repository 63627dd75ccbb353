"""Formats of firmware for other systems: what their own tools read, and that sources and descriptions fit."""

from __future__ import annotations

import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from firmware_kit import project, words_program

from arm_cortex_m.firmware.formats import FORMATS
from arm_ethosu.firmware import FIRMWARE
from arm_tosa_core.support.errors import UsageError
from build_tools import require

#: What Zephyr's build defines before it reads a module, as far as ours uses it.
ZEPHYR = """
cmake_minimum_required(VERSION 3.20)
project(zephyr_stand_in C)
set(CONFIG_ARM_TOSA_MODELS y)
set(CONFIG_ARM_TOSA_NPU_NULL y)
function(zephyr_library_named name)
  add_library(${name} STATIC)
  set(ZEPHYR_CURRENT_LIBRARY ${name} PARENT_SCOPE)
endfunction()
function(zephyr_library_sources)
  target_sources(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGN})
endfunction()
function(zephyr_library_sources_ifdef feature)
  if(${feature})
    target_sources(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGN})
  endif()
endfunction()
function(zephyr_library_compile_definitions_ifdef feature)
  if(${feature})
    target_compile_definitions(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGN})
  endif()
endfunction()
function(zephyr_include_directories)
  include_directories(${ARGN})
  target_include_directories(${ZEPHYR_CURRENT_LIBRARY} PUBLIC ${ARGN})
endfunction()
function(zephyr_library_include_directories)
  target_include_directories(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGN})
endfunction()
add_compile_definitions(__ZEPHYR__=1)
add_compile_options(-std=c11 -Wall -Wextra -Werror)
add_subdirectory(module/zephyr)
"""


def deploy(form: str, folder: Path) -> Path:
    FIRMWARE.deploy({"words": words_program(), "more words": words_program()}, "ethos-u55-128", "", folder, form)
    return folder


def test_a_module_of_zephyr_builds(tmp_path: Path) -> None:
    """With stand-ins for Zephyr's own functions; its sections are where its linker scripts look."""
    require("cmake", "cc")
    deploy("zephyr", tmp_path / "module")
    (tmp_path / "CMakeLists.txt").write_text(ZEPHYR)
    for words in (["-S", ".", "-B", "build"], ["--build", "build"]):
        done = subprocess.run(["cmake", *words], cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        assert ("jobs of the NPU succeed and compute nothing" in " ".join(done.stderr.split())) == ("-S" in words)
    (archive,) = (tmp_path / "build").rglob("libarm_tosa_models.a")
    sections = subprocess.run(["objdump", "-h", archive], capture_output=True, text=True, check=True).stdout
    assert ".rodata.model_flash" in sections and " .model_flash" not in sections
    symbols = subprocess.run(["nm", archive], capture_output=True, text=True, check=True).stdout
    assert " T words_run" in symbols and " T more_words_run" in symbols and " T npu_run" in symbols


@pytest.mark.parametrize(
    ("driver", "chosen"),
    [
        pytest.param("", "ARM_TOSA_NPU_NULL", id="no driver"),
        pytest.param("ETHOS_U", "ARM_TOSA_NPU_CORE_DRIVER", id="since Zephyr 4.2"),
        pytest.param("ARM_ETHOS_U", "ARM_TOSA_NPU_CORE_DRIVER", id="before Zephyr 4.2"),
    ],
)
def test_zephyrs_tools_read_the_module(driver: str, chosen: str, tmp_path: Path) -> None:
    kconfiglib = pytest.importorskip("kconfiglib", reason="kconfiglib is not installed")
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    module = deploy("zephyr", tmp_path)
    said = yaml.safe_load((module / "zephyr" / "module.yml").read_text())
    assert said.keys() == {"name", "build"} and said["build"].keys() == {"cmake", "kconfig"}
    assert (module / said["build"]["cmake"] / "CMakeLists.txt").is_file()
    zephyrs = "".join(f'config {name}\n\tbool "{name}"\n\n' for name in filter(None, (driver, "DCACHE")))
    (tmp_path / "Kconfig.all").write_text(f'{zephyrs}rsource "{said["build"]["kconfig"]}"\n')
    config = kconfiglib.Kconfig(str(tmp_path / "Kconfig.all"), warn_to_stderr=False)
    assert not config.warnings
    for name in filter(None, (driver, "ARM_TOSA_MODELS")):
        config.syms[name].set_value("y")
    runs = {name for name in ("ARM_TOSA_NPU_CORE_DRIVER", "ARM_TOSA_NPU_NULL") if config.syms[name].str_value == "y"}
    assert runs == {chosen}
    assert "words, more_words" in config.syms["ARM_TOSA_MODELS"].nodes[0].prompt[0]


def test_a_pack_describes_its_files(tmp_path: Path) -> None:
    folder = deploy("cmsis-pack", tmp_path)
    package = ElementTree.parse(folder / "ArmTosa.words_more_words.pdsc").getroot()
    named = [(file.get("category"), str(file.get("name"))) for file in package.iter("file")]
    for category, name in named:
        assert (folder / name).is_dir() if category == "include" else (folder / name).is_file(), name
    sources = {name for category, name in named if category == "sourceC"}
    assert sources == {str(file.relative_to(folder)) for file in folder.rglob("*.c")}
    conditions = {condition.get("id") for condition in package.iter("condition")}
    used = {component.get("condition") for component in package.iter("component")} - {None}
    assert used == conditions
    assert {component.get("Csub") for component in package.iter("component")} >= {"words", "more_words", "Null"}


@pytest.mark.parametrize("form", FORMATS)
def test_same_models_same_bytes(form: str, tmp_path: Path) -> None:
    board = "host" if form == "cmake" else ""
    both = [tmp_path / "one", tmp_path / "other"]
    for folder in both:
        FIRMWARE.deploy({"words": words_program()}, "ethos-u55-128", board, folder, form)
    one, other = (
        {file.relative_to(folder): file.read_bytes() for file in folder.rglob("*") if file.is_file()} for folder in both
    )
    assert one == other and len(one) > 10


def test_wrong_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no format 'make'; formats are: cmake, cmsis-pack, zephyr"):
        project([], None, "make")
    with pytest.raises(UsageError, match="the format cmake is for a board: give --board"):
        project([], None)
    with pytest.raises(UsageError, match="the format zephyr is for any board: leave --board host out"):
        FIRMWARE.deploy({"words": words_program()}, "ethos-u55-128", "host", tmp_path, "zephyr")
    FIRMWARE.deploy({"words": words_program()}, "ethos-u55-128", "", tmp_path, "zephyr")
    with pytest.raises(UsageError, match="is a part of a system of yours"):
        FIRMWARE.run(tmp_path, [torch.arange(8)[None].numpy()])
