"""Graphs before and after the rewrites of an accelerator: the same results, and Vela's cycles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from arm_ethosu import EthosUCompileSpec, vela
from arm_ethosu.rewrites import rewrites_for
from arm_tosa_core.lowering.builder import Builder
from arm_tosa_core.lowering.pipeline import legalize
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.reference_model import run
from arm_tosa_core.tosa.serializer import serialize

SPEC = EthosUCompileSpec("ethos-u55-128")


def before_and_after(builder: Builder, spec: EthosUCompileSpec = SPEC) -> tuple[bytes, bytes]:
    """The flatbuffer as it is and legalized, but for what the estimate chooses; the reference model gives the same."""
    plain = serialize(builder.graph, spec.tosa_spec)
    target = replace(spec.target(), rewrites=rewrites_for(spec.accelerator))
    legal = serialize(legalize(builder.graph, target), spec.tosa_spec)
    rng, data = np.random.default_rng(1), []
    for x in builder.graph.inputs:
        low, kind = (-128, np.int8) if x.dtype is DType.INT8 else (-32768, np.int16)
        data.append(rng.integers(low, -low, x.shape).astype(kind))
    np.testing.assert_array_equal(run(legal, data)[0], run(plain, data)[0])
    return plain, legal


def chosen_of(plain: bytes, spec: EthosUCompileSpec = SPEC) -> bytes:
    """The flatbuffer legalized, with what the estimate chooses; the reference model gives the same."""
    chosen = serialize(legalize(load(plain), spec.target()), spec.tosa_spec)
    rng = np.random.default_rng(1)
    data = [rng.integers(-128, 128, x.shape).astype(np.int8) for x in load(plain).inputs]
    np.testing.assert_array_equal(run(chosen, data)[0], run(plain, data)[0])
    return chosen


def cycles(tosa: bytes, spec: EthosUCompileSpec = SPEC) -> int:
    options = {name: getattr(spec, name) for name in ("system_config", "memory_mode")}
    made = vela.compile(
        tosa,
        accelerator=spec.accelerator,
        config=spec.config_ini,
        **options,
        flags=(),
        timeout=300,
        artifacts=None,
    )
    assert made.cycles is not None
    return made.cycles
