"""Vela's compiler core without starting Vela: a few milliseconds per graph instead of half a second.

Each graph is compiled in a forked child, because the core may crash on a graph instead of refusing it.
"""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import io
import os
import signal

from arm_ethosu.accelerators import DEFAULTS, family_of
from arm_ethosu.vela_ini import locate

_SECONDS = 60


@functools.cache
def _configuration(accelerator: str) -> tuple[str, str, str]:
    """What ``vela.py`` of ethos-u-vela 5.2 hands to its core: architecture, system configuration, options."""
    from ethosu.vela import vela
    from ethosu.vela.architecture_features import ArchitectureFeatures

    defaults = DEFAULTS[family_of(accelerator)]
    ini = locate(None)
    with contextlib.redirect_stdout(io.StringIO()):
        arch = ArchitectureFeatures(
            [str(ini)], accelerator, defaults.system_config, defaults.memory_mode, 3, False, None
        )
    system = (
        f"[architecture]\nmacs={arch.num_macs_per_cycle}\ncores={arch.ncores}\n"
        f"[vela]\nsystem_config_name={defaults.system_config}\nmemory_mode_name={defaults.memory_mode}\n"
    ) + ini.read_text()
    names = vela.get_compiler_config.__annotations__
    switches = {name: False for name in names if name != "return"}
    options = switches | {
        "optimize": "Performance",
        "arena_cache_size": arch.arena_cache_size,
        "output_format": "raw",
        "cop_format": "COP1",
        "cpu_tensor_alignment": 16,
        "tensor_allocator": "HillClimb",
        "softmax_int16_neg_exp_range": 10.0,
        "ignore_ops": "",
    }
    return f"Ethos{family_of(accelerator).upper()}", system, vela.get_compiler_config(**options)


def problem(tosa: bytes, accelerator: str) -> str:
    """Why Vela's core does not compile the flatbuffer; empty if it does."""
    from ethosu import regor

    architecture, system, options = _configuration(accelerator)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        signal.alarm(_SECONDS)
        faulthandler.disable()  # a crash of Vela is a result here, not news
        try:
            regor.compile(architecture, tosa, "TOSA", system, options=options, verbose=False)
        except Exception as error:
            os.write(writer, (str(error).strip() or repr(error)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        message = file.read().decode()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return f"killed by {signal.Signals(-status).name}" if status < 0 else message
