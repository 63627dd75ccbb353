"""What a random program is made of: one row for each kind of statement.

A row is Python text with holes, which ``holes.py`` fills. Text without ``{out}`` is an expression, whose result gets a
name. A row may name a module, which becomes the attribute ``{mod}``. Whoever draws runs a statement before it is taken,
so that rows say nothing of when they apply: what PyTorch refuses is drawn again.

Holes: ``{x}``, ``{y}``, ``{same}``: float tensors, the first of any shape (``{x34}``: of rank 3 or 4), the third of
the first one's; ``{n}``, ``{m}``: integers, booleans; ``{d}``: an axis of the first; ``{B}``, ``{C}``, ``{L}``: its
size along the first, the second and the last axis; ``{a|b}``: one of these; ``{c}``: a number; ``{param(4, L)}``,
``{buffer(L)}``: of this shape; ``{counter}``: a buffer of one integer.
"""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """A kind of statement.

    Args:
        text: an expression, or statements that assign ``{out}`` (and ``{out2}``).
        module: the expression that makes ``{mod}``.
        weight: how often it is drawn, beside the others.
    """

    text: str
    module: str = ""
    weight: float = 1.0


_FUNCTIONS = (
    *(
        "relu",
        "gelu",
        "silu",
        "hardswish",
        "leaky_relu",
        "elu",
        "softplus",
        "mish",
        "hardsigmoid",
        "relu6",
        "hardshrink",
    ),
    *("logsigmoid", "tanhshrink", "softsign", "selu"),
)
_METHODS = (
    *("abs", "neg", "sigmoid", "tanh", "floor", "round", "sign", "square", "sin", "cos", "contiguous", "clone", "erf"),
    *("reciprocal", "ceil", "trunc", "exp", "expm1", "atan"),
)
_REDUCTIONS = (
    "sum",
    "mean",
    "amax",
    "amin",
    "argmax",
    "prod",
    "std",
    "var",
    "logsumexp",
    "cumsum",
    "softmax",
    "argsort",
)

FUNCTIONS = tuple(Row(f"F.{name}({{x}})", weight=0.4) for name in _FUNCTIONS) + tuple(
    Row(f"{{x}}.{name}()", weight=0.4) for name in _METHODS
)

ARITHMETIC = (
    *(Row(f"{{x}} {sign} {{y}}", weight=2) for sign in ("+", "-", "*")),
    Row("{x} / ({y}.abs() + 0.5)"),
    Row("torch.maximum({x}, {y})"),
    Row("torch.minimum({x}, {same})"),
    Row("{x} * {c} + {c}"),
    Row("{c} - {x}"),
    Row("{x} + 0 * {same}", weight=0.3),
    Row("{x} - {x}", weight=0.3),
    Row("torch.lerp({x}, {same}, {0.0|0.3|1.0})", weight=0.5),
    Row("{x}.clamp({-1.0|-0.5}, {0.0|0.7})"),
    Row("{x}.clamp(min={c})"),
    Row("({x}.abs() + {0.1|1e-3}).{log|sqrt|rsqrt}()"),
    Row("{x} % {3|0.7}", weight=0.5),
    Row("torch.pow({x}.abs(), {2|0.5|3})", weight=0.5),
    Row("torch.atan2({x}, {same})", weight=0.2),
    Row("torch.where({x} > {c}, {x}, {y})"),
    Row("torch.where({m}, {x}, {c})", weight=0.7),
    Row("{x}.masked_fill({x} > {c}, {c})"),
    Row("F.threshold({x}, {c}, {c})", weight=0.3),
    Row("F.dropout({x}, 0.5, False)", weight=0.2),
    Row("{out} = {x}.clone(); {out}.add_({c}).mul_({2|0.5})", weight=0.5),
    Row("{out} = {x}.clone(); {out}[..., {0|-1}] = {c}", weight=0.7),
    Row("{out} = {x}.clone(); {out}[{0|-1}] = {out}[0] * 2", weight=0.5),
    Row("{out} = torch.zeros({x}.shape); {out}[{0|-1}] = {x}[0]; {out}.add_({same})", weight=0.5),
    Row("{out} = torch.{zeros|ones}_like({x}).add_({same})", weight=0.5),
    Row("{out} = torch.zeros({x}.shape).masked_fill_({x} > {c}, {c}); {out} = {out} + {same}", weight=0.5),
    Row("{out} = {x}.new_ones({x}.shape); {out}[{x} > {c}] = {c}; {out} = {out} * {same}", weight=0.5),
    Row("{out} = {x}.new_zeros({x}.shape[-1]); {out}[{1:|:1|-1}] = {c}; {out}.add_({x}.flatten(0, -2).sum(0))"),
)

