"""The NPU through Arm's core driver: what is called, in which order. A stand-in has the driver's functions."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from arm_ethosu.firmware.npu import FOLDER
from build_tools import require

WARNINGS = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
#: The declarations of the driver's headers that firmware uses.
HEADERS = {
    "ethosu_driver.h": """
#include <stddef.h>
#include <stdint.h>
struct ethosu_driver { int reserved; };
struct ethosu_driver *ethosu_reserve_driver(void);
void ethosu_release_driver(struct ethosu_driver *driver);
int ethosu_invoke_v3(struct ethosu_driver *driver, const void *commands, const int size, uint64_t *const addresses,
                     const size_t *sizes, const int count, void *user);
void ethosu_inference_begin(struct ethosu_driver *driver, void *user);
void ethosu_inference_end(struct ethosu_driver *driver, void *user);
""",
    "pmu_ethosu.h": """
#define ETHOSU_PMU_CCNT_Msk (1u << 31)
void ETHOSU_PMU_Enable(struct ethosu_driver *driver);
void ETHOSU_PMU_Disable(struct ethosu_driver *driver);
void ETHOSU_PMU_CYCCNT_Reset(struct ethosu_driver *driver);
void ETHOSU_PMU_CNTR_Enable(struct ethosu_driver *driver, uint32_t mask);
uint64_t ETHOSU_PMU_Get_CCNTR(struct ethosu_driver *driver);
""",
}
#: Says what it is called with; its status is that of the run.
DRIVER = """
#include <ethosu_driver.h>
#include <stdio.h>
#include "npu.h"
#include "npu_hooks.h"
static uint8_t commands[32], weights[48], scratch[64], fast[16];
static struct ethosu_driver only;
struct ethosu_driver *ethosu_reserve_driver(void) { puts("reserve"); return DRIVER; }
void ethosu_release_driver(struct ethosu_driver *driver) { printf("release %d\\n", driver == &only); }
int ethosu_invoke_v3(struct ethosu_driver *driver, const void *stream, const int size, uint64_t *const addresses,
                     const size_t *sizes, const int count, void *user) {
#ifdef NPU_PROFILE
    ethosu_inference_begin(driver, user);
#endif
    printf("invoke %d %d:", stream == commands && driver == &only && user == NULL, size);
    for (int i = 0; i < count; i++) {
        const void *wanted[] = {weights, scratch, fast};
        printf(" %d %zu", addresses[i] == (uint64_t)(uintptr_t)wanted[i], sizes[i]);
    }
    puts("");
#ifdef NPU_PROFILE
    ethosu_inference_end(driver, user);
#endif
    return STATUS;
}
void npu_cache_clean(const void *memory, size_t bytes) {
    printf("clean %d %zu\\n", memory == scratch || memory == fast, bytes);
}
void npu_cache_invalidate(void *memory, size_t bytes) {
    printf("invalidate %d %zu\\n", memory == scratch || memory == fast, bytes);
}
void npu_profiled(uint64_t cycles) { printf("cycles %d\\n", (int)cycles); }
#ifdef NPU_PROFILE
#include <pmu_ethosu.h>
void ETHOSU_PMU_Enable(struct ethosu_driver *driver) { (void)driver; puts("PMU on"); }
void ETHOSU_PMU_Disable(struct ethosu_driver *driver) { (void)driver; puts("PMU off"); }
void ETHOSU_PMU_CYCCNT_Reset(struct ethosu_driver *driver) { (void)driver; puts("PMU reset"); }
void ETHOSU_PMU_CNTR_Enable(struct ethosu_driver *driver, uint32_t mask) {
    (void)driver;
    printf("PMU count %u\\n", mask >> 31);
}
uint64_t ETHOSU_PMU_Get_CCNTR(struct ethosu_driver *driver) { (void)driver; return 1234; }
#endif
int main(void) {
    const npu_job job = {commands, sizeof(commands), weights, sizeof(weights),
                         scratch,  sizeof(scratch),  fast,    sizeof(fast)};

    return npu_run(&job);
}
"""
INVOKE = "invoke 1 32: 1 48 1 64 1 16"
CASES = {
    "plain": ([], ["reserve", INVOKE, "release 1"]),
    "cache": (
        ["NPU_CACHE"],
        ["reserve", "clean 1 64", "clean 1 16", INVOKE, "invalidate 1 64", "invalidate 1 16", "release 1"],
    ),
    "profile": (
        ["NPU_PROFILE"],
        ["reserve", "PMU on", "PMU reset", "PMU count 1", INVOKE, "PMU off", "cycles 1234", "release 1"],
    ),
}


def run(folder: Path, defined: list[str]) -> subprocess.CompletedProcess[str]:
    require("gcc")
    for name, text in {**HEADERS, "driver.c": DRIVER}.items():
        (folder / name).write_text(text)
    command = ["gcc", *WARNINGS, "-fsanitize=address,undefined", f"-I{folder}", f"-I{FOLDER / 'npu'}"]
    command += [f"-D{word}" for word in defined]
    sources = [str(FOLDER / "npu" / "core_driver.c"), str(folder / "driver.c")]
    subprocess.run([*command, "-o", str(folder / "run"), *sources], check=True, timeout=120)
    return subprocess.run([folder / "run"], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("case", CASES)
def test_a_job_on_the_core_driver(case: str, tmp_path: Path) -> None:
    defined, wanted = CASES[case]
    done = run(tmp_path, [*defined, "DRIVER=&only", "STATUS=0"])
    assert done.returncode == 0 and done.stdout.splitlines() == wanted


def test_a_driver_that_fails_is_a_status(tmp_path: Path) -> None:
    assert run(tmp_path, ["DRIVER=&only", "STATUS=7"]).returncode == 7
    none = run(tmp_path, ["DRIVER=NULL", "STATUS=0"])
    assert (none.returncode, none.stdout) == (1, "reserve\n")


def test_the_cache_of_cortex_m_compiles(tmp_path: Path) -> None:
    require("arm-none-eabi-gcc")
    for core in ("cortex-m55", "cortex-m7"):
        command = [
            "arm-none-eabi-gcc",
            *WARNINGS,
            f"-mcpu={core}",
            "-mthumb",
            "-Os",
            "-c",
            "-o",
            str(tmp_path / "cache.o"),
        ]
        subprocess.run([*command, str(FOLDER / "npu" / "cache_cortex_m.c")], check=True, timeout=60)
