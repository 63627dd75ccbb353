"""A ``.tflite`` that was compiled before: found by its bytes, without PyTorch."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_kit import ok

from arm_tosa_core import TosaCompileSpec
from arm_tosa_core.flow.kept import file_fingerprint
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
