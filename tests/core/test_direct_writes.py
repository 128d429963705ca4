"""Changes in place that are computed straight into their memory: nobody can tell them from those computed apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.core import inplace
from workbench.core.direct_writes import written_directly
from workbench.core.op import ops
from workbench.kernels import registry
from workbench.nn import functional as F
from workbench.ops.nn.activation import pointwise

WORDS = ("add", "sub", "mul", "div")
SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1e38, 1e-45]


def numbers(*sizes: int, seed: int = 0, dtype: str = "f4") -> np.ndarray:
    array = np.random.default_rng(seed).standard_normal(sizes).astype(dtype)
    array.reshape(-1)[: len(SPECIAL)] = SPECIAL[: array.size]
    return array


def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have all changes computed apart and copied."""
    monkeypatch.setattr(inplace, "written_directly", lambda *arguments: False)


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "plain": lambda x: x,
    "transposed": lambda x: x.T,
    "channels last": lambda x: x.reshape(2, -1, 3, 5).transpose(0, 3, 1, 2),
    "part": lambda x: x[2:5],
    "stepped": lambda x: x[::2, 1::3],
    "backwards": lambda x: x[::-1],
}


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("word", WORDS)
def test_as_if_computed_apart(word: str, layout: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> list[np.ndarray]:
        mine, other = numbers(6, 15, dtype=dtype), numbers(6, 15, seed=1, dtype=dtype)
        x, y = wb.from_numpy(LAYOUTS[layout](mine)), wb.from_numpy(LAYOUTS[layout](other))
        method = getattr(x, f"{word}_")
        for operand in (y, 3, -0.5, x, y, y[:1], x.clone()):
            assert method(operand) is x
        return [mine, other, np.array(x._version)]

    found = run()
    apart(monkeypatch)
    for one, expected in zip(found, run(), strict=True):
        np.testing.assert_array_equal(one, expected)


CHANGES: dict[str, Callable[[wb.Tensor], Any]] = {
    "relu_": lambda x: x.relu_(),
    "relu": lambda x: F.relu(x, inplace=True),
    "neg_": lambda x: x.neg_(),
    "abs_": lambda x: x.abs_(),
    "sqrt_": lambda x: x.sqrt_(),
    "clamp_": lambda x: x.clamp_(-0.5, 1),
    "clamp_, crossed": lambda x: x.clamp_(1.0, -1.0),
    "clamp_, NaN": lambda x: x.clamp_(float("nan"), 1.0),
    "clamp_, one bound": lambda x: x.clamp_(min=0.1),
    "clamp_, tensors": lambda x: x.clamp_(x * 0.5, x * 0.5 + 1.0),
    "fill_": lambda x: x.fill_(0.3),
    "zero_": lambda x: x.zero_(),
    "copy_": lambda x: x.copy_(x.flip(0)),
    "add_": lambda x: x.add_(x.flip(0)),
}


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("sizes", [(7,), (40, 50), (280, 300)], ids=repr)
@pytest.mark.parametrize("name", CHANGES)
def test_sizes_as_if_computed_apart(
    name: str, sizes: tuple[int, ...], dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run() -> np.ndarray:
        whole = numbers(*sizes, dtype=dtype)
        for part in (whole, whole[1:], whole.T, whole[::2]):
            x = wb.from_numpy(part)
            CHANGES[name](x)
            assert x._version == 1
        return whole

    found = run()
    apart(monkeypatch)
    monkeypatch.setattr(inplace, "filled", lambda *arguments: False)
    monkeypatch.setattr(pointwise, "written_directly", lambda *arguments: False)
    np.testing.assert_array_equal(found, run())


@pytest.mark.parametrize("threads", [1, 3])
def test_kernels_write_what_they_return(threads: int) -> None:
    before = wb.get_num_threads()
    wb.set_num_threads(threads)
    try:
        for kernel in map(registry.lookup, registry.names()):
            if kernel is None or kernel.into is None:
                continue
            x, bounds = numbers(300, 301), {"low": -0.25, "high": 0.5} if kernel.name == "clamp" else {}
            expected = kernel.run(x, **bounds)
            around = np.full(x.size + 2, 7.0, np.float32)
            out = around[1:-1].reshape(x.shape)
            kernel.into(out, x, *bounds.values())
            np.testing.assert_array_equal(out, expected)
            assert around[0] == around[-1] == 7.0
            kernel.into(x, x, *bounds.values())
            np.testing.assert_array_equal(x, expected)
    finally:
        wb.set_num_threads(before)


@pytest.mark.parametrize("word", WORDS)
def test_out_as_if_computed_apart(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> list[Any]:
        x, y = wb.from_numpy(numbers(4, 5)), wb.from_numpy(numbers(4, 5, seed=1))
        out, double = wb.zeros(4, 5), wb.zeros(4, 5, dtype=wb.float64)
        function = getattr(wb, word)
        assert function(x, y, out=out) is out
        function(x, 2.0, out=double)
        function(out, y, out=out)
        function(x, y[0], out=x)
        with pytest.warns(UserWarning, match="was resized"):
            function(x, y, out=double.clone()[0])
        return [out.numpy(), double.numpy(), x.numpy(), np.array((out._version, double._version, x._version))]

    found = run()
    apart(monkeypatch)
    for one, expected in zip(found, run(), strict=True):
        np.testing.assert_array_equal(one, expected)


def plain(*sizes: int) -> wb.Tensor:
    return wb.from_numpy(numbers(*(sizes or (4,))))


def traced_like() -> wb.Tensor:
    return wb.zeros(4, requires_grad=True)


def test_what_is_plain_is_written_directly() -> None:
    x = plain(3, 4)
    memory = x.numpy()
    assert written_directly(x, ops.add, (x, plain(3, 4)))
    assert written_directly(x, ops.mul, (x, x))
    assert written_directly(x[1:], ops.sub, (x[1:], 2))
    assert written_directly(x, ops.div, (x.view(3, 4), 2.0))
    with wb.no_grad():
        leaf = wb.ones(4, requires_grad=True)
        assert written_directly(leaf, ops.add, (leaf, traced_like()))
    assert x._version == 4 and np.shares_memory(memory, x.numpy())


@pytest.mark.parametrize(
    "call",
    [
        lambda: (x := plain(), (x, traced_like())),  # to be recorded
        lambda: (x := traced_like() * 1, (x, 2.0)),
        lambda: (x := traced_like()[1:], (x, 2.0)),
        lambda: (x := plain().rename("N"), (x, 2.0)),  # names are put together by rules
        lambda: (x := plain(), (x, plain().rename("N"))),
        lambda: (x := plain(4, 4), (x, x.t())),  # read where it was written already
        lambda: (x := plain(8), (x[1:], x[:-1])),
        lambda: (x := plain(1).expand(4), (x, 2.0)),  # one place for several entries
        lambda: (x := plain(8).as_strided((3, 3), (2, 1)), (x, 2.0)),
        lambda: (x := plain(), (x, plain(1))),  # other sizes and types
        lambda: (x := plain(), (x, wb.tensor(2.0))),
        lambda: (x := plain(), (x, plain().double())),
        lambda: (x := wb.tensor([1, 2]), (x, 2)),
        lambda: (x := plain().half(), (x, 2.0)),
        lambda: (x := plain(), (x, 1j)),
        lambda: (x := plain(), (x, (1 << 24) + 1)),
        lambda: (plain(), (2.0, 2.0)),
    ],
)
def test_what_is_not_is_left_alone(call: Callable[[], tuple[wb.Tensor, tuple[Any, ...]]]) -> None:
    target, operands = call()
    before, version = np.array(target.detach().numpy()), target._version
    assert not written_directly(target, ops.add, operands)
    np.testing.assert_array_equal(target.detach().numpy(), before)
    assert target._version == version


def test_refusals_are_those_of_all_changes_in_place() -> None:
    leaf = wb.ones(4, requires_grad=True)
    with pytest.raises(wb.AutogradError, match="a leaf Variable that requires grad"):
        leaf.add_(1.0)
    x = plain(8)
    with pytest.raises(wb.DimensionError, match="refer to a single memory location"):
        x[1:].add_(x[:-1])
    with pytest.raises(wb.DimensionError, match="more than one element of the written-to tensor"):
        wb.ones(1).expand(4).mul_(2.0)
    with pytest.raises(wb.DimensionError, match="doesn't match the broadcast shape"):
        plain(1).add_(plain(4))
    with pytest.raises(wb.AutogradError, match="don't support automatic differentiation"):
        wb.add(leaf, leaf, out=wb.zeros(4))
    with pytest.raises(wb.AutogradError, match="don't support automatic differentiation"):
        wb.add(plain(), plain(), out=leaf)
    assert leaf.tolist() == [1.0] * 4
    with wb.inference_mode():
        inside = wb.zeros(4)
    with pytest.raises(wb.AutogradError, match="Inplace update to inference tensor"):
        inside.add_(1.0)


def test_gradients_know_of_what_was_overwritten() -> None:
    kept, leaf = plain(), wb.ones(4, requires_grad=True)
    product = leaf * kept
    kept.mul_(2.0)
    with pytest.raises(wb.AutogradError, match="modified by an inplace operation"):
        product.sum().backward()


def test_mirrors_follow() -> None:
    x = wb.tensor([1 + 2j, 3 - 1j])
    imaginary = x.conj().imag
    imaginary.mul_(2.0)
    assert x.tolist() == [1 + 4j, 3 - 2j]
    x.imag.add_(1.0)
    assert imaginary.tolist() == [-5.0, 1.0]


def test_operands_too_many_are_refused() -> None:
    x = plain()
    with pytest.raises(TypeError):
        x.add_(1.0, 2.0)
    with pytest.raises(TypeError):
        wb.mul(x, out=x)
    assert x._version == 0


def test_an_operand_that_lies_otherwise() -> None:
    target, other = wb.from_numpy(numbers(300, 280).T), wb.from_numpy(numbers(280, 300) - 0.5)
    expected = np.maximum(other.numpy(), 0)
    assert written_directly(target, ops.relu, (other,))
    np.testing.assert_array_equal(target.numpy(), expected)
