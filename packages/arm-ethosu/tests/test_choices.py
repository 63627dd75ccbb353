"""Rewrites that the estimate chooses: made where they are faster."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from choice_kit import SPEC, convolution, first_layer, names_of, new_builder, only, padding
from rewrite_kit import cycles

from arm_ethosu import EthosUCompileSpec
from arm_ethosu.estimate_cache import Estimate
from arm_ethosu.rewrites import rewrites_for
from arm_ethosu.rewrites.catalogue import ROWS
from arm_ethosu.rewrites.graph_parts import around, part
from arm_ethosu.rewrites.turned_images import TURNED_IMAGES
from arm_tosa_core.lowering.pipeline import legalize
from arm_tosa_core.rewrites import REWRITES
from arm_tosa_core.rewrites.by_estimate import Choice
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op
from arm_tosa_core.tosa.rewrite import Stage
from arm_tosa_core.tosa.rewrite_engine import Application, Observer, observed, run_rewrites
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.text import text


@pytest.mark.parametrize(("size", "channels", "kernel"), [(16, 32, (2, 2)), (32, 16, (1, 1))])
def test_a_shortcut_is_of_the_whole_image_where_that_is_faster(
    size: int, channels: int, kernel: tuple[int, int]
) -> None:
    """The block of a ResNet that halves an image: 1x1 with a stride of 2 beside 3x3, which reads all of it."""
    builder = new_builder()
    graph = builder.graph
    image = graph.input("x", (1, size, size, channels), DType.INT8)
    whole = convolution(builder, image, (3, 3), (1, 1), (1, 1, 1, 1), channels)
    part = builder.emit("SLICE", [whole, graph.shape((0,) * 4), graph.shape((1, size - 1, size - 1, channels))])
    shortcut = convolution(builder, part, (1, 1), (2, 2), (0, 0, 0, 0), 2 * channels)
    graph.outputs = [shortcut, convolution(builder, whole, (3, 3), (2, 2), (1, 0, 1, 0), 2 * channels)]
    chosen = legalize(graph, EthosUCompileSpec("ethos-u85-512").target())
    strided = [op for op in chosen.ops if op.name == "CONV2D" and op.attrs["stride"] == (2, 2)]
    assert strided[0].inputs[1].shape[1:3] == kernel


@pytest.mark.parametrize(
    ("accelerator", "layer", "folded"),
    [
        ("ethos-u55-128", (64, 7, 64, 3), True),  # ResNet
        ("ethos-u85-256", (64, 7, 64, 3), True),
        ("ethos-u85-256", (60, 11, 64, 2, 0, 0, 4), True),  # AlexNet
        ("ethos-u55-128", (96, 3, 8, 1), False),  # MobileNetV1-0.25
    ],
)
def test_the_faster_form_is_chosen(accelerator: str, layer: tuple[int, ...], folded: bool) -> None:
    plain, chosen = _legalized(accelerator, layer)
    assert (only(chosen, "CONV2D").attrs["stride"][1] == 1) is folded
    if not folded:
        assert names_of(chosen) == names_of(plain)


@pytest.mark.parametrize(
    ("accelerator", "image", "kernel", "stride", "pad", "chosen"),
    [
        # Columns first and rows behind them make the kernel larger where padding is no whole patch, and take longer.
        ("ethos-u85-256", (99, 99, 1), (11, 11), (4, 4), (0, 0), ["overlapping_patches_u85", "plane_moved"]),
        ("ethos-u85-256", (96, 96, 3), (11, 11), (4, 4), (2, 2), ["columns_as_channels", "rows_as_channels"]),
        # A PAD takes longer than rows of zeros in the kernel: torchcrepe's first layer, smaller.
        ("ethos-u85-256", (256, 1, 1), (62, 1), (4, 1), (30, 0), ["rows_as_channels", "turned_images"]),
        ("ethos-u55-128", (256, 1, 8), (64, 1), (1, 1), (31, 0), ["turned_images"]),
        ("ethos-u55-128", (24, 5, 32), (3, 3), (1, 1), (1, 1), []),  # the TRANSPOSEs take longer
    ],
)
def test_the_best_of_several_forms_is_chosen(
    accelerator: str, image: tuple[int, ...], kernel: tuple[int, int], stride: tuple[int, int], pad: tuple[int, int],
    chosen: list[str],
) -> None:  # fmt: skip
    builder = new_builder()
    x = builder.graph.input("x", (1, *image), DType.INT8)
    around = [n for axis in (0, 1) for n in padding(image[axis], kernel[axis], stride[axis], pad[axis])]
    builder.graph.outputs = [convolution(builder, x, kernel, stride, around, 32)]
    with observed(watcher := _Applied()):
        legalize(builder.graph, EthosUCompileSpec(accelerator).target())
    names = {row.rewrite.name for row in ROWS if isinstance(row.rewrite, Choice)}
    assert [name for name in watcher.names if name in names] == chosen


class _Applied(Observer):
    """Keeps the names of the rewrites that are made."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def applied(self, graph: Graph, application: Application) -> None:
        self.names.append(application.rewrite.name)


