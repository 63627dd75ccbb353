"""Compute shaders within a model: each becomes a segment of the VGF, between those of the graph.

A shader is an operator of PyTorch. Its function computes the same on tensors: it gives the shapes, takes part in
calibration, and is what results are compared with.
"""

from __future__ import annotations

import base64
import inspect
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from arm_tosa_core.compat.torch import shapes_and_types
from arm_tosa_core.support.errors import UsageError

from .glsl import compile_glsl
from .image_formats import IMAGE_FORMATS, ImageFormat
from .spirv_interface import BUFFER, SAMPLER, STORAGE_IMAGE, Interface, interface_of

_FILTERS = {"nearest": "VK_FILTER_NEAREST", "linear": "VK_FILTER_LINEAR"}
_EDGES = {
    "clamp": "VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE",
    "repeat": "VK_SAMPLER_ADDRESS_MODE_REPEAT",
    "mirror": "VK_SAMPLER_ADDRESS_MODE_MIRRORED_REPEAT",
    "border": "VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER",
}
_BORDERS = {"transparent": "TRANSPARENT_BLACK", "black": "OPAQUE_BLACK", "white": "OPAQUE_WHITE"}
#: Formats of buffers, by the type of their elements.
_ELEMENTS = {
    torch.int8: "R8_SINT",
    torch.uint8: "R8_UINT",
    torch.int16: "R16_SINT",
    torch.int32: "R32_SINT",
    torch.float16: "R16_SFLOAT",
    torch.float32: "R32_SFLOAT",
}
#: Work groups along an axis, as many as every device has.
_MOST_GROUPS = 65535
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
#: The PyTorch functions of the shaders of this process, by name.
_FUNCTIONS: dict[str, Callable[..., Any]] = {}


@dataclass(frozen=True)
class Sampler:
    """How a shader reads an image between and beyond its texels.

    Args:
        filter: ``"nearest"`` or ``"linear"``.
        edge: what is beyond: ``"clamp"`` (the texel at the edge), ``"repeat"``, ``"mirror"`` or ``"border"``.
        border: the color of a border: ``"transparent"``, ``"black"`` or ``"white"``.

    Raises:
        UsageError: another word.
    """

    filter: str = "nearest"
    edge: str = "clamp"
    border: str = "transparent"

    def __post_init__(self) -> None:
        for name, known in (("filter", _FILTERS), ("edge", _EDGES), ("border", _BORDERS)):
            if (word := getattr(self, name)) not in known:
                raise UsageError(f"{name} of a Sampler is one of {', '.join(known)}, not {word!r}")

    def attributes(self, *, whole: bool) -> dict[str, str]:
        """As the model converter reads it; ``whole`` is of the image's format."""
        chosen, kind = _FILTERS[self.filter], "INT" if whole else "FLOAT"
        return {
            "min_filter": chosen,
            "mag_filter": chosen,
            "address_mode_u": _EDGES[self.edge],
            "address_mode_v": _EDGES[self.edge],
            "border_color": f"VK_BORDER_COLOR_{kind}_{_BORDERS[self.border]}",
        }


@dataclass(frozen=True)
class Image:
    """A tensor [H, W, C] or [1, H, W, C] that a shader takes as a two-dimensional image, C numbers to a texel.

    Args:
        format: Vulkan's, without ``VK_FORMAT_``: ``"R16G16B16A16_SFLOAT"``. It says the tensor's type and C.
        sampler: of an input that the shader samples (``sampler2D``); None: a storage image (``image2D``).

    Raises:
        UsageError: an unknown format, or one that does not go with the sampler.
    """

    format: str
    sampler: Sampler | None = None

    def __post_init__(self) -> None:
        if self.format not in IMAGE_FORMATS:
            raise UsageError(f"format of an Image is one of {', '.join(sorted(IMAGE_FORMATS))}, not {self.format!r}")
        if self.sampler is None and self.format.endswith("SRGB"):
            raise UsageError(f"an Image of {self.format} takes a sampler: Vulkan has no storage images of it")
        if self.sampler is not None and self.sampler.filter == "linear" and self.row.whole:
            raise UsageError(f"an Image of {self.format} holds whole numbers, which no linear filter takes")

    @property
    def row(self) -> ImageFormat:
        """What is known of the format."""
        return IMAGE_FORMATS[self.format]

    @property
    def kind(self) -> str:
        """What the shader's code must have at its binding."""
        return STORAGE_IMAGE if self.sampler is None else SAMPLER

    def check(self, shape: Sequence[int], dtype: torch.dtype) -> None:
        """Refuses a tensor that is no such image.

        Raises:
            UsageError: its type or shape is another.
        """
        row = self.row
        if str(dtype) != f"torch.{row.dtype}":
            raise UsageError(f"an image of {self.format} is {row.dtype}, not {str(dtype).removeprefix('torch.')}")
        if len(shape) not in (3, 4) or shape[-1] != row.channels or (len(shape) == 4 and shape[0] != 1):
            sizes = f"[H, W, {row.channels}]"
            raise UsageError(f"an image of {self.format} is {sizes} or [1, {sizes[1:]}, not {list(shape)}")

    def attributes(self, dtype: torch.dtype) -> dict[str, Any]:
        """Its part of the model converter's attributes."""
        kind = "STORAGE_IMAGE" if self.sampler is None else "COMBINED_IMAGE_SAMPLER"
        sampler = {} if self.sampler is None else {"sampler": self.sampler.attributes(whole=self.row.whole)}
        return {"vkdescriptortype": kind, "vkformat": self.format, **sampler}


