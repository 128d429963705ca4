"""Other words for parameters: NumPy's, wherever a function has what they mean."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb
from workbench import ops
from workbench.core.words import taking_words, words_of

F = wb.nn.functional
X = wb.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    ("words", "usual"),
    [
        (lambda: X.sum(axis=1, keepdims=True), lambda: X.sum(dim=1, keepdim=True)),
        (lambda: wb.sum(X, axis=(0, 1)), lambda: wb.sum(X, dim=(0, 1))),
        (lambda: wb.sum(a=X, axis=0), lambda: wb.sum(X, 0)),
        (lambda: X.max(axis=1)[0], lambda: X.max(1)[0]),
        (lambda: X.cumsum(axis=0), lambda: X.cumsum(0)),
        (lambda: X.clone().cumsum_(axis=0), lambda: X.cumsum(0)),
        (lambda: wb.cat([X, X], axis=1), lambda: wb.cat([X, X], 1)),
        (lambda: X.unsqueeze(axis=0), lambda: X.unsqueeze(0)),
        (lambda: F.softmax(X, axis=1), lambda: F.softmax(X, dim=1)),
        (lambda: wb.linalg.vector_norm(X, axis=1, keepdims=True), lambda: X.norm(dim=1, keepdim=True)),
        (lambda: wb.maximum(x1=X, x2=X + 1), lambda: X + 1),
        (lambda: wb.linalg.det(input=X[:, :2]), lambda: wb.linalg.det(X[:, :2])),
        (lambda: X.split(split_size=1)[1], lambda: X.split(1)[1]),
        (lambda: wb.sin(x=X), lambda: wb.sin(X)),
    ],
)
def test_they_mean_the_same(words: Callable[[], Any], usual: Callable[[], Any]) -> None:
    assert words().tolist() == usual().tolist()


@pytest.mark.parametrize(
    "call", [lambda: X.sum(1, axis=1), lambda: wb.sum(X, dim=1, axis=1), lambda: X.cumsum(0, axis=0)]
)
def test_a_parameter_is_given_once(call: Callable[[], Any]) -> None:
    with pytest.raises(TypeError, match="multiple values for argument 'dim'"):
        call()


def test_other_words_are_refused_as_ever() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'axes'"):
        X.sum(axes=1)


def test_every_function_with_a_dim_takes_an_axis() -> None:
    """All that the table offers, but what has an ``axis`` of its own."""
    seen = 0
    for offered in (ops.FUNCTIONS, ops.METHODS, ops.NN, ops.LINALG, ops.FFT, ops.SPECIAL):
        for name, function in offered.items():
            if not inspect.isfunction(function):
                continue
            own = inspect.unwrap(function)
            if {"dim"} & set(inspect.signature(own).parameters) and "axis" not in inspect.signature(
                own
            ).parameters:
                seen += 1
                with pytest.raises(TypeError) as refused:
                    function(axis=None, no_such_word=None)
                assert "'axis'" not in str(refused.value), name
    assert seen > 150


def test_a_function_keeps_its_face() -> None:
    def own(input: Any, dim: Any = None, *, out: Any = 3) -> Any:
        """Return what it was given."""
        return input, dim, out

    call = taking_words(own, words_of(own))
    assert inspect.signature(call) == inspect.signature(own) and call.__doc__ == own.__doc__
    assert call(1) == (1, None, 3) and call(1, 2, out=4) == (1, 2, 4) and call(1, axis=5) == (1, 5, 3)
    assert call(x=1, axis=5) == (1, 5, 3)
