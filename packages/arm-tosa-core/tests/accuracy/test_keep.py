"""``arm-tosa quantize --keep``: the first step that keeps the bound ends it, and what it writes does the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import target_kit
import torch
from cli_kit import error, needs_page, ok, page_of, run
from grouping_kit import program_and_data
from torch.export import ExportedProgram

from arm_tosa_core import (
    Kept,
    Minutes,
    Recipe,
    TosaCompileSpec,
    UsageError,
    quantize_by_recipe,
    quantize_to_keep,
    read_recipe,
)
from arm_tosa_core.accuracy.clock import Clock
from arm_tosa_core.accuracy.compare import Comparison, OutputError
from arm_tosa_core.accuracy.model import Model
from arm_tosa_core.accuracy.task_metric import Calls
from arm_tosa_core.accuracy.verdict import judged
from arm_tosa_core.exir.compile_spec import ArmCompileSpec
from arm_tosa_core.exir.target_options import compile_spec_for
from arm_tosa_core.plugin import entry_points as plugins
from arm_tosa_core.plugin.chip import Chip

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own

INT16 = TosaCompileSpec("TOSA-1.0+INT+int16")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARM_TOSA_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> ArmCompileSpec:
    """A target whose cycles are the bits of all tensors of its graph."""
    from arm_tosa_core.tosa.loader import load

    def estimate(tosa: bytes) -> dict[str, float]:
        graph = load(tosa)
        return {"cycles": float(sum(t.size * t.dtype.bits for op in graph.ops for t in op.outputs))}

    found = target_kit.target("counting", "TOSA-1.0+INT+int16", estimate=estimate)
    original = plugins.target
    monkeypatch.setattr(plugins, "target", lambda name: found if name == "counting" else original(name))
    return compile_spec_for(found, {})


def outputs(program: ExportedProgram, calls: Any) -> list[torch.Tensor]:
    return [torch.cat([x.flatten() for x in _leaves(program.module()(*args))]) for args, _ in calls]


def _leaves(made: Any) -> list[torch.Tensor]:
    return [made] if isinstance(made, torch.Tensor) else list(made)


def same_sign(_exact: Any, noisy: Any, _samples: Any) -> list[float]:
    """Whether the second output of ``gated``, which is small, is as in float within a hundredth of its size."""
    return [
        float(((a[1] - b[1]).abs().max() < 0.01 * a[1].abs().max()).item()) for a, b in zip(_exact, noisy, strict=True)
    ]


@pytest.mark.parametrize(
    ("target", "keep", "steps", "left_out"),
    [
        ("TOSA-1.0+INT+int16", 0.99, ["int8"], []),
        ("TOSA-1.0+INT+int16", 0.99999, ["int8", "int16x8"], ["parts in 16 bits"]),
        ("TOSA-1.0+INT", 0.99999, ["int8"], ["parts in 16 bits", "int16x8"]),
    ],
)
def test_steps_are_taken_in_order_until_one_keeps(
    target: str, keep: float, steps: list[str], left_out: list[str]
) -> None:
    program, (calibration, evaluation) = program_and_data("gated")
    found = quantize_to_keep(program, TosaCompileSpec(target), calibration, evaluation, keep=keep)
    assert [attempt.step for attempt in found.attempts] == steps
    assert list(found.left_out) == left_out
    assert found.is_kept == (left_out != ["parts in 16 bits", "int16x8"]) == found.chosen.verdict.is_kept
    assert bool(found.limits) != found.is_kept
    sqnr = found.chosen.sqnr_db
    assert sqnr is not None and found.chosen.verdict.value == pytest.approx(1 - 10 ** (-sqnr / 10))
    _, noisy = (outputs(each, evaluation) for each in (program, found.program))
    exact = [program.module()(*args) for args, _ in evaluation]
    split = exact[0][0].numel()
    for part in (slice(0, split), slice(split, None)):
        wanted = torch.stack([torch.cat([x.flatten() for x in each])[part] for each in exact])
        lost = (wanted - torch.stack(noisy)[:, part]).square().sum() / wanted.square().sum()
        assert 1 - float(lost) >= found.chosen.verdict.value - 1e-6  # of the worst output


def test_parts_in_16_bits_keep_it_for_less_than_all(counting: ArmCompileSpec, tmp_path: Path) -> None:
    """The recipe in a file gives the same program again, and the search has the same answer again."""
    program, (calibration, evaluation) = program_and_data("gated")
    found = quantize_to_keep(program, counting, calibration, evaluation, keep=0.9997)
    int8, chosen = found.attempts
    assert (int8.step, chosen.step) == ("int8", "parts in 16 bits") and found.is_kept
    all_wide = quantize_to_keep(program, counting, calibration, evaluation, keep=0.99999999).attempts[-1]
    assert all_wide.step == "int16x8" and int8.cycles < chosen.cycles < all_wide.cycles

    (tmp_path / "recipe.toml").write_text(found.recipe.to_toml("found\nby a test"))
    recipe = read_recipe(tmp_path / "recipe.toml")
    assert recipe == found.recipe and recipe.target == "counting" and (recipe.modules or recipe.nodes)
    again = quantize_by_recipe(program, counting, calibration, recipe)
    for a, b in zip(outputs(found.program, evaluation), outputs(again, evaluation), strict=True):
        assert torch.equal(a, b)


def test_what_was_measured_is_not_measured_again(counting: ArmCompileSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that is interrupted goes on where it was; one whose time is over gives the best that it has."""
    program, (calibration, evaluation) = program_and_data("gated")
    made: list[str] = []
    for name in ("quantize", "quick_cost"):
        original = getattr(Model, name)
        monkeypatch.setattr(Model, name, lambda self, *given, n=name, f=original: made.append(n) or f(self, *given))
    now, is_interrupted = 0.0, True
    monkeypatch.setattr(Clock, "seconds", lambda self: now)

    def progress(what: str, step: int, _steps: int) -> None:
        nonlocal now
        if what == "trying schemes" and step >= 4:
            now = 1e9
            if is_interrupted:
                raise KeyboardInterrupt

    def kept() -> Kept:
        made.clear()
        return quantize_to_keep(program, counting, calibration, evaluation, keep=0.9997, progress=progress)

    with pytest.raises(KeyboardInterrupt):
        kept()
    assert "quick_cost" in made
    now, is_interrupted = 0.0, False
    cut = kept()
    assert cut.is_kept and cut.chosen.step == "parts in 16 bits"
    assert "minutes was over" in cut.left_out["the rest of parts in 16 bits"]
    assert made == ["quantize"] * 3  # int8, whose parts are chosen; what the time was over in; what was chosen
    monkeypatch.setattr(Clock, "seconds", lambda self: 0.0)
    whole = kept()
    assert whole.chosen.cycles < cut.chosen.cycles and not whole.left_out
    assert "quick_cost" not in made and len(made) > 2
    again = kept()
    assert again.attempts == whole.attempts and made == ["quantize"]


