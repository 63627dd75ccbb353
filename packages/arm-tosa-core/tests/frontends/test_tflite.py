"""Files of TFLite as programs: their integers, variables and branches, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from cli_kit import error, ok

from arm_tosa_core import UsageError, load_model, lower
from arm_tosa_core.flow.lowered import compile_spec_of
from arm_tosa_core.lowering.exported_program import is_quantized
from arm_tosa_core.testing.harness import Execution, left_outside
from tflite_files import G, Op, T, image_network, int8, int32, tflite


def saved(folder: Path, *graphs: G) -> Path:
    path = folder / "net.tflite"
    path.write_bytes(tflite(*graphs))
    return path


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u85-256"])
def test_an_integer_network_is_compiled_whole_and_runs_as_its_program(target: str, bits: int, tmp_path: Path) -> None:
    program = load_model(saved(tmp_path, image_network(bits)))
    assert is_quantized(program)
    run = Execution(program, compile_spec_of(target).target())
    assert left_outside(run.program, run.analysis) == {} and len(run.flatbuffers) == 1
    numbers = torch.Generator().manual_seed(1)
    for _ in range(4):
        image = torch.randint(-128, 128, (1, 9, 9, 3), generator=numbers, dtype=torch.int8)
        got, wanted = run.run([image]), program.module()(image)
        assert got[0].dtype == torch.int8 and wanted[0].unique().numel() > 2
        assert (got[0].int() - wanted[0].int()).abs().max() <= 1  # a sum that lies in the middle of two integers


def convolution(dtype: torch.dtype, offset: int) -> G:
    """A convolution and a pool; all integers have an offset."""
    numbers = torch.Generator().manual_seed(0)
    weight = torch.randint(-127, 128, (4, 3, 3, 2), generator=numbers) + offset
    tensors = {
        "x": T((1, 6, 6, 2), dtype, (0.02,), (3 + offset,)),
        "w": T(weight.to(dtype), scale=(0.002,), zero=(offset,)),
        "b": T(torch.tensor([100, -200, 300, 0], dtype=torch.int32)),
        "c": T((1, 6, 6, 4), dtype, (0.03,), (-50 + offset,)),
        "y": T((1, 2, 2, 4), dtype, (0.03,), (-50 + offset,)),
    }
    operators = [
        Op("CONV_2D", ["x", "w", "b"], ["c"], {"stride_h": 1, "stride_w": 1}),
        Op("MAX_POOL_2D", ["c"], ["y"], {"stride_h": 3, "stride_w": 3, "height": 3, "width": 3}),
    ]
    return G(tensors, operators, ["x"], ["y"])


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u85-256"])
def test_unsigned_integers_are_signed_ones_with_an_offset(target: str, tmp_path: Path) -> None:
    signed = load_model(saved(tmp_path, convolution(torch.int8, 0)))
    unsigned = load_model(saved(tmp_path, convolution(torch.uint8, 128)))
    x = torch.randint(-128, 128, (1, 6, 6, 2), generator=torch.Generator().manual_seed(1))
    (wanted,) = signed.module()(x.to(torch.int8))
    (made,) = unsigned.module()((x + 128).to(torch.uint8))
    assert made.dtype == torch.uint8 and wanted.unique().numel() > 8
    torch.testing.assert_close(made.int() - 128, wanted.int(), rtol=0, atol=0)
    run = Execution(unsigned, compile_spec_of(target).target())
    assert left_outside(run.program, run.analysis) == {}
    (got,) = run.run([(x + 128).to(torch.uint8)])
    assert (got.int() - made.int()).abs().max() <= 1


@pytest.mark.needs("arm_ethosu")
@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u85-256"])
@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"])
def test_vela_reads_unsigned_integers_around_128_as_they_are(kind: str, target: str, tmp_path: Path) -> None:
    """Its kernel has the file's zero point, where the graph has 0 behind a RESCALE."""
    whole = kind == "FULLY_CONNECTED"  # behind a RESHAPE
    sizes = (1, 20) if whole else (1, 3, 2, 1)
    weight = torch.randint(0, 256, sizes, generator=torch.Generator().manual_seed(0)).to(torch.uint8)
    tensors = {
        "x": T((1, 4, 5, 1), torch.uint8, (0.05,), (128,)),
        "w": T(weight, scale=(0.004,), zero=(120,)),
        "b": int32(100),
        "y": T((1, 1) if whole else (1, 4, 5, 1), torch.uint8, (0.03,), (60,)),
    }
    operator = Op(kind, ["x", "w", "b"], ["y"], {} if whole else {"stride_h": 1, "stride_w": 1})
    program = load_model(saved(tmp_path, G(tensors, [operator], ["x"], ["y"])))
    run = Execution(program, compile_spec_of(target).target())
    assert left_outside(run.program, run.analysis) == {}


