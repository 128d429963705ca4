"""The kernel's end of the link, with channels that record what is written."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from tests.live.models import Clock, Nodes, Observers, Recorder, gesture, message
from workbench.base import events
from workbench.live.link import KERNEL, SILENCE, KernelLink
from workbench.live.messages import PROTOCOL_VERSION
from workbench.live.registry import Registry
from workbench.live.renderers import Renderers
from workbench.live.selection import Selection
from workbench.live.throttle import Throttle


class World:
    """A link with everything around it, in one thread, on one clock."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.registry = Registry()
        self.renderers = Renderers(self.registry)
        self.renderers.register(list, lambda source: Observers())
        self.selection = Selection()
        self.throttle = Throttle(clock=self.clock, cost=lambda: 0.0, threaded=False)
        self.data = Recorder()
        self.link = KernelLink(
            self.data, self.registry, self.renderers, self.selection, clock=self.clock, throttle=self.throttle
        )

    def page(self, *views: str, name: str = "page") -> Recorder:
        """A page that has said hello."""
        control = Recorder(name)
        self.link.receive(control, message(type="hello", views=list(views)))
        return control

    def ask(self, control: Recorder, model: str, **event: object) -> dict[str, object]:
        """Send an event; return the answer."""
        control.take()
        self.link.receive(control, message(**gesture(model, event)))
        (reply,) = control.take()
        json.dumps(reply, allow_nan=False)
        return reply

    def draw(self) -> list[dict[str, object]]:
        """Let time pass until nothing is left to be drawn; return what was written."""
        while self.throttle.delay() is not None:
            self.clock.now += 0.05
            self.throttle.step()
        return self.data.take()


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.renderers.stop()


def test_a_page_is_welcomed_and_told_what_there_is(world: World) -> None:
    first, second = world.registry.show(Observers()), world.registry.show(Observers())
    control = world.page("histogram")
    assert control.take() == [
        {"type": "welcome", "version": PROTOCOL_VERSION, "kernel": KERNEL, "data": world.data.comm_id}
    ]
    sent = world.draw()
    assert [(one["type"], one["view"], one["model"]) for one in sent] == [
        ("state", "histogram", first.id),
        ("state", "histogram", second.id),
    ]
    assert sent[0]["order"] < sent[1]["order"]  # type: ignore[operator]
    assert sent[0]["state"]["model"]["sqnr"] is None  # type: ignore[index]
    assert world.data.buffers[0] == [b"\x00\x01"]
    json.dumps(sent, allow_nan=False)


def test_nothing_is_built_without_a_page_or_for_a_view_that_no_page_draws(world: World) -> None:
    model = world.registry.show(Observers())
    model.changed()
    assert world.draw() == []
    control = world.page("graph")
    model.changed()
    assert world.draw() == []
    assert model.snapshots == 0
    world.link.receive(control, message(type="hello", views=["histogram"]))
    assert [one["model"] for one in world.draw()] == [model.id]
    world.link.receive(control, message(type="hello", views=["histogram"], have={model.id: 1}))
    assert world.draw() == [], "a heartbeat asks for nothing new"
    world.link.leave(control)
    model.changed()
    assert world.draw() == []
    assert model.snapshots == 1


def test_the_last_of_many_changes_arrives(world: World) -> None:
    model = world.registry.show(Observers())
    world.page("histogram")
    world.draw()
    for selected in "aab":
        model.selected = selected
        model.changed()
    (sent,) = world.draw()
    assert sent["state"]["selected"] == "b"  # type: ignore[index]


def test_a_picture_that_was_lost_on_the_way_is_sent_again(world: World) -> None:
    model, other = world.registry.show(Observers()), world.registry.show(Observers())
    control = world.page("histogram")
    have = {str(one["model"]): one["picture"] for one in world.draw()}
    assert have == {model.id: 1, other.id: 1}
    model.changed()
    (lost,) = world.draw()
    assert lost["picture"] == 2
    world.link.receive(control, message(type="hello", views=["histogram"], have=have))
    (again,) = world.draw()
    assert (again["model"], again["picture"]) == (model.id, 3)
    have[model.id] = 3
    world.link.receive(control, message(type="hello", views=["histogram"], have=have))
    assert world.draw() == []