@pytest.mark.parametrize(("calls", "is_known"), [(12, True), (11, False)])
def test_what_was_measured_is_found_by_its_content(calls: int, is_known: bool) -> None:
    program, (calibration, evaluation) = program_and_data("gated")
    quantize_to_keep(program, INT16, calibration[:2], evaluation[:12], keep=0.1)

    def progress(*_: object) -> None:
        raise KeyboardInterrupt

    known: list[object] = []
    with pytest.raises(KeyboardInterrupt):
        again = (program, INT16, calibration[:2], evaluation[:calls])
        quantize_to_keep(*again, keep=0.1, progress=progress, tried=known.append)
    assert bool(known) == is_known


def test_time_that_is_over_is_said_and_int8_is_the_answer(counting: ArmCompileSpec) -> None:
    program, (calibration, evaluation) = program_and_data("gated")
    found = quantize_to_keep(program, counting, calibration, evaluation, keep=0.9997, budget=Minutes(1e-6))
    assert [attempt.step for attempt in found.attempts] == ["int8"] and not found.is_kept
    assert set(found.left_out.values()) == {"its part of the 1e-06 minutes was over"}


def test_a_function_judges_and_its_numbers_per_sample_give_confidence() -> None:
    program, (calibration, evaluation) = program_and_data("gated")
    one = quantize_to_keep(program, INT16, calibration, evaluation, same_sign, keep=0.9)
    mean = quantize_to_keep(
        program, INT16, calibration, evaluation, lambda *given: float(np.mean(same_sign(*given))), keep=0.9
    )
    assert [a.verdict.value for a in one.attempts] == [a.verdict.value for a in mean.attempts]
    assert one.attempts[0].verdict.value < 0.9 <= one.attempts[-1].verdict.value


def _comparison(exact: list[float], noisy: list[float]) -> Comparison:
    return Comparison([], [], len(exact), (), calls=Calls(exact, noisy, [()] * len(exact)))


def _noise(errors: list[float]) -> Comparison:
    return Comparison([OutputError("y", -10 * float(np.log10(sum(errors))), None)], [], len(errors), tuple(errors))


