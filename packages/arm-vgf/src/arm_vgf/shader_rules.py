"""Compute shaders as TOSA: the operator CUSTOM in the domain of which the model converter makes segments of a VGF."""

from __future__ import annotations

import json

from arm_tosa_core.extend import OpBuilder, UsageError, Value, op

from .constraints import SHADERS
from .shaders import Description


@op("arm_vgf.shader.default", target="vgf")
def shader(b: OpBuilder, inputs: list[Value], description: str) -> tuple[Value, ...]:
    """One segment; the graph before it and the one behind it become segments of their own."""
    try:
        found, fault = Description.parse(description), ""
    except UsageError as error:
        fault = str(error)
    b.require(not fault, fault)
    return b.CUSTOM(
        inputs,
        found.outputs,
        domain_name=SHADERS,
        operator_name=found.name,
        implementation_attrs=json.dumps(found.attributes).encode(),
    )
