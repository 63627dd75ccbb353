"""An ONNX graph as a module whose sizes and other integers are constants, so that ``torch.export`` takes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.reference
import torch
from torch.nn import functional

Operator = Callable[..., Any]

#: Attributes that the weights say too, or that matter in training only.
_SAID_ELSEWHERE = {"kernel_shape", "momentum"}


class Attributes(dict[str, Any]):
    """A node's attributes, and the names of those that an operator has looked at."""

    def __init__(self, given: dict[str, Any]) -> None:
        super().__init__(given)
        self.read: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.read.add(name)
        return super().get(name, default)

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)


class OnnxGraph(torch.nn.Module):
    """The part of an ONNX model between some tensors.

    Args:
        path: of the file.
        example: what its inputs are; shapes are fixed to theirs.
        inputs: names of tensors in place of the model's inputs.
        outputs: names of tensors in place of the model's outputs.

    Raises:
        NotImplementedError: an operator is missing below; it is named.
    """

    def __init__(
        self,
        path: Path,
        example: Sequence[torch.Tensor],
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        model = onnx.load(path)
        graph, self._opsets = model.graph, {entry.domain: entry.version for entry in model.opset_import}
        constants = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
        self.inputs = list(inputs or [value.name for value in graph.input if value.name not in constants])
        self.outputs = list(outputs or [value.name for value in graph.output])
        self._steps: list[tuple[Operator, dict[str, Any], list[str], list[str]]] = []
        self._numbers: dict[str, Any] = {}
        with torch.no_grad():
            self._follow(graph, constants, dict(zip(self.inputs, example, strict=True)))
        self.eval()

    def _follow(self, graph: onnx.GraphProto, constants: dict[str, np.ndarray], data: dict[str, Any]) -> None:
        """Runs the graph once: what depends on data becomes a step, all else a constant."""
        for node in _needed(graph, self.inputs, self.outputs):
            names = list(node.output)
            if node.op_type == "Shape":
                of = node.input[0]
                constants[names[0]] = np.array((data[of] if of in data else constants[of]).shape)
                continue
            if not any(name in data for name in node.input):
                feeds = {name: constants[name] for name in node.input if name}
                made = onnx.reference.ReferenceEvaluator(node, opsets=self._opsets).run(None, feeds)
                constants.update(zip(names, map(np.asarray, made), strict=True))
                continue
            if node.op_type not in OPERATORS:
                raise NotImplementedError(f"ONNX operator {node.op_type} is not in {Path(__file__).name}")
            attributes = Attributes({a.name: onnx.helper.get_attribute_value(a) for a in node.attribute})
            for name in node.input:
                if name and name not in data:
                    self._keep(name, constants[name], node.op_type)
            step = (OPERATORS[node.op_type], attributes, list(node.input), names)
            self._steps.append(step)
            self._take(step, data)
            self._require_read(node, attributes)

    def _require_read(self, node: onnx.NodeProto, attributes: Attributes) -> None:
        """That an operator has looked at all its attributes, but for those that say what is so anyway.

        Raises:
            NotImplementedError: names those that it did not look at.
        """
        known = onnx.defs.get_schema(node.op_type, self._opsets.get(node.domain, 1), node.domain).attributes
        for name in attributes.keys() - attributes.read - _SAID_ELSEWHERE:
            default = onnx.helper.get_attribute_value(known[name].default_value) if name in known else None
            if attributes[name] != default:
                what = f"attribute {name} = {attributes[name]} of ONNX operator {node.op_type}"
                raise NotImplementedError(f"{what} is not in {Path(__file__).name}")

    def _keep(self, name: str, value: np.ndarray, operator: str) -> None:
        if value.ndim == 0:
            self._numbers[name] = value.item()
        elif value.dtype.kind == "f" and operator != "Resize":
            if _key(name) not in self._parameters:
                self.register_parameter(
                    _key(name), torch.nn.Parameter(torch.from_numpy(value.astype(np.float32)), False)
                )
        else:
            self._numbers[name] = value

    def _take(self, step: tuple[Operator, dict[str, Any], list[str], list[str]], data: dict[str, Any]) -> None:
        operator, attributes, inputs, outputs = step
        made = operator(attributes, *(self._value(name, data) for name in inputs))
        data.update(zip(outputs, made if isinstance(made, (tuple, list)) else (made,), strict=False))

    def _value(self, name: str, data: dict[str, Any]) -> Any:
        if name in data:
            return data[name]
        return self._numbers[name] if name in self._numbers else getattr(self, _key(name)) if name else None

    def forward(self, *args: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, ...]:
        data: dict[str, Any] = dict(zip(self.inputs, args, strict=True))
        for step in self._steps:
            self._take(step, data)
        made = tuple(data[name] for name in self.outputs)
        return made if len(made) > 1 else made[0]


def _key(name: str) -> str:
    return "value_" + "".join(letter if letter.isalnum() else "_" for letter in name)


def _needed(graph: onnx.GraphProto, inputs: Sequence[str], outputs: Sequence[str]) -> list[onnx.NodeProto]:
    """The nodes that the outputs depend on, without those before the inputs."""
    wanted, found = set(outputs) - set(inputs), []
    for node in reversed(graph.node):
        if wanted & set(node.output):
            found.append(node)
            wanted |= set(node.input) - set(inputs)
    return found[::-1]


def _padded(x: torch.Tensor, attributes: dict[str, Any], kernel: Sequence[int], value: float = 0.0) -> torch.Tensor:
    """The image with the padding that a window needs, as the attributes say it."""
    rank = len(kernel)
    strides, dilations = attributes.get("strides", [1] * rank), attributes.get("dilations", [1] * rank)
    pads = list(attributes.get("pads", [0] * 2 * rank))
    mode = attributes.get("auto_pad", b"NOTSET").decode()
    if mode.startswith("SAME"):
        for i, size in enumerate(x.shape[2:]):
            whole = max(0, (-(-size // strides[i]) - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1 - size)
            less, more = whole // 2, whole - whole // 2
            pads[i], pads[i + rank] = (less, more) if mode == "SAME_UPPER" else (more, less)
    edges = [edge for i in reversed(range(rank)) for edge in (pads[i], pads[i + rank])]
    return functional.pad(x, edges, value=value) if any(edges) else x


def _convolution(a: dict[str, Any], x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> Any:
    rank = weight.dim() - 2
    x = _padded(x, a, weight.shape[2:])
    run = {1: functional.conv1d, 2: functional.conv2d}[rank]
    ones = [1] * rank
    return run(x, weight, bias, a.get("strides", ones), 0, a.get("dilations", ones), a.get("group", 1))


def _transposed(a: dict[str, Any], x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> Any:
    rank = weight.dim() - 2
    run = {1: functional.conv_transpose1d, 2: functional.conv_transpose2d}[rank]
    zeros, ones, pads = [0] * rank, [1] * rank, a.get("pads", [0] * 2 * rank)
    assert pads[:rank] == pads[rank:], pads
    more = a.get("output_padding", zeros), a.get("group", 1), a.get("dilations", ones)
    return run(x, weight, bias, a.get("strides", ones), pads[:rank], *more)


def _max_pool(a: dict[str, Any], x: torch.Tensor) -> Any:
    kernel = a["kernel_shape"]
    run = {1: functional.max_pool1d, 2: functional.max_pool2d}[len(kernel)]
    ones = [1] * len(kernel)
    return run(_padded(x, a, kernel, -float("inf")), kernel, a.get("strides", ones), 0, a.get("dilations", ones))


def _average_pool(a: dict[str, Any], x: torch.Tensor) -> Any:
    pads = a.get("pads", [0, 0, 0, 0])
    assert pads[:2] == pads[2:], pads
    strides = a.get("strides", [1, 1])
    return functional.avg_pool2d(x, a["kernel_shape"], strides, pads[:2], count_include_pad=False)


def _normalized(a: dict[str, Any], x: Any, scale: Any, bias: Any, mean: Any, variance: Any) -> Any:
    return functional.batch_norm(x, mean, variance, scale, bias, eps=a.get("epsilon", 1e-5))


def _resize(a: dict[str, Any], x: torch.Tensor, roi: Any, scales: Any = None, sizes: Any = None) -> Any:
    size = (
        sizes[2:] if sizes is not None else [round(n * float(s)) for n, s in zip(x.shape[2:], scales[2:], strict=True)]
    )
    mode = {"nearest": "nearest", "linear": "bilinear"}[a.get("mode", b"nearest").decode()]
    places = a.get("coordinate_transformation_mode", b"half_pixel").decode()
    if mode == "bilinear":
        corners = {"align_corners": True, "half_pixel": False, "pytorch_half_pixel": False}[places]
        return functional.interpolate(x, [int(n) for n in size], mode=mode, align_corners=corners)
    rounds = a.get("nearest_mode", b"round_prefer_floor").decode()
    whole = all(int(new) % old == 0 for new, old in zip(size, x.shape[2:], strict=True))
    if (places, rounds) != ("asymmetric", "floor") and not (whole and rounds == "round_prefer_floor"):
        raise NotImplementedError(f"Resize to {size} with {places} and {rounds} is not in {Path(__file__).name}")
    return functional.interpolate(x, [int(n) for n in size], mode=mode)


def _cast(a: dict[str, Any], x: torch.Tensor) -> torch.Tensor:
    """Reals stay in float32."""
    dtype = torch.from_numpy(np.zeros(1, onnx.helper.tensor_dtype_to_np_dtype(a["to"]))).dtype
    return x if dtype.is_floating_point and x.is_floating_point() else x.to(dtype)


def _max(a: dict[str, Any], x: Any, y: Any) -> Any:
    if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor):
        return torch.maximum(x, y)
    return x.clamp(min=y) if isinstance(x, torch.Tensor) else y.clamp(min=x)


def _reshape(a: dict[str, Any], x: torch.Tensor, shape: np.ndarray) -> Any:
    return x.reshape([x.shape[i] if size == 0 else int(size) for i, size in enumerate(shape.tolist())])


def _axes(a: dict[str, Any], given: Sequence[np.ndarray | None]) -> list[int]:
    """Of an operator that has them as an attribute in old files, and as an input in new ones."""
    return [int(axis) for axis in (given[0] if given and given[0] is not None else a["axes"])]


def _slice(a: dict[str, Any], x: Any, starts: Any = None, ends: Any = None, axes: Any = None, steps: Any = None) -> Any:
    starts, ends = (a["starts"], a["ends"]) if starts is None else (starts, ends)
    axes = axes if axes is not None else a.get("axes", range(len(starts)))
    index = [slice(None)] * x.dim()
    for i, axis in enumerate(axes):
        step = 1 if steps is None else int(steps[i])
        assert step > 0, "a slice that runs backwards"
        index[int(axis)] = slice(int(starts[i]), min(int(ends[i]), 2**31), step)
    return x[tuple(index)]


def _pad(a: dict[str, Any], x: Any, pads: Any = None, value: Any = None) -> Any:
    edges = [int(edge) for edge in (a["pads"] if pads is None else pads)]
    sides = list(zip(edges[: x.dim()], edges[x.dim() :], strict=True))
    mode = a.get("mode", b"constant").decode()
    if mode == "constant":
        return functional.pad(x, [edge for pair in reversed(sides) for edge in pair], value=float(value or 0))
    for axis, pair in enumerate(sides):
        if any(pair):
            x = x.index_select(axis, torch.from_numpy(np.pad(np.arange(x.shape[axis]), pair, mode=mode)))
    return x


def _reduce(run: Callable[..., Any]) -> Operator:
    def reduced(a: dict[str, Any], x: torch.Tensor, *axes: np.ndarray | None) -> Any:
        over = _axes(a, axes) if axes or "axes" in a else list(range(x.dim()))
        return run(x, over, bool(a.get("keepdims", 1)))

    return reduced


def _split(a: dict[str, Any], x: torch.Tensor, sizes: np.ndarray | None = None) -> Any:
    return x.split([int(n) for n in (a["split"] if sizes is None else sizes)], a.get("axis", 0))


def _unsqueeze(a: dict[str, Any], x: torch.Tensor, *axes: np.ndarray | None) -> Any:
    for axis in sorted(_axes(a, axes)):
        x = x.unsqueeze(axis)
    return x


def _gemm(a: dict[str, Any], x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> Any:
    assert a.get("alpha", 1.0) == a.get("beta", 1.0) == 1.0 and not a.get("transA", 0)
    return functional.linear(x, weight if a.get("transB", 0) else weight.T, bias)


def _clip(a: dict[str, Any], x: torch.Tensor, low: Any = None, high: Any = None) -> Any:
    ends = (a.get("min") if low is None else float(low), a.get("max") if high is None else float(high))
    return functional.relu6(x) if ends == (0.0, 6.0) else x.clamp(*ends)


#: From a node's attributes and inputs to its outputs; integers are arrays of numpy, single numbers Python's.
OPERATORS: dict[str, Operator] = {
    "Add": lambda a, x, y: x + y,
    "AveragePool": _average_pool,
    "BatchNormalization": _normalized,
    "Cast": _cast,
    "Clip": _clip,
    "Concat": lambda a, *parts: torch.cat(parts, a["axis"]),
    "Conv": _convolution,
    "ConvTranspose": _transposed,
    "Div": lambda a, x, y: x / y,
    "Equal": lambda a, x, y: x == y,
    "Erf": lambda a, x: x.erf(),
    "Exp": lambda a, x: x.exp(),
    "Expand": lambda a, x, shape: x.expand(torch.broadcast_shapes(x.shape, tuple(map(int, shape)))),
    "Gemm": _gemm,
    "GlobalAveragePool": lambda a, x: x.mean([2, 3], keepdim=True),
    "GlobalMaxPool": lambda a, x: x.amax(list(range(2, x.dim())), keepdim=True),
    "HardSigmoid": lambda a, x: functional.relu6(x * (6 * a.get("alpha", 0.2)) + 6 * a.get("beta", 0.5)) / 6,
    "HardSwish": lambda a, x: functional.hardswish(x),
    "Identity": lambda a, x: x,
    "LeakyRelu": lambda a, x: functional.leaky_relu(x, a.get("alpha", 0.01)),
    "Log": lambda a, x: x.log(),
    "MatMul": lambda a, x, y: x @ y,
    "Max": _max,
    "MaxPool": _max_pool,
    "Mul": lambda a, x, y: x * y,
    "Neg": lambda a, x: -x,
    "Pad": _pad,
    "Pow": lambda a, x, y: x ** float(y),
    "Reciprocal": lambda a, x: x.reciprocal(),
    "ReduceMax": _reduce(torch.amax),
    "ReduceMean": _reduce(torch.mean),
    "ReduceMin": _reduce(torch.amin),
    "ReduceSum": _reduce(torch.sum),
    "Relu": lambda a, x: functional.relu(x),
    "Reshape": _reshape,
    "Resize": _resize,
    "Sigmoid": lambda a, x: x.sigmoid(),
    "Slice": _slice,
    "Softmax": lambda a, x: x.softmax(a.get("axis", -1)),
    "Split": _split,
    "Sqrt": lambda a, x: x.sqrt(),
    "Squeeze": lambda a, x, *axes: x.squeeze(_axes(a, axes)),
    "Sub": lambda a, x, y: x - y,
    "Tanh": lambda a, x: x.tanh(),
    "Transpose": lambda a, x: x.permute(a["perm"]),
    "Unsqueeze": _unsqueeze,
    "Where": lambda a, c, x, y: torch.where(c, x, y),
}
