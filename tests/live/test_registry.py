"""Which view models there are, what keeps them alive, and how published sources become some."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from tests.live.models import Nodes, Observers
from workbench import live
from workbench.base import events
from workbench.live.registry import MAXIMUM_SHOWN, Registry
from workbench.live.renderers import Renderers


class Source:
    """Something that a publisher announces."""


class Derived(Source):
    """A more special one."""


@pytest.fixture
def registry() -> Registry:
    return Registry()


@pytest.fixture
def renderers(registry: Registry) -> Iterator[Renderers]:
    rules = Renderers(registry)
    yield rules
    rules.stop()


def test_shown_models_are_kept_the_latest_last(registry: Registry) -> None:
    first, second = registry.show(Observers()), registry.show(Observers())
    graph = registry.show(Nodes())
    assert registry.models("histogram") == (first, second)
    assert registry.models() == (first, second, graph)
    assert registry.show(first) is first
    assert registry.models("histogram") == (second, first)
    assert registry.order(first.id) > registry.order(second.id)  # type: ignore[operator]


def test_a_shown_model_lives_without_another_holder_and_a_known_one_does_not(registry: Registry) -> None:
    kept = registry.show(Observers()).id
    known = Observers()
    registry.know(known)
    identity, alive = known.id, weakref.ref(known)
    assert registry.find(identity) is known
    del known
    gc.collect()
    assert alive() is None
    assert registry.find(identity) is None
    assert registry.find(kept) is not None


def test_showing_too_many_lets_the_oldest_of_that_view_go(registry: Registry) -> None:
    graph = registry.show(Nodes())
    gone: list[str] = []
    registry.listen(lambda change, model: gone.append(model.id) if change == "gone" else None)
    models = [registry.show(Observers()) for _ in range(MAXIMUM_SHOWN + 2)]
    assert registry.models("histogram") == tuple(models[2:])
    assert registry.models("graph") == (graph,)
    assert gone == [models[0].id, models[1].id]


def test_listeners_hear_of_changes_only_while_a_model_is_shown(registry: Registry) -> None:
    heard: list[str] = []
    stop = registry.listen(lambda change, model: heard.append(change))
    model = registry.show(Observers())
    model.changed()
    registry.withdraw(model)
    registry.withdraw(model)
    model.changed()
    assert heard == ["shown", "changed", "gone"]
    stop()
    registry.show(model)
    assert heard == ["shown", "changed", "gone"]


def test_only_what_can_be_drawn_is_shown(registry: Registry, renderers: Renderers) -> None:
    with pytest.raises(TypeError, match=r"only a ViewModel can be shown, not list; the classes in workbench"):
        registry.show([1, 2])  # type: ignore[type-var]
    with pytest.raises(TypeError, match=r"live\.show takes a view model, or one of nothing yet; got list"):
        renderers.show([1, 2])
    renderers.register(Source, lambda source: Observers())
    renderers.register(dict, lambda source: Nodes())
    with pytest.raises(TypeError, match=r"live\.show takes a view model, or one of Source, dict; got list"):
        renderers.show([1, 2])

    class Unknown(Nodes):
        view = "hologram"

    with pytest.raises(
        TypeError, match=r"Unknown\.view is 'hologram'; the views are shapes, training, runs, histogram"
    ):
        live.show(Unknown())


def test_what_is_shown_by_hand_and_published_later_is_one_model(
    registry: Registry, renderers: Renderers
) -> None:
    renderers.register(Source, lambda source: Observers())
    renderers.start()
    source = Source()
    model = renderers.show(source)
    other = renderers.show(Observers())
    changes: list[str] = []
    registry.listen(lambda change, changed: changes.append(f"{change} {changed.id}"))
    events.publish(source)
    assert changes == [f"changed {model.id}"]
    assert renderers.show(source) is model
    assert registry.models() == (other, model)


def test_an_unknown_view_is_an_error() -> None:
    with pytest.raises(
        ValueError, match="there is no view 'hologram'; the views are shapes, training, runs, histogram"
    ):
        live.models("hologram")


def test_a_published_source_is_drawn_while_somebody_looks(registry: Registry, renderers: Renderers) -> None:
    made: list[object] = []

    def make(source: Source) -> Observers:
        made.append(source)
        return Observers()

    renderers.register(Source, make)
    source = Source()
    assert not events.listening(Source())
    events.publish(source)
    assert registry.models() == ()

    renderers.start()
    renderers.start()
    changes: list[str] = []
    registry.listen(lambda change, model: changes.append(change))
    for _ in range(3):
        events.publish(source)
    assert made == [source]
    assert changes == ["shown", "changed", "changed", "changed"]
    events.publish(Source())
    assert len(registry.models("histogram")) == 2

    renderers.stop()
    assert not events.listening(Source())


def test_the_nearest_class_decides_and_unknown_sources_are_passed_over(
    registry: Registry, renderers: Renderers
) -> None:
    renderers.register(Source, lambda source: Observers())
    special = Observers()
    renderers.start()
    renderers.register(Derived, lambda source: special)
    renderers.register(dict, lambda source: Nodes())
    events.publish(Derived())
    assert registry.models() == (special,)
    events.publish(object())
    assert registry.models() == (special,)
    nodes = {"a": 1}  # takes no weak reference
    events.publish(nodes)
    events.publish(nodes)
    assert len(registry.models("graph")) == 1


def test_a_withdrawn_source_comes_back_with_its_next_publication(
    registry: Registry, renderers: Renderers
) -> None:
    renderers.register(Source, lambda source: Observers())
    renderers.start()
    source = Source()
    events.publish(source)
    (first,) = registry.models()
    registry.withdraw(first)
    events.publish(source)
    (second,) = registry.models()
    assert second is first, "a cell that still shows it goes on with the same model"


def test_a_factory_that_fails_does_not_reach_the_publisher(
    registry: Registry, renderers: Renderers, caplog: pytest.LogCaptureFixture
) -> None:
    renderers.register(Source, lambda source: 1 / 0)  # type: ignore[arg-type,return-value]
    renderers.start()
    events.publish(Source())
    assert "a Source that was published cannot be drawn" in caplog.text
    assert registry.models() == ()


def test_a_source_has_one_model_in_cells_and_at_the_side(registry: Registry, renderers: Renderers) -> None:
    renderers.register(Source, lambda source: Observers())
    renderers.start()
    source, other = Source(), Source()
    model = renderers.model_of(source)
    assert registry.models() == (), "a cell alone gives it no place"
    events.publish(source)
    assert registry.models() == (model,)
    assert renderers.model_of(source) is renderers.show(source) is model
    assert renderers.model_of(other) is not model
    with pytest.raises(TypeError, match="there is no rule for a list"):
        renderers.model_of([])
