"""Whether results are right: equal, or within what the roundings of the number formats may do to them.

The bound comes from the program itself. It is run in PyTorch again with each rounding disturbed: a quantize node gives
an integer that is one step higher or lower, or the same; an operator that computes in floating point has its operands
and its result moved by some units in the last place. Operators that only move numbers are left exact, so that such
numbers must come back bit for bit. A result may be twice as far from the undisturbed one as the disturbed ones are.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
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

Calls = Sequence[tuple[torch.Tensor, ...]]


def expected(module: torch.nn.Module, calls: Calls) -> list[list[Any]]:
    """What PyTorch gives for calls that follow one another; the module stays as it is."""
    module = copy.deepcopy(module)
    with torch.no_grad():
        return [[_copied(leaf) for leaf in tree_leaves(module(*_copies(call)))] for call in calls]


def wrong(got: list[list[Any]], module: torch.fx.GraphModule, calls: Calls) -> str:
    """What is wrong with the results of calls; empty if they are right.

    Args:
        module: an exported program's, quantized or not, which says what is right.
    """
    want = expected(module, calls)
    for number, (ours, theirs) in enumerate(zip(got, want, strict=True)):
        if said := _unlike(ours, theirs):
            return f"call {number}: {said}"
    if all(_equal(a, b) for ours, theirs in zip(got, want, strict=True) for a, b in zip(ours, theirs, strict=True)):
        return ""
    disturbed: list[list[list[Any]]] = []
    for count in (_FIRST, _ALL):
        while len(disturbed) < count:
            disturbed.append(_disturbed(module, calls, len(disturbed)))
        said = _beyond(got, want, disturbed)
        if not said:
            return ""
    return said


def _copied(leaf: Any) -> Any:
    return leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf


def _copies(call: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    return [tensor.clone() for tensor in call]


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


def _beyond(got: list[list[Any]], want: list[list[Any]], disturbed: list[list[list[Any]]]) -> str:
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


def _disturbed(module: torch.fx.GraphModule, calls: Calls, seed: int) -> list[list[Any]]:
    generator = torch.Generator().manual_seed(seed)
    run = _Disturbed(copy.deepcopy(module), generator)
    with torch.no_grad():
        return [[_copied(leaf) for leaf in tree_leaves(run.run(*_copies(call)))] for call in calls]


class _Disturbed(torch.fx.Interpreter):
    def __init__(self, module: torch.fx.GraphModule, generator: torch.Generator) -> None:
        super().__init__(module)
        self.generator = generator

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
        noise = torch.rand(tensor.shape, generator=self.generator, dtype=torch.float64) * 2 - 1
        largest = exact.abs().nan_to_num(0.0, 0.0).max() if tensor.numel() else 0.0
        return (exact + noise * ulps * (exact.abs() + of_all * largest)).to(tensor.dtype)


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
