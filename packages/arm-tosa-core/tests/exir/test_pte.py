"""Reading delegates out of a program, however their payloads are stored."""

from __future__ import annotations

import pytest
from executorch.exir import schema
from executorch.exir._serialize._program import PTEFile, serialize_pte_binary
from executorch.exir.backend.compile_spec_schema import CompileSpec

from arm_tosa_core.exir.pte import delegates
from arm_tosa_core.support.errors import UsageError

PAYLOADS = {"AcmeBackend": b"first payload", "VgfBackend": b"VGF1" + bytes(range(256)), "XnnpackBackend": b""}


def program(*, segments: bool) -> bytes:
    """A ``.pte`` of one method with the delegates of ``PAYLOADS`` and nothing to execute."""
    made = [
        schema.BackendDelegate(
            id=name,
            processed=schema.BackendDelegateDataReference(schema.DataLocation.INLINE, index),
            compile_specs=[CompileSpec("key", b"value")],
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
    assert found[0].compile_specs == (("key", b"value"),)


GARBAGE = {
    "empty": b"",
    "text": b"this is not a program at all",
    "identifier alone": b"\x10\0\0\0ET12",
    "pattern": b"\xff\xff\xff\x7fET12" + b"\xee" * 400,
    "cut in the segments": program(segments=True)[:-200],
    "cut in the flatbuffer": program(segments=False)[:64],
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_is_refused(kind: str) -> None:
    with pytest.raises(UsageError, match="not an ExecuTorch program|damaged ExecuTorch program"):
        delegates(GARBAGE[kind])
