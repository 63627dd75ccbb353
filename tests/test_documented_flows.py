"""The examples of ExecuTorch's Arm documentation with our imports, step for step as they stand there."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir.delegate import executorch_call_delegate
from executorch.extension.export_util.utils import save_pte_program
from torchao.quantization.pt2e import move_exported_model_to_eval
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e

import arm_ethosu
import arm_tosa_core
import arm_vgf
from arm_ethosu import (
    EthosUBackend,
    EthosUCompileSpec,
    EthosUPartitioner,
    EthosUQuantizer,
    payload,
)
from arm_tosa_core import (
    TosaCompileSpec,
    TOSAPartitioner,
    TOSAQuantizer,
    TosaSpecification,
    get_symmetric_a16w8_quantization_config,
    get_symmetric_quantization_config,
)
from arm_tosa_core.exir.partitioner import NothingDelegatedWarning
from arm_tosa_core.exir.pte import Delegate, delegates
from arm_tosa_core.tosa import reference_model as reference
from arm_vgf import VgfBackend, VgfCompileSpec, VgfPartitioner, VgfQuantizer, extract_vgf
from models import MODELS

U55: dict[str, Any] = {"system_config": "Ethos_U55_High_End_Embedded", "memory_mode": "Shared_Sram"}
QUANTIZE = "quantized_decomposed.quantize_per_tensor.default"
DEQUANTIZE = "quantized_decomposed.dequantize_per_tensor.default"


class Add(torch.nn.Module):
    """The model of ExecuTorch's tutorials."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


ONES = (torch.ones(1, 1, 1, 1), torch.ones(1, 1, 1, 1))


def calibrated(module: Any, quantizer: Any, *samples: tuple[torch.Tensor, ...]) -> torch.export.ExportedProgram:
    prepared = prepare_pt2e(module, quantizer)
    for sample in samples:
        prepared(*sample)
    return torch.export.export(convert_pt2e(prepared), samples[0])


def left(edge: Any) -> Counter[str]:
    """The operators outside of delegates; "delegate" counts these."""
    calls = (n.target for n in edge.exported_program().graph.nodes if n.op == "call_function")
    names = ("delegate" if t is executorch_call_delegate else t.__name__ for t in calls)
    return Counter(name for name in names if "getitem" not in name)


def only(pte: Path | bytes, backend: type) -> Delegate:
    """The program's one delegate."""
    (delegate,) = delegates(pte if isinstance(pte, bytes) else pte.read_bytes())
    assert delegate.backend_id == backend.__name__
    return delegate


def tutorial(spec: Any, quantizer: Any, partitioner: Any, module: Any, folder: Path) -> Path:
    """The flow of both "Getting Started" tutorials, from the compile spec to the saved program."""
    quantizer.set_global(get_symmetric_quantization_config(is_per_channel=False))
    program = calibrated(module, quantizer, ONES)
    edge = to_edge_transform_and_lower(
        program, partitioner=[partitioner], compile_config=EdgeCompileConfig(_check_ir_validity=False)
    )
    assert left(edge)["delegate"] == 1
    executorch_program = edge.to_executorch(config=ExecutorchBackendConfig(extract_delegate_segments=False))
    save_pte_program(executorch_program, str(folder / "simple_example.pte"))
    return folder / "simple_example.pte"


def test_ethos_u_getting_started(tmp_path: Path) -> None:
    module = torch.export.export(Add().eval(), ONES).module(check_guards=False)
    spec = EthosUCompileSpec(target="ethos-u55-128", **U55)
    pte = tutorial(spec, EthosUQuantizer(spec), EthosUPartitioner(spec), module, tmp_path)
    arrays = payload.unpack(only(pte, EthosUBackend).payload)
    assert arrays["input_shape"].shape == (2, 6) and arrays["output_elem_size"].tolist() == [1]


def test_vgf_getting_started(tmp_path: Path) -> None:
    module = torch.export.export(Add().eval(), ONES).graph_module
    spec = VgfCompileSpec("TOSA-1.0+INT")
    pte = tutorial(spec, VgfQuantizer(spec), VgfPartitioner(spec), module, tmp_path)
    assert extract_vgf(pte) == [only(pte, VgfBackend).payload]


