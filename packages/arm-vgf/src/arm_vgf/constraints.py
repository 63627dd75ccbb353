"""Checks of emitted operators that TOSA admits and model-converter 0.11 refuses.

Found by converting one graph per operator and data type combination of the operator table, with every extension on
(tests/test_constraints.py repeats it). Everything in the INT and FP profiles converts, with int4 and int16 too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from arm_tosa_core.support.errors import Rejected
from arm_tosa_core.tosa.ir import DType, Op
from arm_tosa_core.tosa.verifier import Check

_DOMAIN_FLAG = "--custom-op-domain-to-opcode"
_BESPOKE_DOMAIN = "com.arm.bespoke"
#: Its operators are compute shaders: each becomes a segment of its own.
SHADERS = "com.arm.VulkanCustomShader"
_FP8 = (DType.FP8E4M3, DType.FP8E5M2)
_LACKING = ("MATMUL_T", "ASSERT_EQUAL_SHAPE")


def checks_for(flags: Sequence[str]) -> tuple[Check, ...]:
    """The checks of a converter that runs with these flags, one word each."""
    return (_fp8_matmul, _draft, partial(_custom, _domains(flags)))


def _fp8_matmul(op: Op) -> Rejected | None:
    if op.name != "MATMUL" or op.inputs[0].dtype not in _FP8:
        return None
    a, b, result = op.inputs[0].dtype, op.inputs[1].dtype, op.output.dtype
    if a is not b:
        return Rejected(f"MATMUL of {a} by {b} is not supported by VGF", "give both operands one FP8 type")
    if result is not DType.FP16:
        return Rejected(f"MATMUL of {a} to {result} is not supported by VGF", "let it return FP16 and cast that")
    return None


def _draft(op: Op) -> Rejected | None:
    """Operators of the draft of TOSA 1.1 that the converter lacks."""
    types = {tensor.dtype for tensor in (*op.inputs[:1], *op.outputs)}
    bools = DType.BOOL in types and (
        op.name in ("GATHER", "ROW_GATHER", "SCATTER") or (op.name == "CAST" and DType.FP32 in types)
    )
    rows = op.name == "ROW_GATHER" and op.inputs[2].data != 1  # of one row it becomes a GATHER
    if rows and not bools:
        return Rejected("ROW_GATHER is supported by VGF with a row_count of 1 only")
    if bools or op.name in _LACKING or op.name.endswith("_BLOCK_SCALED"):
        of = f" of {', '.join(sorted(types))}" if op.outputs else ""
        return Rejected(f"{op.name}{of} is not supported by VGF")
    return None


def _custom(domains: frozenset[str], op: Op) -> Rejected | None:
    domain = op.attrs.get("domain_name")
    if op.name == "CUSTOM" and domain == SHADERS and len(set(map(id, op.inputs))) < len(op.inputs):
        return Rejected("a shader takes one tensor twice, which the model converter binds once", "give it once")
    if op.name != "CUSTOM" or domain in domains:
        return None
    fix = "--enable-bespoke" if domain == _BESPOKE_DOMAIN else f"{_DOMAIN_FLAG} {domain}:OPCODE"
    return Rejected(f"custom domain {domain!r} has no opcode in VGF", f"add {fix} to compiler_flags")


def _domains(flags: Sequence[str]) -> frozenset[str]:
    """Domains of custom operators that the flags give an opcode."""
    values = [flag.partition("=")[2] for flag in flags if flag.startswith(f"{_DOMAIN_FLAG}=")]
    values += [value for flag, value in pairwise(flags) if flag == _DOMAIN_FLAG]
    bespoke = [_BESPOKE_DOMAIN] if "--enable-bespoke" in flags else []
    return frozenset([SHADERS, *(value.rpartition(":")[0] for value in values), *bespoke])
