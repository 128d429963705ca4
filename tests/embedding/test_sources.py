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
from workbench.widgets.scatter_words import frames_of

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
            "10 samples of 256 bytes take 2.56 kB, and memory is 1 kB, room for 3",
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
        (
            lambda: aligned({"a": np.eye(3), "b": np.eye(3)}, steps=["c", "d"]),
            ValueError,
            "a dict has the names of its steps, a, b; give no steps=",
        ),
        (lambda: aligned(Embedding(np.eye(3))), TypeError, r"a list of embeddings .*, got Embedding"),
        (lambda: aligned(np.eye(3)), wb.DimensionError, r"aligned: .*got shape \[3\]"),
        (
            lambda: aligned([np.eye(3), np.eye(3)], steps=["a"]),
            ValueError,
            "2 embeddings take as many names of steps",
        ),
        (lambda: procrustes(np.eye(3), np.eye(2)), ValueError, "positions .N, dims. of the same points"),
        (lambda: word_vectors({}), ValueError, "the dict is empty; give one word or more"),
        (lambda: word_vectors([], np.eye(2)), ValueError, "0 words and 2 vectors"),
        (lambda: word_vectors([], []), ValueError, "there are no words"),
        (lambda: word_vectors(["a"], 3), TypeError, "vectors are .N, features., got int"),
        (lambda: word_vectors("ab", np.eye(2)), TypeError, "words are a list of texts, .* got str"),
        (
            lambda: word_vectors({"a": [1.0, 2.0], "b": [1.0]}),
            ValueError,
            "as many numbers, got .2. for 'a' and .1. for 'b'",
        ),
        (lambda: density(np.eye(3), 2.5), TypeError, "bins is a whole number of cells a dim, got 2.5"),
        (lambda: density(np.full((3, 2), "a")), TypeError, "positions are numbers, got str"),
        (
            lambda: Embedding(np.eye(5)).clusters(min_cluster_size="a"),
            TypeError,
            "min_cluster_size is a whole number of points, got 'a'",
        ),
        (
            lambda: Embedding(np.eye(5)).clusters(min_cluster_size=2, min_samples=1.5),
            TypeError,
            "min_samples is a whole number of points, or None, got 1.5",
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


def test_steps_of_any_names_are_played_in_the_order_they_were_given() -> None:
    points = [GENERATOR.standard_normal((9, width)) for width in (4, 6, 3)]
    made = dict(zip(("conv1", "conv2", "fc"), points, strict=True))
    film = aligned({name: Embedding(one) for name, one in made.items()})
    assert frames_of(film) == ["conv1", "conv2", "fc"]
    assert frames_of(film.show("conv2")) == ["conv1", "conv2", "fc"]
    for names in (["untrained", "epoch 2", "epoch 1"], ["step 2", "step 1", "step 3"]):
        assert frames_of(aligned(dict(zip(names, points, strict=True)))) == names
        assert frames_of(aligned(points, steps=names)) == names
    # Arrays and tensors are points too.
    assert list(aligned([points[0], wb.tensor(points[1])]).projections) == ["step 1", "step 2"]
    # Another picture is none of the film, whatever it is called, nor is one that took a step's name.
    film.project("pca", 2, name="conv3")
    assert frames_of(film) == []
    film.project("pca", 2, name="conv2")
    assert frames_of(film) == ["conv2", "conv3"] and frames_of(film.show("fc")) == ["conv1", "fc"]


def test_what_a_loader_draws_is_counted() -> None:
    images = wb.zeros(1000, 1, 6, 6)
    data = wb.data.TensorDataset(images, wb.zeros(1000, dtype=wb.int64))
    for more, count in (
        ({"sampler": range(7, 17), "batch_size": 4}, 10),
        ({"sampler": range(7, 17), "batch_size": 4, "drop_last": True}, 8),
        ({"batch_sampler": wb.data.BatchSampler(range(10), 4, False)}, 10),
        ({"batch_sampler": [[1, 2], [3, 4, 5]]}, 5),
        ({"sampler": wb.data.RandomSampler(data, num_samples=10), "batch_size": 4}, 10),
    ):
        # Room for ten samples of 144 + 256 bytes, and no more.
        found = activations(model(), wb.data.DataLoader(data, **more), "1", memory=4000, progress=False)
        assert len(found) == count and len(found.vectors.base) == count
    with pytest.raises(MemoryError, match=r"1,000 samples of 400 bytes take 400 kB, and memory is 4 kB"):
        activations(
            model(), wb.data.DataLoader(data, batch_size=4), "1", memory=4000, images=True, progress=False
        )


def test_sequences_are_pooled_over_their_places() -> None:
    values = GENERATOR.standard_normal((4, 5, 6)).astype(np.float32)
    net = wb.nn.Sequential(wb.nn.ReLU())
    expected = values.clip(0)
    for names, dim in ((("N", "T", "D"), 1), (("N", "L", "D"), 1), (("N", "C", "L"), 2), (None, 2)):
        batch = wb.tensor(values) if names is None else wb.from_numpy(values, names=names)
        found = activations(net, [batch], "0", pool="mean", progress=False)
        np.testing.assert_allclose(found.vectors, expected.mean(axis=dim), rtol=1e-5)


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
