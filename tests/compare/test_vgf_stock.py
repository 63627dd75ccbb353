"""VGF both ways: a ``.pte`` of executorch.backends.arm runs on our ``VgfBackend``, ours is what its delegate takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

# In processes of their own: the rival's classes have the names of ours.
_MAKE = """
import sys
import torch
from executorch.backends.arm.vgf import VgfCompileSpec, VgfPartitioner
from executorch.exir import to_edge_transform_and_lower
sys.path.insert(0, sys.argv[1])
from models import MODELS
model, inputs = MODELS["digits"]()
program = torch.export.export(model.eval(), inputs(1))
edge = to_edge_transform_and_lower(program, partitioner=[VgfPartitioner(VgfCompileSpec())])
open(sys.argv[2], "wb").write(edge.to_executorch().buffer)
"""
_RUN = """
import sys
import arm_runtime
import torch
from executorch.runtime import Runtime
method = Runtime.get().load_program(sys.argv[1]).load_method("forward")
torch.save(method.execute(torch.load(sys.argv[2])), sys.argv[3])
"""


def test_stock_program(tmp_path: Path) -> None:
    pytest.importorskip("arm_runtime", reason="arm-runtime-cpp is not installed")
    from models import MODELS

    pte, x, y = (str(tmp_path / name) for name in ("stock.pte", "x.pt", "y.pt"))
    model, inputs = MODELS["digits"]()
    torch.save(list(inputs(2)), x)
    for code, *words in ((_MAKE, str(Path(__file__).parents[1]), pte), (_RUN, pte, x, y)):
        done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=600)
        if "install" in done.stderr and "VgfBackend" in done.stderr:
            pytest.skip(done.stderr.strip().splitlines()[-1])
        assert done.returncode == 0, done.stderr[-3000:]
    torch.testing.assert_close(torch.load(y)[0], model(*inputs(2)), rtol=1e-4, atol=1e-6)


class Edges(torch.nn.Module):
    """Inputs and outputs of every kind, several of each, constants, and int64 at both ends."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(20, 4)
        self.conv = torch.nn.Conv2d(3, 4, 3)

    def forward(self, i: torch.Tensor, x: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = self.conv(x)
        return self.table(i), y, y.argmax(1), torch.logical_not(b), (x * 2).to(torch.int8)


# ExecuTorch's ScalarType of a VkFormat that the stock delegate knows the size of (get_format_size in its VGFSetup.cpp).
_TENSOR = _BOOL = 1000460000  # VK_DESCRIPTOR_TYPE_TENSOR_ARM, VK_FORMAT_R8_BOOL_ARM
_SCALAR_TYPES = {_BOOL: 11, 13: 0, 14: 1, 75: 2, 76: 5, 99: 3, 100: 6}


def _bindings(sequence: Any, handle: Any) -> list[int]:
    return [sequence.getBindingSlotMrtIndex(handle, slot) for slot in range(sequence.getBindingsSize(handle))]


@pytest.mark.parametrize("version", [None, "0.4"])
def test_ours_is_what_the_stock_delegate_takes(version: str | None) -> None:
    """One graph segment, no tensors between, constants by number; the delegate's arguments are the resources that are
    inputs and outputs, in the order of the table, and their bytes are copied as they are. Source: ``VGFSetup.cpp`` and
    ``VGFBackend.cpp`` in ``backends/arm/runtime`` of ExecuTorch, whose first versions take least."""
    import vgfpy
    from executorch.exir import to_edge_transform_and_lower
    from executorch.exir._serialize._program import deserialize_pte_binary

    from arm_tosa_core.exir.pte import delegates
    from arm_vgf import VgfCompileSpec, VgfPartitioner

    example = (torch.tensor([1, 2]), torch.randn(1, 3, 5, 5), torch.tensor([True, False]))
    exported = torch.export.export(Edges().eval(), example)
    edge = to_edge_transform_and_lower(exported, partitioner=[VgfPartitioner(VgfCompileSpec(vgf_version=version))])
    pte = bytes(edge.to_executorch().buffer)
    (plan,) = deserialize_pte_binary(pte).program.execution_plan
    steps = [step.instr_args for chain in plan.chains for step in chain.instructions]
    calls = {step.delegate_index: step.args for step in steps if hasattr(step, "delegate_index")}
    payloads = [delegate.payload for delegate in delegates(pte)]
    assert len(calls) == len(payloads) > 0
    seen = set()
    for index, vgf in enumerate(payloads):
        header = vgfpy.CreateHeaderDecoder(vgf, vgfpy.HeaderSize(), len(vgf))
        assert header.IsValid() and header.CheckVersion()
        assert version is None or vgf[8:10] == bytes(map(int, version.split(".")))

        def decoder(section: str, vgf: bytes = vgf, header: Any = header) -> Any:
            start, size = (getattr(header, f"Get{section}{what}")() for what in ("Offset", "Size"))
            return getattr(vgfpy, f"Create{section}Decoder")(vgf[start : start + size], size)

        sequence, table = decoder("ModelSequenceTable"), decoder("ModelResourceTable")
        assert sequence.modelSequenceTableSize() == 1
        assert sequence.getSegmentType(0) == vgfpy.ModuleType.Graph
        assert sequence.getSegmentDescriptorSetInfosSize(0) == 1
        constants = sequence.getSegmentConstantBindings(0)
        assert all(constant.graphConstantId == constant.constantIndex for constant in constants)
        category = [table.getCategory(i) for i in range(table.size())]
        roles = vgfpy.ResourceCategory
        assert roles.Intermediate not in category
        inputs, outputs = ([i for i, c in enumerate(category) if c == role] for role in (roles.Input, roles.Output))
        assert inputs + outputs == sorted(inputs + outputs)
        assert _bindings(sequence, sequence.getSegmentInputBindingSlotsHandle(0)) == inputs
        assert _bindings(sequence, sequence.getSegmentOutputBindingSlotsHandle(0)) == outputs
        arguments = [plan.values[value].val for value in calls[index]]
        assert len(arguments) == len(inputs + outputs)
        for resource, argument in zip(inputs + outputs, arguments, strict=True):
            assert table.getDescriptorType(resource) == _TENSOR
            assert list(table.getTensorShape(resource)) == [argument.sizes[d] for d in argument.dim_order]
            assert _SCALAR_TYPES[table.getVkFormat(resource)] == argument.scalar_type
            seen.add(argument.scalar_type)
    assert seen == {1, 3, 6, 11}  # int8, int32, float32, bool
