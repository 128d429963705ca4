"""A gesture is done once and in order, however often it arrives, and from whichever thread."""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest

from tests.live.models import Observers, Recorder, gesture, message
from workbench.live.answer import answer
from workbench.live.ledger import FORGOTTEN, MAXIMUM_REPLIES, MAXIMUM_SENDERS, Ledger
from workbench.live.link import KernelLink
from workbench.live.messages import PROTOCOL_VERSION, Reply, Request
from workbench.live.model import Refused
from workbench.live.registry import Registry
from workbench.live.renderers import Renderers
from workbench.live.selection import Selection
from workbench.live.throttle import Throttle


def request(number: int, oldest: int = 1, sender: str = "page") -> Request:
    return Request("event", PROTOCOL_VERSION, sender, number, oldest, "m", {"id": number})


class Doer:
    """Does gestures and keeps which; the seventh is refused."""

    def __init__(self) -> None:
        self.done: list[tuple[str, int]] = []

    def __call__(self, one: Request) -> Reply:
        self.done.append((one.sender, one.number))
        return Reply("reply", PROTOCOL_VERSION, one.sender, one.number, one.model, one.number != 7, "")


def test_a_repetition_is_answered_again_and_not_done_again() -> None:
    ledger, do = Ledger(), Doer()
    first = [ledger.once(request(number), do) for number in (1, 2, 7 - 4)]
    again = [ledger.once(request(number), do) for number in (1, 2, 3)]
    assert first == again
    assert do.done == [("page", 1), ("page", 2), ("page", 3)]


def test_a_refusal_is_repeated_too() -> None:
    ledger, do = Ledger(), Doer()
    answers = [ledger.once(request(7, 7), do) for _ in range(2)]
    assert [one is not None and one.accepted for one in answers] == [False, False]
    assert len(do.done) == 1


def test_what_is_not_its_turn_is_not_answered_until_what_lacks_has_come() -> None:
    ledger, do = Ledger(), Doer()
    assert ledger.once(request(2), do) is None
    assert ledger.once(request(3), do) is None
    for number in (1, 2, 3):
        assert ledger.once(request(number), do) is not None
    assert [number for _, number in do.done] == [1, 2, 3]


def test_answers_that_a_sender_has_are_forgotten_and_a_stray_copy_does_nothing() -> None:
    ledger, do = Ledger(), Doer()
    ledger.once(request(1), do)
    ledger.once(request(2, oldest=2), do)
    stray = ledger.once(request(1), do)
    assert stray is not None
    assert (stray.accepted, stray.reason) == (False, FORGOTTEN)
    assert len(do.done) == 2


def test_memory_is_bounded_and_a_forgotten_sender_begins_where_it_is() -> None:
    ledger, do = Ledger(), Doer()
    for sender in range(MAXIMUM_SENDERS + 5):
        ledger.once(request(1, sender=str(sender)), do)
    assert len(ledger._senders) == MAXIMUM_SENDERS
    assert ledger.once(request(9, oldest=9, sender="0"), do) is not None
    for number in range(1, MAXIMUM_REPLIES + 50):
        ledger.once(request(number, sender="chatty"), do)
    assert len(ledger._senders["chatty"].replies) == MAXIMUM_REPLIES


@pytest.mark.parametrize(("number", "oldest"), [(0, 0), (3, 4), (1, 0), (-2, -2)])
def test_numbers_that_are_none_are_refused(number: int, oldest: int) -> None:
    ledger, do = Ledger(), Doer()
    with pytest.raises(Refused, match=f"not {number} and {oldest}"):
        ledger.once(request(number, oldest), do)
    assert do.done == []


def test_a_repetition_that_comes_while_the_first_is_done_waits_for_its_answer() -> None:
    ledger, do = Ledger(), Doer()
    begun, go_on = threading.Event(), threading.Event()

    def slowly(one: Request) -> Reply:
        begun.set()
        assert go_on.wait(60)
        return do(one)

    answers: list[Reply | None] = []
    threads = [threading.Thread(target=lambda: answers.append(ledger.once(request(1), slowly)))]
    threads[0].start()
    assert begun.wait(60)
    threads.append(threading.Thread(target=lambda: answers.append(ledger.once(request(1), do))))
    threads[1].start()
    go_on.set()
    for thread in threads:
        thread.join(60)
    assert len(do.done) == 1
    assert answers[0] == answers[1] is not None


