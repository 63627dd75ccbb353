"""Runs a program on samples and shows what its nodes read and give: the only interpreter of quantization."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import torch
from torch.fx import GraphModule, Interpreter, Node
from torch.fx.node import map_arg

from ...compat.torch import tree_leaves
from ...lowering.exported_program import mutable, source_line
from ...support.errors import UsageError
from .calls import Sample, inputs_of, other_sizes

#: Called with a node, its arguments and its result, which later nodes may write to.
Look = Callable[[Node, Sequence[Any], Any], None]

#: How torchao's names of observers begin.
_OBSERVER = "activation_post_process"

#: What readers are given in place of a result, by (node, reader): a function of the results so far.
Replaced = Mapping[tuple[Node, Node], Callable[[Mapping[Node, Any]], Any]]


class Runner(Interpreter):
    """Runs a module without gradients; its observers do not observe unless it is told so.

    Args:
        module: exported, prepared or converted.
        looks: what looks at which calls of operators; all others are only run.
        keep: whether ``env`` keeps the results of all nodes after a call.
        observe: whether its observers observe.
    """

    def __init__(
        self,
        module: GraphModule,
        looks: Mapping[Node, Look] = MappingProxyType({}),
        *,
        keep: bool = False,
        observe: bool = False,
    ) -> None:
        super().__init__(module, garbage_collect_values=not keep)
        self.program = module
        self._writes = any(mutable(node) for node in module.graph.nodes)
        self._looks, self._observe = looks, observe
        self.replaced: Replaced = MappingProxyType({})

    def outputs(self, inputs: Sequence[Any], known: Mapping[Node, Any] | None = None) -> list[Any]:
        """The outputs of one call, flat.

        Args:
            inputs: one for each placeholder; what the program writes to them is lost.
            known: results that are taken over, and not computed again.

        Raises:
            UsageError: the sizes of an input are not those that the program was exported with, and it has no result
                for them.
        """
        if self._writes:
            inputs = [x.clone() if isinstance(x, torch.Tensor) else x for x in inputs]
        env = None if known is None else dict(known)
        with torch.no_grad():
            try:
                return list(tree_leaves(self.run(*inputs, initial_env=env, enable_io_processing=False)))
            except RuntimeError as error:
                if sizes := other_sizes(self.program, inputs):
                    raise UsageError(f"a sample is no call of the model: {sizes}") from error
                raise

    def run_node(self, n: Node) -> Any:
        if n.op == "call_module" and n.name.startswith(_OBSERVER):
            return self.at_observer(n, self.fetch_args_kwargs_from_env(n)[0][0])
        if (look := self._looks.get(n)) is None:
            return super().run_node(n)
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        result = getattr(self, n.op)(n.target, args, kwargs)
        try:
            look(n, args, result)
        except UsageError:
            self.extra_traceback = False  # of torch.fx, in terms of the prepared graph
            raise
        return result

    def at_observer(self, observer: Node, x: Any) -> Any:
        """What the readers of an observer get, of what it is given."""
        if not self._observe:
            return x
        try:
            return super().run_node(observer)
        except UsageError as error:
            self.extra_traceback = False  # of torch.fx, which names an observer: the user does not know it
            raise UsageError(f"{error}{_origin(observer.args[0])}{_unusable(self.program)}") from error

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        if not self.replaced:
            return super().map_nodes_to_values(args, n)

        def value(read: Node) -> Any:
            replaced = self.replaced.get((read, n))
            return self.env[read] if replaced is None else replaced(self.env)

        return map_arg(args, value)


def run(samples: Iterable[Sample], *runners: Runner) -> Iterator[tuple[Sample, list[list[Any]]]]:
    """Each sample, and the outputs of it from each runner, flat.

    Buffers that calls write to keep their numbers from sample to sample, and have those of before behind the last.
    """
    with unwritten(*(runner.program for runner in runners)):
        for sample in samples:
            yield sample, [runner.outputs(inputs_of(runner.program, sample)) for runner in runners]


def look(samples: Iterable[Sample], module: GraphModule, nodes: Iterable[Node], at: Look) -> None:
    """Runs a module on samples for the sake of what is looked at."""
    for _ in run(samples, Runner(module, dict.fromkeys(nodes, at))):
        pass


def _origin(observed: Any) -> str:
    """The operator whose result an observer refuses, or the input or constant."""
    if not isinstance(observed, Node):
        return ""
    source = source_line(observed)
    return f". They are in {observed.name}{f', {source}' if source else ''}"


def _unusable(program: GraphModule) -> str:
    """Buffers of a program that are NaN, in a sentence; ``usable_weights`` knows those that are saved with it."""
    buffers = ((name, buffer) for name, buffer in program.named_buffers() if not name.startswith(_OBSERVER))
    names = [name for name, buffer in buffers if torch.isnan(buffer).any()]
    return f". NaN are in the model's own {', '.join(names)}" if names else ""


#: Buffers, each with a copy of its numbers.
Saved = list[tuple[torch.Tensor, torch.Tensor]]


def saved(module: torch.nn.Module) -> Saved:
    """The buffers that calls may write to; PyTorch writes to none whose elements share memory (``expand``)."""
    return [(buffer, buffer.clone()) for buffer in module.buffers() if not _shares_memory(buffer)]


def restore(state: Saved) -> None:
    """Gives buffers their numbers again."""
    with torch.no_grad():
        for buffer, before in state:
            buffer.copy_(before)


@contextmanager
def unwritten(*modules: torch.nn.Module) -> Iterator[None]:
    """Gives the buffers of modules their numbers again behind what is called within.

    ``ExportedProgram.module()`` writes to the buffers of its program.
    """
    state = [row for module in modules for row in saved(module)]
    try:
        yield
    finally:
        restore(state)


def _shares_memory(tensor: torch.Tensor) -> bool:
    return any(size > 1 and not stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
