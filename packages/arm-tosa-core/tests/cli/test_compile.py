"""``arm-tosa compile`` and ``explain``."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import target_kit
import torch
from cli_kit import error, graph, line_of, ok, run

from arm_tosa_core.cli import quantize as cli_quantize
from arm_tosa_core.exir.compile_spec import TosaCompileSpec
from arm_tosa_core.exir.pte import delegates
from arm_tosa_core.lowering.varying_sizes import Sizes
from arm_tosa_core.plugin import entry_points as plugins
from arm_tosa_core.plugin.target import Compiled, LiveTensor
from arm_tosa_core.plugin.timing import TimeEstimate
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.loader import load


def cycles_of(tosa: bytes) -> dict[str, float]:
    """The bits of all tensors."""
    return {"cycles": float(sum(t.size * t.dtype.bits for op in load(tosa).ops for t in op.outputs))}


def time_of(payload: bytes, tosa: bytes | None) -> TimeEstimate:
    return TimeEstimate(1000, _CLOCK, "fast memory")


def in_detail(tosa: bytes, options: Mapping[str, str]) -> Compiled:
    return Compiled(tosa)


def test_compile_to_pte_and_to_tosa(folder: Path) -> None:
    data = ok("compile", "models.py:whole", "--target", "tosa", "-o", "net.pte")
    assert (data["delegates"], data["rejected"]) == (1, [])
    assert data["figures"]["file_bytes"] == Path("net.pte").stat().st_size
    assert (data["figures"]["delegated"], data["figures"]["on_cpu"]) == (2, 0)
    assert sorted(row["target"] for row in data["delegated"]) == ["aten.add.Tensor", "aten.mul.Tensor"]
    (delegate,) = delegates(Path("net.pte").read_bytes())
    assert delegate.backend_id == "TOSABackend"
    ok("compile", "models.py:whole", "--target", "tosa", "-o", "net.tosa")
    x = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    np.save("x.npy", x)
    ok("run", "net.tosa", "--input", "x.npy", "--output", "y.npy")
    np.testing.assert_allclose(np.load("y.npy"), x * x + x, rtol=1e-6)


@pytest.mark.parametrize(
    ("returned", "order"),
    [("y + 1, y", "1, 0"), ("y, y + 1", ""), ("y + 1, y, y + 1", "1, 0, 2"), ("y + 1, x", "1, 0")],
)
def test_the_order_of_outputs_in_a_format_of_the_targets(folder: Path, returned: str, order: str) -> None:
    """A delegate's are in the order in which they are computed; who cannot change that says so."""
    body = f"    def forward(self, x):\n        y = x * 2\n        return {returned}\n"
    model = f"import torch\nclass Two(torch.nn.Module):\n{body}def make():\n    return Two(), (torch.ones(2),)\n"
    Path("two.py").write_text(model)
    said = " ".join(run("compile", "two.py:make", "--target", "tosa", "-o", "two.tosa").stderr.split())
    note = "note: two.tosa gives the model's outputs in an order of its own"
    assert said.endswith(f"{note}: {order}") if order else note not in said


def test_what_a_format_of_the_targets_has_once_or_not_at_all_is_told(folder: Path) -> None:
    body = "    def forward(self, x, unread, z):\n        y = x * z\n        return y + 1, y, y\n"
    made = "Two(), (torch.ones(2), torch.ones(2), torch.ones(2))"
    Path("two.py").write_text(f"import torch\nclass Two(torch.nn.Module):\n{body}def make():\n    return {made}\n")
    said = " ".join(run("compile", "two.py:make", "--target", "tosa", "-o", "two.tosa").stderr.split())
    assert "two.tosa: it has no input for the model's input 1, which nothing reads; those after it move up" in said
    assert "two.tosa: the model's outputs 1, 2 are one tensor and one output; others move up" in said
    assert "input 0" not in said


@pytest.mark.parametrize(
    ("memory", "order"),
    [("contiguous", "row-major"), ("channels_last", "channels-last"), ("preserve", "channels-last")],
)
def test_how_inputs_lie_in_memory_is_said(folder: Path, memory: str, order: str) -> None:
    """The example lies channels-last, as pictures do that NumPy has loaded."""
    arguments = ("compile", "models.py:picture", "--target", "tosa", "-o", "net.pte", "--memory-format", memory)
    assert ok(*arguments)["inputs_in_memory"] == [order]
    assert f"inputs in memory: {order}\n" in run(*arguments).stdout