def test_what_lasts_is_sent_once_to_whoever_has_it(world: World) -> None:
    model = world.registry.show(Nodes())
    control = world.page("graph")
    (whole,) = world.draw()
    assert (whole["type"], whole["picture"], whole["state"]["nodes"]) == ("state", 1, [])  # type: ignore[index]
    model.selected = "a"
    model.changed()
    (update,) = world.draw()
    json.dumps(update, allow_nan=False)
    assert (update["type"], update["picture"], update["order"]) == ("update", 2, whole["order"])
    assert update["fields"] == {
        **{key: value for key, value in whole["state"].items() if key != "nodes"},  # type: ignore[attr-defined]
        "selected": "a",
    }
    # A page that comes now has nothing, and one that lost a picture cannot use what changes it.
    world.page("graph", name="another")
    assert [one["type"] for one in world.draw()] == ["state"]
    world.link.receive(control, message(type="hello", views=["graph"], have={model.id: 2}))
    assert [one["type"] for one in world.draw()] == ["state"]
    model.nodes = []
    model.changed()
    assert [one["type"] for one in world.draw()] == ["state"], "an equal list may be another graph"


def test_buffers_that_a_page_has_do_not_travel_again(world: World) -> None:
    model = world.registry.show(Nodes())
    model.buffers = (b"places", b"colours")
    world.page("graph")
    world.draw()
    model.buffers = (b"sound", *model.buffers[::-1])
    model.changed()
    (update,) = world.draw()
    assert (update["type"], update["kept"]) == ("update", [-1, 1, 0])
    model.buffers = model.buffers[:2]
    model.changed()
    (update,) = world.draw()
    assert (update["kept"], world.data.buffers) == ([0, 1], [[b"places", b"colours"], [b"sound"], []])


def test_several_pages_are_served_until_the_last_one_leaves(world: World) -> None:
    model = world.registry.show(Observers())
    one, other = world.page("histogram", name="1"), world.page("graph", name="2")
    assert world.link.watched() == {"histogram", "graph"}
    world.link.leave(one)
    model.changed()
    assert world.draw() == []
    world.link.leave(other)
    assert world.link.watched() == frozenset()


def test_what_is_published_while_a_page_is_loaded_is_shown_and_later_nobody_listens(world: World) -> None:
    events.publish([1, 2])
    assert world.draw() == []
    control = world.page("histogram")
    assert [one["type"] for one in world.draw()] == ["state"]
    world.link.leave(control)
    events.publish([3, 4])
    control = world.page("histogram")
    assert len(world.draw()) == 2
    world.link.leave(control)
    world.clock.now += SILENCE + 1
    assert events.listening([])
    events.publish([5, 6])
    assert not events.listening([])
    world.page("histogram")
    assert events.listening([])


def test_a_page_that_fell_silent_is_forgotten_and_heartbeats_keep_it(world: World) -> None:
    control = world.page("histogram")
    for _ in range(5):
        world.clock.now += SILENCE - 1
        world.link.receive(control, message(type="hello", views=["histogram"]))
    assert world.link.watched() == {"histogram"}
    world.clock.now += SILENCE + 1
    assert world.link.watched() == frozenset()


def test_published_sources_are_drawn_while_a_page_is_there(world: World) -> None:
    world.page("histogram")
    events.publish([1, 2])
    assert [one["type"] for one in world.draw()] == ["state"]


def test_an_event_reaches_the_model_and_the_selection(world: World) -> None:
    model, graph = world.registry.show(Observers()), world.registry.show(Nodes())
    control = world.page("histogram")
    answer = world.ask(control, model.id, type="select", id="a")
    assert answer.pop("sender")
    assert answer == {
        "type": "reply",
        "version": PROTOCOL_VERSION,
        "number": 1,
        "model": model.id,
        "accepted": True,
        "reason": "",
    }
    assert model.selected == "a"
    assert world.selection.observer == "a"
    assert world.ask(control, graph.id, type="select", id="conv1")["accepted"]
    assert world.selection.node == "conv1"


