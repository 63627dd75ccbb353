"""Latency and load time of a VGF on our engines and on Arm's scenario_runner, in turn, on the same file and inputs.

    python -m benchmarks.vgf                                          # MobileNetV2 int8, compiled here
    python -m benchmarks.vgf digits resnet18:fp32 --repeat 200        # networks of tests/models
    python -m benchmarks.vgf MODEL.vgf                                # any VGF
    python -m benchmarks.vgf --engines compute                        # without the emulation layer

Engines are those of ``arm_runtime.vgf.Session``. scenario_runner runs where it is installed (pip install
ai-ml-sdk-scenario-runner) and ``layer`` or ``native`` is among the engines.

Ours is the wall time of ``Session.run``: both copies, submission, the wait. Theirs is what its performance counters
say for an iteration: recording commands, submission, the wait; it copies nothing between iterations. A first load
starts with an empty pipeline cache of ours, the second finds what the first left; the driver's own cache, if it has
one, is moved to a folder that starts empty too.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.results import Measurement, Run, add_results_option, progress, record

Array = np.ndarray[Any, Any]
TIMEOUT_S = 1800


def compile_network(name: str = "mobilenet_v2", scheme: str = "int8") -> tuple[bytes, bytes]:
    """A network of ``tests/models``, random weights, as one VGF with float edges; and its TOSA graph."""
    from arm_tosa_core.testing.harness import Execution, exported
    from arm_vgf import VgfCompileSpec
    from benchmarks.registry import network

    module, inputs = network(name)
    spec = VgfCompileSpec()
    execution = Execution(exported(module, inputs(1), spec, scheme), spec.target())
    (vgf,), (tosa,) = execution.payloads, execution.flatbuffers
    return vgf, tosa


def random_input(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> Array:
    """Values of every kind of type: normal floats, all bytes, small integers."""
    if dtype.startswith("float"):
        return rng.standard_normal(shape).astype(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    return rng.integers(0, 100, shape).astype(dtype)


class Ours:
    """An engine of our runtime, in this process."""

    def __init__(self, vgf: bytes, engine: str) -> None:
        from arm_runtime.vgf import Session

        self.session = Session(vgf, engine=engine)
        rng = np.random.default_rng(0)
        self.inputs = [random_input(t.shape, t.dtype, rng) for t in self.session.inputs]
        self.session.run(self.inputs)  # the first run touches memory

    def run(self, repeat: int) -> list[float]:
        """Milliseconds of each run."""
        times = []
        for _ in range(repeat):
            start = time.perf_counter()
            self.session.run(self.inputs)
            times.append(1e3 * (time.perf_counter() - start))
        return times

    def overheads(self, repeat: int) -> list[tuple[float, float]]:
        """Milliseconds of each run within the runtime, and of the device's part."""
        self.session.profile()
        times = []
        for _ in range(repeat):
            self.session.run(self.inputs)
            events = self.session.profile()
            host = sum(e.end - e.begin for e in events if not e.on_device)
            times.append((host / 1e6, sum(e.end - e.begin for e in events if e.on_device) / 1e6))
        return times


class ScenarioRunner:
    """Arm's scenario_runner; the scenario is what vgf_dump makes of the file."""

    def __init__(self, vgf: bytes, inputs: list[Array], emulated: bool, folder: Path) -> None:
        self.folder = folder
        self.env = dict(os.environ)
        if emulated:
            self.env.update(_layers(folder))
        (folder / "model.vgf").write_bytes(vgf)
        dump = [_tool("vgf_dump"), "--input", str(folder / "model.vgf"), "--scenario-template"]
        text = subprocess.run(dump, check=True, capture_output=True, text=True, timeout=TIMEOUT_S).stdout
        scenario = json.loads(text)
        for tensor in (r["tensor"] for r in scenario["resources"] if "tensor" in r):
            for end in {"src", "dst"} & set(tensor):  # TEMPLATE_PATH_TENSOR_INPUT_0
                tensor[end] = f"{end}{tensor[end].rpartition('_')[2]}.npy"
        for number, array in enumerate(inputs):
            np.save(folder / f"src{number}.npy", array)
        self.scenario = folder / "scenario.json"
        self.scenario.write_text(json.dumps(scenario))

    def run(self, repeat: int) -> list[float]:
        """Milliseconds of each iteration, without the first, in which the driver touches memory."""
        counters = self.folder / "counters.json"
        command = [_tool("scenario-runner"), "--scenario", str(self.scenario)]
        command += ["--output", str(self.folder), "--repeat", str(repeat + 1)]
        command += ["--perf-counters-dump-path", str(counters), "--log-level", "error"]
        subprocess.run(command, check=True, env=self.env, timeout=TIMEOUT_S, capture_output=True, text=True)
        times: dict[int, float] = {}
        for counter in json.loads(counters.read_text())["Run Scenario"]["counters"]:
            iteration = int(counter["name"].rpartition(" ")[2])
            times[iteration] = times.get(iteration, 0.0) + counter["value"] / 1e3
        return [times[i] for i in sorted(times)][1:]


#: Programs that Arm's packages hold: import name and distribution.
TOOLS = {
    "vgf_dump": ("vgf_lib", "ai-ml-sdk-vgf-library"),
    "scenario-runner": ("scenario_runner", "ai-ml-sdk-scenario-runner"),
}