def test_digits_for_ethos_u(tmp_path: Path) -> None:
    """The flow of the README: a fresh ``.module()`` with its guards, flags as a list, ``write_to_file``."""
    model, inputs = MODELS["digits"]()
    spec = EthosUCompileSpec("ethos-u55-128", **U55, extra_flags=["--output-format=raw"])
    spec.dump_intermediate_artifacts_to(tmp_path / "artifacts")
    spec.dump_debug_info(EthosUCompileSpec.DebugMode.JSON)
    quantizer = EthosUQuantizer(spec).set_global(get_symmetric_quantization_config(is_per_channel=True))
    program = calibrated(torch.export.export(model, inputs(0)).module(), quantizer, *(inputs(i) for i in range(3)))
    assert spec.get_output_format() == "vela"
    edge = to_edge_transform_and_lower(program, partitioner=[EthosUPartitioner(spec)])
    assert left(edge) == {"delegate": 1, QUANTIZE: 1, DEQUANTIZE: 1}
    with (tmp_path / "model.pte").open("wb") as file:
        edge.to_executorch().write_to_file(file)
    arrays = payload.unpack(only(tmp_path / "model.pte", EthosUBackend).payload)
    assert np.prod(arrays["input_shape"], axis=1).tolist() == [64]
    assert np.prod(arrays["output_shape"], axis=1).tolist() == [10]
    (folder,) = (tmp_path / "artifacts").iterdir()
    names = {file.name for file in folder.iterdir()}
    assert {"debug.json", "ethos-u55-128.tosa"} < names and any(name.endswith(".npz") for name in names)


@pytest.mark.parametrize(
    ("spec", "quantized"), [(None, False), (None, True), ("TOSA-1.0+FP", False), ("TOSA-1.0+INT", True)]
)
def test_digits_for_vgf(spec: str | None, quantized: bool, tmp_path: Path) -> None:
    """With float in the specification the delegate takes and gives float, quantized inside or not."""
    model, inputs = MODELS["digits"]()
    compile_spec = VgfCompileSpec(tosa_spec=spec, compiler_flags=None).dump_intermediate_artifacts_to(tmp_path)
    program = torch.export.export(model, inputs(0))
    if quantized:
        quantizer = VgfQuantizer(compile_spec).set_global(get_symmetric_quantization_config())
        program = calibrated(program.module(), quantizer, inputs(0), inputs(1))
    wanted = program.module()(*inputs(0)).detach().numpy()
    edge = to_edge_transform_and_lower(program, partitioner=[VgfPartitioner(compile_spec)])
    float_inside = spec != "TOSA-1.0+INT"
    assert left(edge) == ({"delegate": 1} if float_inside else {"delegate": 1, QUANTIZE: 1, DEQUANTIZE: 1})
    (vgf,) = extract_vgf(bytes(edge.to_executorch().buffer))
    assert [file.read_bytes() for file in tmp_path.rglob("*.vgf")] == [vgf]
    if float_inside:
        (tosa,) = tmp_path.rglob("*.tosa")
        (got,) = reference.run(tosa.read_bytes(), [inputs(0)[0].numpy()])
        # Quantized results lie on a grid: one step of it.
        np.testing.assert_allclose(got, wanted, atol=np.diff(np.unique(wanted)).min() * 1.01 if quantized else 1e-4)


def test_partial_quantization_for_vgf() -> None:
    """``set_module_type(..., None)`` leaves a layer in float, in the same delegate."""
    model, inputs = MODELS["digits"]()
    spec = VgfCompileSpec()
    quantizer = VgfQuantizer(spec).set_global(get_symmetric_quantization_config())
    quantizer.set_module_type(torch.nn.Linear, None)
    program = calibrated(torch.export.export(model, inputs(0)).module(), quantizer, inputs(0))
    assert left(to_edge_transform_and_lower(program, partitioner=[VgfPartitioner(spec)])) == {"delegate": 1}


def _io(quantizer: TOSAQuantizer) -> None:
    quantizer.set_global(None).set_io(get_symmetric_quantization_config())


def _name(quantizer: TOSAQuantizer) -> None:
    quantizer.set_global(None).set_module_name("head", get_symmetric_quantization_config())


def _type(quantizer: TOSAQuantizer) -> None:
    quantizer.set_global(None).set_module_type(torch.nn.Conv2d, get_symmetric_quantization_config(is_per_channel=False))


@pytest.mark.parametrize(
    ("configure", "weights"), [(_io, 0), (_name, 1), (_type, 3)], ids=["set_io", "set_module_name", "set_module_type"]
)
def test_quantizer_methods(configure: Callable[[TOSAQuantizer], None], weights: int) -> None:
    """What each quantizes of the digits network: its inputs and outputs, its linear layer, its three convolutions."""
    model, inputs = MODELS["digits"]()
    spec = VgfCompileSpec()
    quantizer = VgfQuantizer(spec)
    configure(quantizer)
    program = calibrated(torch.export.export(model, inputs(0)).module(), quantizer, inputs(0))
    frozen = [tensor.dtype for name, tensor in program.state_dict.items() if "_frozen_param" in name]
    assert frozen.count(torch.int8) == frozen.count(torch.int32) == weights  # a bias for each weight
    assert left(to_edge_transform_and_lower(program, partitioner=[VgfPartitioner(spec)])) == {"delegate": 1}


