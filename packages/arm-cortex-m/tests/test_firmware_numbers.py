"""Real numbers at the edges of a model: in C, in Python, and as text."""

from __future__ import annotations

import ctypes
import dataclasses
import subprocess
from pathlib import Path

import numpy as np
import pytest
from c_compiler import WARNINGS

from arm_cortex_m.firmware.c_text import FOLDER, float_text
from arm_cortex_m.firmware.model import Port
from arm_cortex_m.firmware.ports import as_integers, real
from arm_tosa_core.support.errors import UsageError
from build_tools import require


def test_reals_become_the_integers_of_executorch(tmp_path: Path) -> None:
    """Halves, numbers that are far away, infinities, and random ones."""
    require("cc")
    source = """
#include "model_numbers.h"
void convert(const float *reals, int32_t *integers, float *back, int count) {
    for (int i = 0; i < count; i++) {
        integers[i] = model_quantize(reals[i], INVERSE, ZERO_POINT, LEAST, MOST);
        back[i] = model_dequantize(integers[i], SCALE, ZERO_POINT);
    }
}
"""
    (tmp_path / "convert.c").write_text(source)
    ports = [
        Port("x", (4,), "int8", "float32", 0.1, -7, (-128, 127)),
        Port("x", (4,), "int16", "float32", 3e-5, 0, (-32768, 32767)),
    ]
    for number, port in enumerate(ports):
        assert port.scale is not None
        words = {"INVERSE": 1 / port.scale, "SCALE": port.scale}
        defined = [f"-D{name}={float_text(value)}" for name, value in words.items()]
        defined += [f"-DZERO_POINT=({port.zero_point})", f"-DLEAST=({port.bounds[0]})", f"-DMOST={port.bounds[1]}"]
        library = tmp_path / f"{number}.so"
        command = ["cc", "-Os", *WARNINGS, *defined, f"-I{FOLDER / 'common'}", "-shared", "-fPIC", "-o", library]
        subprocess.run([*map(str, command), str(tmp_path / "convert.c")], check=True, timeout=60)
        halves = (np.arange(-400, 400) + 0.5) * port.scale
        edges = np.array([0.0, -0.0, 1e9, -1e9, np.inf, -np.inf])
        reals = np.concatenate([halves, edges, np.random.default_rng(0).normal(0, 3, 2000)]).astype(np.float32)
        integers, back = np.empty(reals.shape, np.int32), np.empty_like(reals)
        pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (reals, integers, back)]
        ctypes.CDLL(str(library)).convert(*pointers, reals.size)
        with np.errstate(invalid="ignore"):
            (wanted,) = as_integers("x", [dataclasses.replace(port, shape=reals.shape)], [reals])
        assert np.array_equal(integers, wanted) and np.unique(integers).size > 200
        assert np.array_equal(back, real(port, wanted))


def test_nan_is_no_integer() -> None:
    port = Port("x", (2,), "int8", "float32", 0.1, -7, (-128, 127))
    with pytest.raises(UsageError, match="x as integers, and a number of the array given is NaN"):
        as_integers("m", [port], [np.array([1, np.nan], np.float32)])


@pytest.mark.parametrize("value", [1.0, 0.1, 0.004200587514787912, 3e-12, 1e20])
def test_floats_are_the_nearest(value: float) -> None:
    text = float_text(value)
    assert text.endswith("f") and ("." in text or "e" in text)
    assert np.float32(float(text[:-1])) == np.float32(value)