@pytest.mark.needs("arm_ethosu")
def test_uneven_padding_of_a_sum_is_the_convolution_s(tmp_path: Path) -> None:
    """SAME pads by one more at the end; a copy of the image for it took a tenth of a ResNet's cycles."""
    weight = T(torch.ones(4, 3, 3, 2, dtype=torch.int8), scale=(0.01,))
    tensors = {
        **{name: int8(1, 8, 8, 2, scale=0.1, zero=5) for name in ("x", "y", "sum")},
        "w": weight,
        "b": T(torch.zeros(4, dtype=torch.int32)),
        "z": int8(1, 4, 4, 4, scale=0.1),
    }
    operators = [
        Op("ADD", ["x", "y"], ["sum"]),
        Op("CONV_2D", ["sum", "w", "b"], ["z"], {"stride_h": 2, "stride_w": 2}),
    ]
    program = load_model(saved(tmp_path, G(tensors, operators, ["x", "y"], ["z", "sum"])))
    run = Execution(program, compile_spec_of("ethos-u55-128").target())
    (graph,) = (region.graph for region in run.regions)
    assert [op.attrs["pad"] for op in graph.ops if op.name == "CONV2D"] == [(0, 1, 0, 1)]
    assert not {"PAD", "MAX_POOL2D"} & {op.name for op in graph.ops}
    x, y = torch.randint(-128, 128, (2, 1, 8, 8, 2), generator=torch.Generator().manual_seed(0), dtype=torch.int8)
    for got, wanted in zip(run.run([x, y]), program.module()(x, y), strict=True):
        assert (got.int() - wanted.int()).abs().max() <= 1


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u85-256"])
def test_wide_activations_and_their_bias(target: str, tmp_path: Path) -> None:
    """int16 with weights of int8, a bias of int64, and a sigmoid."""
    numbers = torch.Generator().manual_seed(0)
    weight = torch.randint(-128, 128, (4, 3, 3, 2), generator=numbers, dtype=torch.int8)
    wide = {name: T((1, 6, 6, 2), torch.int16, (2e-4,)) for name in ("x", "sum")}
    tensors = {
        **wide,
        "w": T(weight, scale=(0.01, 0.02, 0.015, 0.01)),
        "b": T(torch.tensor([10**6, -(10**6), 77, 0])),
        "z": T((1, 6, 6, 4), torch.int16, (1e-3,)),
        "y": T((1, 6, 6, 4), torch.int16, (1 / 32768,)),
    }
    operators = [
        Op("ADD", ["x", "x"], ["sum"]),
        Op("CONV_2D", ["sum", "w", "b"], ["z"], {"stride_h": 1, "stride_w": 1, "activation": 1}),
        Op("LOGISTIC", ["z"], ["y"]),
    ]
    program = load_model(saved(tmp_path, G(tensors, operators, ["x"], ["z", "y"])))
    run = Execution(program, compile_spec_of(target).target())
    assert left_outside(run.program, run.analysis) == {}
    x = torch.randint(-9000, 9000, (1, 6, 6, 2), generator=numbers, dtype=torch.int16)
    for got, wanted in zip(run.run([x]), program.module()(x), strict=True):
        assert got.dtype == torch.int16 and (got.int() - wanted.int()).abs().max() <= 1