def _legalized(accelerator: str, layer: tuple[int, ...]) -> list[Graph]:
    """The layer without choices, and with those that are made, which take no more cycles."""
    spec = EthosUCompileSpec(accelerator)
    target = spec.target()
    targets = (replace(target, rewrites=rewrites_for(accelerator)), target)
    made = [legalize(first_layer(*layer), target) for target in targets]
    before, after = (serialize(graph, spec.tosa_spec) for graph in made)
    assert before == after or cycles(after, spec) < cycles(before, spec)
    return made


@pytest.mark.parametrize("accelerator", ["ethos-u55-128", "ethos-u85-256"])
def test_any_order_gives_the_same_choices(accelerator: str) -> None:
    """Of two that depend on one another: columns are a view only where what is cut off is cut behind the TRANSPOSE."""
    rewrites = [*REWRITES, *EthosUCompileSpec(accelerator).target().rewrites]
    made = set()
    for seed in range(6):
        random.Random(seed).shuffle(rewrites)
        named = [replace(rewrite, name=f"{i:03}") for i, rewrite in enumerate(rewrites)]  # names are the order
        graph = first_layer(64, 3, 32, 0, 1)
        for stage in (Stage.OPTIMIZE, Stage.LEGALIZE):
            run_rewrites(graph, [rewrite for rewrite in named if rewrite.stage <= stage])
        made.add(text(graph, origins=False))
    assert len(made) == 1


def _around(graph: Graph, op: Op) -> Graph:
    return part(graph, around(graph, op))[0]


def _with_zero_point(graph: Graph, zero: int) -> Graph:
    graph.set_input(only(graph, "CONV2D"), 3, graph.constant(np.array([zero], np.int8), DType.INT8))
    return graph


def test_the_estimate_is_asked_about_shapes_not_about_numbers() -> None:
    layers = [_with_zero_point(first_layer(32, 3, 8, 1, seed=seed), 5 * seed) for seed in (0, 1)]
    asked = [serialize(_around(graph, only(graph, "CONV2D")), SPEC.tosa_spec) for graph in layers]
    assert asked[0] == asked[1]
    assert serialize(layers[0], SPEC.tosa_spec) != serialize(layers[1], SPEC.tosa_spec)


@pytest.mark.parametrize(("scales", "same"), [((0.25, 0.002), True), ((1.0, 0.002), False), ((1.0, 1.0), True)])
def test_a_rescale_by_one_stays_one(scales: tuple[float, float], same: bool) -> None:
    """Vela fuses it with what is in front of it, where another one is an operation."""
    parts = []
    for scale in scales:
        builder = new_builder()
        graph = builder.graph
        wide = builder.emit("CAST", [graph.input("x", (1, 8, 8, 4), DType.INT8)], output_dtype=DType.INT32)
        graph.outputs = [builder.rescale(wide, [scale], DType.INT8)]
        parts.append(serialize(_around(graph, only(graph, "RESCALE")), SPEC.tosa_spec))
    assert (parts[0] == parts[1]) is same


def test_what_moves_data_at_the_edge_of_turned_images_is_asked_about_too() -> None:
    """Up to where it is computed, and to what computes of it."""
    builder = new_builder()
    graph = builder.graph
    halves = [graph.input(name, (1, 16, 4, 8), DType.INT8) for name in "xy"]
    pools = [builder.emit("MAX_POOL2D", [x], kernel=(1, 1), stride=(1, 1), pad=(0, 0, 0, 0)) for x in halves]
    joined = builder.emit("RESHAPE", [builder.emit("CONCAT", pools, axis=2), graph.shape((1, 32, 4, 8))])
    made = convolution(builder, joined, (3, 3), (1, 1), (1, 1, 1, 1), 8)
    moved = builder.emit("TRANSPOSE", [made], perms=(0, 3, 1, 2))
    graph.outputs = [builder.emit("MAX_POOL2D", [moved], kernel=(1, 1), stride=(1, 1), pad=(0, 0, 0, 0))]
    asked = TURNED_IMAGES.around(graph, only(graph, "CONV2D"))
    assert [op.name for op in asked] == ["CONCAT", "RESHAPE", "CONV2D", "RESCALE", "TRANSPOSE"]


