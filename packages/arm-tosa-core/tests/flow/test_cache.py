"""The cache of ``lower``: the same bytes, never stale, never in the way."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from executorch.exir.backend.operator_support import DontPartition
from flow_kit import Net, export, quantize
from program_kit import X
from torch.export import ExportedProgram
from typer.testing import CliRunner

from arm_tosa_core import ExecuTorchOptions, TosaCompileSpec, lower
from arm_tosa_core.aten import integer_edges, memory_format
from arm_tosa_core.cli.main import app
from arm_tosa_core.exir import backend, provenance
from arm_tosa_core.flow import cache
from arm_tosa_core.flow.fingerprint import fingerprint as name_of
from arm_tosa_core.support.cache_folder import cache_folder
from arm_tosa_core.support.errors import ToolError
from arm_tosa_core.support.passing import note


def _scaled(net: Net, x: torch.Tensor, by: float = 2.0) -> torch.Tensor:
    return net.conv(x) * by


def _spec() -> TosaCompileSpec:
    return TosaCompileSpec("TOSA-1.0+FP")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ARM_TOSA_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def program() -> ExportedProgram:
    return export(Net(_scaled), (X,))


def test_cold_and_warm_give_the_same(folder: Path, program: ExportedProgram) -> None:
    plain, cold, warm = (lower(program, _spec(), cache=use) for use in (False, True, True))
    assert [p.cached for p in (plain, cold, warm)] == [False, False, True]
    assert plain.buffer == cold.buffer == warm.buffer
    assert plain.report == cold.report == warm.report
    assert len(list(folder.iterdir())) == 1


def test_without_asking_nothing_is_kept(folder: Path, program: ExportedProgram) -> None:
    lower(program, _spec())
    assert not folder.exists()


def test_it_is_asked_before_anything_is_copied(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quantized = quantize(Net(_scaled), (X,))
    ask = partial(lower, quantized, "tosa-int", cache=True, integer_io=True, memory_format=torch.channels_last)
    first = ask()
    assert first.integers["input0"].dtype == torch.int8
    others = [ask(integer_io=False), ask(memory_format=torch.preserve_format)]
    assert not any(other.cached or other.buffer == first.buffer for other in others)
    for module, name in ((integer_edges, "with_integer_edges"), (memory_format, "with_memory_format")):
        monkeypatch.setattr(module, name, lambda *_: pytest.fail("it copies the program"))
    again = ask()
    assert again.cached and (again.buffer, again.integers) == (first.buffer, first.integers)


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-1], lambda b: b"", lambda b: b[:200] + b"\0" + b[201:], lambda b: b"x"]
)
def test_a_damaged_entry_is_made_anew(folder: Path, program: ExportedProgram, damage: Callable[[bytes], bytes]) -> None:
    whole = lower(program, _spec(), cache=True)
    (file,) = folder.iterdir()
    content = file.read_bytes()
    file.write_bytes(damage(content))
    again = lower(program, _spec(), cache=True)
    assert not again.cached and again.buffer == whole.buffer
    assert file.read_bytes() == content
    assert lower(program, _spec(), cache=True).cached


#: An order without axis 0, and one of more axes than there are sizes.
_INPUTS = [{"order": [1], "bounded": False, "sizes": [3]}, {"order": [0, 1], "bounded": False, "sizes": [3]}]
_HEADERS = [json.dumps({"report": {"target": "tosa"}, "integers": {}, "inputs": [one]}).encode() for one in _INPUTS]


@pytest.mark.parametrize("header", [b"{", b"\xff", b"[]", b"null", b"{}", b"[" * 100_000, *_HEADERS])
def test_an_entry_that_another_program_wrote_is_made_anew(
    folder: Path, program: ExportedProgram, header: bytes
) -> None:
    lower(program, _spec(), cache=True)
    (file,) = folder.iterdir()
    rest = header + b"\nno program"
    file.write_bytes(b"ARMTOSA3" + hashlib.sha256(rest).digest() + rest)
    assert not lower(program, _spec(), cache=True).cached and lower(program, _spec(), cache=True).cached


def test_what_was_made_in_spite_of_a_tool_that_died_is_not_kept(
    folder: Path, program: ExportedProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another time the tool may answer, and the program be another; a refusal would be the same again."""
    compile_ = backend.serialize_with_names

    def died(*arguments: Any, passing: bool, **options: Any) -> Any:
        note(ToolError("tool", "failed", passing=passing))
        return compile_(*arguments, **options)

    for passing in (True, False):
        monkeypatch.setattr(backend, "serialize_with_names", partial(died, passing=passing))
        made = [lower(program, _spec(), cache=True).cached for _ in range(2)]
        assert made == [False, not passing]


