"""What the user asks of Vela: accelerator, system configuration, memory mode, flags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arm_tosa_core.exir.compile_spec import ArmCompileSpec
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.support.memory_size import size_of

from .accelerators import DEFAULTS, family_of
from .estimate_cache import Estimate
from .ethos_u_target import ethos_u_target
from .external_blocks import VelaExternalBlockPlacements
from .vela_calls import VelaCalls
from .vela_flags import decides_over_sram, split, without_ours
from .vela_ini import CHIPS_INI, DEFAULT_INI, VelaIni, is_own, locate

if TYPE_CHECKING:
    from typing import Self

    from arm_tosa_core.plugin.target import Target
    from arm_tosa_core.tosa.specification import TosaSpecification

DEFAULT_TIMEOUT = 1800.0
#: Schedulers of constant transfers; the first is the default.
SCHEDULES = ("vela", "deep")
#: Orders of weights that several methods share; the first is the default.
WEIGHT_ORDERS = ("vela", "shared")
#: Options in a program's file that say how it was compiled, and name no file of this machine but one that is known.
_OF_PROGRAM = ("system_config", "memory_mode", "config_ini", "schedule", "weight_order", "sram_budget", "sram_size")


class EthosUCompileSpec(ArmCompileSpec):
    """Compile for an Ethos-U accelerator.

    Args:
        target: an accelerator such as ``"ethos-u55-128"``; see ``accelerators.ACCELERATORS``.
        system_config: a ``System_Config`` of the configuration file; the default depends on the target.
        memory_mode: a ``Memory_Mode`` of the configuration file; the default depends on the target.
        extra_flags: more flags for Vela, a list or one string that is split as a shell would.
        config_ini: a Vela configuration file, one inside Vela's package such as ``"Arm/vela.ini"`` (the default),
            ``"arm-ethosu/chips.ini"``, which has those of chips, or a path of your own.
        external_block_placements: blocks of the payload that are in ``.ptd`` files; None: the ``.pte`` has all.
        timeout: seconds after which Vela is killed.
        schedule: ``"vela"``, or ``"deep"`` (experimental): constants in flash or DRAM are read into SRAM as far ahead
            as there is free SRAM, by a command stream that is ours (``docs/explanation/ethosu-schedules.md``).
        weight_order: of programs with several methods on Ethos-U85. ``"vela"``: methods have in common the weights that
            Vela wrote in one order. ``"shared"`` (experimental): layers are computed in the smaller blocks of channels
            of another method, so that all have one order, by a command stream that is ours
            (``docs/how-to/language-models.md``).
        sram_budget: SRAM that each delegate may use, in bytes or as ``"512K"`` or ``"1M"``: several runs of Vela find
            the fewest cycles within it. None: the least SRAM that costs no cycles (0.25 % at most), within what the
            memory mode has.
        sram_size: SRAM of the device, likewise. A delegate that would need more is compiled as with a budget of this
            size. None: not known.

    Raises:
        UsageError: an unknown target, system config or memory mode (the valid ones are listed), a configuration file
            that is missing or malformed (with the line), or a flag that contradicts the other arguments.
    """

    _output_format = "vela"

    def __init__(
        self,
        target: str,
        system_config: str | None = None,
        memory_mode: str | None = None,
        extra_flags: str | Iterable[str] | None = None,
        config_ini: str | PathLike[str] | None = DEFAULT_INI,
        external_block_placements: VelaExternalBlockPlacements | None = None,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        schedule: str = SCHEDULES[0],
        weight_order: str = WEIGHT_ORDERS[0],
        sram_budget: str | int | None = None,
        sram_size: str | int | None = None,
    ) -> None:
        self.accelerator = target.lower()
        defaults = DEFAULTS[family_of(self.accelerator)]
        self.system_config = system_config or defaults.system_config
        self.memory_mode = memory_mode or defaults.memory_mode
        self.config_ini = DEFAULT_INI if config_ini is None else fspath(config_ini)
        self.external_block_placements = external_block_placements or VelaExternalBlockPlacements()
        if not timeout > 0:
            raise UsageError(f"timeout must be a positive number of seconds, not {timeout}")
        self.timeout = float(timeout)
        if schedule not in SCHEDULES:
            raise UsageError(f"unknown schedule {schedule!r}; valid ones: {', '.join(SCHEDULES)}")
        self.schedule = schedule
        if weight_order not in WEIGHT_ORDERS:
            raise UsageError(f"unknown weight_order {weight_order!r}; valid ones: {', '.join(WEIGHT_ORDERS)}")
        self.weight_order = weight_order
        self.sram_budget = None if sram_budget is None else size_of(sram_budget, "sram_budget")
        self.sram_size = None if sram_size is None else size_of(sram_size, "sram_size")
        if self.sram_budget is not None and self.sram_size is not None and self.sram_budget > self.sram_size:
            raise UsageError(f"sram_budget={sram_budget} is more than the SRAM of the device, sram_size={sram_size}")
        if schedule == "deep" and sram_budget is not None:
            raise UsageError(
                "schedule='deep' takes no more SRAM than Vela by itself, and no sram_budget; limit Vela instead: "
                "extra_flags='--arena-cache-size=BYTES'"
            )
        VelaIni(locate(self.config_ini)).require(self.system_config, self.memory_mode)
        flags = without_ours(
            split(extra_flags),
            {
                "--accelerator-config": self.accelerator,
                "--system-config": self.system_config,
                "--memory-mode": self.memory_mode,
                "--config": self.config_ini,
                "--output-format": "raw",
            },
        )
        if sram_budget is not None and (flag := next(filter(decides_over_sram, flags), None)):
            raise UsageError(f"extra_flags: {flag} and sram_budget={sram_budget!r} both decide over SRAM; keep one")
        super().__init__(defaults.tosa_spec, flags)

    def _target(self) -> Target:
        options: dict[str, Any] = {
            "accelerator": self.accelerator,
            "config": self.config_ini,
            "system_config": self.system_config,
            "memory_mode": self.memory_mode,
            "flags": tuple(self.compiler_flags),
            "timeout": self.timeout,
        }
        calls = VelaCalls(
            options,
            self.sram_budget,
            self.sram_size,
            VelaIni(locate(self.config_ini)).has_cache(self.memory_mode),
            self.schedule,
            self.weight_order,
            self.external_block_placements.to_block_placements(),
        )
        return ethos_u_target(
            self.accelerator,
            calls=calls,
            choices=Estimate(options),
            compile_spec=partial(EthosUCompileSpec, self.accelerator),
            of_program=partial(EthosUCompileSpec.of_program, self.accelerator),
        )

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {
            "target": self.accelerator,
            "system_config": self.system_config,
            "memory_mode": self.memory_mode,
            "config_ini": self.config_ini,
        }
        if self.timeout != DEFAULT_TIMEOUT:
            options["timeout"] = self.timeout
        if self.schedule != SCHEDULES[0]:
            options["schedule"] = self.schedule
        if self.weight_order != WEIGHT_ORDERS[0]:
            options["weight_order"] = self.weight_order
        if self.sram_budget is not None:
            options["sram_budget"] = self.sram_budget
        if self.sram_size is not None:
            options["sram_size"] = self.sram_size
        if placed := self.external_block_placements.to_block_placements():
            options["external_block_placements"] = placed
        return options

    def _shipped_options(self) -> dict[str, Any]:
        own = is_own(self.config_ini)
        return self._options() | {"config_ini": self.config_ini if own else Path(self.config_ini).name}

    def _depends_on(self) -> dict[str, Any]:
        return {"config": str(locate(self.config_ini))} if self.config_ini == CHIPS_INI else {}

    def _files(self) -> Iterable[Path]:
        return [locate(self.config_ini)]

    @classmethod
    def of_program(cls, accelerator: str, options: Mapping[str, Any]) -> Self:
        """The spec of a program by the options in its file.

        The file may come from elsewhere: it names no configuration file but those of Vela and of this package. Where it
        does, or says something else that is not known here, the spec is the default.
        """
        known = {key: options[key] for key in _OF_PROGRAM if isinstance(options.get(key), str | int)}
        if is_own(options.get("config_ini", DEFAULT_INI)):
            with suppress(UsageError):
                return cls(accelerator, **known)
        return cls(accelerator)

    @classmethod
    def _from_options(cls, tosa_spec: TosaSpecification, flags: list[str], options: Mapping[str, Any]) -> Self:
        placed = VelaExternalBlockPlacements(**options.get("external_block_placements", {}))
        others = {name: value for name, value in options.items() if name != "external_block_placements"}
        return cls(extra_flags=flags, external_block_placements=placed, **others)
