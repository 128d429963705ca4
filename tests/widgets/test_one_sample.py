"""Projector, heatmap and tensor show one sample, whichever of them a person chose it in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.live.models import gesture
from workbench.embedding import Embedding
from workbench.live.answer import answer
from workbench.live.ledger import Ledger
from workbench.live.registry import registry
from workbench.live.renderers import renderers
from workbench.live.selection import selection


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    renderers.stop()
    for model in registry.models():
        registry.withdraw(model)
    selection.clear()


class Views:
    """Views of one data set of six images: all of them embedded, and the first four attributed."""

    def __init__(self) -> None:
        self.images = wb.rand(N=6, C=1, H=4, W=4)
        self.embedding = Embedding(self.images.reshape(6, 16).numpy())
        net = wb.nn.Sequential(wb.nn.Flatten(), wb.nn.Linear(16, 3)).eval()
        self.projector: Any = renderers.show(self.embedding)
        self.heatmap: Any = renderers.show(wb.attribution.explain(net, self.images[:4]))
        self.tensor: Any = renderers.show(self.images)
        self.bias: Any = renderers.show(wb.zeros(9))
        self.ledger = Ledger()

    def do(self, model: Any, **event: object) -> None:
        reply = answer(gesture(model.id, event), registry, selection, self.ledger)
        assert reply is not None and reply.accepted, reply

    @property
    def shown(self) -> tuple[tuple[int, ...], int, int]:
        return self.embedding.selected, self.heatmap.sample, self.tensor._chosen.get(0, 0)


def test_a_sample_that_is_chosen_anywhere_is_shown_everywhere() -> None:
    views = Views()
    views.do(views.heatmap, type="sample", index=2)
    assert views.shown == ((2,), 2, 2)
    views.do(views.projector, type="select_points", indices=[3, 1])
    assert views.shown == ((3, 1), 3, 3), "the first point that was picked"
    views.do(views.tensor, type="slice", axis=0, index=1)
    assert views.shown == ((1,), 1, 1)
    selection.sample = 0
    assert views.shown == ((0,), 0, 0)
    views.embedding.selected = [2]
    assert views.shown == ((2,), 2, 2), "from Python, too"


def test_views_without_that_sample_stay_as_they_are() -> None:
    views = Views()
    views.do(views.heatmap, type="sample", index=1)
    views.do(views.projector, type="select_points", indices=[5])
    assert views.shown == ((5,), 1, 5), "four images were attributed"
    views.do(views.projector, type="select_points", indices=[])
    assert views.shown == ((), 1, 5)
    assert selection.sample == 5


def test_a_slider_of_another_dim_chooses_no_sample() -> None:
    views = Views()
    channels: Any = renderers.show(wb.rand(N=2, K=3, H=4, W=4))
    views.do(channels, type="slice", axis=1, index=2)
    assert selection.sample is None
    assert views.shown == ((), 0, 0)


def test_a_selection_that_begins_with_the_sample_is_kept() -> None:
    views = Views()
    views.embedding.selected = [3, 4]
    views.do(views.heatmap, type="sample", index=3)
    assert views.shown[0] == (3, 4)
    assert np.array_equal(views.embedding.selected, (3, 4))
