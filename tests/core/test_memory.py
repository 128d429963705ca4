"""Memory: what is no longer used is given back, by a million calls, by backward as it goes, and by long graphs."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from workbench import kernels


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Measure from a clean start; pooled memory is another test's."""
    kernels.release_memory()
    # What a finalizer of another test's brought back to life goes in a later round only.
    for _ in range(10):
        if not gc.collect():
            break
    yield
    gc.collect()


def plain() -> Callable[[], None]:
    x, y = wb.ones(4), wb.ones(4)

    def step() -> None:
        x * y

    return step


def recorded() -> Callable[[], None]:
    x, y = wb.ones(4).requires_grad_(), wb.ones(4)

    def step() -> None:
        x * y

    return step


def mixed() -> Callable[[], None]:
    x = wb.ones(N=4, C=3).requires_grad_()

    def step() -> None:
        (x * 2.0 + x.exp()).sum("C").reshape(2, 2)[0]

    return step


def backward() -> Callable[[], None]:
    x = wb.ones(4).requires_grad_()

    def step() -> None:
        (x * x).sum().backward()

    return step


def in_place() -> Callable[[], None]:
    x = wb.ones(4)
    view = x[1:3]

    def step() -> None:
        x.add_(1.0)
        view.mul_(0.5)

    return step


def refused() -> Callable[[], None]:
    x, y = wb.ones(N=4), wb.ones(3)

    def step() -> None:
        try:
            x + y
        except wb.DimensionError:
            return
        raise AssertionError("sizes 4 and 3 do not broadcast")

    return step


CASES = {
    "plain": 20_000,
    "recorded": 20_000,
    "mixed": 1_000,
    "backward": 2_000,
    "in_place": 5_000,
    "refused": 300,
}


def kinds_of_cycles() -> Counter[str]:
    """Collect cycles, and return how many objects of which types they were."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
    finally:
        gc.set_debug(0)
    kinds = Counter(f"{type(one).__module__}.{type(one).__qualname__}" for one in gc.garbage)
    gc.garbage.clear()
    gc.collect()
    return kinds


def test_cycles_are_counted() -> None:
    gc.collect()
    ring: list[object] = []
    ring.append(ring)
    del ring
    assert kinds_of_cycles()["builtins.list"] == 1


@pytest.mark.parametrize("name", CASES)
def test_calls_leave_nothing_behind(name: str) -> None:
    step, count = globals()[name](), CASES[name]
    for _ in range(200):
        step()
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        gc.collect()  # empties CPython's lists of free objects, too
        objects, before = len(gc.get_objects()), tracemalloc.get_traced_memory()[0]
        for _ in range(count):
            step()
        kinds = kinds_of_cycles()
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
        gc.enable()
    assert after - before < 20_000, f"{after - before} bytes are left of {count} calls"
    assert kinds.total() < 50, f"of {count} calls only the collector of cycles freed {kinds.most_common(8)}"
    assert len(gc.get_objects()) - objects < 50


def resident() -> int:
    """Bytes of this process that lie in memory."""
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * 4096


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_million_calls_do_not_grow_the_process() -> None:
    x, y = wb.ones(4), wb.ones(4)
    recording = wb.ones(4).requires_grad_()
    for _ in range(10_000):
        x * y
        recording * y
    before = resident()
    for _ in range(500_000):
        x * y
    for _ in range(500_000):
        recording * y
    assert resident() - before < 4_000_000


def test_backward_frees_as_it_goes() -> None:
    # Numbers are kept for the gradient of every step; while it walks back, each is given back after its use.
    size, steps = 1 << 18, 24
    x = wb.tensor(np.linspace(0.1, 0.2, size)).requires_grad_()
    y = x
    tracemalloc.start()
    try:
        for _ in range(steps):
            y = y.exp()
            y = y * 0.1
        total = y.sum()
        del y
        recorded_bytes = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        total.backward()
        left, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    one = size * 8
    assert recorded_bytes > steps * one * 0.9, "each exp keeps its result"
    assert peak < recorded_bytes + 6 * one
    assert left < 3 * one, "what is left is the gradient"


def test_backward_keeps_what_it_is_asked_to_keep() -> None:
    x = wb.tensor([0.5]).requires_grad_()
    y = x.exp().exp()
    y.backward(retain_graph=True)
    first = x.grad.clone()
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * first.numpy())


@pytest.mark.parametrize("walked", [False, True])
def test_a_long_chain_is_freed_without_recursion(walked: bool) -> None:
    x = wb.ones(2).requires_grad_()
    y = x
    for _ in range(100_000):
        y = y + 1.0
    if walked:
        y.sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), [1.0, 1.0])
    del y
    gc.collect()


def test_a_long_chain_of_views_and_changes_is_freed() -> None:
    x = wb.ones(4).requires_grad_()
    y = x * 1.0
    for _ in range(5_000):
        y[1:3].mul_(1.0)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [1.0, 1.0, 1.0, 1.0])


def test_a_wide_graph_is_freed() -> None:
    x = wb.ones(2).requires_grad_()
    total = wb.stack([x * float(i) for i in range(2_000)]).sum()
    total.backward()
    np.testing.assert_array_equal(x.grad.numpy(), [1999_000.0, 1999_000.0])
