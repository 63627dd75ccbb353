"""CONV3D on Ethos-U55 and U65: the cases that Vela takes, and those that planes as channels replace."""

from __future__ import annotations

from arm_tosa_core.tosa.ir import DType, Op

from ..accelerators import MAX_AXIS


def is_native(op: Op) -> bool:
    """Whether Vela has it: with INT16 it computes planes apart from the rescaled sum, and has no operation to INT48."""
    moves = any(op.attrs["pad"][:2]) or op.attrs["stride"][0] > 1
    return op.inputs[1].shape[1] == 1 and not (moves and op.inputs[0].dtype is DType.INT16)


def why_no_planes(op: Op) -> tuple[str, str] | None:
    """The obstacle to PLANES_AS_CHANNELS, and the remedy."""
    depth, channels = op.inputs[1].shape[1], op.inputs[0].shape[4]
    if depth * channels > MAX_AXIS:
        reason = f"kernel depth {depth} of {channels} channels; they become channels, of which there are {MAX_AXIS}"
        return reason, "add CONV2D results, one per slice of the kernel"
    return None
