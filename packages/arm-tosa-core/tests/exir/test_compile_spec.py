"""Compile specs: documented methods, the way through ExecuTorch and back, bad values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.backend.compile_spec_schema import CompileSpec
from target_kit import target

from arm_tosa_core import Rewrite, Stage, TosaCompileSpec, TOSAPartitioner, TosaSpecification, UsageError, lower
from arm_tosa_core.exir.compile_spec import ArmCompileSpec, TargetCompileSpec
from arm_tosa_core.exir.target_options import option_names
from arm_tosa_core.exir.watchers import watched
from arm_tosa_core.plugin import entry_points
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Op

DebugMode = ArmCompileSpec.DebugMode


def test_documented_methods(tmp_path: Path) -> None:
    spec = TosaCompileSpec("TOSA-1.0+INT")
    assert (spec.get_intermediate_path(), spec.get_output_format()) == (None, "tosa")
    assert spec.dump_intermediate_artifacts_to(tmp_path) is spec
    assert spec.get_intermediate_path() == str(tmp_path)
    assert spec.dump_debug_info(DebugMode.JSON) is spec
    assert spec.dump_intermediate_artifacts_to(None).get_intermediate_path() is None


@pytest.mark.parametrize("given", ["TOSA-1.0+INT+int16", TosaSpecification.create_from_string("TOSA-1.0+INT+int16")])
def test_a_string_or_an_object(given: str | TosaSpecification) -> None:
    assert TosaCompileSpec(given).tosa_spec == TosaSpecification.create_from_string("TOSA-1.0+INT+int16")


@pytest.mark.parametrize(("old", "new"), [("TOSA-0.80+BI", "TOSA-1.0+INT"), ("TOSA-0.80+MI", "TOSA-1.0+FP")])
def test_specifications_of_before_1_0(old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=new.replace("+", r"\+")):
        assert TosaCompileSpec(old) == TosaCompileSpec(new)


SPECS = {
    "plain": TosaCompileSpec("TOSA-1.0+INT+FP+int16"),
    "artifacts": TosaCompileSpec("TOSA-1.0+INT").dump_intermediate_artifacts_to("a folder/größe"),
    "debug": TosaCompileSpec("TOSA-1.0+FP").dump_intermediate_artifacts_to("x").dump_debug_info(DebugMode.TOSA),
    "rewrites": TosaCompileSpec("TOSA-1.0+INT").add_rewrites("arm_tosa_core.rewrites.data_movement:MERGE_SLICES"),
    "target": TargetCompileSpec("tosa-int"),
}


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_through_executorch_and_back(spec: ArmCompileSpec) -> None:
    assert type(spec).from_list(spec.to_list()) == spec
    assert all(isinstance(item, CompileSpec) for item in spec.to_list())


@pytest.mark.parametrize("flow", ["lower", "partitioner"])
def test_a_program_holds_no_path_of_this_machine(flow: str, tmp_path: Path) -> None:
    """Not that of the folder of artifacts, of which it holds the name."""
    made = []
    for user in ("alice", "bob"):
        (tmp_path / user).mkdir()
        spec = TosaCompileSpec("TOSA-1.0+FP").dump_intermediate_artifacts_to(tmp_path / user / "graphs")
        program = torch.export.export(torch.nn.ReLU(), (torch.randn(2, 3),))
        if flow == "lower":
            made.append(lower(program, spec).buffer)
        else:
            edge = to_edge_transform_and_lower(program, partitioner=[TOSAPartitioner(spec)])
            made.append(edge.to_executorch().buffer)
        assert (tmp_path / user / "graphs" / "delegate_0").is_dir()
    assert made[0] == made[1] and b"graphs" in made[0] and b"alice" not in made[0]


def test_equal_only_if_everything_is() -> None:
    different = [*SPECS.values(), TosaCompileSpec("TOSA-1.0+INT+FP"), TosaCompileSpec("TOSA-1.0+INT")]
    for i, one in enumerate(different):
        assert [one == other for other in different] == [i == j for j in range(len(different))]


def edited(**values: str | None) -> list[CompileSpec]:
    found = {item.key: item.value for item in TosaCompileSpec("TOSA-1.0+INT").to_list()}
    for key, value in values.items():
        found.pop(key, None)
        if value is not None:
            found[key] = value.encode()
    return [CompileSpec(key, value) for key, value in found.items()]


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (edited(tosa_spec=None), "key 'tosa_spec' is missing"),
        (edited(output_format=None), "key 'output_format' is missing"),
        (edited(output_format="vela"), "takes format 'tosa', not 'vela'"),
        (edited(colour="red"), "unknown key 'colour'; known keys: compile_flags, "),
        (edited() + edited(), "key 'tosa_spec' is given twice"),
        (edited(tosa_spec="TOSA-9.9+INT"), "9.9"),
    ],
)
def test_lists_that_are_none_of_ours(items: list[CompileSpec], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        TosaCompileSpec.from_list(items)


@pytest.mark.parametrize("text", ["TOSA-9.9+INT", "TOSA-1.0", "TOSA-1.0+NOPE", "tosa", ""])
def test_a_specification_that_is_none(text: str) -> None:
    with pytest.raises(UsageError):
        TosaCompileSpec(text)


def test_an_unknown_target_lists_the_known() -> None:
    with pytest.raises(UsageError, match="tosa-int"):
        TargetCompileSpec("ethos-u1000")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"speed": "high"}, "target 'plain' has no option 'speed'; its options are fast, deep"),
        ({"name": "other"}, "has no option 'name'"),
        ({"fast": 1}, "option 'fast' of target 'plain' is a text, not 1"),
    ],
)
def test_an_option_that_the_compiler_does_not_know(
    options: dict[str, Any], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = target("plain", "TOSA-1.0+INT", options=("fast", "deep"), compile=lambda tosa, options: tosa)
    monkeypatch.setattr(entry_points, "target", {"plain": made}.__getitem__)
    assert TargetCompileSpec("plain", fast="1").options == {"fast": "1"} and option_names(made) == ["fast", "deep"]
    with pytest.raises(UsageError, match=problem):
        TargetCompileSpec("plain", **options)


@pytest.mark.parametrize("name", ["my target", "", "-t", "a,b", "u55*", "../u55", "u55\n", "été"])
def test_the_name_of_a_target_is_one_word(name: str) -> None:
    with pytest.raises(UsageError, match="the name of a target is of letters"):
        target(name, "TOSA-1.0+INT")


ADDED = f"{__name__}:ABS_OF_NEGATE"


def abs_of_negate(graph: Graph, op: Op) -> bool:
    """ABS reads what NEGATE read."""
    producer = op.inputs[0].producer
    if producer is None or producer.name != "NEGATE":
        return False
    graph.replace(op.output, graph.insert_before(op, "ABS", producer.inputs[:1], {}).output)
    return True


ABS_OF_NEGATE = Rewrite("abs-of-negate", Stage.OPTIMIZE, ("ABS",), abs_of_negate)


class AbsOfNegate(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (-x).abs()


@pytest.mark.parametrize("added", [True, False])
@pytest.mark.parametrize("fast", [True, False])
def test_rewrites_of_the_user(added: bool, fast: bool) -> None:
    spec = TosaCompileSpec("TOSA-1.0+FP")
    if added:
        spec.add_rewrites(ADDED)
    program = torch.export.export(AbsOfNegate(), (torch.randn(2, 3),))
    with watched(lambda graph, payload: names.extend(op.name for op in graph.ops)):
        names: list[str] = []
        if fast:
            lower(program, spec, cache=True)  # not of the cache, which cannot see the function
        else:
            to_edge_transform_and_lower(program, partitioner=[TOSAPartitioner(spec)])
    assert names == ["ABS"] if added else names == ["NEGATE", "ABS"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:REWRITE", "rewrite 'no_such_module:REWRITE': No module named 'no_such_module'"),
        (f"{__name__}:NO_SUCH", "has no attribute 'NO_SUCH'; a rewrite is named module:NAME"),
        ("wide_npu.split", "a rewrite is named module:NAME"),
        ("", "a rewrite is named module:NAME"),
        (f"{__name__}:AbsOfNegate", "is of type type, not a Rewrite"),
    ],
)
def test_rewrites_that_cannot_be_added(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        TosaCompileSpec("TOSA-1.0+INT").add_rewrites(name)


def test_passes_of_another_compiler_are_refused_with_what_to_use() -> None:
    with pytest.raises(UsageError, match=r"TosaCompileSpec.set_pass_pipeline_config.*remove the call.*Rewrite"):
        TosaCompileSpec("TOSA-1.0+INT").set_pass_pipeline_config(object())
