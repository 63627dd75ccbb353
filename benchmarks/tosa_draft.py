"""What the installed tools do with TOSA 1.1: small graphs of tosa-tools' own generator, given to each of them.

    python -m benchmarks.tosa_draft --update docs/reference/tosa-versions.md     # three minutes

A graph has one operator that TOSA 1.0 lacks, or has only in other types. The generator of the conformance tests writes
it, for version 1.1.0. The reference model runs it, tosa-opt validates it against the 1.1 draft with every extension,
the model converter makes a VGF of it, Vela compiles it for an Ethos-U85. A cell is
``yes``, or the line that says why not.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from arm_tosa_core.support.external_tools import find_tool
from benchmarks.documents import update_block

#: By group: operators as the generator calls them, and the word of a test's name that says its types ("" for any).
_MX = ("f8e4m3xf8ue8m0", "f8e5m2xf8ue8m0", "f6e2m3xf8ue8m0", "f6e3m2xf8ue8m0", "f4e2m1xf8ue8m0", "mi8xf8ue8m0")
_SHAPES = (
    "dim concat_shape slice_shape add_shape sub_shape mul_shape div_ceil_shape div_floor_shape mod_shape max_shape "
    "min_shape exp2_shape log2_ceil_shape log2_floor_shape assert_equal_shape"
)
CASES: list[tuple[str, str]] = [
    *((name, "") for name in _SHAPES.split()),
    *((name, types) for name in ("cast_to_block_scaled", "cast_from_block_scaled") for types in _MX),
    *(("matmul_t_block_scaled", types) for types in _MX),
    ("reshape_block_scaled", "f32"),
    ("row_gather_block_scaled", "f32"),
    ("add", "i64"),
    ("reduce_sum", "i64"),
    ("gather", "i64"),
    ("cast", "i64"),
    ("matmul_t", "i8"),
    ("row_gather", "f32"),
    ("avg_pool2d_adaptive", "i8"),
    ("max_pool2d_adaptive", "f32"),
    ("gather", "b"),
]

_SEED = "42"
_EXTENSIONS = (
    "int16,int4,bf16,fp8e4m3,fp8e5m2,fft,variable,controlflow,doubleround,inexactround,dynamic,"
    "mxfp,int64,mxfp_conv,shape,mx_common,mx_fp4e2m1,mx_fp6e2m3,mx_fp6e3m2,mx_fp8e4m3,mx_fp8e5m2,mx_int8"
)
_TARGET = f"specification_version=1.1.draft level=8k profiles=pro_int,pro_fp extensions={_EXTENSIONS}"
_TOOLS = ("reference model", "tosa-opt", "model converter", "Vela")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="operators whose name contains this")
    parser.add_argument("--update", type=Path, metavar="FILE", help="write the table into this document")
    options = parser.parse_args()
    lines = [f"| operator | types | {' | '.join(_TOOLS)} |", "|---|---|" + "---|" * len(_TOOLS)]
    with tempfile.TemporaryDirectory(prefix="tosa_draft_") as folder:
        for name, types in CASES:
            if options.only in name:
                row = _row(name, types, Path(folder, name))
                print(row or f"{name} {types}: the generator makes no such test", flush=True)
                lines += [row] if row else []
    if options.update:
        update_block(options.update, "tosa-draft", "\n".join(lines))


def _row(name: str, types: str, folder: Path) -> str | None:
    if not folder.exists():
        _generate(name, folder)
    found = [test.parent for test in sorted(folder.rglob("test.tosa")) if not types or _has(test.parent.name, types)]
    if not found:
        return None
    smallest = min(found, key=lambda test: ((test / "test.tosa").stat().st_size, test.name))
    cells = [_judged(_command(tool), smallest) for tool in _TOOLS]
    return f"| `{name.upper()}` | {types.replace('x', ', ')} | {' | '.join(cells)} |"


def _has(test: str, types: str) -> bool:
    """Whether a test's name has a word that is or begins with these types, before or behind ``out``."""
    return any(word.removeprefix("out") == types for word in test.split("_"))


def _generate(name: str, folder: Path) -> None:
    """Writes the positive tests of an operator, small ones."""
    spec = find_spec("tosa_reference_model")
    assert spec is not None and spec.origin is not None
    library = Path(spec.origin).with_name("libtosa_reference_generate_lib.so")
    command = [find_tool("tosa_verif_build_tests", package="tosa-tools"), "--generate-lib-path", str(library)]
    command += ["-o", str(folder), "--filter", f"^{name}$", "--tosa-version", "1.1.0", "--seed", _SEED]
    command += ["--num-rand-permutations", "1", "--no-special-tests"]
    matrices = name == "matmul_t_block_scaled"  # the generator makes none of fewer than 32 columns
    command += ["--tensor-dim-range", "1,40", "--target-rank", "3"] if matrices else ["--tensor-dim-range", "1,8"]
    command += ["--test-type", "positive"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        sys.exit(f"the generator failed on {name}: {done.stderr[-500:]}")


def _command(tool: str) -> list[str]:
    match tool:
        case "reference model":
            return [find_tool("tosa_reference_model", package="tosa-tools"), "--test_desc", "desc.json"]
        case "tosa-opt":
            return [
                find_tool("tosa-opt", package="tosa-tools"),
                "--tosa-deserialize=tosa-flatbuffer-filename=test.tosa",
                f"--tosa-attach-target={_TARGET}",
                "--tosa-validate=strict-op-spec-alignment",
                "-o=out.mlir",
                "empty.mlir",
            ]
        case "model converter":
            return [
                find_tool("model-converter", package="ai-ml-sdk-model-converter"),
                *("--input", "test.tosa", "--output", "out.vgf"),
            ]
        case _:
            vela = find_tool("vela", package="ethos-u-vela")
            return [vela, "--accelerator-config", "ethos-u85-256", "--output-dir", "vela", "test.tosa"]


def _judged(command: Sequence[str], folder: Path) -> str:
    (folder / "empty.mlir").write_text("module {}\n")
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=300, check=False
    )
    said = done.stdout + done.stderr
    return "yes" if done.returncode == 0 else _why(said)


def _why(said: str) -> str:
    """The line of an output that says why."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    patterns = (r"^ - (.*)", r"error: ([^:]*)", r"(ERROR_IF.*|.*[Ff]ail.*|.*[Uu]nsupported.*|.*[Ii]nvalid.*)")
    for pattern in patterns:
        for line in said.splitlines():
            if found := re.search(pattern, line):
                return found[1].strip()[:110].replace("|", "/")
    return lines[-1][:110] if lines else "no word"


if __name__ == "__main__":
    main()
