"""Operators of TFLite with a state, over three calls: what LiteRT 2.3 makes of the same files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from arm_tosa_core import UsageError, load_model, lower
from arm_tosa_core.flow.lowered import compile_spec_of
from arm_tosa_core.testing.harness import Execution, left_outside
from tflite_files import G, Op, T, int8, tflite


def integers(low: int, high: int, *shape: int, seed: int) -> torch.Tensor:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed))


def reals(*shape: int, seed: int) -> T:
    return T(integers(-64, 65, *shape, seed=seed) / 64)


def svdf(quantized: bool, activation: int = 0) -> G:
    """Two units of rank 2 on three numbers, with a memory of four calls."""
    if quantized:
        tensors = {
            "x": int8(1, 3, scale=0.05, zero=3),
            "feature": T(integers(-127, 128, 4, 3, seed=1).to(torch.int8), scale=(0.02,)),
            "time": T(integers(-20000, 20000, 4, 4, seed=2).to(torch.int16), scale=(1e-4,)),
            "bias": T(integers(-9999, 9999, 2, seed=3).to(torch.int32), scale=(1e-6,)),
            "memory": T((1, 16), torch.int16, (0.01,), variable=True),
            "y": int8(1, 2, scale=0.2, zero=-5),
        }
    else:
        tensors = {
            "x": T((1, 3)),
            "feature": reals(4, 3, seed=1),
            "time": reals(4, 4, seed=2),
            "bias": reals(2, seed=3),
            "memory": T((1, 16), variable=True),
            "y": T((1, 2)),
        }
    reads = ["x", "feature", "time", "bias", "memory"]
    return G(tensors, [Op("SVDF", reads, ["y"], {"rank": 2, "activation": activation})], ["x"], ["y"])


def lstm(quantized: bool, kind: str = "UNIDIRECTIONAL_SEQUENCE_LSTM", clip: float = 0.0, major: bool = False) -> G:
    """Three cells on two numbers, two steps a call if the operator takes several."""
    shape = (1,) if kind == "LSTM" else (2, 1) if major else (1, 2)
    ends = {"x": int8(*shape, 2, scale=0.03, zero=4), "y": int8(*shape, 3, scale=1 / 128, zero=2)}
    states = {"hidden": replace(ends["y"], what=(1, 3), variable=True)}
    states["cell"] = T((1, 3), torch.int16, (2.0**-11,), variable=True)
    if not quantized:
        ends, states = ({n: T(t.what, variable=t.variable) for n, t in one.items()} for one in (ends, states))
    tensors, reads = {**ends, **states}, ["x"]
    for size, what in ((2, "w"), (3, "r"), (1, "b")):
        for gate in range(4):
            name, seed = f"{what}{gate}", 10 * size + gate
            scale = 0.01 + 0.003 * gate
            if what == "b":
                bias = T(integers(-3000, 3000, 3, seed=seed).to(torch.int32), scale=(scale * 0.03,))
                tensors[name] = bias if quantized else reals(3, seed=seed)
            else:
                weight = T(integers(-127, 128, 3, size, seed=seed).to(torch.int8), scale=(scale,))
                tensors[name] = weight if quantized else reals(3, size, seed=seed)
            reads.append(name)
        reads += ["", "", ""] if what == "r" else ["", "", "hidden", "cell", "", "", "", ""] if what == "b" else []
    between = []
    if quantized:
        tensors |= {f"between{i}": T((), torch.int16, (2.0**-12,)) for i in range(4)} | {
            "between4": replace(ends["y"], what=())
        }
        between = [f"between{i}" for i in range(5)]
    options = {"activation": 4, "cell_clip": clip, "projection_clip": 0.0, "time_major": major}
    return G(tensors, [Op(kind, reads, ["y"], options, intermediates=between)], ["x"], ["y"])


def halves(graph: G) -> G:
    """With its constants in 16 bits, as the converter's float16 option leaves them."""
    tensors, operators = dict(graph.tensors), []
    for name, one in graph.tensors.items():
        if one.data is not None:
            tensors |= {name: T(tuple(one.data.shape)), f"{name}/half": T(one.data.half())}
            operators.append(Op("DEQUANTIZE", [f"{name}/half"], [name]))
    return replace(graph, tensors=tensors, operators=[*operators, *graph.operators])


