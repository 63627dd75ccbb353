"""Methods that have their weights in common, in the ``.pte`` or in a ``.ptd``: bit-equal with programs of their own."""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from arm_tosa_core import ExecuTorchOptions, UsageError
from arm_tosa_core.exir.pte import read
from arm_tosa_core.flow import LoweredProgram, lower

METHODS = {"one": 1, "four": 4}
TARGET = "ethos-u55-128"
SAME = {name: name for name in METHODS}
X = torch.linspace(-2, 2, 4 * 64).reshape(4, 64)
Results = dict[str, torch.Tensor]


class Net(torch.nn.Module):
    """Two layers; the weights are nearly all of its program."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = torch.nn.Linear(64, 96), torch.nn.Linear(96, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)))


@functools.cache
def programs(target: str) -> dict[str, torch.export.ExportedProgram]:
    """The quantized network for one row and for four."""
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    from arm_ethosu import EthosUCompileSpec, EthosUQuantizer
    from arm_tosa_core import get_symmetric_quantization_config

    quantizer = EthosUQuantizer(EthosUCompileSpec(target)).set_global(get_symmetric_quantization_config())
    rows = ({0: torch.export.Dim("rows", min=1, max=8)},)
    prepared = prepare_pt2e(torch.export.export(Net().eval(), (X,), dynamic_shapes=rows).module(), quantizer)
    prepared(X)
    quantized = convert_pt2e(prepared)
    return {name: torch.export.export(quantized, (X[:count],)) for name, count in METHODS.items()}


def results(program: bytes | Path, methods: Mapping[str, str] = SAME, data: Path | None = None) -> Results:
    """Of each method, by the name that it has in the program."""
    import executorch.kernels.quantized  # noqa: F401
    from executorch.runtime import Runtime

    loaded = Runtime.get().load_program(program, data_path=data)
    return {name: loaded.load_method(own).execute([X[: METHODS[name]]])[0].clone() for name, own in methods.items()}


def require_equal(found: Results, wanted: Results) -> None:
    for name in METHODS:
        assert torch.equal(found[name], wanted[name]) and len(wanted[name].unique()) > 20


@functools.cache
def apart(target: str) -> tuple[Results, int]:
    """The results of programs with weights of their own, and how many bytes those have."""
    made = {name: lower(program, target).buffer for name, program in programs(target).items()}
    sizes = {len(weights(delegate.payload)) for one in made.values() for delegate in read(one).delegates}
    return {name: results(one, {name: "forward"})[name] for name, one in made.items()}, max(sizes)


def weights(payload: bytes) -> Any:
    from arm_ethosu import payload as format_

    return format_.unpack(payload)["weight_data"]


@functools.cache
def shared(target: str = TARGET) -> LoweredProgram:
    return lower(programs(target), target)


@pytest.fixture(scope="module")
def outside(runtime: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program whose weights are in ``lm.ptd`` beside it."""
    path = tmp_path_factory.mktemp("outside") / "two.pte"
    lower(programs(TARGET), TARGET, executorch=ExecuTorchOptions(external_constants="lm")).save(path)
    return path


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u65-512", "ethos-u85-256"])
def test_methods_have_one_set_of_weights(target: str, runtime: Any) -> None:
    wanted, size = apart(target)
    made = shared(target)
    (pool,) = read(made.buffer).named.values()
    assert len(pool) <= size and len(made.buffer) < 1.6 * size and not made.data_files
    assert {len(weights(delegate.payload)) for delegate in read(made.buffer).delegates} == {len(pool)}
    require_equal(results(made.buffer), wanted)


def test_executorchs_own_flow_shares_them_too(runtime: Any) -> None:
    from executorch.exir import to_edge_transform_and_lower

    from arm_ethosu import EthosUCompileSpec, EthosUPartitioner

    spec = EthosUCompileSpec(TARGET)
    edge = to_edge_transform_and_lower(programs(TARGET), partitioner=[EthosUPartitioner(spec)])
    made = bytes(edge.to_executorch().buffer)
    assert read(made).named == read(shared().buffer).named
    require_equal(results(made), apart(TARGET)[0])


def test_weights_may_be_in_a_file_beside_the_program(outside: Path) -> None:
    data = outside.with_name("lm.ptd")
    wanted, size = apart(TARGET)
    assert outside.stat().st_size < size / 2 < size - 512 < data.stat().st_size
    require_equal(results(outside, data=data), wanted)
    require_equal(results(outside.read_bytes(), data=data), wanted)
    known, unknown = (read(outside.read_bytes(), files).delegates for files in ([data.read_bytes()], []))
    assert [len(weights(delegate.payload)) <= size for delegate in known] == [True, True]
    with pytest.raises(UsageError, match="block weight_data is named data that the program does not hold"):
        weights(unknown[0].payload)


def test_one_method_may_have_them_there(runtime: Any, tmp_path: Path) -> None:
    """Constants of what stays on the CPU go with them; the C++ program finds both."""
    from arm_ethosu import EthosUCompileSpec, VelaExternalBlockPlacements
    from arm_runtime._runner import FOLDER

    placed = VelaExternalBlockPlacements(weight_data="w", cmd_data="c")
    spec = EthosUCompileSpec(TARGET, external_block_placements=placed)
    one = programs(TARGET)["one"]
    made = lower(one, spec, cache=True)
    assert not made.cached and sorted(made.data_files) == ["c.ptd", "w.ptd"]
    assert lower(one, spec, cache=True).data_files == made.data_files, "the cache has no .ptd"
    made.save(tmp_path / "one.pte")
    np.save(tmp_path / "x.npy", X[:1].numpy())
    command = [str(FOLDER / "bin" / "arm_runner"), "--model", "one.pte", "--input", "x.npy", "--output", "y.npy"]
    for name in ("c.ptd", "w.ptd"):
        command += ["--data", name]
    subprocess.run(command, cwd=tmp_path, env=runner_environment(), check=True, timeout=60)
    assert (np.load(tmp_path / "y.npy") == apart(TARGET)[0]["one"].numpy()).all()


