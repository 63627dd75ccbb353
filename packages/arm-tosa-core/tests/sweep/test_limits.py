"""Limits, the front, and the answer."""

from __future__ import annotations

import pytest
from sweep_kit import evaluation

from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.sweep.limits import Drop, Limits, answer, parse_limits
from arm_tosa_core.sweep.point import Evaluation, Failure, Outcome, Point, Result


def test_limits_as_users_write_them() -> None:
    found = parse_limits("512K", "2M", "30ms", "1%", "25dB")
    assert found == Limits(512 << 10, 2 << 20, 30e-3, Drop(0.01, True), 25.0)
    assert parse_limits(latency="500us", drop="0.01") == Limits(latency=500e-6, drop=Drop(0.01, False))
    assert parse_limits(latency="0.1 s", sqnr="25").latency == 0.1
    assert not parse_limits() and found


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sram": "big"}, r"--sram must be a size such as 512K"),
        ({"dram": "big"}, r"--dram must be a size such as 512K"),
        ({"latency": "30"}, r"--latency '30': write 30ms, 500us or 0.1s"),
        ({"drop": "1 percent"}, r"--drop '1 percent': write 1%"),
        ({"sqnr": "high"}, r"--sqnr 'high': write 25dB"),
    ],
)
def test_a_bad_limit_says_what_to_write(given: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_limits(**given)


@pytest.mark.parametrize(
    ("limits", "found", "missed"),
    [
        (parse_limits("1K", "2K", "1ms"), evaluation(), {}),
        (parse_limits("1000"), evaluation(), {"sram": "1.0 KiB instead of 1,000 B"}),
        (parse_limits(flash="1K"), evaluation(), {"flash": "2.0 KiB instead of 1.0 KiB"}),
        (parse_limits(latency="500us"), evaluation(), {"latency": "1.00 ms instead of 0.50 ms"}),
        (parse_limits("1K", latency="1s"), evaluation(None, latency=None), {"sram": "not known, 1.0 KiB allowed",
                                                                          "latency": "not known, 1,000.00 ms allowed"}),
        (parse_limits(dram="2M"), evaluation(dram=2 << 20), {}),
        (parse_limits(dram="1M"), evaluation(dram=2 << 20), {"dram": "2,048.0 KiB instead of 1,024.0 KiB"}),
        (parse_limits(dram="1M"), evaluation(dram=None), {"dram": "not known, 1,024.0 KiB allowed"}),
        (parse_limits(drop="1%"), evaluation(metric=0.99), {}),
        (parse_limits(drop="0.005"), evaluation(metric=0.99), {"drop": "0.01 instead of 0.005"}),
        (parse_limits(drop="0"), evaluation(metric=1.0), {}),
        (parse_limits(drop="0"), evaluation(metric=0.5), {"drop": "0.5 instead of 0"}),
        (parse_limits(sqnr="30"), evaluation(sqnr=31.0), {}),
        (parse_limits(sqnr="30"), evaluation(sqnr=29.0), {"sqnr": "29.0 dB instead of 30 dB"}),
        (parse_limits(sqnr="30"), evaluation(), {"sqnr": "not known instead of 30 dB"}),
    ],
)  # fmt: skip
def test_which_limits_are_missed(limits: Limits, found: Evaluation, missed: dict[str, str]) -> None:
    assert {miss.limit: miss.text for miss in limits.missed(found)} == missed


def _results(*rows: tuple[str, Outcome]) -> list[Result]:
    return [Result(Point(target, "int8", (("n", str(i)),)), outcome) for i, (target, outcome) in enumerate(rows)]


def test_the_front_is_what_nothing_else_is_as_good_as() -> None:
    results = _results(
        ("big", evaluation(100, 100, 1.0)),
        ("small", evaluation(100, 100, 2.0)),  # cheaper than big, and slower
        ("small", evaluation(200, 100, 2.0)),  # takes more SRAM for nothing
        ("small", evaluation(300, 100, 1.5)),
        ("small", evaluation(100, 100, 2.0)),  # the same again
        ("small", evaluation(None, 50, None)),  # nobody knows, but it is small
        ("small", evaluation(50, 200, 3.0, dram=5000)),
        ("small", evaluation(50, 200, 3.5, dram=4000)),  # slower, and takes less DRAM
        ("big", Failure("no")),
    )
    front = answer(results, ["small", "big"], Limits()).front
    assert [results.index(result) for result in front] == [6, 7, 1, 3, 5, 0]


def test_the_cheapest_is_on_the_first_target_that_will_do() -> None:
    results = _results(
        ("small", evaluation(100, 100, 2.0)),
        ("big", evaluation(300, 100, 1.0)),
        ("big", evaluation(200, 100, 1.0)),
        ("huge", evaluation(50, 50, 0.1)),
    )
    found = answer(results, ["small", "big", "huge"], Limits(latency=1.5))
    assert found.chosen == results[2] and found.nearest is None
    assert answer(results, ["small", "big", "huge"], Limits()).chosen is None


def test_the_nearest_misses_its_worst_limit_by_least() -> None:
    limits = Limits(sram=100, latency=1.0)
    results = _results(("a", evaluation(100, 1, 3.0)), ("a", evaluation(150, 1, 1.4)), ("a", evaluation(10, 1, None)))
    found = answer(results, ["a"], limits)
    assert found.chosen is None and found.nearest == results[1]
    assert {miss.limit for miss in found.missed} == {"sram", "latency"}


def test_failures_that_differ_in_numbers_are_one() -> None:
    texts = ("missed by 0.3 KiB: 7 runs", "not supported", "missed by 1,024 KiB: 3 runs")
    results = _results(*[("a", Failure(text)) for text in texts])
    assert [[results.index(r) for r in group] for group in answer(results, ["a"], Limits(sram=1)).failures] == [
        [0, 2],
        [1],
    ]
    assert answer(results, ["a"], Limits(sram=1)).nearest is None
