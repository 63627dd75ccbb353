"""ONNX models of a few nodes, and what ONNX's own evaluator computes with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from arm_tosa_core.frontends.file_model import FileModel
from arm_tosa_core.frontends.onnx import ROWS, read

#: Random numbers, the same in each process.
R = np.random.default_rng(0)
#: An input of four channels.
IMAGE = {"x": (1, 4, 9, 11)}


def weights(*shape: int) -> np.ndarray[Any, Any]:
    return R.standard_normal(shape).astype(np.float32)


def model(
    *nodes: onnx.NodeProto,
    inputs: Mapping[str, Sequence[int | str]],
    constants: Mapping[str, Any] | None = None,
    outputs: Sequence[str] = ("y",),
    opset: int = 17,
    domains: Sequence[str] = (),
) -> onnx.ModelProto:
    """A model with float inputs of these shapes; constants are arrays, or lists of integers or floats."""
    made = helper.make_graph(
        list(nodes),
        "g",
        [helper.make_tensor_value_info(name, 1, list(shape)) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, 1, None) for name in outputs],
        [numpy_helper.from_array(_array(value), name) for name, value in (constants or {}).items()],
    )
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(made, ir_version=10, opset_imports=imports)


def _array(value: Any) -> np.ndarray:
    array = np.asarray(value)
    return array.astype(np.float32) if array.dtype == np.float64 else array


def file_model(path: Path, shapes: Mapping[str, Sequence[int]] | None = None) -> FileModel:
    return FileModel(read(path), ROWS, path.name, shapes)


def agreed(proto: onnx.ModelProto, path: Path, within: float = 1e-5) -> list[torch.Tensor]:
    """Our results on random inputs, eager and exported, which are those of ONNX's evaluator."""
    path.write_bytes(proto.SerializeToString())
    module = file_model(path)
    feeds = module.examples()
    names = [entry.name for entry in proto.graph.input]
    wanted = ReferenceEvaluator(proto).run(None, {name: x.numpy() for name, x in zip(names, feeds, strict=True)})
    program = module.export()
    for made in (module(*feeds), program.module()(*feeds)):
        for ours, theirs in zip(made, wanted, strict=True):
            torch.testing.assert_close(ours, torch.from_numpy(np.array(theirs)), rtol=within, atol=within)
    return list(module(*feeds))