def runner_environment() -> dict[str, str]:
    import os

    from arm_runtime import EXECUTORCH

    return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(map(str, EXECUTORCH))}


@pytest.mark.parametrize(
    "spoiled",
    [
        lambda data: None,
        lambda data: b"",
        lambda data: data[:40],
        lambda data: data[: len(data) // 2],
        lambda data: data[:8] + b"\xff" * 40 + data[48:],
        lambda data: data.replace(b"f", b"e"),
    ],
    ids=["missing", "empty", "no header", "cut short", "a header of other offsets", "another name"],
)
def test_a_file_that_does_not_fit_is_refused(
    spoiled: Callable[[bytes], bytes | None], outside: Path, tmp_path: Path
) -> None:
    """An error, not a crash and not other results."""
    data = spoiled(outside.with_name("lm.ptd").read_bytes())
    path = tmp_path / "lm.ptd"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(RuntimeError):
        results(outside, data=path)
    with pytest.raises(RuntimeError):
        results(outside)


def test_a_block_that_is_too_short_is_a_fault(runtime: Any) -> None:
    """The commands of a program with a pool read beyond what a shorter pool has."""
    from arm_ethosu import payload as format_
    from arm_runtime import ethosu

    payload = read(shared().buffer).delegates[0].payload
    arrays = format_.unpack(payload)
    short = format_.pack({**arrays, "weight_data": arrays["weight_data"][:-32]})
    inputs = [np.zeros(4 * 64, np.int8)]  # ExecuTorch has methods in the order of their names
    ethosu.run(payload, inputs)
    with pytest.raises(ethosu.EthosUError, match="outside"):
        ethosu.run(short, inputs)
    empty = format_.pack({**arrays, "weight_data": arrays["weight_data"][:0]})
    with pytest.raises(ethosu.EthosUError, match="outside"):
        ethosu.run(empty, inputs)


def test_a_target_without_named_data_says_so() -> None:
    with pytest.raises(UsageError, match="target 'tosa' cannot keep weights in lm.ptd"):
        lower(programs(TARGET), "tosa-int", executorch=ExecuTorchOptions(external_constants="lm"))


def test_the_same_request_makes_the_same_bytes() -> None:
    assert lower(programs(TARGET), TARGET).buffer == shared().buffer


class Rows(torch.nn.Module):
    """Layers that Vela computes in one block of channels for one row, and in smaller blocks for 32."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.Sequential(torch.nn.Linear(128, 384), torch.nn.ReLU(), torch.nn.Linear(384, 192))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


@functools.cache
def rows() -> tuple[list[bytes], list[torch.Tensor]]:
    """The payloads of one row and of 32, each compiled by itself, and what both take."""
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    from arm_ethosu import EthosUCompileSpec, EthosUQuantizer
    from arm_tosa_core import get_symmetric_quantization_config

    x = torch.randn(32, 128)
    quantizer = EthosUQuantizer(EthosUCompileSpec("ethos-u85-256")).set_global(get_symmetric_quantization_config())
    sizes = ({0: torch.export.Dim("rows", min=1, max=64)},)
    prepared = prepare_pt2e(torch.export.export(Rows().eval(), (x,), dynamic_shapes=sizes).module(), quantizer)
    prepared(x)
    quantized, made = convert_pt2e(prepared), []
    for count in (1, 32):
        lowered = lower(torch.export.export(quantized, (x[:count],)), "ethos-u85-256")
        made.append(read(lowered.buffer).delegates[0].payload)
    return made, [x[:1], x]


@pytest.mark.parametrize("case", ["asked for", "slower", "not asked for"])
def test_one_row_and_many_have_weights_in_one_order(case: str, runtime: Any) -> None:
    """The blocks of one row become those of many if that is asked for, unless it takes longer."""
    from arm_ethosu.sharing.payloads import with_named_weights
    from arm_runtime import ethosu

    payloads, inputs = rows()
    apart = [len(weights(payload)) for payload in payloads]
    asked: list[bytes] = []

    def cycles(payload: bytes) -> float:
        asked.append(payload)
        return (1.02 if case == "slower" else 0.9) if payload not in payloads else 1.0

    made = with_named_weights(payloads, None, {}, None if case == "not asked for" else cycles)
    stored = sum(len(item.data) for item in made.named.values()) or sum(apart)
    assert len(asked) == {"asked for": 4, "slower": 2, "not asked for": 0}[case]
    assert made.cycles == ((0.9, 0.9) if case == "asked for" else ())
    assert stored < 1.01 * max(apart) if case == "asked for" else stored > 1.5 * max(apart)
    from arm_ethosu import payload as format_

    data = {name: item.data for name, item in made.named.items()}
    for old, new, x in zip(payloads, made.payloads, inputs, strict=True):
        given = [(20 * x).round().clamp(-128, 127).to(torch.int8).numpy()]
        wanted, found = ethosu.run(old, given), ethosu.run(format_.whole(new, data), given)
        assert (found[0] == wanted[0]).all() and len(np.unique(wanted[0])) > 20


@pytest.mark.parametrize("name", ["", "folder/lm", "größe"])
def test_the_name_of_a_file_is_a_name(name: str) -> None:
    with pytest.raises(UsageError, match="give the name of a file"):
        lower(programs(TARGET), TARGET, executorch=ExecuTorchOptions(external_constants=name))
