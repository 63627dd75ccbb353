"""What is prefetched: which constants go behind which kernels, and to which bytes of SRAM.

A fetch reads the constants of a kernel, weights and scales, into free SRAM by transfers, each behind a kernel that
leaves the constants' memory idle for as long as the transfer takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..command_stream.hardware import ALIGNMENT, KERNELS_IN_FLIGHT
from .problem import Chunk, Fetch, Plan, Problem

_LEAST = 1024  # bytes of a transfer but for the last of a fetch: the setup is not worth less
_SPARE = 0.95  # of the idle time that is used: figures are estimates


def plan(problem: Problem) -> Plan:
    """The fetches that save most, as far as a greedy search finds them; the same for the same problem."""
    candidates = problem.candidates()
    by_size = sorted(candidates, key=lambda fetch: (-fetch.saved / fetch.size, fetch.source))
    best = max((_grown(problem, [], order) for order in (candidates, by_size)), key=lambda plan: plan.saved)
    return _exchanged(problem, best, candidates)


def _grown(problem: Problem, chosen: list[Fetch], order: Sequence[Fetch]) -> Plan:
    """Takes each that still fits."""
    placed = _placed(problem, chosen) if chosen else Plan()
    if placed is None:
        return Plan()
    for fetch in order:
        if all(fetch.source != known.source for known in chosen) and (more := _placed(problem, [*chosen, fetch])):
            chosen, placed = [*chosen, fetch], more
    return placed


def _exchanged(problem: Problem, best: Plan, candidates: Sequence[Fetch]) -> Plan:
    """Tries each that was left out in the place of one that saves less."""
    known = {fetch.source: fetch for fetch in candidates}
    for fetch in candidates:
        chosen = [known[each.source] for each in best.fetches]
        if fetch in chosen:
            continue
        for other in sorted(chosen, key=lambda one: one.saved):
            if other.saved >= fetch.saved:
                break
            trial = _grown(problem, [fetch, *(one for one in chosen if one is not other)], candidates)
            if trial.saved > best.saved:
                best = trial
                break
    return best


def _placed(problem: Problem, fetches: Sequence[Fetch]) -> Plan | None:
    """A plan with all of these fetches, or None."""
    idle = problem.idle(fetches)
    timed = []
    for fetch in sorted(fetches, key=lambda one: one.users[0], reverse=True):  # the last one takes what is before it
        chunks = _chunks(problem, fetch, idle)
        if chunks is None:
            return None
        timed.append((fetch, chunks))
    placed: list[tuple[range, Fetch]] = []
    for fetch, chunks in sorted(timed, key=lambda one: (-one[0].size, one[0].source)):
        steps = _reserved(problem, fetch, chunks)
        others = [
            (other.address, other.address + other.size)
            for known, other in placed
            if known.start < steps.stop and steps.start < known.stop
        ]
        operations = range(problem.steps[steps.start].operations.start, problem.steps[steps.stop - 1].operations.stop)
        address = problem.lives.free(fetch.size, operations, others)
        if address is None:
            return None
        placed.append((steps, replace(fetch, address=address, chunks=chunks)))
    return Plan(tuple(sorted((fetch for _, fetch in placed), key=lambda fetch: fetch.users[0])))


def _chunks(problem: Problem, fetch: Fetch, idle: list[float]) -> tuple[Chunk, ...] | None:
    """Transfers behind the kernels nearest before the first user; takes their time from ``idle``."""
    speed, left = problem.memories.speed, fetch.size
    chunks: list[Chunk] = []
    for n in range(problem.step_of[fetch.users[0]] - 1, -1, -1):
        room = int((idle[n] * _SPARE - problem.memories.latency) * speed) // ALIGNMENT * ALIGNMENT
        size = min(left, room)
        if size < min(left, _LEAST):
            continue
        left -= size
        idle[n] -= problem.duration(size)
        chunks.append(Chunk(problem.steps[n].operations[-1], left, size))
        if not left:
            return tuple(reversed(chunks))
    return None


def _reserved(problem: Problem, fetch: Fetch, chunks: Sequence[Chunk]) -> range:
    """The steps during which nobody else may use the SRAM of a fetch.

    That is from the kernels that may still run when the first transfer begins, to those during which the last user may
    still run.
    """
    first = problem.step_of[chunks[0].behind] - KERNELS_IN_FLIGHT + 1
    last = problem.step_of[fetch.users[-1]] + KERNELS_IN_FLIGHT
    return range(max(0, first), min(last + 1, len(problem.steps)))
