"""A quantization scheme as a JSON file: what ``arm-tosa accuracy`` writes and ``arm-tosa compile --quantize`` reads.

    {"scheme": "int8", "modules": {"blocks.0.mlp": "int16x8"}, "nodes": {"add_3": "int16x8"}}

``scheme`` is that of the whole model; ``modules`` (names as ``named_modules`` has them) and ``nodes`` (of the exported
graph) are the exceptions. A scheme is ``int8``, ``int16x8``, ``int8x4`` (weights of 4 bits), or ``float``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..support import foreign
from ..support.errors import UsageError

if TYPE_CHECKING:
    from ..exir.compile_spec import ArmCompileSpec
    from ..quantize.quantizer import TOSAQuantizer
    from ..quantize.schemes.config import QuantizationConfig


def _configs() -> dict[str, Callable[[], QuantizationConfig | None]]:
    from ..quantize.schemes import config

    return {
        "int8": config.get_symmetric_quantization_config,
        "int16x8": config.get_symmetric_a16w8_quantization_config,
        "int8x4": lambda: config.get_symmetric_a8w4_quantization_config(is_qat=False),
        "float": lambda: None,
    }


SCHEMES = ("int8", "int16x8", "int8x4", "float")
#: Other names that the field has for them: activations and weights by their bits.
ALIASES = {"a8w8": "int8", "a16w8": "int16x8", "a8w4": "int8x4"}


def unknown_scheme(name: str, valid: Sequence[str]) -> UsageError:
    """The error for what is none of the names of schemes, nor a file of ``arm-tosa accuracy``."""
    if name.endswith(".toml"):
        return UsageError(
            f"{name} is no scheme; if it is a recipe, `arm-tosa quantize MODEL --calibration DATA --recipe {name} "
            "-o model.pt2` makes the quantized model, which every command takes as it is"
        )
    return UsageError(f"unknown quantization {name!r}; valid: {', '.join(valid)}, or a .json file")


@dataclass(frozen=True)
class Scheme:
    """A scheme for the model, and the exceptions to it."""

    scheme: str = "int8"
    modules: Mapping[str, str] = field(default_factory=dict)
    nodes: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in (self.scheme, *self.modules.values(), *self.nodes.values()):
            if name not in SCHEMES:
                raise UsageError(f"unknown quantization scheme {name!r}; valid: {', '.join(SCHEMES)}")

    def quantizer(self, spec: ArmCompileSpec) -> TOSAQuantizer:
        """A quantizer for a target with this scheme.

        Raises:
            UsageError: the target does not take it.
        """
        from ..quantize.quantizer import TOSAQuantizer

        configs = {name: make() for name, make in _configs().items() if name in self._used()}
        quantizer = TOSAQuantizer(spec).set_global(configs[self.scheme])
        for module, name in self.modules.items():
            quantizer.set_module_name(module, configs[name])
        for node, name in self.nodes.items():
            quantizer.set_node_name(node, configs[name])
        return quantizer

    def _used(self) -> set[str]:
        return {self.scheme, *self.modules.values(), *self.nodes.values()}

    def to_json(self) -> str:
        """The file's text."""
        return json.dumps(asdict(self), indent=2) + "\n"


def read_scheme(path: Path) -> Scheme:
    """The scheme in a file.

    Raises:
        UsageError: it cannot be read or is no such file; says what is wrong.
    """
    try:
        data: Any = foreign.parsed(path.read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}") from error
    fields = {"scheme", "modules", "nodes"}
    known = ", ".join(sorted(fields))
    if not isinstance(data, dict):
        raise UsageError(f"{path}: expected an object, whose keys are some of {known}")
    if unknown := sorted(data.keys() - fields):
        raise UsageError(f"{path}: unknown key {unknown[0]!r}; known keys: {known}")
    if not all(isinstance(data.get(key, {}), dict) for key in ("modules", "nodes")):
        raise UsageError(f"{path}: modules and nodes are objects from names to schemes")
    return Scheme(**data)
