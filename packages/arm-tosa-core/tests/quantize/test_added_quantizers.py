"""Another PT2E quantizer beside ours: what it annotates is its own."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from quantizer_kit import IMAGE, INT8, INT16, Branches, data, quantizer
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import Quantizer

from arm_tosa_core import QuantizationConfig
from arm_tosa_core.compat.torchao import ANNOTATION, annotation, is_annotated
from arm_tosa_core.lowering.exported_program import is_quantize
from arm_tosa_core.quantize.quantizer import TOSAQuantizer
from arm_tosa_core.support.errors import UsageError

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations

CONVOLUTIONS = ("conv2d", "conv2d_1")


class ByName(Quantizer):  # type: ignore[misc]  # torchao is untyped
    """Annotates the convolution of a name, unless another quantizer has."""

    def __init__(self, name: str, config: QuantizationConfig = INT8) -> None:
        self.name, self.config = name, config

    def annotate(self, model: GraphModule) -> GraphModule:
        (conv,) = (node for node in model.graph.nodes if node.name == self.name)
        if not is_annotated(conv):
            x, weight, *_ = conv.all_input_nodes
            specs: dict[Node, Any] = {x: self.config.input_activation, weight: self.config.weight}
            conv.meta[ANNOTATION] = annotation(specs, self.config.output_activation)
        return model

    def validate(self, model: GraphModule) -> None:
        pass


def _dtypes(made: TOSAQuantizer) -> list[torch.dtype]:
    """The integers of each convolution's result, or of its ReLU's."""
    exported = torch.export.export(Branches().eval(), tuple(data(IMAGE))).module()
    prepared = prepare_pt2e(exported, made)
    prepared(*data(IMAGE))
    nodes = {node.name: node for node in convert_pt2e(prepared).graph.nodes}
    return [_quantized(nodes[name]) for name in CONVOLUTIONS]


def _quantized(node: Node) -> torch.dtype:
    while not is_quantize(node):
        node = next(iter(node.users))
    dtype = node.args[-1]
    assert isinstance(dtype, torch.dtype)
    return dtype


def test_the_other_quantizer_comes_first_and_ours_takes_the_rest() -> None:
    assert _dtypes(quantizer(config=INT16)) == [torch.int16, torch.int16]
    assert _dtypes(quantizer(config=INT16).add_quantizer(ByName("conv2d"))) == [torch.int8, torch.int16]
    assert _dtypes(quantizer(config=INT16).add_quantizer(ByName("conv2d_1"))) == [torch.int16, torch.int8]


def test_the_last_one_added_comes_first() -> None:
    made = quantizer(config=INT16).add_quantizer(ByName("conv2d", INT16)).add_quantizer(ByName("conv2d"))
    assert _dtypes(made) == [torch.int8, torch.int16]


@pytest.mark.parametrize(
    ("other", "reason"), [("xnnpack", "Quantizer, not str"), (quantizer(), "no second TOSAQuantizer.*set_module_name")]
)
def test_what_cannot_be_added(other: Any, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        quantizer().add_quantizer(other)
