"""What is selected together with points: the samples that they are, and the layer whose channels they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.live.models import gesture
from tests.widgets.test_scatter import clean  # noqa: F401  a fixture
from workbench.base.errors import DimensionError
from workbench.embedding import Embedding
from workbench.live.answer import answer
from workbench.live.ledger import Ledger
from workbench.live.model import Refused, Snapshot, ViewModel
from workbench.live.registry import registry
from workbench.live.selection import selection
from workbench.widgets.histogram import HistogramModel
from workbench.widgets.scatter import ScatterModel

q = wb.quantization
X = np.random.default_rng(1).standard_normal((20, 4))


class Pictures(ViewModel):
    """A heatmap that notes which samples it was asked to show."""

    view = "heatmap"

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[int] = []
        self.together: list[tuple[int, ...]] = []

    def snapshot(self) -> Snapshot:
        raise NotImplementedError

    def handle(self, event: object) -> None:
        raise NotImplementedError

    def show_sample(self, index: int) -> None:
        self.shown.append(index)

    def show_points(self, points: tuple[int, ...]) -> None:
        self.together.append(points)


def known(*embeddings: Embedding) -> list[ScatterModel]:
    models = [ScatterModel(one) for one in embeddings]
    for model in models:
        registry.know(model)
    return models


@pytest.fixture
def heat() -> Pictures:
    pictures = Pictures()
    registry.know(pictures)
    return pictures


def pick(model: ViewModel, *indices: int) -> None:
    reply = answer(
        gesture(model.id, {"type": "select_points", "indices": [*indices]}), registry, selection, Ledger()
    )
    assert reply is not None and reply.accepted, reply


def test_points_are_samples_by_their_own_numbers() -> None:
    whole = Embedding(X, labels=np.arange(20) % 3)
    assert whole.samples is not None and whole.samples.tolist() == list(range(20))
    part = whole.take([7, 2, 5]).take([2, 0])
    assert part.samples is not None and part.samples.tolist() == [5, 7]
    given = Embedding(X[:2], samples=[40, 41], names=["a", "b"])
    assert given.samples is not None and given.take([1]).samples.tolist() == [41]  # type: ignore[union-attr]
    for named in (
        Embedding(X[:2], names=["king", "queen"]),
        Embedding(X[:2], labels=["king", "queen"]),
        wb.embedding.weights(wb.nn.Linear(3, 4), ""),
    ):
        assert named.samples is named.take([0]).samples is None
    with pytest.raises(DimensionError, match=r"each of 20 points is, got \[3\]"):
        Embedding(X, samples=[1, 2, 3])
    for wrong, words in ((np.full(20, -1), "-1"), (X[:, 0], "float64")):
        with pytest.raises(TypeError, match=f"samples are whole numbers from 0, got {words}"):
            Embedding(X, samples=wrong)


def test_a_part_shows_elsewhere_the_samples_that_its_points_are(heat: Pictures) -> None:
    whole = Embedding(X, labels=np.arange(20) % 3)
    part = whole.take([4, 9, 17, 3])
    all_points, some = known(whole, part)
    pick(some, 2)
    assert (selection.sample, heat.shown, heat.together) == (17, [17], [])
    assert (whole.selected, part.selected, selection.points) == ((17,), (2,), (2,))
    pick(some, 3, 1)
    assert (heat.shown, heat.together) == ([17, 3], [(3, 9)])
    assert whole.selected == (3, 9)
    part.selected = [0]
    assert (heat.shown, whole.selected) == ([17, 3, 4], (4,))
    # The other way round; what is not in the part changes nothing there.
    pick(all_points, 9)
    assert (heat.shown[-1], part.selected) == (9, (1,))
    pick(all_points, 5)
    assert (heat.shown[-1], part.selected) == (5, (1,))


def test_a_word_moves_no_picture(heat: Pictures) -> None:
    words, samples = Embedding(X, names=[f"word {at}" for at in range(20)]), Embedding(X)
    cloud, _ = known(words, samples)
    selection.sample = 1
    pick(cloud, 6, 7)
    assert (selection.sample, selection.points, heat.shown, heat.together) == (1, (6, 7), [1], [])
    assert samples.selected == (6, 7)  # the points of one number go together, as before
    words.selected = [3]
    assert (selection.sample, heat.shown) == (1, [1])


def test_a_sample_that_is_picked_in_a_heatmap_is_found_where_it_lies() -> None:
    part, words = Embedding(X).take([4, 9, 17]), Embedding(X, names=[f"word {at}" for at in range(20)])
    found, cloud = known(part, words)
    selection.sample = 17
    assert (part.selected, words.selected) == ((2,), ())
    selection.sample = 2
    assert part.selected == (2,)  # sample 2 is not among these, and row 2 is another
    with pytest.raises(Refused, match="none of these points is sample 2"):
        found.show_sample(2)
    with pytest.raises(Refused, match="these points are no samples"):
        cloud.show_sample(2)


def test_python_selects_samples_by_the_numbers_that_it_gives(heat: Pictures) -> None:
    known(Embedding(X))
    selection.points = [5, 6]
    assert heat.together == [(5, 6)]


def test_a_channel_shows_the_observer_of_its_layers_weight() -> None:
    model = wb.nn.Sequential(wb.nn.Linear(4, 3), wb.nn.ReLU(), wb.nn.Linear(3, 2)).eval()
    made: Any = q.prepare(model)
    made(wb.randn(8, 4))
    observers = HistogramModel(made.calibration)
    registry.know(observers)
    assert made.calibration.names[:1] != ("2.weight",)
    (cloud,) = known(wb.embedding.weights(model, "2").take([1, 0]))
    pick(cloud, 1)
    drawn: Any = observers.snapshot().state
    assert drawn.selected == "2.weight"
    (other,) = known(Embedding(X))
    pick(other, 3)
    drawn = observers.snapshot().state
    assert drawn.selected == "2.weight"