def test_compile_takes_an_exported_program_and_leaves_artifacts(folder: Path) -> None:
    module = torch.nn.Sequential(torch.nn.ReLU()).eval()
    torch.export.save(torch.export.export(module, (torch.ones(2, 3),)), "net.pt2")
    ok("compile", "net.pt2", "--target", "tosa", "-o", "net.tosa", "--artifacts", "kept")
    assert [path.read_bytes() for path in Path("kept").rglob("*.tosa")] == [Path("net.tosa").read_bytes()]


def test_what_stays_on_the_cpu_is_told_with_its_line(folder: Path) -> None:
    data = ok("compile", "models.py:partial", "--target", "tosa", "-o", "net.pte")
    (row,) = data["rejected"]
    assert (
        row["target"] == "aten._cdist_forward.default"
        and f"models.py:{line_of('torch.cdist(x * x + x, x)')}" in row["source"]
        and row["reason"]
    )
    explained = ok("explain", "models.py:partial", "--target", "tosa")
    assert [row["target"] for row in explained["rejected"]] == ["aten._cdist_forward.default"]
    text = run("explain", "models.py:partial", "--target", "tosa").stdout
    assert "_cdist" in text and "aten.mul.Tensor" in text
    assert "cdist" in error("compile", "models.py:partial", "--target", "tosa", "-o", "net.tosa")
    assert not Path("net.tosa").exists()


def test_a_program_that_cannot_run_is_refused_unless_the_user_has_the_kernel(folder: Path) -> None:
    arguments = "compile", "models.py:products", "--target", "tosa", "-o"
    for _ in range(2):  # also where the cache has it
        message = error(*arguments, "net.pte")
        assert "no kernel for aten::cumprod.out" in message and f"models.py:{line_of('torch.cumprod')}" in message
        assert "do without it in the model" in message and "--allow-missing-kernels" in message
        assert not Path("net.pte").exists()
        data = ok(*arguments, "own.pte", "--allow-missing-kernels")
        assert [row["kernel"] for row in data["rejected"]] == ["aten::cumprod.out"] and Path("own.pte").exists()
    assert data["cached"]
    assert "left aten.cumprod.default outside" in error(*arguments, "net.tosa")


def test_nothing_delegated_is_an_error_and_writes_nothing(folder: Path) -> None:
    message = error("compile", "models.py:cpu_only", "--target", "tosa", "-o", "net.pte")
    assert "nothing was delegated" in message and "no rule" in message
    assert not Path("net.pte").exists()


def test_a_float_model_on_an_integer_target_is_told_to_be_quantized(folder: Path) -> None:
    message = error("compile", "models.py:whole", "--target", "tosa-int", "-o", "net.pte")
    assert "add --quantize int8" in message
    assert "add --quantize int8" in run("explain", "models.py:whole", "--target", "tosa-int").stderr


def test_what_a_model_prints_does_not_spoil_the_json(folder: Path) -> None:
    result = run("explain", "models.py:chatty", "--target", "tosa", "--json")
    assert json.loads(result.stdout)["target"] == "tosa"
    assert "loading the weights" in result.stderr


def test_names_of_files_need_not_be_text(folder: Path) -> None:
    name = "net\udcff"
    net = torch.nn.Linear(3, 2).eval()
    with Path(f"{name}.pt2").open("wb") as file:
        torch.export.save(torch.export.export(net, (torch.ones(2, 3),)), file)
    assert ok("compile", f"{name}.pt2", "--target", "tosa", "-o", f"{name}.pte")["output"] == f"{name}.pte"


BAD_MODELS = {
    "models.py": "say which function makes the model",
    "models.py:absent": "has no function 'absent'; it has: Whole, ",
    "models.py:number": "must return (module, example_inputs), but returned int",
    "models.py:no_module": "must return an nn.Module first, but returned str",
    "models.py:bare_tensor": "must return a tuple of example inputs second, but returned Tensor",
    "models.py:fails": f"failed at line {line_of('raise ValueError')}: ValueError: no weights here",
    "models.py:exits": f"ended the process at line {line_of('raise SystemExit')}: sys.exit(3)",
    "models.py:cannot_export": "torch.export cannot export models.py:cannot_export",
    "models.py:on_meta": "layer.weight lives on device 'meta'",
    "syntax.py:make": "failed at line 2: SyntaxError",
    "none.py:make": "cannot read none.py: no such file",
    "none.pt2": "cannot read none.pt2: no such file",
    "none.pte": "cannot read none.pte: no such file",
    "folder.pt2": "cannot read folder.pt2: it is a folder",
    "fake.pt2": "fake.pt2 is not a file of torch.export.save: save torch.export.export(module.eval(), inputs)",
    "pickle.pt2": "pickle.pt2 was written by torch.save: it is a state_dict, or a pickled module",
    "script.pt2": "script.pt2 is TorchScript, of torch.jit.save, and no exported program",
    "other.pt2": "other.pt2 is an archive of something else",
    "newer.pt2": "it is damaged, or was written by a newer PyTorch (its format is 99.1) than the installed",
    "model.h5": "or an .onnx, .tflite or .tosa file",
    "weights.pth": "cannot tell what 'weights.pth' is",
    "g.tosa": "g.tosa: not a TOSA flatbuffer",
}


