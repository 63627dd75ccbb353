"""Random TOSA graphs: Vela compiles them, and the functional model agrees with the TOSA reference model.

``nox -s fuzz`` runs it: 2,000 graphs, or as many as the environment variable ``FUZZ_GRAPHS`` says. A graph is one to
four operators in a row, on the first of its inputs. What the target refuses, or Vela, is drawn anew. A quarter as many
graphs, with convolutions behind, are compared with and without constants prefetched.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import graphs
import numpy as np
import pytest
from graphs import I8, I16, I32, Maker
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from model_library import run
from scheduled import SYSTEMS, deep, deep_end, random_costs, velas

from arm_ethosu import EthosUCompileSpec
from arm_ethosu.waits import with_waits
from arm_tosa_core.lowering.pipeline import legalize
from arm_tosa_core.support.errors import LoweringError, MiscompiledError, Rejected, ToolError
from arm_tosa_core.tosa import reference_model as reference
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Tensor

ACCELERATORS = ("ethos-u55-128", "ethos-u55-256", "ethos-u65-512", "ethos-u85-128", "ethos-u85-256", "ethos-u85-1024")
GRAPHS = int(os.environ.get("FUZZ_GRAPHS", "2000"))
Draw = Callable[[st.SearchStrategy[int]], int]
Step = Callable[[Maker, Draw, Tensor], Tensor]

_small = st.integers(1, 3)


def _pads(draw: Draw, kernel: tuple[int, int]) -> tuple[int, ...]:
    return tuple(draw(st.integers(0, k - 1)) for k in kernel for _ in range(2))


def _even(m: Maker, x: Tensor, kernel: tuple[int, int], stride: tuple[int, int], pad: tuple[int, ...]) -> Tensor:
    """The part of an image that windows of this kind cover: TOSA wants nothing to be left over."""
    _, height, width, channels = x.shape
    left = [
        (size + pad[2 * i] + pad[2 * i + 1] - k) % s
        for i, (size, k, s) in enumerate(zip((height, width), kernel, stride, strict=True))
    ]
    if not any(left):
        return x
    size = (1, height - left[0], width - left[1], channels)
    return m.op("SLICE", x, m.graph.shape((0, 0, 0, 0)), m.graph.shape(size))


def _scale(terms: int) -> float:
    """Brings sums of so many products to the middle of their type."""
    return 60 / (5500 * math.sqrt(terms))


def _conv(m: Maker, draw: Draw, x: Tensor) -> Tensor:
    kernel, stride = (draw(st.integers(1, 7)), draw(st.integers(1, 7))), (draw(_small), draw(_small))
    dilation = (draw(st.integers(1, 2)), draw(st.integers(1, 2)))
    reach = ((kernel[0] - 1) * dilation[0] + 1, (kernel[1] - 1) * dilation[1] + 1)
    pad = _pads(draw, kernel)
    zero = draw(st.integers(-128, 127)) if x.dtype is I8 else 0
    x = _even(m, x, reach, stride, pad)
    outputs, terms = draw(st.integers(1, 70)), kernel[0] * kernel[1] * x.shape[-1]
    keep = draw(st.sampled_from([(1,), (1, 0, 0, 1), (0, 0, 0, 1)]))
    return m.conv(
        x, kernel, outputs, zero=zero, pad=pad, stride=stride, dilation=dilation, scale=_scale(terms), keep=keep,
        step=draw(st.sampled_from([1, 1, 50])),
    )  # fmt: skip


def _conv3d(m: Maker, draw: Draw, x: Tensor) -> Tensor:
    """The image's rows are shared among planes; those of the result lie one above another."""
    _, height, width, channels = x.shape
    depth = draw(st.sampled_from([n for n in range(1, height + 1) if height % n == 0]))
    volume = (depth, height // depth, width)
    kernel = tuple(draw(st.integers(1, min(3, size))) for size in volume)
    stride = tuple(
        draw(st.sampled_from([1, 2])) if (size - k) % 2 == 0 else 1 for size, k in zip(volume, kernel, strict=True)
    )
    pads = [draw(st.integers(0, k - 1)) if s == 1 else 0 for k, s in zip(kernel, stride, strict=True) for _ in range(2)]
    part = m.op("RESHAPE", x, m.graph.shape((1, *volume, channels)))
    if draw(st.booleans()):
        first = draw(st.integers(0, channels - 1))
        size = m.graph.shape((1, *volume, channels - first))
        part = m.op("SLICE", part, m.graph.shape((0, 0, 0, 0, first)), size)
    outputs, scale = draw(st.integers(1, 30)), _scale(math.prod(kernel) * part.shape[-1])
    made = m.conv(part, kernel, outputs, op="CONV3D", stride=stride, pad=tuple(pads), scale=scale)
    return m.op("RESHAPE", made, m.graph.shape((1, math.prod(made.shape[1:3]), *made.shape[3:])))


def _depthwise(m: Maker, draw: Draw, x: Tensor) -> Tensor:
    kernel, stride = (draw(st.integers(1, 7)), draw(st.integers(1, 7))), (draw(_small), draw(_small))
    pad = _pads(draw, kernel)
    x = _even(m, x, kernel, stride, pad)
    scale = _scale(kernel[0] * kernel[1])
    return m.conv(x, kernel, x.shape[-1], op="DEPTHWISE_CONV2D", pad=pad, stride=stride, scale=scale)


def _transpose_conv(m: Maker, draw: Draw, x: Tensor) -> Tensor:
    kernel, stride = (draw(st.integers(1, 5)), draw(st.integers(1, 5))), draw(st.integers(1, 2))
    scale = _scale(kernel[0] * kernel[1] * x.shape[-1])
    return m.conv(x, kernel, draw(st.integers(1, 30)), op="TRANSPOSE_CONV2D", stride=(stride, stride), scale=scale)


def _pool(m: Maker, draw: Draw, x: Tensor) -> Tensor:
    kernel, stride = (draw(st.integers(1, 8)), draw(st.integers(1, 8))), (draw(_small), draw(_small))
    pad = _pads(draw, kernel)
    op = draw(st.sampled_from(["MAX_POOL2D", "AVG_POOL2D"]))
    return m.pool(op, _even(m, x, kernel, stride, pad), kernel, stride, pad)


def _sum(m: Maker, draw: Draw, x: Tensor) -> Tensor:
    shape = [1, *(draw(st.sampled_from([1, size])) for size in x.shape[1:])]
    y = m.input(x.dtype, *shape)
    operands = [x, y] if draw(st.booleans()) else [y, x]
    return m.sum(draw(st.sampled_from(["ADD", "SUB"])), *operands, 19 if x.dtype is I8 else 14)


def _product(m: Maker, draw: Draw, x: Tensor) -> Tensor:
    y = m.input(x.dtype, *(draw(st.sampled_from([1, size])) for size in x.shape))
    return m.rescale(m.op("MUL", x, y, m.const(I8, [0])), x.dtype, 1e-2 if x.dtype is I8 else 3e-5)


def _table(m: Maker, draw: Draw, x: Tensor) -> Tensor:
    if x.dtype is I8:
        return m.op("TABLE", x, m.random(I8, -128, 128, 256))
    slopes = m.rng.integers(-120, 121, 513)
    points = np.clip(np.cumsum(slopes), -32768, 32767)
    return m.rescale(m.op("TABLE", x, m.const(I16, points)), I16, 2.0**-7)


def _move(m: Maker, draw: Draw, x: Tensor) -> Tensor:
    kind = draw(st.sampled_from(["TRANSPOSE", "REVERSE", "SLICE", "PAD", "CONCAT", "TILE"]))
    if kind == "TRANSPOSE":
        return m.op(kind, x, perms=[0, *draw(st.permutations([1, 2, 3]))])
    if kind == "REVERSE":
        return m.op(kind, x, axis=draw(st.integers(1, 3)))
    if kind == "TILE":
        return m.op(kind, x, m.graph.shape((1, *(draw(_small) for _ in range(3)))))
    if kind == "CONCAT":
        axis = draw(st.integers(1, 3))
        shape = [draw(st.integers(1, 20)) if i == axis else size for i, size in enumerate(x.shape)]
        parts = [x, m.input(x.dtype, *shape)]
        return m.op(kind, *(parts if draw(st.booleans()) else parts[::-1]), axis=axis)
    if kind == "PAD":
        around = [0, 0, *(draw(st.integers(0, 3)) for _ in range(6))]
        return m.op(kind, x, m.graph.shape(around), m.const(x.dtype, [draw(st.integers(-100, 100))]))
    start = [draw(st.integers(0, size - 1)) for size in x.shape]
    size = [draw(st.integers(1, whole - first)) for whole, first in zip(x.shape, start, strict=True)]
    return m.op(kind, x, m.graph.shape(start), m.graph.shape(size))


def _wide(m: Maker, draw: Draw, x: Tensor) -> Tensor:
    """Operators on INT32 between two RESCALEs, and what moves data there."""
    wide = m.rescale(x, I32, 1.0)
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["BINARY", "ABS", "CLZ", "MUL", "RESHAPE", "MOVE"]))
        if kind == "BINARY":
            shape = [draw(st.sampled_from([1, size])) for size in wide.shape]
            other = m.random(I32, -9, 9, *shape) if draw(st.booleans()) else m.rescale(m.input(I8, *shape), I32, 2.0)
            operands = [wide, other] if draw(st.booleans()) else [other, wide]
            wide = m.op(draw(st.sampled_from(["ADD", "SUB", "MAXIMUM", "MINIMUM"])), *operands)
        elif kind == "MUL":
            wide = m.op("MUL", wide, m.const(I32, [[[[3]]]]), m.const(I8, [0]))
        elif kind == "RESHAPE":
            _, height, width, channels = wide.shape
            wide = m.op("RESHAPE", wide, m.graph.shape((1, *draw(st.permutations([height, width, channels])))))
        else:
            wide = m.op(kind, wide) if kind != "MOVE" else _move(m, draw, wide)
    return m.rescale(wide, x.dtype, 0.3)


