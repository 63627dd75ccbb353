"""All networks as one firmware in QEMU: minutes, so only `nox -s firmware` runs this."""

from __future__ import annotations

from pathlib import Path

from firmware_networks import NETWORKS, deploy, verify


def test_all_networks_in_qemu(tmp_path: Path) -> None:
    deploy(tuple(NETWORKS), "mps3-an547", tmp_path)
    verify(tmp_path, tuple(NETWORKS))
