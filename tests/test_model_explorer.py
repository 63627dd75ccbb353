"""Model Explorer on our files: ``arm-tosa view``, and Arm's adapters for ``.tosa``, ``.vgf`` and ``.pte``.

The adapters want another flatbuffers than tosa-tools, so Model Explorer has an environment of its own, whose commands
nox puts on PATH.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest
from typer.testing import CliRunner

from arm_tosa_core.cli.main import app

EXPLORER = shutil.which("model-explorer")
pytestmark = pytest.mark.skipif(EXPLORER is None, reason="Model Explorer is not installed")

NET = """
import torch

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(2, 4, 3)

    def forward(self, x):
        return self.conv(x).relu()

def make():
    torch.manual_seed(0)
    return torch.nn.Sequential(Block()).eval(), (torch.rand(1, 2, 8, 8),)
"""
#: Converts files with an adapter of Arm's as Model Explorer does, and prints the nodes.
CONVERT = """
import importlib, json, sys
from model_explorer import Adapter
module = importlib.import_module(f"{sys.argv[1]}_adapter_model_explorer.main")
(kind,) = [v for v in vars(module).values() if isinstance(v, type) and issubclass(v, Adapter) and v is not Adapter]
found = kind().convert(sys.argv[2], {})
collections = found.get("graphCollections") or [found]
graphs = [g for c in collections for g in (c["graphs"] if isinstance(c, dict) else c.graphs)]
print("RESULT" + json.dumps({node.id: node.label for graph in graphs for node in graph.nodes}))
"""


def _arm_tosa(*words: str) -> None:
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a network compiled for both kinds of device."""
    folder = tmp_path_factory.mktemp("explorer")
    (folder / "net.py").write_text(NET)
    for target in ("ethos-u55-128", "vgf"):
        words = ("compile", f"{folder}/net.py:make", "--target", target, "--quantize", "int8")
        _arm_tosa(*words, "-o", f"{folder}/{target}.pte", "--artifacts", f"{folder}/{target}")
    _arm_tosa("extract", f"{folder}/vgf.pte", "-o", f"{folder}/parts")
    return folder


def _converted(adapter: str, file: Path) -> dict[str, str]:
    """Labels of nodes by their ids, as an adapter of Arm's gives them."""
    assert EXPLORER is not None
    python = str(Path(EXPLORER).resolve().with_name("python"))
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [python, "-c", CONVERT, adapter, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=env)
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout.rpartition("RESULT")[2])
    return found


def test_arms_adapter_reads_our_tosa_and_our_costs_fit_its_nodes(made: Path) -> None:
    folder = made / "ethos-u55-128" / "delegate_0"
    nodes = _converted("tosa", folder / "ethos-u55-128.tosa")
    assert {"CONST", "CONV2D", "RESCALE"} <= set(nodes.values())
    for cost in ("cycles", "bytes"):
        results = json.loads((folder / f"ethos-u55-128.{cost}.json").read_text())["main"]["results"]
        assert "CONV2D" in {nodes[node] for node in results}
        assert all(result["value"] > 0 for result in results.values())


@pytest.mark.parametrize(
    ("adapter", "file", "label"),
    [
        ("vgf", "parts/vgf_forward_0.vgf", "CONV2D"),
        ("pte", "vgf.pte", "VgfBackend"),
        ("pte", "ethos-u55-128.pte", "EthosUBackend"),
    ],
)
def test_arms_adapters_read_our_vgf_and_pte(made: Path, adapter: str, file: str, label: str) -> None:
    assert label in _converted(adapter, made / file).values()


def _heed_interrupts() -> None:
    """A shell starts what runs in the background with Ctrl-C ignored, and every process passes that on."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_view_serves_a_graph_in_its_modules_until_it_is_interrupted(made: Path) -> None:
    tosa = made / "ethos-u55-128" / "delegate_0" / "ethos-u55-128.tosa"
    code = "from arm_tosa_core.cli.main import main; main()"
    command = [sys.executable, "-c", code, "view", str(tosa), "--no-browser", "--port", "18080"]
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=env, start_new_session=True, preexec_fn=_heed_interrupts
    ) as server:
        try:
            assert server.stdout is not None
            address = next(line.strip() for line in server.stdout if line.startswith("http://"))
            asked = json.loads(unquote(address.partition("?data=")[2]))
            ((source,), costs) = asked["models"], asked["nodeData"]
            drawn = json.loads(Path(source["url"]).read_text())
            os.killpg(server.pid, signal.SIGINT)
            assert server.wait(60) == 0
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)
    assert [Path(cost).name for cost in costs] == ["ethos-u55-128.cycles.json", "ethos-u55-128.bytes.json"]
    (graph,) = drawn["graphs"]
    by_label = {node["label"]: node for node in graph["nodes"]}
    assert by_label["CONV2D"]["namespace"] == "0/conv/conv2d"
    assert {"key": "weight", "value": "INT8[4, 3, 3, 2]"} in by_label["CONV2D"]["attrs"]
    known = {node["id"] for node in graph["nodes"]}
    assert all(edge["sourceNodeId"] in known for node in graph["nodes"] for edge in node.get("incomingEdges", ()))
    assert {node for cost in costs for node in json.loads(Path(cost).read_text())["main"]["results"]} <= known