REDUCTIONS = (
    *(Row(f"{{x}}.{name}({{d}})", weight=0.5) for name in _REDUCTIONS),
    *(Row(f"{{x}}.{name}({{d}}, keepdim=True)", weight=0.5) for name in ("sum", "mean", "amax", "amin")),
    Row("{x}.mean(({d}, {d}))"),
    Row("{x}.sum()", weight=0.5),
    Row("{x}.max({d}){[0]|[1]|.values}"),
    Row("{out}, {out2} = {x}.max({d})", weight=0.7),
    Row("{out}, {out2} = {x}.min({d}, keepdim=True)", weight=0.3),
    Row("{x}.topk({1|2}, {d})[{0|1}]"),
    Row("{out}, {out2} = {x}.topk(1, {d})", weight=0.5),
    Row("{x}.sort({d})[0]", weight=0.4),
    Row("{x}.norm(dim={d})", weight=0.5),
    Row("F.normalize({x}, dim={d})", weight=0.5),
    Row("torch.cdist({x3}, {same})", weight=0.3),
    Row("{x}.any({d})", weight=0.2),
)

MOVES = (
    Row("{x}.permute({perm})", weight=4),
    Row("{x}.transpose({d}, {d})", weight=3),
    Row("{x}.transpose(-1, -2).contiguous()", weight=1.5),
    Row("{x4}.permute(0, 2, 3, 1)", weight=1.5),
    Row("{x}.reshape({shape})", weight=3),
    Row("{x}.reshape(-1, {x}.shape[-1])"),
    Row("{x}.reshape({x}.shape[0], -1)"),
    Row("{x}.flatten({0|1|2})", weight=1.5),
    Row("{x}.unflatten({d}, (-1, {2|3}))"),
    Row("{x}.unsqueeze({d})", weight=1.5),
    Row("{x}.squeeze({d})"),
    Row("{x}.squeeze()"),
    Row("{x}[:, {1:|:-1|::2|:2|-1:}]", weight=2),
    Row("{x}[{0|-1}]"),
    Row("{x}[..., {1:|:2|::3|0|-1}]", weight=2),
    Row("{x}.select({d}, {0|-1})"),
    Row("{x}.narrow({d}, 1, {1|2})"),
    Row("{x}.chunk(2, {d})[{0|-1}]", weight=1.5),
    Row("{out}, {out2} = {x}.chunk(2, {d})", weight=1.5),
    Row("{x}.split({1|2}, {d})[{0|-1}]"),
    Row("{x}.unbind({d})[{0|-1}]"),
    Row("torch.stack({x}.unbind({d}), {d})", weight=0.7),
    Row("torch.cat([{x}, {same}], {d})", weight=2),
    Row("torch.cat([{x}, {y}, {x}], {d})", weight=0.7),
    Row("torch.stack([{x}, {same}], {d})", weight=1.5),
    Row("torch.stack([{x}, {same}])[{0|1}]", weight=0.7),
    Row("{x}.expand({2|3}, *{x}.shape)"),
    Row("{x}.repeat(2, *[1] * ({x}.dim() - 1))"),
    Row("{x}.repeat_interleave(2, {d})", weight=0.5),
    Row("{x}.flip({d})"),
    Row("{x}.roll({1|-1|2}, {d})"),
    Row("F.pad({x}, ({0|1|2}, {0|1}), value={c})"),
    Row("F.pad({x4}, ({0|1}, {1|2}, 1, {0|1}))"),
    Row('F.pad({x34}, (1, 1), mode="{reflect|replicate|circular}")', weight=0.5),
    Row("{x}.index_select({d}, torch.tensor([{0|1}, 0]))"),
    Row("{x}[:, [{0|1}, 0, -1]]"),
    Row("{x}[torch.tensor([0, {0|-1}])]"),
    Row("{x}.gather({d}, {x}.argsort({d}))", weight=0.5),
    Row("{x}.gather({d}, torch.zeros_like({x}, dtype=torch.int64))", weight=0.5),
    Row("{x}.scatter({d}, {x}.argmax({d}, keepdim=True), {c})", weight=0.4),
    Row("{x}.scatter_add(0, torch.zeros_like({x}, dtype=torch.int64), {same})", weight=0.3),
    Row("{x}.index_fill({d}, torch.tensor([0]), {c})", weight=0.3),
    Row("{x}.unfold({d}, 2, {1|2})", weight=0.4),
    Row("torch.diff({x}, dim={d})", weight=0.4),
    Row("{x}.diagonal(0, {d}, {d})", weight=0.4),
    Row("{x}.tril({0|-1})", weight=0.5),
    Row("{x} * torch.ones({x}.shape[-1], {x}.shape[-1]).triu()", weight=0.3),
    Row("torch.meshgrid({x}.flatten(), {y}.flatten(), indexing='ij')[0]", weight=0.2),
    Row("{x}.movedim({d}, {d})", weight=0.7),
    Row("{x}.view_as({same})", weight=0.2),
    Row("{x}.to(memory_format=torch.channels_last)", weight=0.4),
)

