"""Running Vela, and every way in which that goes wrong, with executables that stand in for it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from vela_arrays import arrays
from vela_cases import I16, conv, op
from vela_cases import In as Input

from arm_ethosu import EthosUCompileSpec, payload, vela
from arm_tosa_core.support.errors import ToolError, UsageError
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification

_U55 = {"accelerator": "ethos-u55-128", "system_config": "Ethos_U55_High_End_Embedded", "memory_mode": "Shared_Sram"}


def tosa(case=None) -> bytes:
    spec = TosaSpecification.create_from_string("TOSA-1.0+INT+int16+int4")
    return serialize((case or conv("", "", x=I16)).graph(), spec)


def compile(data: bytes, **options) -> vela.VelaOutput:
    return vela.compile(data, **{"config": None, "timeout": 60} | _U55 | options)


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Puts a shell script called vela first on PATH; ``$out`` is the folder that it is to write to."""

    def install(script: str) -> None:
        path = tmp_path / "bin" / "vela"
        path.parent.mkdir()
        path.write_text(f"#!/bin/sh\nout=${{2#--output-dir=}}\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setattr(vela, "find_tool", lambda executable, *, package: str(path))

    return install


def test_compiles() -> None:
    output = compile(tosa())
    assert output.cycles > 0 and output.sram_kib > 0 and output.dram_kib == 0
    assert output.arrays["cmd_data"].tobytes()[:4] == b"COP1"
    assert output.arrays["input_shape"].tolist() == [[1, 1, 1, 6, 6, 8]]
    assert output.arrays["output_elem_size"].tolist() == [2]


def test_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    compile(tosa())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("folder", ["with space", "größe-模型", "-dash"])
def test_folders_of_any_name(folder: str, tmp_path: Path) -> None:
    (tmp_path / folder).mkdir()
    ini = tmp_path / folder / "own vela.ini"
    from arm_ethosu.vela_ini import locate

    ini.write_text(locate(None).read_text(encoding="utf-8"), encoding="utf-8")
    artifacts = tmp_path / folder / "artefacts"
    spec = EthosUCompileSpec("ethos-u55-128", config_ini=ini)
    made = spec.target().compiler.compile(tosa(), {"artifacts": str(artifacts)})
    assert sorted(p.name for p in artifacts.iterdir()) == [
        "out.tosa", "out_debug.xml", "out_summary_Ethos_U55_High_End_Embedded.csv", "out_vela.npz",
    ]  # fmt: skip
    assert payload.unpack(made)["input_shape"].tolist() == [[1, 1, 1, 6, 6, 8]]


def test_flags_reach_vela(tmp_path: Path) -> None:
    EthosUCompileSpec("ethos-u55-128", extra_flags="--verbose-performance").target().compiler.compile(
        tosa(), {"artifacts": str(tmp_path)}
    )
    assert list(tmp_path.glob("*per-layer*.csv"))


def test_two_runs_give_the_same_bytes() -> None:
    compiler = EthosUCompileSpec("ethos-u85-256").target().compiler.compile
    assert compiler(tosa(), {}) == compiler(tosa(), {})


def kept_input(error: ToolError) -> Path:
    (name,) = re.findall(r"its input was kept in (.*)", str(error))
    return Path(name)


def test_unsupported_operator_is_an_error_that_keeps_the_input() -> None:
    data = tosa(op("", "", "GATHER", Input(I16, (1, 4, 8)), Input(type(I16).INT32, (1, 2))))
    with pytest.raises(ToolError, match=r"Gather\) could not run on NPU") as raised:
        compile(data)
    assert kept_input(raised.value).read_bytes() == data


def test_unknown_flag_is_an_error() -> None:
    with pytest.raises(ToolError, match="unrecognized arguments: --no-such-flag"):
        compile(tosa(), flags=["--no-such-flag"])


_WRITE_SUMMARY = (
    'printf "cycles_total,cycles_npu,core_clock,sram_memory_used,dram_memory_used,on_chip_flash_memory_used,'
    'off_chip_flash_memory_used,nn_macs,inference_time\\n1,1,1,1,1,1,1,1,1\\n" > "$out"/out_summary_*.csv; '
).replace('"$out"/out_summary_*.csv', '"$out/out_summary_Ethos_U55_High_End_Embedded.csv"')


@pytest.mark.parametrize(
    "script, message",
    [
        ("echo first; echo last words >&2; exit 3", r"vela exited with status 3\n.*\n.*first\n.*last words"),
        ("kill -SEGV $$", r"vela was killed by signal SIGSEGV"),
        ("exec sleep 60", r"vela did not finish within 1 s and was killed"),
        ("exit 0", r"vela wrote garbage: out_vela.npz is missing"),
        ('echo junk > "$out/out_vela.npz"', r"wrote garbage: out_vela.npz is not readable"),
        (': > "$out/out_vela.npz"', r"wrote garbage: out_vela.npz is not readable"),
        ('cp "$FIXTURE" "$out/out_vela.npz"', r"out_summary_Ethos_U55_High_End_Embedded.csv is missing"),
        ('cp "$FIXTURE" "$out/out_vela.npz"; ' + _WRITE_SUMMARY.replace("cycles_total", "x"), r"lacks 'cycles_total'"),
        ('cp "$FIXTURE" "$out/out_vela.npz"; ' + _WRITE_SUMMARY.replace("n1,1", "nx,1"), r"\.csv is not readable"),
    ],
)
def test_vela_gone_wrong(script: str, message: str, stand_in, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez(tmp_path / "good.npz", **arrays())
    monkeypatch.setenv("FIXTURE", str(tmp_path / "good.npz"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    stand_in(script)
    with pytest.raises(ToolError, match=message) as raised:
        compile(b"input", timeout=1)
    assert kept_input(raised.value).read_bytes() == b"input"


def test_stand_in_can_succeed(stand_in, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez(tmp_path / "good.npz", **arrays())
    monkeypatch.setenv("FIXTURE", str(tmp_path / "good.npz"))
    stand_in('cp "$FIXTURE" "$out/out_vela.npz"; ' + _WRITE_SUMMARY)
    assert compile(b"input").cycles == 1


@pytest.mark.parametrize(
    "changes, problem",
    [
        ({"cmd_data": None}, "lacks cmd_data"),
        ({"output_region": None}, "lacks output_region"),
        ({"weight_data": np.zeros(3)}, "weight_data of type float64"),
        ({"scratch_size": np.array([1, 2])}, "expected one size in bytes"),
        ({"scratch_size": np.array(-1)}, "expected one size in bytes"),
        ({"input_shape": np.ones((1, 4), int)}, r"input_shape of shape \[1, 4\], expected \[n, 6\]"),
        ({"input_offset": np.ones(2, int)}, r"input_offset of shape \[2\], expected \[1\]"),
        ({"output_elem_size": np.ones(1)}, "output_elem_size of type float64"),
    ],
)
def test_malformed_arrays(changes: dict[str, np.ndarray | None], problem: str, stand_in, tmp_path, monkeypatch) -> None:
    np.savez(tmp_path / "bad.npz", **arrays(**changes))
    monkeypatch.setenv("FIXTURE", str(tmp_path / "bad.npz"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    stand_in('cp "$FIXTURE" "$out/out_vela.npz"')
    with pytest.raises(ToolError, match=f"wrote garbage: out_vela.npz .*{problem}"):
        compile(b"input")


def test_stale_output_of_an_earlier_run_is_not_taken(stand_in, tmp_path: Path) -> None:
    np.savez(tmp_path / "out_vela.npz", **arrays())
    stand_in("exit 0")
    with pytest.raises(ToolError, match="out_vela.npz is missing"):
        compile(b"input", artifacts=tmp_path)


def test_vela_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(ToolError, match=r"vela is not installed\ninstall it with: pip install ethos-u-vela"):
        compile(b"input")


def test_unwritable_output(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UsageError, match=r"cannot write to .*file/a: Not a directory"):
        compile(b"input", artifacts=tmp_path / "file" / "a")


#: Graphs that Vela cannot take, as a front end may make them, and what is said of them.
FOREIGN = {
    "float": (DType.FP32, (1, 4, 4, 3), "computes in float (ABS makes FP32), and ethos-u55-128 has integers only"),
    "rank": (DType.INT32, (1,) * 6 + (3,), "ethos-u55-128 does not take ABS: ABS: rank 7 exceeds MAX_RANK = 6"),
}


@pytest.mark.parametrize(("dtype", "shape", "problem"), FOREIGN.values(), ids=FOREIGN)
def test_what_vela_cannot_take_is_said_before_it_runs(
    dtype: DType, shape: tuple[int, ...], problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer.testing import CliRunner

    from arm_tosa_core.cli.main import app

    monkeypatch.chdir(tmp_path)
    graph = Graph()
    graph.outputs = [graph.append("ABS", [graph.input("x", shape, dtype)]).output]
    Path("m.tosa").write_bytes(serialize(graph, TosaSpecification.create_from_string("TOSA-1.0+INT+FP")))
    done = CliRunner().invoke(app, ["compile", "m.tosa", "--target", "ethos-u55-128", "-o", "m.vela"])
    assert done.exit_code == 1
    assert problem in " ".join(done.output.split()) and "Traceback" not in done.output
