"""A small language model on this machine's runtime: its scores, its cache, its text, and the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from arm_tosa_core.cli.main import app
from arm_tosa_core.exir.pte import read
from arm_tosa_core.exir.watchers import watched
from arm_tosa_core.llm import LanguageProgram, TextGenerator, compile_llm
from arm_tosa_core.plugin import entry_points as plugins
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.support.printable import printable
from arm_tosa_core.tosa import reference_model
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.serializer import serialize
from example_scripts import load
from models.realistic import unit_gain

pytest.importorskip("arm_runtime", reason="nox builds arm-runtime-cpp")
pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations

TARGET, CONTEXT, PREFILL = "ethos-u85-256", 24, 6
TEXT = "Every letter that is read here is a token; a longer text is cut. " * 2
PROMPT = "Every letter"
END = 10


def tokenizer() -> Any:
    """One token for each byte."""
    return load("small_llama").byte_tokenizer()


@pytest.fixture(scope="module")
def model() -> Any:
    import transformers

    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = transformers.LlamaConfig(vocab_size=256, num_key_value_heads=2, eos_token_id=END, **sizes)
    torch.manual_seed(0)
    return unit_gain(transformers.LlamaForCausalLM(config)).eval()


@pytest.fixture(scope="module")
def made(model: Any) -> tuple[LanguageProgram, list[tuple[Graph, bytes]]]:
    """The program, and the graph and payload of each method."""
    delegates: list[tuple[Graph, bytes]] = []
    with watched(lambda *delegate: delegates.append(delegate)):
        program = compile_llm(
            model,
            target=TARGET,
            context=CONTEXT,
            prefill=PREFILL,
            calibration=[TEXT],
            tokenizer=tokenizer(),
            scheme="a16w8",
        )
    return program, delegates


@pytest.fixture(scope="module")
def program(made: tuple[LanguageProgram, list[tuple[Graph, bytes]]]) -> LanguageProgram:
    return made[0]


def test_scores_are_those_of_the_model(program: LanguageProgram, model: Any) -> None:
    ids = tokenizer().encode(TEXT).ids[:CONTEXT]
    with torch.no_grad():
        wanted = model(input_ids=torch.tensor([ids])).logits[0]
    one_by_one, at_once = program.generator(), program.generator()
    scores = torch.stack([one_by_one.read([token]) for token in ids])
    assert (scores - wanted).norm() < 0.03 * wanted.norm()
    last = at_once.read(ids)
    assert (last - wanted[-1]).norm() < 0.03 * wanted[-1].norm()
    # The rows are those of the same texts, though sums of what is old and what is new are rounded apart.
    for part, other in zip(one_by_one.cache, at_once.cache, strict=True):
        assert part.dtype == torch.int16
        assert (part.float() - other).norm() < 0.01 * part.float().norm()
    assert one_by_one.position == at_once.position == CONTEXT
    with pytest.raises(UsageError, match="1 tokens are to be read, and the program takes 1 to 0 more"):
        at_once.read([1])
    for token in (-1, 256):
        with pytest.raises(UsageError, match=f"token {token}: the model knows 0 to 255"):
            program.generator().read([1, token])
    assert program.generator().perplexity(ids) == pytest.approx(
        float(torch.nn.functional.cross_entropy(wanted[:-1], torch.tensor(ids[1:])).exp()), rel=0.05
    )


def test_a_prompt_may_be_read_token_by_token(model: Any, program: LanguageProgram) -> None:
    text = tokenizer().encode(TEXT).ids
    alone = compile_llm(model, target=TARGET, context=CONTEXT, prefill=1, calibration=[text], scheme="a16w8")
    ids = tokenizer().encode(PROMPT).ids
    scores, wanted = alone.generator().read(ids), program.generator().read(ids)
    assert (scores - wanted).norm() < 0.05 * wanted.norm()
    assert len(alone.buffer) < len(program.buffer)


def test_a_short_text_costs_less_and_says_the_same(model: Any, program: LanguageProgram, tmp_path: Path) -> None:
    text = tokenizer().encode(TEXT).ids
    sizes: dict[str, Any] = {"target": TARGET, "context": CONTEXT, "prefill": PREFILL, "scheme": "a16w8"}
    by_length = compile_llm(model, calibration=[text], lengths=[10, 16], **sizes)
    cycles = {name: figures.cycles for name, figures in by_length.figures.items()}
    assert cycles["decode_10"] < cycles["decode_16"] < cycles["decode"] == program.figures["decode"].cycles
    found, wanted = by_length.generator(), program.generator()
    # From the middle of decode_10, over decode_16, to the end of decode.
    for at, given in enumerate([text[:8], *([token] for token in text[8:CONTEXT])]):
        assert torch.equal(found.read(given), wanted.read(given))
        length = next(length for length in (10, 16, CONTEXT) if length > at + 7)
        assert {part.shape[2 + i % 2] for i, part in enumerate(found.cache)} == {length}
    assert found.cache_bytes == wanted.cache_bytes
    assert list(found.tokens(text[:8], 16)) == list(wanted.tokens(text[:8], 16))
    (weights,) = read(by_length.buffer).named.values()
    (others,) = read(program.buffer).named.values()
    assert len(weights) < len(others) + 4096, "two more methods, and no other weights"
    call = generate_command(by_length, tmp_path)
    data = json.loads(CliRunner().invoke(app, [*call, "--json"]).stdout)
    estimates = data["estimated_cycles_by_length"]
    assert estimates["10"] < estimates["16"] < estimates["24"] == data["estimated_cycles_per_token"]


def test_the_npu_computes_what_the_reference_model_computes(
    made: tuple[LanguageProgram, list[tuple[Graph, bytes]]],
) -> None:
    program, delegates = made
    generator = program.generator()
    generator.read(tokenizer().encode(PROMPT).ids)
    cache = {tuple(part.shape): part for part in generator.cache}
    target = plugins.target(TARGET)
    assert target.host.run is not None and len(delegates) == 2
    for graph, payload in delegates:
        inputs = [_input(tensor, cache, generator.position) for tensor in graph.inputs]
        wanted = reference_model.run(serialize(graph, target.tosa_spec), inputs)
        found = target.host.run(payload, inputs)
        for ours, theirs in zip(found, wanted, strict=True):
            assert (ours.reshape(theirs.shape) == theirs).all()
        assert any(theirs.any() for theirs in wanted)


def _input(tensor: Any, cache: dict[tuple[int, ...], torch.Tensor], position: int) -> Any:
    """The cache as it is, tokens, or a position."""
    if tensor.shape in cache:
        return cache[tensor.shape].numpy()
    return torch.full(tensor.shape, position, dtype=torch.int32).numpy()


def test_text_is_what_the_model_prefers(program: LanguageProgram, model: Any) -> None:
    ids = tokenizer().encode(PROMPT).ids
    wanted = model.generate(torch.tensor([ids]), max_new_tokens=CONTEXT - len(ids), do_sample=False)[0, len(ids) :]
    ended = [token for token in wanted.tolist() if token != END]
    generator = program.generator()
    assert list(generator.tokens(ids, CONTEXT - len(ids))) == ended
    assert list(generator.tokens(ids, CONTEXT - len(ids))) == ended  # it begins anew
    text = program.generate(PROMPT, 3)
    assert tokenizer().decode(ended[:3]).startswith(text)
    assert list(generator.tokens(ids, 3, lambda scores: END)) == []
    assert generator.cache_bytes == 2 * 2 * 2 * CONTEXT * 8 * 2 and generator.row_bytes == 2 * 2 * 2 * 8 * 2
    with pytest.raises(UsageError, match="the prompt has 12 tokens; 14 more exceed the context of 24 tokens"):
        list(generator.tokens(ids, 14))
    with pytest.raises(UsageError, match="there is no tokenizer"):
        list(TextGenerator(program.buffer).stream(PROMPT, 1))


def generate_command(program: LanguageProgram, folder: Path) -> list[str]:
    """The command that generates four tokens after the prompt; the program and its tokenizer are written."""
    pte, words = folder / "lm.pte", folder / "tokenizer.json"
    program.save(pte)
    tokenizer().save(str(words))
    return ["generate", str(pte), "--tokenizer", str(words), "--prompt", PROMPT, "-n", "4"]


def test_weights_may_lie_in_a_file_of_their_own(model: Any, program: LanguageProgram, tmp_path: Path) -> None:
    text = tokenizer().encode(TEXT).ids
    sizes: dict[str, Any] = {"target": TARGET, "context": CONTEXT, "prefill": PREFILL, "scheme": "a16w8"}
    apart = compile_llm(model, calibration=[text], tokenizer=tokenizer(), external_constants="weights", **sizes)
    assert apart.generate(PROMPT, 3) == program.generate(PROMPT, 3)
    call = generate_command(apart, tmp_path)
    (data,) = tmp_path.glob("*.ptd")
    assert data.name == "weights.ptd" and data.stat().st_size > 10_000 and len(apart.buffer) < len(program.buffer)
    done = CliRunner().invoke(app, [*call, "--data", str(data), "--json"])
    assert json.loads(done.stdout)["text"] == program.generate(PROMPT, 4)
    with pytest.raises(UsageError):
        TextGenerator(apart.buffer)


def test_the_command_generates_text(program: LanguageProgram, tmp_path: Path) -> None:
    call = generate_command(program, tmp_path)
    data = json.loads(CliRunner().invoke(app, [*call, "--json"]).stdout)
    assert data["text"] == program.generate(PROMPT, 4) and data["tokens"] <= 4
    assert data["estimated_cycles_per_token"] > 1000 and data["row_bytes"] * CONTEXT == data["cache_bytes"]
    shown = CliRunner().invoke(app, call).stdout
    assert shown.startswith(printable(f"{PROMPT}{data['text']}") + "\n")
    assert "cycles per token, estimated by the timing model" in shown
    some = [
        json.loads(CliRunner().invoke(app, [*call, "--temperature", "3", "--seed", seed, "--json"]).stdout)["text"]
        for seed in ("1", "1", "2")
    ]
    assert some[0] == some[1] != some[2]
    wrong = CliRunner().invoke(app, [*call[:3], call[1], *call[4:]])
    assert wrong.exit_code == 1 and "is no tokenizer.json" in wrong.stderr


LANGUAGE_MODEL = """
import torch, transformers

