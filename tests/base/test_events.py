"""Publish and subscribe."""

from __future__ import annotations

import threading

from workbench.base import events


class Source:
    """Something that announces itself."""


class Derived(Source):
    """A kind of it."""


def test_listeners_hear_in_order_and_can_stop() -> None:
    heard: list[str] = []
    stop_first = events.subscribe(int, lambda source: heard.append(f"first {source}"))
    stop_second = events.subscribe(int, lambda source: heard.append(f"second {source}"))
    events.publish(1)
    stop_first()
    stop_first()
    events.publish(2)
    events.publish("another")
    stop_second()
    assert heard == ["first 1", "second 1", "second 2"]
    assert not events.listening(1)


def test_who_listens_to_a_type_hears_those_derived_from_it_once() -> None:
    heard: list[object] = []
    source, derived = Source(), Derived()
    stops = [events.subscribe(kind, heard.append) for kind in (Source, Derived)]
    try:
        events.publish(source)
        events.publish(derived)
    finally:
        for stop in stops:
            stop()
    # Two bound methods of one list are one listener.
    assert heard == [source, derived]
    assert not events.listening(derived)
    stop = events.subscribe(Derived, heard.append)
    assert (events.listening(derived), events.listening(source)) == (True, False)
    stop()


def test_a_listener_may_leave_while_others_are_told() -> None:
    heard: list[int] = []
    stops = [events.subscribe(Source, lambda source: (stops[0](), heard.append(0))[1])]
    stops.append(events.subscribe(Source, lambda source: heard.append(1)))
    events.publish(Source())
    events.publish(Source())
    stops[1]()
    assert heard == [0, 1, 1]


def test_subscriptions_from_many_threads_are_all_kept() -> None:
    stops: list[object] = []
    threads = [
        threading.Thread(target=lambda: stops.append(events.subscribe(Source, lambda source: None)))
        for _ in range(32)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert events.listening(Source())
    for stop in stops:
        stop()  # type: ignore[operator]
    assert not events.listening(Source())