@pytest.mark.parametrize("model", BAD_MODELS)
def test_a_bad_model_says_why(folder: Path, model: str) -> None:
    (folder / "syntax.py").write_text("import torch\ndef make(:\n")
    (folder / "g.tosa").touch()
    (folder / "folder.pt2").mkdir(exist_ok=True)
    (folder / "fake.pt2").write_bytes(b"nothing of the kind")
    torch.save({"weight": torch.ones(3)}, folder / "pickle.pt2")
    for name, members in (
        ("script", {"net/code/net.py": "", "net/data.pkl": "", "net/constants.pkl": ""}),
        ("other", {"word/document.xml": ""}),
        (
            "newer",
            {"net/archive_format": "pt2", "net/models/model.json": '{"schema_version": {"major": 99, "minor": 1}}'},
        ),
    ):
        with zipfile.ZipFile(folder / f"{name}.pt2", "w") as archive:
            for member, text in members.items():
                archive.writestr(member, text)
    assert BAD_MODELS[model] in error("explain", model, "--target", "tosa")


BAD_COMPILES = {
    "unknown target": (["--target", "toza", "-o", "x.pte"], "did you mean 'tosa'?"),
    "wrong suffix": (["--target", "tosa", "-o", "x.vgf"], "target 'tosa' makes .pte or .tosa, not '.vgf'"),
    "no folder": (["--target", "tosa", "-o", "none/x.pte"], "cannot write none/x.pte: there is no folder none"),
    "no folder for the trace": (["--target", "tosa", "-o", "x.pte", "--trace", "none/x.json"], "cannot write none/x"),
    "no folder of artifacts": (
        ["--target", "tosa", "-o", "x.pte", "--artifacts", "models.py/x"],
        "cannot make the folder models.py/x: ",
    ),
    "a folder": (["--target", "tosa", "-o", "full.pte"], "cannot write full.pte: it is a folder"),
    "a recipe": (["--target", "tosa", "-o", "x.pte", "--quantize", "r.toml"], "--calibration DATA --recipe r.toml"),
    "unknown quantization": (["--target", "tosa", "-o", "x.pte", "--quantize", "int7"], "valid: int8, int16x8"),
    "float target": (["--target", "tosa-fp", "-o", "x.pte", "--quantize", "int8"], "needs the INT profile"),
    "calibration alone": (["--target", "tosa", "-o", "x.pte", "--calibration", "c.npz"], "needs --quantize"),
    "option without value": (["--target", "tosa", "-o", "x.pte", "--option", "fast"], "write KEY=VALUE"),
    "option twice": (["--target", "tosa", "-o", "x.pte", "--option", "a=1", "--option", "a=2"], "given twice"),
    "flag and option": (
        ["--target", "tosa", "-o", "x.pte", "--option", "schedule=a", "--schedule", "b"],
        "--option schedule is given twice",
    ),
    "no schedules": (["--target", "tosa", "-o", "x.pte", "--schedule", "deep"], "has no option 'schedule'"),
    "no budget of memory": (["--target", "tosa", "-o", "x.pte", "--sram", "1M"], "has no option 'sram_budget'"),
    "two budgets": (
        ["--target", "tosa", "-o", "x.pte", "--sram", "1M", "--option", "sram_budget=2M"],
        "--option sram_budget is given twice",
    ),
    "unknown option": (["--target", "tosa", "-o", "x.pte", "--option", "a=1"], "its options are tosa_spec"),
}


