"""Baselines that are drawn: one of the values that each feature may have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.base.random import default_generator

__all__ = ["ProductBaselines"]


class ProductBaselines:
    """Draws one of the values of each feature, independently: a function of baselines for `TextTemplateInput`.

    `baseline_values` holds the values of each feature, in a list or by name. A tuple of names stands for features
    that go together; its values are tuples.

    Raises:
        ValueError: a feature has no values, or values of a tuple of names that do not go with them.

    >>> drawn = ProductBaselines({"name": ["Ada"], ("city", "country"): [("Paris", "France"), ("Rome", "Italy")]})()
    >>> drawn["name"], (drawn["city"], drawn["country"]) in [("Paris", "France"), ("Rome", "Italy")]
    ('Ada', True)
    """

    def __init__(
        self, baseline_values: Sequence[Sequence[Any]] | Mapping[str | tuple[str, ...], Sequence[Any]]
    ) -> None:
        named = isinstance(baseline_values, Mapping)
        self.dict_keys: list[Any] = list(baseline_values) if named else []
        self.baseline_values = list(baseline_values.values() if named else baseline_values)  # type: ignore[union-attr]
        for at, values in enumerate(self.baseline_values):
            key: Any = self.dict_keys[at] if named else at
            if not values:
                raise ValueError(f"ProductBaselines: feature {key!r} has no values to draw from")
            if isinstance(key, tuple) and any(len(one) != len(key) for one in values):
                raise ValueError(f"ProductBaselines: each value of {key!r} is a tuple of {len(key)}")

    def sample(self) -> Any:
        """Return one value for each feature: a list, or a dict by name."""
        drawn = [
            values[int(default_generator.numpy.integers(len(values)))] for values in self.baseline_values
        ]
        if not self.dict_keys:
            return drawn
        found: dict[str, Any] = {}
        for key, value in zip(self.dict_keys, drawn, strict=True):
            if isinstance(key, tuple):
                found.update(zip(key, value, strict=True))
            else:
                found[key] = value
        return found

    def __call__(self) -> Any:
        """Return a sample."""
        return self.sample()
