"""A node's attributes with the defaults of its opset, and which of them were looked at."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ...support.errors import Rejected

#: Attributes that the weights say too, or that matter in training only.
_SAID_ELSEWHERE = frozenset({"kernel_shape", "momentum", "storage_order", "saturate", "stash_type"})
#: Notes of the reader, whose names no attribute of a file has: the step of the integers that an operator of a quantized
#: file reads, the zero point of a quantize or dequantize operator that has none, and the bits of the integers that a
#: dequantize operator reads.
STEP, ZERO, BITS = " step", " zero", " bits"


class Attributes(Mapping[str, Any]):
    """The attributes that the file gives, and behind them the defaults of the operator's definition.

    Args:
        given: by the file.
        kind: of the operator, with its domain and the opset that the file has of it.
    """

    def __init__(self, given: Mapping[str, Any], kind: str, domain: str, opset: int) -> None:
        self._given, self._defaults = dict(given), _defaults(kind, domain, opset)
        self.opset = opset
        self._read: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self._read.add(name)
        return self._given[name] if name in self._given else self._defaults[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._given | self._defaults)

    def __len__(self) -> int:
        return len(self._given | self._defaults)

    def of(self, kind: str, *, without: Collection[str] = ()) -> Attributes:
        """The same of another operator of ONNX, which has the meaning and defaults of opset 13."""
        return Attributes({name: self._given[name] for name in self._given if name not in without}, kind, "", 13)

    def noting(self, name: str, value: Any) -> Attributes:
        """The same, and one more that a reader adds, whose name no file can have."""
        noted = copy.copy(self)
        noted._given = {**self._given, name: value}
        return noted

    def require_read(self) -> None:
        """What nobody looked at must be the default.

        Raises:
            Rejected: an attribute has another value, which the row does not know.
        """
        for name, value in self._given.items():
            if name not in self._read | _SAID_ELSEWHERE | {STEP, ZERO, BITS} and value != self._defaults.get(name):
                raise Rejected(f"its attribute {name} = {value!r:.60} is not read")


def _defaults(kind: str, domain: str, opset: int) -> dict[str, Any]:
    import onnx

    try:
        schema = onnx.defs.get_schema(kind, opset, domain)
    except onnx.defs.SchemaError:
        return {}
    values = {
        name: onnx.helper.get_attribute_value(attribute.default_value)
        for name, attribute in schema.attributes.items()
        if attribute.default_value.type  # 0: it has none
    }
    return {name: _decoded(value) for name, value in values.items()}


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(part) for part in value]
    return value.decode() if isinstance(value, bytes) else value
