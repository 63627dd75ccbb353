"""How inputs lie in memory: as the user says, whatever the example inputs did."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import arm_tosa_core
from arm_tosa_core.aten.memory_format import with_memory_format
from arm_tosa_core.exir.pte import read
from arm_tosa_core.support.errors import UsageError

PICTURE = torch.from_numpy(np.random.default_rng(0).random((6, 7, 3), np.float32)).permute(2, 0, 1)[None]
EXAMPLES = {
    "row-major": PICTURE.contiguous(),
    "channels-last": PICTURE.to(memory_format=torch.channels_last),
    "a permuted picture": PICTURE,
    "a stride of 0": torch.from_numpy(PICTURE.contiguous().numpy()[0][None]),
}
ROWS, PIXELS = (0, 1, 2, 3), (0, 2, 3, 1)


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize(
    ("memory_format", "order"), [(None, ROWS), (torch.contiguous_format, ROWS), (torch.channels_last, PIXELS)]
)
def test_the_program_takes_what_was_asked_for(
    example: str, memory_format: torch.memory_format | None, order: tuple[int, ...]
) -> None:
    program = torch.export.export(torch.nn.Conv2d(3, 4, 1).eval(), (EXAMPLES[example],))
    lowered = arm_tosa_core.lower(program, "tosa-fp", memory_format=memory_format)
    (taken,) = read(lowered.buffer).inputs["forward"]
    assert taken is not None and taken.order == order
    assert lowered.report.rejected == []


def test_the_order_of_the_examples_can_be_kept() -> None:
    program = torch.export.export(torch.nn.Conv2d(3, 4, 1).eval(), (EXAMPLES["channels-last"],))
    assert with_memory_format(program, torch.preserve_format) is program
    assert with_memory_format(program, torch.channels_last) is program
    assert with_memory_format(program, torch.contiguous_format) is not program


@pytest.mark.parametrize(
    ("example", "order"),
    [("row-major", ROWS), ("channels-last", PIXELS), ("a permuted picture", PIXELS), ("a stride of 0", ROWS)],
)
def test_the_order_that_is_kept_has_the_batch_first(example: str, order: tuple[int, ...]) -> None:
    """Also where its stride is less than that of the rows, as of one picture that NumPy has loaded."""
    program = torch.export.export(torch.nn.Conv2d(3, 4, 1).eval(), (EXAMPLES[example],))
    (taken,) = arm_tosa_core.lower(program, "tosa-fp", memory_format=torch.preserve_format).inputs
    assert taken is not None and taken.order == order


def test_dynamic_dimensions_and_results_stay() -> None:
    module = torch.nn.Conv2d(3, 4, 3).eval()
    batch = torch.export.Dim("batch", min=1, max=4)
    pictures = PICTURE.expand(2, -1, -1, -1)
    program = torch.export.export(module, (pictures,), dynamic_shapes=({0: batch},))
    again = with_memory_format(program, torch.contiguous_format).module()
    for count in (1, 4):
        x = torch.randn(count, 3, 6, 7)
        torch.testing.assert_close(again(x), module(x))


def test_another_format_is_refused() -> None:
    program = torch.export.export(torch.nn.ReLU(), (PICTURE,))
    with pytest.raises(UsageError, match="torch.contiguous_format, channels_last or preserve_format"):
        with_memory_format(program, torch.channels_last_3d)


def test_without_example_inputs_only_what_is_there_can_be_had() -> None:
    program = torch.export.export(torch.nn.Conv2d(3, 4, 1).eval(), (EXAMPLES["row-major"],))
    program.example_inputs = None
    assert with_memory_format(program, torch.contiguous_format) is program
    with pytest.raises(UsageError, match="no example inputs to export it again with"):
        with_memory_format(program, torch.channels_last)