LAYERS = (
    Row("{mod}({x4})", "nn.Conv2d({C}, {4|6|8}, {1|2|3}, padding={0|1}, stride={1|1|2})", 3),
    Row("{mod}({x4})", "nn.Conv2d({C}, {C}, 3, padding={0|1}, groups={C})", 1.5),
    Row("{mod}({x4})", "nn.Conv2d({C}, {C} * 2, {1|3}, padding=1, groups={1|2|3}, bias={True|False})", 1.5),
    Row("{mod}({x4})", "nn.Conv2d({C}, 4, ({1|3}, {1|2}), padding=({0|1}, 0), dilation={1|2})"),
    Row("{mod}({x4})", 'nn.Conv2d({C}, 3, 3, padding=1, padding_mode="{reflect|circular|replicate}")', 0.5),
    Row("{mod}({x3})", "nn.Conv1d({C}, {4|5}, {1|3}, padding={0|1}, stride={1|2}, groups={1|1|2})", 2),
    Row("{mod}({x4})", "nn.ConvTranspose2d({C}, {2|4}, {2|3}, stride={1|2|3}, padding={0|1}, groups={1|1|2})"),
    Row("{mod}({x3})", "nn.ConvTranspose1d({C}, 3, {2|3}, stride={1|2}, output_padding={0|1})", 0.5),
    Row("{mod}({x5})", "nn.Conv3d({C}, 3, {1|2}, padding={0|1})", 0.5),
    Row("{mod}({x4}.unsqueeze(2))", "nn.Conv3d({C}, 3, (1, {1|3}, 2), padding={0|1})", 0.5),
    Row("{mod}({x})", "nn.Linear({L}, {1|4|8}, bias={True|True|False})", 4),
    Row("{mod}({mod}({x}))", "nn.Linear({L}, {L})", 0.7),
    Row("{mod}({x4})", "nn.{MaxPool2d|AvgPool2d}({2|3}, stride={1|2}, padding={0|1})", 2),
    Row("{mod}({x4})", "nn.{MaxPool2d|AvgPool2d}(2, ceil_mode={True|False})"),
    Row("{mod}({x34})", "nn.{MaxPool1d|AvgPool1d}({2|3}, {1|2|4})"),
    Row("{mod}({x4})", "nn.{AdaptiveAvgPool2d|AdaptiveMaxPool2d}({1|2|(1, 3)})", 0.7),
    Row("{mod}({x})", "nn.LayerNorm({L})", 1.5),
    Row("{mod}({x})", "nn.RMSNorm({L})", 0.5),
    Row("{mod}({x34})", "nn.GroupNorm({1|2}, {C})", 0.7),
    Row("{mod}({x4})", "nn.BatchNorm2d({C})"),
    Row("{mod}({x3})", "nn.BatchNorm1d({C})", 0.5),
    Row("{mod}({x4})", "nn.InstanceNorm2d({C}, affine=True)", 0.5),
    Row(
        "{mod}({x4})",
        "nn.Sequential(nn.Conv2d({C}, 4, {1|3}, padding=1), nn.BatchNorm2d(4), nn.{ReLU|ReLU6|SiLU}())",
        1.5,
    ),
    Row("{mod}({x4})", "nn.Sequential(nn.ConvTranspose2d({C}, 4, 2, 2, groups={1|2}), nn.BatchNorm2d(4))", 0.5),
    Row("{mod}({x34})", "nn.PReLU()", 0.4),
    Row("{mod}({x34})", "nn.PReLU({C})", 0.4),
    Row("{mod}({x4})", "nn.PixelShuffle(2)", 0.7),
    Row("{mod}({x4})", "nn.PixelUnshuffle(2)", 0.5),
    Row("{mod}({x4})", 'nn.Upsample(scale_factor={2|3}, mode="{nearest|bilinear}")', 1.5),
    Row('F.interpolate({x4}, size={(3, 5)|(1, 1)|(7, 4)}, mode="{nearest|bilinear|bicubic}")', weight=0.7),
    Row('F.interpolate({x3}, scale_factor=2.0, mode="{nearest|linear}")', weight=0.4),
    Row("F.grid_sample({x4}, torch.zeros({B}, 2, 3, 2) + {0.0|0.3}, align_corners=False)", weight=0.3),
    Row("{mod}({x3}, {same}, {same}, need_weights=False)[0]", "nn.MultiheadAttention({L}, {1|2}, batch_first=True)", 1),
    Row("{mod}({x3}, {same}, {same})[{0|1}]", "nn.MultiheadAttention({L}, 1)", 0.7),
    Row("{mod}({x3})[0]", "nn.{GRU|LSTM|RNN}({L}, {3|4}, batch_first={True|False})", 0.7),
    Row("{out}, {out2} = {mod}({x3})", "nn.{GRU|RNN}({L}, {3|4})", 0.4),
    Row("F.scaled_dot_product_attention({x34}, {same}, {same}, is_causal={True|False})", weight=0.8),
    Row("{mod}({n})", "nn.Embedding(16, {4|6})", 1),
    Row("({x} + (1 - ({y} > {c}).float()) * {-1e4|-1e9}).softmax(-1)"),
    Row("{x}.masked_fill({y} > {c}, {-1e4|-1e9}).softmax(-1)"),
    Row("({x} @ {x}.transpose(-1, -2) + torch.full([{x}.shape[-2]] * 2, -1e4).triu(1)).softmax(-1) @ {x}", weight=0.7),
    Row("{x} @ {x}.transpose(-1, -2)", weight=1.5),
    Row("{x}.transpose(-1, -2) @ {same}"),
    Row("torch.einsum('b...,c...->bc', {x}, {same})", weight=0.5),
    Row("F.avg_pool2d({x4}, (1, {1|2|3}))", weight=0.7),
    Row("F.unfold({x4}, 2)", weight=0.3),
    Row("F.local_response_norm({x34}, 2)", weight=0.3),
)