@dataclass(frozen=True)
class Buffer:
    """A tensor that a shader takes as a storage buffer: its elements in PyTorch's order, without gaps."""

    kind = BUFFER

    def check(self, shape: Sequence[int], dtype: torch.dtype) -> None:
        """Refuses a tensor whose elements buffers have not.

        Raises:
            UsageError: its type is another, or it is a scalar.
        """
        if dtype not in _ELEMENTS or not shape:
            types = ", ".join(str(known).removeprefix("torch.") for known in _ELEMENTS)
            what = str(dtype).removeprefix("torch.") if shape else "a scalar"
            raise UsageError(f"a buffer is a tensor of at least one axis, of {types}; this is {what}")

    def attributes(self, dtype: torch.dtype) -> dict[str, Any]:
        """Its part of the model converter's attributes."""
        return {"vkdescriptortype": "STORAGE_BUFFER", "vkformat": _ELEMENTS[dtype]}


Binding = Image | Buffer
#: Shapes and types of tensors.
Tensors = Sequence[tuple[Sequence[int], torch.dtype]]


@dataclass(frozen=True)
class ShaderCode:
    """A compute shader and what it takes.

    Args:
        name: for errors, and in the VGF.
        code: SPIR-V.
        entry_point: its function.
        inputs, outputs: what stands at the bindings of descriptor set 0: inputs from 0 on, outputs behind them.
        groups: work groups; None: as many as give each pixel of the first output a thread.
    """

    name: str
    code: bytes
    entry_point: str
    inputs: Sequence[Binding]
    outputs: Sequence[Binding]
    groups: tuple[int, int, int] | None = None

    def __post_init__(self) -> None:
        self._check(self._interface())

    def _interface(self) -> Interface:
        try:
            return interface_of(self.code, self.entry_point)
        except UsageError as error:
            raise UsageError(f"{self.name}: {error}") from None

    def _check(self, found: Interface) -> None:
        ends = [*((b, f"input {i}") for i, b in enumerate(self.inputs))]
        ends += [(b, f"output {i}") for i, b in enumerate(self.outputs)]
        for place, (binding, end) in enumerate(ends):
            where = f"{self.name}: {end} is {binding.kind} at set 0, binding {place}"
            variable = found.variables.get((0, place))
            if variable is None:
                raise UsageError(f"{where}, and the code has nothing there")
            if variable.kind != binding.kind:
                raise UsageError(f"{where}, and the code has {variable.kind} there")
            if place < len(self.inputs) and not variable.read_only:
                raise UsageError(f"{where}, which the code may write to: declare it readonly")
        beyond = sorted(set(found.variables) - {(0, place) for place in range(len(ends))})
        if beyond:
            slot, place = beyond[0]
            raise UsageError(
                f"{self.name}: the code has something at set {slot}, binding {place}, and the shader has "
                f"{len(self.inputs)} inputs and {len(self.outputs)} outputs, at set 0, bindings 0 to {len(ends) - 1}"
            )

    def attributes(self, inputs: Tensors, outputs: Tensors) -> dict[str, Any]:
        """What the model converter reads of it, for tensors of these shapes and types.

        Raises:
            UsageError: a tensor does not fit, or the number of work groups cannot be told.
        """
        attributes: dict[str, Any] = {
            "entry_point": self.entry_point,
            "workgroup_sizes": self._groups(outputs),
            "shader_language": "SPIR-V",
            "shader_code": base64.b64encode(self.code).decode(),
        }
        ends = [("input", self.inputs, inputs), ("output", self.outputs, outputs)]
        place = 0
        for end, bindings, tensors in ends:
            if len(bindings) != len(tensors):
                raise UsageError(f"{self.name}: it has {len(bindings)} {end}s, and {len(tensors)} tensors are given")
            for i, (binding, (shape, dtype)) in enumerate(zip(bindings, tensors, strict=True)):
                try:
                    binding.check(shape, dtype)
                except UsageError as error:
                    raise UsageError(f"{self.name}: {end} {i}: {error}") from None
                fields = {"binding": place, "descriptorset": 0, **binding.attributes(dtype)}
                fields["vkdescriptortype"] = f"VK_DESCRIPTOR_TYPE_{fields['vkdescriptortype']}"
                fields["vkformat"] = f"VK_FORMAT_{fields['vkformat']}"
                attributes |= {f"{end}_{i}_{key}": value for key, value in fields.items()}
                place += 1
        return attributes

    def _groups(self, outputs: Tensors) -> list[int]:
        groups = self.groups or self._a_thread_each(outputs)
        if len(groups) != 3 or not all(isinstance(n, int) and 1 <= n <= _MOST_GROUPS for n in groups):
            raise UsageError(f"{self.name}: groups are three numbers from 1 to {_MOST_GROUPS}, not {list(groups)}")
        return list(groups)

    def _a_thread_each(self, outputs: Tensors) -> tuple[int, int, int]:
        local = self._interface().local_size
        shape = outputs[0][0] if outputs else ()
        if local is None or len(shape) < 3:
            raise UsageError(
                f"{self.name}: say groups=(x, y, z): they are told from local_size in the code and from a first output "
                "[..., H, W, C]"
            )
        threads = shape[-2], shape[-3], math.prod(shape[:-3])
        x, y, z = (-(-count // size) for count, size in zip(threads, local, strict=True))
        return x, y, z


class Shader:
    """A compute shader as an operator: called with tensors it returns tensors, and a model may call it.

    ``function`` is the PyTorch function of it.
    """

    def __init__(self, function: Callable[..., Any], name: str, make: Callable[[str], ShaderCode]) -> None:
        self.function = function
        self.name = name
        self._make = make
        self._code: ShaderCode | None = None
        _FUNCTIONS[name] = function

    def __call__(self, *tensors: torch.Tensor) -> Any:
        if self._code is None:
            self._code = self._make(self.name)
        code = self._code
        if not all(isinstance(x, torch.Tensor) for x in tensors) or len(tensors) != len(code.inputs):
            kinds = ", ".join(type(x).__name__ for x in tensors)
            raise UsageError(f"{self.name} takes {len(code.inputs)} tensors, not {kinds or 'nothing'}")
        given = [(tuple(x.shape), x.dtype) for x in tensors]
        if not all(isinstance(n, int) for shape, _ in given for n in shape):
            raise UsageError(f"{self.name}: a size varies; a shader takes fixed ones: export without dynamic shapes")
        made = shapes_and_types(self.function, given)
        attributes = code.attributes(given, made)
        description = json.dumps(
            {"name": self.name, "inputs": _to_json(given), "outputs": _to_json(made), "attributes": attributes}
        )
        results = torch.ops.arm_vgf.shader(list(tensors), description)
        return results[0] if len(results) == 1 else tuple(results)


def shader(
    code: str | Path | bytes,
    inputs: Sequence[Binding],
    outputs: Sequence[Binding],
    *,
    groups: tuple[int, int, int] | None = None,
    entry_point: str = "main",
    defines: Mapping[str, int | float | str] | None = None,
) -> Callable[[Callable[..., Any]], Shader]:
    """Makes a shader of the function below it, which does the same in PyTorch::

        @shader(Path("warp.comp"), [Image("R16G16B16A16_SFLOAT", Sampler("linear")), Buffer()], [Buffer()])
        def warp(history, motion):
            ...

    Args:
        code: the GLSL of a compute shader; the path of its file, or of one in SPIR-V (``.spv``); or SPIR-V itself.
        inputs: what the function's arguments are, in order: descriptor set 0, bindings from 0 on. The code must declare
            buffers and storage images among them ``readonly``.
        outputs: the same of its results, at the bindings behind.
        groups: work groups along x, y and z. None: as many as give each pixel of the first output, [..., H, W, C], a
            thread; the code must leave out those beyond.
        entry_point: the function in SPIR-V.
        defines: macros for GLSL.

    Raises:
        UsageError: when it is first called: the code does not compile, or has other bindings.
        ToolError: GLSL needs Khronos' compiler, and it is not there.
    """
    inputs, outputs, macros = tuple(inputs), tuple(outputs), dict(defines or {})
    for binding in (*inputs, *outputs):
        if not isinstance(binding, (Image, Buffer)):
            raise UsageError(f"inputs and outputs of a shader are Images and Buffers, not {binding!r}")
    if not outputs:
        raise UsageError("a shader has at least one output")
    if any(isinstance(binding, Image) and binding.sampler is not None for binding in outputs):
        raise UsageError("an output is a storage image: leave out its sampler")
    if wrong := [name for name in macros if not _IDENTIFIER.fullmatch(name)]:
        raise UsageError(f"a macro of defines is called {wrong[0]!r}, which is no name in GLSL")

    def make(name: str) -> ShaderCode:
        spirv = _spirv(code, name, entry_point, macros)
        return ShaderCode(name, spirv, entry_point, inputs, outputs, groups)

    def declare(function: Callable[..., Any]) -> Shader:
        if not callable(function):
            raise UsageError(f"@shader stands above a function, not {function!r}")
        name = getattr(function, "__name__", type(function).__name__)
        module = inspect.getmodule(function)
        return Shader(function, f"{module.__name__}.{name}" if module else name, make)

    return declare


def _spirv(code: str | Path | bytes, name: str, entry_point: str, macros: Mapping[str, object]) -> bytes:
    if isinstance(code, bytes):
        return code
    if isinstance(code, str):
        return compile_glsl(code, name, entry_point, macros)
    try:
        data = code.read_bytes()
        if code.suffix == ".spv":
            return data
        return compile_glsl(data.decode(), str(code), entry_point, macros)
    except OSError as error:
        raise UsageError(f"{name}: cannot read {code}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise UsageError(f"{name}: {code} is no text; SPIR-V has the suffix .spv") from None


# -- the operator -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Description:
    """The operator's argument: a shader for tensors of certain shapes and types."""

    name: str
    inputs: Tensors
    outputs: Tensors
    attributes: Mapping[str, Any]

    @staticmethod
    def parse(text: str) -> Description:
        """From the argument.

        Raises:
            UsageError: it is none, as in a damaged file.
        """
        try:
            data = json.loads(text)
            inputs, outputs = (_from_json(data[end]) for end in ("inputs", "outputs"))
            return Description(str(data["name"]), inputs, outputs, dict(data["attributes"]))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"the description of a shader is damaged ({type(error).__name__}: {error})") from None

    def require(self, tensors: Sequence[torch.Tensor]) -> None:
        """Refuses tensors of other shapes or types than it was made for.

        Raises:
            UsageError: they are others.
        """
        for i, (x, (shape, dtype)) in enumerate(zip(tensors, self.inputs, strict=True)):
            if tuple(x.shape) != tuple(shape) or x.dtype != dtype:
                raise UsageError(
                    f"{self.name}: argument {i} was {dtype} {list(shape)} when the model was exported, and is "
                    f"{x.dtype} {list(x.shape)}"
                )


@torch.library.custom_op("arm_vgf::shader", mutates_args=())
def shader_operator(inputs: Sequence[torch.Tensor], description: str) -> list[torch.Tensor]:
    """Runs the PyTorch function of a shader."""
    found = Description.parse(description)
    found.require(inputs)
    if found.name not in _FUNCTIONS:
        raise UsageError(f"the PyTorch function of shader {found.name!r} is not here: import the module that has it")
    with torch.no_grad():
        made = _FUNCTIONS[found.name](*inputs)
    results = [made] if isinstance(made, torch.Tensor) else list(made)
    wanted = [(tuple(shape), dtype) for shape, dtype in found.outputs]
    if [(tuple(x.shape), x.dtype) for x in results] != wanted:
        raise UsageError(f"{found.name} returned other shapes or types than when the model was exported")
    return [x.clone(memory_format=torch.contiguous_format) for x in results]


@shader_operator.register_fake
def _(inputs: Sequence[torch.Tensor], description: str) -> list[torch.Tensor]:
    found = Description.parse(description)
    found.require(inputs)
    return [torch.empty(tuple(shape), dtype=dtype) for shape, dtype in found.outputs]


def _to_json(tensors: Tensors) -> list[list[Any]]:
    return [[list(shape), str(dtype).removeprefix("torch.")] for shape, dtype in tensors]


def _from_json(rows: Any) -> list[tuple[tuple[int, ...], torch.dtype]]:
    found = []
    for shape, name in rows:
        dtype = getattr(torch, name)
        if not isinstance(dtype, torch.dtype) or not all(type(n) is int and n > 0 for n in shape):
            raise ValueError(f"a tensor {name} {shape}")
        found.append((tuple(shape), dtype))
    return found
