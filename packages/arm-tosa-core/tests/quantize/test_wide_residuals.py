"""Sums of residual streams and of embeddings, and what norms make of them, in 16 bits."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from quantizer_kit import INT8, assert_matches, data, kinds, named, quantized
from torch import nn
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import move_exported_model_to_eval
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_qat_pt2e

from arm_tosa_core import TosaCompileSpec, TOSAQuantizer, get_symmetric_quantization_config
from arm_tosa_core.lowering.exported_program import is_dequantize, is_quantize
from arm_tosa_core.quantize.annotate.wide_results import Wide
from arm_tosa_core.support.errors import UsageError

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations


def sums(model: GraphModule) -> list[Node]:
    """Those of two results; not the bias of a norm."""
    found = [n for n in named(model, "add") if all(isinstance(a, Node) and is_dequantize(a) for a in n.args)]
    return [n for n in found if all(a.args[0].op == "call_function" for a in n.all_input_nodes)]


class Stream(nn.Module):
    """Two blocks on a residual stream, norms first."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(8) for _ in range(3)])
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(2)])
        self.head = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for norm, layer in zip(self.norms, self.layers, strict=False):
            x = x + layer(norm(x))
        return self.head(self.norms[2](x))


@pytest.mark.parametrize("wide", ["none", "streams", "residuals", "all"])
def test_residual_streams_have_16_bits(wide: Wide) -> None:
    torch.manual_seed(0)
    inputs = data((1, 6, 8))
    spec = TosaCompileSpec("TOSA-1.0+INT")  # 16 bits between additions need no extension
    by = TOSAQuantizer(spec, wide=wide).set_global(INT8)
    model = quantized(Stream(), inputs, by)
    found = {u.args[5] for n in sums(model) for u in n.users if is_quantize(u)}
    assert found == ({torch.int8} if wide == "none" else {torch.int16})
    assert kinds(model, "linear")[:2] == ([torch.int8] * 2 if wide == "none" else [torch.int16] * 2)
    assert kinds(model, "linear")[2] == torch.int8
    assert all(n.args[0].args[0].args[5] == torch.int8 for n in named(model, "linear"))
    assert_matches(model, inputs, spec)


class Begun(Stream):
    """A stream that begins with the sum of a result and a constant, as behind an embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.position = nn.Parameter(torch.randn(6, 8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(self.layers[0](x) + self.position)


@pytest.mark.parametrize("wide", ["none", "streams", "residuals"])
def test_norms_of_a_stream_center_in_16_bits(wide: Wide) -> None:
    torch.manual_seed(0)
    inputs = data((1, 6, 8))
    spec = TosaCompileSpec("TOSA-1.0+INT")
    model = quantized(Begun(), inputs, TOSAQuantizer(spec, wide=wide).set_global(INT8))
    bits = torch.int8 if wide == "none" else torch.int16
    assert kinds(model, "sub") == [bits] * 3
    assert kinds(model, "add")[0] == bits  # of the position
    assert all(n.args[0].args[0].args[5] == torch.int8 for n in named(model, "linear"))
    assert_matches(model, inputs, spec)


class Words(nn.Module):
    """Embeddings of words, types and positions, summed and normalized at once, as BERT begins."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.types, self.positions = nn.Embedding(20, 8), nn.Embedding(2, 8), nn.Embedding(6, 8)
        self.norm, self.layer = nn.LayerNorm(8), nn.Linear(8, 8)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        positions = self.positions(torch.arange(6))
        return self.layer(self.norm(self.words(ids) + self.types(torch.zeros_like(ids)) + positions))


@pytest.mark.parametrize(("wide", "bits"), [("none", torch.int8), ("streams", torch.int16), ("residuals", torch.int16)])
def test_sums_of_embeddings_have_16_bits(wide: Wide, bits: torch.dtype) -> None:
    torch.manual_seed(0)
    inputs = [torch.randint(20, (1, 6))]
    spec = TosaCompileSpec("TOSA-1.0+INT")
    model = quantized(Words(), inputs, TOSAQuantizer(spec, wide=wide).set_global(INT8))
    assert kinds(model, "add")[:2] == [bits] * 2
    assert kinds(model, "sub") == [bits]
    assert all(n.args[0].args[0].args[5] == torch.int8 for n in named(model, "linear"))
    assert_matches(model, inputs, spec)


