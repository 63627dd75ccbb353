"""What Vela wrote is compared with the graph: faults of Vela are found, and whatever is changed in its commands."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest
from vela_cases import I8, I32, conv, pool, rescale

from arm_ethosu import EthosUCompileSpec, comparison, vela
from arm_ethosu.command_stream import registers as r
from arm_ethosu.command_stream.container import commands_of, with_commands
from arm_ethosu.command_stream.operations import decode
from arm_ethosu.command_stream.registers import ACTIVATION, IFM_ZERO_POINT, LONG, OFM_ZERO_POINT
from arm_ethosu.command_stream.words import walk
from arm_ethosu.comparison import difference
from arm_ethosu.comparison.debug_database import Lifetimes, Owned, owned
from arm_ethosu.comparison.difference import Difference
from arm_ethosu.comparison.windows import window_difference
from arm_tosa_core.support.database_tables import tables
from arm_tosa_core.support.errors import MiscompiledError
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.serializer import serialize

_PADDED = (1, 1, 1, 1)
_ZERO = 5  # point of what is rescaled


def _compiled(graph: Graph, accelerator: str = "ethos-u55-128", *flags: str) -> tuple[bytes, vela.VelaOutput]:
    spec = EthosUCompileSpec(accelerator)
    options = {"system_config": spec.system_config, "memory_mode": spec.memory_mode, "config": None, "timeout": 60}
    tosa = serialize(graph, spec.tosa_spec)
    return tosa, comparison.compile(tosa, accelerator=accelerator, flags=flags, **options)


def _then(graph: Graph, x: Tensor, case) -> Tensor:
    """The operator of a case on another input, and a RESCALE to INT8 of what is wider."""
    made = case.graph()
    (op,) = [op for op in made.ops if op.name == case.op]
    result = graph.append(op.name, [x, *op.inputs[1:]], op.attrs).output
    return result if result.dtype is DType.INT8 else rescale(graph, result, I8, _ZERO)


def _chain(size: int = 4, batch: int = 1) -> Graph:
    """A convolution, a pool and a convolution, all with padding, and a table."""
    graph = Graph()
    x = graph.input("x", (batch, size, size, 8), I8)
    for case in (conv("", "", pad=_PADDED), pool("", "", "MAX_POOL2D", k=(3, 3), pad=_PADDED), conv("", "", k=(1, 1))):
        x = _then(graph, x, case)
    table = graph.constant(np.arange(-128, 128)[::-1].astype(np.int8), I8)
    graph.outputs = [graph.append("TABLE", [x, table], {}).output]
    return graph


def _of_slice(case) -> Graph:
    """What reads windows, of a part of the channels of a pool, in a batch of two."""
    graph = Graph()
    pooled = _then(graph, graph.input("x", (2, 4, 4, 16), I8), pool("", "", "MAX_POOL2D", k=(1, 1)))
    part = graph.append("SLICE", [pooled, graph.shape((0, 0, 0, 8)), graph.shape((2, 4, 4, 8))], {}).output
    graph.outputs = [_then(graph, part, case)]
    return graph


def _joined_wide() -> Graph:
    graph = Graph()
    parts = [rescale(graph, graph.input(f"x{n}", (3, n), I8), I32) for n in (4, 5)]
    graph.outputs = [graph.append("CONCAT", parts, {"axis": 1}).output]
    return graph


@pytest.mark.parametrize("accelerator", ["ethos-u55-128", "ethos-u85-256"])
@pytest.mark.parametrize(
    ("graph", "problem"),
    [
        pytest.param(
            _of_slice(conv("", "", pad=_PADDED)), r"CONV2D t\d+: padding .* 0/2/0/2, right is 1/1/1/1", id="c"
        ),
        pytest.param(_of_slice(pool("", "", "MAX_POOL2D", k=(3, 3), pad=_PADDED)), "MAX_POOL2D .*: padding", id="p"),
        pytest.param(
            conv("", "", k=(257, 1), pad=(128, 0, 0, 0)).graph(), "padding .* 0/0/0/0, right is 128/0/0/0", id="l"
        ),
    ],
)
def test_faults_of_vela_are_errors(graph: Graph, problem: str, accelerator: str) -> None:
    with pytest.raises(MiscompiledError, match=problem) as raised:
        _compiled(graph, accelerator)
    assert "fault of Vela" in str(raised.value) and "input was kept" in str(raised.value) and raised.value.tensor


def _sum(*operands: Tensor | tuple[int, ...], graph: Graph) -> Tensor:
    """The sum of tensors, or of inputs of these shapes, which are repeated where they are shorter."""
    names = (f"x{number}" for number in range(len(graph.inputs), 9))
    tensors = [x if isinstance(x, Tensor) else graph.input(next(names), x, I8) for x in operands]
    return rescale(graph, graph.append("ADD", [rescale(graph, x, I32) for x in tensors], {}).output, I8, _ZERO)


@pytest.mark.parametrize("accelerator", ["ethos-u55-128", "ethos-u85-256"])
@pytest.mark.parametrize(
    "shapes",
    [
        [(1, 5, 4, 6), (1, 5, 4, 6)],
        [(1, 5, 4, 6), (1, 1, 1, 1)],
        [(1, 5, 4, 6), (1, 1, 1, 6)],
        [(1, 1, 1, 6), (1, 5, 4, 6)],
        [(1, 5, 4, 6), (1, 5, 1, 6)],
        [(2, 5, 4, 6), (2, 5, 1, 6)],
        [(5, 1), (5, 6)],
        [(1, 1, 8), (1, 6, 1)],
        [(1, 5, 1, 6), (1, 1, 4, 1)],
        [(3, 1, 1), (1, 4, 5)],
    ],
)
def test_operands_that_are_repeated_are_taken(shapes: list[tuple[int, ...]], accelerator: str) -> None:
    graph = Graph()
    graph.outputs = [_sum(*shapes, graph=graph)]
    assert _compiled(graph, accelerator)[1].arrays


@pytest.mark.parametrize(
    "shapes",
    [
        [(2, 5, 4, 6), (2, 1, 4, 6), (1, 5, 4, 6)],
        [(1, 5, 1, 6), (1, 5, 4, 1), (1, 1, 4, 6)],
        [(1, 1, 40, 40), (1, 40, 40, 40), (1, 1, 1, 1)],
        [(1, 6), (5, 1), (1, 1)],
    ],
)
def test_choices_of_operands_that_are_repeated_are_taken(shapes: list[tuple[int, ...]]) -> None:
    """Also in stripes."""
    graph = Graph()
    mask, *values = shapes
    chosen = [graph.input("mask", mask, DType.BOOL), *(graph.input(f"x{n}", x, I8) for n, x in enumerate(values))]
    graph.outputs = [graph.append("SELECT", chosen, {}).output]
    assert _compiled(graph, "ethos-u85-256", "--arena-cache-size=20000")[1].arrays


def test_parts_left_out_are_found() -> None:
    spec = EthosUCompileSpec("ethos-u55-128")
    options = {"system_config": spec.system_config, "memory_mode": spec.memory_mode, "config": None, "timeout": 60}
    with pytest.raises(MiscompiledError, match="output 0 has so many bytes that nobody wrote"):
        comparison.compile(serialize(_joined_wide(), spec.tosa_spec), accelerator=spec.accelerator, **options)


@pytest.mark.parametrize("accelerator", ["ethos-u55-128", "ethos-u65-512", "ethos-u85-256"])
@pytest.mark.parametrize(
    "size, batch, flags", [(4, 3, ()), (40, 1, ("--arena-cache-size=16000",))], ids=["batch", "cascade"]
)
def test_what_is_right_is_taken(accelerator: str, size: int, batch: int, flags: tuple[str, ...]) -> None:
    """Also in stripes, whose padding is another at the first and the last one."""
    _compiled(_chain(size, batch), accelerator, *flags)


@pytest.mark.parametrize(("kernel", "pad"), [((3, 1), (1, 1, 0, 0)), ((1, 1), (0, 1, 0, 0))])
def test_parts_of_many_rows_are_right(kernel: tuple[int, int], pad: tuple[int, ...]) -> None:
    """Vela makes operators of a few rows each, perhaps of an image that it has padded."""
    _compiled(conv("", "", k=kernel, c=1, oc=1, pad=pad, out=(65537, 1)).graph(), "ethos-u85-256")


@pytest.mark.parametrize("accelerator", ["ethos-u55-128", "ethos-u85-256"])
def test_rescales_in_a_row_are_one_kernel(accelerator: str) -> None:
    """The kernel is the last one's, and reads with the zero point of the first one, which is by 1."""
    graph = Graph()
    x = graph.input("x", (1, 4, 4), I8)
    for dtype, multiplier, zeros in ((I32, 1 << 30, (_ZERO, 0)), (I8, (1 << 30) - 99, (0, _ZERO))):
        scale = graph.constant(np.array([multiplier], np.int32), I32), graph.constant(np.array([30], np.int8), I8)
        types = {I8: np.int8, I32: np.int32}
        points = [graph.constant(np.full(1, n, types[d]), d) for n, d in zip(zeros, (x.dtype, dtype), strict=True)]
        attrs = {"output_dtype": dtype, "scale32": True, "per_channel": False, "rounding_mode": "SINGLE_ROUND"}
        x = graph.append("RESCALE", [x, *scale, *points], attrs).output
    graph.outputs = [x]
    _compiled(graph, accelerator)


