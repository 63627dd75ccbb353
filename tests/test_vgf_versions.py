"""VGF 0.4 and 0.5 run alike, where a program is compiled to either."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from arm_tosa_core import lower
from arm_tosa_core.exir.pte import delegates
from arm_tosa_core.plugin.entry_points import target
from arm_vgf import VgfCompileSpec

pytest.importorskip("arm_runtime.vgf", reason="the VGFs are run: nox builds arm-runtime-cpp")


@pytest.mark.parametrize("sized", [False, True], ids=["fixed", "sized"])
def test_both_run_alike(sized: bool, tmp_path: Path) -> None:
    """On the Vulkan engine, and as a program of ExecuTorch; sizes that vary are in a block behind the file."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3)).eval()
    x = torch.randn(2, 3, 12, 12)
    sizes = ({0: torch.export.Dim("batch", min=1, max=4)},) if sized else None
    program = torch.export.export(model, (x,), dynamic_shapes=sizes)
    run = target("vgf").host.run
    assert run is not None
    results = []
    for version in ("0.4", "0.5"):
        lowered = lower(program, VgfCompileSpec(vgf_version=version), cache=False)
        payload = delegates(lowered.buffer)[0].payload
        assert payload[8:10] == bytes(map(int, version.split(".")))
        (y,) = run(payload, [x.numpy()])
        results.append(torch.from_numpy(y))
        lowered.save(tmp_path / "net.pte")
        assert not lowered.differences(program)
    assert torch.equal(*results)
    torch.testing.assert_close(results[0], model(x), rtol=1e-3, atol=1e-3)