def _tool(name: str) -> str:
    package, distribution = TOOLS[name]
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        sys.exit(f"{name} is missing: pip install {distribution}")
    return str(Path(spec.submodule_search_locations[0], "binaries", "bin", name))


#: In the emulation layer's folder, where the Vulkan loader is to look.
MANIFESTS = "share/vulkan/explicit_layer.d"


def _deploy() -> Path:
    spec = find_spec("emulation_layer")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("the emulation layer is missing: pip install ai-ml-emulation-layer-for-vulkan")
    return Path(spec.submodule_search_locations[0], "deploy")


def _layers(folder: Path) -> dict[str, str]:
    """The environment in which the Vulkan loader finds the emulation layer, graph above tensor."""
    deploy = _deploy()
    for number, name in enumerate(("VkLayer_Graph.json", "VkLayer_Tensor.json")):
        (folder / f"layer{number}").mkdir(exist_ok=True)
        shutil.copy(deploy / MANIFESTS / name, folder / f"layer{number}")
    return {
        "VK_LAYER_PATH": f"{folder / 'layer0'}:{folder / 'layer1'}",
        "VK_INSTANCE_LAYERS": "VK_LAYER_ML_Graph_Emulation:VK_LAYER_ML_Tensor_Emulation",
        "LD_LIBRARY_PATH": f"{deploy / 'lib'}:{os.environ.get('LD_LIBRARY_PATH', '')}",
    }


_LOAD = """
import sys, time
from arm_runtime.vgf import Session
vgf = open(sys.argv[1], "rb").read()
clock, engine = getattr(time, sys.argv[2]), sys.argv[3] or None
for _ in range(2):
    start = clock()
    with Session(vgf, engine=engine):
        print(1e3 * (clock() - start))
"""


def load_times(vgf: Path, clock: str = "perf_counter", engine: str = "") -> dict[str, float]:
    """Milliseconds of loads: the first ever, the next in the same process, the first of a second process.

    Args:
        clock: the function of ``time`` that measures them; ``process_time`` is disturbed less by other processes.
        engine: of the runtime; empty: its default.
    """
    with tempfile.TemporaryDirectory() as folder:
        caches = ("ARM_VGF_CACHE", "MESA_SHADER_CACHE_DIR", "__GL_SHADER_DISK_CACHE_PATH")
        env = dict(os.environ, **dict.fromkeys(caches, folder))
        outputs = []
        for _ in range(2):
            child = [sys.executable, "-c", _LOAD, str(vgf), clock, engine]
            done = subprocess.run(child, check=True, env=env, timeout=TIMEOUT_S, stdout=subprocess.PIPE, text=True)
            outputs.append([float(word) for word in done.stdout.split()])
        (first, again), (second, _) = outputs
        return {"load_first_ms": first, "load_again_ms": again, "load_second_process_ms": second}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", default=["mobilenet_v2"], help="FILE.vgf, NETWORK or NETWORK:fp32")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each side in a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engines", type=lambda words: words.split(","), default=["compute", "layer"])
    add_results_option(parser, "vgf")
    options = parser.parse_args()
    if "layer" in options.engines:  # the Vulkan loader looks there
        os.environ.setdefault("VK_LAYER_PATH", str(_deploy() / MANIFESTS))
    for program in options.programs:
        for measurement in record(options.results, _measured(program, options.engines, options.repeat, options.rounds)):
            print(progress(measurement), flush=True)


def _measured(program: str, engines: list[str], repeat: int, rounds: int) -> Iterator[Measurement]:
    name, _, scheme = program.partition(":")
    scheme = scheme or "int8"
    if program.endswith(".vgf"):
        vgf, case = Path(program).read_bytes(), {"network": Path(program).stem}
    else:
        vgf, case = compile_network(name, scheme)[0], {"network": name, "scheme": scheme}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "program.vgf").write_bytes(vgf)
        loads = {engine: load_times(folder / "program.vgf", engine=engine) for engine in engines}
        ours = {engine: Ours(vgf, engine) for engine in engines}
        sides: dict[str, Ours | ScenarioRunner] = {**ours}
        any_engine = ours[engines[0]]
        if find_spec(TOOLS["scenario-runner"][0]) and {"layer", "native"} & ours.keys():
            sides["scenario_runner"] = ScenarioRunner(vgf, any_engine.inputs, "native" not in ours, folder)
        run = Run.here("vgf", gpu=any_engine.session.device.removesuffix(" (emulated)"))
        times: dict[str, list[float]] = {side: [] for side in sides}
        for _ in range(rounds):
            for side, runner in sides.items():
                times[side] += runner.run(repeat)
        own = {
            engine: {
                "host_overhead_ms": statistics.median(wall - device for wall, device in one.overheads(repeat)),
                **loads[engine],
                "memory_bytes": one.session.memory(),
            }
            for engine, one in ours.items()
        }
    metrics = {
        side: {"latency_ms": statistics.median(found), "fastest_ms": min(found), "load": os.getloadavg()[0]}
        for side, found in times.items()
    }
    for engine in engines:
        yield run.measured({**case, "engine": engine}, "ours", {**metrics[engine], **own[engine]})
        if "scenario_runner" in metrics:
            yield run.measured({**case, "engine": engine}, "scenario_runner", metrics["scenario_runner"])


if __name__ == "__main__":
    main()