def rnn(kind: str, major: bool = False, merge: bool = False, activation: int = 4) -> G:
    """Three units on two numbers, two steps a call if the operator takes several."""
    shape = (1,) if kind == "RNN" else (2, 1) if major else (1, 2)
    both = kind.startswith("BIDIRECTIONAL")
    tensors, reads = {"x": T((*shape, 2)), "y": T((*shape, 6 if merge else 3))}, ["x"]
    for way in ("", "2")[: 1 + both]:
        own = {"w": reals(3, 2, seed=21), "r": reals(3, 3, seed=31), "b": reals(3, seed=11)}
        own["h"] = T((1, 3), variable=True)
        tensors |= {name + way: tensor for name, tensor in own.items()}
        reads += [name + way for name in own]
    outputs = ["y", "y2"] if both and not merge else ["y"]
    tensors |= {"y2": T((*shape, 3))} if both and not merge else {}
    options = {"activation": activation, "time_major": major, "merge": merge}
    return G(tensors, [Op(kind, [*reads, *([""] * 3 if both else [])], outputs, options)], ["x"], outputs)


def _halved(name: str) -> G:
    return halves(WANTED[name][0]())


def calls(graph: G) -> list[torch.Tensor]:
    x = graph.tensors["x"]
    low, high = (-128, 128) if x.dtype == torch.int8 else (-64, 65)
    made = [integers(low, high, *x.what, seed=100 + i) for i in range(3)]
    return [one.to(torch.int8) if x.dtype == torch.int8 else one / 32 for one in made]


