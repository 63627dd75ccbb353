"""Lets the tests of this folder import what they share; ``vgf`` is the module under test."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parent))


@pytest.fixture(scope="session")
def vgf(runtime: Any) -> Any:
    """The module ``arm_runtime.vgf``, on a machine that has Vulkan; CI has it."""
    from vgf_files import graph_vgf

    import arm_runtime.vgf as module
    from arm_tosa_core.tosa.ir import DType

    try:
        module.run(graph_vgf("ABS", DType.INT32, 4), [np.zeros(4, np.int32)])
    except module.VgfError as error:
        if "install" not in str(error) or "CI" in os.environ:
            raise
        pytest.skip(str(error))
    return module


@pytest.fixture(scope="session")
def layer(vgf: Any) -> Callable[[bytes], Any]:
    """Sessions on Arm's emulation layer; CI has it."""
    from vgf_process import manifests

    if folder := manifests():
        os.environ.setdefault("VK_LAYER_PATH", str(folder))

    def load(data: bytes) -> Any:
        return vgf.Session(data, engine="layer")

    try:
        vgf.find_device(engine="layer")
    except vgf.VgfError as error:
        if "install" not in str(error) or "CI" in os.environ:
            raise
        pytest.skip(str(error))
    return load


@pytest.fixture(params=["compute", "layer"])
def load(request: pytest.FixtureRequest, vgf: Any) -> Callable[[bytes], Any]:
    """Sessions on each engine that this machine may have."""
    if request.param == "layer":
        layer: Callable[[bytes], Any] = request.getfixturevalue("layer")
        return layer
    return lambda data: vgf.Session(data, engine="compute")


@pytest.fixture(scope="session")
def pte(vgf: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``Net`` as a program with one delegate."""
    import torch
    from executorch.exir import to_edge_transform_and_lower
    from vgf_net import Net

    from arm_vgf import VgfCompileSpec, VgfPartitioner

    program = torch.export.export(Net().eval(), (torch.zeros(1, 3, 8, 8),))
    edge = to_edge_transform_and_lower(program, partitioner=[VgfPartitioner(VgfCompileSpec())])
    path = tmp_path_factory.mktemp("vgf") / "net.pte"
    path.write_bytes(edge.to_executorch().buffer)
    return path
