"""What a writer of logs is told, checked before anything is written: tags, steps, numbers, charts."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workbench.tensor import Tensor
from workbench.tensor.interchange import plain

__all__ = ["array", "charts", "dictionary", "numbers", "step_of", "tag_of"]

Array = np.ndarray[Any, Any]

STEPS = 1 << 63
"""A step is kept in eight bytes, with its sign."""


def tag_of(tag: Any) -> str:
    """Return a tag as it is; raises TypeError where it is no text, ValueError where it holds half a character.

    >>> tag_of("accuracy (%)")
    'accuracy (%)'
    """
    if not isinstance(tag, str):
        raise TypeError(f"a tag is a text, got {type(tag).__name__}; str(...) makes one of it")
    try:
        tag.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{tag!r} cannot be a tag: character {error.start} is half of one, which no file holds"
        ) from None
    return tag


def step_of(step: Any) -> int | None:
    """Return a step as a whole number, None as it is: of Python, NumPy or a tensor, floats where they are whole.

    Raises TypeError where it is no whole number, ValueError where it takes more than eight bytes.

    >>> step_of(np.float32(3.0)), step_of(None)
    (3, None)
    """
    if step is None:
        return None
    if isinstance(step, Tensor | np.ndarray) and step.ndim == 0:
        step = array(step).item()
    if isinstance(step, float | np.floating) and math.isfinite(step) and step == int(step):
        step = int(step)
    try:
        whole = operator.index(step)
    except TypeError:
        given = repr(step) if isinstance(step, float | np.floating) else type(step).__name__
        raise TypeError(
            f"global_step is a whole number, or None, got {given}; int(...) makes one of it"
        ) from None
    if not -STEPS <= whole < STEPS:
        raise ValueError(f"global_step is kept in eight bytes, and {whole} takes more")
    return whole


def array(values: Any) -> Array:
    """Return the numbers of a tensor, or of what NumPy takes."""
    return plain(values) if isinstance(values, Tensor) else np.asarray(values)


def numbers(what: str, values: Any) -> Array:
    """Return real numbers as float64, those of a tensor or of what NumPy takes; raises TypeError where they are none.

    >>> numbers("histogram 'h'", [True, 2])
    array([1., 2.])
    """
    try:
        given = array(values)
    # Rows of several lengths.
    except ValueError as error:
        raise TypeError(f"{what} is of real numbers: {error}") from None
    if given.dtype.kind == "O" and all(isinstance(one, int) for one in given.flat):
        # Python's whole numbers may be of any size.
        return given.astype(np.float64)
    if given.dtype.kind in "fiub" or (isinstance(values, Tensor) and values.is_floating_point()):
        return given.astype(np.float64)
    kind = type(values).__name__ if given.ndim == 0 and given.dtype.kind in "OSU" else given.dtype.name
    raise TypeError(f"{what} is of real numbers, got {kind}")


def dictionary(what: str, given: Any) -> Mapping[str, Any]:
    """Return a dict of values by name; raises TypeError where it is none, or a name is no text."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{what} is a dict of values by name, got {type(given).__name__}")
    for name in given:
        if not isinstance(name, str):
            raise TypeError(
                f"{what} is a dict of values by name, and {name!r} is no text; str(...) makes one"
            )
    return given


def charts(layout: Any) -> dict[str, dict[str, list[Any]]]:
    """Return the custom charts of a layout, ``{category: {title: [kind, tags]}}``, lists throughout.

    Raises TypeError where it is not built so, ValueError for another kind, or tags that do not fit it.
    """
    made: dict[str, dict[str, list[Any]]] = {}
    for category, several in dictionary("layout", layout).items():
        made[category] = {
            title: _chart(title, one) for title, one in dictionary(f"category {category!r}", several).items()
        }
    return made


def _chart(title: str, given: Any) -> list[Any]:
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != 2:
        raise TypeError(f"chart {title!r} is a list of its kind and its tags, got {given!r}")
    kind, tags = given
    if (
        isinstance(tags, str)
        or not isinstance(tags, Sequence)
        or not all(isinstance(one, str) for one in tags)
    ):
        raise TypeError(f"chart {title!r}: its tags are a list of texts, got {tags!r}")
    if kind not in ("Multiline", "Margin") or (kind == "Margin" and len(tags) != 3):
        raise ValueError(
            f"chart {title!r} is {kind!r} of {len(tags)} tags; 'Multiline' takes any number, 'Margin' three: "
            "value, lower, upper"
        )
    return [kind, list(tags)]
