"""What came out of asking a model why: attributions with everything that is needed to read them."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from workbench.attribution.propagation.absorbed import Absorbed
from workbench.base import renderer_lookup
from workbench.tensor import Tensor

__all__ = ["AttributionResult"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class AttributionResult:
    """Attributions of a batch, and what they explain."""

    method: str
    """The method's name."""
    settings: dict[str, str]
    """How it was set, as text."""
    inputs: Any
    """The tensor that is explained, [N, …], off the tape; a tuple where there are several."""
    attributions: Any
    """Of the inputs' shape and names, a tuple as they are; of a layer, of its shape."""
    targets: tuple[tuple[int, ...], ...]
    """For each sample where in the output that is which is explained; () for the only number."""
    scores: Tensor | None
    """The model's output for the inputs, [N, …]."""
    class_names: tuple[str, ...] | None
    """Names of the entries of the output's last dim."""
    delta: Tensor | None
    """float64 [N]: Σ attributions − (F(input) − F(baseline)); None where the method promises no sum."""
    tolerance: Tensor | None
    """float64 [N]: a delta beyond this says that the attributions are off by as much."""
    seconds: float
    """How long it took for the whole batch."""
    title: str = ""
    """What was explained."""
    code: str = ""
    """Python that does it again; empty if unknown."""
    asked: dict[str, Any] | None = None
    """What `explain` was given, by the names of its arguments, so that it can be asked otherwise."""

    interrupted: bool = False
    """Whether the run was ended before its last row."""
    progress: float = 1.0
    """Which share of the rows went through the model."""
    doubts: tuple[str, ...] = ()
    """What else a reader has to know: that some attributions are not finite, or that no slope says anything here."""
    absorbed: Absorbed | None = None
    """Of relevance: what took the part that the delta says is missing, of all samples together."""

    def __len__(self) -> int:
        first = self.inputs[0] if isinstance(self.inputs, tuple) else self.inputs
        return int(first.shape[0])

    def parts(self) -> tuple[AttributionResult, ...]:
        """Return one result for each of several inputs; the result itself where there is one.

        Where the attributions are not those of the inputs one by one, as those of a layer, there are no parts.
        """
        if not isinstance(self.inputs, tuple):
            return (self,) if isinstance(self.attributions, Tensor) else ()
        if not isinstance(self.attributions, tuple) or len(self.attributions) != len(self.inputs):
            return ()
        count = len(self.inputs)
        return tuple(
            replace(self, inputs=one, attributions=found, title=f"{self.title} (input {place} of {count})")
            for place, (one, found) in enumerate(zip(self.inputs, self.attributions, strict=True), 1)
        )

    @property
    def pairs(self) -> tuple[tuple[Tensor | None, Tensor], ...]:
        """Each input with its attributions; those of layers that are of no one input each with None."""
        inputs = self.inputs if isinstance(self.inputs, tuple) else (self.inputs,)
        several = isinstance(self.attributions, tuple | list)
        found = tuple(_flat(self.attributions))
        if several == isinstance(self.inputs, tuple) and len(found) == len(inputs):
            return tuple(zip(inputs, found, strict=True))
        return tuple((None, one) for one in found)

    @functools.cached_property
    def probabilities(self) -> Array | None:
        """Probabilities of the classes, [N, classes]; None where the model's output is not [N, classes].

        Outputs that are probabilities already (none negative, each row sums to 1) are taken as they are, others
        go through a softmax.
        """
        if self.scores is None or self.scores.ndim != 2 or self.scores.shape[1] < 2:
            return None
        scores = self.scores.detach().numpy().astype(np.float64)
        # Probabilities already, where the model ends in a softmax.
        if scores.min() >= 0 and np.allclose(scores.sum(axis=1), 1, atol=1e-4):
            return scores
        # Less the largest, so that nothing overflows.
        shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))

    def predictions(self, sample: int, count: int = 10) -> list[tuple[str, float]]:
        """Return the classes that the model gives a sample, with their probabilities, most probable first."""
        return [(self.class_name(index), probability) for index, probability in self.scored(sample, count)]

    def scored(self, sample: int, count: int = 10) -> list[tuple[int, float]]:
        """Return the same by the numbers of the classes."""
        if self.probabilities is None:
            return []
        row = self.probabilities[sample]
        # Among equals the class with the lower number comes first.
        best = np.argsort(-row, kind="stable")[:count]
        return [(int(one), float(row[one])) for one in best]

    def class_name(self, index: int) -> str:
        """Return what a class is called; its number where it has no name."""
        return self.class_names[index] if self.class_names else str(index)

    def target_name(self, sample: int) -> str:
        """Return what is explained of a sample: the class's name, the place in the output, or ``output``."""
        target = self.targets[sample]
        if len(target) == 1:
            return self.class_name(target[0])
        return str(target) if target else "output"

    def within_tolerance(self) -> bool:
        """Say whether all attributions add up to what they explain, where the method promises that."""
        if self.absorbed is not None and not self.absorbed.within_tolerance():
            return False
        if self.delta is None or self.tolerance is None:
            return True
        return bool(np.all(np.abs(self.delta.numpy()) <= self.tolerance.numpy()))

    def __repr__(self) -> str:
        delta = "none" if self.delta is None else f"{float(np.abs(self.delta.numpy()).max()):.3g}"
        tensors = self.inputs if isinstance(self.inputs, tuple) else (self.inputs,)
        names = "; ".join(
            " · ".join(f"{name or '·'} {size}" for name, size in zip(one.names, one.shape, strict=True))
            for one in tensors
        )
        absorbed = "" if self.absorbed is None else f" (absorbed: {self.absorbed})"
        return f"AttributionResult({self.method}, [{names}], greatest |delta| {delta}{absorbed}, {self.seconds:.3g} s)"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return renderer_lookup.mimebundle(self)


def _flat(found: Any) -> Iterator[Tensor]:
    """Yield the attributions of all inputs, or layers, of which one may have several tensors."""
    if isinstance(found, tuple | list):
        for one in found:
            yield from _flat(one)
    else:
        yield found


def check_class_names(names: Sequence[Any] | None, scores: Any) -> tuple[str, ...] | None:
    """Return the names of classes as text, checked against the model's output.

    Raises:
        ValueError: there are not as many as the output has entries.
    """
    if names is None:
        return None
    checked = tuple(str(one) for one in names)
    count = scores.shape[-1] if scores.ndim > 1 else 1
    if len(checked) != count:
        raise ValueError(
            f"{len(checked)} class names for {count} classes: the model's output has shape {list(scores.shape)}"
        )
    return checked
