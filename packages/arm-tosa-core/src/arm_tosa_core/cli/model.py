"""MODEL on the command line: ``file.py:function`` or a file, as an exported program.

Parameters of the function stand behind its name: ``net.py:make,width=0.5,classes=10``.
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import io
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..frontends import FORMATS, load_model
from ..plugin.entry_points import rule_modules
from ..support.errors import UsageError
from .files import EXPORT, read, schema_of, why_no_program
from .options import number_or_text, parse_shapes, parse_values
from .report import say

if TYPE_CHECKING:
    import torch
    from torch.export import ExportedProgram

FORMS = "a .pt2 file (torch.export.save), file.py:function, or an .onnx, .tflite or .tosa file"
_WEIGHTS = f". Weights alone are no model: make the module in Python, load them into it and {EXPORT}"
_TENSORFLOW = ". Convert it to a .tflite file, with TensorFlow's TFLiteConverter"
#: What to do with files of other kinds, by their suffix.
_OTHERS = {
    **dict.fromkeys((".pt", ".pth", ".safetensors"), _WEIGHTS),
    **dict.fromkeys((".h5", ".keras", ".pb"), _TENSORFLOW),
}


def load_program(
    model: str, *, trust: bool = False, shapes: Sequence[str] | None = None, values: Sequence[str] | None = None
) -> ExportedProgram:
    """Exports or loads the model.

    Args:
        shapes: ``NAME=1x3x224x224``, the sizes of an input that a file of another framework leaves open.
        values: ``NAME=16000``, the number that an input of such a file always has.
        trust: a ``.pt2`` may run code that is in it.

    Raises:
        UsageError: MODEL is of none of the accepted forms, cannot be read, fails to export, or lives on a device
            other than the CPU.
    """
    path, colon, function = model.rpartition(":")
    if Path(model).suffix in FORMATS:
        return load_model(model, input_shapes=parse_shapes(shapes), input_values=parse_values(values))
    if shapes or values:
        option = "--input-shape" if shapes else "--input-value"
        raise UsageError(f"{option} is for files of other frameworks, not for {model}")
    if colon and Path(path).suffix == ".py":
        name, *words = function.split(",")
        program = _export(model, *_call(Path(path), name, parse_parameters(model, words)))
    elif Path(model).suffix == ".py":
        raise UsageError(f"{model}: say which function makes the model: {model}:FUNCTION")
    elif Path(model).suffix == ".pt2":
        program = _load_pt2(Path(model), trust)
    else:
        raise UsageError(f"cannot tell what {model!r} is; MODEL is {FORMS}{_OTHERS.get(Path(model).suffix, '')}")
    _require_cpu(model, {**program.state_dict, **_tensors(program.constants)})
    return program


def parse_parameters(model: str, words: Sequence[str]) -> dict[str, Any]:
    """Parameters of the model's function from ``KEY=VALUE``: numbers and ``true`` or ``false`` where they look so.

    Raises:
        UsageError: a word without ``=``, or a key given twice.
    """
    parameters: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals or not key.isidentifier():
            raise UsageError(f"{model}: behind the function write KEY=VALUE for its parameters, not {word!r}")
        if key in parameters:
            raise UsageError(f"{model}: {key} is given twice")
        parameters[key] = number_or_text(text)
    return parameters


def load_function(text: str, option: str) -> Callable[..., Any]:
    """The function that ``file.py:function`` names; what it raises becomes an error with its file and line.

    Raises:
        UsageError: no such file or function, or the file fails.
    """
    name, colon, function = text.rpartition(":")
    path = Path(name)
    if not colon or path.suffix != ".py":
        raise UsageError(f"{option} {text!r}: write file.py:function")
    loaded = _user_code(path, text, lambda: _function(path, function))
    return lambda *args: _user_code(path, text, lambda: loaded(*args))


def require_file(path: Path) -> None:
    """Does nothing where there is such a file.

    Raises:
        UsageError: there is none.
    """
    if path.is_dir() or not path.exists():  # a pipe is one
        raise UsageError(f"cannot read {path}: {'it is a folder' if path.is_dir() else 'no such file'}")


def _load_pt2(path: Path, trust: bool) -> ExportedProgram:
    require_file(path)
    data = read(path)
    if why := why_no_program(data):
        raise UsageError(f"{path} {why}")
    import torch

    from ..compat.torch_pt2 import CodeInFile, load_pt2

    rule_modules()  # which bring the operators of installed packages that the file may have
    try:
        try:
            return load_pt2(data)
        except CodeInFile as error:
            if not trust:
                raise UsageError(
                    f"{path} holds {error}, which PyTorch reads by running code that who made the file may have "
                    "written: load it with --trust, if you trust them"
                ) from error
            say(f"warning: {path} holds {error}: code in it runs, as --trust allows")
            return load_pt2(data, trust=True)
    except UsageError:
        raise
    except Exception as error:  # torch raises whatever its parsers do
        schema = f" (its format is {version})" if (version := schema_of(data)) else ""
        raise UsageError(
            f"{path} cannot be read: it is damaged, or was written by a newer PyTorch{schema} than the installed "
            f"{torch.__version__}: {type(error).__name__}: {_first_line(error)}"
        ) from error


def _call(path: Path, function: str, parameters: dict[str, Any]) -> tuple[torch.nn.Module, tuple[Any, ...]]:
    import torch

    def call() -> Any:
        user_function = _function(path, function)
        if parameters:
            _require_parameters(f"{path}:{function}", user_function, parameters)
        return user_function(**parameters)

    result = _user_code(path, f"{path}:{function}", call)
    if not (isinstance(result, tuple) and len(result) == 2):
        raise UsageError(f"{path}:{function} must return (module, example_inputs), but returned {_describe(result)}")
    module, inputs = result
    if not isinstance(module, torch.nn.Module):
        raise UsageError(f"{path}:{function} must return an nn.Module first, but returned {_describe(module)}")
    if isinstance(inputs, torch.Tensor) or not isinstance(inputs, (tuple, list)):
        raise UsageError(
            f"{path}:{function} must return a tuple of example inputs second, but returned {_describe(inputs)}"
        )
    return module, tuple(inputs)


def _require_parameters(what: str, function: Callable[..., Any], parameters: dict[str, Any]) -> None:
    known = inspect.signature(function).parameters
    if any(p.kind is p.VAR_KEYWORD for p in known.values()):
        return
    for key in parameters:
        if key not in known:
            raise UsageError(f"{what} has no parameter {key!r}; it has: {', '.join(known) or 'none'}")


def _function(path: Path, name: str) -> Any:
    module = _import(path)
    function = getattr(module, name, None)
    if not callable(function):
        own = [k for k, v in vars(module).items() if callable(v) and getattr(v, "__module__", "") == module.__name__]
        raise UsageError(f"{path} has no function {name!r}; it has: {', '.join(own) or 'none'}")
    return function


def _import(path: Path) -> ModuleType:
    require_file(path)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None  # the suffix is .py
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent.resolve()))  # as `python file.py` would, for its own imports
    spec.loader.exec_module(module)
    return module


def _user_code(path: Path, what: str, function: Any) -> Any:
    try:
        return function()
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).name == path.name]
        where = f" at line {lines[-1]}" if lines else ""
        if isinstance(error, SyntaxError):
            where = f" at line {error.lineno}"
        if isinstance(error, SystemExit):
            raise UsageError(f"{what} ended the process{where}: sys.exit({error.code!r})") from error
        raise UsageError(f"{what} failed{where}: {type(error).__name__}: {_first_line(error)}") from error


def _export(model: str, module: torch.nn.Module, inputs: tuple[Any, ...]) -> ExportedProgram:
    import torch

    named = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    _require_cpu(model, named)
    if module.training:
        say("note: the model was in training mode; compiling it in eval mode")
        module.eval()
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed):
            return torch.export.export(module, _distinct(inputs))
    except Exception as error:
        _drop(printed, f"{getattr(error, 'partial_fx_graph', '')}\n")  # which PyTorch prints ahead of the reason
        raise UsageError(
            f"torch.export cannot export {model}: {_line_that_failed(model, error)}{type(error).__name__}: "
            f"{_first_line(error)} ({_ADVICE.get(type(error).__name__, '')}--debug shows the whole report)"
        ) from error
    finally:
        sys.stderr.write(printed.getvalue())


#: What helps against an error of ``torch.export``, by its name.
_ADVICE = {
    "GuardOnDataDependentSymNode": "the code depends on values of tensors: choose with torch.where or torch.cond; "
}


def _line_that_failed(model: str, error: Exception) -> str:
    """The user's line: the one that the report of ``torch.export`` names, or the last of the user's file that ran."""
    if match := re.search(r'call raised this error:\n\s*File "(.+)", line (\d+), in .+\n\s*(.+)', str(error)):
        return f"{Path(match[1]).name}:{match[2]}, {match[3].rstrip(':')}: "
    file = Path(model.rpartition(":")[0]).resolve()
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).resolve() == file]
    return f"{file.name}:{lines[-1].lineno}, {lines[-1].line}: " if lines else ""


def _distinct(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The inputs, each tensor an object of its own: ``torch.export`` takes two that are one object for one input."""
    import torch

    from ..compat.torch import tree_map

    seen: set[int] = set()

    def own(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        again = id(leaf) in seen
        seen.add(id(leaf))
        return leaf.clone() if again else leaf

    return tuple(tree_map(own, inputs))


def _drop(printed: io.StringIO, text: str) -> None:
    rest = printed.getvalue().replace(text, "")
    printed.seek(0)
    printed.truncate()
    printed.write(rest)


def _require_cpu(model: str, named: dict[str, torch.Tensor]) -> None:
    for name, tensor in named.items():
        if tensor.device.type != "cpu":
            raise UsageError(
                f"{model}: {name} lives on device {str(tensor.device)!r}; "
                "the compiler reads weights on the CPU: call .to('cpu') on the model (and load its weights) first"
            )


def _tensors(constants: dict[str, Any]) -> dict[str, torch.Tensor]:
    import torch

    return {name: value for name, value in constants.items() if isinstance(value, torch.Tensor)}


def _describe(value: object) -> str:
    kind = type(value).__name__
    return f"{kind} of {len(value)}" if isinstance(value, (tuple, list)) else kind


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or ["no message"])[0]
