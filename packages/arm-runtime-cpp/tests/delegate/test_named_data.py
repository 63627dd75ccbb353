"""Blocks of a payload as named data of the program, as the stock compiler places weights there."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

HEADER = struct.Struct("<16sIB11x")
NAMED = ("cmd_data", "weight_data")


def externalize(payload: bytes, store: Any) -> bytes:
    """Moves the data of ``NAMED`` blocks to the store; the block then holds its key of 64 characters."""
    result, at = b"", 0
    while at < len(payload):
        raw, size, _ = HEADER.unpack_from(payload, at)
        data = payload[at + HEADER.size : at + HEADER.size + size]
        at += HEADER.size + size + -size % 16
        if external := raw.rstrip(b"\0").decode() in NAMED:
            key = hashlib.sha256(data).hexdigest()
            store.add_named_data(key, data, alignment=16)
            data = key.encode()
        result += HEADER.pack(raw, len(data), external) + data + bytes(-len(data) % 16)
    return result


@pytest.fixture
def pte(compiled: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A small program whose commands and weights are named data."""
    import torch
    from executorch.exir import to_edge_transform_and_lower
    from executorch.exir._serialize._named_data_store import NamedDataStore
    from executorch.exir.backend.backend_details import PreprocessResult
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    from arm_ethosu import EthosUBackend, EthosUCompileSpec, EthosUPartitioner, EthosUQuantizer
    from arm_tosa_core import get_symmetric_quantization_config

    make = EthosUBackend.preprocess_multimethod

    def preprocess(programs: Any, specs: Any) -> dict[str, list[PreprocessResult]]:
        store = NamedDataStore()
        payloads = {
            name: [externalize(made.processed_bytes, store) for made in results]
            for name, results in make(programs, specs).items()
        }
        output = store.get_named_data_store_output()
        return {
            name: [PreprocessResult(processed_bytes=payload, data_store_output=output) for payload in found]
            for name, found in payloads.items()
        }

    monkeypatch.setattr(EthosUBackend, "preprocess_multimethod", staticmethod(preprocess))
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU()).eval()
    example = (torch.randn(1, 3, 8, 8),)
    spec = EthosUCompileSpec("ethos-u55-128")
    quantizer = EthosUQuantizer(spec).set_global(get_symmetric_quantization_config())
    prepared = prepare_pt2e(torch.export.export(net, example).module(), quantizer)
    prepared(*example)
    program = torch.export.export(convert_pt2e(prepared), example)
    return bytes(to_edge_transform_and_lower(program, partitioner=[EthosUPartitioner(spec)]).to_executorch().buffer)


def test_named_data_is_found(pte: bytes, runtime: Any, tmp_path: Path) -> None:
    import executorch.kernels.quantized  # noqa: F401
    import torch
    from executorch.runtime import Runtime

    method = Runtime.get().load_program(pte).load_method("forward")
    (first,) = method.execute([torch.linspace(-2, 2, 192).reshape(1, 3, 8, 8)])
    first = first.clone()
    (second,) = method.execute([torch.zeros(1, 3, 8, 8)])
    assert first.shape == (1, 8, 6, 6) and len(np.unique(first.numpy())) > 5
    assert not torch.equal(first, second)


def test_a_name_that_the_program_does_not_have_is_refused(pte: bytes, runtime: Any) -> None:
    from executorch.runtime import Runtime

    at = pte.index(b"weight_data") + HEADER.size
    spoiled = pte[:at] + b"0" * 64 + pte[at + 64 :]
    with pytest.raises(RuntimeError):
        Runtime.get().load_program(spoiled).load_method("forward")