def _rescale(m: Maker, draw: Draw, x: Tensor) -> Tensor:
    to = draw(st.sampled_from([I8, I16]))
    unit = {(I8, I8): 0.9, (I8, I16): 200.0, (I16, I8): 4e-3, (I16, I16): 0.8}[x.dtype, to]
    channels = draw(st.sampled_from([1, x.shape[-1]]))
    zeros = {name: draw(st.integers(-20, 20)) for kind, name in ((x.dtype, "zero_in"), (to, "zero_out")) if kind is I8}
    return m.rescale(x, to, unit, channels=channels, **zeros)


def _reduce(m: Maker, draw: Draw, x: Tensor) -> Tensor:
    axis = draw(st.integers(1, 3))
    kind = draw(st.sampled_from(["REDUCE_MAX", "REDUCE_MIN", "REDUCE_SUM"]))
    if kind != "REDUCE_SUM":
        return m.op(kind, x, axis=axis)
    return m.rescale(m.op(kind, m.rescale(x, I32, 1.0), axis=axis), x.dtype, 1 / x.shape[axis])


def _resize(m: Maker, draw: Draw, x: Tensor) -> Tensor:
    times = draw(st.sampled_from([2, 4]))
    shapes = [m.graph.shape(v) for v in ((2 * times, 2) * 2, (1 - times,) * 2, (times - 1,) * 2)]
    return m.op("RESIZE", x, *shapes, mode="NEAREST_NEIGHBOR")


