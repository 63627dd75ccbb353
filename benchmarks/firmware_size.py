"""Bytes of firmware's code for a Cortex-M55, besides the model's data, the NPU's driver and start-up.

    python -m benchmarks.firmware_size
    python -m benchmarks.firmware_size --networks ds_cnn

Each network is deployed for the board ``mps3-an547`` and built with ``-Os`` (CMake's MinSizeRel) against the functions
of Arm's core driver. What counts is what the linker kept of the model's C file, of the code that calls the driver, and
of the C library's memcpy and memset: sections of code and constants, in the linker's map. Needs what the board needs.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from arm_ethosu import EthosUCompileSpec
from arm_ethosu.firmware import FIRMWARE
from arm_tosa_core import lower
from arm_tosa_core.plugin.firmware import Program
from arm_tosa_core.testing.harness import exported
from benchmarks.results import ROOT, Run, add_results_option, record

BENCHMARK = "firmware_size"
TARGET = "ethos-u55-128"
#: Of ``tests/models``: those of MLPerf Tiny, an LSTM, and BERT-tiny, whose table of words is on the processor.
NETWORKS = ("ds_cnn", "resnet8", "mobilenet_v1_025", "autoencoder", "lstm", "bert_tiny_states")
#: A driver that does nothing: its size is not counted.
DRIVER = """#include <ethosu_driver.h>
struct ethosu_driver *ethosu_reserve_driver(void) { return 0; }
void ethosu_release_driver(struct ethosu_driver *driver) { (void)driver; }
int ethosu_invoke_v3(struct ethosu_driver *driver, const void *commands, const int commands_size,
                     uint64_t *const addresses, const size_t *sizes, const int count, void *user) {
    (void)driver; (void)commands; (void)commands_size; (void)addresses; (void)sizes; (void)count; (void)user;
    return 0;
}
"""
_HEADERS = ROOT / "packages" / "arm-runtime-cpp" / "tests" / "delegate" / "drivers"


def measure(network: str) -> dict[str, Any]:
    """The figures of one network."""
    sys.path.insert(0, str(ROOT / "tests"))
    from models import MODELS, ZOO

    module, inputs = {**MODELS, **ZOO}[network]()
    spec = EthosUCompileSpec(TARGET)
    pte = lower(exported(module, inputs(0), spec, "int8"), spec, remainder=FIRMWARE.remainder()).buffer
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        FIRMWARE.deploy({network: Program(pte)}, TARGET, "mps3-an547", folder)
        (folder / "boards" / "mps3-an547" / "driver.c").write_text(DRIVER)
        with (folder / "boards" / "mps3-an547" / "board.cmake").open("a") as file:
            file.write(
                f"target_sources(firmware PRIVATE boards/mps3-an547/driver.c)\n"
                f'target_include_directories(firmware PRIVATE "{_HEADERS}")\n'
            )
        configure = ["--preset", "board", "-DNPU=core_driver", f"-DETHOSU_CORE_DRIVER_INCLUDE_DIR={_HEADERS}"]
        said = [
            subprocess.run(
                ["cmake", *words], cwd=folder, check=True, capture_output=True, text=True, timeout=600
            ).stdout
            for words in (configure, ["--build", "build"])
        ]
        sizes = code_sizes((folder / "build" / "firmware.map").read_text(), network)
    (stack,) = re.findall(r"at most (\d+) bytes", said[1])
    return {**{f"{part}_bytes": size for part, size in sizes.items()}, "stack_bytes": int(stack)}


def code_sizes(map_text: str, network: str) -> dict[str, int]:
    """Bytes of code that the linker kept, from its map: of the model, of what calls the driver, of the C library."""
    kept = map_text.partition("Linker script and memory map")[2]
    sections = re.findall(r"^ (\.(?:text|rodata)\S*)\s+0x[0-9a-f]+\s+0x([0-9a-f]+)\s+(\S+)$", kept, re.MULTILINE)
    files = {
        "model": rf"\({re.escape(network)}\.c\.obj\)$",
        "npu": r"\(core_driver\.c\.obj\)$",
        "libc": r"libc_nano\.a\(\S*mem(cpy|set)\S*\)$",
    }
    sizes = {
        part: sum(int(size, 16) for _, size, file in sections if re.search(pattern, file))
        for part, pattern in files.items()
    }
    return {**sizes, "code": sum(sizes.values())}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=NETWORKS)
    add_results_option(parser, BENCHMARK)
    return parser


def _measured(networks: Sequence[str]) -> Iterator[Any]:
    run = Run.here(BENCHMARK)
    for network in networks:
        yield run.measured({"network": network, "target": TARGET}, "ours", measure(network))


def main() -> None:
    options = _parser().parse_args()
    for measurement in record(options.results, _measured(options.networks)):
        print(measurement.case["network"], measurement.metrics)


if __name__ == "__main__":
    main()