@pytest.mark.parametrize("accelerator", ["ethos-u55-128", "ethos-u65-256"])
def test_tables_of_wide_numbers_are_known(accelerator: str) -> None:
    """Vela makes three kernels of each, which look up numbers, distances, and how far it is between two."""
    graph = Graph()
    x = graph.input("x", (2, 3), DType.INT16)
    table = graph.constant((np.arange(513) ** 2 // 9).astype(np.int16), DType.INT16)
    graph.outputs = [graph.append("TABLE", [x, table], {}).output]
    tosa, made = _compiled(graph, accelerator)
    assert difference(tosa, load(tosa), made.arrays, made.debug_db, accelerator) is None


@functools.cache
def _made() -> tuple[bytes, vela.VelaOutput]:
    return _compiled(_chain())


def _changed(register: int, value: int) -> Difference | None:
    """What is found where a register is set to another value before the first kernel, or for the table's transfer."""
    tosa, made = _made()
    words = commands_of(made.arrays["cmd_data"])
    places = [at for at, word, _ in walk(words) if word & (LONG | 0x3FF) == register]
    at = places[-1 if register in r.TRANSFER else 0]
    if register & LONG:
        words[at + 1] = value
    else:
        words[at] = register | value << 16
    changed = {**made.arrays, "cmd_data": with_commands(made.arrays["cmd_data"], words)}
    return difference(tosa, load(tosa), changed, made.debug_db, "ethos-u55-128")


@pytest.mark.parametrize(
    ("register", "value", "what"),
    [
        (r.IFM_PAD_TOP, 0, "padding"),
        (r.IFM_PAD_RIGHT, 2, "padding"),
        (r.KERNEL_HEIGHT_M1, 1, "taps and extent"),
        (r.KERNEL_STRIDE, 1, "stride (columns)"),
        (r.KERNEL_STRIDE, 1 << 3, "taps and extent"),  # a dilation
        (r.OFM_HEIGHT_M1, 2, "padding"),
        (r.OFM_WIDTH_M1, 2, "computes so many elements"),
        (r.OFM_DEPTH_M1, 6, "computes so many elements"),
        (r.IFM_DEPTH_M1, 99, "reads so many bytes that nobody wrote"),
        (r.OFM_BASE0, 1 << 20, "reaches bytes"),
        (r.IFM_BASE0, 1 << 20, "reaches bytes"),
        (r.WEIGHT_BASE, 1 << 20, "reaches bytes"),
        (IFM_ZERO_POINT, 1, "zero point of the input"),
        (OFM_ZERO_POINT, 0xFFFF, "zero point of the result"),
        (OFM_ZERO_POINT, 0, "zero point of the result"),
        (r.OFM_REGION, 0, "writes to the constants"),
        (ACTIVATION, 17, "looks numbers up where so many bytes are that nobody wrote"),
        (r.DMA0_DST, (24 << 10) - 255, "puts a table at bytes"),
        (r.DMA0_DST, (24 << 10) - 256, "looks numbers up where so many bytes are that nobody wrote"),
        (r.DMA0_SRC, 0, "looks numbers up in another table"),
    ],
)
def test_each_change_is_found(register: int, value: int, what: str) -> None:
    found = _changed(register, value)
    assert found is not None and str(found).partition(": ")[2].startswith(what) and found.op is not None, found


def test_nothing_is_found_without_a_change() -> None:
    tosa, made = _made()
    assert difference(tosa, load(tosa), made.arrays, made.debug_db, "ethos-u55-128") is None


@pytest.mark.parametrize(("behind", "what"), [(1, ""), (2, "computes so many elements: 256, right is 128")])
def test_a_kernel_that_is_repeated_writes_the_same_elements(behind: int, what: str) -> None:
    """As in a program of a U-Net for U85; with words between the two, they are two."""
    tosa, made = _made()
    said = tables(made.debug_db)
    kernels = owned(said, decode(made.arrays["cmd_data"]), tosa, load(tosa))
    (pooled,) = [each for each in kernels if each.kind == "MaxPool"]
    again = dataclasses.replace(pooled.command, at=pooled.command.at + behind)
    found = window_difference([*kernels, dataclasses.replace(pooled, command=again)])
    assert found is None if not what else found is not None and what in str(found), found


def test_an_output_at_another_place_is_found() -> None:
    tosa, made = _made()
    moved = {**made.arrays, "output_offset": made.arrays["output_offset"] + 16}
    found = difference(tosa, load(tosa), moved, made.debug_db, "ethos-u55-128")
    assert found is not None and found.what.startswith("output 0, output_1, is at byte")


def test_what_an_ended_tensor_leaves_is_nobodys() -> None:
    """But not where another tensor is: one that is computed in place, or that came later."""
    commands = [object() for _ in range(3)]
    kernels = [Owned(command, str(step), "", None, None) for step, command in enumerate(commands)]  # type: ignore[arg-type]
    names = ("name", "memory", "start_time", "end_time", "start_address", "end_address")
    tensors = [
        ("x", "Sram", "0", "1", "0x0", "0x40"),
        ("y", "Sram", "1", "2", "0x10", "0x20"),
        ("z", "Sram", "2", "2", "0x30", "0x50"),
        ("t", "Dram", "0", "0", "0x80", "0x90"),
    ]
    tables = {
        "perf_debug": [{"id": str(step), "time_index": str(step)} for step in range(3)],
        "tensors": [dict(zip(names, row, strict=True)) for row in tensors],
    }
    graph = Graph()
    graph.outputs = [graph.input("z", (32,), I8)]
    lifetimes = Lifetimes(tables, graph, kernels)
    assert [list(lifetimes.ended_before(command)) for command in commands] == [[], [], [(0, 0x10), (0x20, 0x30)]]