def _bilinear(m: Maker, draw: Draw, x: Tensor) -> Tensor:
    return m.bilinear(x, (draw(st.integers(1, 40)), draw(st.integers(1, 40))), half=draw(st.booleans()))


def _matmul(m: Maker, draw: Draw, x: Tensor) -> Tensor:
    _, height, width, channels = x.shape
    columns = draw(st.integers(1, 40))
    y, zero = m.input(x.dtype, height, channels, columns), m.const(x.dtype, [0])
    product = m.op("MATMUL", m.op("RESHAPE", x, m.graph.shape((height, width, channels))), y, zero, zero)
    wide = x.dtype is I8
    made = m.rescale(product, x.dtype, _scale(channels) if wide else 1e-5 / math.sqrt(channels), wide=wide)
    return m.op("RESHAPE", made, m.graph.shape((1, height, width, columns)))


STEPS: tuple[Step, ...] = (
    _conv, _conv, _conv3d, _depthwise, _transpose_conv, _pool, _sum, _product, _table, _move, _rescale, _reduce,
    _resize, _bilinear, _matmul, _wide, _wide, _move, _move, _rescale,
)  # fmt: skip


def _draw_graph(draw: Draw) -> Graph:
    m = Maker()
    m.rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    shape = (1, draw(st.integers(1, 20)), draw(st.integers(1, 20)), draw(st.integers(1, 70)))
    x = m.input(draw(st.sampled_from([I8, I8, I16])), *shape)
    for _ in range(draw(st.integers(1, 4))):
        x = draw(st.sampled_from(STEPS))(m, draw, x)  # type: ignore[operator]
    m.graph.outputs = [x]
    return m.graph


