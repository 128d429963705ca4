"""Points out of models and texts: activations, weights, mistakes, words, steps that are aligned, counts by place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.embedding import (
    Embedding,
    activations,
    aligned,
    density,
    mistakes,
    procrustes,
    sentence_embeddings,
    weights,
    word_vectors,
)

GENERATOR = np.random.default_rng(3)
IMAGES = GENERATOR.standard_normal((10, 1, 6, 6)).astype(np.float32)
LABELS = np.arange(10) % 3


def model() -> Any:
    wb.manual_seed(0)
    return wb.nn.Sequential(
        wb.nn.Conv2d(1, 4, 3), wb.nn.ReLU(), wb.nn.Flatten(), wb.nn.Dropout(0.5), wb.nn.Linear(64, 3)
    )


def loader(count: int = 10) -> Any:
    data = wb.data.TensorDataset(wb.tensor(IMAGES[:count]), wb.tensor(LABELS[:count]))
    return wb.data.DataLoader(data, batch_size=4)


def test_activations_are_what_the_layer_gives() -> None:
    net = model().train()
    found = activations(net, loader(), "1", progress=False)
    with wb.no_grad():
        expected = net[:2](wb.tensor(IMAGES)).numpy()
    np.testing.assert_allclose(found.vectors, expected.reshape(10, -1), rtol=1e-6)
    assert net.training and net[3].training
    assert found.labels == tuple(map(str, LABELS)) and found.title == "Sequential · 1"
    assert found.thumbnails is not None and found.thumbnails.shape == (10, 6, 6)
    pooled = activations(net, loader(), net[0], pool="mean", images=False, progress=False)
    assert pooled.vectors.shape == (10, 4) and pooled.thumbnails is None
    np.testing.assert_allclose(
        activations(net, loader(), net[0], pool="max", progress=False).vectors.clip(0),
        expected.max(axis=(2, 3)),
    )
    # Of batches that do not say how many there are.
    batches = (batch for batch in loader())
    np.testing.assert_array_equal(activations(net, batches, "1", progress=False).vectors, found.vectors)


def test_a_node_of_a_graph_is_a_layer_too() -> None:
    net = model().eval()
    graph = wb.graph.trace(net, wb.tensor(IMAGES[:4]))
    node = next(one for one in graph.nodes if "relu" in one.name)
    found = activations(graph, [wb.tensor(IMAGES[:4])], node, progress=False)
    np.testing.assert_allclose(
        found.vectors, activations(net, loader(4), "1", progress=False).vectors, rtol=1e-6
    )


def test_an_interrupt_keeps_what_there_is() -> None:
    def batches() -> Any:
        yield wb.tensor(IMAGES[:4])
        raise KeyboardInterrupt

    found = activations(model(), batches(), "4", progress=False)
    assert len(found) == 4 and found.title == "Sequential · 4 (interrupted: 4 samples)"


def test_mistakes_say_what_was_thought() -> None:
    net = model().eval()
    found = mistakes(net, loader(), "2", names=["a", "b", "c"], progress=False)
    with wb.no_grad():
        scores = net(wb.tensor(IMAGES))
        losses = wb.nn.functional.cross_entropy(scores, wb.tensor(LABELS), reduction="none").numpy()
    np.testing.assert_allclose(found.columns["loss"].values, losses, rtol=1e-5)
    np.testing.assert_allclose(found.columns["probability"].values, np.exp(-losses), rtol=1e-5)
    predicted = scores.numpy().argmax(axis=1)
    assert found.column("predicted").texts == tuple("abc"[one] for one in predicted)
    assert found.labels == tuple("abc"[one] for one in LABELS) and found.label_name == "true"
    wrong = mistakes(net, loader(), "2", only_wrong=True, progress=False)
    assert len(wrong) == int((predicted != LABELS).sum()) and wrong.title.endswith("wrong")
    with pytest.raises(ValueError, match="mistakes: batches are pairs"):
        mistakes(net, [wb.tensor(IMAGES)], "2", progress=False)


def test_weights_are_a_point_a_channel() -> None:
    net = model()
    found = weights(net, "0")
    np.testing.assert_array_equal(found.vectors, net[0].weight.detach().numpy().reshape(4, 9))
    assert found.names[1] == "channel 1" and found.thumbnails is not None and found.title == "0.weight"
    with pytest.raises(
        ValueError, match="layer '1' has no parameter 'weight' of 2 or more dims; there are none"
    ):
        weights(net, "1")


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda: activations(model(), loader(), "convv"), ValueError, "the model has no layer 'convv'"),
        (
            lambda: activations(model(), loader(), "0", pool="sum"),
            ValueError,
            "pool is None, 'mean' or 'max'",
        ),
        (lambda: activations(model(), [], "0", progress=False), ValueError, "the loader gave no batch"),
        (
            lambda: activations(model(), loader(), "1", memory=1000, images=False, progress=False),
            MemoryError,
            "10 samples of 256 bytes take 0 MB, and memory is 0 MB, room for 3",
        ),
        (
            lambda: activations(model(), iter([wb.tensor(IMAGES)] * 3), "1", memory=9000, progress=False),
            MemoryError,
            "30 or more samples of 400 bytes",
        ),
        (lambda: activations(model(), [3], "0", progress=False), TypeError, "a batch is a tensor, or a pair"),
        (lambda: word_vectors(["a"], np.eye(2)), ValueError, "1 words and 2 vectors"),
        (lambda: sentence_embeddings("one", len), ValueError, "give a list of one sentence or more"),
        (
            lambda: sentence_embeddings(["one"], lambda texts: np.eye(2)),
            ValueError,
            "encode gave .2, 2. for 1 sent",
        ),
        (
            lambda: aligned([Embedding(np.eye(3))]),
            ValueError,
            "two embeddings or more of the same points, got 1",
        ),
        (
            lambda: aligned([Embedding(np.eye(3)), Embedding(np.eye(4))]),
            wb.DimensionError,
            "got 3 at 'step 1' and 4",
        ),
        (lambda: density(np.eye(5)), ValueError, "positions are .N, 2. or .N, 3., got .5, 5."),
        (lambda: density(np.eye(3), 1 << 10), ValueError, "it has 1 to 16,777,216"),
        (
            lambda: density(np.eye(3)[:, :2], 4, within=[[1, 0], [0, 1]]),
            ValueError,
            "low and high of each of 2 axes",
        ),
    ],
)
def test_what_cannot_be_gathered_is_told(ask: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        ask()


def test_words_are_called_by_their_names() -> None:
    made = word_vectors(["king", "queen", "car"], np.array([[1.0, 0], [0.9, 0.1], [0, 1]]))
    assert made.select(["queen", 2]).selected == (1, 2) and made.selected_names == ("queen", "car")
    assert made.neighbours("king", 1).indices.tolist() == [1]
    with pytest.raises(KeyError, match="no point 'quen'; did you mean 'queen'"):
        made.select(["quen"])
    assert made.selected == (1, 2)
    sentences = sentence_embeddings([str(one) for one in range(70)], lambda texts: np.ones((len(texts), 2)))
    assert len(sentences) == 70 and sentences.names[69] == "69"


def test_steps_are_turned_to_the_one_before() -> None:
    points = GENERATOR.standard_normal((30, 2)) * [3, 1]
    angle = np.radians(70)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    film = aligned(
        {"a": Embedding(points), "b": Embedding(points @ turn * -2), "c": Embedding(points[:, ::-1])}, "pca"
    )
    first, *others = (one.positions for one in film.projections.values())
    for other in others:
        np.testing.assert_allclose(other, first, atol=1e-5)
    assert film.projection is film.projections["c"] and film.show("a").projection is film.projections["a"]
    assert film.projections["b"].quality is not None
    with_gap = points.copy()
    with_gap[4] = np.nan
    moved = procrustes(points, with_gap @ turn)
    assert np.isnan(moved[4]).all()
    np.testing.assert_allclose(np.delete(moved, 4, 0), np.delete(points, 4, 0), atol=1e-12)


def test_points_are_counted_by_place() -> None:
    positions = GENERATOR.standard_normal((500, 3))
    positions[7] = np.nan
    found = density(positions, 5)
    kept = np.delete(positions, 7, axis=0)
    expected, _ = np.histogramdd(kept, 5)
    np.testing.assert_array_equal(found.counts, expected)
    assert found.counted == 499
    box = [[0, 1], [-1, 1]]
    flat = density(positions[:, :2], 4, within=box)
    np.testing.assert_array_equal(flat.counts, np.histogramdd(kept[:, :2], 4, range=box)[0])
