"""One case of ``benchmarks.llm`` in a process of its own: a side, a scheme, a target and a context.

Usage: python -m benchmarks.llm.case SIDE SCHEME TARGET CONTEXT RESULT. Sides are

- ``ours``: ``compile_llm``; ``lengths``: with a decode method for each length;
- ``weights``: how many bytes of weights methods have in common, for Ethos-U;
- ``reference``: the decode step on the TOSA reference model beside the program, for one piece of text;
- ``buffers``: ours, the decode step of transformers with its cache in buffers;
- ``rival`` with both methods of ``compile_llm``, and ``rival buffers`` with the decode step of transformers.
"""

from __future__ import annotations

import functools
import json
import logging
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.llm.model import trained
from benchmarks.llm.text import held_out_text, training_text
from examples.small_llama import byte_tokenizer

PREFILL = 32
TRAINED_CONTEXT = 256
#: Of the methods beside the one for the whole context.
LENGTHS = (64, 256)
#: Texts for calibration, of as many tokens as the context has.
_TEXTS = 16
#: Pieces of the text that is held out; from each 64 tokens are a prompt as well, and 64 are generated.
_PIECES, _PROMPT = 8, 64
#: Tokens for calibration of a side that is not given texts.
_STEPS = 256


def main(side: str, scheme: str, target: str, context: str, result: str) -> None:
    """Runs the case and writes its figures; an exception becomes the figure ``error``."""
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    found: dict[str, Any] = {}
    try:
        own = {"ours": _ours, "lengths": _by_length, "weights": _weights, "reference": _on_reference_model}
        call = (scheme, target, int(context))
        for step in own[side](*call) if side in own else _step(side, *call):
            found |= step
            Path(result).write_text(json.dumps(found))
    except Exception as error:
        found["error"] = f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"[:300]
        Path(result).write_text(json.dumps(found))
        raise


def _ours(scheme: str, target: str, context: int) -> Iterator[dict[str, Any]]:
    from arm_tosa_core.llm import compile_llm

    model = trained()
    start = time.process_time()
    program = compile_llm(
        model, target=target, context=context, prefill=PREFILL, calibration=_texts(context), scheme=scheme
    )
    yield {"compile_s": round(time.process_time() - start, 1), "pte_bytes": len(program.buffer)}
    yield _costs(program)
    decode = program.reports["decode"]
    yield {"delegates": decode.delegates, "left": len(decode.rejected), "edges": decode.edges}
    yield {"copied_bytes": _copied(program.buffer, "decode"), "weight_bytes": _weight_bytes(program.buffer)}
    generator = program.generator()
    yield {"cache_bytes": generator.cache_bytes, "row_bytes": generator.row_bytes}
    if context == TRAINED_CONTEXT:
        yield _judged(generator, model)


def _by_length(scheme: str, target: str, context: int) -> Iterator[dict[str, Any]]:
    """A program that decodes with 64 or 256 positions of its cache while a text is short."""
    from arm_tosa_core.llm import compile_llm

    program = compile_llm(
        trained(),
        target=target,
        context=context,
        prefill=1,
        lengths=LENGTHS,
        calibration=_texts(context),
        scheme=scheme,
    )
    yield {**_costs(program), "pte_bytes": len(program.buffer)}


