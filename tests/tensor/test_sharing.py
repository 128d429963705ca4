"""Tensors whose memory processes share."""

from __future__ import annotations

import multiprocessing
import os
import threading
from typing import Any

import numpy as np
import pytest

import workbench as wb


def add_one(model: Any, queue: Any) -> None:
    with wb.no_grad():
        for parameter in model.parameters():
            parameter.add_(1.0)
    model.weight.sum().backward()
    queue.put((model.weight.is_shared(), model.weight.grad is not None))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_what_a_process_writes_is_seen_by_the_one_that_started_it(method: str) -> None:
    if method == "fork" and threading.active_count() > 1:
        method = "spawn"  # a fork beside threads of other tests is not this test's subject
    context: Any = multiprocessing.get_context(method)
    model = wb.nn.Linear(3, 2)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    optimizer = wb.optim.SGD(model.parameters(), lr=1.0)
    x = wb.ones(1, 3)
    first = model(x)
    assert model.share_memory() is model
    assert all(parameter.is_shared() for parameter in model.parameters())
    assert model(x).tolist() == first.tolist()
    queue = context.SimpleQueue()
    process = context.Process(target=add_one, args=(model, queue))
    process.start()
    assert queue.get() == (True, True)
    process.join()
    assert process.exitcode == 0
    for parameter, was in zip(model.parameters(), before, strict=True):
        np.testing.assert_array_equal(parameter.detach().numpy(), was.numpy() + 1.0)
        assert parameter.grad is None  # gradients are each process's own
    # Who keeps weights in a form of its own sees what another process wrote.
    assert model(x).tolist() != first.tolist()
    model(x).sum().backward()
    optimizer.step()
    assert all(parameter.is_shared() for parameter in model.parameters())


def test_it_is_in_place_and_once() -> None:
    x = wb.arange(6).reshape(2, 3).clone()
    assert not x.is_shared()
    assert x.share_memory_() is x
    address = x.data_ptr()
    assert x.share_memory_().data_ptr() == address
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert x[1].is_shared() and not x.clone().is_shared()
    assert wb.zeros(0).share_memory_().shape == (0,)


def test_memory_is_given_back() -> None:
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("only Linux lists the descriptors of a process there")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        wb.zeros(10).share_memory_()
    assert len(os.listdir("/proc/self/fd")) <= before + 1


def test_what_cannot_be_shared_says_so_and_is_as_it_was() -> None:
    view = wb.zeros(2, 3)[0]
    with pytest.raises(wb.AutogradError, match="a view of another"):
        view.share_memory_()
    assert not view.is_shared()
    quantized = wb.quantize_per_tensor(wb.ones(2), 0.1, 0, wb.qint8)
    with pytest.raises(wb.DTypeError, match="only plain numbers on the CPU are shared"):
        quantized.share_memory_()
