"""Whether results are right: equal, or within what the roundings of the number formats may do to them.

The bound comes from the program itself. It is run in PyTorch again with each rounding disturbed: a quantize node gives
an integer that is one step higher or lower, or the same; an operator that computes in floating point has its operands
and its result moved by some units in the last place. Operators that only move numbers are left exact, so that such
numbers must come back bit for bit. A result may be twice as far from the undisturbed one as the disturbed ones are.

A quantized module is compared with its float module in the same way. There the noise has the size of the steps of
integers, and a result is wrong only if little of it is right where the noise leaves nearly all of it.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch._ops import HigherOrderOperator, OpOverload
from torch.utils._pytree import tree_leaves, tree_map_only

#: Disturbed runs: as many at first, and as many before a result is called wrong.
_FIRST, _ALL = 6, 96
#: A unit in the last place, and how many of them an operator may be off.
_ULPS = {
    torch.float32: 64 * 2.0**-24,
    torch.float16: 8 * 2.0**-11,
    torch.bfloat16: 8 * 2.0**-8,
    torch.float64: 64 * 2.0**-24,
}

#: A step of activations as a part of a tensor's largest number; of weights it is always the first.
_STEPS = {"int8": 1 / 127, "int16x8": 1 / 32767}
#: The noise in such steps: the range of integers is wider than that of few numbers, and is not centred.
_NOISE = 2.0
#: A number below stands for "masked out" in attention. Other numbers of a random program do not reach it.
_MASK = -5e3
#: Operators that square numbers. Integers of 16 bits lose a square below a step: a root below this part of the largest.
_SQUARES, _ROOT = re.compile(r"norm|std|var|cdist"), 32767**-0.5
#: The least signal to noise, as ratios of energy, of a quantized module and of disturbed runs that can say so.
_GROSS, _CLEAR = 4.0, 100.0

Results = list[list[Any]]
Calls = Sequence[tuple[torch.Tensor, ...]]


def expected(module: torch.nn.Module, calls: Calls) -> Results:
    """What PyTorch gives for calls that follow one another; the module stays as it is."""
    module = copy.deepcopy(module)
    with torch.no_grad():
        return [[_copied(leaf) for leaf in tree_leaves(module(*_copies(call)))] for call in calls]


def wrong(got: Results, module: torch.fx.GraphModule, calls: Calls) -> str:
    """What is wrong with the results of calls; empty if they are right.

    Args:
        module: an exported program's, quantized or not, which says what is right.
    """
    want = expected(module, calls)
    if said := _other_kind(got, want):
        return said
    if all(_equal(a, b) for ours, theirs in zip(got, want, strict=True) for a, b in zip(ours, theirs, strict=True)):
        return ""

    def disturbed(seed: int) -> Results:
        return _results(_Disturbed(copy.deepcopy(module), seed), calls)

    return _confirmed(partial(_beyond, got, want), disturbed)


def misquantized(
    quantized: torch.nn.Module,
    module: torch.fx.GraphModule,
    calls: Calls,
    schemes: Sequence[str],
    *,
    one_scale: bool = False,
) -> str:
    """Where a quantized module computes something else than its float module; empty if nowhere.

    Args:
        calls: those of the calibration, beyond whose numbers integers saturate.
        schemes: of the module and its parts.
        one_scale: whether all that is put together has the scale of the result, whoever else reads it: PT2E's own steps
            correct nothing.
    """
    got, want = expected(quantized, calls), expected(module, calls)
    if said := _other_kind(got, want):
        return said
    if not _gross(got, want, []):
        return ""
    return _confirmed(partial(_gross, got, want), stepped(module, calls, schemes, one_scale))


def stepped(
    module: torch.fx.GraphModule, calls: Calls, schemes: Sequence[str], one_scale: bool = False
) -> Callable[[int], Results]:
    """What gives for a seed the results of a float module with noise of the schemes' steps."""
    step = max(_STEPS[scheme] for scheme in schemes)
    ranges: dict[str, float] = {}
    noted = _Stepped(copy.deepcopy(module), 0, 0.0, ranges)
    _results(noted, calls)
    for node in reversed(module.graph.nodes) if one_scale else ():
        if node.name in noted.moves:
            for operand in node.all_input_nodes:
                ranges[operand.name] = max(ranges.get(operand.name, 0.0), ranges.get(node.name, 0.0))
    return lambda seed: _results(_Stepped(copy.deepcopy(module), seed, step, ranges), calls)


def _results(run: torch.fx.Interpreter, calls: Calls) -> Results:
    with torch.no_grad():
        return [[_copied(leaf) for leaf in tree_leaves(run.run(*_copies(call)))] for call in calls]