def _weights(scheme: str, target: str, context: int) -> Iterator[dict[str, Any]]:
    """Weights of several methods: as Vela writes them for each by itself, as a program has them, and in one order."""
    from arm_ethosu import EthosUCompileSpec
    from arm_ethosu.payload import unpack, whole
    from arm_tosa_core.exir.watchers import watched
    from arm_tosa_core.llm import compile_llm

    texts, made = _texts(context), list[bytes]()
    with watched(lambda _, payload: made.append(payload)):
        program = compile_llm(
            trained(),
            target=target,
            context=context,
            prefill=PREFILL,
            lengths=LENGTHS[:1],
            calibration=texts,
            scheme=scheme,
        )
    payloads = dict(zip(program.reports, made, strict=True))
    yield {"pte_bytes": len(program.buffer)}
    device = EthosUCompileSpec(target).target()
    shared = device.compiler.with_names
    ordered = EthosUCompileSpec(target, weight_order="shared").target().compiler.with_names
    assert shared is not None and ordered is not None and device.report.timing is not None
    pairs = {"by_length": ["decode", "decode_64"], "prefill": ["decode", "prefill"]}
    for name, methods in {"all": list(payloads), **pairs}.items():
        chosen = [payloads[method] for method in methods]
        yield {f"{name}_apart": sum(unpack(each)["weight_data"].size for each in chosen)}
        for kind, found in (
            ("shared", shared(chosen, None)),
            ("ordered", ordered(chosen, None)),
        ):
            yield {f"{name}_{kind}": sum(len(item.data) for item in found.named.values())}
    found = ordered(list(payloads.values()), None)
    named = {name: item.data for name, item in found.named.items()}
    for (method, before), after in zip(payloads.items(), found.payloads, strict=True):
        cycles = (device.report.timing(each, None).cycles for each in (before, whole(after, named)))
        yield dict(zip((f"{method}_timing_apart", f"{method}_timing_ordered"), map(round, cycles), strict=True))


def _on_reference_model(scheme: str, target: str, context: int) -> Iterator[dict[str, Any]]:
    """A text read token by token, on the TOSA reference model and by the program on this machine."""
    from arm_tosa_core.exir.watchers import watched
    from arm_tosa_core.flow.lowered import compile_spec_of
    from arm_tosa_core.llm import compile_llm
    from arm_tosa_core.tosa.serializer import serialize

    graphs = list[Any]()
    with watched(lambda graph, _: graphs.append(graph)):
        program = compile_llm(
            trained(), target=target, context=context, prefill=1, calibration=_texts(context), scheme=scheme
        )
    (decode,) = graphs
    generator, judge = program.generator(), program.generator()
    judged = _OnReferenceModel(decode, serialize(decode, compile_spec_of(target).tosa_spec), program.buffer)
    judge._decode = {context: judged}
    piece = list(_held_out()[0])
    scores = [[read.read([token]) for token in piece[:-1]] for read in (judge, generator)]
    equal = sum(map(torch.equal, *scores))
    yield {"tokens": len(piece) - 1, "equal_scores": equal, "delegates": program.reports["decode"].delegates}
    for name, found in zip(("reference_perplexity", "perplexity"), scores, strict=True):
        loss = torch.nn.functional.cross_entropy(torch.stack(found), torch.tensor(piece[1:]))
        yield {name: float(loss.exp())}
    with torch.no_grad():
        exact = trained()(input_ids=torch.tensor([piece])).logits[0, :-1]
    yield {"float_perplexity": float(torch.nn.functional.cross_entropy(exact, torch.tensor(piece[1:])).exp())}