@pytest.mark.needs("arm_ethosu")
@pytest.mark.parametrize("count", [2, 10, 100])
def test_softmax_of_integers_is_within_a_step(count: int, tmp_path: Path) -> None:
    tensors = {"x": int8(6, count, scale=0.1), "y": int8(6, count, scale=1 / 256, zero=-128)}
    program = load_model(saved(tmp_path, G(tensors, [Op("SOFTMAX", ["x"], ["y"], {"beta": 1.0})], ["x"], ["y"])))
    run = Execution(program, compile_spec_of("ethos-u55-128").target())
    assert left_outside(run.program, run.analysis) == {}
    x = torch.randint(-128, 128, (6, count), generator=torch.Generator().manual_seed(0), dtype=torch.int8)
    x[0], x[1] = x[0] // 16, 0
    wanted = torch.clamp(torch.round(torch.softmax(x * 0.1, -1) * 256) - 128, max=127)
    assert ((run.run([x])[0] - wanted).abs() <= 1).all()


@pytest.mark.needs("arm_ethosu")
def test_commands_take_a_file(folder: Path) -> None:
    saved(folder, image_network())
    made = ok("compile", "net.tflite", "--target", "ethos-u55-128", "-o", "net.pte")
    assert made["delegates"] == 1 and not made["rejected"]
    rows = {row["source"].partition(":")[0] for row in made["delegated"]}
    assert rows == {"net.tflite"}
    first = next(row for row in made["delegated"] if row["target"] == "aten.conv2d.default")
    assert "CONV_2D: first (real) = CONV_2D(image (dequantized), " in first["source"]


def test_weights_of_integers_are_real_where_nothing_else_is_quantized(tmp_path: Path) -> None:
    weight = torch.tensor([[100, -50]], dtype=torch.int8)
    tensors = {"x": T((1, 2)), "w": T(weight, scale=(0.5,), zero=(2,)), "y": T((1, 1))}
    program = load_model(saved(tmp_path, G(tensors, [Op("FULLY_CONNECTED", ["x", "w", ""], ["y"])], ["x"], ["y"])))
    assert not is_quantized(program)
    torch.testing.assert_close(program.module()(torch.ones(1, 2)), (torch.tensor([[49.0 - 26.0]]),))


def test_a_file_may_have_names_that_the_reader_gives(tmp_path: Path) -> None:
    tensors = {"x": int8(1, 2, scale=0.5), "x (dequantized)": T((1, 2)), "y": T((1, 2)), "z": T((1, 2))}
    operators = [
        Op("ADD", ["x (dequantized)", "x (dequantized)"], ["y"]),
        Op("DEQUANTIZE", ["x"], ["z"]),
    ]
    graph = G(tensors, operators, ["x", "x (dequantized)"], ["y", "z"])
    made = load_model(saved(tmp_path, graph)).module()(
        torch.tensor([[2, 4]], dtype=torch.int8), torch.tensor([[3.0, 5.0]])
    )
    assert [one.tolist() for one in made] == [[[6.0, 10.0]], [[1.0, 2.0]]]


def test_half_weights_are_constants(tmp_path: Path) -> None:
    tensors = {"x": T((1, 2)), "h": T(torch.tensor([1.5, 2.0]).half()), "w": T((2,)), "y": T((1, 2))}
    operators = [Op("DEQUANTIZE", ["h"], ["w"]), Op("MUL", ["x", "w"], ["y"])]
    program = load_model(saved(tmp_path, G(tensors, operators, ["x"], ["y"])))
    assert [str(node.target) for node in program.graph.nodes if node.op == "call_function"] == ["aten.mul.Tensor"]
    torch.testing.assert_close(program.module()(torch.ones(1, 2)), (torch.tensor([[1.5, 2.0]]),))


