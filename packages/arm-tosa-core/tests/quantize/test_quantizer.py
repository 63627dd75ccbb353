"""The quantizer: which tensors get which integers, and that the programs it makes compute what eager PyTorch does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from executorch.exir import to_edge_transform_and_lower
from quantizer_kit import (
    IMAGE,
    INT8,
    INT16,
    MIXED,
    PER_TENSOR,
    SPEC,
    Branches,
    assert_matches,
    constants,
    data,
    execute,
    lower,
    named,
    parameters,
    quantize_nodes,
    quantized,
    quantizer,
)
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e

from arm_tosa_core import (
    QuantizationConfig,
    TosaCompileSpec,
    TOSAPartitioner,
    TOSAQuantizer,
    get_symmetric_a16w8_quantization_config,
    get_symmetric_quantization_config,
    quantize_program,
)
from arm_tosa_core.lowering.exported_program import is_dequantize, is_quantize
from arm_tosa_core.lowering.operator_names import canonical
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.testing.case import Apply

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations


# -- what is quantized, and how ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "dtype", "zero_points", "channels"),
    [(INT8, torch.int8, True, True), (PER_TENSOR, torch.int8, True, False), (INT16, torch.int16, False, True)],
    ids=["int8", "int8 per tensor", "int16"],
)
def test_scheme(config: QuantizationConfig, dtype: torch.dtype, zero_points: bool, channels: bool) -> None:
    model = quantized(Branches(), data(IMAGE), quantizer(config=config))
    activations = quantize_nodes(model)
    assert len(activations) == 4  # input, two convolutions with all that follows them, cat
    assert {n.args[5] for n in activations} == {dtype}
    assert any(n.args[2] for n in activations) == zero_points
    assert all(("per_channel" in str(n.target)) == channels for n in constants(model))
    weights, biases = constants(model, torch.int8), constants(model, torch.int32)
    assert len(weights) == len(biases) == 2
    for n in weights:
        integers = model.get_buffer(str(n.args[0].target))
        assert integers.dtype == torch.int8
        assert integers.abs().max() == 127


def test_weight_range() -> None:
    narrow = get_symmetric_a16w8_quantization_config(weight_qmin=-7, weight_qmax=7)
    model = quantized(nn.Linear(8, 4), data((2, 8)), quantizer(config=narrow))
    (weight,) = constants(model, torch.int8)
    assert model.get_buffer(str(weight.args[0].target)).abs().max() == 7


@pytest.mark.parametrize(
    ("exclude", "left"),
    [
        (lambda q: q.set_module_name("second", None), 1),
        (lambda q: q.set_module_name("second.0", None), 1),
        (lambda q: q.set_module_type(nn.Conv2d, None), 0),
        (lambda q: q.set_global(None).set_module_name("first", INT8), 1),
        (lambda q: q.set_global(None).set_module_name("second", INT8).set_module_name("second.0", None), 0),
        (lambda q: q.set_module_type(nn.Conv2d, None).set_module_name("first.0", INT16), 1),
        (lambda q: q.set_node_target(torch.ops.aten.conv2d.default, None), 0),
        (lambda q: q.set_node_name("conv2d_1", None), 1),
        (lambda q: q.set_module_name("first", None).set_node_finder(INT8, lambda n: n.name == "conv2d"), 2),
    ],
    ids=[
        "name",
        "inner name",
        "type",
        "only one",
        "the longest name wins",
        "name before type",
        "operator",
        "node",
        "finder first",
    ],
)
def test_exclusion(exclude: Callable[[TOSAQuantizer], Any], left: int) -> None:
    by = quantizer(MIXED)
    exclude(by)
    model = quantized(Branches(), data(IMAGE), by)
    operands = [n.all_input_nodes[:2] for n in named(model, "conv2d")]
    assert sum(all(map(is_dequantize, pair)) for pair in operands) == left
    assert_matches(model, data(IMAGE), MIXED)


def test_mixed_widths() -> None:
    by = quantizer(MIXED).set_module_name("second", INT16)
    model = quantized(Branches(), data(IMAGE), by)
    assert {n.args[5] for n in quantize_nodes(model)} == {torch.int8, torch.int16}
    assert_matches(model, data(IMAGE), MIXED)


def test_an_excluded_clamp_is_not_absorbed() -> None:
    model = quantized(Branches(), data(IMAGE), quantizer().set_module_type(nn.ReLU, None))
    (relu,) = named(model, "relu")
    assert is_dequantize(relu.all_input_nodes[0])


@pytest.mark.parametrize(
    ("function", "shapes", "observed"),
    [
        (lambda x, y: torch.relu(x + y), [(2, 3), (2, 3)], 3),
        (lambda x, y: torch.clamp(x @ y, -1, 1), [(2, 3), (3, 2)], 3),
        (lambda x: nn.functional.relu6(x.mean(1) * 0.5), [(2, 3)], 2),
        (lambda x, y: torch.relu(x + y) * -2.0, [(2, 3), (2, 3)], 4),  # a negative factor is no change of scale
        (lambda x, y: (torch.relu(x + y), x + y), [(2, 3), (2, 3)], 4),
    ],
    ids=["add, relu", "matmul, clamp", "mean, scale, relu6", "negative", "two sums"],
)
def test_absorbed_clamps_have_one_observer(function: Any, shapes: Any, observed: int) -> None:
    assert len(quantize_nodes(quantized(function, data(*shapes)))) == observed


def test_steps_of_the_protocol() -> None:
    """``transform_for_annotation`` decomposes, ``annotate`` only annotates, ``validate`` looks at devices."""
    by = quantizer()
    module = torch.export.export(Apply(lambda x: torch.softmax(x, -1)), tuple(data((2, 5)))).module()
    module = by.transform_for_annotation(module)
    names = [canonical(n.target) for n in module.graph.nodes if n.op == "call_function"]
    assert "aten.softmax.int" not in names
    assert names.count("aten.exp.default") == 1
    before = len(module.graph.nodes)
    assert by.annotate(module) is module
    assert len(module.graph.nodes) == before
    assert all("quantization_annotation" in n.meta for n in module.graph.nodes if n.op == "call_function")
    by.validate(module)
    module.register_buffer("elsewhere", torch.zeros(1, device="meta"))
    with pytest.raises(UsageError, match="elsewhere is on device meta"):
        by.validate(module)


def test_the_difference_in_log_softmax_is_read_once() -> None:
    """By ``exp``, which then costs an Ethos-U no operation of its own; its range ends where ``exp`` is nothing."""
    model = quantized(lambda x: torch.log_softmax(x, -1), [100 * x for x in data((2, 5))])
    (shifted,) = named(model, "clamp")
    (quantize,) = shifted.users
    (dequantize,) = quantize.users
    assert [canonical(user.target) for user in dequantize.users] == ["aten.exp.default"]
    assert float(quantize.args[1]) * 255 < 12.5  # type: ignore[arg-type]


def test_composites_without_a_rule_are_decomposed() -> None:
    model = quantized(lambda x, y: torch.einsum("bij,bkj->bik", x, y), data((2, 3, 4), (2, 5, 4)))
    assert named(model, "einsum") == []
    assert all(is_quantize(u) for n in named(model, "bmm") for u in n.users)


def test_composites_of_constants_with_several_results() -> None:
    """A weight norm is computed once, by an operator that also returns the norms."""
    model = nn.utils.parametrizations.weight_norm(nn.Conv1d(4, 4, 3))
    assert named(quantized(model.eval(), data((1, 4, 8))), "weight_norm") == []


def test_constants_made_of_weights_are_not_trained() -> None:
    """What is computed from a tensor that wants a gradient cannot be copied, as ExecuTorch does with every program."""
    module = torch.export.export(nn.LSTM(4, 3), (data((5, 1, 4))[0],)).module()
    quantizer = TOSAQuantizer(TosaCompileSpec("TOSA-1.0+INT")).set_global(get_symmetric_quantization_config())
    buffers = list(quantizer.transform_for_annotation(module).buffers())
    assert buffers and not any(buffer.requires_grad for buffer in buffers)


class _Multiplied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.matrix = nn.Parameter(data((4, 6))[0])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.matrix


@pytest.mark.parametrize(("model", "layers"), [(_Multiplied(), 1), (nn.LSTM(4, 3), 1 + 4), (nn.RNN(4, 3), 1 + 4)])
def test_products_with_constant_matrices_are_layers(model: nn.Module, layers: int) -> None:
    """Their weights have a scale per channel; all steps of a recurrent layer share them, but the first, of zeros."""
    made = quantized(model.eval(), data((5, 1, 4)))
    assert len(named(made, "linear")) == layers
    assert not named(made, "matmul") and not named(made, "mm")
    weights = {t.data_ptr() for t in made.state_dict().values() if t.dtype is torch.int8 and t.dim() == 2}
    assert len(weights) == min(layers, 2)


def test_a_recurrent_layer_learns_with_any_batch() -> None:
    module = nn.LSTM(4, 3, batch_first=True).train()
    batch = {0: torch.export.Dim("batch")}
    program = torch.export.export(module, (data((2, 5, 4))[0],), dynamic_shapes=(batch,))
    config = get_symmetric_quantization_config(is_qat=True)
    prepared = prepare_qat_pt2e(program.module(), TOSAQuantizer(TosaCompileSpec("TOSA-1.0+INT")).set_global(config))
    prepared(*data((7, 5, 4)))[0].sum().backward()
    trained = [name for name, p in prepared.named_parameters() if p.grad is not None and bool(p.grad.any())]
    assert len(trained) == 4


def test_quantized_programs_keep_no_float_weights() -> None:
    class Shared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 3, 1, bias=False))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner(self.inner(x))

    state = quantized(Shared().eval(), data(IMAGE)).state_dict()
    assert {tensor.dtype for tensor in state.values() if tensor.dim() > 1} == {torch.int8}


def test_guards_are_accepted() -> None:
    module = torch.export.export(Branches(), tuple(data(IMAGE))).module()
    assert any(n.op == "call_module" for n in module.graph.nodes), "this version of PyTorch makes no guards"
    prepare_pt2e(module, quantizer())(*data(IMAGE))


# -- shared scales ----------------------------------------------------------------------------------


def chained(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.max_pool2d(torch.cat([torch.sigmoid(x).view(1, 2, 4, 6), torch.tanh(y) * 4], 1), 2)


def two_cats(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    x, y, z = torch.sigmoid(x), torch.tanh(y), torch.tanh(z) * 5
    return torch.cat([x, y]), torch.cat([y, z])


def parts(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    x = torch.tanh(x).split(2, 1)
    return x[0].exp(), x[1].exp()


def shifted(x: torch.Tensor) -> torch.Tensor:
    """An input beside a part of itself, which comes first."""
    return torch.cat([nn.functional.pad(x[..., 1:], (0, 1)), x], 1)


def crossed(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.cat([x[..., 1:], y], -1), torch.cat([y[..., 1:], x], -1)


class Token(nn.Module):
    """A constant in front of what is computed."""

    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Parameter(torch.full((1, 1, 3), 4.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([self.token, torch.tanh(x)], 1)


@pytest.mark.parametrize(
    ("model", "shapes", "sharing"),
    [
        (chained, [(1, 48), (1, 3, 4, 6)], ["sigmoid", "view", "mul", "cat", "max_pool2d"]),
        (two_cats, [(2, 3), (2, 3), (1, 3)], ["sigmoid", "tanh", "mul", "cat"]),
        (parts, [(2, 4)], ["tanh", "getitem"]),
        (shifted, [(2, 3, 4)], ["slice", "pad", "cat"]),
        (crossed, [(2, 3), (2, 3)], ["slice", "cat"]),
        (Token(), [(1, 2, 3)], ["tanh", "cat"]),
        (lambda x, y: torch.cat([x, torch.tanh(y) * 9]), [(2, 3), (2, 3)], ["mul", "cat"]),
        (lambda x: torch.flatten(torch.relu(x), 1).unsqueeze(0), [(2, 3, 2)], ["flatten", "unsqueeze"]),
    ],
    ids=["chain", "two cats", "split", "beside its part", "in a circle", "constant", "placeholder", "views"],
)
def test_shared(model: Any, shapes: Any, sharing: list[str]) -> None:
    inputs = data(*shapes)
    made = quantized(model, inputs)
    found: dict[str, list[tuple[float, int]]] = {}
    for node in made.graph.nodes:
        if node.op == "call_function" and any(is_quantize(u) for u in node.users):
            name = "getitem" if "getitem" in node.name else canonical(node.target).split(".")[1]
            found.setdefault(name, []).append(parameters(node))
    shared = {p for name in sharing for p in found[name]}
    if model is two_cats:  # tanh(z) is multiplied, not concatenated
        shared.discard(parameters(named(made, "tanh")[1]))
    assert len(shared) == 1, found
    assert_matches(made, inputs)


def test_shared_range_holds_every_branch() -> None:
    model = quantized(chained, data((1, 48), (1, 3, 4, 6)))
    (product,) = named(model, "mul")
    assert 7.0 < parameters(product)[0] * 255 < 12  # from -4 to 4 and a margin, though the view before it ends at 1


# -- through ExecuTorch -----------------------------------------------------------------------------


@pytest.mark.parametrize("config", [INT8, PER_TENSOR, INT16], ids=["int8", "int8 per tensor", "int16"])
@pytest.mark.parametrize("io", [False, True], ids=["float in and out", "set_io"])
def test_whole_flow(config: QuantizationConfig, io: bool) -> None:
    by = quantizer(config=config)
    if io:
        by.set_io(config)
    program = assert_matches(quantized(Branches(), data(IMAGE), by), data(IMAGE))
    outside = [canonical(n.target) for n in program.graph.nodes if n.op == "call_function" and "getitem" not in n.name]
    assert sorted(outside) == [
        "executorch_call_delegate",
        "quantized_decomposed.dequantize_per_tensor.default",
        "quantized_decomposed.quantize_per_tensor.default",
    ]


def test_integers_in_and_out() -> None:
    """Without the quantize and dequantize nodes at its ends, a program takes and gives integers."""
    from executorch.exir.passes.quantize_io_pass import QuantizeInputs, QuantizeOutputs

    model = quantized(Branches(), data(IMAGE), quantizer().set_io(INT8))
    program = torch.export.export(model, tuple(data(IMAGE)))
    edge = to_edge_transform_and_lower(program, partitioner=[TOSAPartitioner(SPEC)])
    first, last = quantize_nodes(model)[0], quantize_nodes(model)[-1]
    edge = edge.transform([QuantizeInputs(edge, [0]), QuantizeOutputs(edge, [0])])
    calls = [n for n in edge.exported_program().graph.nodes if n.op == "call_function" and "getitem" not in n.name]
    assert [str(n.target) for n in calls] == ["executorch_call_delegate"]
    (x,) = data(IMAGE)
    integers = torch.ops.quantized_decomposed.quantize_per_tensor(x, *first.args[1:])
    (ours,) = execute(edge.exported_program(), [integers])
    wanted = torch.ops.quantized_decomposed.quantize_per_tensor(model(x), *last.args[1:])
    assert ours.dtype == torch.int8
    assert (ours.int() - wanted.int()).abs().max() <= 1


def test_scales_at_run_time_in_one_call() -> None:
    x = torch.randn(2, 3)
    by = quantizer(MIXED, get_symmetric_quantization_config(is_dynamic=True))
    made = quantize_program(torch.export.export(nn.Linear(3, 4), (x,)), by, [((x,), {})])
    assert "choose_qparams" in str(made.converted.graph)
    (ours,) = execute(lower(made.converted, [x], MIXED), [x])
    torch.testing.assert_close(ours, made.converted(x), rtol=1e-3, atol=1e-4)


def _convolution() -> tuple[nn.Module, ...]:
    return nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)


@pytest.mark.usefixtures("qat_patterns")
@pytest.mark.parametrize(
    ("first", "per_channel"),
    [
        (_convolution, True),
        (_convolution, False),
        (lambda: (nn.ConvTranspose2d(3, 4, 3, padding=2), nn.BatchNorm2d(4)), True),
        (lambda: (nn.ConvTranspose2d(3, 4, 3, padding=2),), False),
        (lambda: (nn.BatchNorm2d(3), nn.ReLU(), nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)), True),
        (lambda: (nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(24, 24), nn.BatchNorm1d(24)), True),
    ],
    ids=["convolution", "per tensor", "transposed", "transposed without norm", "norm before", "norm of a linear"],
)
def test_training(first: Callable[[], tuple[nn.Module, ...]], per_channel: bool) -> None:
    model = nn.Sequential(*first(), nn.ReLU(), nn.Flatten(), nn.Linear(24, 2)).train()
    x = torch.randn(4, 3, 4, 5)
    by = quantizer(config=get_symmetric_quantization_config(is_qat=True, is_per_channel=per_channel))
    prepared = prepare_qat_pt2e(torch.export.export(model, (x,)).module(), by)
    optimizer = torch.optim.SGD(prepared.parameters(), 0.1)
    losses = []
    for _ in range(4):
        loss = prepared(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    assert losses[-1] < losses[0]
    from torchao.quantization.pt2e import move_exported_model_to_eval

    assert_matches(convert_pt2e(move_exported_model_to_eval(prepared)), [x])
