"""``--format executorch``: what the project holds, what is said of a program, and what is refused."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
import torch
from firmware_kit import edited, model_of, program, words_program

from arm_cortex_m.firmware.c_text import filled
from arm_cortex_m.firmware.manifest import read_manifest
from arm_ethosu import EthosUCompileSpec
from arm_ethosu.firmware import FIRMWARE
from arm_ethosu.vela_ini import locate
from arm_tosa_core import lower
from arm_tosa_core.plugin.firmware import Deployed, Program
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.testing.harness import exported

TARGET = "ethos-u55-128"


class Ordered(torch.nn.Module):
    """A layer for the NPU; what follows stays on the CPU."""

    def __init__(self, last: str) -> None:
        super().__init__()
        self.layer, self.last = torch.nn.Linear(16, 8), last

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.relu(self.layer(x))
        return torch.topk(y, 3) if self.last == "topk" else torch.sort(y)


@cache
def ordered(last: str) -> Program:
    torch.manual_seed(0)
    spec = EthosUCompileSpec(TARGET)
    return Program(lower(exported(Ordered(last).eval(), (torch.randn(1, 16),), spec, "int8"), spec).buffer)


def deploy(program: Program, folder: Path) -> Deployed:
    return FIRMWARE.deploy({"top 3": program}, TARGET, "", folder, "executorch")


def test_kernels_are_listed_and_selected(tmp_path: Path) -> None:
    done = deploy(ordered("topk"), tmp_path)
    listed = (tmp_path / "kernels.txt").read_text().split()
    edges = [f"quantized_decomposed::{way}_per_tensor.out" for way in ("quantize", "dequantize")]
    assert sorted(listed) == sorted([*edges, "aten::topk.values"])
    script = (tmp_path / "CMakeLists.txt").read_text()
    assert (
        'set(portable_kernels "aten::topk.values")' in script
        and f'set(quantized_kernels "{",".join(edges)}")' in script
    )
    assert "aten::topk.values" in done.notes[0] and not any("no kernel" in note for note in done.notes)
    assert (tmp_path / "models" / "top_3.pte").read_bytes() == ordered("topk").pte
    assert [port.dtype for port in read_manifest(tmp_path).models[0].outputs] == ["float32", "int64"]


def test_operators_without_a_kernel_are_told(tmp_path: Path) -> None:
    notes = deploy(ordered("sort"), tmp_path).notes
    assert any("have no kernel for aten::sort.values: link one of yours" in note for note in notes), notes


def test_a_program_that_needs_no_runtime_is_told(tmp_path: Path) -> None:
    needless = "--format cmake needs no ExecuTorch"
    assert any(needless in note for note in deploy(Program(program()), tmp_path / "whole").notes)
    assert not any(needless in note for note in deploy(ordered("topk"), tmp_path / "part").notes)


def test_same_program_same_bytes(tmp_path: Path) -> None:
    both = [tmp_path / "one", tmp_path / "other"]
    for folder in both:
        deploy(ordered("topk"), folder)
    one, other = (
        {file.relative_to(folder): file.read_bytes() for file in folder.rglob("*") if file.is_file()} for folder in both
    )
    assert one == other and len(one) == 11


def test_files_of_the_users_stay(tmp_path: Path) -> None:
    deploy(ordered("topk"), tmp_path)
    (tmp_path / "app" / "main.cpp").write_text("int main() { return 0; }\n")
    (tmp_path / "app" / "start.c").write_text("")
    done = deploy(ordered("sort"), tmp_path)
    assert (tmp_path / "app" / "main.cpp").read_text() == "int main() { return 0; }\n"
    assert (tmp_path / "app" / "start.c").exists() and not done.removed
    assert "models/top_3.pte" in done.changed and "app/app.cmake" not in done.changed


def test_without_the_runtime_the_folder_is_for_a_cortex_m(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arm_ethosu.firmware.executorch.find_spec", lambda _name: None)
    assert any("arm_runtime is not installed" in note for note in deploy(ordered("topk"), tmp_path).notes)


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("overload", 'out")\nfile(WRITE INJECTED "owned")\nset(x "'),
        ("overload", "out;${CMAKE_COMMAND}"),
        ("name", "aten::[=[topk"),
        ("name", "aten::topk\nmore"),
        ("name", "t\u00f6pk::t\u00f6pk"),
        ("name", ""),
    ],
)
def test_an_operator_whose_name_is_code_is_refused(field: str, text: str, tmp_path: Path) -> None:
    """It would become a part of CMakeLists.txt."""
    hostile = edited(ordered("topk").pte, lambda plan: setattr(plan.operators[1], field, text))
    with pytest.raises(UsageError, match="damaged ExecuTorch program.*an operator is called"):
        deploy(Program(hostile), tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ['")', "a */", "$x", "a;b", "a\nb", "#", "\\"])
def test_words_that_are_code_do_not_get_into_a_template(text: str) -> None:
    with pytest.raises(UsageError, match="target is called"):
        filled("model/data.h.in", {"arrays": "int x;"}, name="net", NAME="NET", target=text)


def test_a_program_does_not_choose_the_files_that_are_read(tmp_path: Path) -> None:
    """What Vela was configured by is one of its own files, or given by the user."""
    mine = tmp_path / "mine.ini"
    mine.write_text(locate("Arm/vela.ini").read_text().replace("Axi0_port=Sram", "Axi0_port=Sram"))
    spec = EthosUCompileSpec(TARGET, config_ini=mine)
    pte = lower(exported(torch.nn.Linear(4, 4).eval(), (torch.randn(1, 4),), spec, "int8"), spec).buffer
    assert str(tmp_path).encode() not in pte
    with pytest.raises(UsageError, match=r"called 'mine.ini': give the file with --option config_ini=FILE"):
        model_of("net", Program(pte), TARGET)
    assert model_of("net", Program(pte, options={"config_ini": str(mine)}), TARGET).jobs[0].scratch_in == "Sram"


REFUSED = {
    "a board": ({"a": ordered}, "host", "the format executorch is for any board: leave --board host out"),
    "two models": ({"a": ordered, "b": ordered}, "", "takes one model, and 2 were given"),
    "C of ours": ({"words": words_program}, "", "delegates of TOSABackend"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_format_does_not_take(case: str, tmp_path: Path) -> None:
    given, board, said = REFUSED[case]
    programs = {name: words_program() if make is words_program else ordered("topk") for name, make in given.items()}
    with pytest.raises(UsageError, match=said):
        FIRMWARE.deploy(programs, TARGET, board, tmp_path, "executorch")
    assert not list(tmp_path.iterdir())
