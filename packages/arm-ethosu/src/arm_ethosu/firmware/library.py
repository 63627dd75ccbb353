"""The C library of a model: its header, its source, and its constants."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .c_text import bytes_of_array, float_text
from .model import ALIGNMENT, Model, Port
from .templates import filled

#: Bytes: a line of the data cache of Cortex-M55 and M85, so that no variable shares a line with an arena.
ARENA_ALIGNMENT = 32


def library(model: Model) -> dict[str, str]:
    """The files of a model, by name."""
    words = {
        "name": model.name,
        "NAME": model.name.upper(),
        "target": model.target,
        "alignment": str(ARENA_ALIGNMENT),
        "arena": str(arena_size(model)),
        "commands": str(len(model.commands)),
        "weights": str(len(model.weights)),
        **_weights(model),
    }
    ports = [*model.inputs, *model.outputs]
    return {
        f"{model.name}.h": filled(
            "model/model.h.in",
            **words,
            ports="\n".join(_macros(model, port) for port in ports),
            inputs=_lines(model.inputs, lambda port: f"    const {_c_type(port)} *{port.name};"),
            outputs=_lines(model.outputs, lambda port: f"    {_c_type(port)} *{port.name};"),
        ),
        f"{model.name}.c": filled(
            "model/model.c.in",
            **words,
            **_memory(model),
            offsets=_lines(ports, lambda port: f"#define {_offset(model, port)} {port.offset}u"),
            missing=" || ".join(
                [f"inputs->{port.name} == NULL" for port in model.inputs]
                + [f"outputs->{port.name} == NULL" for port in model.outputs]
            ),
            copy_in=_lines(model.inputs, lambda port: _copy(model, port, to_arena=True)),
            copy_out=_lines(model.outputs, lambda port: _copy(model, port, to_arena=False)),
        ),
        f"{model.name}_data.c": filled("model/data.c.in", **words, commands_bytes=bytes_of_array(model.commands)),
    }


def arena_size(model: Model) -> int:
    """Bytes: the NPU's scratch memory, then its fast scratch memory."""
    return _aligned(_aligned(model.scratch) + model.fast_scratch, ARENA_ALIGNMENT)


def _aligned(size: int, alignment: int = ALIGNMENT) -> int:
    return -(-size // alignment) * alignment


def _weights(model: Model) -> dict[str, str]:
    """A model without weights has no array of them: C has no arrays of no elements."""
    if not model.weights:
        return {"weights_declaration": "", "weights_definition": "", "weights_pointer": "NULL"}
    array = f"const uint8_t {model.name}_weights[{model.name.upper()}_WEIGHTS_BYTES]"
    return {
        "weights_declaration": f"extern {array};\n",
        "weights_definition": f"\nextern {array};\nMODEL_FLASH {array} = {{\n{bytes_of_array(model.weights)}\n}};",
        "weights_pointer": f"{model.name}_weights",
    }


def _memory(model: Model) -> dict[str, str]:
    fast = {"fast_pointer": "NULL", "fast_size": "0u"}
    if model.fast_scratch:
        fast = {"fast_pointer": f"model->arena + {_aligned(model.scratch)}u", "fast_size": f"{model.fast_scratch}u"}
    return {"scratch": f"{model.scratch}u", **fast}


def _macros(model: Model, port: Port) -> str:
    name = f"{model.name.upper()}_{port.name.upper()}"
    sizes = " x ".join(map(str, port.shape)) or "scalar"
    lines = [f"/* {port.name}: {port.dtype}, {sizes}, row-major. */", f"#define {name}_BYTES {port.size}u"]
    if port.scale is not None:
        lines[0] = lines[0].replace(". */", "; a real number is SCALE * (integer - ZERO_POINT). */")
        lines += [f"#define {name}_SCALE {float_text(port.scale)}", f"#define {name}_ZERO_POINT ({port.zero_point})"]
    return "\n".join(lines) + "\n"


def _copy(model: Model, port: Port, *, to_arena: bool) -> str:
    place, size = f"model->arena + {_offset(model, port)}", f"{model.name.upper()}_{port.name.upper()}_BYTES"
    if to_arena:
        return f"    (void)memcpy({place}, inputs->{port.name}, {size});"
    return f"    (void)memcpy(outputs->{port.name}, {place}, {size});"


def _offset(model: Model, port: Port) -> str:
    return f"{model.name.upper()}_{port.name.upper()}_OFFSET"


def _c_type(port: Port) -> str:
    return "uint8_t" if port.dtype == "bool" else f"{port.dtype}_t"


def _lines(ports: Sequence[Port], line: Callable[[Port], str]) -> str:
    return "\n".join(map(line, ports))
