"""A training that is stopped, paused or interrupted from outside."""

from __future__ import annotations

import signal
import threading
import time
from typing import Any

import pytest

from tests.train.parts import loader, same, trainer, weights
from workbench.train import Callback, Trainer


class At(Callback):
    """Does something after a batch of a number."""

    def __init__(self, batch: int, action: Any) -> None:
        self.left, self.action = batch, action

    def on_batch_end(self, trainer: Trainer) -> None:
        self.left -= 1
        if self.left == 0:
            self.action(trainer)


def test_stop_pause_and_resume_from_another_thread() -> None:
    made = trainer()
    assert [made.stop(), made.pause(), made.resume()] == [False] * 3
    paused = threading.Event()
    seen: list[Any] = []

    class Tell(Callback):
        def on_pause(self, trainer: Trainer) -> None:
            paused.set()

    def other() -> None:
        paused.wait(30)
        seen.append((made.status, made.step))
        time.sleep(0.05)
        seen.append((made.status, made.step))
        made.control.resume()

    made.callbacks.append(Tell())
    made.callbacks.append(At(2, lambda one: one.pause()))
    made.callbacks.append(At(6, lambda one: one.stop()))
    thread = threading.Thread(target=other)
    thread.start()
    history = made.fit(loader(), epochs=3)
    thread.join(30)
    assert seen == [("paused", 2)] * 2
    assert (made.status, made.step, len(history)) == ("stopped", 6, 6)
    assert str(history).splitlines()[-1].startswith("epoch 2, unfinished: 2 steps")


def test_a_stop_ends_a_pause_and_two_cannot_train_at_once() -> None:
    made = trainer()

    def again(one: Trainer) -> None:
        with pytest.raises(RuntimeError, match="this trainer is training already"):
            one.fit(loader())
        one.pause()
        threading.Timer(0.05, one.stop).start()

    made.callbacks.append(At(2, again))
    made.fit(loader())
    assert (made.status, made.step) == ("stopped", 2)


class Slow:
    """Gives the batches of a loader, and does something before each."""

    def __init__(self, loader: Any, before: Any) -> None:
        self.loader, self.before = loader, before

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Any:
        for batch in self.loader:
            self.before()
            yield batch


@pytest.mark.parametrize("where", ["forward", "step", "loader", "validation"])
def test_an_interrupt_waits_for_the_step(where: str) -> None:
    """SIGINT amid a batch: that step is whole, and what comes after is what would have come."""
    expected = trainer(seed=3)
    expected.fit(loader(), loader(), epochs=3)
    made = trainer(seed=3)
    count = [0]

    def interrupt(*_: Any) -> None:
        count[0] += 1
        if count[0] == 6:
            signal.raise_signal(signal.SIGINT)

    batches = loader()
    if where == "forward":
        made.model[2].register_forward_hook(lambda module, *_: interrupt() if module.training else None)
    elif where == "step":
        made.optimizer.register_step_pre_hook(interrupt)
    elif where == "loader":
        batches = Slow(batches, interrupt)
    else:
        made.model[2].register_forward_hook(lambda module, *_: None if module.training else interrupt())
    with pytest.raises(KeyboardInterrupt):
        made.fit(batches, loader(), epochs=3)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert (made.status, made.message) == ("stopped", "interrupted")
    assert len(made.history) == made.step == (8 if where == "validation" else 6)
    assert all(module.training for module in made.model.modules())
    made.fit(batches, loader(), epochs=3, resume=True)
    same(weights(made), weights(expected))
    assert [one.values for one in made.history.epochs] == [one.values for one in expected.history.epochs]


def test_a_second_interrupt_breaks_a_batch_but_never_a_step() -> None:
    made = trainer()

    def twice(*_: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    before = weights(made)
    handle = made.model[2].register_forward_hook(twice)
    with pytest.raises(KeyboardInterrupt):
        made.fit(loader())
    same(weights(made), before)
    assert made.step == 0
    handle.remove()
    handle = made.optimizer.register_step_pre_hook(twice)
    with pytest.raises(KeyboardInterrupt):
        made.fit(loader())
    assert made.step == len(made.history) == 1
    handle.remove()
    made.fit(loader())
    assert made.step == 5


def test_an_error_in_a_batch_leaves_no_half_of_it() -> None:
    made = trainer()
    before = weights(made)

    def fail(*_: Any) -> None:
        raise OSError("no more")

    handle = made.model[4].register_forward_hook(fail)
    with pytest.raises(OSError, match="no more"):
        made.fit(loader())
    same(weights(made), before)  # also the running means, which the forward pass had moved
    handle.remove()
    made.fit(loader(), epochs=1, resume=True)
    assert (made.step, made.epoch) == (3, 1)