def _each(_exact: Any, noisy: Any, _samples: Any) -> list[float]:
    return list(noisy)


def _mean(_exact: Any, noisy: Any, _samples: Any) -> float:
    return float(np.mean(noisy))


@pytest.mark.parametrize(
    ("right", "count", "metric", "kept", "sure"),
    [
        (40, 40, _each, True, False),  # none of 40 is lost: the next 100 may lose two
        (1000, 1000, _each, True, True),
        (995, 1000, _each, True, False),
        (900, 1000, _each, False, True),
        (98, 100, _each, False, False),
        (1, 1, _each, True, False),
        (900, 1000, _mean, False, True),
        (98, 100, _mean, False, False),
        (40, 40, _mean, True, False),
    ],
)
def test_confidence_grows_with_samples(
    right: int, count: int, metric: Callable[..., Any], kept: bool, sure: bool
) -> None:
    """Of decisions that are all right in float."""
    verdict = judged(_comparison([1.0] * count, [1.0] * right + [0.0] * (count - right)), metric, 0.99)
    assert (verdict.is_kept, verdict.is_sure) == (kept, sure)
    assert ("samples" in str(verdict)) != sure


@pytest.mark.parametrize("metric", [_each, _mean])
def test_what_is_said_with_confidence_is_seldom_wrong(metric: Callable[..., Any]) -> None:
    """A model loses one decision in a hundred, just what is allowed: one set of twenty at most is sure of it."""
    draw = np.random.default_rng(0)
    sets = ((draw.random(300) < 0.99).astype(float).tolist() for _ in range(200))
    verdicts = [judged(_comparison([1.0] * 300, noisy), metric, 0.99) for noisy in sets]
    assert sum(verdict.is_kept and verdict.is_sure for verdict in verdicts) <= 10


@pytest.mark.parametrize(("noisy", "kept"), [(-1.005, True), (-1.02, False)])
def test_of_an_error_as_a_figure_no_more_than_one_in_a_hundred_is_added(noisy: float, kept: bool) -> None:
    assert judged(_comparison([-1.0] * 8, [noisy] * 8), _each, 0.99).is_kept == kept


def test_a_few_samples_of_uneven_noise_are_seldom_wrong() -> None:
    """The noise is just what is allowed, and of a quarter of the samples twice that of their median, or more."""
    draw = np.random.default_rng(0)
    sets = (np.exp(draw.normal(0, 1, 20) - 0.5) * 0.01 / 20 for _ in range(400))
    verdicts = [judged(_noise(errors.tolist()), None, 0.99) for errors in sets]
    assert sum(verdict.is_kept and verdict.is_sure for verdict in verdicts) <= 20


def test_noise_that_differs_much_from_sample_to_sample_is_not_sure() -> None:
    even, uneven = judged(_noise([0.0005] * 9 + [0.0006]), None, 0.99), judged(_noise([0.0] * 9 + [0.0051]), None, 0.99)
    assert even.value == pytest.approx(uneven.value) and even.is_sure and not uneven.is_sure


SOURCE = """
import torch
from torch import nn

def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3)).eval(), (torch.zeros(1, 6),)

def read(path):
    import numpy
    return torch.from_numpy(numpy.load(path))

def labelled(path):
    return read(path), int(path.stem[0])

def none(expected, actual, samples):
    return 0.0

def few(expected, actual, samples):
    return [1.0]
"""
ARGUMENTS = ("quantize", "net.py:net", "--target", "tosa-int", "--calibration", "cal.npz", "--evaluate", "eval.npz")
KEEP = (*ARGUMENTS, "--keep", "90%", "-o", "model.pt2")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "net.py").write_text(SOURCE)
    draw = np.random.default_rng(0)
    for name in ("cal", "eval"):
        np.savez(tmp_path / f"{name}.npz", draw.standard_normal((60, 6), np.float32))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _label(folder: Path, wrong: int) -> None:
    """Gives the samples that judge the classes of the float model, some of them others."""
    names: dict[str, Any] = {"__name__": "net"}
    exec(SOURCE, names)
    net, _ = names["net"]()
    (x,) = np.load(folder / "eval.npz").values()
    right = net(torch.from_numpy(x)).argmax(-1).numpy()
    right[:wrong] = (right[:wrong] + 1) % 3
    np.savez(folder / "eval.npz", input=x, labels=right)


