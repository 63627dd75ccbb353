"""From a model to the rows of its report, with a program in the place of Arm's estimator that rates every operator."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from click.testing import Result
from nx_stand_in import installed
from torch import nn
from torch.export import ExportedProgram
from typer.testing import CliRunner

from arm_tosa_core import get_symmetric_quantization_config, lower, quantize_program
from arm_tosa_core.cli.main import app
from arm_tosa_core.tosa.loader import load
from arm_vgf import VgfCompileSpec, VgfQuantizer
from arm_vgf.graph_code import operators_of
from arm_vgf.nx_estimator import ADVICE, ESTIMATOR

pytestmark = pytest.mark.usefixtures("no_estimator")
#: A step of 10 cycles, and 64 bytes from DRAM, for each operator; those that read or make floats run on shaders.
RATES = """
from arm_vgf.graph_code import operators_of
KINDS, FLOATS = {kinds}, {floats}
vgf = pathlib.Path(arguments["-i"]).read_bytes()
labels = [f"TOSA{{KINDS[each.kind]}}_spirv_id_{{each.result}};" for each in operators_of(vgf)]
steps = [label for i, label in enumerate(labels) if i not in FLOATS]
shaders = "".join(label for i, label in enumerate(labels) if i in FLOATS)
write({{"total_cycles": 10 * len(steps), "inference_time": 0.002, "dram_footprint": 4096}},
      {{"read_bytes": 64 * len(steps), "write_bytes": 0}})

def table(name, heads, rows):
    return f'<table name="{{name}}">\\n<![CDATA[\\n' + "\\n".join([heads, *rows]) + "\\n]]>\\n</table>\\n"

each = range(len(steps))
memory, units = "memoryName;readBytes;writeBytes;trafficCycles", "sectionName;cycles"
performance = table("performance", f'"id", "opCycles", "totalCycles", "{{memory}}", "{{units}}"',
                    [f"{{i}}, 9, 10, DRAM;64;0;9;, VectorEngine;3;" for i in each])
debug = table("tosa_op_id", '"id", "tosa_op", "api_labels"', [f"{{100 + i}}, X, {{steps[i]}}" for i in each])
debug += table("shader_op_id", '"id", "api_labels"', [f"1, {{shaders}}"])
debug += table("fused_op_id", '"id", "tosa_op_ids"', [f"{{300 + i}}, {{100 + i}};" for i in each])
debug += table("chain_op_id", '"id", "fused_op_ids"', [f"{{500 + i}}, {{300 + i}};" for i in each])
debug += table("cascade_op_id", '"id", "op_ids"', [])
debug += table("stripe_op_id", '"id", "op_id", "cascade_op_id"', [f"{{i}}, {{500 + i}}, 0" for i in each])
for name, text in (("performance", performance), ("debug", debug)):
    pathlib.Path(arguments["-o"] + f"_{{name}}_database.dat").write_text(text)
"""


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU())
        self.last = nn.Conv2d(8, 4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.first(x))


@pytest.fixture(scope="module")
def program() -> ExportedProgram:
    torch.manual_seed(0)
    x = torch.randn(1, 3, 12, 12)
    exported = torch.export.export(Net().eval(), (x,))
    quantizer = VgfQuantizer(VgfCompileSpec()).set_global(get_symmetric_quantization_config())
    return torch.export.export(quantize_program(exported, quantizer, [x]).converted, (x,))


def _install(program: ExportedProgram, folder: Path) -> int:
    """Installs the stand-in; the count of what it rates."""
    lower(program, VgfCompileSpec().dump_intermediate_artifacts_to(folder / "artifacts"), cache=False)
    (file,) = (folder / "artifacts").glob("*/vgf.tosa")
    ops, emitted = list(load(file.read_bytes()).ops), operators_of(file.with_name("vgf.vgf").read_bytes())
    kinds = {operator.kind: op.name for operator, op in zip(emitted, ops, strict=True)}
    floats = {i for i, op in enumerate(ops) if any(x.dtype.is_float for x in (*op.inputs, *op.outputs))}
    installed(folder / "bin", RATES.format(kinds=kinds, floats=floats))
    assert floats
    return len(ops) - len(floats)


def test_operators_of_the_model_have_cycles(program: ExportedProgram, tmp_path: Path) -> None:
    without = lower(program, VgfCompileSpec())
    assert any(ADVICE in note for note in without.figures.notes) and without.figures.cycles is None
    count = _install(program, tmp_path)
    for cached in (False, True):
        lowered = lower(program, VgfCompileSpec(), cache=True)
        assert lowered.cached is cached
        figures = lowered.figures
        assert (figures.cycles, figures.ms, figures.clock_hz) == (10 * count, pytest.approx(0.002), 5e6 * count)
        assert (figures.dram_bytes, figures.dram_read_bytes, figures.dram_written_bytes) == (4096, 64 * count, 0)
        assert (figures.cycles_by, figures.estimated_by) == (ESTIMATOR, ESTIMATOR)
        assert ["shaders" in note for note in figures.notes] == [True]
        rows = lowered.report.to_dataframe().set_index("module")
        for module, channels in (("first.0", 8 * 10 * 10 * 27), ("last", 4 * 8 * 8 * 72)):
            assert rows.macs[module] == channels and rows.bound[module] == "DRAM"
            assert rows.cycles[module] >= 10 and f"{Path(__file__).name}:" in rows.source[module]
        (said,) = lowered.report.compiled
        assert sum(layer.cycles for layer in said.layers) == 10 * count
    assert lowered.buffer == without.buffer


def test_the_command_line_says_whose_figures_they_are(
    program: ExportedProgram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    torch.export.save(program, tmp_path / "net.pt2")

    def compiled(*words: str) -> Result:
        arguments = ["compile", str(tmp_path / "net.pt2"), "--target", "vgf", "-o", str(tmp_path / "net.pte"), *words]
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output
        return result

    before = compiled()
    assert before.stderr.count(ADVICE) == 1 and "cycles" not in before.stdout
    count = _install(program, tmp_path)
    after = compiled("--details")
    assert ADVICE not in after.stderr and f"cycles, estimated by the {ESTIMATOR}" in after.stdout
    assert f"DRAM traffic, estimated by the {ESTIMATOR}" in after.stdout
    assert "on shaders, not rated" in after.stdout
    figures = json.loads(compiled("--json").stdout)["figures"]
    assert (figures["cycles"], figures["ms"]) == (10 * count, pytest.approx(0.002))
