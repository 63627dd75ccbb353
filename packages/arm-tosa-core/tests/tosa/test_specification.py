"""Parsing, printing and comparing specifications."""

from __future__ import annotations

import pytest

from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.tosa.specification import TosaSpecification

parse = TosaSpecification.create_from_string


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("TOSA-1.0+INT", "TOSA-1.0+INT"),
        ("TOSA-1.00.0+FP", "TOSA-1.0+FP"),
        ("TOSA-1.0+FP+INT", "TOSA-1.0+INT+FP"),
        ("TOSA-1.0+INT+u55+int16+int4+cf", "TOSA-1.0+INT+int4+int16+cf+u55"),
        ("TOSA-1.0+INT+controlflow+variable+8k", "TOSA-1.0+INT+var+cf"),
        ("TOSA-1.0+FP+bf16+fft+fp8e4m3+fp8e5m2+dynamic", "TOSA-1.0+FP+bf16+fp8e4m3+fp8e5m2+fft+dynamic"),
        ("TOSA-1.0+INT+doubleround+inexactround", "TOSA-1.0+INT+doubleround+inexactround"),
        ("TOSA-1.1.0+FP+mxfp_conv+mxfp+shape+int64", "TOSA-1.1+FP+int64+mxfp+mxfp_conv+shape"),
    ],
)
def test_prints_one_form_and_reads_it_back(text: str, printed: str) -> None:
    spec = parse(text)
    assert str(spec) == printed
    assert parse(printed) == spec
    assert hash(parse(printed)) == hash(spec)


@pytest.mark.parametrize("other", ["TOSA-1.0+FP", "TOSA-1.0+INT+FP", "TOSA-1.0+INT+int16", "TOSA-1.0+INT+u55"])
def test_equality_sees_profiles_extensions_and_u55(other: str) -> None:
    assert parse(other) != parse("TOSA-1.0+INT")


def test_questions_about_a_specification() -> None:
    spec = parse("TOSA-1.0+INT+int16+cf+u55")
    assert spec.support_integer() and not spec.support_float()
    assert spec.support_extension("int16") and spec.support_extension("controlflow")
    assert not spec.support_extension("int4")
    assert spec.is_U55_subset
    assert (spec.version.major, spec.version.minor) == (1, 0)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "malformed"),
        ("TOSA-1.0", "malformed"),
        ("tosa-1.0+INT", "malformed"),
        ("TOSA-1.0+", "malformed"),
        ("TOSA-1.0+INT++cf", "malformed"),
        ("TOSA-1.0+INT+int8", r"unknown word 'int8' .*valid: INT, FP, int4, int16"),
        ("TOSA-1.0+BI", "unknown word 'BI'"),
        ("TOSA-1.0+int16", "needs a profile"),
        ("TOSA-1.0+FP+int16", "extends the INT profile"),
        ("TOSA-1.0+INT+bf16", "extends the FP profile"),
        ("TOSA-1.2+INT", "TOSA 1.2 is not supported; supported: 1.0, 1.1, a draft"),
        ("TOSA-2.0+INT", "supported: 1.0"),
        ("TOSA-1.0+FP+mxfp", "'mxfp' is of TOSA 1.1; those of TOSA 1.0 are int4, int16, doubleround"),
        ("TOSA-1.0+INT+int64", "'int64' is of TOSA 1.1; those of TOSA 1.0 are int4, int16, doubleround"),
        ("TOSA-1.1+FP+random", "unknown word 'random' .*valid: INT, FP, int4, int16, int64, .*mxfp, mxfp_conv"),
        ("TOSA-1.1+INT+mxfp", "extends the FP profile"),
    ],
)
def test_bad_specifications_say_what_is_wrong(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        parse(text)


@pytest.mark.parametrize(("old", "new"), [("BI", "INT"), ("MI", "FP"), ("BI+u55", "INT+u55")])
def test_tosa_0_80_is_read_with_a_warning(old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"read as TOSA-1.0\+{new.replace('+', '.')}; TOSA 0.80 is obsolete"):
        assert parse(f"TOSA-0.80+{old}") == parse(f"TOSA-1.0+{new}")