def test_what_a_person_did_is_drawn_without_rest(world: World) -> None:
    costs = iter(range(0, 10**6, 10))  # every picture takes ten seconds of processor time
    world.throttle._cost = lambda: float(next(costs))
    model = world.registry.show(Observers())
    control = world.page("histogram")
    world.draw()
    model.changed()
    assert world.throttle.delay() > 100  # type: ignore[operator]
    world.ask(control, model.id, type="select", id="a")
    assert world.throttle.delay() <= 0.05  # type: ignore[operator]


def test_a_refused_event_is_answered_with_the_reason(world: World) -> None:
    model = world.registry.show(Observers())
    control = world.page("histogram")
    answer = world.ask(control, model.id, type="select", id="z")
    assert (answer["accepted"], answer["reason"]) == (False, "only a and b can be selected")
    assert world.selection.observer is None
    wrong = world.ask(control, model.id, type="set_range", id="a", low=0)
    assert wrong["reason"] == "'set_range' lacks the field 'high'"
    assert wrong["model"] == model.id


def test_an_unexpected_exception_is_logged_and_its_details_stay_in_the_kernel(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    model = world.registry.show(Observers())
    model.fault = RuntimeError("the secret of /home/person")
    answer = world.ask(world.page("histogram"), model.id, type="select", id="a")
    assert answer["reason"] == "internal error (RuntimeError); the log of the kernel says more"
    assert "the secret of /home/person" in caplog.text


def test_an_event_for_a_model_that_is_gone_says_what_to_do(world: World) -> None:
    answer = world.ask(world.page("histogram"), "histogram-0", type="select", id="a")
    assert answer["reason"] == "this picture is not in the kernel any more; run its cell again"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"type": "hello", "views": ["hologram"]}, "there is no view 'hologram'; the views are shapes"),
        ({"type": "hello", "views": [], "version": 9}, "the page speaks version 9 of the protocol"),
        ({"type": "shout"}, "a message of type 'shout' is not known; known are 'event' and 'hello'"),
    ],
)
def test_a_message_that_is_not_understood_is_answered(
    world: World, data: dict[str, object], words: str
) -> None:
    control = Recorder()
    world.link.receive(control, message(**data))
    (reply,) = control.take()
    assert reply["accepted"] is False
    assert words in reply["reason"]
    assert world.link.watched() == frozenset()


def test_binary_buffers_from_a_page_are_refused(world: World) -> None:
    control = Recorder()
    world.link.receive(control, {**message(type="hello", views=[]), "buffers": [b"x"]})
    assert control.take()[0]["reason"] == "a page sends no binary buffers"


def test_a_model_whose_picture_fails_is_said_and_others_go_on(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    broken, fine = world.registry.show(Observers()), world.registry.show(Observers())
    broken.fault = RuntimeError("secret")
    world.page("histogram")
    trouble, state = world.draw()
    assert (trouble["type"], trouble["model"]) == ("trouble", broken.id)
    assert trouble["reason"] == "no picture could be made (RuntimeError); the log of the kernel says more"
    assert (state["type"], state["model"]) == ("state", fine.id)
    assert "secret" in caplog.text


def test_a_withdrawn_model_is_told_and_not_drawn_any_more(world: World) -> None:
    model = world.registry.show(Observers())
    world.page("histogram")
    world.draw()
    model.changed()
    world.registry.withdraw(model)
    assert world.draw() == [{"type": "gone", "version": PROTOCOL_VERSION, "model": model.id}]


def test_importing_costs_no_jupyter() -> None:
    script = (
        "import sys; from workbench import live; "
        "assert live.models() == (); "
        "print([name for name in ('ipykernel', 'IPython', 'comm', 'ipywidgets') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("view", ["histogram", "graph"])
def test_every_listener_is_let_go(world: World, view: str) -> None:
    make: Callable[[], Observers | Nodes] = Observers if view == "histogram" else Nodes
    model = world.registry.show(make())
    world.registry.withdraw(model)
    assert not model._listeners
