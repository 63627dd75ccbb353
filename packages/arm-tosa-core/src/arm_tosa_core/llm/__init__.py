"""Language models wholly on the accelerator: prefill, decode, and the cache of keys and values."""

from .compilation import LanguageProgram as LanguageProgram
from .compilation import compile_llm as compile_llm
from .evaluation import TextAccuracy as TextAccuracy
from .evaluation import evaluate_llm as evaluate_llm
from .text_generator import TextGenerator as TextGenerator
