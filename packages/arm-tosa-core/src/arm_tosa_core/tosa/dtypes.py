"""TOSA data types as PyTorch and NumPy types. PyTorch is imported only by the functions that need it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from ..support.errors import Rejected
from .ir import DType

if TYPE_CHECKING:
    import torch

_NUMPY: dict[DType, np.dtype[Any]] = {
    DType.BOOL: np.dtype(np.bool_),
    DType.INT4: np.dtype(np.int8),
    DType.INT8: np.dtype(np.int8),
    DType.UINT8: np.dtype(np.uint8),
    DType.INT16: np.dtype(np.int16),
    DType.UINT16: np.dtype(np.uint16),
    DType.INT32: np.dtype(np.int32),
    DType.INT48: np.dtype(np.int64),
    DType.INT64: np.dtype(np.int64),
    DType.MXINT8: np.dtype(np.int8),
    DType.FP4E2M1: np.dtype(ml_dtypes.float4_e2m1fn),
    DType.FP6E2M3: np.dtype(ml_dtypes.float6_e2m3fn),
    DType.FP6E3M2: np.dtype(ml_dtypes.float6_e3m2fn),
    DType.FP8UE8M0: np.dtype(ml_dtypes.float8_e8m0fnu),
    DType.FP8E4M3: np.dtype(ml_dtypes.float8_e4m3fn),
    DType.FP8E5M2: np.dtype(ml_dtypes.float8_e5m2),
    DType.FP16: np.dtype(np.float16),
    DType.BF16: np.dtype(ml_dtypes.bfloat16),
    DType.FP32: np.dtype(np.float32),
    DType.SHAPE: np.dtype(np.int64),
}


def numpy_dtype(dtype: DType) -> np.dtype[Any]:
    """The NumPy type that holds ``dtype``: INT4 in int8, INT48 and SHAPE in int64, many in ``ml_dtypes``."""
    return _NUMPY[dtype]


@cache
def _torch_types() -> dict[torch.dtype, DType]:
    import torch

    return {
        torch.bool: DType.BOOL,
        torch.int8: DType.INT8,
        torch.uint8: DType.UINT8,
        torch.int16: DType.INT16,
        torch.uint16: DType.UINT16,
        torch.int32: DType.INT32,
        torch.float8_e4m3fn: DType.FP8E4M3,
        torch.float8_e5m2: DType.FP8E5M2,
        torch.float16: DType.FP16,
        torch.bfloat16: DType.BF16,
        torch.float32: DType.FP32,
    }


def torch_to_tosa(dtype: torch.dtype) -> DType:
    """The TOSA type with the same values.

    Raises:
        Rejected: there is none; int64 and float64 among others.
    """
    tosa_type = _torch_types().get(dtype)
    if tosa_type is None:
        name = str(dtype).removeprefix("torch.")
        narrower = {"int64": "int32", "float64": "float32"}.get(name)
        raise Rejected(f"TOSA 1.0 has no type {name}", f"convert to {narrower}" if narrower else "")
    return tosa_type


def to_array(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """A tensor as an array; bfloat16 and float8, which NumPy lacks, as ``ml_dtypes``."""
    import torch

    if tensor.dtype not in _numpy_lacks():
        return tensor.numpy()
    bits = torch.int16 if tensor.itemsize == 2 else torch.int8
    return tensor.contiguous().view(bits).numpy().view(numpy_dtype(torch_to_tosa(tensor.dtype)))


def from_array(array: np.ndarray[Any, Any], dtype: torch.dtype) -> torch.Tensor:
    """An array as a tensor of ``dtype``, its own copy of the data; ``to_array`` undone."""
    import torch

    if dtype not in _numpy_lacks():
        return torch.from_numpy(np.array(array)).to(dtype)
    bits = np.int16 if dtype.itemsize == 2 else np.int8
    return torch.from_numpy(np.array(array).view(bits)).view(dtype)


@cache
def _numpy_lacks() -> frozenset[torch.dtype]:
    import torch

    return frozenset({torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2})


def has_torch_type(dtype: DType) -> bool:
    """Whether PyTorch has a type of these numbers and no others."""
    return dtype in _torch_types().values()


def tosa_to_torch(dtype: DType) -> torch.dtype:
    """The PyTorch type that holds ``dtype``: INT4 in int8, INT48 and SHAPE in int64."""
    import torch

    wider = {DType.INT4: torch.int8, DType.INT48: torch.int64, DType.SHAPE: torch.int64}
    return wider.get(dtype) or next(key for key, value in _torch_types().items() if value is dtype)