@pytest.mark.parametrize("seed", range(5))
def test_messages_that_are_lost_doubled_and_late_lose_nothing(seed: int) -> None:
    """A page that writes again what was not answered, over a way on which anything may happen."""
    chance = random.Random(seed)
    ledger, do = Ledger(), Doer()
    waiting = list(range(1, 201))
    under_way: list[Request] = []
    for _ in range(5000):
        if not waiting:
            break
        window = waiting[: chance.randint(1, 20)]
        under_way += [request(number, waiting[0]) for number in window if chance.random() < 0.7]
        under_way += chance.sample(under_way, len(under_way) // 10)
        chance.shuffle(under_way)
        for _ in range(chance.randint(0, len(under_way))):
            reply = ledger.once(under_way.pop(), do)
            if reply is not None and reply.number in waiting and chance.random() < 0.7:
                waiting.remove(reply.number)
    assert waiting == []
    assert [number for _, number in do.done] == list(range(1, 201))


# ---------------------------------------------------------------------------------------------- on the link


@pytest.fixture
def model() -> Observers:
    return Observers()


def make_link(model: Observers) -> KernelLink:
    registry = Registry()
    registry.show(model)
    return KernelLink(
        Recorder(),
        registry,
        Renderers(registry),
        Selection(),
        throttle=Throttle(threaded=False),
        ledger=Ledger(),
    )


def test_the_link_answers_repetitions_on_the_channel_that_asks(model: Observers) -> None:
    link = make_link(model)
    first, second = Recorder("1"), Recorder("2")
    said = gesture(model.id, {"type": "select", "id": "a"})
    link.receive(first, message(**said))
    model.selected = "changed since"
    link.receive(second, message(**said))
    assert first.take() == second.take()
    assert model.selected == "changed since", "a repetition must not be done again"


def test_the_link_says_nothing_of_what_is_not_its_turn(model: Observers) -> None:
    link, control = make_link(model), Recorder()
    early = gesture(model.id, {"type": "select", "id": "b"}, 2, sender="page", oldest=1)
    link.receive(control, message(**early))
    assert (control.take(), model.selected) == ([], None)
    link.receive(control, message(**{**early, "number": 1, "event": {"type": "select", "id": "a"}}))
    link.receive(control, message(**early))
    assert [(one["number"], one["accepted"]) for one in control.take()] == [(1, True), (2, True)]
    assert model.selected == "b"


def test_a_refused_gesture_does_not_hold_up_the_next(model: Observers) -> None:
    registry, ledger = Registry(), Ledger()
    registry.know(model)
    events: list[dict[str, Any]] = [
        {"type": "explode"},
        {"type": "select", "id": "z"},
        {"type": "select", "id": "a"},
    ]
    replies = [
        answer(gesture(model.id, event, number, sender="page", oldest=1), registry, Selection(), ledger)
        for number, event in enumerate(events, 1)
    ]
    assert [reply is not None and reply.accepted for reply in replies] == [False, False, True]
    assert model.selected == "a"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"number": "1"}, "'event'.number is a whole number, not '1'"),
        ({"number": True}, "'event'.number is a whole number, not True"),
        ({"number": 0, "oldest": 0}, "counts from 1"),
        ({"oldest": 5}, "counts from 1"),
        ({"sender": 3}, "'event'.sender is text, not 3"),
        ({"sender": "x" * 2000}, "at most 1,000 are taken"),
    ],
)
def test_numbers_of_a_page_are_checked(model: Observers, change: dict[str, object], words: str) -> None:
    link, control = make_link(model), Recorder()
    link.receive(control, message(**{**gesture(model.id, {"type": "select", "id": "a"}), **change}))
    (reply,) = control.take()
    assert words in reply["reason"]
    assert (reply["accepted"], model.selected) == (False, None)