def test_variables_stay_from_call_to_call(tmp_path: Path) -> None:
    """A stream of the last two numbers, which starts with 7."""
    handle = T((), torch.int32)
    main = G(
        {"x": T((1, 1)), "v": handle, "old": T((1, 1)), "both": T((1, 2))},
        [
            Op("CALL_ONCE", [], [], {"graph": 1}),
            Op("VAR_HANDLE", [], ["v"], {"shared_name": "last"}),
            Op("READ_VARIABLE", ["v"], ["old"]),
            Op("CONCATENATION", ["old", "x"], ["both"], {"axis": 1}),
            Op("ASSIGN_VARIABLE", ["v", "x"], []),
        ],
        ["x"],
        ["both"],
    )
    operators = [Op("VAR_HANDLE", [], ["v"], {"shared_name": "last"}), Op("ASSIGN_VARIABLE", ["v", "c"], [])]
    start = G({"v": handle, "c": T([[7.0]])}, operators, [], [])
    module = load_model(saved(tmp_path, main, start)).module()
    assert [module(torch.tensor([[x]]))[0].tolist() for x in (1.0, 2.0)] == [[[7.0, 1.0]], [[1.0, 2.0]]]


@pytest.mark.needs("arm_ethosu")
def test_a_compiled_stream_begins_with_the_file_s_numbers(tmp_path: Path) -> None:
    """The state is one of integers, and does not begin with zeros."""
    pytest.importorskip("arm_runtime", reason="runs the program: nox builds arm-runtime-cpp")
    from executorch.runtime import Runtime

    handle, state = T((), torch.int32), {"scale": 0.1, "zero": -128}
    main = G(
        {
            "x": int8(1, 2, **state),
            "v": handle,
            "old": int8(1, 2, **state),
            "both": int8(1, 4, **state),
            "w": T(torch.tensor([[1, 2, 3, 4], [10, -20, 30, -40]], dtype=torch.int8), scale=(0.1,)),
            "y": int8(1, 2, scale=0.5),
        },
        [
            Op("CALL_ONCE", [], [], {"graph": 1}),
            Op("VAR_HANDLE", [], ["v"], {"shared_name": "last"}),
            Op("READ_VARIABLE", ["v"], ["old"]),
            Op("CONCATENATION", ["old", "x"], ["both"], {"axis": 1}),
            Op("FULLY_CONNECTED", ["both", "w", ""], ["y"]),
            Op("ASSIGN_VARIABLE", ["v", "x"], []),
        ],
        ["x"],
        ["y"],
    )
    first = T(torch.tensor([[-100, 20]], dtype=torch.int8), scale=(0.1,), zero=(-128,))
    operators = [Op("VAR_HANDLE", [], ["v"], {"shared_name": "last"}), Op("ASSIGN_VARIABLE", ["v", "c"], [])]
    program = load_model(saved(tmp_path, main, G({"v": handle, "c": first}, operators, [], [])))
    lowered = lower(program, compile_spec_of("ethos-u55-128"))
    assert lowered.report.delegates == 1 and not lowered.report.rejected
    method, module = Runtime.get().load_program(lowered.buffer).load_method("forward"), program.module()
    for x in ([[-120, 5]], [[0, -128]], [[127, 3]]):
        given = torch.tensor(x, dtype=torch.int8)
        assert torch.equal(method.execute([given])[0], module(given)[0])


def test_a_branch_chooses_among_two_graphs(tmp_path: Path) -> None:
    def branch(kind: str) -> G:
        return G({"a": T((2,)), "b": T((2,))}, [Op(kind, ["a"], ["b"])], ["a"], ["b"])

    tensors = {"x": T((2,)), "limit": T([1.0]), "more": T((1,), torch.bool), "s": T((1,)), "y": T((2,)), "a": int32(0)}
    operators = [
        Op("SUM", ["x", "a"], ["s"], {"keep_dims": True}),
        Op("GREATER", ["s", "limit"], ["more"]),
        Op("IF", ["more", "x"], ["y"], {"then_graph": 1, "else_graph": 2}),
    ]
    main = G(tensors, operators, ["x"], ["y"])
    module = load_model(saved(tmp_path, main, branch("NEG"), branch("SQUARE"))).module()
    assert [module(torch.tensor(x))[0].tolist() for x in ([2.0, 3.0], [-3.0, 2.0])] == [[-2.0, -3.0], [9.0, 4.0]]


