"""Arrays as the libraries read them."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def plain(values: Any) -> Array:
    """The same elements and shape, in row-major order and this machine's byte order; a copy only where that differs."""
    array = np.asarray(values)
    if array.flags.c_contiguous and array.dtype.isnative:
        return array
    # numpy gives arrays without dimensions one when it makes them contiguous.
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("=")).reshape(array.shape)
