"""Random networks in codes, layer by layer: each is given PyTorch's codes, and gives PyTorch's, in any layout."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.peers.saturation import weight_observer
from workbench.base.quantized_array import QuantizedArray
from workbench.core.value import new

torch = pytest.importorskip("torch")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("torch.ao.quantization")

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

Sizes = tuple[int, ...]
LAYOUTS = ("plain", "channels last", "every other", "expanded")


@pytest.fixture(autouse=True)
def engines_as_before() -> Iterator[None]:
    before = wb.backends.quantized.engine, torch.backends.quantized.engine
    yield
    wb.backends.quantized.engine, torch.backends.quantized.engine = before


# ------------------------------------------------------------------------------------------- programs


def convolution(random: Any, channels: int, size: Sizes) -> tuple[str, dict[str, Any]]:
    """Draw a convolution, alone or with what is folded into it."""
    n = len(size)
    divisors = [one for one in range(1, channels + 1) if channels % one == 0]
    groups = int(random.choice(divisors))
    kernel = tuple(int(random.integers(1, 4)) for _ in size)
    dilation = tuple(int(random.integers(1, 3)) for _ in size)
    least = [
        max(0, math.ceil((d * (k - 1) + 1 - s) / 2)) for k, d, s in zip(kernel, dilation, size, strict=True)
    ]
    # No wider than the kernel reaches: PyTorch's convolutions end the process now and then where only padding is seen.
    most = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    padding = tuple(
        min(low + int(random.integers(0, 2)), high) for low, high in zip(least, most, strict=True)
    )
    inside = all(p < s for p, s in zip(padding, size, strict=True))
    modes = ["zeros", "reflect"] if n < 3 and inside else ["zeros"]
    # Of strided volumes that leave one place in a dim, oneDNN's codes are far from what floats give.
    stride = tuple(int(random.integers(1, 3)) if n < 3 else 1 for _ in size)
    return str(random.choice(["conv", "conv relu", "conv norm", "conv norm relu"])), {
        "in_channels": channels, "out_channels": groups * int(random.integers(1, 4)), "kernel_size": kernel,
        "stride": stride, "padding": padding, "dilation": dilation,
        "groups": groups, "bias": bool(random.integers(2)), "padding_mode": str(random.choice(modes)),
    }  # fmt: skip


def pooled(random: Any, size: Sizes) -> dict[str, Any]:
    """Draw where the windows of a pooling lie."""
    kernel = tuple(int(random.integers(1, min(4, one + 1))) for one in size)
    return {
        "kernel_size": kernel, "stride": tuple(int(random.integers(1, 3)) for _ in size),
        "padding": tuple(int(random.integers(0, k // 2 + 1)) for k in kernel),
    }  # fmt: skip


def program(random: Any, n: int, channels: int, size: Sizes) -> list[tuple[str, dict[str, Any]]]:
    """Draw some steps; what comes out of them is read by a linear layer."""
    found = []
    for _ in range(int(random.integers(2, 6))):
        kinds = ["conv"] * 4 + ["values", "residual", "joined", "scalars"]
        # PyTorch pools no volumes of codes by the largest, and no rows by the mean.
        kinds += ["max"] * (n < 3) + ["mean", "adaptive"] * (n == 2) + ["norm"] * (n > 1)
        kinds += ["nearest"] * (n == 2 and min(size) > 1)  # of one place theirs makes several
        kind, settings = str(random.choice(kinds)), {}
        if kind == "conv":
            kind, settings = convolution(random, channels, size)
        elif kind in ("max", "mean"):
            settings = pooled(random, size)
        elif kind == "adaptive":
            settings = {"output_size": tuple(int(random.integers(1, one + 1)) for one in size)}
        elif kind == "values":
            # The scale of an ELU is in no state of PyTorch's, and its ReLU6 has that of the input.
            settings = {"name": str(random.choice(["ReLU", "Hardswish", "LeakyReLU", "Sigmoid"]))}
        elif kind in ("norm", "residual", "joined"):
            settings = {"channels": channels}
        elif kind == "scalars":
            settings = {"add": float(random.normal()), "mul": float(random.uniform(0.5, 2))}
        step = (kind, settings)
        shape = build(torch, n, step).eval()(torch.zeros(1, channels, *size)).shape
        if min(shape[2:]) > 0 and math.prod(shape[1:]) < 3000:
            found.append(step)
            channels, size = shape[1], tuple(shape[2:])
    return [*found, ("linear", {"features": channels * math.prod(size)})]


def build(t: Any, n: int, step: tuple[str, dict[str, Any]]) -> Any:
    """Return a step as a module of either library."""
    nn, (kind, settings) = t.nn, step
    conv, norm = getattr(nn, f"Conv{n}d"), getattr(nn, f"BatchNorm{n}d")

    class Functions(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.at, self.then = t.ao.nn.quantized.FloatFunctional(), t.ao.nn.quantized.FloatFunctional()
            if kind != "scalars":
                self.inner = conv(settings["channels"], settings["channels"], 1)

        def forward(self, x: Any) -> Any:
            if kind == "scalars":
                return self.then.mul_scalar(self.at.add_scalar(x, settings["add"]), settings["mul"])
            inner = self.inner(x)
            if kind == "joined":
                return self.at.cat([x, inner, x], 1)
            return self.then.mul(self.at.add_relu(x, inner), x)

    if kind in ("residual", "joined", "scalars"):
        return Functions()
    if kind.startswith("conv"):
        made = {"norm": lambda: norm(settings["out_channels"]), "relu": nn.ReLU}
        return nn.Sequential(conv(**settings), *(made[one]() for one in kind.split()[1:]))
    simple = {
        "max": lambda: getattr(nn, f"MaxPool{n}d")(**settings), "mean": lambda: getattr(nn, f"AvgPool{n}d")(**settings),
        "adaptive": lambda: getattr(nn, f"AdaptiveAvgPool{n}d")(**settings),
        "nearest": lambda: nn.Upsample(scale_factor=2),
        "norm": lambda: norm(settings["channels"]), "values": lambda: getattr(nn, settings["name"])(),
        "linear": lambda: nn.Sequential(nn.Flatten(), nn.Linear(settings["features"], 7), nn.ReLU()),
    }  # fmt: skip
    return simple[kind]()


def network(t: Any, n: int, steps: list[tuple[str, dict[str, Any]]]) -> Any:
    """Return the network of either library, without what its forward would be: it is called step by step."""

    class Net(t.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.quant = t.ao.quantization.QuantStub()
            self.steps = t.nn.Sequential(*(build(t, n, step) for step in steps))

        def forward(self, x: Any) -> Any:
            return self.steps(self.quant(x))

    model = Net()
    # Statistics that are not those of a new layer.
    random = np.random.default_rng(len(steps))
    for name, one in model.named_buffers():
        if name.endswith(("running_mean", "running_var")):
            one.copy_(t.tensor(random.uniform(0.5, 1.5, tuple(one.shape)).astype(np.float32)))
    return model.eval()


def converted(t: Any, model: Any, kinds: list[str], x: Any) -> Any:
    q = t.ao.quantization
    groups = [
        [f"steps.{i}.{j}" for j in range(len(kind.split()))]
        for i, kind in enumerate(kinds)
        if kind.startswith("conv") and " " in kind
    ]
    groups += [[f"steps.{i}.1", f"steps.{i}.2"] for i, kind in enumerate(kinds) if kind == "linear"]
    model = q.fuse_modules(model, groups)
    model.qconfig = q.QConfig(q.MinMaxObserver.with_args(), weight_observer(t))
    prepared = q.prepare(model)
    with t.no_grad():
        prepared(x)
    return q.convert(prepared)


# -------------------------------------------------------------------------------------------- layouts


def laid(codes: Any, layout: str, random: Any) -> Any:
    """Return the same codes as they may lie in memory; of other batches, where that is what the layout is about."""
    if layout == "channels last":
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(codes, 1, -1)), -1, 1)
    if layout == "every other":
        wide = random.integers(0, 256, (*codes.shape[:-1], 2 * codes.shape[-1])).astype(np.uint8)
        wide[..., ::2] = codes
        return wide[..., ::2]
    return np.broadcast_to(codes[:1], codes.shape) if layout == "expanded" else codes


def pair(codes: Any, scale: float, zero: int) -> tuple[Any, Any]:
    theirs = torch._make_per_tensor_quantized_tensor(torch.tensor(np.ascontiguousarray(codes)), scale, zero)
    return new(QuantizedArray(codes, scale, zero, wb.quint8)), theirs


# --------------------------------------------------------------------------------------------- judging


@pytest.mark.parametrize("engine", ["x86", "onednn"])
@pytest.mark.parametrize("seed", range(30))
def test_each_layer_gives_the_same_codes(seed: int, engine: str) -> None:
    wb.backends.quantized.engine = torch.backends.quantized.engine = engine
    random = np.random.default_rng(seed)
    n = 1 + seed % 3
    channels, size = int(random.integers(1, 7)), tuple(int(random.integers(3, 9)) for _ in range(n))
    steps = program(random, n, channels, size)
    kinds = [kind for kind, _ in steps]
    torch.manual_seed(seed)
    theirs, mine = network(torch, n, steps), network(wb, n, steps)
    mine.load_state_dict({key: wb.from_numpy(one.numpy().copy()) for key, one in theirs.state_dict().items()})
    x = random.standard_normal((4, channels, *size)).astype(np.float32)
    theirs, mine = (
        converted(torch, theirs, kinds, torch.tensor(x)),
        converted(wb, mine, kinds, wb.from_numpy(x)),
    )
    file = io.BytesIO()
    torch.save(theirs.state_dict(), file)
    # The last digit of a scale is not what is judged here.
    mine.load_state_dict(wb.load(io.BytesIO(file.getvalue())))
    codes = theirs.quant(torch.tensor(x))
    np.testing.assert_array_equal(mine.quant(wb.from_numpy(x)).int_repr().numpy(), codes.int_repr().numpy())
    for place, step in enumerate(steps):
        following = theirs.steps[place](codes)
        held, scale = codes.int_repr().contiguous().numpy(), (codes.q_scale(), codes.q_zero_point())
        for layout in LAYOUTS:
            own, other = pair(laid(held, layout, random), *scale)
            compare(mine.steps[place](own), theirs.steps[place](other), f"{step} {layout}")
        # Of no batch at all PyTorch is not asked: its convolutions read what is not there.
        nothing = mine.steps[place](pair(held[:0], *scale)[0])
        assert tuple(nothing.shape) == (0, *following.shape[1:]), step
        codes = following


def compare(found: Any, expected: Any, what: str) -> None:
    assert tuple(found.shape) == tuple(expected.shape), what
    own, other = (np.array([one.q_scale(), one.q_zero_point()]) for one in (found, expected))
    np.testing.assert_allclose(own, other, rtol=1e-6, err_msg=what)
    apart = np.abs(found.int_repr().numpy().astype(int) - expected.int_repr().numpy())
    # A half may be met, and the scales be multiplied in another order.
    assert apart.max(initial=0) <= 1, what
    assert np.count_nonzero(apart) <= max(1, apart.size // 100), what
