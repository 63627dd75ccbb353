"""What may make a program faster on Ethos-U: memory modes, a larger accelerator, more SRAM, weights that are 0."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch.fx import GraphModule

from arm_tosa_core.advice.candidate import Candidate, Request
from arm_tosa_core.advice.edits import Tensors, calls, edited, set_weight, weight_of
from arm_tosa_core.exir.report import Report
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.support.memory_size import size_text

from .accelerators import MACS, family_of
from .compile_spec import EthosUCompileSpec
from .memory_figures import constants_memory
from .vela_ini import VelaIni, locate


def candidates(request: Request, report: Report) -> Iterator[Candidate]:
    """As of ``Reporting.advice``."""
    spec = request.spec
    assert isinstance(spec, EthosUCompileSpec)
    if spec.schedule != "vela":
        return  # whose cycles are the timing model's
    yield from _memories(spec)
    if spec.sram_budget is not None and 2 * spec.sram_budget <= (spec.sram_size or float("inf")):
        more = size_text(2 * spec.sram_budget)
        yield _option(f"an SRAM budget of {more}", f"--sram {more}", "budget", sram_budget=more)
    is_u85 = family_of(spec.accelerator) == "u85"
    zeros = (
        "two of four weights along the input channels are 0" if is_u85 else "half of the weights of each layer are 0"
    )
    how = partial(edited, edit=partial(_sparse, change=_two_of_four if is_u85 else _smaller_half))
    yield Candidate(zeros, how, price="train it again with these zeros")
    family, _, macs = spec.accelerator.rpartition("-")
    larger = [count for count in MACS[family_of(spec.accelerator)] if count > int(macs)]
    if larger and spec.sram_size is None:  # which a device has, and it has one accelerator
        name = f"{family}-{larger[0]}"
        yield _option(f"{name} in place of {spec.accelerator}", f"--target {name}", "accelerator", target=name)


def _memories(spec: EthosUCompileSpec) -> Iterator[Candidate]:
    """Other memory modes of the configuration file that fit the system configuration."""
    ini = VelaIni(locate(spec.config_ini))
    for mode in ini.memory_modes:
        try:
            ini.require(spec.system_config, mode)
        except UsageError:
            continue
        size = ini.memory_value(mode, "arena_cache_size")
        if mode == spec.memory_mode or (ini.has_cache(mode) and size is None):
            continue
        where = constants_memory(spec.config_ini, spec.system_config, mode)
        places = f"weights and commands in {where if where == 'flash' else where.upper()}"
        cache = f", {size_text(int(size))} of SRAM as a cache of tensors" if size is not None else ""
        yield _option(f"{places}{cache}", f"--option memory_mode={mode}", "memory", memory_mode=mode)


def _option(change: str, command: str, group: str, **options: Any) -> Candidate:
    return Candidate(change, partial(_with, options=options), command, group)


def _with(request: Request, options: dict[str, Any]) -> Request:
    return replace(request, spec=request.spec.with_options(**options))


def _sparse(module: GraphModule, change: Tensors) -> None:
    """Sets weights of convolutions and linear layers to 0."""
    names = [weight_of(node) for node in calls(module, ("aten.conv2d.default", "aten.linear.default"))]
    for name in dict.fromkeys(filter(None, names)):
        set_weight(module, name, change)


def _smaller_half(weight: torch.Tensor) -> torch.Tensor:
    """Without the smaller half of all."""
    order = weight.abs().flatten().argsort()
    kept = torch.ones(weight.numel())
    kept[order[: weight.numel() // 2]] = 0
    return weight * kept.view_as(weight)


def _two_of_four(weight: torch.Tensor) -> torch.Tensor:
    """Without the smaller two of each four along the input channels, where these are a multiple of four."""
    outputs, inputs = weight.shape[:2]
    if inputs % 4:
        return weight
    groups = weight.view(outputs, inputs // 4, 4, -1)
    kept = torch.zeros_like(groups).scatter(2, groups.abs().topk(2, dim=2).indices, 1)
    return (groups * kept).view_as(weight)
