"""The networks that are measured, as TOSA and VGF."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from arm_tosa_core.plugin.entry_points import target as find_target
from arm_tosa_core.testing.harness import Execution, exported
from benchmarks.nx.registry import NETWORKS as OF_NX
from benchmarks.registry import Network, network
from models.realistic import settle

Array = np.ndarray[Any, Any]

#: Networks of ``tests/models`` and the number types in which VGF has them.
CASES = {
    "mobilenet_v2": ("int8", "fp32", "fp16", "int16"),
    "resnet18": ("int8", "fp32"),
    "bert_tiny": ("int8", "fp32"),
    "deit_tiny": ("int8",),
}
#: Image networks of ``benchmarks/nx``, which may be named too.
GRAPHICS = ("unet540", "sr360", "frame_interpolation", "denoiser", "nss_v1")
_PERIOD = 1009


def cases(words: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Networks with their number types, from words such as ``digits`` or ``digits:fp32``; none: those of CASES."""
    wanted: dict[str, tuple[str, ...]] = {}
    for word in words or CASES:
        name, _, scheme = word.partition(":")
        schemes = (scheme,) if scheme else CASES.get(name, ("int8",))
        wanted[name] = (*wanted.get(name, ()), *schemes)
    yield from wanted.items()


def named(name: str) -> Network:
    """A network of ``tests/models``, or one of GRAPHICS."""
    if name not in GRAPHICS:
        return network(name)
    made = OF_NX[name]()
    return made.module, lambda seed: tuple(made.calibration[seed % len(made.calibration)])


def periodic(name: str) -> Network:
    """A network by its name, whose weights are four values that repeat: an archive of it is small.

    Each tensor begins elsewhere in the row of values: layers of one shape do not share a constant.
    """
    module, inputs = named(name)
    generator = torch.Generator().manual_seed(1)
    values = torch.tensor([-1.0, -0.5, 0.5, 1.0])[torch.randint(0, 4, (_PERIOD,), generator=generator)]
    for number, parameter in enumerate(module.parameters()):
        if parameter.dim() > 1:
            filled = values.roll(number).repeat(-(-parameter.numel() // _PERIOD))[: parameter.numel()]
            parameter.data = filled.reshape(parameter.shape) * parameter.detach().std()
    return settle(lambda: module, inputs)


def compiled(made: Network, scheme: str, target: str = "vgf") -> tuple[bytes, bytes]:
    """A network as one program of a target, and its TOSA graph.

    Args:
        scheme: int8, int16 (activations; weights have 8 bits), fp32 or fp16.
    """
    module, inputs = made
    example = inputs(1)
    if scheme == "fp16":
        module = module.half()
        example = tuple(x.half() if x.is_floating_point() else x for x in example)
    device = find_target(target)
    assert device.compiler.compile_spec is not None
    floats = "fp32" if scheme == "fp16" else scheme
    execution = Execution(exported(module, example, device.compiler.compile_spec(), floats), device)
    (program,), (tosa,) = execution.payloads, execution.flatbuffers
    return program, tosa


def compile_network(name: str, scheme: str) -> tuple[bytes, bytes]:
    """A network by its name, as it is there, as one VGF with float edges; and its TOSA graph."""
    return compiled(named(name), scheme)


def random_input(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> Array:
    """Values of every kind of type: small multiples of 1/8, all bytes, small integers."""
    if dtype.startswith("float"):
        return (rng.integers(-16, 17, shape) / 8).astype(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    return rng.integers(0, 100, shape).astype(dtype)