def _with(change: Callable[[G], G]) -> bytes:
    return tflite(change(image_network()))


def _operators(**fields: Any) -> Callable[[G], G]:
    return lambda graph: replace(graph, operators=[replace(graph.operators[0], **fields), *graph.operators[1:]])


def _tensor(name: str, tensor: T) -> Callable[[G], G]:
    return lambda graph: replace(graph, tensors={**graph.tensors, name: tensor})


def _calls_itself(graph: G) -> G:
    tensors = {**graph.tensors, "c": T([True], torch.bool)}
    one = Op("IF", ["c", "image"], ["classes"], {"then_graph": 0, "else_graph": 0})
    return G(tensors, [one], ["image"], ["classes"])


def _starts_itself(graph: G) -> G:
    return replace(graph, operators=[Op("CALL_ONCE", [], [], {"graph": 0}), *graph.operators])


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (b"", 'net.tflite is not a .tflite file: the file identifier "TFL3" is missing'),
        (tflite(image_network())[:400], "net.tflite(: a vector goes beyond| is damaged|: an offset leads out)"),
        (_with(_operators(kind="HASHTABLE_FIND")), "HASHTABLE_FIND 'first': arm-tosa does not read this operator"),
        (
            _with(_operators(kind="CUSTOM TFLite_Detection_PostProcess")),
            "PostProcess 'first': .*, whose inputs are 'image.*. It chooses among boxes",
        ),
        (_with(_operators(kind="CUSTOM FlexErf")), "read this operator, .*. It is TensorFlow's own: convert with"),
        (_with(_operators(kind="STABLEHLO_ADD")), "STABLEHLO_ADD 'first': .* to operators of TFLite, not"),
        (_with(_operators(kind="WHILE")), "its graphs call each other without end"),
        (_with(_operators(kind="CUSTOM \x1b[0mMine")), r"CUSTOM \\x1b\[0mMine 'first': arm-tosa does not read this"),
        (_with(_operators(options={"stride_h": 0, "stride_w": 1})), r"CONV_2D 'first': its stride is \(0, 1\)"),
        (_with(_operators(inputs=["image", "first weight", "sum"])), "dequantize 'sum' reads 'sum', which no"),
        (_with(_tensor("first", T((1, 5, 5, 8), torch.int8, (0.1,) * 8, axis=3))), "CONV_2D 'first' makes a"),
        (_with(_tensor("second", int8(1, 2**31 - 1, 2**31 - 1, 2**31 - 1, scale=1.0))), "more than an address has"),
        (_with(_calls_itself), "its graphs call each other without end"),
        (_with(_starts_itself), "its graphs call each other without end"),
        (_with(_operators(kind="VAR_HANDLE", outputs=[])), "net.tflite is damaged"),
    ],
)  # fmt: skip
def test_what_is_refused_is_named(data: bytes, wanted: str, tmp_path: Path) -> None:
    (tmp_path / "net.tflite").write_bytes(data)
    with pytest.raises(UsageError, match=wanted) as refused:
        load_model(tmp_path / "net.tflite")
    assert re.search(r"\. [A-Z][a-z]+ ", str(refused.value))  # what to do


def test_a_command_says_what_is_wrong(folder: Path) -> None:
    saved(folder, _operators(kind="UNIQUE")(image_network()))
    told = error("compile", "net.tflite", "--target", "tosa-int", "-o", "net.pte")
    assert "net.tflite: UNIQUE 'first': arm-tosa does not read this operator, whose inputs are 'image (" in told
