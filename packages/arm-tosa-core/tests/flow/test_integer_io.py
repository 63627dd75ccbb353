"""Programs that take and return the integers of a quantized model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from executorch.runtime import Runtime, Verification
from flow_kit import Net, export, quantize
from program_kit import X, Y
from torch.export import ExportedProgram

from arm_tosa_core import get_uint8_io_quantization_config, lower
from arm_tosa_core.aten.integer_edges import Integers, with_integer_edges


def _int(program: ExportedProgram, number: int, x: torch.Tensor) -> torch.Tensor:
    """An input as the program's first quantize node of it makes it."""
    _, found = with_integer_edges(program)
    i = found[f"input{number}"]
    return torch.ops.quantized_decomposed.quantize_per_tensor(x, i.scale, i.zero_point, i.low, i.high, i.dtype)


def _real(integers: Integers, x: torch.Tensor) -> torch.Tensor:
    return (x.float() - integers.zero_point) * integers.scale


def _uint8(quantizer: Any) -> None:
    quantizer.set_io(get_uint8_io_quantization_config())


@pytest.mark.parametrize(
    ("configure", "dtype"), [(lambda quantizer: None, torch.int8), (_uint8, torch.uint8)], ids=["int8", "uint8"]
)
def test_the_program_means_the_same(configure: Callable[[Any], Any], dtype: torch.dtype) -> None:
    program = quantize(Net(lambda net, x, y: (net.conv(x) + y, net.conv2(y))), (X, Y), configure)
    made, integers = with_integer_edges(program)
    assert list(integers) == ["input0", "input1", "output0", "output1"]
    assert {found.dtype for found in integers.values()} == {dtype}
    given = [_int(program, i, value) for i, value in enumerate((X, Y))]
    for number, (ours, wanted) in enumerate(zip(made.module()(*given), program.module()(X, Y), strict=True)):
        torch.testing.assert_close(_real(integers[f"output{number}"], ours), wanted)
    assert [leaf.dtype for leaf in made.example_inputs[0]] == [dtype, dtype]


def test_what_is_float_stays_so() -> None:
    program = quantize(Net(lambda net, x, y: (net.conv(x), y)), (X, Y))
    _, integers = with_integer_edges(program)
    assert list(integers) == ["input0", "output0"]
    assert with_integer_edges(export(Net(lambda net, x: net.conv(x)), (X,)))[1] == {}


def test_nothing_is_left_on_the_cpu() -> None:
    lowered = lower(quantize(Net(lambda net, x: net.conv(x)), (X,)), "tosa-int", integer_io=True)
    assert lowered.report.edges == 0 and not lowered.report.rejected
    program = Runtime.get().load_program(lowered.buffer)
    method = program.metadata("forward")
    assert method.input_tensor_meta(0).dtype() == method.output_tensor_meta(0).dtype() == 1  # Char


def test_the_cache_keeps_apart_what_has_other_methods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARM_TOSA_CACHE_DIR", str(tmp_path))
    program = quantize(Net(lambda net, x: net.conv(x)), (X,))
    bare, _ = with_integer_edges(program)
    assert not lower(bare, "tosa-int", cache=True).cached
    made = [lower(program, "tosa-int", integer_io=True, cache=True) for _ in range(2)]
    assert [each.cached for each in made] == [False, True] and made[0].buffer == made[1].buffer
    assert "input0_scale" in Runtime.get().load_program(made[1].buffer).method_names


@pytest.mark.parametrize("target", ["ethos-u55-128", "vgf"])
def test_devices_run_it(target: str) -> None:
    pytest.importorskip("arm_runtime", reason="nox builds arm-runtime-cpp")
    program = quantize(Net(lambda net, x: net.conv(x)), (X,))
    lowered = lower(program, target, integer_io=True)
    loaded = Runtime.get().load_program(lowered.buffer, verification=Verification.Minimal)
    (result,) = loaded.load_method("forward").execute([_int(program, 0, X)])
    assert result.dtype == torch.int8
    scale, zero = (loaded.load_method(f"output0_{key}").execute([])[0] for key in ("scale", "zp"))
    assert (scale, zero) == (lowered.integers["output0"].scale, lowered.integers["output0"].zero_point)
    torch.testing.assert_close((result.float() - zero) * scale, program.module()(X), rtol=0, atol=1.01 * scale)