def test_the_command_writes_a_program_and_how_to_make_it_again(folder: Path) -> None:
    data = ok(*KEEP, "--recipe", "recipe.toml", "--metric", "top1")
    assert data["is_kept"] and data["keep"] == 0.9 and data["judged_by"] == "classes that are as in float"
    (attempt,) = data["attempts"]
    assert attempt["step"] == "int8" and attempt["chosen"] and attempt["samples"] == 60
    text = Path("recipe.toml").read_text()
    assert (
        text.startswith("# arm-tosa quantize --keep 90%: int8: ") and read_recipe(Path("recipe.toml")).scheme == "int8"
    )
    again = ok("quantize", "net.py:net", "--calibration", "cal.npz", "--recipe", "recipe.toml", "-o", "again.pt2")
    assert again["target"] == "tosa-int"
    x = torch.randn(1, 6)
    first, second = (torch.export.load(name).module()(x) for name in ("model.pt2", "again.pt2"))
    assert torch.equal(first, second) and Path("model.pt2").read_bytes() == Path("again.pt2").read_bytes()
    assert ok("compile", "model.pt2", "--target", "tosa-int", "-o", "model.pte")["delegated"]
    shown = run(*KEEP, "--metric", "top1").stdout
    assert "chosen" in shown and "classes that are as in float" in shown

    np.savez("cal.npz", np.random.default_rng(9).standard_normal((60, 6), np.float32))
    said = run("quantize", "net.py:net", "--calibration", "cal.npz", "--recipe", "recipe.toml", "-o", "again.pt2")
    assert said.exit_code == 0 and "was made with other calibration data" in said.stderr


@needs_page
def test_steps_are_drawn_as_a_page(folder: Path) -> None:
    ok(*KEEP, "--metric", "top1", "--report", "kept.html")
    steps = page_of(folder / "kept.html")["steps"]
    assert steps["measure"] == "classes that are as in float" and [row["step"] for row in steps["rows"]] == ["int8"]


def test_a_recipe_names_the_chip(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chip = Chip(name="cam", title="A camera", target="tosa-int")
    rows = (plugins.ChipProvider("cam", "acme", "1.0", chip),)
    monkeypatch.setattr(plugins, "chip_providers", lambda: rows)
    arguments = ("quantize", "net.py:net", "--calibration", "cal.npz", "--recipe", "recipe.toml", "-o", "model.pt2")
    found = ok(*arguments, "--chip", "cam", "--evaluate", "eval.npz", "--keep", "90%")
    assert (found["chip"], found["target"]) == ("cam", "tosa-int")
    assert read_recipe(Path("recipe.toml")).target == "cam"
    assert ok(*arguments)["target"] == "tosa-int"


def test_labels_of_the_file_say_which_classes_are_right(folder: Path) -> None:
    np.savez("cal.npz", input=np.load("cal.npz")["arr_0"])
    (x,) = np.load("eval.npz").values()
    np.savez("eval.npz", input=x)
    _label(folder, wrong=30)
    data = ok(*KEEP, "--metric", "top1")
    assert data["judged_by"] == "classes that are right by the labels"
    assert data["attempts"][0]["float_value"] == 0.5 and data["attempts"][0]["least"] == pytest.approx(0.45)


def test_what_does_not_keep_is_written_only_if_asked_for(folder: Path) -> None:
    arguments = (*ARGUMENTS, "--keep", "99.9999%", "-o", "model.pt2")
    result = run(*arguments, "--json")
    assert result.exit_code == 1 and not json.loads(result.stdout)["is_kept"]
    said = " ".join(result.stderr.split())
    assert (
        "nothing keeps 99.9999%: the best is int16x8 with 0.999" in said and "largest errors of their own are" in said
    )
    assert "parts in 16 bits was left out: target tosa estimates no cycles" in said
    assert not Path("model.pt2").exists() and "--best writes" in said
    assert run(*arguments, "--best").exit_code == 1 and Path("model.pt2").exists()


@pytest.mark.parametrize(("transform", "judged_by"), [("read", "as in float"), ("labelled", "right by the labels")])
def test_a_folder_is_read_by_a_function(folder: Path, transform: str, judged_by: str) -> None:
    for name in ("cal", "eval"):
        (x,) = np.load(f"{name}.npz").values()
        (folder / name / "inner").mkdir(parents=True)
        for i, row in enumerate(x):
            np.save(folder / name / "inner" / f"{i % 3}-{i}.npy", row[None])
        (folder / name / ".hidden").write_text("")
    arguments = ("quantize", "net.py:net", "--target", "tosa-int", "--calibration", "cal", "--evaluate", "eval")
    more = ("--transform", f"net.py:{transform}", "--metric", "top1", "--keep", "20%", "-o", "model.pt2")
    data = ok(*arguments, *more)
    assert data["attempts"][0]["samples"] == 60 and judged_by in data["judged_by"]
    assert "say with --transform" in error(*arguments, "--keep", "90%", "-o", "model.pt2")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--keep", "120%"), "write a part of the float model's figure, such as 99%"),
        (("--keep", "much"), "write a part of the float model's figure, such as 99%"),
        (("--keep", "100%"), "no integers keep all of the SQNR: ask for a part below 1"),
        (("--keep", "90%", "--minutes", "0"), "0 minutes are no time to work in"),
        (("--keep", "90%", "--evaluate", "cal.npz"), "what was learned from must not judge"),
        (("--keep", "90%", "--evaluate", "both.npz"), "1 of the 3 samples that judge are also in calibration"),
        (("--keep", "90%", "--metric", "net.py:none"), "the metric of the float model is 0"),
        (("--keep", "90%", "--metric", "net.py:few"), "the metric returned 1 numbers for 60 samples"),
        (("--keep", "90%", "-o", "model.pte"), "the suffix must be .pt2"),
        (("--keep", "90%", "--metric", "top5"), "unknown --metric 'top5': it is sqnr, top1 or file.py:function"),
        (("--keep", "90%", "--report", "kept.txt"), "kept.txt: the suffix must be .html"),
        ((), "say how much to keep, --keep 99%, or give the --recipe"),
        (("--recipe", "recipe.toml"), "--evaluate is for --keep"),
    ],
)
def test_mistakes_are_named(folder: Path, words: tuple[str, ...], reason: str) -> None:
    (x,), (y,) = np.load("cal.npz").values(), np.load("eval.npz").values()
    np.savez("both.npz", np.concatenate([y[:2], x[5:6]]))
    assert reason in error(*ARGUMENTS, "-o", "model.pt2", *words)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("scheme = ", "is no recipe"),
        ('scheme = "int9"', "unknown quantization scheme 'int9'"),
        ("scheme = 8", "Recipe.scheme is 8"),
        ('speed = "high"', "Recipe has the fields"),
        ('[nodes]\nadd = "int9"', "unknown quantization scheme 'int9'"),
    ],
)
def test_a_file_that_is_no_recipe_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "recipe.toml").write_text(text)
    with pytest.raises(UsageError, match=reason):
        read_recipe(tmp_path / "recipe.toml")


