"""What can be asked of a projection in the view: methods, the settings that people turn, texts as values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from workbench.embedding import Embedding, Projection
from workbench.embedding.methods import METHODS
from workbench.live.messages import (
    ProjectEvent,
    ScatterAxis,
    ScatterEnd,
    ScatterMethod,
    ScatterSetting,
    ScatterValue,
    ScatterWork,
)
from workbench.live.model import Refused

__all__ = ["asked_of", "offered", "project", "work_of"]

Kind = Literal["whole", "number", "truth", "choice", "text"]


@dataclass(frozen=True)
class Setting:
    """One setting: Python's name, a person's words, and what it is where nobody says."""

    name: str
    label: str
    kind: Kind
    default: str
    note: str
    choices: tuple[str, ...] = ()

    def message(self, given: Mapping[str, Any]) -> ScatterSetting:
        """Return what a page is told, with the value that was given last."""
        value = str(given[self.name]) if self.name in given else self.default
        return ScatterSetting(self.name, self.label, self.kind, value, list(self.choices), self.note)

    def parse(self, text: str) -> Any:
        """Return what a person typed as a value.

        Raises:
            Refused: it is none.
        """
        try:
            return self._parsed(text.strip())
        except ValueError:
            wanted = {"whole": "a whole number", "number": "a number", "truth": "True or False"}.get(
                self.kind
            )
            wanted = wanted or f"one of {', '.join(self.choices)}"
            raise Refused(f"{self.label} ({self.name}) is {wanted}, not {text!r}") from None

    def _parsed(self, text: str) -> Any:
        if self.kind == "whole":
            return int(text)
        if self.kind == "number" or (self.kind == "text" and text != "auto"):
            number = float(text)
            if not math.isfinite(number):
                raise ValueError(text)
            return int(number) if number.is_integer() else number
        if self.kind == "truth":
            if text not in ("True", "False"):
                raise ValueError(text)
            return text == "True"
        if self.kind == "choice" and text not in self.choices:
            raise ValueError(text)
        return text


WHOLE_SPACE = "Move the mean to 0 and make every vector one of length 1."
ROWS = "Refuse points with NaN or infinite values, or leave them out."
SOME = "Make the picture of so many points, drawn evenly; empty for all."

SPACE = (
    Setting("sphereize", "sphereize", "truth", "False", WHOLE_SPACE),
    Setting("missing", "NaN rows", "choice", "refuse", ROWS, ("refuse", "drop")),
    Setting("sample", "sample", "whole", "", SOME),
)
"""Settings that every method has."""

METRIC = Setting(
    "metric", "distance", "choice", "euclidean", "How near points are in the space.", ("euclidean", "cosine")
)
SEED = Setting(
    "random_state", "seed", "whole", "0", "Where chance begins: the same seed gives the same picture."
)
NEAR = Setting("n_neighbors", "neighbours", "whole", "15", "How many neighbours of each point count.")
CLOSE = Setting("min_dist", "least distance", "number", "0.1", "How close points may come to one another.")
LABELS = Setting("supervised", "use labels", "truth", "False", "Part points with other labels.")

START = ("pca", "random", "spectral")
FAST = "Randomized is faster and nearly the same."

SETTINGS: dict[str, tuple[str, tuple[Setting, ...]]] = {
    "pca": (
        "the directions of largest variance",
        (Setting("solver", "solver", "choice", "exact", FAST, ("exact", "randomized")),),
    ),
    "tsne": (
        "keeps neighbours together; distances between groups mean little",
        (
            Setting("perplexity", "perplexity", "number", "30", "About how many neighbours count."),
            Setting("n_iter", "steps", "whole", "500", "How many steps follow the first 250."),
            Setting("learning_rate", "learning rate", "text", "auto", "How far a step goes."),
            Setting(
                "early_exaggeration", "exaggeration", "text", "auto", "How strongly neighbours pull at first."
            ),
            Setting("initialization", "starts from", "choice", "pca", "Where points stand at first.", START),
            METRIC,
            SEED,
        ),
    ),
    "umap": (
        "keeps neighbours together, and more of how groups lie to one another",
        (NEAR, CLOSE, METRIC, LABELS, SEED),
    ),
    "densmap": (
        "UMAP that keeps dense regions dense",
        (
            NEAR,
            CLOSE,
            Setting("dens_lambda", "weight of density", "number", "2", "How much density counts."),
            METRIC,
            SEED,
        ),
    ),
    "axes": ("each axis runs from one set of points to another", ()),
}
"""What each method does, and what a person turns; everything else is set in Python."""


def offered(projection: Projection) -> list[ScatterMethod]:
    """Return the methods, those of the drawn projection with its settings."""
    asked = asked_of(projection)
    return [
        ScatterMethod(
            name,
            METHODS[name].title,
            note,
            [one.message(projection.options if name == asked else {}) for one in (*settings, *SPACE)],
        )
        for name, (note, settings) in SETTINGS.items()
    ]


def asked_of(projection: Projection) -> str:
    """Return the name of the method that made a projection, as `Embedding.project` takes it; empty where none is."""
    return next((name for name in SETTINGS if METHODS[name].title == projection.method), "")


def project(embedding: Embedding, event: ProjectEvent) -> None:
    """Do what a person asked for; a method that takes long goes on in the background.

    Raises:
        Refused: there is no such method or setting, or it does not fit the points.
    """
    if event.method not in SETTINGS:
        raise Refused(f"there is no method {event.method!r} here; there are {', '.join(SETTINGS)}")
    values = _values(event.method, event.settings)
    if event.method == "axes":
        if not event.axes:
            raise Refused(
                "an axis runs from one set of points to another: name both ends, or take the selection"
            )
        values["axes"] = [_axis(one) for one in event.axes]
        values.setdefault("dims", max(2, len(event.axes)))
    try:
        embedding.project(event.method, values.pop("dims", event.dims), background=True, **values)
    # Its words say what does not fit, which library is missing, what still runs; nothing has changed then.
    except (ValueError, TypeError, KeyError, IndexError, RuntimeError, ImportError) as error:
        raise Refused(_words(error)) from None


def _words(error: Exception) -> str:
    # The text of a KeyError is in quotes otherwise.
    return str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)


def _values(method: str, typed: Sequence[ScatterValue]) -> dict[str, Any]:
    """Return the settings that are others than what they are without a word."""
    known = {one.name: one for one in (*SETTINGS[method][1], *SPACE)}
    values: dict[str, Any] = {}
    for one in typed:
        setting = known.get(one.name)
        if setting is None:
            raise Refused(
                f"{METHODS[method].title} has no setting {one.name!r} here; it has {', '.join(known)}"
            )
        if one.value.strip() not in ("", setting.default):
            values[one.name] = setting.parse(one.value)
    return values


def _axis(axis: ScatterAxis) -> tuple[Any, Any]:
    return _end(axis.start), _end(axis.end)


def _end(end: ScatterEnd) -> list[int] | list[str]:
    if end.points:
        return list(end.points)
    words = [word.strip() for word in end.words.split(",") if word.strip()]
    if not words:
        raise Refused(
            "an end of an axis is empty: name a point, several with commas between, or take the selection"
        )
    return words


def work_of(embedding: Embedding, projection: Projection) -> ScatterWork | None:
    """Return how far a projection is that runs; None where none does."""
    if not embedding.running:
        return None
    # Before its first frame the last picture stays.
    known = projection.running and projection.of > 0
    done = projection.iteration if known else 0
    seconds = done / projection.rate if known and projection.rate > 0 else 0.0
    what = projection.method if known else "projection"
    if known and projection.phase:
        what = f"{what}: {projection.phase}"
    return ScatterWork(what, done, projection.of if known else None, seconds, "steps", True)
