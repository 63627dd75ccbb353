"""``compile_llm``: a language model of transformers to a ``.pte`` that reads and writes text."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..exir.figures import Figures
from ..exir.report import Report
from ..flow import ExecuTorchOptions, lower
from ..flow.lowered import compile_spec_of
from ..flow.lowered_program import save_files
from ..support.errors import UsageError
from .text_generator import DECODE, EOS, PREFILL, SCALE, TextGenerator, decode_of
from .tokenizer import pieces

if TYPE_CHECKING:
    from ..accuracy.scheme import Scheme
    from ..exir.compile_spec import ArmCompileSpec
    from ..tosa.specification import TosaSpecification


@dataclass(frozen=True)
class LanguageProgram:
    """A compiled language model.

    Args:
        buffer: the contents of the ``.pte``.
        reports: delegated and remaining operators, by method.
        tokenizer: of the compile; None: the program takes and gives token ids.
        seconds: that ``compile_llm`` took, on this machine's clock.
        data_files: contents of ``.ptd`` files beside the ``.pte``, by their names.
    """

    buffer: bytes
    reports: Mapping[str, Report]
    tokenizer: Any = None
    seconds: float = 0.0
    data_files: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def figures(self) -> dict[str, Figures]:
        """Operators, cycles, memory and bytes, by method; bytes of the file are those of the whole."""
        return {name: report.figures(len(self.buffer), self.seconds) for name, report in self.reports.items()}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the ``.pte`` to ``path``, and its ``.ptd`` files beside it; each all of it or nothing.

        Raises:
            UsageError: one cannot be written.
        """
        save_files(path, self.buffer, self.data_files)

    def generator(self) -> TextGenerator:
        """Runs the program on this machine.

        Raises:
            UsageError: this machine has no runtime for it.
        """
        with tempfile.TemporaryDirectory(prefix="arm_tosa_") as folder:  # the generator reads it as it is made
            save_files(Path(folder, "lm.pte"), self.buffer, self.data_files)
            return TextGenerator(self.buffer, self.tokenizer, [Path(folder, name) for name in self.data_files])

    def generate(self, prompt: str, tokens: int) -> str:
        """A continuation of a text, each token the most probable one.

        Raises:
            UsageError: this machine has no runtime for it, the program has no tokenizer, or the text is too long.
        """
        return "".join(self.generator().stream(prompt, tokens))


def compile_llm(
    model: Any,
    *,
    target: str | TosaSpecification | ArmCompileSpec,
    context: int,
    calibration: Sequence[str | Sequence[int]],
    tokenizer: Any = None,
    prefill: int = 32,
    lengths: Sequence[int] = (),
    scheme: str | Scheme = "a8w8",
    external_constants: str | None = None,
) -> LanguageProgram:
    """Quantizes and compiles a causal language model of transformers: Llama, Qwen, Gemma, Phi and their like.

    The program has two methods, ``decode`` for one token and ``prefill`` for many. Both take the token ids (int32
    [1, tokens]), the position of the first (int32 [1]), and the cache of keys and values (for each layer [1, heads,
    context, width] and [1, heads, width, context]), and give the rows that the tokens add to the cache.

    Attention costs as much as its cache is long, written or not. ``lengths`` adds methods that read only so many
    positions, and the host calls the shortest that the text fits.

    The cache is int8 or int16, by the scheme; its reader and its writer have one scale.

    Args:
        model: ``LlamaForCausalLM`` or the like, float32; it is left as it is.
        target: the name of an installed target, a TOSA specification, or a compile spec.
        context: the longest text, in tokens.
        calibration: texts, as strings or as token ids; those beyond the context are cut into pieces of its length.
        tokenizer: of ``transformers`` or of ``tokenizers``; token ids need none.
        prefill: the most tokens that are read at once; 1 leaves that method out.
        lengths: of further methods ``decode_64`` and so on.
        scheme: ``"a8w8"``, ``"a16w8"`` (activations and cache of 16 bits), ``"a8w4"`` (weights of 4 bits), or a
            ``Scheme``, which has other schemes for some modules, named as in ``model``.
        external_constants: the name, without ``.ptd``, of a file for the weights beside the ``.pte``, as of ``lower``;
            for Ethos-U.

    Raises:
        UsageError: an unknown target or scheme, a model that cannot be given its cache, texts that are too short, or
            a target that cannot keep weights in a ``.ptd``.
    """
    from .cached_model import CachedModel
    from .quantized_model import quantize_model, quantizer_of

    started = time.perf_counter()
    if context < 2 or not 1 <= prefill <= context:
        raise UsageError(f"prefill is from 1 to the context, which is 2 at least, not {prefill} of {context}")
    wrong = [length for length in lengths if not 2 <= length < context]
    if wrong:
        raise UsageError(f"lengths are from 2 to below the context of {context}, not {wrong[0]}")
    spec = compile_spec_of(target)
    plain = CachedModel.of(model, context, prefill)
    quantized = quantize_model(plain, quantizer_of(scheme, spec), pieces(calibration, tokenizer, context))
    programs = {DECODE: quantized.decode(context)}
    programs |= {decode_of(length): quantized.decode(length) for length in sorted(lengths)}
    if prefill > 1:
        programs[PREFILL] = quantized.prefill(prefill)
    constants = {SCALE: quantized.scale, EOS: list(_ends(model))}
    options = ExecuTorchOptions(config=_config(), constant_methods=constants, external_constants=external_constants)
    lowered = lower(programs, spec, executorch=options)
    seconds = time.perf_counter() - started
    return LanguageProgram(lowered.buffer, lowered.reports, tokenizer, seconds, lowered.data_files)


def _ends(model: Any) -> Iterator[int]:
    """The tokens that end a text, as for ``model.generate``: a turn of a chat may end in others than a text."""
    ends = (model.generation_config or model.config.get_text_config()).eos_token_id
    if ends is not None:
        yield from [ends] if isinstance(ends, int) else ends


def _config() -> Any:
    """Inputs are read where the host keeps them: ExecuTorch would copy the cache in each call."""
    from executorch.exir import ExecutorchBackendConfig
    from executorch.exir.passes import MemoryPlanningPass

    return ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False))
