"""Programs whose sizes vary: at every size, the result of the same graph made for that size."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sized_operators import ROWS, Row, Sized
from test_fused_programs import MASK, RandomGraph
from vgf_files import SPEC

from arm_tosa_core.plugin.target import Symbol
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.tosa import reference_model
from arm_tosa_core.tosa.dtypes import numpy_dtype
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.serializer import serialize
from arm_vgf.model_converter import convert
from arm_vgf.sizes_block import with_sizes

Array = np.ndarray[Any, Any]
DOCS = Path(__file__).parents[4] / "docs"


def sized_vgf(make: Callable[[int], Graph], least: int, most: int, samples: Sequence[int] = (7, 3)) -> bytes:
    """A program of one symbol, "n"."""
    at = {size: convert(serialize(make(size), SPEC)) for size in (most, *samples)}
    return with_sizes(at[most], [Symbol("n", least, most)], [({"n": size}, at[size]) for size in samples])


def inputs_of(graph: Graph, seed: int) -> list[Array]:
    rng = np.random.default_rng(seed)
    low, high = {"BOOL": (0, 2)}, {"INT32": (0, MASK)}
    return [
        rng.integers(*low.get(t.dtype, high.get(t.dtype, (-100, 100))), t.shape).astype(numpy_dtype(t.dtype))
        for t in graph.inputs
    ]


def check(session: Any, make: Callable[[int], Graph], size: int) -> None:
    graph = make(size)
    inputs = inputs_of(graph, size)
    for one, other in zip(session.run(inputs), reference_model.run(serialize(graph, SPEC), inputs), strict=True):
        assert one.shape == other.shape
        assert np.array_equal(one, other), f"at {size}"


@pytest.mark.parametrize("row", [pytest.param(row, id=f"{row.operator}-{row.varies}") for row in ROWS])
def test_every_size_is_that_of_the_reference_model(vgf: Any, row: Row) -> None:
    with vgf.Session(sized_vgf(row.graph, row.least, row.most), engine="compute") as session:
        assert session.symbols == {"n": (row.least, row.most)}
        for size in (5, row.least, row.most, row.most - 1):
            check(session, row.graph, size)


@pytest.mark.parametrize("seed", range(8))
def test_random_graphs(vgf: Any, seed: int) -> None:
    def make(n: int) -> Graph:
        shapes = ((16 * n,), (2, 8 * n), (4 * n, 4), (n, 16), (8 * n, 2), (n, 2, 8), (16 * n, 1))
        return RandomGraph(seed, 16, shapes).graph

    with vgf.Session(sized_vgf(make, 3, 9), engine="compute") as session:
        for size in (9, 4, 3, 8):
            check(session, make, size)


def grows(count: int) -> Callable[[int], Graph]:
    """Sums of x [n, 4] and constants of n numbers, before others that are the same at all sizes."""

    def make(n: int) -> Graph:
        g = Sized()
        x = g.input(n, 4)
        for number in range(count):
            x = g.op("ADD", x, g.graph.constant(np.arange(n, dtype=np.int32)[:, None] * number + 1, DType.INT32))
        g.graph.outputs = [g.op("ADD", x, g.graph.constant(np.arange(4 * 32, dtype=np.int32)[None, :4], DType.INT32))]
        g.graph.outputs = [g.op("REDUCE_MAX", g.op("CONCAT", x, g.graph.outputs[0], axis=1), axis=1)]
        return g.graph

    return make


@pytest.mark.parametrize(("count", "most"), [(1, 32), (3, 17), (3, 16)])
def test_constants_that_are_in_the_code_at_some_sizes(vgf: Any, count: int, most: int) -> None:
    """The model converter puts 16 elements there, and 17 into the file."""
    make = grows(count)
    with vgf.Session(sized_vgf(make, 1, most), engine="compute") as session:
        for size in (1, 8, 16, most):
            check(session, make, size)


def test_a_constant_that_shrinks_is_refused() -> None:
    """At the largest size it is in the code, and has no number that the others could take."""

    def make(n: int) -> Graph:
        g = Sized()
        rest = g.graph.constant(np.arange(40 - n, dtype=np.int32), DType.INT32)
        whole = g.op("CONCAT", g.input(n), rest, axis=0)
        g.graph.outputs = [g.op("ADD", whole, g.graph.constant(np.arange(40, dtype=np.int32), DType.INT32))]
        return g.graph

    with pytest.raises(UsageError, match="a constant is larger at smaller sizes"):
        sized_vgf(make, 1, 32)


#: Of g, x and n: what the model converter takes for a constant, or for x.
HANDED_ON: dict[str, Callable[[Sized, Tensor, int], Tensor]] = {
    "slice of a concatenation": lambda g, x, n: g.op(
        "SLICE",
        g.op("CONCAT", g.graph.constant(np.ones((n, 1), np.int32), DType.INT32), x, axis=1),
        g.shape(0, 0),
        g.shape(n, 1),
    ),
    "sum with zero": lambda g, x, n: g.op("ADD", x, g.graph.constant(np.zeros((1, 1), np.int32), DType.INT32)),
}


@pytest.mark.parametrize("handed_on", HANDED_ON.values(), ids=HANDED_ON)
def test_a_result_that_is_only_handed_on_is_refused(handed_on: Callable[[Sized, Tensor, int], Tensor]) -> None:
    """The converter takes the operators away, and with them the output."""

    def make(n: int) -> Graph:
        g = Sized()
        x = g.input(n, 4)
        g.graph.outputs = [handed_on(g, x, n), g.op("ABS", x)]
        return g.graph

    with pytest.raises(UsageError, match="an input or a constant of a result whose sizes vary"):
        sized_vgf(make, 1, 32)


def two_symbols(batch: int, length: int) -> Graph:
    """x [batch, 2*length] with y [length+1]: sums of x along its rows, beside y."""
    g = Sized()
    x, y = g.input(batch, 2 * length), g.input(length + 1)
    sums = g.op("REDUCE_SUM", g.op("RESHAPE", x, g.shape(batch * length, 2)), axis=1)
    g.graph.outputs = [g.op("RESHAPE", sums, g.shape(batch, length)), g.op("ABS", y)]
    return g.graph


@pytest.fixture(scope="module")
def pair() -> bytes:
    points = [(4, 6), (3, 5), (2, 3), (3, 6), (4, 5)]
    at = [convert(serialize(two_symbols(*point), SPEC)) for point in points]
    samples = [({"batch": b, "length": n}, vgf) for (b, n), vgf in zip(points[1:], at[1:], strict=True)]
    return with_sizes(at[0], [Symbol("batch", 1, 4), Symbol("length", 2, 6)], samples)


def test_two_symbols(vgf: Any, pair: bytes) -> None:
    with vgf.Session(pair, engine="compute") as session:
        assert session.symbols == {"batch": (1, 4), "length": (2, 6)}
        assert [t.sizes for t in session.inputs] == [("batch", "2*length"), ("length+1",)]
        assert [t.shape for t in session.inputs] == [(4, 12), (7,)]
        assert [t.sizes for t in session.outputs] == [("batch", "length"), ("length+1",)]
        for batch, length in ((1, 2), (4, 6), (3, 4)):
            check(session, lambda n, b=batch: two_symbols(b, n), length)


def ints(*shape: int) -> Array:
    return np.zeros(shape, np.int32)


#: What a run gets, and what the error says.
MISFITS: dict[str, tuple[list[Array], str]] = {
    "above a bound": (
        [ints(5, 12), ints(7)],
        r"input 0 \('.*'\) has shape \[batch, 2\*length\] with batch from 1 to 4 "
        r"with length from 2 to 6, got \[5, 12\]",
    ),
    "below a bound": ([ints(4, 2), ints(2)], r"with length from 2 to 6, got \[4, 2\]"),
    "no multiple": ([ints(4, 7), ints(4)], r"got \[4, 7\]"),
    "two that disagree": (
        [ints(4, 12), ints(6)],
        r"input 1 \('.*'\) has shape \[length\+1\] with length from 2 to 6, and dimension 0 is 6, which is not what",
    ),
    "another rank": ([ints(4, 12, 1), ints(7)], r"got \[4, 12, 1\]"),
    "another type": ([ints(4, 12).astype(np.float32), ints(7)], r"is int32, got float32"),
    "one missing": ([ints(4, 12)], "has 2 inputs, got 1"),
}


@pytest.mark.parametrize(("inputs", "message"), MISFITS.values(), ids=MISFITS)
def test_inputs_that_do_not_fit_are_refused(vgf: Any, pair: bytes, inputs: list[Array], message: str) -> None:
    with vgf.Session(pair, engine="compute") as session:
        with pytest.raises(vgf.VgfError, match=message):
            session.run(inputs)
        check(session, lambda n: two_symbols(2, n), 3)  # as good as before


def test_the_emulation_layer_runs_the_largest_sizes(vgf: Any, layer: Callable[[bytes], Any]) -> None:
    row = ROWS[0]
    with layer(sized_vgf(row.graph, row.least, row.most)) as session:
        check(session, row.graph, row.most)
        with pytest.raises(vgf.VgfError, match="the engine `layer` runs this program at its largest sizes only"):
            session.run(inputs_of(row.graph(2), 0))


def test_a_reader_of_vgf_sees_the_largest_sizes(pair: bytes) -> None:
    import vgfpy

    header = vgfpy.CreateHeaderDecoder(pair, vgfpy.HeaderSize(), len(pair))
    table = pair[header.GetModelResourceTableOffset() :][: header.GetModelResourceTableSize()]
    resources = vgfpy.CreateModelResourceTableDecoder(table, len(table))
    assert [list(resources.getTensorShape(i)) for i in range(2)] == [[4, 12], [7]]
    modules = pair[header.GetModuleTableOffset() :][: header.GetModuleTableSize()]
    assert vgfpy.CreateModuleTableDecoder(modules, len(modules)).size() == 1


def block_of(vgf: bytes) -> int:
    """Where the block begins."""
    (size,) = struct.unpack_from("<Q", vgf, len(vgf) - 16)
    return len(vgf) - 16 - int(size)


def changed(vgf: bytes, at: int, number: int) -> bytes:
    """With another number of the block, the one at this word."""
    place = block_of(vgf) + 4 * at
    return vgf[:place] + struct.pack("<I", number) + vgf[place + 4 :]


def other(vgf: bytes) -> bytes:
    """The block of another program."""
    row = Row("NEGATE", "", lambda g, s: g.op("NEGATE", g.input(3, s, 5), *[g.zero(DType.INT32)] * 2))
    mine = sized_vgf(row.graph, 1, 9)
    return vgf[: block_of(vgf)] + mine[block_of(mine) :]


#: What is wrong with a file, and what the error says.
DAMAGED: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "cut off": (lambda v: v[:-16] + struct.pack("<Q", len(v)) + v[-8:], "is cut off"),
    "no symbols": (lambda v: changed(v, 0, 0), "the number of symbols of its varying sizes is 0"),
    "many symbols": (lambda v: changed(v, 0, 2**31), "must be within 1 to 4"),
    "least of 0": (lambda v: changed(v, 1, 0), "a least value of its varying sizes is 0"),
    "crossed": (lambda v: changed(v, 1, 10), "a largest value of its varying sizes is 9"),
    "other bound": (lambda v: changed(v, 2, 8), "differ|no multiple|beyond"),
    "far bound": (lambda v: changed(v, 2, 2**30), "more than 1024 combinations|no multiple|out of range"),
    "long name": (lambda v: changed(v, 3, 2**20), "a name's length"),
    "no samples": (lambda v: changed(v, 5, 0), "the number of samples"),
    "sample of 0": (lambda v: changed(v, 6, 0), "a sample of its varying sizes is 0"),
    "sample of another size": (lambda v: changed(v, 6, 8), "no multiple of a symbol"),
    "long table": (lambda v: changed(v, 7, 2**30), "ends too early"),
    "table of another length": (lambda v: changed(v, 7, 8), "is not one graph|too long|must be within"),
    "another program": (other, "differ"),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGED.values(), ids=DAMAGED)
def test_damaged_blocks_are_refused(vgf: Any, damage: Callable[[bytes], bytes], message: str) -> None:
    row = ROWS[0]
    whole = sized_vgf(row.graph, 1, 9)
    with pytest.raises(vgf.VgfError, match=message):
        vgf.Session(damage(whole), engine="compute")


def test_a_program_of_several_graphs_has_fixed_sizes(vgf: Any) -> None:
    from vgf_files import Resource, double, write

    two = write(
        [Resource("Input"), Resource("Intermediate"), Resource("Output")], [double(0, 1), double(1, 2)], [0], [2]
    )
    sized = sized_vgf(ROWS[0].graph, 1, 9)
    with pytest.raises(vgf.VgfError, match="sizes vary in programs of one graph only"):
        vgf.Session(two + sized[block_of(sized) :], engine="compute")


def test_c_says_what_varies(vgf: Any, pair: bytes) -> None:
    """What the Python class does not use: an index beyond the last."""
    with vgf.Session(pair, engine="compute") as session:
        symbol = vgf._Symbol()
        assert vgf.LIBRARY.arm_vgf_get_symbol(session._handle, 2, ctypes.byref(symbol)) == -1
        assert b"symbol 2 of 2" in vgf.LIBRARY.arm_vgf_last_error()


def test_the_table_of_the_documentation() -> None:
    rows = dict.fromkeys(f"| `{row.operator}` | {row.varies} |" for row in ROWS)
    text = (DOCS / "explanation" / "vgf-runtime.md").read_text()
    assert "\n".join(rows) in text
