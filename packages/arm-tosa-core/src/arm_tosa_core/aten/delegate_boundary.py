"""Changes to a program at the edges of its delegates, before ExecuTorch takes it to the edge dialect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from ..lowering.analysis_result import CONSTANT, Analysis
from ..lowering.exported_program import copy_with_twins, is_dequantize
from ..lowering.values import Complex, Value
from ..tosa.ir import Tensor
from .no_elements import zeros_like

Homes = dict[int | None, list[Node]]  #: the users of a node by region, None for the CPU


def needs_edits(program: ExportedProgram, analysis: Analysis) -> bool:
    """Whether ``copy_shared`` or ``narrow_int64`` would change anything."""
    return any(True for _ in _shared(analysis)) or any(True for _ in _crossings(program, analysis))


def without_unread(program: ExportedProgram, analysis: Analysis) -> ExportedProgram | None:
    """The program in which a region has zeros of its own in place of inputs that it does not need.

    A delegate is called with all that its operators take, while compilers leave out inputs that no result depends on.
    ``addmm(x, a, b, alpha=0)`` is one. None: there is no such input; the program given is left as it is.
    """
    unread = list(_unread(analysis))
    if not unread:
        return None
    program, twins = copy_with_twins(program)
    for node, users in unread:
        reals = [user for user in users if is_dequantize(user)]  # constant integers would come from the CPU again
        others = [user for user in users if user not in reals]
        for real in map(twins.__getitem__, reals):
            with program.graph.inserting_before(real):
                real.replace_all_uses_with(zeros_like(real, program.graph))
            program.graph.erase_node(real)
        if others:
            with program.graph.inserting_before(twins[others[0]]):
                zeros = zeros_like(node, program.graph)
            for user in others:
                twins[user].replace_input_with(twins[node], zeros)
    return program


def _unread(analysis: Analysis) -> Iterator[tuple[Node, list[Node]]]:
    """Inputs of a region that none of its results depends on, with their readers, in their order."""
    values, read = analysis.lowering.values, _read(analysis)
    for node in sorted(analysis.lowering.inputs):
        if not all(isinstance(n, int) for n in node.meta["val"].shape):
            continue
        for home, users in _homes(node, analysis).items():
            if home is not None and values[node].tensor not in read[home]:
                yield node, sorted(users)


def _read(analysis: Analysis) -> dict[int, set[Tensor]]:
    """By region, the tensors that its results depend on."""
    read: dict[int, set[Tensor]] = {}
    for node, home in analysis.accepted.items():
        tensors = read.setdefault(home, set())
        if all(analysis.accepted.get(user) == home for user in node.users):
            continue
        waiting = _tensors_of(analysis.lowering.values[node])
        if waiting is None:
            waiting = [tensor for op in analysis.lowering.emitted[node] for tensor in (*op.inputs, *op.outputs)]
        while waiting:
            tensor = waiting.pop()
            if tensor not in tensors:
                tensors.add(tensor)
                waiting += tensor.producer.inputs if tensor.producer else ()
    return read


def _tensors_of(value: Any) -> list[Tensor] | None:
    """The tensors that hold the result of a node; None: it is not known which."""
    if isinstance(value, (tuple, list)):
        parts = [_tensors_of(part) for part in value]
        return None if None in parts else [tensor for part in parts for tensor in part or ()]
    if isinstance(value, Complex):
        return _tensors_of((value.real, value.imag))
    if not isinstance(value, Value):
        return None
    scales = value.quant.run_time if value.quant else None
    return [*([value.tensor] if value.tensor else []), *(_tensors_of(scales) or ())]


def copy_shared(program: ExportedProgram, analysis: Analysis) -> bool:
    """Gives each region its own copy of constants and dequantize nodes that several regions, or the CPU, use.

    Returns whether constants went back to the CPU, which have no other users: then the analysis must be made again.
    """
    returned = False
    for node, homes in _shared(analysis):
        inside = [home for home in homes if home is not None]
        if not inside:
            del analysis.accepted[node]
            returned = True
            continue
        analysis.accepted[node] = inside[0]
        for home in [home for home in homes if home != inside[0]]:
            with program.graph.inserting_after(node):
                copy = program.graph.node_copy(node, lambda n: n)
            copy.meta = dict(node.meta)
            analysis.add_copy(node, copy)
            for user in homes[home]:
                user.replace_input_with(node, copy)
            if home is not None:
                analysis.accepted[copy] = home
            elif node in analysis.constant:
                analysis.rejected[copy] = CONSTANT
    return returned


def _shared(analysis: Analysis) -> Iterator[tuple[Node, Homes]]:
    """Constants and dequantize nodes that are used elsewhere than in their region; users come before their operands."""
    for node in reversed(list(analysis.accepted)):
        constant = node in analysis.constant
        if not (constant or is_dequantize(node)):
            continue
        homes = _homes(node, analysis)
        # A dequantize at the far edge of a region is part of it.
        if homes.keys() != {analysis.accepted[node]} and (constant or homes.keys() != {None}) and homes:
            yield node, homes


def _homes(node: Node, analysis: Analysis) -> Homes:
    homes: Homes = {}
    for user in node.users:
        homes.setdefault(analysis.accepted.get(user), []).append(user)
    return homes


def narrow_int64(program: ExportedProgram, analysis: Analysis) -> None:
    """Casts int64 tensors to int32 where they enter a region, and results back where they leave it.

    The lowering has made sure that the numbers fit; TOSA has no int64.
    """
    for node, crossing in _crossings(program, analysis):
        home = analysis.accepted.get(node)
        for reader, users in crossing.items():
            place = node.next
            while place.op == "placeholder":  # these stay together
                place = place.next
            with program.graph.inserting_before(place):
                small = _cast(program, analysis, node, torch.int32, node, home)
                back = _cast(program, analysis, small, torch.int64, node, reader)
            for user in users:
                user.replace_input_with(node, back)


def _crossings(program: ExportedProgram, analysis: Analysis) -> Iterator[tuple[Node, Homes]]:
    """int64 tensors that are used elsewhere than where they are made, and by whom."""
    if not analysis.wide:
        return
    constants = {spec.arg.name for spec in program.graph_signature.input_specs if spec.kind.name != "USER_INPUT"}
    for node in list(analysis.wide):
        if node in analysis.constant or node.name in constants:
            continue
        home = analysis.accepted.get(node)
        if crossing := {reader: users for reader, users in _homes(node, analysis).items() if reader != home}:
            yield node, crossing


def _cast(
    program: ExportedProgram, analysis: Analysis, node: Node, dtype: torch.dtype, like: Node, region: int | None
) -> Node:
    new: Node = program.graph.call_function(torch.ops.aten._to_copy.default, (node,), {"dtype": dtype})
    new.meta = {k: v for k, v in like.meta.items() if k in ("stack_trace", "nn_module_stack")}
    new.meta["val"] = like.meta["val"].to(dtype)
    analysis.add_copy(node, new)
    if region is not None:
        analysis.accepted[new] = region
    return new
