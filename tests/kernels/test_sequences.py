"""Compiled recurrent layers and attention: what does not fit is refused in words, whatever called them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from workbench.kernels.loader import native

pytestmark = pytest.mark.skipif(native is None, reason="the compiled kernels are not there")


def zeros(*shape: int) -> np.ndarray[Any, Any]:
    return np.zeros(shape, np.float32)


@pytest.mark.parametrize(
    ("arrays", "sizes", "words"),
    [
        ((zeros(3, 2, 8), zeros(2, 2), zeros(2, 2), zeros(8, 3)), None, "weight has shape"),
        ((zeros(3, 2, 8), zeros(3, 2), zeros(2, 2), zeros(8, 2)), None, "state has shape"),
        ((zeros(3, 2, 8), zeros(2, 2), zeros(2, 3), zeros(8, 2)), None, "cell has shape"),
        ((zeros(3, 8), zeros(2, 2), zeros(2, 2), zeros(8, 2)), [1, 2], "must fall"),
        ((zeros(4, 8), zeros(2, 2), zeros(2, 2), zeros(8, 2)), [2, 1], "do not go with"),
        ((zeros(3, 8), zeros(2, 2), zeros(2, 2), zeros(8, 2)), None, "steps have shape"),
    ],
)
def test_layers_refuse_what_does_not_fit(arrays: Any, sizes: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        native.lstm(*arrays, reverse=False, batch_sizes=sizes)


def test_attention_refuses_what_does_not_fit() -> None:
    settings: dict[str, Any] = {"scale": 1.0, "causal": False, "dropout": 0.0, "seed": 0}
    query, key = zeros(1, 2, 3, 4), zeros(1, 2, 5, 4)
    with pytest.raises(ValueError, match="attention of shapes"):
        native.attention(query, key, zeros(1, 2, 4, 4), **settings)
    with pytest.raises(ValueError, match="mask has shape"):
        native.attention(query, key, key, zeros(1, 2, 4, 5), **settings)
    with pytest.raises(ValueError, match="takes"):
        native.attention(query[0], key[0], key[0], **settings)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("reverse", [False, True])
def test_sequences_shared_out_over_threads_give_the_same(threads: int, reverse: bool) -> None:
    draw = np.random.default_rng(0)
    steps, batch, size = 6, 49, 96
    sizes = [49, 49, 40, 33, 17, 2]
    arrays = [
        draw.standard_normal(shape).astype(np.float32) * 0.3
        for shape in ((sum(sizes), 4 * size), (batch, size), (batch, size), (4 * size, size))
    ]
    assert len(sizes) == steps
    before = native.get_num_threads()
    try:
        native.set_num_threads(1)
        expected = native.lstm(*arrays, reverse=reverse, batch_sizes=sizes)
        native.set_num_threads(threads)
        found = native.lstm(*arrays, reverse=reverse, batch_sizes=sizes)
        slopes = [
            native.lstm_gradient(
                expected[0],
                arrays[1],
                arrays[2],
                arrays[2],
                arrays[3],
                *expected[3:],
                reverse=reverse,
                batch_sizes=sizes,
            )
        ]
        native.set_num_threads(1)
        slopes.append(
            native.lstm_gradient(
                expected[0],
                arrays[1],
                arrays[2],
                arrays[2],
                arrays[3],
                *expected[3:],
                reverse=reverse,
                batch_sizes=sizes,
            )
        )
    finally:
        native.set_num_threads(before)
    for one, other in zip((*found, *slopes[0]), (*expected, *slopes[1]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