def test_labels_of_a_loader_are_taken_off() -> None:
    """A ``DataLoader`` gives a label behind the inputs."""
    net = torch.nn.Sequential(torch.nn.Linear(4, 3)).eval()
    x = torch.randn(40, 1, 4)
    pairs = [[each, net(each).argmax(-1)] for each in x]
    program = torch.export.export(net, (x[0],))
    found = quantize_to_keep(program, INT16, pairs[:20], pairs[20:], "top1", keep=0.9)
    assert found.attempts[0].verdict.float_value == 1
    wrong = [[each, (label + 1) % 3] for each, label in pairs[20:30]] + pairs[30:]
    assert (
        quantize_to_keep(program, INT16, x[:20].unbind(), wrong, "top1", keep=0.5).attempts[0].verdict.float_value
        == 0.5
    )
    for label, reason in (
        ("cat", "not 'cat'"),
        (1.5, "not '1.5'"),
        (-1, "0 is -1, and the model's classes are 0 to 2"),
    ):
        with pytest.raises(UsageError, match=reason):
            quantize_to_keep(program, INT16, x[:2].unbind(), [[each, label] for each in x[2:4]], "top1")
    with pytest.raises(UsageError, match="the label of sample 1 is 3, and the model's classes are 0 to 2"):
        quantize_to_keep(program, INT16, x[:2].unbind(), x[2:4].unbind(), "top1", labels=[0, 3])
    with pytest.raises(UsageError, match="evaluate sample 1 is of type str"):
        quantize_to_keep(program, INT16, x[:2].unbind(), [x[2], "x"])
    with pytest.raises(UsageError, match="10 of 20 samples have a label"):
        quantize_to_keep(program, INT16, x[:20].unbind(), [*x[20:30].unbind(), *pairs[30:]], "top1")


def test_names_of_modules_may_be_any_text() -> None:
    recipe = Recipe(modules={'a."b"\\c': "int16x8", "ä": "float"})
    import tomllib

    assert tomllib.loads(recipe.to_toml())["modules"] == recipe.modules