#: Weights that are computed, cut out of another, or read twice; buffers that are read and written.
PARAMETERS = (
    Row("F.linear({x}, {param(8, L)}[:4])"),
    Row("F.linear({x}, {param(L, 4)}.t())"),
    Row("F.linear({x}, {param(4, L)}.{flip(0)|chunk(2)[0]|repeat(2, 1)|float()|abs()})"),
    Row("F.linear({x}, {param(4, L)} * {param(4, 1)}.sigmoid())"),
    Row("F.conv2d({x4}, F.normalize({param(4, C, 3, 3)}, dim=(1, 2, 3)), padding=1)"),
    Row("F.conv2d({x4}, {param(C, 1, 3, 3)}.expand(-1, -1, -1, -1), padding={0|1}, groups={C})"),
    Row("F.conv2d({x4}, {param(1, 1, 2, 2)}.repeat({C}, 1, 1, 1), groups={C})"),
    Row("F.conv1d({x3}, torch.ones(2, {C}, 3), padding={0|1})", weight=0.7),
    Row("F.linear(F.embedding({n}, {param(16, 6)}), {param(16, 6)})", weight=0.7),
    Row("{x} * {param(L)} + {param(1)}", weight=1.5),
    Row("{x} + {buffer(L)}"),
    Row("{x34} * {buffer(C, 1)}"),
    Row("{x} @ {param(L, L)}"),
    Row("torch.cat([{x3}, {param(1, 1, L)}.expand({x3}.shape[0], -1, -1)], 1)"),
    Row("{buffer(16, 4)}[{n}]", weight=0.7),
    Row("{buffer(16, 4)}[:{x}.shape[0]] * 2", weight=0.5),
    Row("{out} = {x} + {buffer(L)}; {buffer(L)}.copy_({x}.flatten(0, -2).mean(0) * 0.5)", weight=0.7),
    Row("{buffer(1)}.add_(1); {out} = {x} * {buffer(1)}", weight=0.7),
    Row("{out} = torch.cat([{buffer(2)}, {x}.flatten()[:2]]); {buffer(2)}.copy_({out}[-2:])", weight=0.7),
    Row(
        "{out} = torch.zeros({L}); {out}[{1:|:1|-1}] = {c}; {out}.add_({buffer(L)}); "
        "{buffer(L)}.copy_({x}.flatten(0, -2)[0])"
    ),
    Row("{counter}.add_({1|3}); {out} = {x} {*|+} {counter}", weight=0.7),
    Row("{out} = {counter} + 1; {counter}.add_(1)", weight=0.5),
    Row("{counter}.add_(1); {out} = torch.where({counter} % 2 == 0, {x}, {c})", weight=0.5),
    Row(
        "{buffer(3, L)}.index_copy_(0, ({counter} % 3).reshape(1), {x}.flatten(0, -2)[:1]); {counter}.add_(1); "
        "{out} = {buffer(3, L)} + {c}",
        weight=0.7,
    ),
    Row("{buffer(3, 4)}[{0|-1}] = {x}.flatten()[:4]; {out} = {buffer(3, 4)} + {c}", weight=0.5),
)