@pytest.mark.parametrize("accelerator", ACCELERATORS)
def test_random_graphs(
    accelerator: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # Vela's input stays where Vela refuses it
    target = EthosUCompileSpec(accelerator).target()
    compared = 0

    @settings(
        max_examples=-(-GRAPHS // len(ACCELERATORS)), deadline=None, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.data())
    def check(data: st.DataObject) -> None:
        nonlocal compared
        try:
            graph = _draw_graph(data.draw)  # type: ignore[arg-type]
            if any(check(op) for op in graph.ops for check in target.checks):
                reject()
            legal = legalize(graph, target)
            arrays = graphs.settled_arrays(legal, accelerator)
            inputs = graphs.inputs(legal)
            (expected,) = reference.run(graphs.flatbuffer(legal, accelerator), inputs)
        except MiscompiledError:
            raise
        except (Rejected, LoweringError, ToolError):
            reject()
        (result,) = run(model, accelerator, arrays, inputs, threads=2)
        np.testing.assert_array_equal(result, expected.reshape(-1))
        compared += 1

    check()
    print(f"{accelerator}: {compared} graphs, no difference")
    assert compared * len(ACCELERATORS) >= GRAPHS * 0.9, "too many graphs were refused"


def _draw_deep_graph(draw: Draw) -> Graph:
    """A large image made small, random steps, and convolutions with many weights behind them."""
    m = Maker()
    m.rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    x = m.conv(m.input(I8, 1, 56, 56, draw(st.integers(1, 30))), (1, 1), 32)
    x = m.pool("MAX_POOL2D", x, (4, 4), (4, 4), (0, 0, 0, 0))
    for _ in range(draw(st.integers(1, 4))):
        x = draw(st.sampled_from(STEPS))(m, draw, x)  # type: ignore[operator]
    if x.dtype is not I8:
        x = m.rescale(x, I8, 0.01)
    m.graph.outputs = [deep_end(m, x, *(draw(st.integers(100, 700)) for _ in range(draw(st.integers(1, 2)))))]
    return m.graph


@pytest.mark.parametrize("system", SYSTEMS, ids="-".join)
def test_random_schedules(
    system: tuple[str, str, str], model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Constants prefetched at times that are drawn: Vela's results, and no hazard."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    accelerator = system[0]
    target = EthosUCompileSpec(*system).target()
    compared = fetched = 0

    @settings(
        max_examples=-(-GRAPHS // (4 * len(SYSTEMS))), deadline=None, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.data())
    def check(data: st.DataObject) -> None:
        nonlocal compared, fetched
        try:
            graph = _draw_deep_graph(data.draw)  # type: ignore[arg-type]
            if any(check(op) for op in graph.ops for check in target.checks):
                reject()
            legal = legalize(graph, target)
            made = velas(legal, *system)
        except (Rejected, LoweringError, ToolError):
            reject()
        costs = partial(random_costs, np.random.default_rng(data.draw(st.integers(0, 1 << 30))))
        inputs = graphs.inputs(legal)
        arrays, outcome = deep(made, *system, costs)
        before = {**made.arrays, "cmd_data": with_waits(made.arrays["cmd_data"], accelerator)}
        (expected,) = run(model, accelerator, before, inputs, threads=2)
        (result,) = run(model, accelerator, arrays, inputs, threads=2)
        np.testing.assert_array_equal(result, expected)
        compared += 1
        fetched += bool(outcome.plan.fetches)

    check()
    print(f"{system}: {compared} graphs, {fetched} of them with a schedule of their own, no difference")
    assert fetched * 20 >= compared, "too few schedules differ from Vela's"
