"""Random networks, drawn by a seed, of the layers of either library.

``python -m tests.quantization.random_modules FROM TO`` judges the networks of these seeds in every way, and prints what
fails.
"""

from __future__ import annotations

import importlib
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

import workbench as wb
from tests.quantization.random_draws import Random, chance, pick

__all__ = ["Part", "Plan", "build", "draw", "failure", "joins", "make", "network_failure"]

Sizes = tuple[int, ...]


@dataclass(frozen=True)
class Part:
    """A layer by its name, or a way of joining layers in small letters: its settings, and what lies inside."""

    kind: str
    settings: dict[str, Any] = field(default_factory=dict)
    inside: tuple[Part, ...] = ()

    def __repr__(self) -> str:
        told = [f"{key}={value!r}" for key, value in self.settings.items()]
        return f"{self.kind}({', '.join([*told, *map(repr, self.inside)])})"


@dataclass(frozen=True)
class Plan:
    """A network, the sizes of one sample, and the seed of its numbers."""

    seed: int
    size: Sizes
    body: Part


# ------------------------------------------------------------------------------------------- modules


@cache
def own(t: Any) -> dict[str, Any]:
    """Return the ways of joining layers, as modules of the workbench or of PyTorch."""
    q, functional, nn = t.ao.quantization, t.ao.nn.quantized.FloatFunctional, t.nn

    class Joined(nn.Module):  # type: ignore[misc,name-defined]
        """What comes in, joined with what a body makes of it."""

        def __init__(self, body: Any, how: str) -> None:
            super().__init__()
            self.how, self.body, self.at = how, body, functional()

        def forward(self, x: Any) -> Any:
            made = self.body(x)
            return self.at.cat([x, made], 1) if self.how == "cat" else getattr(self.at, self.how)(x, made)

    class Scalars(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self, add: float, mul: float) -> None:
            super().__init__()
            self.numbers, self.at, self.then = (add, mul), functional(), functional()

        def forward(self, x: Any) -> Any:
            return self.then.mul_scalar(self.at.add_scalar(x, self.numbers[0]), self.numbers[1])

    class Twice(nn.Module):  # type: ignore[misc,name-defined]
        """One layer under two names, called three times."""

        def __init__(self, layer: Any) -> None:
            super().__init__()
            self.first, self.relu, self.again = layer, nn.ReLU(), layer

        def forward(self, x: Any) -> Any:
            return self.first(self.again(self.relu(self.first(x))))

    class Listed(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self, *several: Any) -> None:
            super().__init__()
            self.several = nn.ModuleList(several)

        def forward(self, x: Any) -> Any:
            for one in self.several:
                x = one(x)
            return x

    class Named(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self, *several: Any) -> None:
            super().__init__()
            self.several = nn.ModuleDict({f"at_{i}": one for i, one in enumerate(several)})

        def forward(self, x: Any) -> Any:
            for name in self.several:
                x = self.several[name](x)
            return x

    class Floating(nn.Module):  # type: ignore[misc,name-defined]
        """A part that stays in floating point between codes."""

        def __init__(self, body: Any) -> None:
            super().__init__()
            self.dequant, self.body, self.quant = q.DeQuantStub(), body, q.QuantStub()
            self.body.qconfig = None

        def forward(self, x: Any) -> Any:
            return self.quant(self.body(self.dequant(x)))

    class Moved(nn.Module):  # type: ignore[misc,name-defined]
        """Functions that move values, in a forward of its own."""

        def __init__(self, how: str) -> None:
            super().__init__()
            self.how, self.at = how, functional()

        def forward(self, x: Any) -> Any:
            half = x.shape[1] // 2
            ways = {
                "reversed": lambda: x.flip(1), "transposed": lambda: x.transpose(1, -1),
                "every other": lambda: x[:, ::2], "method": lambda: x.relu(), "function": lambda: nn.functional.relu(x),
                "swapped": lambda: self.at.cat([x[:, half:], x[:, :half]], 1),
                "halves": lambda: self.at.cat([*x.chunk(2, 1), x], 1),
                "flat and back": lambda: x.flatten(1).reshape(x.shape), "repeated": lambda: x.repeat_interleave(2, 1),
                "rolled": lambda: x.roll(1, -1), "one row": lambda: x[:, :1].expand(*x.shape),
                "clamped": lambda: x.clamp(-0.5, 0.75),
                "unpacked": lambda: self.at.add(*(x.unbind(1)[i] for i in (0, -1))).unsqueeze(1),
            }  # fmt: skip
            return ways[self.how]()

    class Net(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self, body: Any) -> None:
            super().__init__()
            self.quant, self.body, self.dequant = q.QuantStub(), body, q.DeQuantStub()

        def forward(self, x: Any) -> Any:
            return self.dequant(self.body(self.quant(x)))

    found = {
        one.__name__.lower(): one for one in (Joined, Scalars, Twice, Listed, Named, Floating, Moved, Net)
    }
    if t is wb:
        for name, one in found.items():
            # A pickle finds a class by its module and its name.
            one.__qualname__ = one.__name__ = f"Own{name.title()}"
            globals()[one.__name__] = one
    return found


