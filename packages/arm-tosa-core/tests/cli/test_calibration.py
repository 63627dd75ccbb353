"""Calibration data: samples of the shapes that the model takes, or an error that says why not."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from arm_tosa_core.cli.calibration import CalibrationWarning, samples
from arm_tosa_core.cli.files import read_array
from arm_tosa_core.support.errors import UsageError


@pytest.fixture
def exported() -> torch.export.ExportedProgram:
    """A model of two inputs, ``a`` of shape [1, 2, 3] and ``b`` of shape [4], with a keyword argument."""

    class Net(torch.nn.Module):
        def forward(self, a: torch.Tensor, *, b: torch.Tensor) -> torch.Tensor:
            return a.sum() + b

    return torch.export.export(Net(), (torch.zeros(1, 2, 3),), {"b": torch.zeros(4)})


A, B = np.random.default_rng(0).random((5, 2, 3), np.float32), np.ones((5, 4), np.float32) * np.arange(4, dtype="f")


@pytest.mark.parametrize("names", [("a", "b"), ("arr_0", "arr_1")])
@pytest.mark.parametrize("batch", [False, True])
def test_calibration_samples_have_the_models_shapes(
    tmp_path: Path, exported: torch.export.ExportedProgram, names: tuple[str, str], batch: bool
) -> None:
    np.savez(tmp_path / "c.npz", **{names[0]: A[:, np.newaxis] if batch else A, names[1]: B})
    found = list(samples(tmp_path / "c.npz", exported))
    assert len(found) == 5
    for number, (args, kwargs) in enumerate(found):
        np.testing.assert_array_equal(args[0].numpy(), A[number][np.newaxis])
        np.testing.assert_array_equal(kwargs["b"].numpy(), B[number])


def _with(array: np.ndarray[Any, Any], index: tuple[int, ...], value: float) -> np.ndarray[Any, Any]:
    changed = array.copy()
    changed[index] = value
    return changed


BAD_CALIBRATION = {
    "shape": ({"a": A[:, :1], "b": B}, r"input 'a' has shape \[5, 1, 3\]; expected \[N, 1, 2, 3\] or \[N, 2, 3\]"),
    "no sample axis": ({"a": A, "b": B[0]}, r"input 'b' has shape \[4\]; expected \[N, 4\]"),
    "dtype": ({"a": A.astype(np.float64), "b": B}, "input 'a' is float64; expected float32"),
    "NaN": ({"a": A, "b": _with(B, (3, 1), np.nan)}, "input 'b' has NaN or infinity in 1 of 5 samples, first in 3"),
    "infinity": ({"a": _with(A, (0, 0, 0), np.inf), "b": B}, "input 'a' has NaN or infinity in 1 of 5 samples"),
    "missing": ({"a": A}, "holds the arrays a; expected one per model input: a, b"),
    "left over": ({"a": A, "b": B, "c": B}, "holds the arrays a, b, c; expected"),
    "many": (dict.fromkeys("abcdefgh", A), "holds the arrays a, b, c, d, e, f and 2 more; expected"),
    "none": ({}, "holds no arrays; expected one per model input"),
    "counts": ({"a": A, "b": B[:2]}, "a has 5, b has 2"),
    "no samples": ({"a": A[:0], "b": B[:0]}, "holds no sample"),
    "objects": ({"a": np.array([{}]), "b": B}, "is not a NumPy .npz file"),
}


@pytest.mark.parametrize("kind", BAD_CALIBRATION)
def test_bad_calibration_data_says_why(tmp_path: Path, exported: torch.export.ExportedProgram, kind: str) -> None:
    arrays, message = BAD_CALIBRATION[kind]
    np.savez(tmp_path / "c.npz", **arrays)
    with pytest.raises(UsageError, match=message):
        list(samples(tmp_path / "c.npz", exported))


@pytest.mark.parametrize("content", [b"", b"text", None])
def test_a_file_that_is_no_npz_says_so(
    tmp_path: Path, exported: torch.export.ExportedProgram, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "c.npz").write_bytes(content)
    with pytest.raises(UsageError, match="not a NumPy .npz file|cannot read"):
        list(samples(tmp_path / "c.npz", exported))


def _npy(header: bytes) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header


#: Headers of .npy files that say what no array has.
HEADERS = {
    "no bracket": _npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), \n"),
    "no memory": _npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,), }\n"),
    "a negative size": _npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (-4, 2), }\n"),
    "a bool": _npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (True, 16), }\n"),
    "no type": _npy(b"{'descr': '<q9', 'fortran_order': False, 'shape': (2,), }\n"),
    "a nest": _npy(b"(" * 5000),
    "bytes": _npy(b"\xff\x00\xfe\n"),
    "a file of its own": b"PK\x03\x04 and no more",
}


@pytest.mark.parametrize("kind", HEADERS)
def test_a_damaged_header_is_an_error_that_names_the_file(
    tmp_path: Path, exported: torch.export.ExportedProgram, kind: str
) -> None:
    (tmp_path / "x.npy").write_bytes(HEADERS[kind])
    with pytest.raises(UsageError, match=r"x\.npy is (damaged|not a NumPy \.npy file)"):
        read_array(tmp_path / "x.npy")
    with zipfile.ZipFile(tmp_path / "c.npz", "w") as archive:
        archive.writestr("a.npy", HEADERS[kind])
    with pytest.raises(UsageError, match=r"c\.npz(: a| is not a NumPy)"):
        list(samples(tmp_path / "c.npz", exported))


def test_a_member_that_is_no_array_and_another_byte_order(
    tmp_path: Path, exported: torch.export.ExportedProgram
) -> None:
    np.savez(tmp_path / "c.npz", a=A.astype(">f4"), b=B)
    (first, *_) = samples(tmp_path / "c.npz", exported)
    np.testing.assert_array_equal(first[0][0].numpy(), A[:1])
    with zipfile.ZipFile(tmp_path / "c.npz", "a") as archive:
        archive.writestr("readme.txt", "text")
    with pytest.raises(UsageError, match=r"readme\.txt is no array"):
        list(samples(tmp_path / "c.npz", exported))


def test_constant_calibration_data_is_warned_of(tmp_path: Path, exported: torch.export.ExportedProgram) -> None:
    np.savez(tmp_path / "c.npz", a=np.full_like(A, 2), b=B)
    with pytest.warns(CalibrationWarning, match=r"input 'a' is the same value \(2.0\) everywhere"):
        assert len(list(samples(tmp_path / "c.npz", exported))) == 5
