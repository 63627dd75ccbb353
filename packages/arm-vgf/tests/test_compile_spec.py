"""The compile spec, the target made from it, and the package's lazy names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import arm_vgf
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification
from arm_vgf import VgfCompileSpec
from arm_vgf.target import make_target


def test_the_default_takes_float_and_integer() -> None:
    spec = VgfCompileSpec()
    assert spec.tosa_spec == TosaSpecification.create_from_string("TOSA-1.0+FP+INT+int4+int16")
    assert spec.compiler_flags == []
    assert spec.get_output_format() == "vgf"


SPECS = [
    VgfCompileSpec(),
    VgfCompileSpec("TOSA-1.0+INT"),
    VgfCompileSpec(TosaSpecification.create_from_string("TOSA-1.0+FP"), ["--emit-debug-info"]),
    VgfCompileSpec(compiler_flags="--emit-debug-info --dump-mlir"),
    VgfCompileSpec().dump_intermediate_artifacts_to("a folder"),
]


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_it_travels_through_executorch(spec: VgfCompileSpec) -> None:
    again = VgfCompileSpec.from_list(spec.to_list())
    assert again == spec
    assert [again == other for other in SPECS].count(True) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tosa_spec": "TOSA-1.0+XYZ"}, "XYZ"),
        ({"tosa_spec": "nonsense"}, "malformed"),
        ({"compiler_flags": "--output x"}, "--output"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        VgfCompileSpec(**arguments)


def test_the_target_has_the_specs_specification() -> None:
    target = VgfCompileSpec("TOSA-1.0+INT").target()
    assert (target.name, target.compiler.suffix, target.compiler.backend_id) == ("vgf", ".vgf", "VgfBackend")
    assert target.tosa_spec == TosaSpecification.create_from_string("TOSA-1.0+INT")
    assert make_target().tosa_spec == VgfCompileSpec().tosa_spec
    assert target.compiler.compile_spec is VgfCompileSpec


def test_artifacts_are_left_where_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arm_vgf.compile_spec.convert", lambda tosa, flags: b"VGF1 of " + tosa)
    compile_ = VgfCompileSpec().target().compiler.compile
    assert compile_ is not None
    assert compile_(b"tosa", {"artifacts": str(tmp_path)}) == b"VGF1 of tosa"
    assert (tmp_path / "vgf.vgf").read_bytes() == b"VGF1 of tosa"


@pytest.mark.parametrize("small", [True, False])
def test_weights_of_4_bits_make_no_smaller_file_and_that_is_said(small: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arm_vgf.compile_spec.convert", lambda tosa, flags: b"VGF1")
    graph, kind = Graph(), DType.INT4 if small else DType.INT8
    image, weight = graph.input("x", (1, 4, 4, 2), DType.INT8), graph.constant(np.ones((2, 1, 1, 2), np.int8), kind)
    bias, zero = graph.constant(np.zeros(2, np.int32), DType.INT32), graph.constant(np.zeros(1, np.int8), DType.INT8)
    attrs = {"pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1), "acc_type": DType.INT32}
    conv = graph.append("CONV2D", [image, weight, bias, zero, graph.constant(np.zeros(1, np.int8), kind)], attrs)
    graph.outputs = [conv.output]
    target = VgfCompileSpec().target()
    assert target.compiler.compile_in_detail is not None
    notes = target.compiler.compile_in_detail(serialize(graph, target.tosa_spec), {}).notes
    assert any(note.startswith("weights of 4 bits have 8") for note in notes) is small


@pytest.mark.parametrize("name", arm_vgf.__all__)
def test_names_are_there(name: str) -> None:
    assert getattr(arm_vgf, name).__name__ == name
    assert name in dir(arm_vgf)


def test_importing_loads_no_torch() -> None:
    code = "import sys, arm_vgf, arm_vgf.target; arm_vgf.target.make_target(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
