"""Random tensors: streams that repeat, a source that does not, and distributions that are what they say."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest

import workbench as wb

MANY = 200_000


def test_a_seed_gives_the_same_stream_on_every_number_of_threads() -> None:
    before = wb.get_num_threads()
    draws = []
    for threads in (1, 2):
        wb.set_num_threads(threads)
        wb.manual_seed(3)
        draws.append((wb.randn(1000).tolist(), wb.rand(N=3).tolist(), wb.randint(9, (4,)).tolist()))
    wb.set_num_threads(before)
    assert draws[0] == draws[1]


def test_state_is_taken_and_given_back() -> None:
    state = wb.get_rng_state()
    first = wb.rand(5).tolist()
    with wb.fork_rng():
        wb.rand(100)
    wb.set_rng_state(state)
    assert wb.rand(5).tolist() == first
    generator = wb.Generator(5)
    generator.numpy.random(3)
    copied = pickle.loads(pickle.dumps(generator))
    assert (copied.initial_seed(), copied.numpy.random()) == (5, generator.numpy.random())


def test_a_secure_generator_draws_and_has_no_seed() -> None:
    generator = wb.Generator(secure=True)
    assert wb.rand(3, generator=generator).tolist() != wb.rand(3, generator=generator).tolist()
    for ask in (
        generator.initial_seed,
        generator.get_state,
        lambda: generator.manual_seed(1),
        generator.seed,
    ):
        with pytest.raises(RuntimeError, match="neither seed nor state"):
            ask()
    with pytest.raises(RuntimeError, match="has no seed"):
        wb.Generator(1, secure=True)


@pytest.mark.parametrize("generator", [wb.Generator(11), wb.Generator(secure=True)], ids=["seeded", "secure"])
@pytest.mark.parametrize(
    ("draw", "mean", "variance"),
    [
        (lambda g: wb.rand(MANY, generator=g), 0.5, 1 / 12),
        (lambda g: wb.randn(MANY, generator=g), 0.0, 1.0),
        (lambda g: wb.randint(-3, 4, (MANY,), generator=g).float(), 0.0, 4.0),
        (lambda g: wb.bernoulli(wb.full((MANY,), 0.3), generator=g), 0.3, 0.21),
        (lambda g: wb.poisson(wb.full((MANY,), 2.5), generator=g), 2.5, 2.5),
        (lambda g: wb.zeros(MANY).exponential_(2.0, generator=g), 0.5, 0.25),
        (lambda g: wb.zeros(MANY).geometric_(0.25, generator=g), 4.0, 12.0),
        (lambda g: wb.normal(2.0, 3.0, (MANY,), generator=g), 2.0, 9.0),
    ],
    ids=["rand", "randn", "randint", "bernoulli", "poisson", "exponential", "geometric", "normal"],
)
def test_moments(
    draw: Callable[..., wb.Tensor], mean: float, variance: float, generator: wb.Generator
) -> None:
    values = draw(generator).numpy().astype(np.float64)
    # Seven standard errors: wrong once in 10^11 runs.
    assert abs(values.mean() - mean) < 7 * np.sqrt(variance / MANY)
    assert values.var() == pytest.approx(variance, rel=0.05)


def test_multinomial_draws_by_weight_and_each_index_once() -> None:
    weights = wb.tensor([[1.0, 3.0, 0.0], [0.0, 0.0, 2.0]], names=("N", "C"))
    drawn = wb.multinomial(weights, 20_000, replacement=True, generator=wb.Generator(0))
    assert drawn.names == ("N", None)
    assert np.bincount(drawn[0].numpy(), minlength=3)[1] == pytest.approx(15_000, rel=0.03)
    assert set(drawn[1].tolist()) == {2}
    once = wb.multinomial(wb.ones(50), 50, generator=wb.Generator(0))
    assert sorted(once.tolist()) == list(range(50))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: wb.randint(3, 3, (2,)), ValueError, "expects 'from' to be less than 'to'"),
        (lambda: wb.bernoulli(wb.tensor([1.5])), ValueError, r"expected probabilities in \[0, 1\]"),
        (lambda: wb.multinomial(wb.zeros(3), 1), ValueError, "sum of probabilities <= 0"),
        (lambda: wb.multinomial(wb.ones(2), 3), ValueError, "Pass replacement=True"),
        (lambda: wb.rand(2, dtype=wb.int64), wb.DTypeError, "use randint"),
        (lambda: wb.Generator("a"), TypeError, "a seed is a whole number"),
        (lambda: wb.rand(-1), wb.DimensionError, "negative dimension -1"),
        (lambda: wb.rand(2**40, 2**40), wb.DimensionError, "their product overflows"),
    ],
)
def test_refusals(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
