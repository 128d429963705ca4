"""Recording on and off, anomalies, and numbers kept another way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.autograd import (
    detect_anomaly,
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_detect_anomaly,
    set_grad_enabled,
)
from workbench.autograd.anomaly import is_anomaly_enabled
from workbench.autograd.graph import register_multi_grad_hook, saved_tensors_hooks


def leaf(*values: float) -> wb.Tensor:
    return wb.tensor([float(value) for value in values], requires_grad=True)


def test_blocks_nest_and_come_back() -> None:
    assert is_grad_enabled()
    with no_grad():
        assert not is_grad_enabled()
        with enable_grad():
            assert is_grad_enabled()
        assert not is_grad_enabled()
    block = no_grad()
    with block, block:
        assert not is_grad_enabled()
    assert is_grad_enabled()


@pytest.mark.parametrize(
    "decorate",
    [
        no_grad,
        no_grad(),
        lambda f: set_grad_enabled(False)(f),  # making it sets the mode: only once it is used
        inference_mode(),
        inference_mode,
    ],
)
def test_decorators(decorate: Any) -> None:
    assert is_grad_enabled()

    @decorate
    def double(x: Any, depth: int = 1) -> Any:
        """Twice."""
        assert not is_grad_enabled()
        return double(x, depth - 1) if depth else x * 2

    assert not double(leaf(1)).requires_grad
    assert (double.__name__, double.__doc__) == ("double", "Twice.")
    assert is_grad_enabled()


def test_decorated_generators_leave_the_mode_between_steps() -> None:
    @no_grad()
    def steps() -> Iterator[bool]:
        try:
            sent = yield is_grad_enabled()
            yield sent
        except KeyError:
            yield is_grad_enabled()
        return "end"  # type: ignore[return-value]

    running = steps()
    assert next(running) is False
    assert is_grad_enabled()
    assert running.send(7) == 7  # type: ignore[attr-defined]
    running = steps()
    next(running)
    assert running.throw(KeyError()) is False  # type: ignore[attr-defined]
    assert is_grad_enabled()
    with pytest.raises(StopIteration, match="end"):
        next(running)


def test_set_grad_enabled_as_a_setting() -> None:
    try:
        set_grad_enabled(False)
        assert not is_grad_enabled()
        with set_grad_enabled(True):
            assert is_grad_enabled()
        assert not is_grad_enabled()
    finally:
        set_grad_enabled(True)


def test_inference_tensors_are_never_part_of_a_gradient() -> None:
    x = leaf(1, 2)
    with inference_mode():
        assert is_inference_mode_enabled()
        y = x * 2
        y.add_(1)
        with inference_mode(False):
            assert not is_inference_mode_enabled()
            assert (x * 2).requires_grad
    assert y.is_inference()
    assert not x.is_inference()
    assert (x + y).requires_grad  # the sum reads neither
    with pytest.raises(wb.AutogradError, match="Inference tensors cannot be saved for backward"):
        x * y
    with pytest.raises(wb.AutogradError, match="Inplace update to inference tensor"):
        y.add_(1)
    with pytest.raises(wb.AutogradError, match="Setting requires_grad=True on inference tensor"):
        y.requires_grad_()
    (x * y.clone()).sum().backward()
    assert x.grad.tolist() == [3, 5]  # type: ignore[union-attr]


@pytest.mark.filterwarnings("ignore:invalid value")
def test_anomalies_name_the_op_and_the_line() -> None:
    x = leaf(-1.0)
    with detect_anomaly():
        assert is_anomaly_enabled()
        y = (x * 0.0).sqrt() * 0.0
        with pytest.raises(wb.AutogradError, match=r"'sqrt' returned nan .* made at test_modes\.py:\d+"):
            y.sum().backward()
    assert not is_anomaly_enabled()
    ((x * 0.0).sqrt() * 0.0).sum().backward()
    with set_detect_anomaly(True, check_nan=False):
        ((x * 0.0).sqrt() * 0.0).sum().backward()
    set_detect_anomaly(True)
    assert is_anomaly_enabled()
    set_detect_anomaly(False)
    y = ((x * 0.0).sqrt() * 0.0).sum()
    with detect_anomaly(), pytest.raises(wb.AutogradError, match="before anomaly detection was enabled"):
        y.backward()
    assert not is_anomaly_enabled()


def test_saved_numbers_go_through_the_hooks() -> None:
    kept: list[Any] = []
    read: list[int] = []

    def pack(tensor: Any) -> int:
        kept.append(tensor.detach().numpy().copy())
        return len(kept) - 1

    def unpack(position: int) -> Any:
        read.append(position)
        return wb.tensor(kept[position])

    x, w = leaf(1, 2), leaf(3, 4)
    with saved_tensors_hooks(pack, unpack):
        y = ((x * w).exp() + x).sum()
    packed = len(kept)
    assert packed == 3  # both operands of the product, the exponential's output
    y.backward()
    assert len(kept) == packed
    assert sorted(read) == [0, 1, 2]
    e = np.exp([3.0, 8.0])
    np.testing.assert_allclose(x.grad.numpy(), np.array([3.0, 4.0]) * e + 1, rtol=1e-6)  # type: ignore[union-attr]
    np.testing.assert_allclose(w.grad.numpy(), np.array([1.0, 2.0]) * e, rtol=1e-6)  # type: ignore[union-attr]


def test_an_unpack_hook_returns_a_tensor() -> None:
    x = leaf(1, 2)
    with saved_tensors_hooks(lambda t: 1, lambda packed: packed):
        y = x.exp().sum()
    with pytest.raises(TypeError, match="unpack_hook expected to be a Tensor"):
        y.backward()


def test_hooks_on_several_gradients() -> None:
    a, b, c = leaf(1), leaf(2), leaf(3)
    middle = a * b
    all_of: list[Any] = []
    any_of: list[Any] = []
    handle = register_multi_grad_hook([a, middle, c], all_of.append)
    register_multi_grad_hook([a, b], lambda g: any_of.append(g.tolist()), mode="any")
    for _ in range(2):
        (middle * middle + a).sum().backward(retain_graph=True)
    assert [[None if g is None else g.tolist() for g in one] for one in all_of] == [[[9], [4], None]] * 2
    assert len(any_of) == 2
    handle.remove()
    (middle * c).sum().backward()
    assert len(all_of) == 2
    with pytest.raises(ValueError, match="Expects mode to be one of"):
        register_multi_grad_hook([a], print, mode="some")
    with pytest.raises(wb.AutogradError, match="doesn't require gradient"):
        register_multi_grad_hook([a.detach()], print)