INTEGERS = (
    Row("({x} > {c})", weight=1.5),
    Row("({x} >= {same}){|.float()|.to(torch.int32)}"),
    Row("({x} * 3).to(torch.{int32|int64|int16})"),
    Row("{n}.float() * {0.1|0.5}"),
    Row("{m}.float()"),
    Row("~{m}", weight=0.5),
    Row("{m} & ({x} > 0)", weight=0.5),
    Row("{n} + {1|3|-2}"),
    Row("{n} * {2|-1}", weight=0.7),
    Row("{n} // {2|3}", weight=0.5),
    Row("{n} % {3|7}", weight=0.5),
    Row("{n}.{flip(0)|clone()|abs()|neg()}", weight=0.7),
    Row("{n}[..., {1:|:1|::2}]"),
    Row("{n}.unsqueeze({0|-1})"),
    Row("{n}.transpose(-1, {0|-1})"),
    Row("torch.cat([{n}, {n}], -1)", weight=0.5),
    Row("{n}.cumsum({0|-1})", weight=0.4),
    Row("{n} == {n}", weight=0.4),
    Row("{n}.sum(-1)", weight=0.4),
    Row("torch.where({n} > 2, {n}, 0)", weight=0.5),
    Row("{n}.{amax|amin|argmax}(-1)", weight=0.5),
    Row("F.one_hot({n} % 4, 4).float()", weight=0.3),
    Row("torch.arange({x}.shape[-1]) * {x}", weight=0.7),
    Row("{x} / {x}.shape[{d}]", weight=0.7),
    Row("{x} * {x}.shape[0] + torch.arange({x}.shape[0]).sum()", weight=0.3),
    Row("{x} + torch.full(({x}.shape[-1],), {c})", weight=0.4),
    Row("{x}.to(torch.float16).to(torch.float32)", weight=0.2),
    Row("{x}.double().float()", weight=0.2),
    Row("{x}.isnan().{any()|logical_not()}", weight=0.2),
    Row("{m}.{any|all}(-1)", weight=0.3),
)

