"""A concept, and what interprets a model by concepts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from workbench.base.foreign import told
from workbench.nn import Module

__all__ = ["Concept", "ConceptInterpreter", "concepts_to_str"]


class Concept:
    """Something that people have a word for, given by examples.

    `id` is a number of its own, `name` becomes part of a file's name, and `data_iter` gives batches of examples, as the
    model takes them; None for a concept that is only named.

    Raises:
        TypeError: the id is no whole number, or the name no text.

    >>> Concept(0, "striped", None).identifier
    'striped-0'
    """

    def __init__(self, id: int, name: str, data_iter: Iterable[Any] | None) -> None:
        if isinstance(id, bool) or not isinstance(id, int):
            raise TypeError(f"Concept: id is a whole number, got {id!r}")
        if not isinstance(name, str):
            raise TypeError(f"Concept: name is text, got {type(name).__name__}")
        self.id = id
        self.name = name
        self.data_iter = data_iter

    @property
    def identifier(self) -> str:
        """The name and the id."""
        return f"{self.name}-{self.id}"

    def __repr__(self) -> str:
        return f"Concept({self.id!r}, {self.name!r})"


def concepts_to_str(concepts: Sequence[Concept]) -> str:
    """Return the ids of concepts as one text, by which results know a set of concepts.

    >>> concepts_to_str([Concept(0, "striped", None), Concept(3, "random", None)])
    '0-3'
    """
    return "-".join(str(one.id) for one in concepts)


class ConceptInterpreter(ABC):
    """What interprets a model by concepts.

    Raises:
        TypeError: `model` is no module.
    """

    def __init__(self, model: Module) -> None:
        if not isinstance(model, Module):
            raise TypeError(
                f"{type(self).__name__}: model is a module, whose layers have names; got {told(model)}"
            )
        self.model = model

    @abstractmethod
    def interpret(self, inputs: Any, *arguments: Any, **settings: Any) -> Any:
        """Return what the concepts are to the model's output for `inputs`."""
