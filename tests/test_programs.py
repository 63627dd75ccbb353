"""Whole networks as programs in ExecuTorch's runtime: every output has the bits that the TOSA reference model gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from executorch.exir import to_edge_transform_and_lower
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

import example_scripts
from arm_ethosu import EthosUCompileSpec, EthosUPartitioner, EthosUQuantizer
from arm_tosa_core import get_symmetric_quantization_config
from arm_vgf import VgfCompileSpec, VgfPartitioner, VgfQuantizer
from models import MODELS

TARGETS: dict[str, tuple[Callable[[], Any], type[Any], type[Any]]] = {
    "ethos-u55-128": (lambda: EthosUCompileSpec("ethos-u55-128"), EthosUQuantizer, EthosUPartitioner),
    "ethos-u85-256": (lambda: EthosUCompileSpec("ethos-u85-256"), EthosUQuantizer, EthosUPartitioner),
    "vgf": (lambda: VgfCompileSpec("TOSA-1.0+INT"), VgfQuantizer, VgfPartitioner),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("network", ["mobilenet_v2"])
def test_same_bits(network: str, target: str, tmp_path: Path) -> None:
    pytest.importorskip("arm_runtime", reason="nox builds arm-runtime-cpp")
    import executorch.kernels.quantized  # noqa: F401
    from executorch.runtime import Runtime

    module, inputs = MODELS[network]()
    make_spec, quantizer_class, partitioner_class = TARGETS[target]
    spec = make_spec().dump_intermediate_artifacts_to(tmp_path)
    quantizer = quantizer_class(spec).set_global(get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(torch.export.export(module, inputs(0)).module(), quantizer)
    with torch.no_grad():
        for seed in range(4):
            prepared(*inputs(seed))
    program = torch.export.export(convert_pt2e(prepared), inputs(0))
    edge = to_edge_transform_and_lower(program, partitioner=[partitioner_class(spec)])
    graphs = [path.read_bytes() for path in sorted(tmp_path.glob(f"delegate_*/{target}.tosa"))]
    (expected,) = example_scripts.load("reference_interpreter").ReferenceInterpreter(edge, graphs).run(*inputs(100))
    assert len(np.unique(expected.numpy())) > 100, "the outputs say too little"

    edge.to_executorch().save(str(tmp_path / "model.pte"))
    (output,) = Runtime.get().load_program(tmp_path / "model.pte").load_method("forward").execute(list(inputs(100)))
    np.testing.assert_array_equal(output.numpy(), expected.numpy())
