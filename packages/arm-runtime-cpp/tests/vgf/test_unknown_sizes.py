"""Files of the model converter with unknown sizes (-1): whoever runs one says them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sized_operators import ROWS, Row, Sized
from test_sizes import check, inputs_of, ints
from vgf_files import (
    R32_SINT,
    SPEC,
    STORAGE_BUFFER,
    Load,
    Resource,
    Segment,
    compiled,
    double,
    double_code,
    spirv,
    write,
)

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Tensor
from arm_tosa_core.tosa.serializer import serialize
from arm_vgf.model_converter import convert

#: The model converter takes no unknown sizes there.
NOT_CONVERTED = {"RESHAPE", "TRANSPOSE"}
#: What varies there is in the code, which is of one size.
FIXED = {
    ("AVG_POOL2D", "a window over all of it"): r"result has shape \[1, 3, 1, 8\], and the code says \[1, 1, 1, 8\]",
    ("PAD", "up to a fixed size"): r"result has shape \[14, 3\], and the code says \[12, 3\]",
    (
        "SLICE",
        "any dimension",
    ): r"at the sizes \[1\]: operator 0 \(SLICE\): start \[0, 1\] and size \[7, 3\] are",
    ("SLICE", "from a place counted from the end"): r"start \[6, 0\] and size \[1, 5\] are outside of \[1, 5\]",
    ("TILE", "as often as the size says"): r"\[9, 3\] and \[7, 3\] do not broadcast",
    ("constants", "the first rows of a constant"): r"\[2, 9, 3\] and \[1, 7, 3\] do not broadcast",
    ("constants", "the first rows and columns of a constant"): r"\[2, 9, 9\] and \[1, 7, 7\] do not broadcast",
}
CONVERTED = [row for row in ROWS if row.operator not in NOT_CONVERTED]
VARYING = [row for row in CONVERTED if (row.operator, row.varies) not in FIXED]


def unknown(make: Callable[[int], Graph]) -> bytes:
    """What the model converter makes of a graph whose sizes are unknown where two of its sizes differ."""
    graph, other = make(7), make(5)
    for one, two in zip(tensors(graph), tensors(other), strict=True):
        one.shape = tuple(a if a == b else -1 for a, b in zip(one.shape, two.shape, strict=True))
    return convert(serialize(graph, SPEC))


def tensors(graph: Graph) -> list[Tensor]:
    return [*graph.inputs, *(tensor for op in graph.ops for tensor in op.outputs)]


def said(row: Row) -> str:
    """The sizes of a row's inputs, with "n" for what varies."""
    shapes = [(one.shape, two.shape) for one, two in zip(row.graph(7).inputs, row.graph(5).inputs, strict=True)]
    texts = [", ".join(size(*pair) for pair in zip(*shape, strict=True)) for shape in shapes]
    return " ".join(f"[{text}]" for text in texts) + f" n={row.least}..{row.most}"


def size(at_7: int, at_5: int) -> str:
    factor = (at_7 - at_5) // 2
    offset = at_7 - 7 * factor
    return f"{factor}*n" + (f"{offset:+}" if offset else "") if factor else str(offset)


def name(row: Row) -> str:
    return f"{row.operator}-{row.varies}"


@pytest.mark.parametrize("row", VARYING, ids=name)
def test_sizes_with_a_name(vgf: Any, row: Row) -> None:
    with vgf.Session(unknown(row.graph), engine="compute", sizes=said(row)) as session:
        assert session.symbols == {"n": (row.least, row.most)}
        for at in (5, row.least, row.most, row.most - 1):
            check(session, row.graph, at)


@pytest.mark.parametrize("row", VARYING, ids=name)
def test_sizes_of_the_arrays(vgf: Any, row: Row) -> None:
    graph = row.graph(3)
    inputs = inputs_of(graph, 0)
    (result,) = vgf.run(unknown(row.graph), inputs, engine="compute")
    with vgf.Session(convert(serialize(graph, SPEC)), engine="compute") as session:
        (wanted,) = session.run(inputs)
    assert result.shape == wanted.shape
    assert np.array_equal(result, wanted)


@pytest.mark.parametrize("row", [row for row in CONVERTED if row not in VARYING], ids=name)
def test_what_is_fixed_in_the_code_is_refused(vgf: Any, row: Row) -> None:
    with pytest.raises(vgf.VgfError, match=FIXED[row.operator, row.varies]):
        vgf.Session(unknown(row.graph), engine="compute", sizes=said(row))


def two(n: int) -> Graph:
    """Of x [n, 3] and y [n + 1, 3]."""
    g = Sized()
    x, y = g.input(n, 3), g.input(n + 1, 3)
    g.graph.outputs = [g.op("ABS", x), g.op("REVERSE", y, axis=0)]
    return g.graph


