"""``VgfBackend`` inside ExecuTorch: from Python, in ``arm_runner``, and where it cannot work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from vgf_net import Net

import arm_tosa_core

COMMAND = (sys.executable, "-c", "from arm_tosa_core.cli.main import main; main()")
RUN = """
import arm_runtime, torch
from executorch.runtime import Runtime
method = Runtime.get().load_program({pte!r}).load_method("forward")
print(method.execute([torch.ones(1, 3, 8, 8)])[0].sum())
"""


def test_python(pte: Path) -> None:
    from executorch.runtime import Runtime

    method = Runtime.get().load_program(pte).load_method("forward")
    for seed in range(3):
        x = torch.randn(1, 3, 8, 8, generator=torch.Generator().manual_seed(seed))
        values, indices = method.execute([x])
        expected = Net()(x)
        torch.testing.assert_close(values, expected[0])
        assert torch.equal(indices.to(torch.int64), expected[1])


#: Eight threads at once: they load a program, and run it with an input that does not fit.
THREADS = """
import arm_runtime, sys, threading, torch
from executorch.runtime import Runtime
failed = []
def work():
    for _ in range(5):
        method = Runtime.get().load_program({pte!r}).load_method("forward")
        for _ in range(20):
            try:
                method.execute([torch.ones(1, 3, 9, 9)])
            except RuntimeError:
                failed.append(1)
threads = [threading.Thread(target=work) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(failed))
"""


def test_threads_may_load_and_fail_at_once(pte: Path) -> None:
    """ExecuTorch's Python bindings log by way of ``sys.stderr``, and two threads there at once end the process."""
    command = [sys.executable, "-c", THREADS.format(pte=str(pte))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout == "800\n", done.stderr[-4000:]
    assert "VgfBackend" not in done.stderr and "register_pal" not in done.stderr, "a load logs nothing"
    assert done.stderr.count("Error resizing tensor at input 0") == 800


def test_runner_and_etdump(pte: Path, runner: str, tmp_path: Path) -> None:
    from arm_tosa_core.cli.profile import read_events

    x = torch.randn(1, 3, 8, 8)
    np.save(tmp_path / "x.npy", x.numpy())
    files = ["--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy", "--output", tmp_path / "i.npy"]
    command = [runner, "--model", pte, *files, "--repeat", "4", "--etdump", tmp_path / "t.etdp"]
    subprocess.run(list(map(str, command)), check=True, capture_output=True, timeout=300)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), Net()(x)[0].detach().numpy(), rtol=1e-5, atol=1e-6)
    names = [event.name for event in read_events((tmp_path / "t.etdp").read_bytes())]
    for part in ("VGF host: copy inputs", "VGF host: run", "VGF host: copy outputs"):
        assert names.count(part) == 4
    assert sum(name.startswith("VGF device: ") and "CONV2D" in name for name in names) == 4


def test_the_command_plays_a_bare_vgf(vgf: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its outputs, and with ``--profile`` where the time goes, as for a program."""
    from typer.testing import CliRunner
    from vgf_files import graph_vgf

    from arm_tosa_core.cli.main import app
    from arm_tosa_core.tosa.ir import DType

    monkeypatch.chdir(tmp_path)
    Path("abs.vgf").write_bytes(graph_vgf("ABS", DType.INT32, 4))
    np.save("x.npy", np.array([1, -2, 3, -4], np.int32))
    command = ["run", "abs.vgf", "--input", "x.npy", "--output", "y.npy", "--profile", "t.json", "--json"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert np.load("y.npy").tolist() == [1, 2, 3, 4]
    depths = {event["name"]: event["depth"] for event in json.loads(done.stdout)["profile"]}
    assert depths == {"copy inputs": 0, "run": 0, "0: ABS": 1, "copy outputs": 0}
    assert {event["name"] for event in json.loads(Path("t.json").read_text())["traceEvents"]} == set(depths)


@pytest.mark.parametrize("memory", [torch.contiguous_format, torch.channels_last, torch.preserve_format])
@pytest.mark.parametrize("by", ["arm-tosa run", "arm_runner"])
def test_arrays_are_row_major_whatever_the_program_takes(
    by: str, memory: torch.memory_format, vgf: Any, runner: str, tmp_path: Path
) -> None:
    """The example lies channels-last in memory, as pictures do that NumPy has loaded."""
    x = torch.from_numpy(np.random.default_rng(0).random((6, 7, 3), np.float32)).permute(2, 0, 1)[None]
    module = torch.nn.Conv2d(3, 4, 3).eval()
    program = tmp_path / "net.pte"
    lowered = arm_tosa_core.lower(torch.export.export(module, (x,)), "vgf", memory_format=memory)
    assert [taken.memory for taken in lowered.inputs if taken] == [
        "row-major" if memory == torch.contiguous_format else "channels-last"
    ]
    lowered.save(program)
    np.save(tmp_path / "x.npy", np.ascontiguousarray(x.numpy()))
    files = ["--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy"]
    command = [*COMMAND, "run", program] if by == "arm-tosa run" else [runner, "--model", program]
    subprocess.run(list(map(str, command + files)), check=True, capture_output=True, timeout=300)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), module(x).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_without_a_driver_loading_says_what_to_install(pte: Path) -> None:
    env = dict(os.environ, VK_ICD_FILENAMES="/nowhere.json", VK_DRIVER_FILES="/nowhere.json")
    command = [sys.executable, "-c", RUN.format(pte=str(pte))]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    assert "VgfBackend: no Vulkan driver on this machine: install" in done.stderr


def test_pictures_of_a_batch_may_lie_channels_last(vgf: Any) -> None:
    from executorch.runtime import Runtime

    from arm_runtime.batches import BatchedProgram
    from arm_tosa_core import lower

    net = torch.nn.Conv2d(3, 4, 1).eval()
    lowered = lower({"forward_2": torch.export.export(net, (torch.zeros(2, 3, 4, 5),))}, "vgf")
    program = BatchedProgram(Runtime.get().load_program(lowered.buffer))
    pictures = torch.rand(2, 4, 5, 3).permute(0, 3, 1, 2)
    torch.testing.assert_close(program.execute([pictures])[0], net(pictures).detach())


def test_batches(vgf: Any) -> None:
    """Methods for 1 and 4 rows in one program: 3 rows run on the second, 5 on none."""
    from executorch.exir import to_edge_transform_and_lower
    from executorch.runtime import Runtime

    from arm_runtime.batches import BatchedProgram
    from arm_vgf import VgfCompileSpec, VgfPartitioner

    net = torch.nn.Sequential(torch.nn.Linear(6, 3), torch.nn.ReLU()).eval()
    programs = {f"forward_{n}": torch.export.export(net, (torch.zeros(n, 6),)) for n in (1, 4)}
    partitioners = {name: [VgfPartitioner(VgfCompileSpec())] for name in programs}
    edge = to_edge_transform_and_lower(programs, partitioner=partitioners)
    program = BatchedProgram(Runtime.get().load_program(edge.to_executorch().buffer))
    assert program.sizes == [1, 4]
    for rows in (1, 3, 4):
        x = torch.randn(rows, 6)
        torch.testing.assert_close(program.execute([x])[0], net(x))
    with pytest.raises(ValueError, match="5 rows are more than the largest method takes"):
        program.execute([torch.zeros(5, 6)])