@pytest.mark.parametrize("kind", BAD_COMPILES)
def test_a_bad_compile_says_why(folder: Path, kind: str) -> None:
    arguments, message = BAD_COMPILES[kind]
    Path("full.pte").mkdir()
    Path("c.npz").touch()
    assert message in error("compile", "models.py:whole", *arguments)
    assert not Path("x.pte").exists()


_SAID = {"cycles": 12345, "clock_hz": 123.45e6, "sram_kib": 1.5, "dram_read_kib": 1.0, "dram_written_kib": 0.5}


def _in_detail(tosa: bytes, options: Mapping[str, str]) -> Compiled:
    """What a compiler might say of the network of ``models.py:whole``."""
    names = [tensor.name for tensor in load(tosa).inputs]
    at_peak = [LiveTensor(names[0], 24), LiveTensor("buffer", 1512)]
    return Compiled(b"acme:" + tosa, _SAID, at_peak, estimated_by="rival", notes=["no power"])


def test_what_the_targets_compiler_says_is_reported(
    folder: Path, acme: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    warmed: list[str] = []
    acme(
        compile=lambda tosa, options: _in_detail(tosa, options).payload,
        compile_in_detail=_in_detail,
        suffix=".acme",
        warm_up=lambda: warmed.append("up"),
    )
    arguments = ("compile", "models.py:whole", "--target", "acme", "-o", "net.pte")
    first, cached = ok(*arguments), ok(*arguments)
    assert warmed == ["up"] and cached["cached"] and first["compiled"] == cached["compiled"]
    (delegate,) = first["compiled"]
    assert delegate["figures"] == _SAID
    figures = {name: value for name, value in cached["figures"].items() if name != "seconds"}
    assert figures == {
        "delegated": 2,
        "on_cpu": 0,
        "delegates": 1,
        "cycles": 12345,
        "clock_hz": 123.45e6,
        "inferences_per_second": 10_000,
        "sram_bytes": 1536,
        "dram_bytes": None,
        "flash_bytes": None,
        "file_bytes": Path("net.pte").stat().st_size,
        "cycles_by": "rival",
        "tensors_bytes": None,
        "constants_bytes": None,
        "constants_in": "",
        "cache_bytes": None,
        "dram_read_bytes": 1024,
        "dram_written_bytes": 512,
        "estimated_by": "rival",
        "notes": ["no power"],
        "macs": None,
        "mac_utilisation": None,
        "instructions": None,
        "moved": [],
        "ms": 0.1,
    }
    assert [(row["size"], row["made_by"]) for row in delegate["at_peak"]] == [(24, "input"), (1512, "")]
    plain, full = run(*arguments).stdout, run(*arguments, "--details").stdout
    assert re.search(r"cycles, estimated by the rival +. 12,345 +", plain)
    assert re.search(r"time, estimated +. 0.100 ms at 123.45 MHz.*\n.* 10,000.0 at 123.45 MHz", plain)
    assert re.search(r"DRAM traffic, estimated by the rival +. 1.0 KiB read, 512 B written", plain)
    assert "note: no power\n" in run(*arguments).stderr
    assert re.search(r"SRAM +. 1.5 KiB", plain) and "flash" not in plain and "buffer" not in plain
    assert re.search(r"buffer .* 1,512 ", full) and re.search(r"sum .* 1,536 ", full)
    graph(folder / "g.tosa")
    assert "buffer" in run("compile", "g.tosa", "--target", "acme", "-o", "g.acme", "--details").stdout
    assert Path("g.acme").read_bytes() == b"acme:" + Path("g.tosa").read_bytes()


def test_a_tosa_file_is_compiled_to_the_targets_own_format(folder: Path, acme: Callable[..., None]) -> None:
    seen: list[Mapping[str, str]] = []

    def compile_(tosa: bytes, options: Mapping[str, str]) -> bytes:
        seen.append(options)
        return b"acme:" + tosa

    acme(compile=compile_, suffix=".acme", options=("speed", "schedule"))
    graph(folder / "g.tosa")
    ok("compile", "g.tosa", "--target", "acme", "-o", "g.acme")
    assert Path("g.acme").read_bytes() == b"acme:" + Path("g.tosa").read_bytes()
    ok("compile", "g.tosa", "--target", "acme", "-o", "g.acme", "--option", "speed=high")
    assert seen[1]["speed"] == "high"
    ok("compile", "g.tosa", "--target", "acme", "-o", "g.acme", "--schedule", "late")
    assert seen[2]["schedule"] == "late"
    acme(suffix=".acme")
    assert "nothing to compile" in error("compile", "g.tosa", "--target", "acme", "-o", "g.acme")


# Quantization


@pytest.mark.parametrize(("quantization", "dtype"), [("int8", DType.INT8), ("int16x8", DType.INT16)])
def test_quantized_compilation_uses_the_calibration_data(folder: Path, quantization: str, dtype: DType) -> None:
    x = np.linspace(-4, 4, 60, dtype=np.float32).reshape(10, 2, 3)
    np.savez("c.npz", x=x)
    compile_ = ("compile", "models.py:whole", "--target", "tosa-int", "--quantize", quantization, "-o", "net.tosa")
    data = ok(*compile_, "--calibration", "c.npz")
    assert data["rejected"] == []
    (shape, given), _ = [(tensor.shape, tensor.dtype) for tensor in _ends(Path("net.tosa").read_bytes())]
    assert (shape, given) == ((2, 3), dtype)
    calibrated = Path("net.tosa").read_bytes()
    result = run(*compile_)
    assert result.exit_code == 0 and "calibrating with the example inputs alone" in result.stderr
    assert Path("net.tosa").read_bytes() != calibrated  # the example inputs have another range


@pytest.mark.parametrize(("quantization", "dtype"), [("int8", DType.INT8), ("int8x4", DType.INT4)])
def test_weights_are_stored_with_as_many_bits_as_asked_for(folder: Path, quantization: str, dtype: DType) -> None:
    words = ("--target", "tosa-int", "--quantize", quantization, "-o", "net.tosa")
    run("compile", "models.py:weights", *words)
    (layer,) = (op for op in load(Path("net.tosa").read_bytes()).ops if op.name == "CONV2D")
    assert layer.inputs[1].dtype is dtype


def test_calibration_shows_how_far_it_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[tuple[str, int, int]] = []
    monkeypatch.setattr(cli_quantize, "progress", lambda: nullcontext(lambda *step: shown.append(step)))
    np.savez("c.npz", x=np.zeros((3, 2, 3), np.float32) + 1)
    compile_ = ("compile", "models.py:whole", "--target", "tosa-int", "-o", "net.tosa")
    ok(*compile_, "--quantize", "int8", "--calibration", "c.npz")
    assert shown == [("calibrating", done, 3) for done in (1, 2, 3)]


def _ends(tosa: bytes) -> list[Any]:
    made = load(tosa)
    return [*made.inputs, *made.outputs]


def test_a_graph_that_cannot_be_exported_is_not_printed(folder: Path) -> None:
    text = run("explain", "models.py:cannot_export", "--target", "tosa").stderr
    assert "def forward" not in text and "choose with torch.where or torch.cond" in text
    where = f"models.py:{line_of('if x.sum()')}, return x if x.sum() > 0 else -x: "
    assert f"torch.export cannot export models.py:cannot_export: {where}" in text


def test_an_error_in_a_model_names_its_line_and_nothing_else(folder: Path) -> None:
    text = run("explain", "models.py:wrong_sizes", "--target", "tosa").stderr
    where = f"models.py:{line_of('torch.ones(7, 2)')}, return x @ torch.ones(7, 2): RuntimeError: a and b must have"
    assert text.startswith(f"error: torch.export cannot export models.py:wrong_sizes: {where}")
    assert text.count("\n") == 1


def test_one_tensor_given_twice_is_two_inputs(folder: Path) -> None:
    """``torch.export`` alone would make a program that reads one of them."""
    ok("compile", "models.py:one_tensor_twice", "--target", "tosa", "-o", "net.tosa")
    h, c = np.full((2, 3), 5, np.float32), np.full((2, 3), 2, np.float32)
    np.save("h.npy", h)
    np.save("c.npy", c)
    ok("run", "net.tosa", "--input", "h.npy", "--input", "c.npy", "--output", "y.npy")
    np.testing.assert_array_equal(np.load("y.npy"), h - 2 * c)


def test_what_quantization_decided_is_told(folder: Path) -> None:
    arguments = ("compile", "models.py:magnitude", "--target", "tosa-int", "--quantize", "int8", "-o", "net.pte")
    rows = ok(*arguments)["quantization"]
    wide = [row for row in rows if row["kind"] == "kept in 16 bits"]
    assert {row["why"] for row in wide} == {"sum of squares under a root"}
    assert {row["operator"] for row in wide} == {"aten.mul.Tensor"}
    line = line_of("(square * square)")
    assert all(f"models.py:{line}" in row["source"] for row in wide)
    text = run(*arguments).stderr
    assert (
        f"note: quantization changed operators: {len(wide)} kept in 16 bits ({len(wide)} sum of squares under a root)"
        in text
    )


_CLOCK = 1e6  # Hz
#: Fields of a target, and the cost that is told of 16 bits, for people and as JSON.
_COSTS: dict[str, tuple[dict[str, Any], bool, bool]] = {
    "estimate and clock": ({"estimate": cycles_of, "timing": time_of}, True, True),
    "estimate": ({"estimate": cycles_of, "compile_in_detail": in_detail}, True, False),
    "neither": ({"compile_in_detail": in_detail}, False, False),
}


@pytest.mark.parametrize("name", _COSTS)
def test_details_tell_what_decisions_cost(folder: Path, acme: Callable[..., None], name: str) -> None:
    fields, cycles, clock = _COSTS[name]
    acme(spec="TOSA-1.0+INT+int16", compile=lambda tosa, options: tosa, **fields)
    arguments = ("compile", "models.py:magnitude", "--target", "acme", "--quantize", "int8", "-o", "net.pte")
    assert "quantization_costs" not in ok(*arguments)
    (row,) = ok(*arguments, "--details")["quantization_costs"]
    assert (row["kind"], row["why"]) == ("kept in 16 bits", "sum of squares under a root")
    assert (row["cycles"] or 0) > 0 if cycles else row["cycles"] is None
    assert row["ms"] == (pytest.approx(row["cycles"] / _CLOCK * 1e3) if clock else None)
    text = run(*arguments, "--details").stdout
    assert "what quantization decided, and what it costs" in text
    assert (f"{row['cycles']:,.0f}" if cycles else "not known") in text


def test_only_float32_is_quantized(folder: Path) -> None:
    message = error("compile", "models.py:half", "--target", "tosa-int", "--quantize", "int8", "-o", "net.pte")
    assert message.startswith("layer.weight is float16, and a model is quantized from float32")


def test_one_reason_is_one_row(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    text = run("explain", "models.py:distances", "--target", "tosa").stdout
    assert text.count("there is no rule for aten._cdist_forward.default") == 1 and "3 times" in text
    assert str(folder) not in text and f"models.py:{line_of('torch.cdist(x, x), torch')}" in text


def test_a_table_in_a_pipe_is_not_wrapped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    wide = run("explain", "models.py:distances", "--target", "tosa").stdout
    assert max(map(len, wide.splitlines())) > 100
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, run("explain", "models.py:distances", "--target", "tosa").stdout.splitlines())) == 80


