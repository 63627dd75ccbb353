"""``compile_llm``: two methods, integers at their edges, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers
from llm_kit import SHARED

from arm_tosa_core.accuracy.scheme import Scheme
from arm_tosa_core.exir.pte_steps import Method, method
from arm_tosa_core.llm import LanguageProgram, TextGenerator, compile_llm
from arm_tosa_core.llm.compilation import _ends
from arm_tosa_core.support.errors import UsageError

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations

TEXT = [(7 * i * i + 3 * i) % 96 for i in range(40)]
CONTEXT, PREFILL = 16, 4


def compiled(**options: Any) -> LanguageProgram:
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(**{**SHARED, "num_hidden_layers": 1, "eos_token_id": [5, 9]})
    )
    given: dict[str, Any] = {"target": "tosa-int", "context": CONTEXT, "prefill": PREFILL, "calibration": [TEXT]}
    return compile_llm(model, **{**given, **options})


def tensors(of: Method, numbers: tuple[int, ...]) -> list[tuple[str, tuple[int, ...]]]:
    return [(of.tensor(number).dtype, of.tensor(number).shape) for number in numbers]


@pytest.mark.parametrize(("scheme", "kind"), [("a8w8", "int8"), ("a16w8", "int16")])
def test_a_method_is_one_delegate_with_integers_at_its_edges(scheme: str, kind: str) -> None:
    program = compiled(scheme=scheme)
    for report in program.reports.values():
        assert (report.delegates, report.edges, report.rejected) == (1, 0, [])
    cache, position = [(kind, (1, 2, CONTEXT, 8)), (kind, (1, 2, 8, CONTEXT))], ("int32", (1,))
    decode, prefill = (method(program.buffer, name) for name in ("decode", "prefill"))
    assert [len(m.calls) for m in (decode, prefill)] == [1, 1]
    assert tensors(decode, decode.inputs) == [("int32", (1, 1)), position, *cache]
    assert tensors(decode, decode.outputs) == [(kind, (1, 1, 96)), (kind, (1, 2, 1, 8)), (kind, (1, 2, 8, 1))]
    # Scores are nobody's, and neither is the last layer's attention.
    assert tensors(prefill, prefill.inputs) == [("int32", (1, PREFILL)), position, *cache]
    assert tensors(prefill, prefill.outputs) == [(kind, (1, 2, PREFILL, 8)), (kind, (1, 2, 8, PREFILL))]
    assert len(program.reports["prefill"].delegated) < len(program.reports["decode"].delegated)
    assert program.figures["decode"].file_bytes == len(program.buffer) and program.seconds > 0


def test_a_program_may_read_token_by_token() -> None:
    assert list(compiled(prefill=1).reports) == ["decode"]


def test_a_text_ends_as_that_of_the_model_itself() -> None:
    """A chat's turn may end in tokens that end no text: the generation's configuration names both."""
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**{**SHARED, "eos_token_id": 5}))
    assert list(_ends(model)) == [5]
    model.generation_config.eos_token_id = [5, 9]
    assert list(_ends(model)) == [5, 9]


def test_a_method_may_read_a_part_of_the_cache() -> None:
    program = compiled(prefill=1, lengths=[8, 4])
    assert list(program.reports) == ["decode", "decode_4", "decode_8"]
    for length in (4, 8):
        short = method(program.buffer, f"decode_{length}")
        assert tensors(short, short.inputs[2:]) == [("int8", (1, 2, length, 8)), ("int8", (1, 2, 8, length))]
        assert tensors(short, short.outputs)[1:] == [("int8", (1, 2, 1, 8)), ("int8", (1, 2, 8, 1))]


def test_a_module_may_have_a_scheme_of_its_own() -> None:
    program = compiled(scheme=Scheme("int8", {"lm_head": "int16x8"}))
    decode = method(program.buffer, "decode")
    assert [kind for kind, _ in tensors(decode, decode.outputs)] == ["int16", *["int8"] * 2]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"prefill": 17}, "prefill is from 1 to the context, which is 2 at least, not 17 of 16"),
        ({"lengths": [8, 16]}, "lengths are from 2 to below the context of 16, not 16"),
        ({"calibration": [[1, 2, 3]]}, "no text for calibration has 4 tokens"),
        ({"calibration": ["a text"]}, "there is no tokenizer"),
        ({"scheme": "int9"}, "unknown quantization scheme 'int9'"),
        ({"target": "tosa-imt"}, "did you mean 'tosa-int'"),
        ({"scheme": Scheme("int8", {"lm_head": "float"})}, "leaves scores or cache in float"),
    ],
)
def test_what_cannot_be_compiled_says_why(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        compiled(**options)


def test_a_program_of_another_kind_is_no_language_model() -> None:
    from arm_tosa_core import lower

    plain = lower(torch.export.export(torch.nn.Identity(), (torch.rand(2),)), "tosa-fp")
    with pytest.raises(UsageError, match="has no method decode, get_eos_ids, get_logits_scale"):
        TextGenerator(plain.buffer)