def test_quantization_aware_training() -> None:
    model, inputs = MODELS["digits"]()
    spec = TosaCompileSpec("TOSA-1.0+INT")
    quantizer = TOSAQuantizer(spec).set_global(get_symmetric_quantization_config(is_qat=True))
    prepared = prepare_qat_pt2e(torch.export.export(model, inputs(0)).module(), quantizer)
    optimizer = torch.optim.SGD(prepared.parameters(), lr=1e-3)
    for seed in range(2):
        optimizer.zero_grad()
        prepared(*inputs(seed)).square().sum().backward()
        optimizer.step()
    move_exported_model_to_eval(prepared)
    program = torch.export.export(convert_pt2e(prepared), inputs(0))
    edge = to_edge_transform_and_lower(program, partitioner=[TOSAPartitioner(spec)])
    assert left(edge) == {"delegate": 1, QUANTIZE: 1, DEQUANTIZE: 1}


def test_int16_activations() -> None:
    model, inputs = MODELS["digits"]()
    spec = TosaCompileSpec(TosaSpecification.create_from_string("TOSA-1.0+INT+int16"))
    quantizer = TOSAQuantizer(spec).set_global(get_symmetric_a16w8_quantization_config())
    program = calibrated(torch.export.export(model, inputs(0)).module(), quantizer, inputs(0))
    edge = to_edge_transform_and_lower(program, partitioner=[TOSAPartitioner(spec)])
    assert left(edge) == {"delegate": 1, QUANTIZE: 1, DEQUANTIZE: 1}


@pytest.mark.parametrize(("text", "today"), [("TOSA-0.80+BI", "INT"), ("TOSA-0.80+MI", "FP")])
def test_specifications_of_before_1_0(text: str, today: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"TOSA-1.0\+{today}"):
        spec = TosaCompileSpec(text)
    program = torch.export.export(Add(), ONES)
    if today == "INT":
        quantizer = TOSAQuantizer(spec).set_global(get_symmetric_quantization_config())
        program = calibrated(program.module(), quantizer, ONES)
    assert left(to_edge_transform_and_lower(program, partitioner=[TOSAPartitioner(spec)]))["delegate"] == 1


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u85-256"])
def test_a_float_model_on_ethos_u_warns_loudly(target: str) -> None:
    model, inputs = MODELS["digits"]()
    partitioner = EthosUPartitioner(EthosUCompileSpec(target))
    expected = f"nothing was delegated to {target}: .*is not quantized.*quantize_program"
    with pytest.warns(NothingDelegatedWarning, match=expected):
        edge = to_edge_transform_and_lower(torch.export.export(model, inputs(0)), partitioner=[partitioner])
    assert left(edge)["delegate"] == 0
    assert partitioner.report is not None
    for row in partitioner.report.rejected:
        assert row.reason and "digits_model.py:" in row.source


def test_every_name_of_the_public_interface() -> None:
    names = {
        arm_tosa_core: "TosaSpecification TosaCompileSpec TOSAPartitioner TOSAQuantizer TOSABackend QuantizationConfig "
        "get_symmetric_quantization_config get_symmetric_a16w8_quantization_config",
        arm_ethosu: "EthosUCompileSpec EthosUPartitioner EthosUQuantizer EthosUBackend",
        arm_vgf: "VgfCompileSpec VgfPartitioner VgfQuantizer VgfBackend extract_vgf",
    }
    for package, text in names.items():
        for name in text.split():
            assert getattr(package, name).__name__ == name
            assert name in package.__all__


@pytest.mark.parametrize(
    ("package", "name", "spec"),
    [("arm_ethosu", "EthosU", "EthosUCompileSpec('ethos-u55-128')"), ("arm_vgf", "Vgf", "VgfCompileSpec()")],
)
def test_a_partitioner_brings_its_backend(package: str, name: str, spec: str) -> None:
    """ExecuTorch finds backends by name among the classes that exist: in a process that imports no backend itself."""
    script = f"""
from {package} import {name}CompileSpec, {name}Partitioner
backend_id = {name}Partitioner({spec}).delegation_spec.backend_id
from executorch.exir.backend.backend_details import BackendDetails
(found,) = [known for known in BackendDetails.__subclasses__() if known.__name__ == backend_id]
assert found.__module__ == "{package}.backend", found.__module__
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=300)
