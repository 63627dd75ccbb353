"""What Acme's NPU cannot do although TOSA has it."""

from __future__ import annotations

from arm_tosa_core.extend import Op, Rejected

MAX_KERNEL = 64

# Where a convolution's weight has its kernel: CONV2D [OC, KH, KW, IC], DEPTHWISE_CONV2D [KH, KW, C, M],
# CONV3D [OC, KD, KH, KW, IC].
_KERNEL = {
    "CONV2D": slice(1, 3),
    "CONV3D": slice(1, 4),
    "DEPTHWISE_CONV2D": slice(0, 2),
    "TRANSPOSE_CONV2D": slice(1, 3),
}


def small_kernels(op: Op) -> Rejected | None:
    """Kernels of convolutions and pools are at most 64 wide in every direction."""
    kernel = op.inputs[1].shape[_KERNEL[op.name]] if op.name in _KERNEL else op.attrs.get("kernel", ())
    if kernel and max(kernel) > MAX_KERNEL:
        return Rejected(f"kernel {max(kernel)} > {MAX_KERNEL}", "use several smaller convolutions")
    return None
