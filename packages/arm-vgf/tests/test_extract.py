"""From a model to a ``.pte`` with VGF delegates, and back to the VGFs."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from executorch.exir import to_edge_transform_and_lower
from typer.testing import CliRunner

from arm_tosa_core.cli.main import app
from arm_tosa_core.support.errors import UsageError
from arm_vgf import VgfCompileSpec, VgfPartitioner, extract_vgf
from arm_vgf.vgf_format import check_vgf


class Split(torch.nn.Module):
    """Two regions for VGF with something between them that TOSA has no operator for."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        distances = torch.cdist(x * x + x, x)
        return distances * distances


class Whole(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * x + x


def lower(module: torch.nn.Module, *, with_vgf: bool = True) -> bytes:
    program = torch.export.export(module, (torch.rand(2, 3),))
    partitioners = [VgfPartitioner(VgfCompileSpec())] if with_vgf else []
    return bytes(to_edge_transform_and_lower(program, partitioner=partitioners).to_executorch().buffer)


@pytest.mark.parametrize(("module", "count"), [(Whole(), 1), (Split(), 2)])
def test_every_vgf_comes_back(tmp_path: Path, module: torch.nn.Module, count: int) -> None:
    pte = lower(module)
    path = tmp_path / "model.pte"
    path.write_bytes(pte)
    found = extract_vgf(pte)
    assert extract_vgf(path) == extract_vgf(str(path)) == found
    assert len(found) == count
    for vgf in found:
        check_vgf(vgf)


def test_the_command_line_gives_the_same_bytes(tmp_path: Path) -> None:
    model, program, vgf = tmp_path / "net.pt2", tmp_path / "net.pte", tmp_path / "net.vgf"
    torch.export.save(torch.export.export(Whole(), (torch.rand(2, 3),)), model)
    for arguments in (
        ["compile", model, "--target", "vgf", "-o", program],
        ["compile", model, "--target", "vgf", "-o", vgf],
        ["extract", program, "-o", tmp_path],
    ):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == 0, result.output
    assert [vgf.read_bytes()] == extract_vgf(program) == [(tmp_path / "net_forward_0.vgf").read_bytes()]


def test_a_program_without_vgf_gives_none() -> None:
    assert extract_vgf(lower(Whole(), with_vgf=False)) == []


@pytest.mark.parametrize("content", [None, b"", b"junk" * 50])
def test_a_bad_file_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "model.pte"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match="cannot read|not an ExecuTorch program"):
        extract_vgf(path)


BAD_VGF = {
    "empty": b"",
    "other magic": b"ABCD" + bytes(200),
    "header cut": b"VGF1" + bytes(60),
    "section beyond the end": b"VGF1"
    + bytes(12)
    + (128).to_bytes(8, "little")
    + (999).to_bytes(8, "little")
    + bytes(96),
}


@pytest.mark.parametrize("kind", BAD_VGF)
def test_what_is_no_vgf_is_refused(kind: str) -> None:
    with pytest.raises(UsageError, match="not a (whole )?VGF"):
        check_vgf(BAD_VGF[kind])