def test_two_names(vgf: Any) -> None:
    with vgf.Session(unknown(two), engine="compute", sizes="[a, 3] [b+1, 3] a=2..4 b=1..5") as session:
        assert session.symbols == {"a": (2, 4), "b": (1, 5)}
        assert [t.shape for t in session.outputs] == [(4, 3), (6, 3)]
        x, y = ints(3, 3) - 1, np.arange(6, dtype=np.int32).reshape(2, 3)
        assert [a.tolist() for a in session.run([x, y])] == [[[1] * 3] * 3, [[3, 4, 5], [0, 1, 2]]]
        with pytest.raises(vgf.VgfError, match=r"has shape \[a, 3\] with a from 2 to 4, got \[1, 3\]"):
            session.run([ints(1, 3), y])


def test_four_names_and_a_product(vgf: Any) -> None:
    def make(n: int) -> Graph:
        g = Sized()
        a, b = g.input(n, n, 1), g.input(n, n, 1)
        g.graph.outputs = [g.op("ABS", a), g.op("TILE", b, g.shape(2, 1, 3))]
        return g.graph

    sizes = "[a, b, 1] [c, 2*d-1, 1] a=1..3 b=2..4 c=1..2 d=1..2"
    with vgf.Session(unknown(make), engine="compute", sizes=sizes) as session:
        assert [t.sizes for t in session.outputs] == [("a", "b", "1"), ("2*c", "2*d-1", "3")]
        a, b = np.arange(-4, 4, dtype=np.int32).reshape(2, 4, 1), np.arange(3, dtype=np.int32).reshape(1, 3, 1)
        for one, wanted in zip(session.run([a, b]), (np.abs(a), np.tile(b, (2, 1, 3))), strict=True):
            assert np.array_equal(one, wanted)


def beside(n: int) -> Graph:
    g = Sized()
    g.graph.outputs = [g.op("CONCAT", g.input(n, 3), g.input(n, 3), axis=0)]
    return g.graph


def test_a_sum_of_two_names_is_refused(vgf: Any) -> None:
    with pytest.raises(vgf.VgfError, match=r"\(CONCAT\): dimension 0, which is \[7, .* is no multiple of a symbol"):
        vgf.Session(unknown(beside), engine="compute", sizes="[a, 3] [b, 3] a=2..4 b=1..3")
    with vgf.Session(unknown(beside), engine="compute", sizes="[n, 3] [n, 3] n=1..3") as session:
        check(session, beside, 2)


#: What is said of ``two``, and what the error says.
MISSAID = {
    "nothing": (
        "",
        r"input 0 \('.*'\) has shape \[-1, 3\] in the file: dimension 0 is unknown. Say the sizes of all inputs "
        r"when the program is loaded: sizes=\"\[2, 4\]\"",
    ),
    "one of two": ("[2, 3]", r"input 1 \('.*'\) has shape \[-1, 3\] in the file: dimension 0 is unknown"),
    "too many": ("[2, 3] [2, 3] [2, 3]", "say the shapes of 3 inputs, and the program has 2"),
    "another size": ("[2, 4] [2, 3]", r"has shape \[-1, 3\] in the file, which \[2, 4\] does not fit"),
    "a name of a known size": ("[2, n] [2, 3] n=1..4", r"which \[2, n\] does not fit"),
    "another rank": ("[2] [2, 3]", r"which \[2\] does not fit"),
    "too large": ("[2147483647, 3] [2147483647, 3] ", "out of range|2 GiB"),
    "no bounds": ("[n, 3] [n, 3]", "'n' needs bounds that differ, such as n=1..8"),
    "equal bounds": ("[n, 3] [n, 3] n=4..4", "'n' needs bounds that differ"),
    "bounds of nothing": ("[2, 3] [2, 3] n=1..4", "no shape has 'n'"),
    "five names": ("[a, b, c, d, e]", "more than 4 names"),
    "a size of 0": ("[0, 3] [1, 3]", "at character 2: a size or bound of 0"),
    "a size that may be 0": ("[n-1, 3] [n, 3] n=1..4", "'n-1' may be less than 1"),
    "a long number": ("[99999999999, 3] [1, 3]", "a number of more than 31 bits"),
    "a long name": (f"[{'n' * 65}]", "a name of more than 64"),
    "an open bracket": ("[2, 3", "at character 5: expected ']'"),
    "half of the bounds": ("[n, 3] [n, 3] n=1.", "at character 18: expected '..'"),
    "no number": ("[2*, 3]", "at character 3: expected a name"),
    "something else": ("[2, 3] !", "at character 7: expected a shape in brackets or the bounds of a name"),
    "many sizes": ("[n, 3] [n, 3] n=1..2000", "more than 1024 combinations"),
}


