"""A process that runs programs does not import ExecuTorch's exporter, nor one that exports all of Inductor."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import torch
from executorch.exir import to_edge

SCRIPT = """
import sys
from arm_tosa_core.compat.executorch import read_program, without_exporter
from arm_tosa_core.compat.light_imports import alone_in_process, import_exporter
from arm_tosa_core.exir.pte import read
from arm_tosa_core.exir.pte_runtime import load_method, load_program

pte = read(open("relu.pte", "rb").read())
program = load_program(pte, "relu.pte", profile=True)
method = load_method(program, "forward", "relu.pte")
import torch

assert method.execute([torch.tensor([-1.0, 2.0])])[0].tolist() == [0.0, 2.0]
assert not {"executorch.exir.passes", "torch._inductor"} & set(sys.modules)

import executorch.exir

assert executorch.exir.schema.Program is type(read_program(pte.data)[0])  # read without its package, found in it
assert "executorch.exir.passes" not in sys.modules
with without_exporter():
    import executorch.exir.error
alone_in_process()
import_exporter()
assert {"executorch.exir.passes", "torch.export._trace"} <= set(sys.modules)
assert "torchao" not in sys.modules
import executorch.exir.emit  # imports in circles, unless the package's __init__ comes first

assert executorch.exir.to_edge and "executorch.exir.passes" in sys.modules
with without_exporter():
    from executorch.devtools import Inspector

assert "torch._inductor.fx_passes" not in sys.modules  # a second of imports, for one function
from torch.export._remove_auto_functionalized_pass import decompose_auto_functionalized

graph = torch.fx.symbolic_trace(torch.nn.Identity()).graph
decompose_auto_functionalized(graph)
assert "torch._inductor.fx_passes" not in sys.modules  # there is nothing to decompose
with graph.inserting_before(graph.output_node()):
    graph.call_function(torch.ops.higher_order.auto_functionalized, (torch.ops.aten.add_.Tensor,))
try:
    decompose_auto_functionalized(graph)
except Exception:  # it has no operands
    pass
assert "torch._inductor.fx_passes.post_grad" in sys.modules
"""


def test_programs_run_without_the_exporter(tmp_path: Path) -> None:
    program = to_edge(torch.export.export(torch.nn.ReLU(), (torch.ones(2),))).to_executorch()
    (tmp_path / "relu.pte").write_bytes(program.buffer)
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