def build(t: Any, part: Part) -> Any:
    """Return the module of a part, of the workbench or of PyTorch."""
    inside = [build(t, one) for one in part.inside]
    if part.kind in ("row", "joins"):
        return t.nn.Sequential(*inside)
    kind = own(t).get(part.kind) or getattr(t.nn, part.kind)
    return kind(*inside, **part.settings)


def make(t: Any, plan: Plan) -> Any:
    """Return the network of a plan, in use, with statistics that are not those of new layers."""
    t.manual_seed(plan.seed)
    model = own(t)["net"](build(t, plan.body))
    random = np.random.default_rng(plan.seed)
    for name, one in model.named_buffers():
        if name.endswith(("running_mean", "running_var")):
            one.copy_(t.tensor(random.uniform(0.5, 1.5, tuple(one.shape)).astype(np.float32)))
    return model.eval()


_PLACES = {
    "row": "{}", "joined": "body", "twice": "first", "floating": "body", "listed": "several.{}",
    "named": "several.at_{}",
}  # fmt: skip


def joins(part: Part, path: str = "body") -> Iterator[list[str]]:
    """Give the paths of layers that `fuse_modules` joins."""
    if part.kind == "joins":
        yield [f"{path}.{i}" for i in range(len(part.inside))]
    elif part.kind in _PLACES:
        for i, one in enumerate(part.inside):
            yield from joins(one, f"{path}.{_PLACES[part.kind].format(i)}")


# ------------------------------------------------------------------------------------------- drawing


def convolution(random: Random, size: Sizes) -> Part:
    """Draw a convolution, alone or with what is folded into it."""
    channels, n = size[0], len(size) - 1
    count = pick(random, [one for one in range(1, channels + 1) if channels % one == 0])
    kernel = tuple(int(random.integers(1, min(4, one + 2))) for one in size[1:])
    dilation = tuple(1 + int(chance(random, 0.2)) for _ in kernel)
    reach = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    padding = tuple(
        min(r, max(0, math.ceil((r + 1 - s) / 2)) + int(random.integers(0, 2)))
        for r, s in zip(reach, size[1:], strict=True)
    )
    stride = tuple(1 + int(chance(random, 0.3)) for _ in kernel)
    inside = n < 3 and all(p < s for p, s in zip(padding, size[1:], strict=True))
    settings = {
        "in_channels": channels, "out_channels": count * int(random.integers(1, 5)), "kernel_size": kernel,
        "stride": stride, "padding": padding, "dilation": dilation, "groups": count, "bias": chance(random, 0.7),
    }  # fmt: skip
    if chance(random, 0.15):
        plain = {**settings, "dilation": 1, "padding": 0}
        return Part(f"ConvTranspose{n}d", plain)
    if inside and chance(random, 0.15):
        settings["padding_mode"] = pick(random, ["reflect", "replicate", "circular"])
    return joined(random, Part(f"Conv{n}d", settings), settings["out_channels"], f"BatchNorm{n}d")


