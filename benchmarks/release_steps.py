"""What ``nox -s bench-all`` runs: the benchmarks whose rows the pages show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_SEARCHED = {
    "mobilenet_v1_025": "64K",
    "mobilenet_v2": "512K",
    "resnet18": "768K",
    "efficientnet_b0": "256K",
    "deit_tiny": "512K",
}
_TIMED = "--targets ethos-u55-128 ethos-u85-256 --time"


@dataclass(frozen=True)
class Step:
    """A benchmark.

    Args:
        name: its module, and the file of its rows.
        commands: arguments of ``python -m benchmarks.``. In braces: what ``needs`` gives, ``work``, a folder that stays
            between steps, and ``python``, this interpreter. A command with ``{each}`` is run for each name.
        each: the names, as ``MODULE:DICTIONARY``, or a function there.
        device: a command for a machine with a GPU, after the others.
        needs: keys of ``benchmarks.release.NEEDS``.
        about: minutes on two cores, of runs before there was a record of them; 0: not known.
    """

    name: str
    commands: Sequence[str]
    each: str = ""
    device: str = ""
    needs: Sequence[str] = ()
    about: int = 0


_ZOO, _ALL = "benchmarks.registry:ZOO", "benchmarks.registry:NETWORKS"

#: In this order: what needs nothing first, and of that the short ones.
STEPS = (
    Step("ethosu_model", ["ethosu_model"], about=1),
    Step("wheel_sizes", ["wheel_sizes"], needs=["wheels"]),
    Step("demo", ["demo"], needs=["compiler"]),
    Step("firmware_size", ["firmware_size"], needs=["compiler"], about=2),
    Step("cortex_m_costs", ["cortex_m_costs"], needs=["compiler"]),
    Step("timing", ["timing", "timing --published"]),
    Step("vgf_networks", ["vgf_networks"]),
    Step("vgf_host", ["vgf_host"], needs=["peers"]),
    Step("vgf_frame_memory", ["vgf_frames --memory {vgf_frame}"], needs=["vgf_frame"], about=2),
    Step(
        "sram",
        [
            f"sram --networks {network} {_TIMED}{budget}"
            for network, size in _SEARCHED.items()
            for budget in ("", f" --budget {size}")
        ],
    ),
    Step("gains", ["gains --networks {each}"], "benchmarks.gains:CASES", needs=["packages"]),
    Step("ethosu_schedules", ["ethosu_schedules"]),
    Step("flow", ["flow"]),
    Step("llm_large", ["llm.large"]),
    Step(
        "llm",
        [
            "llm --sides ours --contexts 256 64",
            "llm --sides rival --contexts 256",
            "llm --sides lengths --schemes a8w8 --contexts 1024",
            "llm --sides weights --contexts 256",
            "llm --sides reference --contexts 256",
            "llm --sides buffers 'rival buffers' --schemes a8w8 --contexts 256",
        ],
    ),
    Step(
        "lowering",
        [
            "lowering --imports",
            "lowering --depth",
            "lowering",
            "lowering --models resnet50 bert_tiny_states --targets ethos-u55-128 ethos-u85-256 --sides ours --repeat 1",
            "lowering --models {each} --targets ethos-u55-128 ethos-u85-256 --repeat 1",
        ],
        _ZOO,
    ),
    Step("schemes", ["schemes --networks {each}"], _ALL),
    Step("tflite_files", ["tflite_files --fetch {work}/tflite", "tflite_files {work}/tflite --litert {python}"]),
    Step("onnx_networks", ["onnx_networks"]),
    Step("tflite_cpu", ["tflite_files --fetch {work}/tflite", "tflite_cpu {work}/tflite"]),
    Step("real", ["real --networks {each}"], "benchmarks.real.registry:NETWORKS", needs=["packages"], about=120),
    Step("kept", ["kept --networks {each}"], "benchmarks.real.registry:ALL", needs=["packages"]),
    Step("cells", ["cells --networks {each}"], "benchmarks.cells:names", needs=["packages"]),
    Step("vgf", ["vgf --prepare {work}/vgf"], device="vgf --measure {work}/vgf", needs=["peers"]),
    Step(
        "vgf_frames",
        ["vgf_frames --prepare {work}/vgf_frames {vgf_frame}"],
        device="vgf_frames --measure {work}/vgf_frames",
        needs=["packages", "vgf_frame"],
    ),
    Step(
        "ethosu_peers",
        [
            "ethosu_peers --networks {each} --again --litert {litert}",
            "ethosu_peers --networks bc_resnet espcn --again",
        ],
        "benchmarks.ethosu_peers:CNNS",
        needs=["litert"],
    ),
    Step(
        "accuracy",
        ["accuracy --registry benchmarks/published_sizes.py --models {each}"],
        "benchmarks.published_sizes:REG",
        needs=["torchvision"],
    ),
    Step("cortex_m_kernels", ["cortex_m_kernels --cmsis-nn {cmsis_nn}"], needs=["compiler", "cmsis_nn"]),
    Step("cortex_m_lstm", ["cortex_m_lstm --cmsis-nn {cmsis_nn}"], needs=["compiler", "cmsis_nn"]),
    Step("nx", ["nx --networks {each}"], "benchmarks.nx.registry:NETWORKS", needs=["packages", "estimator"], about=60),
)  # fmt: skip
