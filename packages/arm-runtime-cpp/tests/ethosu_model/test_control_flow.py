"""COND_IF and WHILE_LOOP, which Vela compiles to branches for Ethos-U85, and branches that lead nowhere.

``arm-tosa`` makes loops of ``torch.while_loop``; ExecuTorch's stock backend makes branches too, and they run here.
"""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from model_library import Array, Fault, Region, run, run_stream
from streams import payload, program

from arm_ethosu import EthosUCompileSpec
from arm_ethosu.accelerators import DEFAULTS
from arm_ethosu.vela import compile
from arm_tosa_core.plugin.entry_points import target as find_target
from arm_tosa_core.support.external_tools import find_tool
from arm_tosa_core.testing.harness import Execution, exported

_IMAGE = "tensor<1x5x6x16xi32>"
_ONE = "tensor<1x1x1x1xi32>"
_IS_POSITIVE = f"""
    %zero = "tosa.const"() <{{values = dense<0> : {_ONE}}}> : () -> {_ONE}
    %g = tosa.greater %n, %zero : ({_ONE}, {_ONE}) -> tensor<1x1x1x1xi1>
    %s = tosa.const_shape {{values = dense<> : tensor<0xindex>}} : () -> !tosa.shape<0>
    %c = tosa.reshape %g, %s : (tensor<1x1x1x1xi1>, !tosa.shape<0>) -> tensor<i1>
"""


def _branch(op: str) -> str:
    return f"""
    ^bb0(%a: {_IMAGE}, %b: {_IMAGE}):
        %r = tosa.{op} %a, %b : ({_IMAGE}, {_IMAGE}) -> {_IMAGE}
        tosa.yield %r : {_IMAGE}
    """


#: The larger of two images if a number is positive, else the smaller; compared first, or last before the choice.
_MAKE_X = f"%x = tosa.add %x0, %y : ({_IMAGE}, {_IMAGE}) -> {_IMAGE}"
_IF = f"""
    %r = tosa.cond_if %c (%a = %x, %b = %y) : tensor<i1> ({_IMAGE}, {_IMAGE}) -> {_IMAGE} {{
    {_branch("maximum")} }} else {{ {_branch("minimum")} }}
"""
#: Adds n - 1, n - 2, ..., 0 to an image.
_LOOP = f"""
func.func @main(%x: {_IMAGE}, %count: {_ONE}) -> {_IMAGE} {{
    %m, %r = tosa.while_loop (%n = %count, %a = %x) : ({_ONE}, {_IMAGE}) -> ({_ONE}, {_IMAGE}) {{
        {_IS_POSITIVE}
        tosa.yield %c : tensor<i1>
    }} do {{
    ^bb0(%n: {_ONE}, %a: {_IMAGE}):
        %one = "tosa.const"() <{{values = dense<1> : {_ONE}}}> : () -> {_ONE}
        %less = tosa.sub %n, %one : ({_ONE}, {_ONE}) -> {_ONE}
        %more = tosa.add %a, %less : ({_IMAGE}, {_ONE}) -> {_IMAGE}
        tosa.yield %less, %more : {_ONE}, {_IMAGE}
    }}
    return %r : {_IMAGE}
}}
"""


def _choice(*before: str) -> str:
    head = f"func.func @main(%x0: {_IMAGE}, %y: {_IMAGE}, %n: {_ONE}) -> {_IMAGE}"
    return f"{head} {{ {' '.join(before)} {_IF} return %r : {_IMAGE} }}"


def _compile(text: str, accelerator: str, folder: Path) -> dict[str, Array]:
    """What Vela makes of a graph in MLIR."""
    source, made = folder / "graph.mlir", folder / "graph.tosa"
    source.write_text(text)
    words = [find_tool("tosa-opt", package="tosa-tools"), str(source), "--tosa-serialize", "-o", "/dev/null"]
    subprocess.run([*words, f"--tosa-flatbuffer-filename={made}"], check=True, timeout=60)
    defaults = DEFAULTS["u85"]
    return dict(
        compile(
            _as_vela_reads(made.read_bytes()), accelerator=accelerator, config=None,
            system_config=defaults.system_config, memory_mode=defaults.memory_mode, timeout=60,
        ).arrays
    )  # fmt: skip


def _as_vela_reads(data: bytes) -> bytes:
    """The flatbuffer as version 1.0, each block named like its region, which is the name that operators say."""
    from tosa.TosaGraph import TosaGraph

    made = bytearray(data)
    graph = TosaGraph.GetRootAs(made, 0)
    version = graph.Version()._tab
    minor = 6  # the field's place in the table of Version
    if field := version.Offset(minor):
        struct.pack_into("<i", made, version.Pos + field, 0)
    for region in (graph.Regions(i) for i in range(graph.RegionsLength())):
        for block in (region.Blocks(i) for i in range(region.BlocksLength())):
            name = block.Name()
            at = data.index(struct.pack("<I", len(name)) + name)
            struct.pack_into(f"<I{len(name)}s", made, at, len(region.Name()), region.Name())
    return bytes(made)


