"""A ``.pte`` that executorch.backends.arm makes for VGF runs on our ``VgfBackend``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

# In processes of their own: the rival's classes have the names of ours.
_MAKE = """
import sys
import torch
from executorch.backends.arm.vgf import VgfCompileSpec, VgfPartitioner
from executorch.exir import to_edge_transform_and_lower
sys.path.insert(0, sys.argv[1])
from models import MODELS
model, inputs = MODELS["digits"]()
program = torch.export.export(model.eval(), inputs(1))
edge = to_edge_transform_and_lower(program, partitioner=[VgfPartitioner(VgfCompileSpec())])
open(sys.argv[2], "wb").write(edge.to_executorch().buffer)
"""
_RUN = """
import sys
import arm_runtime
import torch
from executorch.runtime import Runtime
method = Runtime.get().load_program(sys.argv[1]).load_method("forward")
torch.save(method.execute(torch.load(sys.argv[2])), sys.argv[3])
"""


def test_stock_program(tmp_path: Path) -> None:
    pytest.importorskip("arm_runtime", reason="arm-runtime-cpp is not installed")
    from models import MODELS

    pte, x, y = (str(tmp_path / name) for name in ("stock.pte", "x.pt", "y.pt"))
    model, inputs = MODELS["digits"]()
    torch.save(list(inputs(2)), x)
    for code, *words in ((_MAKE, str(Path(__file__).parents[1]), pte), (_RUN, pte, x, y)):
        done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=600)
        if "install" in done.stderr and "VgfBackend" in done.stderr:
            pytest.skip(done.stderr.strip().splitlines()[-1])
        assert done.returncode == 0, done.stderr[-3000:]
    torch.testing.assert_close(torch.load(y)[0], model(*inputs(2)), rtol=1e-4, atol=1e-6)