CONTROL = (
    Row("torch.cond({x}.sum() > {c}, lambda a: a * 2, lambda a: a - 1, ({x},))"),
    Row("torch.cond({x}.mean() < {c}, lambda a, b: a + b, lambda a, b: a - b, ({x}, {same}))"),
    Row("torch.cond({m}.any(), lambda a: a.relu(), lambda a: a.clone(), ({x},))", weight=0.5),
    Row(
        "torch.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 0.5 + 1), (torch.tensor(0), {x}))[1]", weight=0.5
    ),
    Row("torch.cond({x}.sum() > {c}, lambda a: {mod}(a).relu(), lambda a: a * {c}, ({x},))", "nn.Linear({L}, {L})"),
    Row(
        "torch.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, {mod}(a)), (torch.tensor(0), {x}))[1]",
        "nn.Linear({L}, {L})",
        0.3,
    ),
    Row("{out}, {out2} = torch._higher_order_ops.scan(lambda c, a: (c * 0.5 + a, c - a), {x}[0] * 0.5, {x})"),
    Row(
        "torch._higher_order_ops.scan(lambda c, a: ({mod}(c) + a, c.tanh()), {x}[0] * 2, {x}){[0]|[1]}",
        "nn.Linear({L}, {L})",
    ),
    Row("torch._higher_order_ops.map(lambda r: r.softmax(-1) * 2, {x})", weight=0.5),
    Row("torch.vmap(lambda r: r * 2 + r.sum())({x})", weight=0.7),
    Row("torch.vmap(lambda r: F.pad(r, (1, 0)))({x})", weight=0.3),
)

#: Families of statements, and how often each is drawn.
FAMILIES: tuple[tuple[float, tuple[Row, ...]], ...] = (
    (10, FUNCTIONS),
    (14, ARITHMETIC),
    (12, REDUCTIONS),
    (30, MOVES),
    (24, LAYERS),
    (6, PARAMETERS),
    (8, INTEGERS),
    (2, CONTROL),
)

#: What stands before one statement now and then.
BODIES = ("with torch.no_grad(): ", 'with torch.autocast("cpu", enabled=False): ', "with torch.inference_mode(False): ")

#: What is done to the weight of a module, so that it looks trained, pruned or degenerate.
WEIGHTS = (
    "{mod}.weight.data.pow_(3).mul_(8)",  # a heavy tail
    "{mod}.weight.data[0] = 0",
    "{mod}.weight.data[:, ::2] = 0",  # 2 of 4
    "{mod}.weight.data.fill_(0.25)",
    "{mod}.weight.data[0] *= 30",
    "{mod}.bias.data.mul_(20)",
    "{mod}.running_mean.normal_(); {mod}.running_var.uniform_(0.2, 3)",
)

#: An input: its text, with the shape in place of ``{s}``, and how often it is drawn.
FLOAT_INPUTS = (
    ("torch.randn({s})", 20.0),
    ("torch.randn({s}) * 10", 1.5),
    ("torch.rand({s})", 2.0),
    ("torch.zeros({s})", 0.3),
)
OTHER_INPUTS = (
    ("torch.randint(0, 12, ({s},))", 3.0),
    ("torch.randint(0, 12, ({s},), dtype=torch.int32)", 1.5),
    ("torch.randint(-(2**40), 2**40, ({s},))", 0.5),
    ("torch.rand({s}) > 0.5", 1.5),
)
SPECIAL_INPUTS = (
    ('torch.where(torch.rand({s}) < 0.1, float("{nan|inf|-inf}"), torch.randn({s}))', 1.0),
    ("torch.randn({s}) * {1e6|1e-6}", 0.5),
)
#: Reals of a picture's unsigned integers of 8 bits.
PICTURES = (
    "(x0.float() - 128) * 0.02",
    "x0.to(torch.float32) / 255.0",
    "x0 / 255",
    *(
        f"torch.ops.quantized_decomposed.dequantize_per_tensor.default(x0, 0.02, {zero_point}, 0, 255, torch.uint8)"
        for zero_point in (0, 3, 128)
    ),
)