@pytest.fixture
def images() -> tuple[Array, Array]:
    rng = np.random.default_rng(5)
    x, y = rng.integers(-(2**20), 2**20, (2, 1, 5, 6, 16)).astype(np.int32)
    return x, y


@pytest.mark.parametrize("accelerator", ["ethos-u85-128", "ethos-u85-2048"])
@pytest.mark.parametrize("before", [(_IS_POSITIVE, _MAKE_X), (_MAKE_X, _IS_POSITIVE)], ids=["first", "last"])
def test_choice(
    before: tuple[str, str], accelerator: str, images: tuple[Array, Array], model: Path, tmp_path: Path
) -> None:
    arrays = _compile(_choice(*before), accelerator, tmp_path)
    x, y = images
    for number in (3, 0, -1):
        (result,) = run(model, accelerator, arrays, [x, y, np.full((1, 1, 1, 1), number, np.int32)])
        expected = np.maximum(x + y, y) if number > 0 else np.minimum(x + y, y)
        np.testing.assert_array_equal(result, expected.reshape(-1))


def test_loop(images: tuple[Array, Array], model: Path, tmp_path: Path) -> None:
    arrays = _compile(_LOOP, "ethos-u85-256", tmp_path)
    for number in (0, 1, 5):
        (result,) = run(model, "ethos-u85-256", arrays, [images[0], np.full((1, 1, 1, 1), number, np.int32)])
        np.testing.assert_array_equal(result, (images[0] + sum(range(number))).reshape(-1))


def test_a_loop_of_pytorch(images: tuple[Array, Array], model: Path) -> None:
    class Loop(torch.nn.Module):
        def forward(self, x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
            step = (lambda x, n: n.gt(0).reshape(())), (lambda x, n: (x + n, n - 1))
            return torch.ops.higher_order.while_loop(*step, (x, n), ())[0]  # type: ignore[no-any-return]

    inputs = torch.from_numpy(images[0]), torch.ones(1, 1, 1, 1, dtype=torch.int32)
    run = Execution(torch.export.export(Loop(), inputs), find_target("ethos-u85-256"))
    assert [op.name for op in run.regions[0].graph.ops] == ["WHILE_LOOP"]
    for number in (0, 1, 5):
        pairs = run.edges((inputs[0], inputs[1] * number))
        assert pairs and all(torch.equal(*pair) for pair in pairs)


def test_a_quantized_loop_of_pytorch() -> None:
    class Loop(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 4, 3)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            loop = torch.ops.higher_order.while_loop
            carried = (torch.relu(self.conv(x)),)
            results: tuple[torch.Tensor, ...] = loop(
                lambda y: y.sum() < 400, lambda y: ((y + torch.full((1,), 0.5)) * 1.5,), carried, ()
            )
            return results

    torch.manual_seed(0)
    inputs, target = (torch.rand(1, 3, 7, 8),), find_target("ethos-u85-256")
    run = Execution(exported(Loop().eval(), inputs, EthosUCompileSpec("ethos-u85-256"), "int8"), target)
    assert "WHILE_LOOP" in [op.name for op in run.regions[0].graph.ops]
    for factor in (1.0, 0.1):
        ((ours, eager),) = run.edges((inputs[0] * factor,))
        assert len(eager.unique()) >= 6
        torch.testing.assert_close(ours, eager, rtol=0, atol=1)


_BRANCH = 256 | 1 << 14
_STOP = 0


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([_BRANCH, 0, _STOP], "the program went back 65536 times"),
        ([_BRANCH, 12, _STOP], "byte 12 is no word"),
        ([_BRANCH, 2, _STOP], "byte 2 is no word"),
        ([_BRANCH | 2 << 16, 0, _STOP], "no condition 2"),
        ([_BRANCH | 1 << 16, 0, _STOP], "a condition other than a result of one element"),
        ([_BRANCH], "the stream ends inside the command"),
    ],
)
def test_a_branch_that_is_none(words: list[int], text: str, model: Path) -> None:
    with pytest.raises(Fault, match=text):
        run_stream(model, "ethos-u85-256", payload(words), [])


def test_a_result_of_several_elements_is_no_condition(model: Path) -> None:
    words = np.frombuffer(program("POOL", 2, {"OFM_WIDTH_M1": 1, "IFM_WIDTH0_M1": 1, "OFM_WIDTH0_M1": 1}), "<u4")
    stream = payload([*words[5:-1].tolist(), _BRANCH | 1 << 16, 0, _STOP])
    data = np.zeros(256, np.uint8)
    with pytest.raises(Fault, match="a condition other than"):
        run_stream(model, "ethos-u85-256", stream, [Region(np.zeros(64, np.uint8)), Region(data)])
