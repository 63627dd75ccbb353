"""pytest plugin: torchao makes its patterns of convolutions and batch norms once, not at each ``convert_pt2e``.

After quantization-aware training ``convert_pt2e`` exports 96 small functions, 25 seconds of it, and they are the same
every time. Here a process exports each once and gets copies from then on. Nothing else of torchao is changed.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

_FACTORIES = (
    "_get_conv_bn_pattern",
    "_get_qat_conv_bn_pattern",
    "_get_qat_conv_bn_pattern_no_conv_bias",
    "_get_quantized_qat_conv_bn_pattern",
    "_get_folded_quantized_qat_conv_bn_pattern",
)


@pytest.fixture
def qat_patterns(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """``convert_pt2e`` in this test takes the patterns that this process has exported."""
    from torchao.quantization.pt2e import qat_utils

    for name in _FACTORIES:
        monkeypatch.setattr(qat_utils, name, _one_for_each(getattr(qat_utils, name)))
    monkeypatch.setattr(
        qat_utils, "_get_aten_graph_module_for_pattern", _exported(qat_utils._get_aten_graph_module_for_pattern)
    )
    yield


@functools.cache
def _one_for_each(factory: Callable[..., Any]) -> Callable[..., Any]:
    """The same arguments, all of them flags and functions, give the same pattern."""
    return functools.cache(factory)


@functools.cache
def _exported(export: Callable[..., Any]) -> Callable[..., Any]:
    known: dict[tuple[Any, ...], Any] = {}

    def exported(pattern: Any, inputs: tuple[Any, ...], is_cuda: bool = False, **kwargs: Any) -> Any:
        taken = tuple((x.shape, x.dtype) for x in (*inputs, *kwargs.values()))
        key = (pattern, taken, tuple(kwargs), is_cuda)
        if key not in known:
            known[key] = export(pattern, inputs, is_cuda, **kwargs)
        return copy.deepcopy(known[key])

    return exported
