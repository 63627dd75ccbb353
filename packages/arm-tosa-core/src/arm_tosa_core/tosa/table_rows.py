"""The types that operators of TOSA take, in the short form of ``table``, which explains the rows."""

from __future__ import annotations

from .ir import DType

CODES = {
    "b": DType.BOOL,
    "i4": DType.INT4,
    "i8": DType.INT8,
    "u8": DType.UINT8,  # i8 of a RESCALE that calls it unsigned
    "i16": DType.INT16,
    "i32": DType.INT32,
    "i48": DType.INT48,
    "i64": DType.INT64,
    "f16": DType.FP16,
    "f32": DType.FP32,
    "bf": DType.BF16,
    "e4": DType.FP8E4M3,
    "e5": DType.FP8E5M2,
    "f4": DType.FP4E2M1,
    "f6e2": DType.FP6E2M3,
    "f6e3": DType.FP6E3M2,
    "m8": DType.MXINT8,
    "s8": DType.FP8UE8M0,  # the scale of a block
    "sh": DType.SHAPE,
}
Rows = dict[str, list[str]]


def also(word: str, rows: Rows) -> Rows:
    """Rows that need one word more, such as ``"1.1"``."""
    return {"|".join(f"{part}&{word}" for part in key.split("|")): texts for key, texts in rows.items()}


def same(count: int, **types: str) -> Rows:
    """Rows in which all ``count`` types are equal; keywords are requirements, with EITHER for ``"INT|FP"``."""
    return {
        key.replace("EITHER", "INT|FP"): [" ".join([code] * count) for code in codes.split()]
        for key, codes in types.items()
    }


def merge(*parts: Rows) -> Rows:
    merged: Rows = {}
    for part in parts:
        for requirement, rows in part.items():
            merged.setdefault(requirement, []).extend(rows)
    return merged


FP8 = {"fp8e4m3": "e4", "fp8e5m2": "e5"}
FLOAT_1 = same(2, FP="f16 f32", bf16="bf")
FLOAT_2 = same(3, FP="f16 f32", bf16="bf")
MXFP = ["e4", "e5", "f6e2", "f6e3", "f4"]
MX = [*MXFP, "m8"]
BITWISE_2 = same(3, INT="i8 i16 i32", int64="i64")
SHIFT_2 = same(3, EITHER="i8 i16 i32", int64="i64")
LOGICAL_2 = same(3, EITHER="b")
MOVE = same(2, EITHER="b", INT="i8 i16 i32", int64="i64", FP="f16 f32", bf16="bf", **FP8)
COMPARE: Rows = {"INT": ["i32 i32 b"], "int64": ["i64 i64 b"], "FP": ["f16 f16 b", "f32 f32 b"], "bf16": ["bf bf b"]}
POOL = same(2, INT="i8", int16="i16", FP="f16 f32", bf16="bf", **FP8)
AVG_POOL: Rows = {
    "INT": ["i8 i8 i8 i32 i8"],
    "int16": ["i16 i16 i16 i32 i16"],
    "FP": ["f16 f16 f16 f16 f16", "f16 f16 f16 f32 f16", "f32 f32 f32 f32 f32"],
    "bf16": ["bf bf bf f32 bf"],
    "fp8e4m3": ["e4 e4 e4 f16 e4"],
    "fp8e5m2": ["e5 e5 e5 f16 e5"],
}
GATHER: Rows = (
    {"INT": ["i8 i32 i8", "i16 i32 i16", "i32 i32 i32"], "FP": ["f16 i32 f16", "f32 i32 f32"]}
    | {"bf16": ["bf i32 bf"], "fp8e4m3": ["e4 i32 e4"], "fp8e5m2": ["e5 i32 e5"]}
    | {"INT&1.1": ["b i32 b"], "int64": ["i64 i64 i64"]}
    | {"INT&int64": [f"{t} i64 {t}" for t in ("b", "i8", "i16", "i32")]}
    | {"FP&int64": ["f16 i64 f16", "f32 i64 f32"]}
)
#: As GATHER, but for INT16, which needs its extension.
ROW_GATHER = merge(
    {key: [row for row in rows if "i16" not in row] for key, rows in also("1.1", GATHER).items()},
    {"int16&1.1": ["i16 i32 i16"], "int16&int64": ["i16 i64 i16"]},
)
CONV: Rows = {  # input, weight, bias, input_zp, weight_zp, accumulator, result
    "INT": ["i8 i8 i32 i8 i8 i32 i32"],
    "int4": ["i8 i4 i32 i8 i4 i32 i32"],
    "int16": ["i16 i8 i48 i16 i8 i48 i48"],
    "FP": ["f16 f16 f16 f16 f16 f16 f16", "f16 f16 f16 f16 f16 f32 f16", "f32 f32 f32 f32 f32 f32 f32"],
    "bf16": ["bf bf bf bf bf f32 bf"],
    "fp8e4m3": ["e4 e4 f16 e4 e4 f16 f16"],
    "fp8e5m2": ["e5 e5 f16 e5 e5 f16 f16"],
}