@pytest.mark.parametrize(("text", "message"), MISSAID.values(), ids=MISSAID)
def test_sizes_that_do_not_fit_are_refused(vgf: Any, text: str, message: str) -> None:
    with pytest.raises(vgf.VgfError, match=message):
        vgf.Session(unknown(two), engine="compute", sizes=text)


def test_a_file_of_known_sizes_needs_none_said(vgf: Any) -> None:
    data = convert(serialize(two(2), SPEC))
    with vgf.Session(data, engine="compute", sizes=[(7, 3), (7, 3)]) as session:
        assert [t.shape for t in session.inputs] == [(2, 3), (3, 3)]


def test_the_emulation_layer_does_not_run_them(vgf: Any, layer: Load) -> None:
    with pytest.raises(vgf.VgfError, match=r"the engine `layer` does not run files with unknown sizes"):
        vgf.Session(unknown(two), engine="layer", sizes="[2, 3] [3, 3]")


def open_code() -> list[int]:
    """x + x of int32, of rank 1."""
    return spirv(unknown(lambda n: doubled(n)))


def doubled(n: int) -> Graph:
    g = Sized()
    x = g.input(n)
    g.graph.outputs = [g.op("ADD", x, x)]
    return g.graph


def graph_of(code: list[int], *shapes: tuple[int, ...], **changes: Any) -> bytes:
    """A file of one graph with an input and an output of these shapes."""
    resources = [Resource(role, shape, **changes) for role, shape in zip(("Input", "Output"), shapes, strict=True)]
    return write(resources, [Segment(code, {0: [(0, 0), (1, 1)]}, entry_point="graph_partition_0")], [0], [1])


def test_the_file_may_know_what_the_code_does_not(vgf: Any) -> None:
    x = np.arange(4, dtype=np.int32)
    for code, shapes in ((open_code(), ((4,), (4,))), (double_code(4), ((-1,), (-1,))), (open_code(), ((4,), (-1,)))):
        (y,) = vgf.run(graph_of(code, *shapes), [x], engine="compute")
        assert np.array_equal(y, 2 * x)


#: Files that cannot be run whatever is said, and what the error says.
HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "an output of another size": (
        lambda: graph_of(open_code(), (-1,), (5,)),
        r"resource 1 is i32\[5\], and the code wants i32\[4\]",
    ),
    "code of another size": (
        lambda: graph_of(double_code(3), (-1,), (-1,)),
        r"resource 0 is i32\[4\], and the code wants i32\[3\]",
    ),
    "code of another rank": (
        lambda: graph_of(double_code(2, 2), (-1,), (-1,)),
        r"resource 0 is i32\[4\], and the code wants i32\[2, 2\]",
    ),
    "an unknown intermediate value": (
        lambda: write(
            [Resource("Input"), Resource("Intermediate", (-1,)), Resource("Output")],
            [double(0, 2)],
            [0],
            [2],
        ),
        "resource 1: its shape .* has an unknown size .*, and it is no input",
    ),
    "two graphs": (
        lambda: write(
            [Resource("Input", (-1,)), Resource("Intermediate"), Resource("Output")],
            [double(0, 1), double(1, 2)],
            [0],
            [2],
        ),
        "resource 0: its shape .* which only programs of one graph may have",
    ),
    "an output that nothing writes": (
        lambda: write([Resource("Input"), Resource("Output"), Resource("Output", (-1,))], [double(0, 1)], [0], [1, 2]),
        "output 'output1': its size is unknown .*, and no graph writes it",
    ),
    "a shared memory": (
        lambda: write([Resource("Input", (-1,), alias=1), Resource("Output", alias=1)], [double(0, 1)], [0], [1]),
        "shares memory with resource 0, and one of them has an unknown size",
    ),
    "a buffer": (
        lambda: write(
            [Resource("Input", (-1,), STORAGE_BUFFER, R32_SINT), Resource("Output", (4,), STORAGE_BUFFER)],
            [
                Segment(
                    list(
                        compiled(
                            "layout(set = 0, binding = 0) readonly buffer In { int x[]; };"
                            "layout(set = 0, binding = 1) writeonly buffer Out { int y[]; };"
                            "void main() { y[0] = x[0]; }"
                        )
                    ),
                    {0: [(0, 0), (1, 1)]},
                    graph=False,
                    dispatch=(1, 1, 1),
                )
            ],
            [0],
            [1],
        ),
        r"resource 0: its shape \[-1\] is out of range",
    ),
}


@pytest.mark.parametrize(("make", "message"), HOSTILE.values(), ids=HOSTILE)
def test_files_that_do_not_fit_are_refused(vgf: Any, make: Callable[[], bytes], message: str) -> None:
    with pytest.raises(vgf.VgfError, match=message):
        vgf.Session(make(), engine="compute", sizes="[4]")
