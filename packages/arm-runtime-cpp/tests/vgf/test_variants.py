"""Variants of kernels give the same integers, the fastest is kept, and a kernel that is wrong is not used."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_compute import network

#: Of operators; those of ports move inputs and outputs, in an application's frame (test_frame.py).
KERNELS = sorted(
    path.stem
    for path in (Path(__file__).parents[2] / "src" / "vgf" / "kernels").glob("*.comp")
    if not path.stem.startswith("port_")
)
OF_TYPES = ("convolution", "depthwise", "gemm")
MOST_VARIANTS = 10  # of plan/candidates.cpp


@dataclass
class Player:
    """Runs a network's VGF in processes of their own, with a cache that they share."""

    program: Path
    vgf: Path
    cache: Path

    def __call__(
        self, variant: int = -1, wrong: str = "", tune: str = "off"
    ) -> tuple[bytes, str, list[dict[str, Any]]]:
        """The output, the engine's reason and the plan."""
        done = self.process(variant, wrong, tune)
        assert done.returncode == 0, done.stderr
        reason, _, plan = done.stdout.partition("\n")
        return self.vgf.with_suffix(".out").read_bytes(), reason, json.loads(plan)

    def process(self, variant: int, wrong: str, tune: str) -> subprocess.CompletedProcess[str]:
        files = [self.vgf, self.vgf.with_suffix(".in"), self.vgf.with_suffix(".out")]
        env = {**os.environ, "ARM_VGF_ENGINE": "compute", "ARM_VGF_TUNE": tune, "ARM_VGF_CACHE": str(self.cache)}
        command = [str(self.program), *map(str, files), str(variant), wrong]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)

    @property
    def facts(self) -> Path:
        (file,) = self.cache.glob("*.facts")
        return file


@pytest.fixture
def player(vgf: Any, cmake_build: Callable[..., Path], tmp_path: Path) -> Callable[[str], Player]:
    program = cmake_build("host", "vgf_variants") / "tests" / "vgf" / "vgf_variants"

    def make(scheme: str) -> Player:
        file = tmp_path / "network.vgf"
        file.write_bytes(network(scheme))
        rng = np.random.default_rng(0)
        file.with_suffix(".in").write_bytes(rng.standard_normal((1, 3, 12, 12)).astype(np.float32).tobytes())
        return Player(program, file, tmp_path / "cache")

    return make


@pytest.mark.parametrize("scheme", ["int8", "int16x8"])
def test_integers_are_the_same_in_every_variant(player: Callable[[str], Player], scheme: str) -> None:
    play = player(scheme)
    first, _, plan = play(variant=0)
    assert len(set(first)) > 4, "of a constant, a comparison says nothing"
    others = [play(variant=variant) for variant in range(1, MOST_VARIANTS)]
    assert [output for output, _, _ in others] == [first] * len(others)
    # An accelerator's default differs from a processor's, but each list has variants that differ here.
    assert any(other != plan for _, _, other in others)


def test_floats_have_one_variant(player: Callable[[str], Player]) -> None:
    play = player("fp32")
    plans = [play(variant=variant)[2] for variant in (0, 1, MOST_VARIANTS - 1)]
    assert plans == plans[:1] * 3


def test_the_fastest_variants_are_kept(player: Callable[[str], Player]) -> None:
    play = player("int8")
    wanted, _, _ = play()
    assert not list(play.cache.glob("*.facts")), "a software renderer is neither tested nor tuned"
    loads = 0
    while loads == 0 or any(tried != "10" for _, tried in choices(play)):
        loads += 1
        assert loads < 12, "each load tries one variant at least"
        output, _, plan = play(tune="always")
        assert output == wanted
    kept = play.facts.read_bytes()
    assert play(tune="always")[::2] == (wanted, plan)
    assert play(tune="off")[::2] == (wanted, plan), "what was found counts"
    assert play.facts.read_bytes() == kept
    for broken in (kept[:-3], b"", bytes(len(kept))):
        play.facts.write_bytes(broken)
        assert play(tune="off")[0] == wanted


def choices(play: Player) -> list[tuple[str, str]]:
    """Variant, and how many were tried, of each shape that gemm was searched for."""
    lines = play.facts.read_bytes()[:-8].decode().splitlines()
    words = [line.split() for line in lines]
    return [(one[1], one[2]) for one in words if one[0] == "choice" and one[3].startswith("gemm/")]


def test_every_kernel_passes_its_self_test(vgf: Any, cmake_build: Callable[..., Path]) -> None:
    program = cmake_build("host", "vgf_self_test") / "tests" / "vgf" / "vgf_self_test"
    tests = [*KERNELS, *(f"{kernel}.{kind}" for kernel in OF_TYPES for kind in ("i16", "fp32", "fp16", "bf16"))]
    done = subprocess.run([str(program), *tests], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    results = {tuple(line.split()) for line in done.stdout.splitlines()}
    assert results == {(test, "right") for test in tests}


def test_a_kernel_that_is_wrong_with_dot_products_goes_without(player: Callable[[str], Player]) -> None:
    play = player("int8")
    wanted, _, plan = play()
    if not any(step["variant"].startswith("dot") for step in plan):
        pytest.skip("the device has no integer dot products")
    for wrong in ("gemm+dot", ""):  # it is kept
        output, reason, plan = play(wrong=wrong, tune="always")
        assert output == wanted
        assert "without gemm+dot, which this driver computes wrongly" in reason
        assert not any(step["variant"].startswith("dot") for step in plan)


def test_a_kernel_that_is_wrong_in_any_case_is_refused(player: Callable[[str], Player]) -> None:
    play = player("int8")
    for wrong in ("depthwise", ""):
        done = play.process(-1, wrong, "always")
        assert done.returncode == 1
        assert "the kernel 'depthwise' computes wrongly on " in done.stderr and "Update the driver" in done.stderr
    play.facts.unlink()
    play(tune="always")


def test_a_kernel_is_tested_for_the_floats_that_it_runs_on(player: Callable[[str], Player]) -> None:
    play = player("fp32")
    play(wrong="gemm", tune="always")  # of integers, which this network has none of
    lines = play.facts.read_bytes()[:-8].decode().splitlines()
    tested = {line.split()[-1].partition("/")[0] for line in lines if line.startswith("test ")}
    assert "gemm.fp32" in tested and not tested & {"gemm", "gemm+dot", "gemm.fp16"}
    play.facts.unlink()
    done = play.process(-1, "gemm.fp32", "always")
    assert done.returncode == 1
    assert "the kernel 'gemm.fp32' computes wrongly on " in done.stderr
