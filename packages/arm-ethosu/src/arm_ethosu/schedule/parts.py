"""The same graph with convolutions in parts, whose weights may be prefetched where those of the whole have no room."""

from __future__ import annotations

import contextvars

from arm_tosa_core.support.errors import ArmTosaError
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.rewrite_engine import run_rewrites
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification
from arm_tosa_core.tosa.verifier import verify

from ..accelerators import DEFAULTS, family_of
from ..constraints import checks_for
from ..rewrites import rewrites_for
from ..rewrites.conv2d_in_parts import conv2d_in_parts

#: Bytes of weights in a part, before they are encoded. Smaller parts fit into more gaps, and cost more of their own.
_MOST = (24 << 10, 48 << 10, 192 << 10)


def in_parts(tosa: bytes, accelerator: str) -> list[bytes]:
    """Flatbuffers with the same results, where convolutions with many weights are several; none twice."""
    found = [tosa]
    for most in _MOST:
        # In a context of its own: who observes the rewrites of a program is not told.
        made = contextvars.Context().run(_parted, tosa, accelerator, most)
        found += [each for each in made if each not in found]
    return found[1:]


def _parted(tosa: bytes, accelerator: str, most: int) -> list[bytes]:
    family = family_of(accelerator)
    rewrite, spec = conv2d_in_parts(most), TosaSpecification.create_from_string(DEFAULTS[family].tosa_spec)
    try:
        graph = load(tosa)
        if not run_rewrites(graph, [rewrite]).rewrites[rewrite.name].applied:
            return []
        run_rewrites(graph, rewrites_for(accelerator))  # around the CONCATs that are new
        verify(graph, spec, checks_for(family))
    except ArmTosaError:
        return []  # a flatbuffer that is not ours, or with what Vela does not take in parts
    return [serialize(graph, spec)]
