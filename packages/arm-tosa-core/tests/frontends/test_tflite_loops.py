"""``WHILE`` and graphs that operators call: what LiteRT 2.3 makes of the same files, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from arm_tosa_core import UsageError, load_model
from tflite_files import G, Op, T, int8, int32, tflite

INT = torch.int32
X = T((1, 2))
W = T(torch.tensor([[2.0, -1.0], [0.5, 1.0]]))


def number(value: int) -> T:
    return T(torch.tensor(value, dtype=INT))


def main(cond: int = 1, body: int = 2, **ends: T) -> G:
    tensors = {"zero": number(0), "i": T((), INT), "x": T((1, 2)), "y": T((1, 2)), **ends}
    return G(tensors, [Op("WHILE", ["zero", "x"], ["i", "y"], {"cond_graph": cond, "body_graph": body})], ["x"], ["y"])


def fewer_than(count: int, x: T = X) -> G:
    tensors = {"i": T((), INT), "x": x, "n": number(count), "more": T((), torch.bool)}
    return G(tensors, [Op("LESS", ["i", "n"], ["more"])], ["i", "x"], ["more"])


def step(x: T = X, weight: T = W) -> G:
    tensors = {"i": T((), INT), "x": x, "one": number(1), "w": weight, "j": T((), INT), "y": x}
    operators = [Op("ADD", ["i", "one"], ["j"]), Op("FULLY_CONNECTED", ["x", "w", ""], ["y"])]
    return G(tensors, operators, ["i", "x"], ["j", "y"])


def nested() -> list[G]:
    """Two steps, each of which has two."""
    tensors = {"i": T((), INT), "x": T((1, 2)), "one": number(1), "j": T((), INT)}
    tensors |= {"zero": number(0), "k": T((), INT), "y": T((1, 2))}
    operators = [
        Op("ADD", ["i", "one"], ["j"]),
        Op("WHILE", ["zero", "x"], ["k", "y"], {"cond_graph": 1, "body_graph": 2}),
    ]
    return [main(3, 4), fewer_than(2), step(), fewer_than(2), G(tensors, operators, ["i", "x"], ["j", "y"])]


def integers() -> list[G]:
    x = int8(1, 2, scale=0.5, zero=3)
    weight = T(torch.tensor([[127, -64], [31, 64]], dtype=torch.int8), scale=(1 / 64,))
    return [main(x=x, y=x), fewer_than(2, x), step(x, weight)]


def written() -> list[G]:
    """Twice each element of the input, one a step, into a list."""
    state = {"i": T((), INT), "x": T((3, 1)), "l": T((3, 1))}
    tensors = {
        **state,
        "zero": number(0),
        "none": T(torch.zeros(3, 1)),
        "j": T((), INT),
        "z": T((3, 1)),
        "y": T((3, 1)),
    }
    loop = Op("WHILE", ["zero", "x", "none"], ["j", "z", "y"], {"cond_graph": 1, "body_graph": 2})
    cond = G({**state, "n": number(3), "c": T((), torch.bool)}, [Op("LESS", ["i", "n"], ["c"])], list(state), ["c"])
    made = {
        "one": number(1),
        "first": number(0),
        "col": int32(0),
        "j": T((), INT),
        "e": T((1,)),
        "d": T((1,)),
        "r": T((1, 1)),
    }
    made |= {"at": T((1,), INT), "place": T((2,), INT), "m": T((3, 1))}
    operators = [
        Op("ADD", ["i", "one"], ["j"]),
        Op("GATHER", ["x", "i"], ["e"]),
        Op("ADD", ["e", "e"], ["d"]),
        Op("EXPAND_DIMS", ["d", "first"], ["r"]),
        Op("EXPAND_DIMS", ["i", "first"], ["at"]),
        Op("CONCATENATION", ["at", "col"], ["place"]),
        Op("DYNAMIC_UPDATE_SLICE", ["l", "r", "place"], ["m"]),
    ]
    body = G({**state, **made}, operators, list(state), ["j", "x", "m"])
    return [G(tensors, [loop], ["x"], ["y"]), cond, body]


def composite() -> list[G]:
    tensors = {"x": T((1, 2)), "m": T((1, 2)), "y": T((1, 2))}
    operators = [
        Op("STABLEHLO_COMPOSITE", [a], [b], {"name": "odml.layer", "graph": 1}) for a, b in (("x", "m"), ("m", "y"))
    ]
    part = G({"x": T((1, 2)), "w": W, "y": T((1, 2))}, [Op("FULLY_CONNECTED", ["x", "w", ""], ["y"])], ["x"], ["y"])
    return [G(tensors, operators, ["x"], ["y"]), part]


#: Graphs, what they read, and what LiteRT makes of it.
WANTED: dict[str, tuple[Callable[[], list[G]], list[list[float]], list[list[float]]]] = {
    "no step": (lambda: [main(), fewer_than(0), step()], [[1, 2]], [[1, 2]]),
    "three steps": (lambda: [main(), fewer_than(3), step()], [[1, 2]], [[-7.5, 1.25]]),
    "a loop in a loop": (nested, [[1, 2]], [[-16.25, -2.5]]),
    "integers": (integers, [[10, -20]], [[96, 1]]),
    "a list": (written, [[1], [2], [-3]], [[2], [4], [-6]]),
    "a composite twice": (composite, [[1, 2]], [[-2.5, 2.5]]),
}


@pytest.mark.parametrize("name", WANTED)
def test_called_graphs_stand_in_the_program(name: str, tmp_path: Path) -> None:
    make, given, wanted = WANTED[name]
    (tmp_path / "net.tflite").write_bytes(tflite(*make()))
    dtype = torch.int8 if name == "integers" else torch.float32
    made = load_model(tmp_path / "net.tflite").module()(torch.tensor(given, dtype=dtype))[0]
    assert made.dtype == dtype and made.tolist() == wanted


def _while_large() -> G:
    tensors = {"i": T((), INT), "x": T((1, 2)), "a": int32(0, 1), "m": T(()), "n": T(torch.tensor(9.0))}
    tensors["more"] = T((), torch.bool)
    operators = [Op("REDUCE_MAX", ["x", "a"], ["m"]), Op("LESS", ["m", "n"], ["more"])]
    return G(tensors, operators, ["i", "x"], ["more"])


@pytest.mark.parametrize(
    ("graphs", "why"),
    [
        ([main(), _while_large(), step()], "WHILE 'i': its condition is computed while the model runs. Make the file"),
        ([main(), fewer_than(10**6), step()], "WHILE 'i': it has more than 512 steps"),
        ([main(2, 2), fewer_than(3), step()], "WHILE 'i': its graphs do not fit its operands"),
        ([main(1, 1), fewer_than(3), step()], "WHILE 'i': its body does not make what it reads"),
        ([main(1, 7), fewer_than(3), step()], "the graph 7 does not exist: there are 3"),
    ],
)
def test_loops_of_data_are_refused(graphs: list[G], why: str, tmp_path: Path) -> None:
    (tmp_path / "net.tflite").write_bytes(tflite(*graphs))
    with pytest.raises(UsageError, match=why):
        load_model(tmp_path / "net.tflite")


def test_a_text_is_refused_by_its_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("tflite_files")._TYPES, torch.complex128, 5)
    graph = G({"x": T((2,)), "words": T((2,), torch.complex128), "y": T((2,))}, [Op("NEG", ["x"], ["y"])], ["x"], ["y"])
    (tmp_path / "net.tflite").write_bytes(tflite(graph))
    with pytest.raises(UsageError, match="the tensor 'words' has the type STRING, which is not read. Make the file"):
        load_model(tmp_path / "net.tflite")
