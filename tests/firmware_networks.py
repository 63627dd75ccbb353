"""Networks as firmware: those of MLPerf Tiny, BERT-tiny with its table of words on the processor, an LSTM, 16 bits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from arm_ethosu import EthosUCompileSpec
from arm_ethosu.firmware import FIRMWARE
from arm_tosa_core.cli.deploy import deployable
from arm_tosa_core.plugin.firmware import Program
from arm_tosa_core.testing.harness import exported
from models import MODELS, ZOO

TARGET = "ethos-u55-128"
#: By the model's name: the network, and how it is quantized.
NETWORKS = {
    "autoencoder": ("autoencoder", "int8"),
    "ds_cnn": ("ds_cnn", "int8"),
    "ds_cnn_int16": ("ds_cnn", "int16x8"),
    "resnet8": ("resnet8", "int8"),
    "mobilenet": ("mobilenet_v1_025", "int8"),
    "lstm": ("lstm", "int8"),
    "bert_tiny": ("bert_tiny_states", "int8"),
}


@cache
def program(name: str) -> Program:
    """A network compiled, with random weights."""
    network, scheme = NETWORKS[name]
    spec = EthosUCompileSpec(TARGET)
    module, inputs = {**MODELS, **ZOO}[network]()
    return deployable(exported(module, inputs(0), spec, scheme), spec, FIRMWARE)


def deploy(names: Sequence[str], board: str, folder: Path) -> int:
    """Makes one firmware of networks; returns the bytes of the arena that they share."""
    done = FIRMWARE.deploy({name: program(name) for name in names}, TARGET, board, folder)
    ((_, _, arena),) = (row for row in done.memory if row[0] == "arena")
    return arena


def verify(folder: Path, names: Sequence[str]) -> None:
    """Builds and runs a firmware, and compares every output with the TOSA reference model's."""
    found = FIRMWARE.verify(folder, [])
    assert {row.model for row in found} == set(names)
    for row in found:
        assert row.wrong == 0 and row.size > 1, row
