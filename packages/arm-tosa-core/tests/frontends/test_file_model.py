"""A graph of a file as a module: constants folded, names kept, sizes asked for, refusals with the operator's name."""

from __future__ import annotations

import pytest
import torch

from arm_tosa_core import UsageError
from arm_tosa_core.frontends.file_graph import FileGraph, FileNode
from arm_tosa_core.frontends.file_inputs import FileInput
from arm_tosa_core.frontends.file_model import FileModel, Rows
from arm_tosa_core.lowering.exported_program import module_path, source_line

ROWS = Rows()


@ROWS.row("Scale")
def scale(node: FileNode, x: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
    return x * factor * float(node.get("times", 1))


@ROWS.row("Shape")
def shape(node: FileNode, x: torch.Tensor) -> torch.Tensor:
    return torch.tensor(x.shape)


@ROWS.row("Reverse")
def reverse(node: FileNode, x: torch.Tensor) -> torch.Tensor:
    return x.flip(0)


@ROWS.row("Reshape", numbers=(1,))
def reshape(node: FileNode, x: torch.Tensor, sizes: list[int]) -> torch.Tensor:
    return x.reshape(sizes)


def graph(*nodes: FileNode, sizes: tuple[int | str, ...] = (2, 3)) -> FileGraph:
    return FileGraph((FileInput("x:0", sizes, torch.float32),), ("y",), nodes, {"f": torch.tensor([1.0, 2.0, 3.0])})


def test_sizes_that_the_file_computes_are_numbers_and_nodes_have_the_names_of_the_file() -> None:
    nodes = (
        FileNode("net/scale", "Scale", ("x:0", "f"), ("a",), 1, {"times": 2}),
        FileNode("", "Shape", ("a",), ("s",), 2),
        FileNode("turned", "Reverse", ("s",), ("t",), 3),
        FileNode("return", "Reshape", ("a", "t"), ("y",), 4),
    )
    model = FileModel(graph(*nodes), ROWS, "net.onnx")
    x = torch.randn(2, 3)
    wanted = (x * torch.tensor([2.0, 4.0, 6.0])).reshape(3, 2)
    program = model.export()
    for made in (model(x), program.module()(x)):
        torch.testing.assert_close(made, (wanted,))
    calls = [node for node in program.graph.nodes if node.op == "call_function"]
    assert [module_path(node) for node in calls] == ["net_scale", "net_scale", "_return"]
    assert source_line(calls[-1]) == "net.onnx:4, in Reshape: y = Reshape(a, t)"
    assert [spec.arg.name for spec in program.graph_signature.input_specs] == ["b_f", "x_0"]
    assert set(program.state_dict) == {"f"}  # nothing that is read as numbers only


@pytest.mark.parametrize(
    ("sizes", "given", "wanted"),
    [
        (("N", 3), None, (1, 3)),
        ((-1, 3), {"x:0": (4, 3)}, (4, 3)),
        ((2, "w"), {"x:0": (2, 3)}, (2, 3)),
        ((2, "w"), None, "--input-shape x:0=2xN"),
        ((2, 3), {"x:0": (2, 4)}, r"\[2, 4\] do not fit"),
        ((2, 3), {"z": (2, 3)}, "has no input 'z'; it has: x:0"),
    ],
)
def test_open_sizes(
    sizes: tuple[int | str, ...], given: dict[str, tuple[int, ...]] | None, wanted: tuple[int, ...] | str
) -> None:
    scaled = graph(FileNode("s", "Scale", ("x:0", "f"), ("y",)), sizes=sizes)
    if isinstance(wanted, str):
        with pytest.raises(UsageError, match=wanted):
            FileModel(scaled, ROWS, "net.onnx", given)
    else:
        assert FileModel(scaled, ROWS, "net.onnx", given).examples()[0].shape == wanted


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (
            FileNode("n1", "Scale", ("x:0", "gone"), ("y",)),
            "Scale 'n1' reads 'gone', which no operator before it makes",
        ),
        (FileNode("n1", "Spin", ("x:0",), ("y",)), "Spin 'n1': arm-tosa does not read this operator"),
        (FileNode("n1", "Scale", ("x:0", "f"), ("z",)), "no operator makes the output 'y'"),
        (
            FileNode("n1", "Reshape", ("x:0", "x:0"), ("y",)),
            "operand 'x:0' is computed while .*\\. Export the model with",
        ),
        (
            FileNode("n1", "Reshape", ("x:0", "f"), ("y",)),
            "'n1': .*\\. Its operands do not fit: check the sizes",
        ),
        (FileNode("n1", "Scale", ("x:0",), ("y",)), "Scale 'n1': .*: copy it again"),
    ],
)
def test_refusals_name_the_operator(node: FileNode, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        FileModel(graph(node), ROWS, "net.onnx")


@ROWS.row("Same")
def same(node: FileNode, x: torch.Tensor) -> torch.Tensor:
    return x


@ROWS.row("Add")
def add(node: FileNode, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y


def test_states_hand_on_what_they_were_before_the_call() -> None:
    nodes = (
        FileNode("a", "Same", ("first",), ("one",), 1),
        FileNode("b", "Same", ("second",), ("two",), 2),
        FileNode("c", "Add", ("one", "x"), ("sum",), 3),
    )
    states = {"first": torch.tensor([0.0]), "second": torch.tensor([1.0])}
    inputs = (FileInput("x", (1,), torch.float32),)
    line = FileGraph(inputs, ("one", "two"), nodes, {}, states, {"first": "sum", "second": "one"})
    x = torch.tensor([5.0])
    for model in (FileModel(line, ROWS, "net.tflite"), FileModel(line, ROWS, "net.tflite").export().module()):
        assert [[y.item() for y in model(x)] for _ in range(3)] == [[0, 1], [5, 0], [10, 5]]
