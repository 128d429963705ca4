"""What is asked of a study, and what it shows."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from workbench.attribution.result import AttributionResult
from workbench.attribution.study_methods import StudyMethod
from workbench.attribution.wording import is_plain
from workbench.base.dims import near_miss

__all__ = ["Ask", "Baseline", "Shown", "Target", "check_ask"]

Target = int | Literal["predicted", "true", "given"]
Baseline = Literal["zeros", "mean", "blurred", "given"]
"""Zeros, the mean of all the study's samples, each of its pictures blurred, or what the study was given."""


@dataclass(frozen=True, eq=False)
class Ask:
    """What is asked of a study; two are equal if they ask the same, of a tensor or a function if it is the same one."""

    model: str
    """One of its models, by name."""
    method: str
    """A key of the study's `methods`."""
    settings: tuple[tuple[str, Any], ...]
    """Those that differ from the method's own, by name."""
    target: Target
    """A class, or for each sample the one that is predicted, the true one, or the one that `explain` was given."""
    layer: str | None
    """A layer's dotted name, for methods that explain by one."""
    other: str | None
    """Another of the models, to be shown beside."""
    samples: tuple[int, ...]
    """Of which samples; of several, their mean is what a view shows."""
    baseline: Baseline = "zeros"
    """From where a method starts that starts somewhere; a study that was given baselines has these, too."""
    blur_width: float | None = None
    """How wide pictures are blurred, in pixels, where they are; None until they were."""

    @functools.cached_property
    def _key(self) -> tuple[Any, ...]:
        # Lists have no hash, slices none before Python 3.12, and tensors are compared number by number.
        settings = frozenset(
            (name, repr(value) if is_plain(value) else id(value)) for name, value in self.settings
        )
        others = (self.model, self.method, self.target, self.layer, self.other, self.samples, self.baseline)
        return (settings, *others, self.blur_width if self.baseline == "blurred" else None)

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, Ask) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)


@dataclass(frozen=True)
class Shown:
    """What was asked, and what came of it."""

    ask: Ask
    result: AttributionResult
    rows: tuple[int, ...]
    """Where in the result the samples stand."""
    beside: AttributionResult | None = None
    """Of the other model, of the samples alone."""
    beside_failure: str = ""
    """Why the other model has no answer."""


def check_ask(
    asked: Ask, *, models: Collection[str], methods: Mapping[str, StudyMethod], samples: int
) -> None:
    """Raise ValueError where there is no such model, method, setting, baseline or sample."""
    for name in (asked.model, *([] if asked.other is None else [asked.other])):
        if name not in models:
            raise ValueError(_missing("model", name, models))
    if asked.method not in methods:
        raise ValueError(_missing("attribution method", asked.method, methods))
    method = methods[asked.method]
    known = {one.name: one for one in method.settings}
    for name, _ in asked.settings:
        if name not in known:
            has = ", ".join(known) or "none"
            ready = ", made ready," if method.ready is not None else ""
            raise ValueError(
                f"{method.kind.__name__}{ready} has no setting {name!r}; its settings are: {has}"
            )
    if not asked.samples or any(not 0 <= one < samples for one in asked.samples):
        raise ValueError(f"the samples are 0 to {samples - 1:,}; got {list(asked.samples)[:5]}")
    if asked.baseline not in get_args(Baseline):
        raise ValueError(_missing("baseline", asked.baseline, get_args(Baseline)))


def _missing(what: str, name: object, known: Collection[str]) -> str:
    near = near_miss(str(name), list(known))
    hint = f"; did you mean {near!r}?" if near else f"; there are {', '.join(list(known)[:30]) or 'none'}"
    return f"there is no {what} {name!r}{hint}"
