"""Floats of the compute engine within the bounds of TOSA 1.0, as the verifier of the TOSA project judges them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vgf_files import SPEC

from arm_tosa_core.tosa.graph import Graph, Tensor
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.serializer import serialize
from arm_vgf.model_converter import convert

Array = np.ndarray[Any, Any]
TYPES = {DType.FP32: np.dtype(np.float32), DType.FP16: np.dtype(np.float16)}
FRACTION = {DType.FP32: 23, DType.FP16: 10}  # bits
#: Largest errors of operators that compute each element by itself, in units in the last place.
ULPS = {"ADD": 0.5, "SUB": 0.5, "MUL": 0.5, "RECIPROCAL": 1.0, "RSQRT": 2.0, "ERF": 5.0}


@dataclass(frozen=True)
class Dot:
    """An operator that adds up products.

    Args:
        build: the graph's operator on an input of this shape and weights, which are constants.
        products: of float64 arrays, the same result, of which the sums of absolute products bound the error.
        terms: products of a sum.
    """

    shape: tuple[int, ...]
    weights: tuple[int, ...]
    build: Callable[[Graph, Tensor, Array, DType], Tensor]
    products: Callable[[Array, Array], Array]
    terms: int


def conv(graph: Graph, x: Tensor, w: Array, dtype: DType) -> Tensor:
    return window_operator("CONV2D", graph, x, w, len(w), dtype)


def depthwise(graph: Graph, x: Tensor, w: Array, dtype: DType) -> Tensor:
    return window_operator("DEPTHWISE_CONV2D", graph, x, w, w.shape[2], dtype)


def window_operator(op: str, graph: Graph, x: Tensor, w: Array, channels: int, dtype: DType) -> Tensor:
    constants = [graph.constant(w, dtype), graph.constant(np.zeros(channels, w.dtype), dtype)]
    zeros = [graph.constant(np.zeros(1, w.dtype), dtype) for _ in range(2)]
    attrs = {"pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1), "acc_type": DType.FP32, "local_bound": False}
    return graph.append(op, [x, *constants, *zeros], attrs).output


def matmul(graph: Graph, x: Tensor, w: Array, dtype: DType) -> Tensor:
    zeros = [graph.constant(np.zeros(1, w.dtype), dtype) for _ in range(2)]
    return graph.append("MATMUL", [x, graph.constant(w, dtype), *zeros]).output


def windows(x: Array, side: int) -> Array:
    """[batch, row, column, channel, side, side]"""
    return np.lib.stride_tricks.sliding_window_view(x, (side, side), axis=(1, 2))


DOTS = {
    # Sizes that matrix units take, where there are some.
    "CONV2D": Dot(
        (1, 7, 7, 20), (24, 3, 3, 20), conv, lambda x, w: np.einsum("nyxckl,fklc->nyxf", windows(x, 3), w), 180
    ),
    "CONV2D of a pixel": Dot(
        (1, 5, 5, 136), (16, 1, 1, 136), conv, lambda x, w: np.einsum("nyxc,fklc->nyxf", x, w), 136
    ),
    "DEPTHWISE_CONV2D": Dot(
        (1, 7, 7, 8), (3, 3, 8, 1), depthwise, lambda x, w: np.einsum("nyxckl,klcm->nyxc", windows(x, 3), w), 9
    ),
    "MATMUL": Dot((2, 17, 68), (2, 68, 16), matmul, np.matmul, 68),
}


@pytest.fixture(scope="module")
def verify() -> Callable[..., bool]:
    """``tosa_verify`` of tosa-tools, in this process."""
    import tosa_reference_model
    from checker.verifier import VerifierLibrary
    from schemavalidation.schemavalidation import TD_LATEST_VERSION

    folder = Path(str(tosa_reference_model.__file__)).parent
    library = VerifierLibrary(folder / "libtosa_reference_verify_lib.so")

    def verified(mode: str, info: dict[str, Any], dtype: DType, *given: Array) -> bool:
        arrays = [np.ascontiguousarray(array) for array in given]  # it reads memory as it lies
        config = {"mode": mode, "data_type": dtype.name, f"{mode.lower()}_info": info}
        return bool(library.verify_data("y", {"version": TD_LATEST_VERSION, "tensors": {"y": config}}, *arrays))

    return verified


def run(vgf: Any, build: Callable[[Graph, list[Tensor]], Tensor], inputs: list[Array], dtype: DType) -> Array:
    graph = Graph()
    tensors = [graph.input(f"x{i}", x.shape, dtype) for i, x in enumerate(inputs)]
    graph.outputs = [build(graph, tensors)]
    with vgf.Session(convert(serialize(graph, SPEC)), engine="compute") as session:
        (result,) = session.run(inputs)
    return np.asarray(result)


@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("name", DOTS)
def test_sums_of_products(vgf: Any, verify: Callable[..., bool], name: str, dtype: DType) -> None:
    row, rng = DOTS[name], np.random.default_rng(1)
    x, w = (rng.uniform(-1, 1, shape).astype(TYPES[dtype]) for shape in (row.shape, row.weights))
    made = run(vgf, lambda graph, tensors: row.build(graph, tensors[0], w, dtype), [x], dtype)
    wide = x.astype(np.float64), w.astype(np.float64)
    wanted, bound = row.products(*wide), row.products(*map(np.abs, wide))
    # Of TOSA's test generator: sums are added up as float32, so that few terms count for a narrower result.
    terms = math.ceil(row.terms / 2 ** ((FRACTION[DType.FP32] - FRACTION[dtype]) / 2))
    info = {"s": 0, "ksb": terms, "abs_bound": 2 * terms, "variance_error_bound": 4 * 0.4 * terms}
    assert verify("DOT_PRODUCT", info, dtype, made, wanted, bound)
    off = made + (bound * 2.0 ** (1 - FRACTION[dtype]) * terms).astype(made.dtype)
    assert not verify("DOT_PRODUCT", info, dtype, off, wanted, bound), "the bound is one"


@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("op", ULPS)
def test_elements(vgf: Any, verify: Callable[..., bool], op: str, dtype: DType) -> None:
    rng = np.random.default_rng(2)
    operands = [
        rng.uniform(0.1, 4, (3, 40)).astype(TYPES[dtype]) for _ in range(2 if op in ("ADD", "SUB", "MUL") else 1)
    ]

    def build(graph: Graph, tensors: list[Tensor]) -> Tensor:
        shift = [graph.constant(np.zeros(1, np.int8), DType.INT8)] if op == "MUL" else []
        return graph.append(op, [*tensors, *shift]).output

    made = run(vgf, build, operands, dtype)
    wide = [x.astype(np.float64) for x in operands]
    wanted = {
        "ADD": np.add, "SUB": np.subtract, "MUL": np.multiply, "RECIPROCAL": np.reciprocal,
        "RSQRT": lambda x: 1 / np.sqrt(x), "ERF": np.vectorize(math.erf),
    }[op](*wide)  # fmt: skip
    assert verify("ULP", {"ulp": ULPS[op]}, dtype, made, wanted)
    off = made + np.spacing(made) * (2 + int(ULPS[op]))
    assert not verify("ULP", {"ulp": ULPS[op]}, dtype, off, wanted), "the bound is one"
