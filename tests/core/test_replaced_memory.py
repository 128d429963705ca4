"""Values that get new memory while they are used, by another thread or by code that Python's collector runs."""

from __future__ import annotations

import contextlib
import gc
import itertools
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.core import Absent, Op, table
from workbench.testing.values import inputs_of, several

SIZES = [(2, 3), (5,), (3, 2, 4)]


@contextlib.contextmanager
def replacing(renew: Callable[[], None]) -> Iterator[None]:
    """Have values renewed whenever an object is made that Python's collector looks after."""

    def called(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            renew()

    often = gc.get_threshold()
    gc.callbacks.append(called)
    # Only what is new is looked through: it would take long otherwise.
    gc.set_threshold(1, 1 << 30, 1 << 30)
    try:
        yield
    finally:
        gc.set_threshold(*often)
        gc.callbacks.remove(called)


@contextlib.contextmanager
def replacing_beside(renew: Callable[[], None]) -> Iterator[None]:
    """Have values renewed by another thread, which runs where NumPy copies without the interpreter's lock."""
    over = threading.Event()

    def run() -> None:
        while not over.is_set():
            renew()

    often = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    other = threading.Thread(target=run)
    other.start()
    try:
        yield
    finally:
        over.set()
        other.join()
        sys.setswitchinterval(often)


def with_a_copy(values: list[Any]) -> Callable[[], None]:
    """Give values with arrays of their own a copy of them, and let go of the old one."""

    def renew() -> None:
        for value in values:
            if type(value.payload) is np.ndarray and value._view is None:
                value.payload = value.payload.copy(order="K")

    return renew


def outcome(op: Op, inputs: tuple[Any, ...], params: Any, known: list[Any]) -> list[Any]:
    """Return what an op gives, and the gradients where it has some; add the values on the way to those known."""
    wb.manual_seed(0)
    starts = [one for one in inputs if isinstance(one, wb.Tensor)]
    known += starts
    outs = several(op(*inputs, **params))
    ends = [one for one in outs if isinstance(one, wb.Tensor)]
    known += ends
    starts = [one for one in starts if one.requires_grad]
    ends = [one for one in ends if one.requires_grad]
    if not starts or not ends:
        return list(outs)
    slopes = [wb.ones_like(one.detach()) for one in ends]
    return [*outs, *wb.autograd.grad(ends, starts, slopes, allow_unused=True)]


def numbers(result: Any) -> Any:
    """The array of a value that has one."""
    if isinstance(result, wb.Tensor) and type(result.payload) is np.ndarray:
        return result.payload
    return None


@pytest.mark.parametrize("op", table(), ids=lambda op: op.name)
def test_a_call_and_its_gradient(op: Op) -> None:
    for sample in op.samples():
        inputs = inputs_of(sample, requires_grad=not isinstance(op.vjp, Absent))
        expected = outcome(op, inputs, sample.params, [])
        values: list[Any] = []
        with replacing(with_a_copy(values)):
            found = outcome(op, inputs, sample.params, values)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_equal(numbers(one), numbers(other))


def test_sizes_are_those_of_one_moment() -> None:
    value, turns = wb.ones(2, 3), itertools.cycle(SIZES)
    others: list[Any] = []

    def renew() -> None:
        value.payload = np.ones(next(turns), np.float32)
        # What was given back is another array at once.
        others.append(np.ones((7, 7, 7), np.float32))

    with replacing(renew):
        assert {tuple(value.shape) for _ in range(200)} == set(SIZES)


def test_parts_are_shown_and_written() -> None:
    value = wb.zeros(4, 3)
    with replacing(with_a_copy([value])):
        for i in range(100):
            before = value[i % 4].tolist()
            # Of so many dims Python keeps no tuples ready: to read the key one is made.
            value[(i % 4, *[None] * 21)] = float(i)
            # A write goes to the memory that a value had as it began.
            assert value[i % 4].tolist() in ([float(i)] * 3, before)


@pytest.mark.parametrize("names", [None, ("row", "column")])
def test_a_program_with_large_values(names: Any) -> None:
    def gradients(known: list[Any]) -> list[Any]:
        leaves = [wb.full((64, 64), 0.5 + i, names=names, requires_grad=True) for i in range(2)]
        known += leaves
        a, b = (leaf * 0.1 for leaf in leaves)
        known += [a, b]
        product = (a * b).exp()
        known.append(product)
        (product.sum() + a.relu().sum() + (a * a).sum() + a.softmax(1).sum()).backward()
        return [leaf.grad.numpy() for leaf in leaves]

    expected = gradients([])
    values: list[Any] = []
    for _ in range(20):
        values.clear()
        with replacing(with_a_copy(values)):
            found = gradients(values)
        np.testing.assert_equal(found, expected)


@pytest.mark.parametrize("turned", [False, True])
def test_steps_of_an_optimizer(turned: bool) -> None:
    weight = nn.Parameter(wb.ones(256, 128))
    optimizer = wb.optim.Adam([weight])
    weight.grad = wb.ones(128, 256).t().detach() if turned else wb.ones(256, 128)
    gradient = weight.grad
    gradient._view = None
    with replacing_beside(with_a_copy([weight, gradient])):
        for _ in range(200):
            optimizer.step()
    # A step goes to the memory that a parameter had as it began.
    assert weight.shape == (256, 128) and np.isfinite(weight.detach().numpy()).all()


def test_copies_and_changes_in_place() -> None:
    target, source = wb.zeros(256, 128), wb.ones(128, 256).t()
    source._view = None
    with wb.no_grad(), replacing_beside(with_a_copy([target, source])):
        for _ in range(200):
            target.copy_(source)
            target.add_(source)
            target[1:] = source[1:]
            target.fill_(2.0)
            target.mul_(0.5)
    assert target.shape == (256, 128) and np.isfinite(target.numpy()).all()


def test_a_copy_goes_to_memory_that_is_still_there() -> None:
    target, source = wb.zeros(1024, 512), wb.ones(512, 1024).t()
    untouched: list[bool] = []

    def renew() -> None:
        target.payload = target.payload.copy()
        # Where nobody holds the former memory, it is given out again.
        other = np.full((1024, 512), 7.0, np.float32)
        time.sleep(0.002)
        untouched.append(bool((other == 7.0).all()))

    with wb.no_grad(), replacing_beside(renew):
        for _ in range(100):
            target.copy_(source)
    assert untouched and all(untouched)