def _confirmed(said: Callable[[list[Results]], str], disturbed: Callable[[int], Results]) -> str:
    """What is said in view of disturbed runs, of which there are more before a result is called wrong."""
    runs: list[Results] = []
    text = ""
    for count in (_FIRST, _ALL):
        runs += map(disturbed, range(len(runs), count))
        text = said(runs)
        if not text:
            break
    return text


def _copied(leaf: Any) -> Any:
    return leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf


def _copies(call: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    return [tensor.clone() for tensor in call]


def _other_kind(got: Results, want: Results) -> str:
    said = (_unlike(ours, theirs) for ours, theirs in zip(got, want, strict=True))
    return next((f"call {number}: {text}" for number, text in enumerate(said) if text), "")


def _unlike(ours: list[Any], theirs: list[Any]) -> str:
    """How results differ in number, kind, type or shape."""
    if len(ours) != len(theirs):
        return f"{len(ours)} results, not {len(theirs)}"
    for place, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if isinstance(a, torch.Tensor) != isinstance(b, torch.Tensor):
            return f"result {place} is {type(a).__name__}, not {type(b).__name__}"
        if not isinstance(b, torch.Tensor):
            if a != b:
                return f"result {place} is {a!r}, not {b!r}"
        elif (a.dtype, tuple(a.shape)) != (b.dtype, tuple(b.shape)):
            return f"result {place} is {a.dtype}{list(a.shape)}, not {b.dtype}{list(b.shape)}"
    return ""


def _equal(a: Any, b: Any) -> bool:
    return not isinstance(b, torch.Tensor) or bool(((a == b) | ((a != a) & (b != b))).all())


def _beyond(got: Results, want: Results, disturbed: list[Results]) -> str:
    """Where a result is farther off than twice what disturbed runs are."""
    for number, (ours, theirs) in enumerate(zip(got, want, strict=True)):
        for place, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            if not isinstance(b, torch.Tensor) or not b.numel():
                continue
            others = torch.stack([run[number][place].double() for run in disturbed])
            a, b = a.double(), b.double()
            same = (a == b) | (a.isnan() & b.isnan())
            off, reach = (a - b).abs(), (others - b).abs().nan_to_num(0.0, 0.0).amax(0)
            unsure = (others.isfinite() != b.isfinite()).any(0)  # NaN or infinite with a little noise, or no more so
            bad = ~(same | unsure | (off <= 2 * reach))
            if bad.any():
                index = tuple(int(i) for i in bad.nonzero()[0])
                far = (off / reach.clamp(min=1e-300))[bad].nan_to_num(1e9, 1e9).max().item()
                return (
                    f"call {number}, result {place}: {int(bad.sum())} of {bad.numel()} wrong, first {list(index)}: "
                    f"{a[index].item():g}, not {b[index].item():g}; up to {far:.3g} times the noise"
                )
    return ""


def energies(got: Results, want: Results, disturbed: list[Results]) -> Iterator[tuple[int, int, float, float, float]]:
    """Of each call and result: what it differs by from the mean of all calls, its error, and the largest of the noise.

    Each is the sum of the squares of all numbers.
    """
    for number, (ours, theirs) in enumerate(zip(got, want, strict=True)):
        for place, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            if isinstance(b, torch.Tensor) and b.numel():
                mean = torch.cat([row[place].double().flatten() for row in want]).mean()
                noise = [_energy(run[number][place], b) for run in disturbed]
                largest = math.nan if any(map(math.isnan, noise)) else max(noise, default=0.0)
                yield number, place, _energy(b, mean), _energy(a, b), largest


def _energy(a: torch.Tensor, b: torch.Tensor) -> float:
    return (a.double() - b.double()).square().sum().item()


def _gross(got: Results, want: Results, disturbed: list[Results]) -> str:
    """Where little of a result is right, and the noise of disturbed runs is no reason."""
    for number, place, signal, error, noise in energies(got, want, disturbed):
        if signal > _CLEAR * noise and not error <= signal / _GROSS:  # an error may be NaN
            return (
                f"call {number}, result {place}: signal to noise is {_decibels(signal, error)} against float, where "
                f"noise of a few steps leaves {_decibels(signal, noise)}"
            )
    return ""


def _decibels(signal: float, noise: float) -> str:
    return f"{10 * (math.log10(signal) - math.log10(max(noise, 1e-300))):.1f} dB"


class _Disturbed(torch.fx.Interpreter):
    def __init__(self, module: torch.fx.GraphModule, seed: int) -> None:
        super().__init__(module)
        self.generator = torch.Generator().manual_seed(seed)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        result = super().call_function(target, args, kwargs)
        name = str(target)
        if "quantized_decomposed.quantize" in name:
            return self._a_step(result, args)
        schema = getattr(target, "_schema", None)  # bodies of branches and loops have none
        writes = schema is not None and schema.is_mutable
        if writes or not isinstance(target, (OpOverload, HigherOrderOperator)) or not _computes(result, args):
            return result
        moved = tree_map_only(torch.Tensor, self._moved, args)
        again = super().call_function(target, moved, kwargs)
        return tree_map_only(torch.Tensor, lambda tensor: self._moved(tensor, of_all=4 / 64), again)

    def _a_step(self, result: torch.Tensor, args: Any) -> torch.Tensor:
        least, most = args[-3:-1]  # behind them the data type
        noise = torch.randint(-1, 2, result.shape, generator=self.generator)
        return (result.to(torch.int64) + noise).clamp(int(least), int(most)).to(result.dtype)

    def _moved(self, tensor: torch.Tensor, of_all: float = 0.0) -> torch.Tensor:
        """A tensor with noise relative to each number, and to this part of the largest one."""
        if not tensor.is_floating_point():
            return tensor
        exact, ulps = tensor.double(), _ULPS[tensor.dtype]
        largest = exact.abs().nan_to_num(0.0, 0.0).max() if tensor.numel() else 0.0
        return (exact + self._noise(tensor) * ulps * (exact.abs() + of_all * largest)).to(tensor.dtype)

    def _noise(self, tensor: torch.Tensor) -> torch.Tensor:
        return torch.rand(tensor.shape, generator=self.generator, dtype=torch.float64) * 2 - 1


class _Stepped(_Disturbed):
    """A float module, whose weights, inputs and operators' results have noise of a scheme's steps.

    Args:
        step: a step as a part of the largest number; 0 for a run that notes these.
        ranges: the largest number of what a node gives in all calls.
    """

    def __init__(self, module: torch.fx.GraphModule, seed: int, step: float, ranges: dict[str, float]) -> None:
        super().__init__(module, seed)
        self.step, self.ranges = step, ranges
        self.name, self.least = "", 0.0
        self.moves: set[str] = set()  # nodes that make no numbers of their own
        for tensor in (*module.parameters(), *module.buffers()):
            if step:
                tensor.data.copy_(self._moved_by(tensor.data, _STEPS["int8"] * _largest(tensor)))

    def run_node(self, n: torch.fx.Node) -> Any:
        self.name, self.least = n.name, 0.0
        result = super().run_node(n)
        return self._rounded(result) if n.op == "placeholder" else result

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        before = tree_map_only(torch.Tensor, torch.Tensor.clone, args)
        known = {_place(leaf) for leaf in tree_leaves(args) if isinstance(leaf, torch.Tensor)}
        if self.step and _SQUARES.search(str(target)):
            args = tree_map_only(torch.Tensor, lambda tensor: self._moved_by(tensor, _ROOT * _largest(tensor)), args)
        result = torch.fx.Interpreter.call_function(self, target, args, kwargs)
        if not isinstance(target, (OpOverload, HigherOrderOperator)):
            return result
        if not _computes(result, before):  # then it has the scale of its operands
            self.moves.add(self.name)
            self.least = max((_largest(t) for t in tree_leaves(before) if isinstance(t, torch.Tensor)), default=0.0)
        writes = isinstance(target, OpOverload) and target._schema.is_mutable

        def rounded(tensor: torch.Tensor) -> torch.Tensor:
            if _place(tensor) not in known:
                return self._rounded(tensor)
            return tensor.copy_(self._rounded(tensor)) if writes else tensor  # a view

        return tree_map_only(torch.Tensor, rounded, result)

    def _rounded(self, tensor: torch.Tensor) -> torch.Tensor:
        if not self.step:
            self.ranges[self.name] = max(self.ranges.get(self.name, 0.0), self.least, _largest(tensor))
        return self._moved_by(tensor, self.step * self.ranges[self.name])

    def _moved_by(self, tensor: torch.Tensor, step: float) -> torch.Tensor:
        """A tensor with noise of some such steps, if it is real."""
        if not step or not tensor.is_floating_point():
            return tensor
        return (tensor + self._noise(tensor) * _NOISE * step).to(tensor.dtype)


def _place(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _largest(tensor: torch.Tensor) -> float:
    """The largest magnitude of real numbers that are no infinities and stand for none."""
    numbers = tensor[tensor.isfinite() & (tensor > _MASK)]
    return numbers.abs().max().item() if tensor.is_floating_point() and numbers.numel() else 0.0


def _computes(result: Any, args: Any) -> bool:
    """Whether a result in floating point has numbers that its operands do not have."""
    found = [leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()]
    if not found:
        return False
    leaves = tree_leaves(args)
    tensors = [leaf.double().abs().flatten() for leaf in leaves if isinstance(leaf, torch.Tensor)]
    numbers = [abs(float(leaf)) for leaf in leaves if isinstance(leaf, (int, float)) and not isinstance(leaf, bool)]
    known = torch.cat([*tensors, torch.tensor([0.0, *numbers], dtype=torch.float64)])
    made = torch.cat([leaf.double().abs().flatten() for leaf in found])
    return not bool(torch.isin(made[~made.isnan()], known).all())
