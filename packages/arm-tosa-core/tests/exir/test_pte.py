"""Reading delegates out of a program, however their payloads are stored."""

from __future__ import annotations

import pytest
import torch
from executorch.exir import schema
from executorch.exir._serialize._program import PTEFile, serialize_pte_binary
from executorch.exir.backend.compile_spec_schema import CompileSpec

import arm_tosa_core
from arm_tosa_core.compat.executorch import read_program
from arm_tosa_core.exir import pte_schema
from arm_tosa_core.exir.pte import InputTensor, delegates, read
from arm_tosa_core.support.errors import UsageError

PAYLOADS = {"AcmeBackend": b"first payload", "VgfBackend": b"VGF1" + bytes(range(256)), "XnnpackBackend": b""}


def program(*, segments: bool) -> bytes:
    """A ``.pte`` of one method with the delegates of ``PAYLOADS`` and nothing to execute."""
    made = [
        schema.BackendDelegate(
            id=name,
            processed=schema.BackendDelegateDataReference(schema.DataLocation.INLINE, index),
            compile_specs=[CompileSpec("key", b"value"), CompileSpec("none", b"")],
        )
        for index, name in enumerate(PAYLOADS)
    ]
    plan = schema.ExecutionPlan(
        name="forward",
        container_meta_type=schema.ContainerMetadata("", ""),
        values=[],
        inputs=[],
        outputs=[],
        chains=[],
        operators=[],
        delegates=made,
        non_const_buffer_sizes=[0],
    )
    whole = schema.Program(
        version=0,
        execution_plan=[plan],
        constant_buffer=[schema.Buffer(b"")],
        backend_delegate_data=[schema.BackendDelegateInlineData(data) for data in PAYLOADS.values()],
        segments=[],
        constant_segment=schema.SubsegmentOffsets(0, []),
    )
    return bytes(serialize_pte_binary(PTEFile(whole), extract_delegate_segments=segments))


@pytest.mark.parametrize("segments", [False, True])
def test_payloads_come_back_inline_and_from_segments(segments: bool) -> None:
    found = delegates(program(segments=segments))
    assert {delegate.backend_id: delegate.payload for delegate in found} == PAYLOADS
    assert [delegate.index for delegate in found] == [0, 1, 2]
    assert {delegate.method for delegate in found} == {"forward"}
    assert found[0].compile_specs == (("key", b"value"), ("none", b""))


def test_what_a_program_takes() -> None:
    module = torch.nn.Conv2d(3, 4, 1).eval()
    for memory, order in ((torch.contiguous_format, (0, 1, 2, 3)), (torch.channels_last, (0, 2, 3, 1))):
        x = torch.randn(1, 3, 4, 5).to(memory_format=memory)
        program = torch.export.export(module, (x,))
        pte = arm_tosa_core.lower(program, "tosa-fp", memory_format=torch.preserve_format).buffer
        assert read(pte).inputs == {"forward": [InputTensor(order, sizes=(1, 3, 4, 5))]}


@pytest.mark.parametrize(
    ("order", "sizes", "words"),
    [
        ((), (), "row-major"),
        ((0, 1), (2, 3), "row-major"),
        ((0, 2, 1), (2, 3, 4), "channels-last"),
        ((2, 0, 3, 1), (1, 3, 4, 5), "channels-last"),
        ((0, 2, 3, 1), (2, 1, 4, 5), "row-major"),
        ((0, 2, 3, 4, 1), (2, 3, 4, 5, 6), "channels-last"),
        ((1, 0), (2, 3), "with its axes as 1, 0"),
        ((0, 3, 1, 2), (1, 3, 4, 5), "with its axes as 0, 3, 1, 2"),
    ],
)
def test_an_order_has_a_name(order: tuple[int, ...], sizes: tuple[int, ...], words: str) -> None:
    assert InputTensor(order, sizes=sizes).memory == words


GARBAGE = {
    "empty": b"",
    "text": b"this is not a program at all",
    "identifier alone": b"\x10\0\0\0ET12",
    "pattern": b"\xff\xff\xff\x7fET12" + b"\xee" * 400,
    "cut in the segments": program(segments=True)[:-200],
    "cut in the flatbuffer": program(segments=False)[:64],
}


@pytest.mark.parametrize("missing", ["payload", "key", "value"])
def test_a_delegate_without_a_part_is_refused(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed, named = read_program(program(segments=False))
    plan = parsed.execution_plan[0]
    if missing == "payload":
        parsed.backend_delegate_data[plan.delegates[0].processed.index].data = None
    else:
        setattr(plan.delegates[0].compile_specs[0], missing, None)
    monkeypatch.setattr(pte_schema, "read_program", lambda _data: (parsed, named))
    with pytest.raises(UsageError, match="a delegate of 'forward' has (no payload|a compile spec without)"):
        delegates(program(segments=False))


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_is_refused(kind: str) -> None:
    with pytest.raises(UsageError, match="not an ExecuTorch program|damaged ExecuTorch program"):
        delegates(GARBAGE[kind])
