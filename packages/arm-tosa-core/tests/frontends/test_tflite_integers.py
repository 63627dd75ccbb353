"""What operators of TFLite make of integers: what LiteRT 2.3 does, where scales say otherwise or there is a choice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch

from arm_tosa_core import UsageError
from arm_tosa_core.frontends.file_model import FileModel
from arm_tosa_core.frontends.tflite import ROWS
from arm_tosa_core.frontends.tflite.reader import parse
from tflite_files import G, Op, T, int32, tflite

X, OTHER = (0.05, 0), (0.08, 9)  # scale and zero point of what is read, and of a result that has others
PADS = T(torch.tensor([[0, 0], [1, 0]], dtype=torch.int32))
NUMBERS = [[5, -3, 100], [-128, 0, 127]]


def _model(
    kind: str,
    operands: Mapping[str, Any],
    shape: tuple[int, ...],
    end: tuple[float, int],
    dtype: torch.dtype,
    **options: Any,
) -> FileModel:
    """An operator on the integers ``x`` and these operands, whose result has this scale and zero point."""
    scale, zero = X
    sizes = tuple(torch.tensor(NUMBERS).shape)
    tensors = {"x": T(sizes, dtype, (scale,), (zero,)), **operands, "y": T(shape, dtype, (end[0],), (end[1],))}
    reads = [name for name in tensors if name != "y"]
    reads = [*reads[1:], "x"] if kind in ("EMBEDDING_LOOKUP", "SPLIT") else reads
    inputs = [name for name in reads if isinstance(tensors[name].what, tuple)]
    return FileModel(
        parse(
            tflite(G(tensors, [Op(kind, reads, ["y"], {"count": 1} if kind == "SPLIT" else {})], inputs, ["y"])),
            "t.tflite",
        ),
        ROWS,
        "t",
    )


def test_a_logarithm_of_less_than_nothing_is_the_lowest_number() -> None:
    (made,) = _model("LOG", {}, (2, 3), (0.04, -12), torch.int8)(torch.tensor(NUMBERS, dtype=torch.int8))
    assert made.tolist() == [[-47, -128, 28], [-128, -128, 34]]


@pytest.mark.parametrize(
    ("kind", "operands", "end", "dtype", "why"),
    [
        ("PAD", {"p": PADS}, (0.05, 128), torch.int8, "'y' has the zero point 128. Quantize it with one from -128"),
        ("PAD", {"p": PADS}, OTHER, torch.int8, "PAD 'y': its operands and its result have different scales"),
        ("MINIMUM", {"z": T((1, 3), torch.int8, (0.02,))}, X, torch.int8, "MINIMUM 'y': its operands and its result"),
        ("CONCATENATION", {"z": T((2, 3), torch.int16, (0.02,))}, X, torch.int16, "CONCATENATION 'y': its operands"),
        ("FLOOR_DIV", {"z": T((1, 3), torch.int8, (0.05,))}, X, torch.int8, "computes with the integers themselves"),
        ("MAX_POOL_2D", {}, OTHER, torch.int8, "MAX_POOL_2D 'y': its operands and its result"),
        ("AVERAGE_POOL_2D", {}, (0.05, 1), torch.int16, "AVERAGE_POOL_2D 'y': its operands and its result"),
        ("LESS", {"z": T((1, 3), torch.int16, (0.02,))}, OTHER, torch.int16, "LESS 'y': its operands"),
        (
            "DYNAMIC_UPDATE_SLICE",
            {"u": T((1, 3), torch.int8, (0.2,)), "i": int32(0, 0)},
            X,
            torch.int8,
            "SLICE 'y': its op",
        ),
        ("NEG", {}, OTHER, torch.int8, "NEG 'y': its operands and its result have different scales"),
        ("RESHAPE", {"s": int32(2, 3)}, OTHER, torch.int8, "RESHAPE 'y': its operands and its result"),
        ("SPLIT", {"a": T(torch.tensor(0, dtype=torch.int32))}, OTHER, torch.int8, "SPLIT 'y': its operands and its"),
        ("GATHER", {"i": int32(1, 0)}, (0.05, 1), torch.int8, "GATHER 'y': its operands and its result"),
        (
            "ONE_HOT",
            {
                "d": T(torch.tensor(3, dtype=torch.int32)),
                **{name: T(torch.tensor(1, dtype=torch.int8), scale=(0.2,)) for name in ("on", "off")},
            },
            X,
            torch.int8,
            "ONE_HOT 'y': its operands and its result",
        ),
        ("EMBEDDING_LOOKUP", {"i": int32(1, 0)}, OTHER, torch.int8, "EMBEDDING_LOOKUP 'y': its operands and its"),
    ],
)
def test_integers_of_other_scales_are_refused(
    kind: str, operands: dict[str, Any], end: tuple[float, int], dtype: torch.dtype, why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        _model(kind, operands, (2, 3), end, dtype)


def test_a_negative_of_integers_with_a_zero_point_is_refused() -> None:
    tensors = {name: T((2,), torch.int8, (0.1,), (3,)) for name in "xy"}
    with pytest.raises(UsageError, match="NEG 'y': LiteRT computes with the integers themselves"):
        parse(tflite(G(tensors, [Op("NEG", ["x"], ["y"])], ["x"], ["y"])), "t.tflite")


def test_scattered_integers_with_a_zero_point_are_refused() -> None:
    tensors = {"i": T([[2]], torch.int32), "x": T((1,), torch.int8, (0.1,), (3,)), "s": int32(4)}
    tensors["y"] = T((4,), torch.int8, (0.1,), (3,))
    with pytest.raises(UsageError, match="SCATTER_ND 'y': LiteRT computes with the integers themselves"):
        parse(tflite(G(tensors, [Op("SCATTER_ND", ["i", "x", "s"], ["y"])], ["x"], ["y"])), "t.tflite")


def test_integers_with_32_bits_and_a_scale_are_refused() -> None:
    tensors = {"x": T((2,), torch.int32, (1e-8,)), "y": T((2,), torch.int8, (0.1,))}
    with pytest.raises(UsageError, match="QUANTIZE 'y' reads integers with 32 bits and a scale"):
        parse(tflite(G(tensors, [Op("QUANTIZE", ["x"], ["y"])], ["x"], ["y"])), "t.tflite")


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [(torch.int8, [1, -1, 127, -128]), (torch.uint8, [1, 0, 255, 0]), (torch.int16, [1, -1, 300, -300])],
)
def test_a_cast_takes_the_nearest_integer_that_there_is(dtype: torch.dtype, wanted: list[int]) -> None:
    graph = G({"x": T((4,)), "y": T((4,), dtype)}, [Op("CAST", ["x"], ["y"])], ["x"], ["y"])
    (made,) = FileModel(parse(tflite(graph), "t.tflite"), ROWS, "t")(torch.tensor([1.7, -1.7, 300.7, -300.7]))
    assert made.tolist() == wanted


@pytest.mark.parametrize(
    ("graph", "why"),
    [
        (
            G({"x": T((2,)), "y": T((2,))}, [Op("ADD", ["x", "x"], ["y"], {"activation": 4})], ["x"], ["y"]),
            "its activation 4 is not read. Use RELU, ",
        ),
        (
            G({"x": T((2, 1)), "z": T((1, 2)), "y": T((2, 2))}, [Op("ATAN2", ["x", "z"], ["y"])], ["x", "z"], ["y"]),
            "it has operands of two shapes",
        ),
        (
            G(
                {"x": T((2, 3)), "b": int32(0, 0, 0), "e": int32(2, 0, 3), "s": int32(1, 1, 1), "y": T((2, 3))},
                [Op("STRIDED_SLICE", ["x", "b", "e", "s"], ["y"], {"ellipsis_mask": 2})],
                ["x"],
                ["y"],
            ),
            "its ellipsis stands for no axis, and in LiteRT for one",
        ),
    ],
)
def test_what_litert_does_not_do_is_refused(graph: G, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        FileModel(parse(tflite(graph), "t.tflite"), ROWS, "t")


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (T((3,), torch.uint8, (0.1,), (3,)), T((3,))),
        (T(torch.tensor([1, 200, 3], dtype=torch.uint8), scale=(0.1,), zero=(3,)), T((3,), torch.int32)),
        (T((3,), torch.uint8), T((3,), torch.int16, (0.5,))),
    ],
)
def test_a_cast_is_of_the_integers_whatever_their_scale(start: T, end: T) -> None:
    inputs = ["x"] if isinstance(start.what, tuple) else []
    graph = G({"x": start, "y": end}, [Op("CAST", ["x"], ["y"])], inputs, ["y"])
    given = torch.tensor([1, 200, 3], dtype=torch.uint8)
    (made,) = FileModel(parse(tflite(graph), "t.tflite"), ROWS, "t")(*[given for _ in inputs])
    assert made.tolist() == [1, 200, 3] and made.dtype == end.dtype


def test_constants_without_a_sign_are_themselves_outside_of_layers() -> None:
    """An output, what is gathered from, and a term of a sum."""
    x, constant = (T(what, torch.uint8, (0.1,), (3,)) for what in ((3,), torch.tensor([1, 200, 3], dtype=torch.uint8)))
    tensors = {"x": x, "c": constant, "i": T((3,), torch.int32), "g": x, "y": x}
    operators = [Op("GATHER", ["c", "i"], ["g"]), Op("ADD", ["x", "c"], ["y"])]
    model = FileModel(parse(tflite(G(tensors, operators, ["x", "i"], ["c", "g", "y"])), "t.tflite"), ROWS, "t")
    made = model(torch.tensor([4, 4, 4], dtype=torch.uint8), torch.tensor([1, 1, 0], dtype=torch.int32))
    assert [one.tolist() for one in made] == [[1, 200, 3], [200, 200, 1], [2, 201, 4]]


def test_layers_with_one_bias_have_each_its_scale() -> None:
    """The bias stands for 5 and for 10."""
    x = T((1, 1), torch.int8, (0.1,))
    weights = {f"w{i}": T(torch.zeros(1, 1, dtype=torch.int8), scale=(scale,)) for i, scale in enumerate((0.5, 1.0))}
    tensors = {"x": x, "b": int32(100), **weights, "y0": x, "y1": x}
    operators = [Op("FULLY_CONNECTED", ["x", f"w{i}", "b"], [f"y{i}"]) for i in (0, 1)]
    model = FileModel(parse(tflite(G(tensors, operators, ["x"], ["y0", "y1"])), "t.tflite"), ROWS, "t")
    assert [one.item() for one in model(torch.zeros(1, 1, dtype=torch.int8))] == [50, 100]


def test_the_axis_of_one_scale_says_nothing() -> None:
    x, y = (T((2, 3), torch.int8, (0.1,), axis=axis) for axis in (0, 3))
    graph = G({"x": x, "a": int32(0), "y": y}, [Op("REVERSE_V2", ["x", "a"], ["y"])], ["x"], ["y"])
    (made,) = FileModel(parse(tflite(graph), "t.tflite"), ROWS, "t")(torch.tensor(NUMBERS, dtype=torch.int8))
    assert made.tolist() == NUMBERS[::-1]


@pytest.mark.parametrize(
    ("start", "end", "why"),
    [
        ((0.1,), (), "REVERSE_V2 'y': its result has no scale, and an operand has one"),
        ((), (0.1,), "REVERSE_V2 'y': its operands and its result have different scales"),
    ],
)
def test_a_scale_on_one_side_alone_is_refused(start: tuple[float, ...], end: tuple[float, ...], why: str) -> None:
    tensors = {"x": T((3,), torch.int8, start), "a": int32(0), "y": T((3,), torch.int8, end)}
    with pytest.raises(UsageError, match=why):
        parse(tflite(G(tensors, [Op("REVERSE_V2", ["x", "a"], ["y"])], ["x"], ["y"])), "t.tflite")


def test_an_average_of_integers_without_a_scale_is_refused() -> None:
    x, options = T((1, 2, 2, 1), torch.int8), {"stride_h": 2, "stride_w": 2, "height": 2, "width": 2}
    graph = G({"x": x, "y": T((1, 1, 1, 1), torch.int8)}, [Op("AVERAGE_POOL_2D", ["x"], ["y"], options)], ["x"], ["y"])
    with pytest.raises(UsageError, match="AVERAGE_POOL_2D 'y': its integers have no scale"):
        FileModel(parse(tflite(graph), "t.tflite"), ROWS, "t")
