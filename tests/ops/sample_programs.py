"""Samples of the op table as functions that people could have written, with types on their arguments.

An op that is offered under its name is called by it, and what it is told are arguments of the function, too; another
one is called itself, with its parameters as they stand.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import workbench as wb
from tests.jit.programs import compiled
from workbench.base.dtypes import as_dtype
from workbench.core.op import Op, Sample
from workbench.core.value import Value
from workbench.graph.vocabulary import MAKERS
from workbench.ops import FFT, FUNCTIONS, LINALG, NN, SPECIAL
from workbench.testing.values import assert_close, inputs_of, several

__all__ = ["Outcome", "Program", "programs"]

_ROOMS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("wb", FUNCTIONS), ("wb", MAKERS), ("wb.nn.functional", NN), ("wb.linalg", LINALG), ("wb.special", SPECIAL),
    ("wb.fft", FFT),
)  # fmt: skip

Outcome = tuple[tuple[Any, ...], tuple[Any, ...]]
"""What a call gave, and the gradients of its inputs."""


@dataclass(frozen=True)
class Program:
    """A function of one sample, and what it is called with."""

    function: Callable[..., Any]
    text: str
    sample: Sample
    listed: bool = False
    """Does it take its inputs as one list?"""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What it is told besides, by the names of its arguments."""

    def outcome(self, call: Callable[..., Any], slopes: bool = False, dtype: Any = np.float64) -> Outcome:
        """Return what a call with the inputs of the sample gives, and with `slopes` the gradients of those.

        Inputs in double precision are given in `dtype`.
        """
        inputs = inputs_of(_in(self.sample, dtype), slopes)
        given = ([*inputs],) if self.listed else inputs
        wb.manual_seed(0)
        results = several(call(*given, *self.settings.values()))
        total = sum(_weighed(one) for one in results if isinstance(one, Value) and one.requires_grad)
        if isinstance(total, Value) and total.requires_grad:
            total.backward()
        return results, tuple(getattr(one, "grad", None) for one in inputs)


def _in(sample: Sample, dtype: Any) -> Sample:
    cast = [
        one.astype(dtype) if isinstance(one, np.ndarray) and one.dtype == np.float64 else one
        for one in sample.inputs
    ]
    return replace(sample, inputs=tuple(cast))


def _weighed(result: Any) -> Any:
    """Return a number that depends on all of a result, on each of its numbers differently."""
    numbers = np.linspace(0.5, 1.5, result.payload.size).reshape(result.payload.shape)
    weights = wb.tensor(numbers.astype(result.payload.dtype), names=result._names)
    found = (result * weights).sum()
    return found.abs() if found.is_complex() else found


def programs(op: Op) -> Iterator[Program]:
    """Yield a program for each sample of an op."""
    for number, sample in enumerate(op.samples()):
        yield next(_forms(op, number, sample))


def _forms(op: Op, number: int, sample: Sample) -> Iterator[Program]:
    """Yield the programs that say what a sample says, first the one that most looks like what people write."""
    kinds = {name: _kind(value) for name, value in sample.params.items()}
    whole = Program(lambda *inputs: op(*inputs, **sample.params), "", sample)
    for name in _names(op) if all(kinds.values()) and "random" not in op.properties else ():
        for listed in (False, True):
            made = _written(f"{op.name}_{number}", name, sample, kinds, listed)
            if _same(made, whole):
                yield made
    yield _itself(f"{op.name}_{number}", op, sample)


def _names(op: Op) -> list[str]:
    names = (op.name, op.name.partition("_")[2])
    return [f"{room}.{name}" for name in names for room, offered in _ROOMS if name in offered]


def _written(called: str, function: str, sample: Sample, kinds: Mapping[str, str], listed: bool) -> Program:
    inputs = [f"x{i}" for i in range(len(sample.inputs))]
    heads = [f"{name}: {_kind(one) or 'Tensor'}" for name, one in zip(inputs, sample.inputs, strict=True)]
    given = ["inputs"] if listed else inputs
    head = [
        *(["inputs: List[Tensor]"] if listed else heads),
        *(f"{name}: {kind}" for name, kind in kinds.items()),
    ]
    call = [*given, *(f"{name}={name}" for name in kinds)]
    settings = {name: _plain(value) for name, value in sample.params.items()}
    return _made(called, head, f"{function}({', '.join(call)})", sample, listed, settings)


def _itself(called: str, op: Op, sample: Sample) -> Program:
    """Return a program that calls the op, each parameter under a name around it."""
    inputs = [f"x{i}" for i in range(len(sample.inputs))]
    head = [f"{name}: {_kind(one) or 'Tensor'}" for name, one in zip(inputs, sample.inputs, strict=True)]
    call = [*inputs, *(f"{name}=given_{name}" for name in sample.params)]
    around = {f"given_{name}": value for name, value in sample.params.items()}
    return _made(called, head, f"op({', '.join(call)})", sample, False, {}, op=op, **around)


def _made(
    called: str,
    head: list[str],
    call: str,
    sample: Sample,
    listed: bool,
    settings: Mapping[str, Any],
    **around: Any,
) -> Program:
    text = f"def {called}({', '.join(head)}):\n    return {call}\n"
    names = {"wb": wb, "Tensor": wb.Tensor, "List": typing.List, "Optional": typing.Optional, **around}  # noqa: UP006
    return Program(compiled(text, called, f"<{called}>", **names), text, sample, listed, settings)


def _kind(value: Any) -> str:
    """Return the type of a number or a setting as a program writes it; nothing for what has none."""
    if isinstance(value, np.dtype):
        return "wb.dtype"
    if isinstance(value, tuple) and value and len({type(one) for one in value}) == 1:
        inner = _kind(value[0])
        return inner and f"List[{inner}]"
    plain = {bool: "bool", int: "int", float: "float", str: "str", type(None): "Optional[int]"}
    return next((word for kind, word in plain.items() if isinstance(value, kind)), "")


def _plain(value: Any) -> Any:
    if isinstance(value, np.dtype):
        return as_dtype(value)
    return list(value) if isinstance(value, tuple) else value


def _same(one: Program, other: Program) -> bool:
    """Say whether two programs give the same names and numbers."""
    try:
        found, wanted = (each.outcome(each.function)[0] for each in (one, other))
        for result, expected in zip(found, wanted, strict=True):
            assert_close(result, expected)
            if result.names != expected.names or result.dtype != expected.dtype:
                return False
    except (TypeError, ValueError, LookupError, RuntimeError, AssertionError, AttributeError):
        # What is offered under the name takes something else than the record does.
        return False
    return True
