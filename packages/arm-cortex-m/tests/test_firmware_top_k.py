"""The greatest of a model's outputs, in C."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest
from c_compiler import WARNINGS

from arm_cortex_m.firmware.c_text import FOLDER
from build_tools import require


@pytest.mark.parametrize("kind", ["int8", "int16"])
def test_the_greatest_come_in_order(kind: str, tmp_path: Path) -> None:
    """Of equal ones the first is first, as numpy sorts; never more than there are, and never beyond the array."""
    require("cc")
    source = f"""
#include "model_top_k.h"
size_t top(const {kind}_t *scores, size_t count, size_t *places, size_t k);
size_t top(const {kind}_t *scores, size_t count, size_t *places, size_t k) {{
    return model_top_k_{kind}(scores, count, places, k);
}}
"""
    (tmp_path / "top.c").write_text(source)
    command = ["cc", *WARNINGS, "-Os", f"-I{FOLDER / 'common'}", "-shared", "-fPIC", "-o", tmp_path / "top.so"]
    subprocess.run([*map(str, command), str(tmp_path / "top.c")], check=True, timeout=60)
    top = ctypes.CDLL(str(tmp_path / "top.so")).top
    top.restype = ctypes.c_size_t
    rng = np.random.default_rng(0)
    few = np.iinfo(kind)
    for count in (0, 1, 2, 10, 100):
        for k in (0, 1, 3, 10, 101):
            for least, most in ((few.min, few.max), (-2, 2)):
                scores = rng.integers(least, most, count, dtype=kind, endpoint=True)
                places = np.full(k + 1, 999, np.uintp)
                pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (scores, places)]
                found = top(pointers[0], ctypes.c_size_t(count), pointers[1], ctypes.c_size_t(k))
                wanted = np.argsort(-scores.astype(np.int64), kind="stable")[:k]
                assert found == len(wanted) and places[:found].tolist() == wanted.tolist()
                assert (places[found:] == 999).all()
