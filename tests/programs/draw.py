"""Draws a program: statement after statement, each of which PyTorch runs before it is taken."""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch import nn
from torch.nn import functional

from .holes import Holes, NothingFits
from .program import NAME, Program, Statement, Way
from .statements import BODIES, FAMILIES, FLOAT_INPUTS, OTHER_INPUTS, PICTURES, SPECIAL_INPUTS, WEIGHTS, Row

_MAX_ELEMENTS = 2048
_FORMS = (
    ("({},)", 12),
    ("[{}]", 1),
    ("({}, None)", 1),
    ("({}, 3)", 0.5),
    ('{{"a": ({},)}}', 1),
    ("({}, (None, 2.5))", 0.3),
)


def draw(seed: str, way: Way) -> Program:
    """The program of a seed that suits a way: half precision and special numbers are for float only."""
    with warnings.catch_warnings(), _plain_control_flow():
        warnings.simplefilter("ignore")
        return _Drawing(random.Random(f"{seed} {way}"), random.Random(f"{seed} {way} edges"), way).program()


class _Drawing:
    def __init__(self, draws: random.Random, edges: random.Random, way: Way) -> None:
        self.random, self.way = draws, way
        self.half = way.scheme == "float" and draws.random() < 0.15
        self.special = way.scheme == "float" and draws.random() < 0.15
        plain = not self.half and not self.special
        self.picture = edges.choice(PICTURES) if plain and edges.random() < 0.12 else ""
        if way.flow == "lower" and way.scheme != "float" and "quantized_decomposed" in self.picture:
            self.picture = PICTURES[0]  # quantize_program takes float programs
        self.integers = way.scheme != "float" and edges.random() < 0.2
        self.sizes: dict[str, tuple[int, int, int]] = {}
        self.varying: dict[str, dict[int, str]] = {}
        self.module = nn.Module()
        self.statements: list[Statement] = []
        self.number = 0
        if way.target in ("vgf", "ethos-u55-128") and draws.random() < 0.2:
            for symbol in ("s", "t")[: draws.choice((1, 1, 2))]:
                low, high = draws.choice((1, 2)), draws.choice((4, 6, 9))
                self.sizes[symbol] = (draws.choice((high, high, max(2, high - 2))), low, high)

    def program(self) -> Program:
        draws = self.random
        inputs = self._inputs()
        self.values = self._evaluated(inputs)
        if self.picture:
            for values in self.values:
                x0 = torch.randint(0, 256, values["x0"].shape, dtype=torch.uint8)
                values["x0"] = eval(self.picture, {"torch": torch, "x0": x0})  # of our own rows
        wanted, tries = draws.choice((1, 2, 3, 3, 4, 5, 6, 8, 10, 12)), 0
        while len(self.statements) < wanted and tries < 12 * wanted:
            tries += 1
            self._add()
        schemes = [
            (statement.module.removeprefix("self."), draws.choice(("float", "float", "int8", "int16x8")))
            for statement in self.statements
            if statement.module and draws.random() < 0.15
        ]
        if self.way.target == "acme":
            schemes = [row for row in schemes if row[1] != "int16x8"]
        forms, weights = zip(*_FORMS, strict=True)
        program = Program(
            draws.randrange(1000),
            inputs,
            tuple(self.statements),
            self._outputs(inputs),
            draws.choices(forms, weights)[0],
            self.varying,
            self.sizes,
            tuple(schemes) if self.way.scheme != "float" else (),
            self.half,
            self.picture,
            self.integers,
        )
        return program.pruned()

    def _inputs(self) -> tuple[tuple[str, str], ...]:
        draws = self.random
        first = self._shape()
        texts = []
        for number in range(draws.choice((1, 1, 1, 2, 2, 3))):
            kinds = FLOAT_INPUTS if number == 0 or draws.random() < 0.6 else OTHER_INPUTS
            if self.special and number == 0:
                kinds = SPECIAL_INPUTS
            shape = first if number == 0 or draws.random() < 0.5 else self._shape()
            sizes = list(map(str, shape))
            for symbol in self.sizes:
                if (number == 0 or draws.random() < 0.5) and len(sizes) > 1:
                    axis = draws.choice((0, 0, len(sizes) - 1, 1))
                    if sizes[axis].isdigit():
                        sizes[axis] = symbol
                        self.varying.setdefault(f"x{number}", {})[axis] = symbol
            (text,) = draws.choices([text for text, _ in kinds], [weight for _, weight in kinds])
            text = Holes(draws, {}, 0).fill(text.replace("{s}", ", ".join(sizes)))
            if self.half and ".5" not in text and "randint" not in text:
                text = f"({text}).half()"
            texts.append((f"x{number}", text))
        used = {symbol for axes in self.varying.values() for symbol in axes.values()}
        self.sizes = {symbol: size for symbol, size in self.sizes.items() if symbol in used}
        return tuple(texts)

    def _shape(self) -> list[int]:
        draws = self.random
        rank = draws.choice((1, 2, 3, 3, 4, 4, 4, 4, 5))
        batch = draws.choice((1, 1, 2, 3, 4)) if rank > 1 else draws.choice((1, 4, 7))
        return [batch, *(draws.choice((1, 2, 3, 4, 4, 5, 6, 8, 12)) for _ in range(rank - 1))]

    def _evaluated(self, inputs: tuple[tuple[str, str], ...]) -> list[dict[str, Any]]:
        """The inputs' values at the example's sizes, and at others."""
        settings = [{name: size[0] for name, size in self.sizes.items()}]
        if self.sizes:
            settings.append({name: size[1] for name, size in self.sizes.items()})
            settings.append({name: size[2] - 1 for name, size in self.sizes.items()})
        return [
            {name: eval(text, {"torch": torch, **setting}) for name, text in inputs}  # of our own rows
            for setting in settings
        ]

    def _add(self) -> None:
        """Draws a statement, and takes it if it runs at every size."""
        draws = self.random
        (family,) = draws.choices([rows for _, rows in FAMILIES], [weight for weight, _ in FAMILIES])
        (row,) = draws.choices(family, [row.weight for row in family])
        try:
            statement = self._statement(row)
        except NothingFits:
            return
        if self.special and ".to(torch.int" in statement.text:
            return  # C and PyTorch leave open which integer an infinity becomes
        made = [dict(values) for values in self.values]
        scope = {"torch": torch, "nn": nn, "F": functional, "self": self.module}
        try:
            with torch.no_grad():
                for line in statement.init:
                    exec(line, scope)
                self.module.eval()
                if self.half:
                    self.module.half()
                for values in made:
                    exec(statement.text, scope, values)
        except Exception:
            return
        for name in statement.makes:  # torch.export takes it that a size which varies is never 1: squeeze() does not
            if len({values[name].dim() for values in made if isinstance(values[name], torch.Tensor)}) != 1:
                return
        if all(_is_fine(values[name], self.special) for values in made for name in statement.makes):
            self.statements.append(statement)
            self.values = made
            self.number += 2

    def _statement(self, row: Row) -> Statement:
        draws = self.random
        holes = Holes(draws, self.values[0], self.number)
        text = holes.fill(row.text if "{out}" in row.text else "{out} = " + row.text)
        init = list(holes.init)
        module = ""
        if row.module:
            module = f"self.m{self.number}"
            init.insert(0, f"{module} = {holes.fill(row.module)}")
            if draws.random() < 0.3:
                init.append(draws.choice(WEIGHTS).format(mod=module))
        makes = tuple(name for name in (f"v{self.number}", f"v{self.number + 1}") if re.search(rf"\b{name}\b", text))
        single = ";" not in text
        body = draws.choice(BODIES) if single and draws.random() < 0.04 else ""
        return Statement(text, makes, tuple(init), body, module)

    def _in_a_picture(self, text: str) -> str:
        """The expression, mostly, as unsigned integers of 8 bits, if it is real."""
        value = self.values[0].get(text)
        if value is None or not value.is_floating_point() or self.random.random() < 0.25:
            return text
        scale = self.random.choice((0.01, 0.04, 0.2))
        return f"torch.ops.quantized_decomposed.quantize_per_tensor.default({text}, {scale}, 128, 0, 255, torch.uint8)"

    def _outputs(self, inputs: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
        draws = self.random
        values = self.values[0]
        read = {name for statement in self.statements for name in statement.reads()}
        made = [name for statement in self.statements for name in statement.makes]
        leaves = [name for name in made if name not in read][-4:] or made[-1:] or [inputs[0][0]]
        extra: list[Callable[[], str]] = [
            lambda: draws.choice(made or leaves),
            lambda: draws.choice(inputs)[0],
            lambda: draws.choice(leaves),  # twice
            lambda: f"{draws.choice(leaves)}.{draws.choice(('transpose(0, -1)', 'flatten()', 'unsqueeze(0)'))}",
            lambda: f"{draws.choice(made or leaves)}[:1]",
        ]
        outputs = list(leaves)
        for make in extra:
            if draws.random() < 0.12:
                outputs.append(make())
        if "quantized_decomposed" in self.picture:
            outputs = [self._in_a_picture(text) for text in outputs]
        return tuple(text for text in outputs if all(name in values for name in NAME.findall(text)))


def _is_fine(value: Any, special: bool) -> bool:
    if not isinstance(value, torch.Tensor) or not 0 < value.numel() <= _MAX_ELEMENTS or value.dim() > 6:
        return False
    if not value.is_floating_point() or special:
        return not value.is_complex()
    return bool(torch.isfinite(value).all() and value.abs().max() < 3e3)


@contextmanager
def _plain_control_flow() -> Iterator[None]:
    """PyTorch's operators of control flow as Python's own: eagerly some would compile what they are given."""

    def cond(condition: Any, yes: Any, no: Any, operands: Any) -> Any:
        return yes(*operands) if condition else no(*operands)

    def while_loop(condition: Any, body: Any, carried: Any) -> Any:
        while condition(*carried):
            carried = body(*carried)
        return carried

    def scan(body: Any, carried: Any, rows: Any) -> Any:
        results = []
        for row in rows:
            carried, result = body(carried, row)
            results.append(result)
        return carried, torch.stack(results)

    def over_rows(body: Any, rows: Any) -> Any:
        return torch.stack([body(row) for row in rows])

    higher = torch._higher_order_ops
    with (
        mock.patch.object(torch, "cond", cond),
        mock.patch.object(torch, "while_loop", while_loop, create=True),
        mock.patch.object(higher, "scan", scan),
        mock.patch.object(higher, "map", over_rows),
    ):
        yield
