"""Acme's file format: 4 bytes of magic, the format's version, the size, then the TOSA flatbuffer.

A real device would have its own instructions here. This one interprets TOSA, and so does ``run``.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arm_tosa_core.extend import UsageError, reference_model

MAGIC = b"ACME"
VERSION = 1
_HEADER = struct.Struct("<4sIQ")


def pack(tosa: bytes, options: Mapping[str, str]) -> bytes:
    """The target's ``compile``: a TOSA flatbuffer to Acme's format.

    Args:
        tosa: the flatbuffer.
        options: only ``artifacts``, the folder that the user wants intermediate files in, if any; there are none.
    """
    return _HEADER.pack(MAGIC, VERSION, len(tosa)) + tosa


def unpack(payload: bytes) -> bytes:
    """The TOSA flatbuffer inside.

    Raises:
        UsageError: this is no whole file of this format and version.
    """
    if payload[:4] != MAGIC or len(payload) < _HEADER.size:
        raise UsageError("not an Acme NPU program: it does not begin with ACME and a header")
    _, version, size = _HEADER.unpack_from(payload)
    tosa = payload[_HEADER.size :]
    if version != VERSION:
        raise UsageError(f"an Acme NPU program of version {version}; this package reads version {VERSION}")
    if len(tosa) != size:
        raise UsageError(f"an Acme NPU program of {size} bytes, of which {len(tosa)} are there")
    return tosa


def run(payload: bytes, inputs: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """The target's ``run``: executes what ``pack`` returned, in the TOSA reference model."""
    return reference_model.run(unpack(payload), inputs)
