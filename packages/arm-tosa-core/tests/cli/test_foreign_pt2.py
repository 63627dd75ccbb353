"""A ``.pt2`` of somebody else: nothing in it runs unless the user says so."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from cli_kit import run

from arm_tosa_core.compat.torch_pt2 import CodeInFile, is_arithmetic, load_pt2

EXPLAIN = ("explain", "net.pt2", "--target", "tosa")


class _Code:
    """Writes a file when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("echo owned > owned",)


def saved(dynamic: bool = False, module: torch.nn.Module | None = None) -> bytes:
    buffer = io.BytesIO()
    shapes = ({0: torch.export.Dim("batch", max=8)},) if dynamic else None
    program = torch.export.export(module or torch.nn.ReLU(), (torch.randn(2, 3),), dynamic_shapes=shapes)
    torch.export.save(program, buffer)
    return buffer.getvalue()


def edited(data: bytes, change: Callable[[str, bytes], bytes], more: dict[str, bytes] | None = None) -> bytes:
    """The archive with the contents of its members changed, and more members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
        root = old.namelist()[0].split("/")[0]
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
        for name, content in (more or {}).items():
            new.writestr(f"{root}/{name}", content)
    return buffer.getvalue()


def pickled() -> bytes:
    buffer = io.BytesIO()
    torch.save(((torch.randn(2, 3), _Code()), {}), buffer)
    return buffer.getvalue()


def in_inputs() -> bytes:
    return edited(saved(), lambda name, old: pickled() if "sample_inputs" in name else old)


def in_constants(member: str) -> bytes:
    """PyTorch unpickles objects that are "opaque" whatever it is told; it finds members in any case."""
    meta = {"config": {"c": {"path_name": "opaque_obj_0", "is_param": False, "use_pickle": True, "tensor_meta": None}}}

    def change(name: str, old: bytes) -> bytes:
        return json.dumps(meta).encode() if name.endswith("constants_config.json") else old

    import pickle

    return edited(saved(), change, {f"data/constants/{member}": pickle.dumps(_Code())})


def in_expression(text: str = "__import__('os').system('echo owned > owned')") -> bytes:
    """PyTorch evaluates the expressions of sizes."""

    def change(name: str, old: bytes) -> bytes:
        if "/models/" not in name:
            return old

        def walk(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: text if key == "expr_str" else walk(item) for key, item in value.items()}
            return [walk(item) for item in value] if isinstance(value, list) else value

        return json.dumps(walk(json.loads(old))).encode()

    return edited(saved(dynamic=True), change)


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "inputs": (in_inputs, "a pickled [a-z]+.system"),
    "constants": (lambda: in_constants("opaque_obj_0"), "an object that is no tensor"),
    "constants in capitals": (lambda: in_constants("OPAQUE_OBJ_0"), "an object that is no tensor"),
    "expression": (in_expression, "the expression .__import__"),
    "library": (
        lambda: edited(saved(), lambda _, old: old, {"data/aotinductor/model/x.so": b""}),
        "a compiled library",
    ),
    "old form": (lambda: edited(saved(), lambda name, old: old).replace(b"/models/", b"/madels/"), "PyTorch 2.7"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_code_in_a_file_does_not_run(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make, said = HOSTILE[kind]
    Path("net.pt2").write_bytes(make())
    before = dict(os.environ)
    with pytest.raises(CodeInFile, match=said):
        load_pt2(Path("net.pt2").read_bytes())
    done = run(*EXPLAIN)
    assert done.exit_code == 1 and "load it with --trust, if you trust them" in done.stderr
    assert not Path("owned").exists() and dict(os.environ) == before


def test_code_runs_if_the_user_trusts_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.pt2").write_bytes(in_inputs())
    done = run(*EXPLAIN, "--trust")
    assert Path("owned").exists() and "code in it runs, as --trust allows" in done.stderr


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_file_without_code_needs_no_trust(dynamic: bool) -> None:
    load_pt2(saved(dynamic))
    assert os.environ.get("TORCH_FORCE_WEIGHTS_ONLY_LOAD") is None


def test_a_damaged_weight_is_the_reason(caplog: pytest.LogCaptureFixture) -> None:
    whole = saved(module=torch.nn.Linear(3, 2))
    damaged = edited(whole, lambda name, old: old[:4] if "weights/weight" in name else old)
    with pytest.raises(RuntimeError, match="out of bounds"):
        load_pt2(damaged)
    assert not caplog.records


@pytest.mark.parametrize(
    "text",
    [
        "s77",
        "2*s0 + 1",
        "((s0//2))",
        "Max(1, u0 - 3)",
        "s3**2",
        "FloorDiv(s0, 8)",
        "Eq(s0, 1) & (s1 <= 4)",
        "-1",
        "Add(Mul(Integer(2), Pow(Symbol('s31', positive=True, integer=True), Integer(2))), Integer(-1))",
        "Float('0.5', precision=53)",
    ],
)
def test_expressions_of_sizes(text: str) -> None:
    assert is_arithmetic(text)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')", "exec(s0)", "(exec)(s0)", "s0.__class__", "'a'", "s0[0]", "lambda: s0", "9**9**9", "9**99",
        "s0**s1", "s0*" * 3 + "*s0", "open", "chr(47)", "s0\nimport", "s0;s1", "f'{s0}'", "\u212a0", "2**2" * 4, None,
        "1" * 99, "s0 if s1 else s2", "{s0}", "x:=1", "Pow(9, Pow(9, 9))",
        "Pow(Integer(2), Integer(99999))", "s0 ^ 99", "1 << 99999", "Symbol('__import__')", "Max(*s0)", "Max(**s0)",
        "s0()()", "ex\nec(s0)", "(" * 4000, "Integer(int=s0)",
    ],
)  # fmt: skip
def test_what_is_no_arithmetic(text: object) -> None:
    assert not is_arithmetic(text)
