"""What overflows between the steps of a program is seen: rectifiers and maxima get the numbers that the ops get."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.compiler.test_chains import EXACT, WITH_RULE, sampled
from workbench import kernels, nn
from workbench.core.op import Op
from workbench.kernels.loader import native
from workbench.kernels.processor import multiplies_bfloat16

pytestmark = pytest.mark.skipif(not kernels.available(), reason="programs are made of compiled kernels")

F = nn.functional
UNSEEN = "a value is not finite, or so large that sums of it may not be"

ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "relu": F.relu, "relu6": F.relu6, "hardtanh": F.hardtanh, "hardswish": F.hardswish, "silu": F.silu,
    "sigmoid": wb.sigmoid, "gelu": F.gelu, "tanh": wb.tanh, "softmax": lambda x: F.softmax(x, 1),
    "max_pool2d": lambda x: F.max_pool2d(x, 1) if x.ndim == 4 else x.relu(),
}  # fmt: skip


def calls(compiled: Any) -> dict[str, int]:
    return wb.compiler.explain(compiled).calls


def same(found: Any, expected: Any, tolerance: float = 1e-5) -> None:
    found, expected = found.float().numpy(), expected.float().numpy()
    finite = np.isfinite(expected)
    assert np.array_equal(found[~finite], expected[~finite], equal_nan=True)
    largest = np.abs(expected[finite]).max(initial=0.0)
    np.testing.assert_allclose(found[finite], expected[finite], rtol=tolerance, atol=tolerance * largest)


class Overflowing(nn.Module):
    """Two layers: what the first gives of numbers above 1e8 is infinite, and the second one's sum of it NaN."""

    def __init__(self, layer: str, activation: Callable[[Any], Any], residual: bool = False) -> None:
        super().__init__()
        first, second = ([[1e31, 0.0], [0.0, 1e31]], [[1.0, -1.0], [0.5, 0.5]])
        self.layers = nn.ModuleList(
            nn.Conv2d(2, 2, 1, bias=False) if layer == "convolution" else nn.Linear(2, 2, bias=False)
            for _ in range(2)
        )
        for one, weight in zip(self.layers, (first, second), strict=True):
            one.weight = nn.Parameter(wb.tensor(weight).reshape(one.weight.shape))
        self.activation, self.residual = activation, residual

    def forward(self, x: Any) -> Any:
        y = self.layers[1](self.layers[0](x))
        return self.activation(y + x if self.residual else y)