class _OnReferenceModel:
    """The method ``decode``, whose one delegate the TOSA reference model runs, in the delegate's order and shapes."""

    def __init__(self, graph: Any, tosa: bytes, pte: bytes) -> None:
        from arm_tosa_core.exir.pte_steps import method

        self.graph, self.tosa, self.method = graph, tosa, method(pte, "decode")
        (call,) = self.method.calls
        self.taken, self.given = call.arguments[: len(graph.inputs)], call.arguments[len(graph.inputs) :]

    def execute(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        from arm_tosa_core.tosa import reference_model

        values = dict(zip(self.method.inputs, inputs, strict=True))
        pairs = zip(self.taken, self.graph.inputs, strict=True)
        arrays = [values[number].numpy().reshape(tensor.shape) for number, tensor in pairs]
        values |= zip(self.given, map(torch.tensor, reference_model.run(self.tosa, arrays)), strict=True)
        outputs = self.method.outputs
        return [values[number].reshape(self.method.tensor(number).shape) for number in outputs]


def _costs(program: Any) -> dict[str, Any]:
    """Cycles and SRAM of each method."""
    costs = dict[str, float | None]()
    for name, figures in program.figures.items():
        costs |= {f"{name}_cycles": figures.cycles, f"{name}_sram_kib": _kib(figures.tensors_bytes)}
    return {key: value for key, value in costs.items() if value is not None}


def _copied(pte: bytes, name: str) -> int:
    """Bytes that a call of a method copies: to and from delegates, by operators on the CPU, and to the cache."""
    from arm_tosa_core.exir.pte_steps import method

    found = method(pte, name)
    written = list(found.outputs[1:])  # the first are the scores
    for call in found.calls:
        if not call.operator:
            written += call.arguments
        elif not call.operator.startswith("executorch_prim::"):  # these are views
            written.append(call.arguments[-1])
    tensors = (value for value in map(found.values.__getitem__, written) if hasattr(value, "dtype"))
    return sum(math.prod(value.shape) * np.dtype(value.dtype).itemsize for value in tensors)


def _weight_bytes(*ptes: bytes) -> int:
    """Bytes of weights that programs for Ethos-U store: what methods have in common once, as named data."""
    from arm_ethosu.payload import unpack
    from arm_tosa_core.exir.pte import read

    def stored(pte: bytes) -> int:
        program = read(pte)
        named = sum(map(len, program.named.values()))
        return named or sum(unpack(each.payload)["weight_data"].size for each in program.delegates)

    return sum(map(stored, ptes))


def _judged(generator: Any, model: Any) -> dict[str, Any]:
    """Perplexity on text that is held out, and how long greedy choice goes on as in float."""

    def scores(piece: list[int]) -> torch.Tensor:
        generator.reset()
        return torch.stack([generator.read([token]) for token in piece[:-1]])

    figures, same = _perplexity(scores, model), []
    for piece in _held_out():
        prompt = piece[:_PROMPT]
        wanted = model.generate(torch.tensor([prompt]), max_new_tokens=_PROMPT, do_sample=False)[0, _PROMPT:].tolist()
        generator.reset()
        made = list(generator.tokens(prompt, _PROMPT))
        same.append(next((i for i, pair in enumerate(zip(wanted, made, strict=True)) if len({*pair}) > 1), _PROMPT))
    return {**figures, "same_tokens": sum(same) / len(same)}


def _perplexity(read: Callable[[list[int]], torch.Tensor], model: Any) -> dict[str, Any]:
    """Perplexity on text that is held out, beside that of float.

    Args:
        read: the scores of what follows each token of a piece but the last, [tokens - 1, vocabulary].
    """
    losses: dict[str, list[torch.Tensor]] = {"perplexity": [], "float_perplexity": []}
    preferred = 0
    for piece in _held_out():
        with torch.no_grad():
            exact = model(input_ids=torch.tensor([piece])).logits[0, :-1]
        scores = read(piece)
        for name, found in (("perplexity", scores), ("float_perplexity", exact)):
            losses[name].append(torch.nn.functional.cross_entropy(found, torch.tensor(piece[1:])))
        preferred += int((scores.argmax(-1) == exact.argmax(-1)).sum())
    figures: dict[str, Any] = {name: float(torch.stack(all_).mean().exp()) for name, all_ in losses.items()}
    return {**figures, "same_choice_percent": 100 * preferred / (_PIECES * (TRAINED_CONTEXT - 1))}


def _step(side: str, scheme: str, target: str, context: int) -> Iterator[dict[str, Any]]:
    """The methods as ExecuTorch's own flow lowers them: ``decode``, of the rival ``prefill`` too."""
    from benchmarks.lowering_case import left_outside
    from benchmarks.probes import vela

    in_buffers, ptes = side.endswith("buffers"), []
    for name, tokens in {"decode": 1, **({} if in_buffers else {"prefill": PREFILL})}.items():
        module, samples = _in_buffers(context) if in_buffers else _with_rows(context, tokens)
        start = time.process_time()
        quantized, edge, graphs = _lowered(side, scheme, target, module, samples)
        if name == "decode":
            yield {"compile_s": round(time.process_time() - start, 1)}
            yield left_outside(edge.exported_program().graph)
        cost = vela(graphs, target)
        yield {f"{name}_cycles": cost["cycles"], f"{name}_sram_kib": cost["sram_kib"]}
        ptes.append(edge.to_executorch().buffer)
        if name == "decode":
            yield {"copied_bytes": _copied(ptes[0], "forward")}
            if not in_buffers and context == TRAINED_CONTEXT:
                yield _perplexity(functools.partial(_scores, quantized, context), trained())
    yield {"weight_bytes": _weight_bytes(*ptes)}


def _lowered(
    side: str, scheme: str, target: str, module: torch.nn.Module, samples: list[tuple[Any, ...]]
) -> tuple[Any, Any, list[bytes]]:
    """A quantized module, its edge program with delegates, and their TOSA graphs."""
    from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower

    from benchmarks.sides import Ours, Rival

    compiler = Ours() if side == "buffers" else Rival()
    spec = compiler.compile_spec(target)
    program = torch.export.export(module, samples[0], strict=side.endswith("buffers"))
    quantizer = compiler.quantizer(target, spec, {"a8w8": "int8"}.get(scheme, scheme))
    quantized = compiler.quantize(program, quantizer, samples)
    program = torch.export.export(quantized, samples[0])
    with tempfile.TemporaryDirectory(prefix="bench_dump_") as dump:
        spec.dump_intermediate_artifacts_to(dump)
        edge = to_edge_transform_and_lower(
            program,
            partitioner=[compiler.partitioner(target, spec)],
            compile_config=EdgeCompileConfig(_check_ir_validity=False),
        )
        return quantized, edge, sorted({path.read_bytes() for path in Path(dump).rglob("*.tosa")})


def _scores(module: Any, context: int, piece: list[int]) -> torch.Tensor:
    """As ``_perplexity`` reads them, by a module that takes a token, its position and the cache."""
    from arm_tosa_core.llm.cached_model import CachedModel, read_text

    cache = CachedModel.of(trained(), context, PREFILL).empty_cache()
    with torch.no_grad():
        return read_text(module, cache, torch.tensor([piece[:-1]]), 1)[0]


def _with_rows(context: int, tokens: int) -> tuple[torch.nn.Module, list[tuple[Any, ...]]]:
    """What ``compile_llm`` exports, for so many tokens at once."""
    from arm_tosa_core.llm.cached_model import CachedModel, write_rows

    model = CachedModel.of(trained(), context, PREFILL)
    cache, samples = model.empty_cache(), []
    text = torch.tensor(_texts(context)[0][:_STEPS], dtype=torch.int32)
    for position, ids in zip(range(0, len(text), tokens), text.split(tokens), strict=True):
        call = (ids[None], torch.tensor([position], dtype=torch.int32), cache)
        samples.append(call)
        with torch.no_grad():
            rows = model(*call)[1:]
        cache = [part.clone() for part in cache]
        write_rows(cache, rows, position, tokens)
    return model, samples


def _in_buffers(context: int) -> tuple[torch.nn.Module, list[tuple[Any, ...]]]:
    """What transformers exports for ExecuTorch, with a table in place of the sines of large angles."""
    sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))
    from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

    from models.transformers_networks import RotaryTable

    model = trained()
    model.model.rotary_emb = RotaryTable(model.model.rotary_emb, context)
    model.generation_config.use_cache = True
    model.generation_config.cache_implementation = "static"
    step = _Step(TorchExportableModuleWithStaticCache(model, 1, context)).eval()
    text = _texts(context)[0][:_STEPS]
    return step, [(torch.tensor([[token]]), torch.tensor([position])) for position, token in enumerate(text)]


class _Step(torch.nn.Module):
    def __init__(self, step: Any) -> None:
        super().__init__()
        self.step = step

    def forward(self, token: torch.Tensor, position: torch.Tensor) -> Any:
        return self.step(input_ids=token, cache_position=position)


def _texts(context: int) -> list[list[int]]:
    """Pieces that are spread over the text that the model was trained with."""
    tokens = byte_tokenizer().encode(training_text()).ids
    return [tokens[start : start + context] for start in range(0, len(tokens), len(tokens) // _TEXTS)][:_TEXTS]


def _held_out() -> Sequence[list[int]]:
    tokens = byte_tokenizer().encode(held_out_text()).ids
    step = (len(tokens) - TRAINED_CONTEXT) // _PIECES
    return [tokens[start : start + TRAINED_CONTEXT] for start in range(0, step * _PIECES, step)]


def _kib(size: float | None) -> float | None:
    return None if size is None else size / 1024


if __name__ == "__main__":
    main(*sys.argv[1:])
