"""What neural accelerators count: of no device here, so a stand-in adds the extension to Arm's emulation layer."""

from __future__ import annotations

from typing import Any

import pytest
from test_lifetimes import watch as watch  # the fixture
from vgf_files import Load, graph_vgf

from arm_tosa_core.tosa.ir import DType

_RUN = """
import numpy
with Session(vgf, engine="layer", statistics={mode!r}) as session:
    for _ in range(2):
        session.run([numpy.array([-1, 2, -3, 4], numpy.int32)])
        for found in session.statistics():
            print(found.kind, found.segment, len(found.data), found.data.rstrip(b"\\0").decode())
"""


@pytest.mark.parametrize(("mode", "number"), [(0, 1), ("1", 2)])
def test_what_is_counted_is_handed_out(layer: Load, watch: Any, mode: Any, number: int) -> None:
    done, said = watch(_RUN.format(mode=mode), WATCHED_STATISTICS="all")
    assert done.returncode == 0, done.stderr
    assert said["statistics enabled"] == said["pipeline counts"] == 1
    rows = [line.split(maxsplit=4) for line in done.stdout.splitlines()]
    kinds = ["debug database graph_segment_0", "statistics info graph_segment_0", *["statistics graph_segment_0"] * 2]
    assert [line.rpartition("graph_segment_0")[0] + "graph_segment_0" for line in done.stdout.splitlines()] == kinds * 2
    assert [" ".join(row) for row in rows[:2]] == [
        "debug database graph_segment_0 15 which operators",
        "statistics info graph_segment_0 14 which counters",
    ]
    first, second = (line.partition("run ")[2] for line in done.stdout.splitlines()[2::4])
    assert int(second) == int(first) + 1
    for place in (2, 3, 6, 7):
        assert f"64 mode {number}, object {place % 2}, run " in done.stdout.splitlines()[place]


def test_nothing_is_counted_unless_asked_for(layer: Load, watch: Any) -> None:
    """The extension is enabled where the device has it; a session is as without."""
    done, said = watch(_RUN.format(mode=None), WATCHED_STATISTICS="all")
    assert (done.returncode, done.stdout) == (0, "")
    assert (said["statistics enabled"], said["pipeline counts"]) == (1, 0)


def test_devices_that_cannot_count(layer: Load, watch: Any, vgf: Any) -> None:
    """Without the extension, with it but without its feature, and the engine that uses no accelerator."""
    for settings in ({}, {"WATCHED_STATISTICS": "none"}):
        done, said = watch(_RUN.format(mode="0"), **settings)
        assert "has no VK_ARM_data_graph_neural_accelerator_statistics: it tells no statistics" in done.stderr
        assert said["statistics enabled"] == 0
    data = graph_vgf("ABS", DType.INT32, 4)
    with pytest.raises(vgf.VgfError, match="the engine `compute` has no statistics of a neural accelerator"):
        vgf.Session(data, engine="compute", statistics="1")
    with pytest.raises(vgf.VgfError, match="there are no VGF statistics '2': they are off, 0 or 1"):
        vgf.Session(data, statistics=2)
    with vgf.Session(data, engine="compute", statistics="off") as session:
        assert session.statistics() == []
