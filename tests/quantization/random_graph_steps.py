"""What random programs are made of: lines of Python, by the sizes of the values that they take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Draw", "STEPS", "Sizes"]

Sizes = tuple[int, ...]


class Draw:
    """Draws, and names what a line adds to a program: layers, and values that it holds."""

    def __init__(self, random: Any) -> None:
        self.random = random
        self.made: list[str] = []
        self.count = 0

    def one(self, several: Any) -> Any:
        """Return one of several."""
        return several[int(self.random.integers(len(several)))]

    def often(self, chance: float = 0.5) -> bool:
        """Say yes with a chance."""
        return bool(self.random.random() < chance)

    def number(self, low: float = -1.0, high: float = 1.0) -> float:
        """Return a number of two digits."""
        return round(float(self.random.uniform(low, high)), 2)

    def layer(self, made: str) -> str:
        """Have the program keep a layer; return how it is reached."""
        self.count += 1
        name = f"{made.partition('(')[0].rpartition('.')[2].lower()}{self.count}"
        self.made.append(f"self.{name} = {made}")
        return f"self.{name}"

    def held(self, sizes: Sizes, low: float = -1.0) -> str:
        """Have the program keep a tensor, as a buffer or as a parameter; return how it is reached."""
        self.count += 1
        values = f"wb.rand({', '.join(map(str, sizes))}) * {1 - low} + {low}"
        name = f"held{self.count}"
        buffer = f"self.register_buffer({name!r}, {values})"
        self.made.append(self.one([buffer, f"self.{name} = nn.Parameter({values})"]))
        return f"self.{name}"

    def constant(self, value: Any) -> str:
        """Return a number as it stands, or as an attribute of the program."""
        if self.often(0.7):
            return repr(value)
        self.count += 1
        self.made.append(f"self.constant{self.count} = {value!r}")
        return f"self.constant{self.count}"


Step = Callable[[Draw, str, Sizes, list[tuple[str, Sizes]]], str | None]
STEPS: list[tuple[Step, int]] = []
"""Each with how often it is drawn. A step is told a value, its sizes and all values there are; it returns an
expression, or lines of which the last one is `= …` of the result; None where it has nothing to say of such sizes."""


def step(weight: int) -> Callable[[Step], Step]:
    """Enter a step."""

    def enter(function: Step) -> Step:
        STEPS.append((function, weight))
        return function

    return enter


def image(sizes: Sizes) -> int:
    """Return over how many dims windows of a value go; 0 where it has no channels."""
    return len(sizes) - 2 if len(sizes) > 2 else 0


def alike(values: list[tuple[str, Sizes]], sizes: Sizes, draw: Draw) -> str:
    """Return a value of the same sizes."""
    return str(draw.one([name for name, own in values if own == sizes]))


@step(6)
def convolution(draw: Draw, x: str, sizes: Sizes, values: Any) -> str | None:
    n, channels = image(sizes), sizes[1]
    if not n:
        return None
    groups = draw.one([one for one in range(1, channels + 1) if channels % one == 0])
    outputs = groups * draw.one([1, 2]) if groups > 1 else draw.one([2, 3, 4, 6])
    kernel = draw.one([1, 2, 3])
    words = [f"{channels}, {outputs}, {kernel}", f"groups={groups}", f"bias={draw.often(0.8)}"]
    words += [f"padding={draw.one([0, 1])}" if kernel > 1 else "padding=0", f"stride={draw.one([1, 1, 2])}"]
    settings = ", ".join(words)
    if draw.often(0.2):
        return f"{draw.layer(f'nn.ConvTranspose{n}d({settings})')}({x})"
    if draw.often(0.2):
        # A function with a weight that the program holds.
        weight = draw.held((outputs, channels // groups, *[kernel] * n))
        return f"F.conv{n}d({x}, {weight}, None, {', '.join(words[3:])}, groups={groups})"
    if draw.often(0.2) and n < 3:
        settings += f", padding_mode={draw.one(['reflect', 'replicate', 'circular'])!r}"
    called = f"{draw.layer(f'nn.Conv{n}d({settings})')}({x})"
    if draw.often(0.3):
        called = f"{draw.layer(f'nn.BatchNorm{n}d({outputs})')}({called})"
    return (
        f"{draw.one(['F.relu', 'wb.relu', draw.layer('nn.ReLU()')])}({called})" if draw.often(0.3) else called
    )


@step(4)
def linear(draw: Draw, x: str, sizes: Sizes, values: Any) -> str:
    inner, outer = sizes[-1], draw.one([2, 3, 4, 5, 8])
    if draw.often(0.2):
        return f"F.linear({x}, {draw.held((outer, inner))}, {draw.one(['None', draw.held((outer,))])})"
    if draw.often(0.15):
        return f"{x} @ {draw.held((inner, outer))}"
    called = f"{draw.layer(f'nn.Linear({inner}, {outer}, bias={draw.often(0.8)})')}({x})"
    return f"{called}.relu()" if draw.often(0.2) else called


@step(1)
def bilinear(draw: Draw, x: str, sizes: Sizes, values: Any) -> str:
    y = alike(values, sizes, draw)
    return f"{draw.layer(f'nn.Bilinear({sizes[-1]}, {sizes[-1]}, 4)')}({x}, {y})"


@step(1)
def twice(draw: Draw, x: str, sizes: Sizes, values: Any) -> str:
    layer = draw.layer(f"nn.Linear({sizes[-1]}, {sizes[-1]})")
    return f"{layer}({draw.one(['F.relu', 'wb.tanh', 'F.hardswish', ''])}({layer}({x})))"


_FUNCTIONS = (
    "wb.relu", "F.relu", "F.relu6", "F.leaky_relu", "F.hardtanh", "wb.sigmoid", "F.sigmoid", "wb.tanh", "F.gelu",
    "F.silu", "F.hardswish", "F.elu", "F.mish", "F.hardsigmoid", "F.softplus", "F.selu", "F.celu", "F.softsign",
    "F.tanhshrink", "F.logsigmoid", "wb.abs", "wb.sin", "wb.exp", "wb.square", "wb.neg", "F.softshrink",
)  # fmt: skip
_LAYERS = (
    "nn.ReLU()", "nn.ReLU6()", "nn.LeakyReLU(0.2)", "nn.Hardtanh(-0.5, 0.75)", "nn.Sigmoid()", "nn.Tanh()", "nn.GELU()",
    "nn.SiLU()", "nn.Hardswish()", "nn.ELU(0.7)", "nn.PReLU()", "nn.Mish()", "nn.Hardsigmoid()", "nn.Softplus()",
    "nn.GELU('tanh')", "nn.Identity()", "nn.Dropout(0.5)", "nn.Threshold(0.1, 0.1)", "nn.ReLU(inplace=False)",
)  # fmt: skip


@step(8)
def value(draw: Draw, x: str, sizes: Sizes, values: Any) -> str:
    way = int(draw.random.integers(4))
    if way == 0:
        return f"{draw.layer(draw.one(_LAYERS))}({x})"
    if way == 1:
        return f"{x}.{draw.one(['relu', 'sigmoid', 'tanh', 'abs', 'neg', 'exp', 'square', 'contiguous', 'clone'])}()"
    if way == 2 and draw.often(0.3):
        return f"F.{draw.one(['leaky_relu', 'elu', 'softplus'])}({x}, {draw.number(0.1, 0.9)})"
    if way == 2 and draw.often(0.3) and len(sizes) > 2:
        return f"F.prelu({x}, {draw.held((sizes[1],))})"
    return f"{draw.one(_FUNCTIONS)}({x})"


@step(5)
def with_number(draw: Draw, x: str, sizes: Sizes, values: Any) -> str:
    c = draw.constant(draw.number(0.3, 2.0) * draw.one([1, 1, -1]))
    forms = (
        "{x} + {c}", "{c} + {x}", "{x} - {c}", "{c} - {x}", "{x} * {c}", "{c} * {x}", "{x} / {c}", "wb.add({x}, {c})",
        "wb.mul({x}, {c})", "wb.sub({x}, {c}, alpha=0.5)", "{x}.add({c})", "{x}.mul({c})", "{x}.div({c})",
        "{x} * ({x}.shape[1] / 4)", "{x} + {x}.size(-1) * 0.1", "{x} / {x}.shape[-1] ** 0.5", "({x} + {c}).relu()",
        "wb.where({x} > {c}, {x}, {c})", "{x}.masked_fill({x} < {c}, {c})", "wb.maximum({x}, wb.tensor({c}))",
    )  # fmt: skip
    return str(draw.one(forms)).format(x=x, c=c)


@step(4)
def clamped(draw: Draw, x: str, sizes: Sizes, values: Any) -> str:
    low, high = draw.constant(draw.number(-1, 0)), draw.constant(draw.number(0.1, 1))
    if draw.often(0.4):
        low = (
            draw.held(draw.one([(1,), sizes[-1:]]), -1)
            if draw.often(0.5)
            else f"{alike(values, sizes, draw)} - 1"
        )
        high = f"{low} + 1.0"
    words = draw.one([f"min={low}", f"max={high}", f"min={low}, max={high}", f"{low}, {high}"])
    return f"{draw.one(['wb.clamp(', 'wb.clip('])}{x}, {words})" if draw.often() else f"{x}.clamp({words})"


@step(5)
def with_held(draw: Draw, x: str, sizes: Sizes, values: Any) -> str:
    shapes = [sizes[-1:], (1, *sizes[1:]), (1,), sizes[1:]]
    held = draw.held(draw.one(shapes), 0.4 if draw.often() else -1.0)
    forms = (
        "{x} + {h}", "{h} + {x}", "{x} - {h}", "{h} - {x}", "{x} * {h}", "{h} * {x}", "{x} / ({h} + 2.0)",
        "wb.maximum({x}, {h})", "wb.maximum({h}, {x})", "wb.minimum({x}, {h})", "wb.minimum({h}, {x})",
        "wb.where({h} > 0.5, {x}, {h})", "wb.where({x} > {h}, {x}, {h})", "{x}.maximum({h} * 0.5)",
        "wb.fmax({x}, {h})", "wb.maximum(wb.minimum({x}, {h}), {h} - 1.0)", "wb.maximum({h}, wb.relu({h})) + {x}",
        "wb.lerp({x}, {x} * {h}, 0.5)", "wb.where({h} > 0.3, {x}, 6.0)", "{x}.masked_fill({h} > 0.6, -5.0)",
         "{x}.add({h}, alpha=2)", "wb.addcmul({x}, {x}, {h}, value=0.5)",
    )  # fmt: skip
    return str(draw.one(forms)).format(x=x, h=held)


@step(7)
def with_another(draw: Draw, x: str, sizes: Sizes, values: Any) -> str:
    y = alike(values, sizes, draw)
    forms = (
        "{x} + {y}", "{x} - {y}", "{x} * {y}", "{x} / ({y}.abs() + 1.0)", "wb.add({x}, {y}, alpha=0.5)", "{x}.mul({y})",
        "wb.relu({x} + {y})", "({x} + {y}).clamp(-1, 1)", "wb.maximum({x}, {y})", "wb.minimum({x}, {y})",
        "wb.where({x} > {y}, {x}, {y})", "wb.where({x} > 0, {x}, {x} * 0.1)", "wb.fmin({x}, {y})",
        "{x} + {y}.mean(-1, keepdim=True)", "{x} * {y}[..., :1]", "{x} * wb.sigmoid({y})", "F.relu({x} * {y})",
        "wb.stack([{x}, {y}]).sum(0)", "wb.stack([{x}, {y}], 1).unbind(1)[1]", "sum([{x}, {y}, {x}])",
        "wb.stack(({x}, {y}), dim=-1).mean(-1)", "{x}.expand_as({y}) + {y}", "({x} * {y}).sum(-1)", "{x}.sub({y})",
    )  # fmt: skip
    return str(draw.one(forms)).format(x=x, y=y)


@step(4)
def joined(draw: Draw, x: str, sizes: Sizes, values: Any) -> str:
    dim = int(draw.random.integers(1, len(sizes)))
    fit = [
        name
        for name, own in values
        if len(own) == len(sizes)
        and all(a == b for i, (a, b) in enumerate(zip(own, sizes, strict=True)) if i != dim)
    ]
    several = [x, *(draw.one(fit) for _ in range(draw.one([1, 1, 2])))]
    if draw.often(0.2):
        several.append(f"{draw.held((1, *sizes[1:]))}.expand({x}.shape[0], *{[-1] * (len(sizes) - 1)})")
    if draw.often(0.2):
        several[0] = f"wb.relu({x})"
    ends = draw.one(["[{}]", "({})", "[{}]"]).format(", ".join(several))
    return f"wb.{draw.one(['cat', 'cat', 'concat'])}({ends}, {draw.one([dim, dim - len(sizes)])})"


@step(3)
def parted(draw: Draw, x: str, sizes: Sizes, values: Any) -> str | None:
    dim = draw.one([i for i, size in enumerate(sizes) if i and size > 1] or [0])
    if not dim:
        return None
    half = sizes[dim] // 2
    rest = sizes[dim] - half
    forms = (
        f"{{x}}.chunk(2, {dim})[1]", f"wb.split({{x}}, [{half}, {rest}], {dim})[0]", f"{{x}}.unbind({dim})[-1]",
        f"wb.chunk({{x}}, 2, dim={dim})", f"{{x}}.split({half}, dim={dim})", f"wb.unbind({{x}}, {dim})",
        f"{{x}}.narrow({dim}, 0, {half})", f"{{x}}.select({dim}, {half})", f"wb.tensor_split({{x}}, 2, {dim})[0]",
    )  # fmt: skip
    made = str(draw.one(forms)).format(x=x)
    if made.endswith("]"):
        return made
    if draw.often():
        return f"parts = {made}\n= parts[0] * 0.5 + wb.relu(parts[0])"
    return (
        f"first, other = {made}[:2]\n= wb.cat([other, first], 1)"
        if dim == 1 and sizes[1] == 2
        else made + "[0]"
    )


@step(7)
def moved(draw: Draw, x: str, sizes: Sizes, values: Any) -> str:
    last = len(sizes) - 1
    order = [0, *(1 + draw.random.permutation(last))]
    dim = 1 + int(draw.random.integers(last))
    places = [int(draw.random.integers(sizes[dim])) for _ in range(3)]
    forms = [
        "{x}.flatten(1)", "{x}.reshape({x}.shape[0], -1)", "{x}.view({x}.size(0), -1)", "wb.flatten({x}, 1)",
        f"{{x}}.permute({', '.join(map(str, order))})", f"{{x}}.transpose(1, {last})", f"{{x}}.movedim(1, {last})",
        f"{{x}}.flip({dim})", f"wb.roll({{x}}, 1, {dim})", f"{{x}}.index_select({dim}, wb.tensor({places}))",
        f"{{x}}[:, {places if dim == 1 else ':'}]", "{x}[..., ::2]", "{x}[:, 1:]", "{x}[:, None].squeeze(1)",
        f"{{x}}.unsqueeze({dim})", f"wb.repeat_interleave({{x}}, 2, {dim})", "{x}.unflatten(1, (1, -1)).squeeze(1)",
        f"{{x}}.gather({dim}, {{x}}.argsort({dim}))", f"{{x}}.sort({dim})[0]", f"{{x}}.topk(1, {dim})[0]",
        f"{{x}}.repeat(1, 2{', 1' * (last - 1)})", f"{{x}}.take_along_dim({{x}}.argmax({dim}, keepdim=True), {dim})",
        f"{{x}}.unsqueeze({last}).expand({', '.join(['-1'] * last)}, 2, -1)", f"{{x}}.cumsum({dim}) * 0.5",
        f"{{x}}.scatter({dim}, {{x}}.long().narrow({dim}, 0, 1) * 0, 0.5)", "{x}.tril()" if last > 1 else "{x}[:, :2]",
        "{x}.contiguous()", "{x}.detach()", f"{{x}}.diagonal(0, {last - 1}, {last})" if last > 1 else "{x}.clone()",
    ]  # fmt: skip
    if last > 1:
        forms += [
            f"F.pad({{x}}, (1, {draw.one([0, 2])}){draw.one(['', ', value=0.3', ', value=4.0'])})",
            "{x}.mT",
            "{x}.flatten(-2)",
        ]
    if last > 2:
        forms += [
            f"F.pad({{x}}, (1, 0, 0, 1), {draw.one(['reflect', 'replicate'])!r})",
            "F.pixel_unshuffle({x}, 2)",
        ]
    if sizes[1] % 2 == 0:
        forms += [
            "{x}.unflatten(1, (2, -1)).sum(1)",
            "F.channel_shuffle({x}, 2)" if last > 1 else "F.glu({x}, 1)",
        ]
        forms.append(
            f"{{x}}.view({{x}}.shape[0], 2, {', '.join(map(str, (sizes[1] // 2, *sizes[2:])))})"
            ".transpose(1, 2).flatten(1, 2)"
        )
    return str(draw.one(forms)).format(x=x)


@step(4)
def pooled(draw: Draw, x: str, sizes: Sizes, values: Any) -> str:
    n, dims = image(sizes), list(range(2, len(sizes)))
    forms = [
        "{x}.mean(-1)",
        "{x}.mean(-1, keepdim=True)",
        "{x}.amax(-1)",
        "{x}.max(1)[0]",
        "{x}.min(-1).values",
    ]
    forms += [
        "{x}.sum(1, keepdim=True) * 0.3",
        "{x}.std(-1)" if sizes[-1] > 2 else "{x}.amin(1)",
        "wb.mean({x}, 1)",
    ]
    if n:
        k = draw.one([2, 2, 3])
        pad = f", padding={draw.one([0, 1])}" if draw.often(0.4) else ""
        forms += [
            f"F.avg_pool{n}d({{x}}, {k}, 1{pad})", f"F.max_pool{n}d({{x}}, {k}, {draw.one([1, 2])}{pad})",
            f"F.adaptive_avg_pool{n}d({{x}}, {draw.one([1, 2])})", f"F.adaptive_max_pool{n}d({{x}}, 1)",
            f"{draw.layer(f'nn.MaxPool{n}d({k}{pad})')}({{x}})", f"{{x}}.mean({dims}, keepdim=True)",
            f"{{x}}.mean({dims})",
            f"{draw.layer(f'nn.AvgPool{n}d({k}{pad})')}({{x}})", f"F.avg_pool{n}d({{x}}, 2, count_include_pad=False)",
            f"{draw.layer(f'nn.AdaptiveAvgPool{n}d(1)')}({{x}}).flatten(1)",
            f"F.lp_pool{n}d({{x}}.abs() + 0.5, 2.0, 2)",
        ] * 2  # fmt: skip
        mode = {1: "linear", 2: "bilinear", 3: "trilinear"}[n]
        forms += [
            "F.interpolate({x}, scale_factor=2)", f"F.interpolate({{x}}, scale_factor=2, mode={mode!r})",
            f"F.interpolate({{x}}, size={tuple(s + 1 for s in sizes[2:])}, mode={mode!r}, align_corners=True)",
        ]  # fmt: skip
    return str(draw.one(forms)).format(x=x)


@step(4)
def normalised(draw: Draw, x: str, sizes: Sizes, values: Any) -> str | None:
    n, channels = image(sizes), sizes[1]
    forms = ["F.softmax({x}, -1)", "{x}.softmax(1)", f"{draw.layer('nn.Softmax(dim=-1)')}({{x}})"]
    if sizes[-1] > 2:
        forms += [
            f"F.layer_norm({{x}}, ({sizes[-1]},))",
            f"{draw.layer(f'nn.LayerNorm({sizes[-1]})')}({{x}})",
        ] * 2
        forms += ["F.normalize({x} + 0.1, dim=-1)", f"{draw.layer(f'nn.RMSNorm({sizes[-1]})')}({{x}})"]
    if n and sizes[-1] > 2:
        groups = draw.one([one for one in range(1, channels + 1) if channels % one == 0])
        forms += [f"{draw.layer(f'nn.BatchNorm{n}d({channels})')}({{x}})"] * 2
        forms += [f"{draw.layer(f'nn.InstanceNorm{n}d({channels}, affine={draw.often()})')}({{x}})"]
        forms += [
            f"{draw.layer(f'nn.GroupNorm({groups}, {channels})')}({{x}})",
            f"F.group_norm({{x}}, {groups})",
        ]
    if not n:
        forms.append(
            f"{draw.layer(f'nn.BatchNorm1d({channels})')}({{x}})"
            if len(sizes) == 2
            else "F.log_softmax({x}, -1)"
        )
    return str(draw.one(forms)).format(x=x)


@step(3)
def multiplied(draw: Draw, x: str, sizes: Sizes, values: Any) -> str | None:
    if len(sizes) < 3:
        return None
    y = alike(values, sizes, draw)
    forms = [
        "{x} @ {y}.transpose(-1, -2)",
        "wb.matmul({y}.mT, {x}) * 0.3",
        "({x} @ {y}.mT).softmax(-1) @ {y}",
    ]
    if len(sizes) == 3:
        forms += [
            "wb.bmm({x}, {y}.transpose(1, 2))",
            "wb.einsum('ncl,nkl->nck', {x}, {y})",
            "wb.baddbmm({x} @ {x}.mT, {x}, {y}.mT)",
        ]
        forms.append("F.scaled_dot_product_attention({x}, {y}, {y})")
    return str(draw.one(forms)).format(x=x, y=y)


@step(2)
def recurrent(draw: Draw, x: str, sizes: Sizes, values: Any) -> str | None:
    if len(sizes) != 3:
        return None
    kind, both = draw.one(["LSTM", "GRU"]), draw.often(0.2)
    words = f"{sizes[-1]}, {draw.one([3, 4])}, batch_first=True, num_layers={draw.one([1, 1, 2])}, bidirectional={both}"
    layer = draw.layer(f"nn.{kind}({words})")
    if draw.often(0.3):
        return f"states, last = {layer}({x})\n= {'last[0]' if kind == 'LSTM' else 'last'}.transpose(0, 1).flatten(1)"
    return f"{layer}({x})[0]"


@step(2)
def written(draw: Draw, x: str, sizes: Sizes, values: Any) -> str:
    y = alike(values, sizes, draw)
    made = draw.one(
        [
            f"{x} * 1.0",
            f"{x} + {y}",
            f"wb.relu({x})",
            f"{draw.layer(f'nn.Linear({sizes[-1]}, {sizes[-1]})')}({x})",
        ]
    )
    forms = (
        "fresh += {y}", "fresh *= 0.5", "fresh.relu_()", "fresh.add_({y})", "fresh.clamp_(-0.5, 0.5)",
        "fresh.mul_({y})", "F.relu(fresh, inplace=True)", "fresh -= {y}", "fresh.sigmoid_()",
        "fresh.clamp_(min={y})", "fresh.neg_()", "F.hardtanh_(fresh)", "fresh.copy_({y})",
        "fresh.zero_().add_({y})", "fresh[:, :1].mul_(2.0)",
        "fresh.flatten(1).relu_()",
    )  # fmt: skip
    return f"fresh = {made}\n{draw.one(forms).format(y=y)}\n= fresh{draw.one(['', ' + 0.1', '.tanh()'])}"


@step(2)
def in_float(draw: Draw, x: str, sizes: Sizes, values: Any) -> str:
    forms = (
        "wb.fft.rfft({x}).abs()", "wb.fft.ifft(wb.fft.fft({x})).real", "{x} * ({x} > 0).to({x}.dtype)",
        "{x}.double().tanh().float()",
        "{x}.half().float() * 0.5", "({x} > 0.0).float() * {x}", "{x}.logsumexp(-1)", "{x}.norm(dim=-1)",
        "{x}.bfloat16().relu().float()",
        "wb.where({x}.isnan(), wb.zeros_like({x}), {x})", f"{{x}} * wb.ones({{x}}.shape[0]{', 1' * (len(sizes) - 1)})",
        "wb.nan_to_num({x})",
        "{x} + wb.arange({x}.shape[-1]) * 0.1", "wb.full_like({x}, 0.25) + {x}", "{x} + wb.zeros({x}.shape)",
    )  # fmt: skip
    return str(draw.one(forms)).format(x=x)