def model():
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=256, num_key_value_heads=2, **sizes))

def linear():
    return torch.nn.Linear(2, 2)
"""


def test_accuracy_of_a_language_model_is_perplexity_of_a_text(tmp_path: Path) -> None:
    (tmp_path / "lm.py").write_text(LANGUAGE_MODEL)
    tokenizer().save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "train.txt").write_text(TEXT)
    judged = TEXT.upper()[:61]  # two pieces of the context, and a rest
    (tmp_path / "held_out.txt").write_text(judged)
    files = {name: str(tmp_path / name) for name in ("lm.py", "train.txt", "held_out.txt", "tokenizer.json")}

    def run(*options: str, function: str = "model", calibration: str = "train.txt") -> Any:
        call = ["accuracy", f"{files['lm.py']}:{function}", "--target", TARGET, "--context", str(CONTEXT)]
        given = ["--calibration", files[calibration], "--evaluate", files["held_out.txt"], *options]
        return CliRunner().invoke(app, [*call, *given])

    words = ("--tokenizer", files["tokenizer.json"])
    found = {scheme: json.loads(run(*words, "--quantize", scheme, "--json").stdout) for scheme in ("a8w8", "a16w8")}
    variables: dict[str, Any] = {}
    exec(LANGUAGE_MODEL, variables)
    plain, losses = variables["model"]().eval(), []
    for start in (0, CONTEXT):
        ids = torch.tensor(tokenizer().encode(judged).ids[start : start + CONTEXT])
        with torch.no_grad():
            losses.append(torch.nn.functional.cross_entropy(plain(input_ids=ids[None]).logits[0, :-1], ids[1:]))
    wanted = float(torch.stack(losses).mean().exp())
    for data in found.values():
        assert data["float_perplexity"] == pytest.approx(wanted, rel=1e-5) and data["tokens"] == 2 * (CONTEXT - 1)
    errors = {scheme: abs(data["perplexity"] / wanted - 1) for scheme, data in found.items()}
    assert found["a8w8"]["perplexity"] != found["a16w8"]["perplexity"]
    assert all(0 < error < 0.05 for error in errors.values())  # of so few tokens, neither is always the smaller
    assert all(0.8 < data["same_choice"] <= 1 for data in found.values())
    sizes: dict[str, Any] = {"target": TARGET, "context": CONTEXT, "prefill": 1, "scheme": "a16w8"}
    compiled = compile_llm(plain, calibration=[TEXT], tokenizer=tokenizer(), **sizes)
    on_npu = compiled.generator().perplexity(tokenizer().encode(judged).ids)
    assert on_npu == pytest.approx(found["a16w8"]["perplexity"], rel=1e-3)
    shown = run(*words, "--metric", "perplexity").stdout
    assert f"perplexity {found['a8w8']['perplexity']:.4g} (float {wanted:.4g})" in shown
    refused = {
        "give the model's --tokenizer": run(),
        "a text judges by perplexity alone": run(*words, "--budget", "cycles=+10%"),
        "a language model reads text": run(*words, calibration="tokenizer.json"),
        "Linear is no causal language model": run(*words, function="linear"),
    }
    for reason, result in refused.items():
        assert result.exit_code == 1 and reason in " ".join(result.stderr.split()), result.stderr