@pytest.mark.parametrize("residual", [False, True], ids=["plain", "residual"])
@pytest.mark.parametrize("layer", ["convolution", "linear"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_an_activation_hides_no_overflow(activation: str, layer: str, residual: bool) -> None:
    model = Overflowing(layer, ACTIVATIONS[activation], residual).eval()
    compiled = wb.compile(model)
    sizes = (1, 2, 3, 3) if layer == "convolution" else (3, 2)
    with wb.no_grad():
        for size in (1e8, 1e-25):
            x = wb.full(sizes, size)
            expected = model(x)
            assert bool(expected.isnan().any()) == (size == 1e8)
            same(compiled(x), expected)
    assert calls(compiled).get("compiled", 0) >= 1


@pytest.mark.skipif(not multiplies_bfloat16(), reason="the processor multiplies no bfloat16 by itself")
def test_neither_does_one_in_bfloat16() -> None:
    model = Overflowing("convolution", F.relu).eval()
    compiled = wb.compile(model, precision="bfloat16")
    with wb.no_grad():
        x = wb.full((1, 2, 3, 3), 1e8)
        same(compiled(x), model(x))
        assert bool(compiled(x).isnan().any())


@pytest.mark.parametrize(
    "between",
    [wb.exp, lambda x: 1 / (x - 100), lambda x: wb.sqrt(x - 200), lambda x: x * x * x * x],
    ids=["exp", "quotient", "root", "power"],
)
def test_what_a_chain_makes_is_looked_at_before_a_rectifier(between: Callable[[Any], Any]) -> None:
    wb.manual_seed(0)
    layer = nn.Linear(4, 4)
    compiled = wb.compile(lambda x: layer(between(x)).relu())
    with wb.no_grad():
        for size in (100.0, 1e8):
            x = wb.full((3, 4), size)
            same(compiled(x), layer(between(x)).relu())


def test_layers_with_weights_that_may_overflow_by_themselves_have_no_step() -> None:
    layer = nn.Linear(2, 2, bias=False)
    layer.weight = nn.Parameter(wb.tensor([[3e38, -3e38], [3e38, 3e38]]))
    compiled = wb.compile(lambda x: layer(x).relu())
    with wb.no_grad():
        for size in (0.25, 100.0):
            x = wb.full((3, 2), size)
            same(compiled(x), layer(x).relu())
    (program,) = wb.compiler.explain(compiled).programs
    assert "so large that it may overflow" in program.eager["linear"]


def test_a_deep_network_is_looked_at_now_and_then() -> None:
    wb.manual_seed(0)

    class Deep(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Conv2d(8, 8, 3, padding=1) for _ in range(40))
            for one in self.layers:
                one.weight = nn.Parameter(wb.randn(8, 8, 3, 3) * (2 / 72) ** 0.5)

        def forward(self, x: Any) -> Any:
            for one in self.layers:
                x = one(x).relu()
            return x

    model = Deep().eval()
    compiled = wb.compile(model)
    with wb.no_grad():
        for size in (1.0, 1e8, 1e12):
            x = wb.randn(1, 8, 8, 8) * size
            same(compiled(x), model(x), 1e-4)
    (program,) = wb.compiler.explain(compiled).programs
    looks = program.steps["look own"]
    assert 1 <= looks <= 4
    assert calls(compiled)["compiled"] >= 1 and calls(compiled)[UNSEEN] >= 1


def test_bounded_networks_are_not_looked_at() -> None:
    compiled = wb.compile(wb.models.mobilenet_v2().eval())
    with wb.no_grad():
        compiled(wb.randn(1, 3, 64, 64))
    (program,) = wb.compiler.explain(compiled).programs
    # What is clamped is small, whatever came before.
    assert not any(name.startswith("look") for name in program.steps)


@pytest.mark.parametrize("dim", [-1, 1, 0])
def test_softmax_of_infinities_and_nan_is_that_of_the_op(dim: int) -> None:
    x = np.random.default_rng(0).standard_normal((6, 20, 5)).astype(np.float32)
    x[0] = -np.inf
    x[1, 3] = np.inf
    x[2, :, 2] = np.nan
    x[3, ::2] = -np.inf
    scores = wb.tensor(x)
    compiled = wb.compile(lambda x, y: (x + y).softmax(dim), fullgraph=True)
    zeros = wb.zeros(6, 20, 5)
    with wb.no_grad():
        assert np.array_equal(compiled(scores, zeros).numpy(), scores.softmax(dim).numpy(), equal_nan=True)
    assert calls(compiled) == {"compiled": 1}


@pytest.mark.parametrize("op", WITH_RULE, ids=lambda op: op.name)
def test_bounds_of_chains_hold(op: Op) -> None:
    known = 0
    for code, oracle, arrays in sampled(op, "float32"):
        with np.errstate(all="ignore"):
            values = np.abs(oracle(*arrays).astype(np.float64))
        largest = [float(np.abs(one.astype(np.float64)).max(initial=0.0)) for one in arrays]
        if not all(map(np.isfinite, largest)):
            continue
        (bound,) = code.built().bounds(largest)
        if np.isfinite(bound):
            known += 1
            assert np.all(values <= bound * (1 + 1e-6) + 1e-6), (values, bound)
    # Sums and products, at the least, are followed.
    assert known or op.name not in EXACT & {"add", "mul", "relu", "clamp", "maximum", "neg", "where", "sub"}


def test_views_are_as_large_as_what_they_show() -> None:
    program = native.compiled.Program(native.compiled.Store())
    x = program.input([2, 3], "float32", False)
    assert program.bound(program.permute(x, [1, 0])) == program.bound(x) < 1e10
