"""ONNX's own cases of operators: each is computed right, or is in the list of those that are refused."""

from __future__ import annotations

import copy
import functools
import warnings
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx.backend.test.case.test_case import TestCase
from onnx_kit import file_model

from arm_tosa_core import UsageError
from arm_tosa_core.frontends.onnx import ROWS

#: Cases with a row that refuses them, one a line.
REFUSED = set((Path(__file__).parent / "onnx_refused.txt").read_text().split())
#: Their expected results wrap around where the specification saturates.
WRAPPED = {f"test_qlinearmatmul_{n}D_int8_float{bits}" for n in (2, 3) for bits in (16, 32)}
#: Of 16 and 64 bits without a sign: PyTorch does not compute with them.
UNSIGNED = ("uint16", "uint32", "uint64")
NEWEST = 23


@functools.cache
def _cases() -> dict[str, list[TestCase]]:
    """By operator, the cases of one operator that has a row, with numbers alone."""
    found: dict[str, list[TestCase]] = defaultdict(list)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy's, of cases with infinities
        collected = collect_testcases(None)
    for case in collected:
        kinds = {node.op_type for node in case.model.graph.node}
        opsets = {entry.domain: entry.version for entry in case.model.opset_import}
        arrays = [value for values in case.data_sets[0] for value in values]
        if len(kinds) == 1 and kinds <= set(ROWS) and set(opsets) == {""} and opsets[""] <= NEWEST:
            numbers = all(isinstance(a, np.ndarray) and a.dtype.kind in "fiub" for a in arrays)
            if numbers and not any(str(a.dtype) in UNSIGNED for a in arrays) and case.name not in WRAPPED:
                found[kinds.pop()].append(case)
    return found


def _result(case: TestCase, path: Path, *, constants: bool) -> str:
    """``right``, ``refused``, or the difference.

    Args:
        constants: all inputs but the first are.
    """
    proto, (inputs, wanted) = copy.deepcopy(case.model), case.data_sets[0]
    names = [entry.name for entry in proto.graph.input]
    if constants:
        for name, array in list(zip(names, inputs, strict=True))[1:]:
            proto.graph.initializer.append(numpy_helper.from_array(array, name))
        del proto.graph.input[1:]
    path.write_bytes(proto.SerializeToString())
    shapes = {name: array.shape for name, array in zip(names[:1] if constants else names, inputs, strict=False)}
    try:
        module = file_model(path, shapes)
    except UsageError:
        return "refused"
    feeds = dict(zip(names, map(_tensor, inputs), strict=True))
    for ours, theirs in zip(module(*(feeds[one.name] for one in module.inputs)), wanted, strict=True):
        try:
            torch.testing.assert_close(ours, _tensor(theirs), rtol=1e-3, atol=1e-5, equal_nan=True)
        except AssertionError as error:
            return str(error)
    return "right"


def _tensor(array: Any) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).reshape(array.shape)


def test_most_operators_have_cases() -> None:
    assert len(_cases()) >= 125


@pytest.mark.parametrize("kind", sorted(set(ROWS) & {schema.name for schema in onnx.defs.get_all_schemas()}))
def test_a_case_is_right_or_refused(kind: str, tmp_path: Path) -> None:
    refused = set()
    for case in _cases().get(kind, ()):
        results = [_result(case, tmp_path / "case.onnx", constants=constants) for constants in (True, False)]
        wrong = [result for result in results if result not in ("right", "refused")]
        assert not wrong, f"{case.name}: {wrong[0]}"
        if "right" not in results:
            refused.add(case.name)
    listed = {name for name in REFUSED if name in _names(kind)}
    assert refused == listed


def _names(kind: str) -> Sequence[str]:
    return [case.name for case in _cases().get(kind, ())]
