"""The pace of pictures, on a clock that moves only when the test says so."""

from __future__ import annotations

import threading

import pytest

from tests.live.models import Clock
from workbench.live.throttle import INTERVAL, REST, Throttle


class Work:
    """Work that takes `cost` seconds, on the fake clock and of processor time."""

    def __init__(self, cost: float = 0.0) -> None:
        self.clock = Clock()
        self.spent = 0.0
        self.cost = cost
        self.done: list[tuple[str, float]] = []
        self.throttle = Throttle(clock=self.clock, cost=lambda: self.spent, threaded=False)

    def ask(self, key: str = "one", *, urgent: bool = False, mark: str = "") -> None:
        self.throttle.request(key, lambda: self.do(mark or key), urgent=urgent)

    def do(self, mark: str) -> None:
        self.done.append((mark, self.clock.now))
        self.clock.now += self.cost
        self.spent += self.cost

    def run(self, until: float) -> None:
        """Let time pass up to `until`, waking exactly when the throttle says."""
        while (delay := self.throttle.delay()) is not None and self.clock.now + delay <= until:
            self.clock.now += delay
            assert self.throttle.step()
        self.clock.now = max(self.clock.now, until)


def test_the_first_picture_is_made_at_once() -> None:
    work = Work()
    work.ask()
    assert work.throttle.delay() == 0
    assert work.throttle.step()
    assert not work.throttle.step()
    assert work.throttle.delay() is None


def test_many_changes_give_at_most_twenty_pictures_a_second_and_the_last_one_arrives() -> None:
    work = Work()
    for step in range(1000):
        work.ask(mark=f"step {step}")
        work.run(1000 + (step + 1) * 0.001)
    work.run(1002)
    assert 20 <= len(work.done) <= 22
    assert work.done[-1][0] == "step 999"


def test_costly_pictures_take_at_most_a_twentieth_of_the_time() -> None:
    work = Work(cost=0.04)
    for step in range(1000):
        work.ask()
        work.run(1000 + (step + 1) * 0.01)
    assert work.spent <= 0.05 * 10 + work.cost
    assert len(work.done) >= int(10 / (work.cost * (1 + REST))), "it may rest, but no longer than it says"
    gaps = [after - before for (_, before), (_, after) in zip(work.done, work.done[1:], strict=False)]
    assert min(gaps) == pytest.approx(work.cost * (1 + REST))


def test_the_last_state_is_drawn_at_once_when_the_work_has_ended() -> None:
    work = Work(cost=1.0)
    work.ask()
    work.run(1001)
    work.ask(mark="last but one")
    work.ask(mark="last")
    assert work.throttle.delay() == pytest.approx(REST)
    work.throttle.hurry()
    assert work.throttle.delay() == pytest.approx(INTERVAL)
    work.run(1003)
    assert [mark for mark, _ in work.done] == ["one", "last"]
    work.throttle.hurry()
    assert work.throttle.delay() is None, "what nobody asked for is not drawn"


def test_what_is_found_after_the_work_has_ended_does_not_wait_for_what_its_last_picture_cost() -> None:
    work = Work(cost=1.0)
    work.ask()
    work.run(1001)
    work.ask(mark="last")
    work.throttle.hurry()
    work.run(1002)
    work.ask(mark="found beside")
    assert work.throttle.delay() == pytest.approx(INTERVAL)
    work.run(1003)
    work.ask(mark="of the next run")
    assert work.throttle.delay() == pytest.approx(REST), "the pictures after it rest as ever"


def test_a_last_picture_that_is_being_made_when_the_work_ends_keeps_nothing_waiting() -> None:
    work = Work(cost=1.0)
    work.throttle.request("one", lambda: (work.do("last"), work.throttle.hurry()))
    work.run(1001)
    work.ask(mark="found beside")
    assert work.throttle.delay() == pytest.approx(INTERVAL)
    work.run(1003)
    work.ask(mark="of the next run")
    assert work.throttle.delay() > 2 * INTERVAL  # type: ignore[operator]


def test_a_change_during_the_last_picture_is_drawn_after_it() -> None:
    work = Work(cost=1.0)
    work.throttle.request("one", lambda: (work.do("during"), work.ask(mark="after"), work.throttle.hurry()))
    work.run(1005)
    assert [mark for mark, _ in work.done] == ["during", "after"]


def test_what_a_person_waits_for_does_not_rest() -> None:
    work = Work(cost=1.0)
    work.ask()
    work.run(1001)
    work.ask()
    assert work.throttle.delay() == pytest.approx(REST)
    work.ask(urgent=True)
    assert work.throttle.delay() == pytest.approx(INTERVAL)
    work.ask()  # a later change that nobody waits for does not take the urgency away
    assert work.throttle.delay() == pytest.approx(INTERVAL)


def test_keys_have_a_pace_of_their_own_and_turns_are_fair() -> None:
    work = Work(cost=0.0005)
    for step in range(200):
        work.ask("one")
        work.ask("two")
        work.run(1000 + (step + 1) * 0.005)
    counts = [sum(mark == key for mark, _ in work.done) for key in ("one", "two")]
    assert min(counts) >= 18
    assert abs(counts[0] - counts[1]) <= 1


def test_work_that_fails_counts_and_is_not_repeated() -> None:
    work = Work()

    def fail() -> None:
        raise RuntimeError("no picture")

    work.throttle.request("one", fail)
    with pytest.raises(RuntimeError, match="no picture"):
        work.throttle.step()
    assert work.throttle.delay() is None
    work.ask()
    assert work.throttle.delay() == pytest.approx(INTERVAL)


def test_forgotten_keys_are_not_drawn() -> None:
    work = Work()
    work.ask()
    work.throttle.forget("one")
    assert work.throttle.delay() is None


def test_the_thread_does_the_work_and_outlives_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    throttle = Throttle()
    entered, done = threading.Event(), threading.Event()
    throttle.enter = entered.set

    def fail() -> None:
        raise RuntimeError("no picture")

    throttle.request("one", fail)
    throttle.request("two", done.set)
    assert entered.wait(10)
    assert done.wait(10)
    assert "a picture could not be made or sent" in caplog.text


def test_a_request_from_several_threads_is_never_lost() -> None:
    throttle = Throttle()
    done: set[str] = set()
    everything = threading.Event()

    def finish(key: str) -> None:
        done.add(key)
        if len(done) == 40:
            everything.set()

    def ask(start: int) -> None:
        for number in range(start, start + 10):
            key = str(number)
            throttle.request(key, lambda key=key: finish(key))  # type: ignore[misc]

    threads = [threading.Thread(target=ask, args=(start,)) for start in range(0, 40, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert everything.wait(10)