#: A file, and its last result in three calls.
WANTED: dict[str, tuple[Callable[[], G], list[list[float]]]] = {
    "svdf": (lambda: svdf(False), [[1.172913, 2.311096], [-0.409477, 2.136383], [0.41925, -0.286736]]),
    "svdf, relu": (lambda: svdf(False, 1), [[1.172913, 2.311096], [0.0, 2.136383], [0.41925, 0.0]]),
    "svdf of integers": (lambda: svdf(True, 1), [[14, -52], [-58, -128], [81, -128]]),
    "lstm": (
        lambda: lstm(False),
        [
            [-0.001083, -0.053756, 0.144341, -0.099062, -0.060063, 0.120533],
            [-0.162917, -0.407644, 0.228279, -0.082814, 0.083828, -0.004013],
            [-0.005117, 0.009019, 0.104106, -0.121307, -0.389953, 0.347386],
        ],
    ),
    "lstm, clipped": (
        lambda: lstm(False, clip=0.25),
        [
            [-0.001083, -0.053756, 0.057282, -0.092307, -0.073816, -0.047007],
            [-0.104852, -0.212169, 0.109629, -0.052674, 0.117571, -0.06851],
            [0.016263, 0.013592, 0.050987, -0.088347, -0.208002, 0.140319],
        ],
    ),
    "lstm, time first": (
        lambda: lstm(False, major=True),
        [
            [-0.001083, -0.053756, 0.144341, -0.099062, -0.060063, 0.120533],
            [-0.162917, -0.407644, 0.228279, -0.082814, 0.083828, -0.004013],
            [-0.005117, 0.009019, 0.104106, -0.121307, -0.389953, 0.347386],
        ],
    ),
    "one step": (
        lambda: lstm(False, "LSTM"),
        [[-0.001083, -0.053756, 0.144341], [-0.102855, -0.411718, 0.35222], [-0.055299, -0.055112, 0.157866]],
    ),
    "lstm of integers": (lambda: lstm(True), [[2, 2, 2, 2, 1, -6], [2, 1, 2, 2, -6, 3], [1, 22, -60, 48, 92, -78]]),
    "lstm of integers, clipped": (
        lambda: lstm(True, clip=0.25),
        [[2, 2, 2, 2, 5, 0], [2, 1, 2, 2, -1, 2], [2, 29, -29, 26, 32, -29]],
    ),
    "lstm of integers, time first": (
        lambda: lstm(True, major=True),
        [[2, 2, 2, 2, 1, -6], [2, 1, 2, 2, -6, 3], [1, 22, -60, 48, 92, -78]],
    ),
    "one step of integers": (lambda: lstm(True, "LSTM"), [[2, 2, 2], [2, 1, 2], [1, 32, -26]]),
    "rnn": (
        lambda: rnn("UNIDIRECTIONAL_SEQUENCE_RNN"),
        [
            [0.897835, -0.791228, 0.528377, 0.611835, -0.897695, 0.769521],
            [0.536685, -0.966552, 0.628971, 0.31477, 0.799691, 0.769978],
            [0.928251, -0.809942, 0.93402, 0.658375, -0.972167, 0.786965],
        ],
    ),
    "rnn, time first, relu": (
        lambda: rnn("UNIDIRECTIONAL_SEQUENCE_RNN", major=True, activation=1),
        [
            [1.460938, 0.0, 0.587891, 1.075897, 0.0, 1.966217],
            [0.942982, 0.0, 2.061811, 0.665701, 0.339956, 2.425503],
            [1.608978, 0.0, 2.170081, 1.175203, 0.0, 2.491808],
        ],
    ),
    "rnn, one step": (
        lambda: rnn("RNN"),
        [[0.897835, -0.791228, 0.528377], [0.613665, -0.97469, 0.732089], [0.859474, -0.251368, 0.600906]],
    ),
    "rnn, both ways": (
        lambda: rnn("BIDIRECTIONAL_SEQUENCE_RNN", merge=True),
        [
            [
                0.897835,
                -0.791228,
                0.528377,
                0.883728,
                -0.670276,
                0.525599,
                0.611835,
                -0.897695,
                0.769521,
                0.57259,
                -0.913995,
                0.632813,
            ],
            [
                0.536685,
                -0.966552,
                0.628971,
                0.738775,
                -0.993401,
                0.939615,
                0.31477,
                0.799691,
                0.769978,
                0.465683,
                0.676642,
                0.89155,
            ],
            [
                0.928251,
                -0.809942,
                0.93402,
                0.859265,
                -0.248912,
                0.585409,
                0.658375,
                -0.972167,
                0.786965,
                0.596526,
                -0.961486,
                0.668905,
            ],
        ],
    ),
    "rnn, both ways apart": (
        lambda: rnn("BIDIRECTIONAL_SEQUENCE_RNN", major=True),
        [
            [0.883728, -0.670276, 0.525599, 0.57259, -0.913995, 0.632813],
            [0.738775, -0.993401, 0.939615, 0.465683, 0.676642, 0.89155],
            [0.859265, -0.248912, 0.585409, 0.596526, -0.961486, 0.668905],
        ],
    ),
}


WANTED |= {f"{name}, in 16 bits": (partial(_halved, name), WANTED[name][1]) for name in ("svdf", "lstm", "one step")}


