"""PyTorch's own database of operators (OpInfo) on the TOSA reference model, beside eager PyTorch.

    python -m benchmarks.opinfo --records r.jsonl     # the first samples of every operator that has a rule
    python -m benchmarks.opinfo --only add --samples 50
    python -m benchmarks.opinfo --records r.jsonl --report

A sample is exported, lowered for the target ``tosa`` and run on the reference model, in a process that is started anew
if that dies: the reference model aborts on some graphs. Records go to the file operator by operator; what is in it
already is not run again. A sample ends as

- ``agrees``: everything was delegated, and the results are equal: integers exactly, floats within OpInfo's tolerance;
- ``differs``, ``failed`` or ``died``: a fault, with what was seen;
- ``left out``: an operator has no rule, stays on the CPU for a reason that is given, or PyTorch does not export it.
"""

from __future__ import annotations

import argparse
import collections
import json
import multiprocessing
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

#: Data types of samples, as OpInfo names them.
DTYPES = ("float32", "float16", "bfloat16", "int32", "int8", "bool")
#: Relative and absolute tolerance: those of the conformance kit for float32, one step of the type for narrower ones.
TOLERANCES = {"float32": (1e-4, 1e-5), "float16": (4e-3, 1e-3), "bfloat16": (3e-2, 1e-2)}
_FAULTS = ("differs", "failed", "died")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="operators whose name contains this")
    parser.add_argument("--dtypes", nargs="+", default=list(DTYPES), choices=DTYPES)
    parser.add_argument("--samples", type=int, default=8, help="of each operator and data type, at most (default 8)")
    parser.add_argument("--timeout", type=int, default=300, help="seconds for an operator in one type (default 300)")
    parser.add_argument("--records", type=Path, help="where results are kept (default: nowhere)")
    parser.add_argument("--report", action="store_true", help="run nothing, print what the records say")
    options = parser.parse_args()
    known = _read(options.records)
    if not options.report:
        done = {(record["operator"], record["dtype"]) for record in known}
        todo = [case for case in _cases(options.only, options.dtypes) if case not in done]
        for records in _run(todo, options.samples, options.timeout):
            known += records
            if options.records:
                with options.records.open("a") as file:
                    file.writelines(json.dumps(record) + "\n" for record in records)
    _print(known)


def _read(path: Path | None) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path and path.exists() else []


def _cases(only: str, dtypes: Sequence[str]) -> Iterator[tuple[str, str]]:
    import torch

    for info in _database():
        if only in info.formatted_name:
            for dtype in dtypes:
                if info.supports_dtype(getattr(torch, dtype), "cpu"):
                    yield info.formatted_name, dtype


def _database() -> list[Any]:
    from torch.testing._internal.common_methods_invocations import op_db

    return list(op_db)


def _run(cases: Sequence[tuple[str, str]], samples: int, timeout: float) -> Iterator[list[dict[str, Any]]]:
    """The records of each operator in one data type."""
    pool = _worker()
    for name, dtype in cases:
        try:
            yield pool.submit(_samples, name, dtype, samples).result(timeout)
            continue
        except BrokenProcessPool:
            why = "the process died"
        except TimeoutError:
            why = f"not done after {timeout} s"
            for process in list(pool._processes.values()):
                process.kill()
        pool.shutdown(wait=False)
        pool = _worker()
        yield [{"operator": name, "dtype": dtype, "sample": 0, "outcome": "died", "why": why}]
    pool.shutdown()


def _worker() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))


def _samples(name: str, dtype: str, count: int) -> list[dict[str, Any]]:
    import torch

    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    found = []
    (info,) = (info for info in _database() if info.formatted_name == name)
    for number, sample in enumerate(info.sample_inputs("cpu", getattr(torch, dtype), requires_grad=False)):
        if number == count:
            break
        outcome, why = _judged(info, sample, dtype)
        found.append({"operator": name, "dtype": dtype, "sample": number, "outcome": outcome, "why": why})
    return found


def _judged(info: Any, sample: Any, dtype: str) -> tuple[str, str]:
    import torch
    from torch.utils._pytree import tree_flatten, tree_unflatten

    from arm_tosa_core.exir.tosa_targets import tosa
    from arm_tosa_core.support.errors import ArmTosaError
    from arm_tosa_core.testing.harness import Execution, left_outside

    leaves, structure = tree_flatten(((sample.input, *sample.args), sample.kwargs))
    places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    class Call(torch.nn.Module):
        def forward(self, *tensors: torch.Tensor) -> Any:
            values = list(leaves)
            for place, tensor in zip(places, tensors, strict=True):
                values[place] = tensor
            args, kwargs = tree_unflatten(values, structure)
            return tree_flatten(info.op(*args, **kwargs))[0]

    if any(leaves[place].layout != torch.strided for place in places):
        return "left out", "a tensor that is not strided"
    tensors = tuple(leaves[place].detach().clone(memory_format=torch.contiguous_format) for place in places)
    if not tensors:
        return "left out", "no tensor among the inputs"
    try:
        wanted = [value for value in Call()(*tensors) if isinstance(value, torch.Tensor)]
        program = torch.export.export(Call(), tensors)
    except Exception as error:  # of any type: PyTorch's own
        return "left out", f"PyTorch does not run or export it: {_line(error)}"
    try:
        execution = Execution(program, tosa())
        if outside := left_outside(execution.program, execution.analysis):
            return "left out", "; ".join(dict.fromkeys(outside.values()))
        made = execution.run([tensor.clone() for tensor in tensors])
    except ArmTosaError as error:
        return "failed", _line(error)
    except Exception as error:  # a fault of ours, of any type
        return "failed", f"{type(error).__name__}: {_line(error)}"
    rtol, atol = TOLERANCES.get(dtype, (1e-4, 1e-5))
    try:
        for ours, theirs in zip(made, wanted, strict=True):
            exact = not theirs.dtype.is_floating_point
            torch.testing.assert_close(
                ours, theirs, rtol=0 if exact else rtol, atol=0 if exact else atol, equal_nan=True, check_stride=False
            )
    except (AssertionError, ValueError) as error:
        return "differs", _line(error)
    return "agrees", ""


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]


def _print(records: Sequence[dict[str, Any]]) -> None:
    counts = collections.Counter(record["outcome"] for record in records)
    print(f"{len(records)} samples: " + ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))
    for record in records:
        if record["outcome"] in _FAULTS:
            print(
                f"{record['operator']} {record['dtype']} sample {record['sample']} {record['outcome']}: {record['why']}"
            )
    reasons = collections.Counter(record["why"] for record in records if record["outcome"] == "left out")
    for why, count in reasons.most_common(40):
        print(f"left out {count} times: {why}")


if __name__ == "__main__":
    main()