def joined(random: Random, layer: Part, channels: int, norm: str) -> Part:
    behind = []
    if chance(random, 0.4):
        behind.append(Part(norm, {"num_features": channels}))
    if chance(random, 0.5):
        behind.append(Part("ReLU", {"inplace": chance(random, 0.5)}))
    return Part("joins", {}, (layer, *behind)) if behind else layer


def linear(random: Random, size: Sizes) -> Part:
    count = int(random.integers(1, 9))
    settings = {"in_features": size[-1], "out_features": count, "bias": chance(random, 0.7)}
    layer = Part("Linear", settings)
    return joined(random, layer, count, "BatchNorm1d") if len(size) == 1 else layer


POINTWISE = (
    "ReLU", "ReLU6", "Hardswish", "LeakyReLU", "ELU", "Sigmoid", "Tanh", "Hardsigmoid", "GELU", "SiLU", "Dropout",
    "Identity", "PReLU", "Softmax",
)  # fmt: skip


def pointwise(random: Random, size: Sizes) -> Part:
    name = pick(random, POINTWISE)
    settings: dict[str, Any] = {"Softmax": {"dim": -1}, "PReLU": {"num_parameters": size[0]}}.get(name, {})
    return Part(name, settings)


def pooling(random: Random, size: Sizes) -> Part:
    n = len(size) - 1
    kernel = tuple(int(random.integers(1, min(4, one + 1))) for one in size[1:])
    settings = {
        "kernel_size": kernel, "stride": tuple(int(random.integers(1, 3)) for _ in kernel),
        "padding": tuple(int(random.integers(0, k // 2 + 1)) for k in kernel),
    }  # fmt: skip
    if chance(random, 0.3):
        wanted = tuple(int(random.integers(1, one + 1)) for one in size[1:])
        return Part(f"Adaptive{pick(random, ['Avg', 'Max'])}Pool{n}d", {"output_size": wanted})
    kind = pick(random, ["Max", "Avg"])
    return Part(f"{kind}Pool{n}d", {**settings, "ceil_mode": chance(random, 0.3)})


def norm(random: Random, size: Sizes) -> Part:
    n, channels = len(size) - 1, size[0]
    kinds = (
        ["LayerNorm"] + ["GroupNorm"] * (n > 0) + [f"InstanceNorm{n}d"] * (n > 0 and math.prod(size[1:]) > 1)
    )
    kinds += [f"BatchNorm{n}d"] * (n > 1)
    name = pick(random, kinds)
    counts = [one for one in range(1, channels + 1) if channels % one == 0]
    settings = {
        "LayerNorm": {"normalized_shape": size[-1:]},
        "GroupNorm": {"num_groups": pick(random, counts), "num_channels": channels},
    }.get(name, {"num_features": channels})
    return Part(
        name,
        {**settings, **({"affine": True} if name.startswith("Instance") and chance(random, 0.5) else {})},
    )


def resized(random: Random, size: Sizes) -> Part:
    n = len(size) - 1
    kinds = [Part("Upsample", {"scale_factor": 2, "mode": pick(random, ["nearest", "bilinear"])})]
    kinds += [
        Part("ZeroPad2d", {"padding": 1}),
        Part("ReflectionPad2d", {"padding": 1}) if min(size[1:]) > 1 else kinds[0],
    ]
    kinds += [
        Part("ChannelShuffle", {"groups": size[0]}),
        Part("ConstantPad2d", {"padding": (1, 0, 2, 0), "value": 0.5}),
    ]
    return pick(random, kinds) if n == 2 else Part("Identity")


MOVES = (
    "reversed", "transposed", "every other", "method", "function", "swapped", "halves", "flat and back", "repeated",
    "rolled", "one row", "clamped", "unpacked",
)  # fmt: skip


def same(random: Random, size: Sizes) -> Part:
    """Draw a layer that keeps the sizes."""
    n, channels = len(size) - 1, size[0]
    if n in (1, 2, 3) and chance(random, 0.7):
        return Part(f"Conv{n}d", {"in_channels": channels, "out_channels": channels, "kernel_size": 1})
    return Part("Linear", {"in_features": size[-1], "out_features": size[-1]})


def step(random: Random, size: Sizes, depth: int) -> Part:
    """Draw a step for values of these sizes."""
    images = len(size) > 1
    kinds = ["layer"] * 5 + ["pointwise"] * 2 + ["norm", "scalars", "twice", "joined", "joined", "moved"]
    kinds += ["pool", "resized"] * images + ["row", "listed", "named", "floating"] * (depth > 0)
    kind = pick(random, kinds)
    if kind == "layer":
        return convolution(random, size) if images and chance(random, 0.8) else linear(random, size)
    simple = {"pointwise": pointwise, "norm": norm, "pool": pooling, "resized": resized}
    if kind in simple:
        return simple[kind](random, size)
    if kind == "scalars":
        return Part("scalars", {"add": float(random.normal()), "mul": float(random.uniform(-2, 2))})
    if kind == "moved":
        return Part("moved", {"how": pick(random, MOVES)})
    if kind == "twice":
        return Part("twice", {}, (same(random, size),))
    if kind == "joined":
        how = pick(random, ["add", "mul", "add_relu", "cat"])
        return Part("joined", {"how": how}, (Part("row", {}, (same(random, size), pointwise(random, size))),))
    inside, _ = steps(random, size, depth - 1, int(random.integers(1, 4)))
    return Part(kind, {}, (Part("row", {}, inside),) if kind == "floating" else inside)


def steps(random: Random, size: Sizes, depth: int, count: int) -> tuple[tuple[Part, ...], Sizes]:
    """Draw some steps, one behind the other; return also the sizes of what they give."""
    found: list[Part] = []
    while len(found) < count:
        part = step(random, size, depth)
        after = tuple(build(wb, part).eval()(wb.zeros(2, *size)).shape[1:])
        if 0 < math.prod(after) < 2000 and len(after) > 0:
            found.append(part)
            size = after
    return tuple(found), size


def draw(seed: int) -> Plan:
    """Return the network of a seed."""
    random = np.random.default_rng(seed)
    n = pick(random, [0, 1, 2, 2, 2, 3])
    size = (int(random.integers(1, 9)), *(int(random.integers(2, 8)) for _ in range(n)))
    found, _ = steps(random, size, 2, int(random.integers(1, 6)))
    if chance(random, 0.5):
        _, after = found, tuple(build(wb, Part("row", {}, found)).eval()(wb.zeros(2, *size)).shape[1:])
        head = {"in_features": math.prod(after), "out_features": 5}
        found = (*found, Part("Flatten"), Part("joins", {}, (Part("Linear", head), Part("ReLU"))))
    return Plan(seed, size, Part("row", {}, found))


def failure(said: str, judge: Callable[[], None]) -> str | None:
    """Return what a judge says, which is nothing where all is well."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            judge()
    except Exception as error:  # whatever comes is what is looked for
        return f"{said}: {type(error).__name__}: {error}"
    return None


def network_failure(judge: Callable[[Plan], None], seed: int) -> str | None:
    """Return what a judge says of the network of a seed."""
    plan = draw(seed)
    return failure(f"{judge.__name__} of {plan}", lambda: judge(plan))


def main(arguments: Sequence[str]) -> int:
    """Judge the networks, and the programs on codes, of some seeds; print what fails as it does, and how many did."""
    first, last = map(int, arguments)
    ways = importlib.import_module("tests.quantization.random_ways")
    checks = importlib.import_module("tests.quantization.random_checks")
    codes = importlib.import_module("tests.quantization.random_codes")
    judges = [checks.static, *(getattr(ways, name) for name in ways.__all__)]
    judged, failed = 0, 0
    for seed in range(first, last):
        found = [*(network_failure(judge, seed) for judge in judges), codes.code_failure(seed)]
        judged, failed = judged + len(found), failed + sum(one is not None for one in found)
        print(*(f"{one}\n" for one in found if one is not None), end="", flush=True)
    print(f"{judged} judged, {failed} failed")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
