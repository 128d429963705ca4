"""The table of operators: what each computes, from which version of the format on.

A record is a function of tensors, declared where it is written::

    @operator("Gemm", since=7)
    def gemm(a, b, c=None, *, alpha=1.0, beta=1.0, transA=0, transB=0): ...

Inputs are its positional arguments, attributes its keywords, each with the format's name and default. One that has no
default must be in the file. An argument called `outputs` is told how many results the file reads.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from workbench.base.errors import DimensionError, Shown
from workbench.graph import NamedFunction
from workbench.onnx.errors import OnnxError
from workbench.onnx.values import Integers, as_integers, as_tensor, numbers_in

__all__ = [
    "DOMAINS", "NEWEST", "OLDEST", "Operator", "Version", "find", "function", "operator", "operators", "put",
]  # fmt: skip

OLDEST, NEWEST = 7, 28
"""The versions of the format's own operators that are read."""

DOMAINS = {
    "": "",
    "ai.onnx": "",
    "com.microsoft": "microsoft",
    "ai.onnx.ml": "ml",
    "ai.onnx.preview": "preview",
}
"""Domains of operators, and what their functions are called by."""

Rule = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Version:
    """What an operator computes from a version of the format on."""

    name: str
    """What a graph calls it: ``onnx.Softmax``, ``onnx.Softmax_1``."""
    call: Rule
    since: int
    numbers: frozenset[int]
    """Inputs that are needed as numbers: sizes, places, paddings."""
    still: frozenset[int]
    """Inputs that are no weights where the file has them: statistics, scales, bounds."""
    integers: Rule | None
    """What it does to whole numbers that are sizes; gives NotImplemented where a tensor is needed."""
    raw: bool
    """True if it takes values of any kind as they are: sequences, optional ones, whole numbers."""
    pure: bool

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The function's arguments."""
        return dict(inspect.signature(self.call).parameters)

    @property
    def counts(self) -> bool:
        """True if it is told how many results are read."""
        return "outputs" in self.parameters

    def check_inputs(self, given: int) -> None:
        """Raise `OnnxError` where a node has another number of inputs than the operator takes."""
        kinds = [one for one in self.parameters.values() if one.kind is not one.KEYWORD_ONLY]
        least = sum(1 for one in kinds if one.default is one.empty and one.kind is not one.VAR_POSITIONAL)
        endless = any(one.kind is one.VAR_POSITIONAL for one in kinds)
        if given < least or (given > len(kinds) and not endless):
            most = "or more" if endless else f"to {len(kinds)}" if len(kinds) > least else ""
            raise OnnxError(f"it takes {least} {most}".strip() + f" inputs, and has {given}")

    def check_attributes(self, given: dict[str, Any]) -> None:
        """Raise `OnnxError` where a node has an attribute that the operator has not, or lacks one."""
        known = {
            name: one
            for name, one in self.parameters.items()
            if one.kind is one.KEYWORD_ONLY and name != "outputs"
        }
        for name in given:
            if name not in known:
                raise OnnxError(
                    f"it has the attribute {name!r}, which the operator has not: {', '.join(known) or 'it takes none'}"
                )
        for name, one in known.items():
            if one.default is one.empty and name not in given:
                raise OnnxError(f"it lacks the attribute {name!r}, which it needs")

    def run(self, *inputs: Any, **attributes: Any) -> Any:
        """Compute it of what a graph gives: tensors, whole numbers, None for what is left out."""
        try:
            return self._run(inputs, attributes)
        # What a rule is not written for: a file may say anything, and its attributes are numbers like others.
        except (
            ArithmeticError,
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
            RuntimeError,
            MemoryError,
        ) as error:
            if isinstance(error, Shown | DimensionError):
                raise
            raise OnnxError(f"{self.name} cannot be computed of what it is given: {error}") from error

    def _run(self, inputs: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        given = [Integers(one) if type(one) in (int, list) else one for one in inputs]
        first = next((one for one in given if isinstance(one, Integers)), None)
        if self.integers is not None and first is not None:
            found = self.integers(*map(as_integers, given), **attributes)
            if found is not NotImplemented:
                return _of_type(found, first.dtype) if self.name != "onnx.Cast" else found
        if not self.raw:
            given = [numbers_in(one) if i in self.numbers else as_tensor(one) for i, one in enumerate(given)]
        outputs = attributes.get("outputs")
        result = self.call(*given, **attributes)
        # Only what the file reads: the last results of an operator may be left out.
        if outputs is None:
            return result
        if len(result) < outputs:
            raise OnnxError(f"the file reads {outputs} results, and there are {len(result)}")
        return result[0] if outputs == 1 else tuple(result[:outputs])


def _of_type(found: Any, dtype: Any) -> Any:
    """Say of whole numbers of which type they are: of that of what they were computed of."""
    for one in found if isinstance(found, tuple) else (found,):
        if isinstance(one, Integers):
            one.dtype = dtype
    return found


@dataclass(frozen=True)
class Operator:
    """An operator of a domain, in the versions that differ."""

    name: str
    domain: str
    versions: dict[int, Version] = field(default_factory=dict)

    def at(self, version: int) -> Version | None:
        """Return what it is in a version of the format; None where it is older than the operator."""
        since = max((one for one in self.versions if one <= version), default=None)
        return None if since is None else self.versions[since]


_TABLE: dict[tuple[str, str], Operator] = {}
_FUNCTIONS: dict[str, NamedFunction] = {}


def operator(
    name: str,
    *,
    since: int = 1,
    domain: str = "",
    numbers: tuple[int, ...] = (),
    still: tuple[int, ...] = (),
    integers: Rule | None = None,
    raw: bool = False,
    pure: bool = True,
) -> Callable[[Rule], Rule]:
    """Return a decorator that puts a function into the table; the fields are those of `Version`."""

    def declare(call: Rule) -> Rule:
        room = f"{DOMAINS[domain]}." if domain else ""
        later = any(key[:2] == (domain, name) for key in _TABLE)
        called = f"onnx.{room}{name}" + (f"_{since}" if later else "")
        made = Version(
            called, call, since, frozenset(numbers), frozenset({*numbers, *still}), integers, raw, pure
        )
        entry = _TABLE.setdefault((domain, name), Operator(name, domain))
        if since in entry.versions:
            raise ValueError(f"{name} is declared twice from version {since} on")
        entry.versions[since] = made
        put(NamedFunction(called, made.run, pure=pure))
        return call

    return declare


def find(name: str, domain: str, version: int) -> Version | None:
    """Return what an operator is in a version of its domain; None where there is none of here."""
    entry = _TABLE.get(("" if domain == "ai.onnx" else domain, name))
    return None if entry is None else entry.at(version)


def put(one: NamedFunction) -> None:
    """Let graphs call a function by its name."""
    _FUNCTIONS[one.name] = one


def function(name: str) -> NamedFunction | None:
    """Return the function that a graph calls by a name."""
    return _FUNCTIONS.get(name)


def operators() -> Iterator[Operator]:
    """Yield every operator, in the order of the alphabet.

    >>> import workbench as wb
    >>> next(iter(wb.onnx.operators())).name
    'Abs'
    """
    return iter(sorted(_TABLE.values(), key=lambda one: (one.domain, one.name)))