def test_a_sparse_buffer_has_no_name() -> None:
    program = export(Net(_scaled), (X,))
    program.constants["sparse"] = torch.eye(3).to_sparse()
    assert name_of(program, _spec()) is None


@pytest.mark.parametrize("given", ["", "relative", "./cache", "/absolute"])
def test_a_relative_cache_folder_is_ignored(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the XDG Base Directory Specification says."""
    monkeypatch.delenv("ARM_TOSA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", given)
    own = Path("/absolute") if given == "/absolute" else Path.home() / ".cache"
    assert cache_folder() == own / "arm-tosa"


def _other_weights() -> ExportedProgram:
    net = Net(_scaled)
    with torch.no_grad():
        net.conv.weight[0, 0, 0, 0] += 1
    return export(net, (X,))


PROGRAMS: dict[str, Callable[[], ExportedProgram]] = {
    "a weight": _other_weights,
    "a number": lambda: export(Net(lambda net, x: _scaled(net, x, 3.0)), (X,)),
    "the shape": lambda: export(Net(_scaled), (X[:, :, :4],)),
    "the order of dimensions": lambda: export(Net(_scaled), (X.to(memory_format=torch.channels_last),)),
}


@pytest.mark.parametrize("change", PROGRAMS)
def test_another_program_has_another_name(program: ExportedProgram, change: str) -> None:
    assert name_of(PROGRAMS[change](), _spec()) != name_of(program, _spec())


def test_the_same_program_has_the_same_name(program: ExportedProgram) -> None:
    assert name_of(export(Net(_scaled), (X,)), _spec()) == name_of(program, _spec())


def test_another_spec_file_or_package_has_another_name(
    program: ExportedProgram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, other = _spec(), TosaCompileSpec("TOSA-1.0+FP+bf16")
    file = tmp_path / "tool.ini"
    spec.compiler_flags = [f"--config={file}"]
    names = [name_of(program, other)]
    for text in ("slow", "fast"):
        file.write_text(text)
        names.append(name_of(program, spec))
    monkeypatch.setattr(provenance.plugins, "packages", lambda: {"json"})
    names.append(name_of(program, spec))
    assert len(set(names)) == 4


def test_control_flow_has_no_name() -> None:
    def forward(net: Net, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda y: y + 1, lambda y: y * 2, (x,))

    assert name_of(export(Net(forward), (X,)), _spec()) is None


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        (_spec, {"executorch": ExecuTorchOptions(additional_checks=[DontPartition(torch.ops.aten.mul.Tensor)])}),
        (lambda: _spec().dump_intermediate_artifacts_to("artifacts"), {}),
    ],
)
def test_what_cannot_be_named_is_not_kept(
    folder: Path, program: ExportedProgram, monkeypatch: pytest.MonkeyPatch, spec: Any, options: Any
) -> None:
    monkeypatch.chdir(folder.parent)
    assert not any(lower(program, spec(), cache=True, **options).cached for _ in range(2))
    assert not folder.exists()


def test_a_folder_that_cannot_be_written_is_no_obstacle(folder: Path, program: ExportedProgram) -> None:
    folder.write_text("a file is in the way")
    assert not any(lower(program, _spec(), cache=True).cached for _ in range(2))


def test_a_folder_that_others_write_is_read(
    folder: Path, program: ExportedProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    lower(program, _spec(), cache=True)
    monkeypatch.setattr("arm_tosa_core.flow.cache.os.utime", refuse)
    assert lower(program, _spec(), cache=True).cached


def test_what_was_not_used_for_longest_goes_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = lower(export(Net(_scaled), (X,)), _spec()).report
    monkeypatch.setattr(cache, "LIMIT", 250_000)
    folder.mkdir()
    (folder / "of-the-user").write_bytes(bytes(1000))
    for age, key in enumerate("abc"):
        cache.store(key, cache.Entry(bytes(100_000), report, {}, []))
        if key != "c":
            os.utime(folder / f"{key}.lowered", (age, age))
        if key == "b":
            assert cache.load("a") is not None  # used: "b" is the oldest now
    assert sorted(file.name for file in folder.iterdir()) == ["a.lowered", "c.lowered", "of-the-user"]


MODEL = """
import torch

def net():
    return torch.nn.Hardtanh().eval(), (torch.ones(1, 4),)
"""


def test_the_command_uses_it_unless_told_not_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(MODEL)
    arguments = ["compile", "model.py:net", "--target", "tosa-fp", "-o", "net.pte", "--json"]
    cached, bytes_ = [], []
    for more in ([], [], ["--no-cache"]):
        result = CliRunner().invoke(app, [*arguments, *more])
        assert result.exit_code == 0, result.output
        cached.append(json.loads(result.stdout)["cached"])
        bytes_.append(Path("net.pte").read_bytes())
    assert cached == [False, True, False]
    assert len(set(bytes_)) == 1
