"""Lets the tests of this folder import what they share; ``vgf`` is the module under test."""

import os
import sys
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
    from arm_tosa_core.ir import DType

    try:
        module.run(graph_vgf("ABS", DType.INT32, 4), [np.zeros(4, np.int32)])
    except module.VgfError as error:
        if "install" not in str(error) or "CI" in os.environ:
            raise
        pytest.skip(str(error))
    return module
