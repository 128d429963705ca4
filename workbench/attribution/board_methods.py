"""Which methods are compared on a board, and what their rows are called."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from typing import Any

from workbench.attribution.base import Attribution
from workbench.attribution.method_settings import offered, takes_layer
from workbench.attribution.methods import METHODS, name_of
from workbench.attribution.neuron.base import NeuronAttribution
from workbench.attribution.study_methods import StudyMethod
from workbench.base.dims import near_miss

__all__ = ["Method", "by_key", "check_known", "fitting", "made_of", "title_of"]

Method = str | type[Attribution] | Attribution
"""The name of a method, its class, or one that is made ready."""

COSTLY = ("shapley_values", "shapley_value_sampling", "feature_permutation", "layer_feature_permutation")
"""Methods that take long for every pixel, or several samples at least: they are compared where they are named."""


def fitting(layer: str | None) -> list[str]:
    """Return the methods that are compared where none are named: with a `layer` those that explain by one, too."""
    return [
        name
        for name, kind in METHODS.items()
        if name not in COSTLY
        and offered(kind)
        and (layer is not None or not takes_layer(kind))
        # What a neuron says is another question than what the output says.
        and not issubclass(kind, NeuronAttribution)
    ]


def by_key(methods: Sequence[Method]) -> dict[str, type[Attribution] | Attribution]:
    """Return methods by what their rows are called: by name, or by what their class is called, numbered if need be.

    Raises:
        ValueError: there is no method of a name.
        TypeError: something is no method.

    >>> from workbench.attribution.saliency import Saliency
    >>> list(by_key([Saliency, "saliency", Saliency(lambda x: x)]))
    ['saliency', 'saliency #2', 'Saliency']
    """
    found: dict[str, type[Attribution] | Attribution] = {}
    for one in methods:
        name, method = _named(one)
        free = (f"{name} #{number}" for number in itertools.count(2))
        found[name if name not in found else next(key for key in free if key not in found)] = method
    return found


def title_of(key: str, method: type[Attribution] | Attribution) -> str:
    """Return what people read of a row: what its method is called, with its number where several are called so.

    >>> from workbench.attribution.saliency import Saliency
    >>> title_of("saliency #2", Saliency)
    'Saliency #2'
    """
    return method.get_name() + key.removeprefix(_named(method)[0])


def made_of(method: type[Attribution] | Attribution) -> str:
    """Return what a method that is made ready was made with, by which rows of one method are told apart.

    >>> from workbench.attribution.integrated_gradients import IntegratedGradients
    >>> made_of(IntegratedGradients(lambda x: x, multiply_by_inputs=False)), made_of(IntegratedGradients)
    ('made ready: times inputs False', '')
    """
    if not isinstance(method, Attribution):
        return ""
    made = StudyMethod(type(method), method).made
    return f"made ready: {made}" if made else "made ready"


def check_known(what: str, name: str, known: Collection[str]) -> None:
    """Raise ValueError where there is nothing of that name."""
    if name not in known:
        near = near_miss(name, list(known))
        hint = f"did you mean {near!r}?" if near else f"there are {', '.join(known)}"
        raise ValueError(f"there is no {what} {name!r}; {hint}")


def _named(method: Any) -> tuple[str, type[Attribution] | Attribution]:
    if isinstance(method, str):
        check_known("method", method, METHODS)
        return method, METHODS[method]
    if isinstance(method, Attribution):
        return method.get_name(), method
    if isinstance(method, type) and issubclass(method, Attribution):
        return name_of(method) or method.get_name(), method
    raise TypeError(
        f"a method is the name of one ({', '.join(list(METHODS)[:4])}, …), its class, or one made ready; "
        f"got {type(method).__name__}"
    )