class Single(nn.Module):
    """A sum that is normalized at once: no other sum reads it."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.layer = nn.LayerNorm(8), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(self.norm(x + self.layer(x)))


@pytest.mark.parametrize(("wide", "bits"), [("streams", torch.int8), ("residuals", torch.int16)])
def test_a_single_sum_is_no_stream(wide: Wide, bits: torch.dtype) -> None:
    by = TOSAQuantizer(TosaCompileSpec("TOSA-1.0+INT"), wide=wide).set_global(INT8)
    assert kinds(quantized(Single(), data((1, 6, 8)), by), "add")[0] == bits


class Post(nn.Module):
    """Norms after the sums: what one gives goes on to a layer and to the next sum."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(8) for _ in range(3)])
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])
        for norm in self.norms:
            nn.init.normal_(norm.weight)
            nn.init.normal_(norm.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for norm, layer in zip(self.norms, self.layers, strict=True):
            x = norm(x + layer(x))
        return x


@pytest.mark.parametrize("wide", ["streams", "residuals"])
def test_what_a_norm_gives_has_16_bits_for_a_sum_and_8_for_a_layer(wide: Wide) -> None:
    torch.manual_seed(0)
    inputs = data((1, 6, 8))
    spec = TosaCompileSpec("TOSA-1.0+INT")
    model = quantized(Post(), inputs, TOSAQuantizer(spec, wide=wide).set_global(INT8))
    layers = named(model, "linear")
    assert all(n.args[0].args[0].args[5] == torch.int8 for n in layers)
    bits = torch.int8 if wide == "streams" else torch.int16
    assert len(sums(model)) == 3
    assert all(a.args[5] == bits for n in sums(model)[1:] for a in n.all_input_nodes)
    if wide == "residuals":
        (read,) = {n.args[0].args[0].args[0] for n in layers[1:2]}
        assert is_dequantize(read) and read.args[5] == torch.int16  # 8 bits of the 16
    assert_matches(model, inputs, spec)


class Pooled(nn.Module):
    """A sum of images whose mean a classifier reads, as ConvNeXt ends."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.classifier = nn.Conv2d(3, 3, 1), nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classifier((self.layer(x) + x).mean((-2, -1)))


def test_the_mean_of_an_image_of_16_bits_needs_no_extension() -> None:
    torch.manual_seed(0)
    inputs = data((1, 3, 6, 5))
    for spec in (TosaCompileSpec("TOSA-1.0+INT"), TosaCompileSpec("TOSA-1.0+INT+int16")):
        model = quantized(Pooled(), inputs, TOSAQuantizer(spec).set_global(INT8))
        assert kinds(model, "add") == [torch.int16]
        program = assert_matches(model, inputs, spec)
        assert sum("executorch_call_delegate" in str(n.target) for n in program.graph.nodes) == 1


class RootMeanSquare(nn.Module):
    """A norm as language models have it: in float32 whatever they compute in."""

    def __init__(self, square: str) -> None:
        super().__init__()
        self.square = square

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.to(torch.float32)
        squares = {"pow": lambda: wide.pow(2), "square": wide.square, "mul": lambda: wide * wide}[self.square]()
        return (wide * torch.rsqrt(squares.mean(-1, keepdim=True) + 1e-6)).type_as(x)


@pytest.mark.parametrize("square", ["pow", "square", "mul"])
def test_a_norm_in_float32_reads_16_bits_of_a_stream(square: str) -> None:
    """Neither a cast to the type that a tensor has, nor the check in front of it, nor the square is in the way."""

    class Blocks(Stream):
        def __init__(self) -> None:
            super().__init__()
            self.norms = nn.ModuleList([RootMeanSquare(square) for _ in range(3)])

    torch.manual_seed(0)
    inputs = data((1, 6, 8))
    spec = TosaCompileSpec("TOSA-1.0+INT")
    model = quantized(Blocks(), inputs, TOSAQuantizer(spec).set_global(INT8))
    assert not named(model, "to") and not named(model, "type_as") and not named(model, "_assert_tensor_metadata")
    assert {u.args[5] for n in sums(model) for u in n.users} == {torch.int16}
    squares = [n for n in named(model, "mul") if n.args[0] is n.args[1]]
    assert len(squares) == 3 and all(n.args[0].args[5] == torch.int16 for n in squares[1:])
    assert_matches(model, inputs, spec)


def test_a_copy_stays() -> None:
    model = quantized(lambda x: (x.to(torch.float32, copy=True), x.to(torch.int32)), data((2, 3)))
    assert len(named(model, "to")) + len(named(model, "_to_copy")) == 2


def test_a_memory_format_stays() -> None:
    """The view behind it only fits that one."""

    def rows(x: torch.Tensor) -> torch.Tensor:
        return (x + 1).to(memory_format=torch.channels_last).permute(0, 2, 3, 1).view(-1, 3) * 2

    inputs = data((1, 3, 4, 5))
    assert_matches(quantized(rows, inputs), inputs)


def test_what_is_wide_is_one_of_four() -> None:
    wide: Any = "some"
    with pytest.raises(UsageError, match="wide is one of none, streams, residuals, all, not 'some'"):
        TOSAQuantizer(TosaCompileSpec("TOSA-1.0+INT"), wide=wide)


def test_norms_after_sums_are_trained() -> None:
    """Both widths of what a norm gives have fake quantization of their own."""
    torch.manual_seed(0)
    inputs, spec = data((1, 6, 8)), TosaCompileSpec("TOSA-1.0+INT")
    by = TOSAQuantizer(spec).set_global(get_symmetric_quantization_config(is_qat=True))
    prepared = prepare_qat_pt2e(torch.export.export(Post().train(), tuple(inputs)).module(), by)
    for _ in range(4):
        prepared(*inputs).square().mean().backward()
    model = move_exported_model_to_eval(convert_pt2e(prepared))
    assert all(a.args[5] == torch.int16 for n in sums(model)[1:] for a in n.all_input_nodes)
    assert all(n.args[0].args[0].args[5] == torch.int8 for n in named(model, "linear"))
    assert_matches(model, inputs, spec)