def test_pools_stand_for_neighbours() -> None:
    """Of what makes the image, and of what else reads it and the result."""
    builder = new_builder()
    graph = builder.graph
    x = graph.input("x", (1, 12, 12, 3), DType.INT8)
    image = builder.emit("MAX_POOL2D", [x], kernel=(2, 2), stride=(1, 1), pad=(0, 1, 0, 1))
    made = convolution(builder, image, (3, 3), (2, 2), (0, 1, 0, 1))
    graph.outputs = [builder.emit("REVERSE", [image], axis=1), builder.emit("REVERSE", [made], axis=1)]
    small = _around(graph, only(graph, "CONV2D"))
    assert names_of(small) == ["MAX_POOL2D", "MAX_POOL2D", "CONV2D", "RESCALE", "MAX_POOL2D"]
    assert [output.shape for output in small.outputs] == [(1, 6, 6, 6), (1, 12, 12, 3)]


def _estimate(**options: object) -> Estimate:
    named = {"accelerator": SPEC.accelerator, "config": SPEC.config_ini, "system_config": SPEC.system_config}
    return Estimate({**named, "memory_mode": SPEC.memory_mode, "flags": (), "timeout": 300.0, **options})


def test_figures_are_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARM_TOSA_CACHE_DIR", str(tmp_path))
    tosa = serialize(first_layer(32, 3, 8, 1), SPEC.tosa_spec)
    (figure,) = _estimate().cycles([tosa])
    assert figure == cycles(tosa)
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    file.write_text("7.0")
    assert _estimate().cycles([tosa, tosa]) == [7.0, 7.0]
    assert _estimate(timeout=200.0).cycles([tosa]) == [7.0]
    assert _estimate(accelerator="ethos-u55-256").cycles([tosa]) not in ([7.0], [figure])
    for spoiled in ("cut sho", "inf", "nan"):
        file.write_text(spoiled)
        assert _estimate().cycles([tosa]) == [figure] == [float(file.read_text())]


def test_answers_are_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For one accelerator and the same sources: then no form is made."""
    monkeypatch.setenv("ARM_TOSA_CACHE_DIR", str(tmp_path))
    asked: list[int] = []
    rate = Estimate.cycles

    def counted(self: Estimate, graphs: Sequence[bytes]) -> list[float | None]:
        asked.append(len(graphs))
        return rate(self, graphs)

    def made(spec: EthosUCompileSpec) -> tuple[str, int]:
        """What is chosen, and how many forms were made for it."""
        asked.clear()
        return text(legalize(first_layer(64, 7, 64, 3), spec.target()), origins=False), sum(asked)

    monkeypatch.setattr(Estimate, "cycles", counted)
    first, forms = made(SPEC)
    assert forms > 0 and made(SPEC) == (first, 0)
    assert made(EthosUCompileSpec("ethos-u55-64"))[1] > 0
    for answer in (tmp_path / "ethos-u-choices").iterdir():
        answer.write_text("-1")  # nothing is faster
    assert made(SPEC)[0] != first
    for spoiled in ("99", "0.5", "cut sho"):  # no rival, or no number
        for answer in (tmp_path / "ethos-u-choices").iterdir():
            answer.write_text(spoiled)
        assert made(SPEC)[0] == first
    monkeypatch.setattr("arm_tosa_core.rewrites.by_estimate.digest_of_sources", lambda *packages: "changed")
    assert made(SPEC) == (first, forms)


def test_what_vela_refuses_has_no_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARM_TOSA_CACHE_DIR", str(tmp_path))
    assert _estimate().cycles([b"no flatbuffer"]) == [None]
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_without_vela_nothing_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = first_layer(64, 7, 64, 3)
    target = SPEC.target()
    monkeypatch.setattr("arm_ethosu.estimate_cache.release", lambda *_: None)
    assert only(legalize(graph, target), "CONV2D").attrs["stride"] == (2, 2)
