"""Publish and subscribe."""

from __future__ import annotations

import threading

from workbench.base import events


def test_listeners_hear_in_order_and_can_stop() -> None:
    heard: list[str] = []
    stop_first = events.subscribe("t", lambda topic, source: heard.append(f"first {source}"))
    stop_second = events.subscribe("t", lambda topic, source: heard.append(f"second {source}"))
    events.publish("t", 1)
    stop_first()
    stop_first()
    events.publish("t", 2)
    events.publish("another", 3)
    stop_second()
    assert heard == ["first 1", "second 1", "second 2"]
    assert not events.listening("t")


def test_a_listener_may_leave_while_others_are_told() -> None:
    heard: list[int] = []
    stops = [events.subscribe("t", lambda topic, source: (stops[0](), heard.append(0))[1])]
    stops.append(events.subscribe("t", lambda topic, source: heard.append(1)))
    events.publish("t", None)
    events.publish("t", None)
    stops[1]()
    assert heard == [0, 1, 1]


def test_subscriptions_from_many_threads_are_all_kept() -> None:
    stops: list[object] = []
    threads = [
        threading.Thread(target=lambda: stops.append(events.subscribe("t", lambda topic, source: None)))
        for _ in range(32)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert events.listening("t")
    for stop in stops:
        stop()  # type: ignore[operator]
    assert not events.listening("t")
