"""A ``.tflite`` that was compiled before: found by its bytes, without PyTorch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_kit import ok

from arm_tosa_core import TosaCompileSpec, UsageError
from arm_tosa_core.cli import lowered
from arm_tosa_core.cli.model import load_program, require_file
from arm_tosa_core.exir.provenance import of_spec
from arm_tosa_core.exir.report import Report, Row
from arm_tosa_core.flow.kept import file_fingerprint, kept
from arm_tosa_core.flow.lowered_program import LoweredProgram
from arm_tosa_core.plugin import entry_points as plugins
from arm_tosa_core.support import passing
from arm_tosa_core.support.cache_folder import cache_folder, sources_of
from tflite_files import image_network, tflite

_AGAIN = """
import sys
from arm_tosa_core.cli.main import main
try:
    main()
finally:
    print(sorted({"torch", "executorch", "sympy", "pandas"} & set(sys.modules)), file=sys.stderr)
"""


def test_a_second_compile_is_of_the_same_bytes_and_imports_no_pytorch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARM_TOSA_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "net.tflite").write_bytes(tflite(image_network()))
    arguments = ["compile", str(tmp_path / "net.tflite"), "--target", "tosa-int", "-o"]
    first = ok(*arguments, str(tmp_path / "first.pte"))
    command = [sys.executable, "-W", "ignore", "-c", _AGAIN, *arguments, str(tmp_path / "second.pte"), "--json"]
    again = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert again.returncode == 0 and again.stderr.splitlines()[-1] == "[]", again.stderr
    second, changes = json.loads(again.stdout), ("output", "cached", "figures")
    assert (first["cached"], second["cached"]) == (False, True)
    assert first.keys() == second.keys() and all(first[key] == second[key] for key in first if key not in changes)
    written, plain = (tmp_path / name for name in ("second.pte", "plain.pte"))
    ok(*arguments, str(plain), "--no-cache")
    assert written.read_bytes() == (tmp_path / "first.pte").read_bytes() == plain.read_bytes()


def _name(path: str = "net.tflite", content: bytes = b"TFL3", spec: str = "TOSA-1.0+INT", *options: object) -> object:
    return file_fingerprint(Path(path), content, TosaCompileSpec(spec), *options)


OTHERS: dict[str, Callable[[], object]] = {
    "the name, which source lines have": lambda: _name("other.tflite"),
    "the bytes": lambda: _name(content=b"TFL4"),
    "the spec": lambda: _name(spec="TOSA-1.0+INT+int16"),
    "an option": lambda: _name("net.tflite", b"TFL3", "TOSA-1.0+INT", ["x=1x3"]),
}


@pytest.mark.parametrize("change", OTHERS)
def test_another_file_or_request_has_another_name(change: str) -> None:
    assert _name() == _name() and _name("folder/net.tflite") == _name()
    assert OTHERS[change]() not in (None, _name())


def test_what_leaves_artifacts_has_no_name() -> None:
    spec = TosaCompileSpec("TOSA-1.0+INT").dump_intermediate_artifacts_to("artifacts")
    assert file_fingerprint(Path("net.tflite"), b"", spec) is None


@pytest.mark.parametrize("place", ["~/own.ini", "{home}/a=b/own.ini", "{home}/own.ini", "--config={home}/a=b/own.ini"])
def test_the_content_of_a_file_that_an_option_names_counts(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a=b").mkdir()
    spec, found = TosaCompileSpec("TOSA-1.0+INT"), []
    spec.compiler_flags.append(place.format(home=tmp_path))
    for content in ("slow", "fast"):
        for folder in (tmp_path, tmp_path / "a=b"):
            (folder / "own.ini").write_text(content)
        found.append(list(of_spec(spec)))
    assert found[0] != found[1] and found[0][0] == found[1][0]


def test_names_that_are_no_text_and_words_longer_than_a_path_are_no_errors() -> None:
    spec = TosaCompileSpec("TOSA-1.0+INT")
    spec.compiler_flags.append("x" * 5000)
    assert file_fingerprint(Path(os.fsdecode(b"\xff.tflite")), b"", spec) not in (None, _name(content=b""))


def test_links_to_nothing_are_no_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (package := tmp_path / "edited").mkdir()
    (package / "__init__.py").touch()
    (package / ".#rules.py").symlink_to("somebody@here.1")
    monkeypatch.syspath_prepend(tmp_path)
    assert len(list(sources_of("edited"))) == 1


def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", home)
    for variable in ("ARM_TOSA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(NotADirectoryError):
        cache_folder().mkdir(parents=True)


def _made() -> LoweredProgram:
    return LoweredProgram(b"program", {"forward": Report("tosa", 1, [Row("add", "aten.add.Tensor")])}, _inputs=[])


@pytest.mark.parametrize("what", ["nothing", "a warning", "a plugin left out", "another key"])
def test_what_may_be_otherwise_at_another_time_is_not_kept(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARM_TOSA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(plugins, "_left_out", {"rules"} if what == "a plugin left out" else set())

    def make() -> LoweredProgram:
        if what == "a warning":
            passing.note_warning()
        return _made()

    for _ in range(2):
        again = kept("key", make, lambda: "other" if what == "another key" else "key").cached
    assert again == (what == "nothing")


def test_a_file_that_changes_while_it_is_compiled_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARM_TOSA_CACHE_DIR", str(tmp_path / "cache"))
    (file := tmp_path / "net.tflite").write_bytes(before := tflite(image_network()))

    def changed(*arguments: Any, **more: Any) -> Any:
        file.write_bytes(tflite(image_network(4)))
        return load_program(*arguments, **more)

    arguments = ["compile", file, "--target", "tosa-int", "-o", tmp_path / "net.pte"]
    with monkeypatch.context() as patch:
        patch.setattr(lowered, "load_program", changed)
        ok(*arguments)
    file.write_bytes(before)
    assert not ok(*arguments)["cached"] and ok(*arguments)["cached"]


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "net.tflite")
    writer = threading.Thread(target=lambda: pipe.write_bytes(tflite(image_network())), daemon=True)
    writer.start()
    assert not ok("compile", pipe, "--target", "tosa-int", "-o", tmp_path / "net.pte")["cached"]
    with pytest.raises(UsageError, match="no such file"):
        require_file(tmp_path / "absent.tflite")
