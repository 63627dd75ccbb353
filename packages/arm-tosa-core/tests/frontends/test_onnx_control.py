"""Loops and branches of ONNX files: their steps one behind the other, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import helper, numpy_helper
from onnx_kit import model, weights

from arm_tosa_core import UsageError, load_model

N = helper.make_node
FLOAT, INT, BOOL = 1, 7, 9
STEP, GOES, WENT = ("i", INT), ("goes", BOOL), ("went", BOOL)
ROWS = {"x": (2, 4)}


def _graph(nodes: Sequence[onnx.NodeProto], inputs: Sequence[Any], outputs: Sequence[Any], **constants: Any) -> Any:
    ends = (
        [helper.make_tensor_value_info(*((one, FLOAT) if isinstance(one, str) else one), None) for one in names]
        for names in (inputs, outputs)
    )
    held = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    return helper.make_graph(list(nodes), "g", *ends, held)


def _loop(reads: Sequence[str], makes: Sequence[str], body: Any) -> onnx.NodeProto:
    return N("Loop", reads, makes, name="turns", body=body)


WEIGHT = weights(4, 4)
#: A step that multiplies the state, and gives it out.
TURN = _graph(
    [
        N("Identity", ["goes"], ["went"]),
        N("MatMul", ["v", "w"], ["u"]),
        N("Tanh", ["u"], ["t"]),
        N("Neg", ["t"], ["n"]),
    ],
    [STEP, GOES, "v"],
    [WENT, "t", "n"],
    w=WEIGHT,
)
#: A step that knows which it is, and ends the loop behind the third.
COUNTS = _graph(
    [N("Less", ["i", "two"], ["went"]), N("Gather", ["x", "i"], ["r"], axis=1), N("Add", ["v", "r"], ["t"])],
    [STEP, GOES, "v"],
    [WENT, "t"],
    two=2,
)
#: A loop and a choice in a step; the choice is another in the first.
INNER = _graph(
    [N("Identity", ["b"], ["c"]), N("Add", ["p", "v"], ["q"])], [("k", INT), ("b", BOOL), "p"], [("c", BOOL), "q"]
)
FIRST, LATER = (_graph([N(kind, [of], ["o"])], [], ["o"]) for kind, of in (("Neg", "v"), ("Abs", "l")))
NESTED = _graph(
    [
        N("Identity", ["goes"], ["went"]),
        N("Loop", ["two", "", "v"], ["l"], body=INNER),
        N("Less", ["i", "one"], ["first"]),
        N("If", ["first"], ["c"], then_branch=FIRST, else_branch=LATER),
        N("Add", ["l", "c"], ["t"]),
    ],
    [STEP, GOES, "v"],
    [WENT, "t"],
    two=2,
    one=1,
)
#: A state that grows.
GROWS = _graph(
    [N("Identity", ["goes"], ["went"]), N("Concat", ["v", "x"], ["t"], axis=0)], [STEP, GOES, "v"], [WENT, "t"]
)
SCANNED = _graph([N("Add", ["s", "e"], ["t"]), N("Neg", ["t"], ["o"])], ["s", "e"], ["t", "o"])


def _turned(x: torch.Tensor, count: int) -> list[torch.Tensor]:
    lists = []
    for _ in range(count):
        x = torch.tanh(x @ torch.from_numpy(WEIGHT))
        lists.append(-x)
    return [x, torch.stack(lists)]


def _nested(x: torch.Tensor, count: int) -> torch.Tensor:
    for step in range(count):
        x = 3 * x - x if step == 0 else 3 * x + (3 * x).abs()
    return x


#: Nodes, constants, outputs, and what they are; written by hand, as ONNX's own evaluator of 1.21 has no right loops.
RIGHT: dict[str, tuple[list[onnx.NodeProto], dict[str, Any], Callable[[torch.Tensor], list[torch.Tensor]]]] = {
    "steps, and what each gives out": (
        [_loop(["n", "c", "x"], ["v", "y"], TURN)],
        {"n": np.array(3), "c": np.array(True)},
        lambda x: _turned(x, 3),
    ),
    "no condition": ([_loop(["n", "", "x"], ["v", "y"], TURN)], {"n": np.array(3)}, lambda x: _turned(x, 3)),
    "no step": ([_loop(["n", "", "x"], ["y"], GROWS)], {"n": np.array(0)}, lambda x: [x]),
    "the condition ends it": (
        [_loop(["n", "c", "zero"], ["y"], COUNTS)],
        {"n": np.array(4), "c": np.array(True), "zero": np.zeros(2, np.float32)},
        lambda x: [x[:, :3].sum(1)],
    ),
    "as many steps as there are rows": (
        [N("Shape", ["x"], ["s"]), N("Gather", ["s", "first"], ["n"]), _loop(["n", "", "x"], ["y"], GROWS)],
        {"first": np.array(0)},
        lambda x: [x.repeat(3, 1)],
    ),
    "a loop and a choice in a step": (
        [_loop(["n", "", "x"], ["y"], NESTED)],
        {"n": np.array(3)},
        lambda x: [_nested(x, 3)],
    ),
    "the same loop twice": (
        [_loop(["n", "", "x"], ["a"], NESTED), _loop(["n", "", "a"], ["y"], NESTED)],
        {"n": np.array(2)},
        lambda x: [_nested(_nested(x, 2), 2)],
    ),
    "a scan": (
        [N("Scan", ["zero", "x"], ["v", "y"], body=SCANNED, num_scan_inputs=1)],
        {"zero": np.zeros(4, np.float32)},
        lambda x: [x.sum(0), -x.cumsum(0)],
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_steps_stand_one_behind_the_other(name: str, tmp_path: Path) -> None:
    nodes, constants, wanted = RIGHT[name]
    outputs = list(nodes[-1].output)
    proto = model(*nodes, inputs=ROWS, constants=constants, outputs=outputs)
    (tmp_path / "t.onnx").write_bytes(proto.SerializeToString())
    x = torch.randn(2, 4, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(list(load_model(tmp_path / "t.onnx").module()(x)), wanted(x))


def test_a_scan_may_run_backwards_along_any_axis(tmp_path: Path) -> None:
    turned: dict[str, Any] = {
        f"scan_{end}_{what}": [1] for end in ("input", "output") for what in ("axes", "directions")
    }
    scan = N("Scan", ["zero", "x"], ["v", "y"], body=SCANNED, num_scan_inputs=1, **turned)
    proto = model(scan, inputs=ROWS, constants={"zero": np.zeros(2, np.float32)}, outputs=["v", "y"])
    (tmp_path / "t.onnx").write_bytes(proto.SerializeToString())
    last, whole = load_model(tmp_path / "t.onnx").module()(torch.tensor([[1.0, 2, 3, 4], [0, 0, 0, 1]]))
    assert last.tolist() == [10, 1]
    assert whole.tolist() == [[-10, -9, -7, -4], [-1, -1, -1, -1]]


def test_a_weight_of_a_step_is_there_once(tmp_path: Path) -> None:
    weighs = _graph(
        [N("Identity", ["goes"], ["went"]), N("Add", ["v", "w"], ["t"])], [STEP, GOES, "v"], [WENT, "t"], w=WEIGHT
    )
    proto = model(_loop(["n", "", "x"], ["y"], weighs), inputs={"x": (4, 4)}, constants={"n": np.array(5)})
    (tmp_path / "t.onnx").write_bytes(proto.SerializeToString())
    held = dict(load_model(tmp_path / "t.onnx").named_buffers())
    assert [name for name, value in held.items() if value.numel() == 16] == ["turns__1_w"]


ENDLESS = _graph([N("Identity", ["goes"], ["went"]), N("Neg", ["v"], ["t"])], [STEP, GOES, "v"], [WENT, "t"])
DECIDES = _graph(
    [N("ReduceMax", ["v"], ["m"], keepdims=0), N("Less", ["m", "nine"], ["went"]), N("Add", ["v", "v"], ["t"])],
    [STEP, GOES, "v"],
    [WENT, "t"],
    nine=np.float32(9),
)
REFUSED = {
    "a condition of data": (_loop(["n", "c", "x"], ["y"], DECIDES), "Loop 'turns': its condition is computed while"),
    "a number of steps of data": (
        _loop(["d", "", "x"], ["y"], ENDLESS),
        "Loop 'turns': its number of steps is computed",
    ),
    "too many steps": (_loop(["many", "", "x"], ["y"], ENDLESS), "Loop 'turns': it has more than 512 steps"),
    "no end": (_loop(["", "", "x"], ["y"], ENDLESS), "Loop 'turns': it never ends"),
    "no step, and a result of each": (
        _loop(["zero", "", "x"], ["v", "y"], TURN),
        "'turns': it has no step, and a result",
    ),
    "another body": (_loop(["n", "", "x", "x"], ["y"], ENDLESS), "Loop 'turns': its body does not fit"),
    "loops in loops": (
        _loop(
            ["fifty", "", "x"],
            ["y"],
            _graph(
                [
                    N("Identity", ["goes"], ["went"]),
                    N("Loop", ["many", "", "v"], ["t"], body=INNER),
                ],
                [STEP, GOES, "v"],
                [WENT, "t"],
                many=np.array(500),
            ),
        ),
        "its loops have too many steps to be unrolled",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_loops_of_data_are_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arm_tosa_core.frontends.file_model._LARGEST", 2000)
    node, why = REFUSED[name]
    constants = {
        "n": np.array(3),
        "c": np.array(True),
        "many": np.array(9**9),
        "zero": np.array(0),
        "fifty": np.array(50),
    }
    data = [N("ReduceMax", ["x"], ["h"], keepdims=0), N("Cast", ["h"], ["d"], to=INT)]
    (tmp_path / "t.onnx").write_bytes(model(*data, node, inputs=ROWS, constants=constants).SerializeToString())
    with pytest.raises(UsageError, match=why):
        load_model(tmp_path / "t.onnx")