@pytest.mark.parametrize("name", WANTED)
def test_a_state_stays_from_call_to_call(name: str, tmp_path: Path) -> None:
    make, wanted = WANTED[name]
    graph = make()
    (tmp_path / "net.tflite").write_bytes(tflite(graph))
    module = load_model(tmp_path / "net.tflite").module()
    for x, right in zip(calls(graph), wanted, strict=True):
        made = module(x)[-1].flatten()
        if made.dtype == torch.int8:
            assert made.tolist() == right
        else:
            torch.testing.assert_close(made, torch.tensor(right), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u85-256"])
@pytest.mark.parametrize("make", [lambda: svdf(True), lambda: lstm(True), lambda: lstm(True, "LSTM")])
def test_integers_with_a_state_are_compiled_whole(make: Callable[[], G], target: str, tmp_path: Path) -> None:
    graph = make()
    (tmp_path / "net.tflite").write_bytes(tflite(graph))
    program = load_model(tmp_path / "net.tflite")
    run = Execution(program, compile_spec_of(target).target())
    assert left_outside(run.program, run.analysis) == {} and len(run.regions) == 1
    x = calls(graph)[0]
    *_, got = run.run([x])
    assert (got.int() - program.module()(x)[0].int()).abs().max() <= 1


@pytest.mark.needs("arm_ethosu")
@pytest.mark.parametrize("name", ["svdf of integers", "lstm of integers"])
def test_a_compiled_state_stays_from_call_to_call(name: str, tmp_path: Path) -> None:
    pytest.importorskip("arm_runtime", reason="runs the program: nox builds arm-runtime-cpp")
    from executorch.runtime import Runtime

    make, wanted = WANTED[name]
    graph = make()
    (tmp_path / "net.tflite").write_bytes(tflite(graph))
    lowered = lower(load_model(tmp_path / "net.tflite"), compile_spec_of("ethos-u55-128"))
    assert lowered.report.delegates == 1 and not lowered.report.rejected
    method = Runtime.get().load_program(lowered.buffer).load_method("forward")
    for x, right in zip(calls(graph), wanted, strict=True):
        assert method.execute([x])[0].flatten().tolist() == right


def _spoiled(graph: G, **tensors: T) -> G:
    return replace(graph, tensors={**graph.tensors, **tensors})


def _reading(graph: G, place: int, name: str) -> G:
    (one,) = graph.operators
    reads = [name if i == place else read for i, read in enumerate(one.inputs)]
    return replace(graph, operators=[replace(one, inputs=reads)])


FLOAT = lstm(False)


@pytest.mark.parametrize(
    ("graph", "why"),
    [
        (_spoiled(FLOAT, cell=T((1, 3))), "UNIDIRECTIONAL_SEQUENCE_LSTM 'y': its state is no variable"),
        (
            _spoiled(lstm(True), x=int8(1, 9999, 2, scale=0.03)),
            "LSTM 'y': it has 9999 steps a call. Give at most 512",
        ),
        (_spoiled(lstm(True), hidden=T((1, 3), variable=True)), "LSTM 'y': of its input, result and state some"),
        (_spoiled(lstm(True), r1=reals(3, 3, seed=1)), "LSTM 'y': its weights are no constants, or of several types"),
        (_reading(FLOAT, 3, "b0"), "net.tflite is damaged"),
        (_spoiled(FLOAT, cell=T((1, 2**30), variable=True)), "the state 'cell' has the sizes"),
        (_reading(FLOAT, 9, "b0"), "UNIDIRECTIONAL_SEQUENCE_LSTM 'y' has peepholes, which are not read"),
        (_reading(FLOAT, 16, "r0"), "LSTM 'y' has a projection, which are not read"),
        (_reading(FLOAT, 20, "b0"), "LSTM 'y' has layer normalization"),
        (_spoiled(rnn("RNN"), y=int8(1, 3, scale=0.1)), "RNN 'y' has integers, which are not read"),
        (_reading(rnn("BIDIRECTIONAL_SEQUENCE_RNN"), 9, "x"), "RNN 'y': it has a second input"),
        (_reading(FLOAT, 1, ""), "LSTM 'y' has no input gate of its own"),
        (_reading(FLOAT, 2, "x"), "LSTM 'y': its weights are no constants"),
        (
            _spoiled(lstm(True), hidden=T((1, 3), torch.int8, (0.5,), variable=True)),
            "LSTM 'y': its state and its result have different scales",
        ),
        (
            _spoiled(svdf(True), memory=T((1, 16), torch.int8, (0.3,), variable=True)),
            r"SVDF 'y': its state has torch.int8, which LiteRT does not read",
        ),
    ],
)
def test_what_is_not_read_is_named(graph: G, why: str, tmp_path: Path) -> None:
    (tmp_path / "net.tflite").write_bytes(tflite(graph))
    with pytest.raises(UsageError, match=why):
        load_model(tmp_path / "net.tflite")
