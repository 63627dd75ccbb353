"""Loads, runs and unloads a VGF again and again; prints how much memory the process holds, and has from malloc.

python packages/arm-runtime-cpp/tests/vgf/cycles.py [COUNT]
"""

import os
import sys
from pathlib import Path

import numpy as np
from memory import allocated
from vgf_files import graph_vgf

from arm_runtime.vgf import run
from arm_tosa_core.tosa.ir import DType

count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
data = graph_vgf("ABS", DType.INT32, 64)
for cycle in range(count + 1):
    if cycle % (count // 10) == 0:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        resident = pages * os.sysconf("SC_PAGESIZE") / 2**20
        print(f"{cycle:5d} cycles: {resident:.1f} MiB, {allocated() / 2**10:.0f} KiB from malloc", flush=True)
    run(data, [np.zeros(64, np.int32)])