@pytest.mark.parametrize(("text", "value"), [("7", 7.0), ("0.5", 0.5), ("soon", None)])
def test_an_option_that_is_a_number(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, value: float | None
) -> None:
    given = []

    def spec(*, timeout: float = 1.0) -> Any:
        given.append(timeout)
        raise UsageError("far enough")

    monkeypatch.setattr(plugins, "target", lambda name: target_kit.target(name, "TOSA-1.0+FP", compile_spec=spec))
    expected = "timeout takes a number" if value is None else "far enough"
    assert expected in error("explain", "models.py:whole", "--target", "x", "--option", f"timeout={text}")
    assert given == ([] if value is None else [value])


def test_a_dynamic_dimension_stays_when_quantized(folder: Path) -> None:
    """At every size the quantized program computes what a program of that size does."""
    batch = torch.export.Dim("batch", min=1, max=8)
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU()).eval()
    program = torch.export.export(module, (torch.randn(4, 3),), dynamic_shapes=({0: 2 * batch},))
    quantized = cli_quantize.prepare(program, TosaCompileSpec("TOSA-1.0+INT"), "int8", None).program
    for size in (2, 16):
        assert quantized.module()(torch.ones(size, 3)).shape == (size, 2)
    (symbol,) = Sizes.of(quantized).symbols
    assert (symbol.least, symbol.most) == (1, 8)


@pytest.mark.needs("arm_vgf")
def test_all_conflicts_of_options_are_told_at_once(folder: Path) -> None:
    Path("2").touch()
    options = ("--verify", "--bundle", "2", "--integer-io", "--memory-format", "rows")
    message = error("compile", "models.py:net", "--target", "vgf", "-o", "net.vgf", *options)
    for text in ("go with a .pte", "--verify runs a .pte", "leave out --integer-io", "is one of contiguous, "):
        assert text in message, text
