"""ExecuTorch's developer tools on our programs: the Inspector with ETRecord and ETDump, and bundled programs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from executorch.devtools import Inspector
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.backend.operator_support import DontPartition
from torch.export import ExportedProgram

from arm_ethosu import EthosUCompileSpec, EthosUPartitioner, EthosUQuantizer
from arm_tosa_core import ExecuTorchOptions, UsageError, get_symmetric_quantization_config, lower, quantize_program
from arm_vgf import VgfCompileSpec, VgfPartitioner
from test_other_backends import Net

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations


class WithTanh(Net):
    """With a tanh that is kept on the CPU."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(super().forward(x))


X = torch.randn(1, 3, 8, 8, generator=torch.Generator().manual_seed(0))
SPECS = {"ethos-u": EthosUCompileSpec("ethos-u55-128"), "vgf": VgfCompileSpec("TOSA-1.0+FP")}
KEPT = DontPartition("aten.tanh.default")
RUNS = {"ethos-u": "EthosU run", "vgf": "VGF host: run"}


def program(target: str) -> ExportedProgram:
    torch.manual_seed(0)
    exported = torch.export.export(WithTanh().eval(), (X,))
    if target == "vgf":
        return exported
    quantizer = EthosUQuantizer(SPECS[target]).set_global(get_symmetric_quantization_config())
    return torch.export.export(quantize_program(exported, quantizer, [(X,)]).converted, (X,))


def fast(target: str, etrecord: Path) -> bytes:
    return lower(
        program(target), SPECS[target], executorch=ExecuTorchOptions(additional_checks=[KEPT], etrecord=etrecord)
    ).buffer


def ordinary(target: str, etrecord: Path) -> bytes:
    partitioner = {"ethos-u": EthosUPartitioner, "vgf": VgfPartitioner}[target](SPECS[target], [KEPT])
    edge = to_edge_transform_and_lower(program(target), partitioner=[partitioner], generate_etrecord=True)
    made = edge.to_executorch()
    made.get_etrecord().save(etrecord)
    return bytes(made.buffer)


@pytest.mark.parametrize("flow", [fast, ordinary], ids=["fast", "ordinary"])
@pytest.mark.parametrize("target", SPECS)
def test_the_inspector_tells_the_source_lines(target: str, flow: Callable[[str, Path], bytes], tmp_path: Path) -> None:
    """Of a delegate's run those of all its operators, of an operator on the CPU its own."""
    pytest.importorskip("arm_runtime", reason="arm_runner comes with it: nox builds arm-runtime-cpp")
    np.save(tmp_path / "x.npy", X.numpy())
    record = tmp_path / "model.etrecord"
    (tmp_path / "model.pte").write_bytes(flow(target, record))
    runner = str(Path(sys.executable).with_name("arm_runner"))
    files = ("--model", "model.pte", "--input", "x.npy", "--etdump", "run.etdp")
    subprocess.run([runner, *files], cwd=tmp_path, check=True, timeout=300)
    inspector = Inspector(etdump_path=str(tmp_path / "run.etdp"), etrecord=str(record))
    events = {event.name: event for block in inspector.event_blocks for event in block.events}

    run = events[RUNS[target]]
    assert "aten.relu.default" in run.op_types
    assert "aten.tanh.default" not in run.op_types
    lines = "".join(line or "" for line in run.stack_traces.values())
    assert "self.linear(self.conv(x).relu().flatten(1))" in lines

    outside = events["native_call_tanh.out"]
    assert "aten.tanh.default" in outside.op_types
    assert "torch.tanh(super().forward(x))" in "".join(line or "" for line in outside.stack_traces.values())


def verified(bundled: bytes, cases: int) -> list[bool]:
    """What ExecuTorch says of each case of a bundled program."""
    from executorch.extension.pybindings.portable_lib import _load_bundled_program_from_buffer

    loaded = _load_bundled_program_from_buffer(bundled)
    results = []
    for case in range(cases):
        try:
            loaded.verify_result_with_bundled_expected_output("forward", case, 1e-5, 1e-3)
            results.append(True)
        except RuntimeError:
            results.append(False)
    return results


def test_a_bundled_program_is_verified() -> None:
    """One case has an output that is wrong: that is found."""
    pytest.importorskip("arm_runtime", reason="nox builds arm-runtime-cpp")
    net = torch.nn.Linear(4, 2).eval()
    xs = [torch.randn(1, 4, generator=torch.Generator().manual_seed(seed)) for seed in range(3)]
    cases: list[tuple[Sequence[torch.Tensor], Sequence[torch.Tensor]]] = [([x], [net(x).detach()]) for x in xs]
    cases[1] = (cases[1][0], [cases[1][1][0] + 1])
    lowered = lower(torch.export.export(net, (xs[0],)), SPECS["vgf"])
    assert verified(lowered.bundled(cases), 3) == [True, False, True]
    with pytest.raises(UsageError, match="needs one case"):
        lowered.bundled([])


def arm_tosa(*words: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("arm-tosa")), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_on_the_command_line(tmp_path: Path) -> None:
    pytest.importorskip("arm_runtime", reason="nox builds arm-runtime-cpp")
    model, samples, out = tmp_path / "model.pt2", tmp_path / "samples.npz", tmp_path / "model.pte"
    torch.export.save(torch.export.export(torch.nn.Linear(4, 2).eval(), (torch.ones(1, 4),)), model)
    np.savez(samples, np.random.default_rng(0).normal(size=(2, 4)).astype(np.float32))
    options = ["compile", str(model), "--target", "vgf", "--bundle", str(samples)]
    done = arm_tosa(*options, "-o", str(out), "--etrecord", str(tmp_path / "model.etrecord"))
    assert done.returncode == 0, done.stderr
    assert verified(out.with_suffix(".bpte").read_bytes(), 2) == [True, True]
    assert (tmp_path / "model.etrecord").read_bytes()[:2] == b"PK"  # a zip archive
    for words, message in (
        (["-o", str(tmp_path / "model.vgf")], "go with a .pte"),
        (["-o", str(out), "--integer-io"], "leave out --integer-io"),
        (["-o", str(out), "--etrecord", str(tmp_path / "nowhere" / "x")], "there is no folder"),
    ):
        done = arm_tosa(*options, *words)
        assert done.returncode == 1
        assert message in done.stderr
