"""Spoils programs in many ways and runs them: a process of its own, so that a crash is seen.

Arguments: the library; a folder of files ``ACCELERATOR.NUMBER.npz``, each Vela's arrays and the inputs ``x0``, ``x1``.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
from model_library import Fault, Region, decode_weights, run, run_stream
from streams import OPS, cut, flip_bits, payload, program

_ROUNDS = 150
_IN_PADDING = {
    "OFM_HEIGHT_M1": 3, "IFM_PAD_BOTTOM": 3, "IFM_STRIDE_Y": 8, "OFM_STRIDE_Y": 4, "OFM_HEIGHT0_M1": 3,
    "OFM_HEIGHT1_M1": 3, "BLOCKDEP": 3,
}  # fmt: skip


def blocks_in_the_padding() -> bytes:
    """Two sums of one row and three rows of padding: blocks of them read nothing (libFuzzer found it)."""
    words = np.frombuffer(program("POOL", 2, _IN_PADDING, end=False), "<u4")[5:].tolist()
    return payload([*words, words[-1], OPS["STOP"]])


def main(path: Path, programs: list[Path]) -> None:
    seen: Counter[str] = Counter()
    rng = np.random.default_rng(11)
    for file in programs:
        accelerator = file.name.partition(".")[0]
        with np.load(file) as arrays:
            run(path, accelerator, arrays, [arrays[k] for k in ("x0", "x1") if k in arrays], threads=2)  # is clean
            good = arrays["cmd_data"].tobytes()
            for i in range(_ROUNDS):
                stream = cut(rng, good) if i % 10 == 0 else flip_bits(rng, good)
                scratch = np.zeros(int(arrays["scratch_size"]), np.uint8)
                weights = np.array(arrays["weight_data"])
                if i % 3 == 0 and weights.size:
                    weights[rng.integers(weights.size, size=8)] = rng.integers(256, size=8)
                try:
                    run_stream(path, accelerator, stream, [Region(weights, read_only=True), Region(scratch)])
                    seen["no fault"] += 1
                except Fault as fault:
                    seen[f"fault {fault.code}"] += 1
    scratch = Region(np.zeros(256, np.uint8))
    run_stream(path, "ethos-u85-256", blocks_in_the_padding(), [scratch, scratch])
    for _ in range(_ROUNDS * 4):
        garbage = rng.integers(256, size=int(rng.integers(1, 400)), dtype=np.uint8).tobytes()
        decode_weights(path, garbage, 512)
    print(dict(seen))
    assert seen["no fault"] < seen.total() * 0.9, "too few of the spoiled programs were noticed to mean anything"


if __name__ == "__main__":
    main(Path(sys.argv[1]), sorted(Path(sys.argv[2]).glob("*.npz")))
