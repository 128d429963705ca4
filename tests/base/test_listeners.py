"""Functions that are told of changes: in order, while they come and go, each as often as it listens."""

from __future__ import annotations

from workbench.base.listeners import Listeners


def test_a_listener_may_stop_others_and_itself_while_it_is_told() -> None:
    heard: list[str] = []
    listeners: Listeners[[]] = Listeners()

    def first() -> None:
        heard.append("first")
        stop_first()
        stop_second()

    stop_first = listeners.add(first)
    stop_second = listeners.add(lambda: heard.append("second"))
    listeners.tell()
    assert heard == ["first", "second"]  # who listened when it began is told
    listeners.tell()
    assert heard == ["first", "second"] and not listeners


def test_one_that_listens_twice_is_told_twice_and_stops_once_for_each() -> None:
    heard: list[int] = []
    listeners: Listeners[[int]] = Listeners()
    stops = [listeners.add(heard.append) for _ in range(2)]
    listeners.tell(1)
    stops[0]()
    stops[0]()
    listeners.tell(2)
    stops[1]()
    listeners.tell(3)
    assert heard == [1, 1, 2]
