"""Families of ops: what members share is written here once, a member states only what is its own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from workbench.base.dims import broadcast
from workbench.base.errors import DimensionError
from workbench.core.contribution import Contribution
from workbench.core.dtype_rules import FLOAT, PREDICATE, PROMOTE
from workbench.core.op import Absent, BadInput, DTypeRule, Op, Sample, Saves, ops
from workbench.core.quantization import COMPARED, OWN, Quantization
from workbench.core.tape import Call

__all__ = ["alike", "binary", "grid", "unary", "unbroadcast"]

NOT_DIFFERENTIABLE = Absent("the output is constant almost everywhere")


def grid(*shape: int, low: float = -2.0, high: float = 2.0, seed: int = 0) -> np.ndarray[Any, Any]:
    """Return float64 test values in [low, high), away from exact integers, the same at every call."""
    return np.asarray(np.random.default_rng([seed, *shape]).uniform(low, high, shape) + 0.0137)


def unary(
    name: str,
    doc: str,
    equation: str,
    forward: Callable[[Any], Any],
    gradient: Callable[[Call, Any], Any] | Absent,
    *,
    saves: Saves = Saves(output=False),  # noqa: B008  a frozen record
    dtype: DTypeRule = FLOAT,
    domain: tuple[float, float] = (-2.0, 2.0),
    reference: str | None = None,
    quantized: Quantization | Absent = OWN,
    contribution: Contribution | None = None,
    properties: Iterable[str] = (),
    small: str | None = None,
    into: Callable[..., Any] | None = None,
) -> Op:
    """Declare an elementwise op on one operand: names and sizes pass through."""

    def vjp(call: Call, gradient_out: Any) -> tuple[Any, ...]:
        return (gradient(call, gradient_out),)  # type: ignore[operator]

    def samples() -> list[Sample]:
        low, high = domain
        return [
            Sample((grid(3, 4, low=low, high=high),), names=(("N", "C"),)),
            Sample((grid(low=low, high=high),)),
            Sample((np.zeros((0, 3)) + high / 2,)),
            Sample((grid(4, 3, 2, low=low, high=high).transpose(2, 0, 1),)),
        ]

    return Op(
        name=name,
        doc=doc,
        equation=equation,
        reference=reference,
        dims=lambda x: x,
        rule="names and sizes pass through",
        dtype=dtype,
        forward=forward,
        vjp=gradient if isinstance(gradient, Absent) else vjp,
        saves=saves,
        quantized=quantized,
        contribution=contribution,
        samples=samples,
        small=small,
        into=into,
        properties=frozenset(properties) | {"same", "elementwise"},
    )


def unbroadcast(gradient: Any, value: Any) -> Any:
    """Sum a gradient over the dims along which `value` was stretched."""
    sizes = value.payload.shape if hasattr(value, "payload") else ()
    return gradient if gradient.payload.shape == sizes else ops.sum_to(gradient, sizes=sizes)


def alike(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return array code that takes Python numbers in the type of the arrays beside them.

    NumPy's own functions do; others, or types that NumPy does not know, make float64 of both.
    """

    @functools.wraps(function)
    def call(*values: Any) -> Any:
        dtype = next((value.dtype for value in values if isinstance(value, np.ndarray)), None)
        return function(*[value if hasattr(value, "dtype") else np.asarray(value, dtype) for value in values])

    return call


def binary(
    name: str,
    doc: str,
    equation: str,
    forward: Callable[[Any, Any], Any],
    gradient: Callable[[Call, Any], tuple[Callable[[], Any], Callable[[], Any]]] | Absent,
    *,
    saves: Saves = Saves(output=False),  # noqa: B008  a frozen record
    dtype: DTypeRule = PROMOTE,
    domain: tuple[float, float] = (0.3, 2.0),
    reference: str | None = None,
    properties: Iterable[str] = (),
    small: str | None = None,
    into: Callable[..., Any] | None = None,
    sparse: Callable[..., Any] | Absent | None = None,
    quantized: Quantization | Absent = OWN,
    contribution: Contribution | None = None,
) -> Op:
    """Declare an elementwise op on two operands: names unify from the right, sizes broadcast.

    `gradient` returns one function an operand; only the wanted ones are called.
    """

    def vjp(call: Call, gradient_out: Any) -> tuple[Any, ...]:
        left, right = gradient(call, gradient_out)  # type: ignore[operator]
        x, y = call.inputs
        need_x, need_y = call.needs
        return (unbroadcast(left(), x) if need_x else None, unbroadcast(right(), y) if need_y else None)

    def samples() -> list[Sample]:
        low, high = domain
        x, y = grid(3, 4, low=low, high=high, seed=1), grid(3, 4, low=low, high=high, seed=2)
        return [
            Sample((x, y), names=(("N", "C"), ("N", "C"))),
            Sample((x, y[0]), names=(("N", "C"), ("C",))),
            Sample((x[:, :1], y[:1]), names=(("N", None), (None, "C"))),
            Sample((x, 0.7)),
            Sample((x[:0], y[:0])),
            Sample((grid(low=low, high=high), y)),
        ]

    def bad() -> list[BadInput]:
        x, y = grid(3, 4), grid(3, 5)
        return [
            BadInput((x, y), {}, DimensionError, "must match the size of tensor b"),
            BadInput((x, x), {}, DimensionError, "do not match", names=(("N", "C"), ("N", "H"))),
            BadInput((x, x[0]), {}, DimensionError, "do not match", names=(("N", "C"), ("N",))),
            BadInput(
                (x, x),
                {},
                DimensionError,
                "misspelling of 'channel'",
                names=(("N", "channel"), ("N", "chanel")),
            ),
            BadInput((x, x), {}, DimensionError, "align_as", names=(("N", "C"), ("C", "N"))),
            BadInput((x, x[:, 0]), {}, DimensionError, "different position", names=(("N", None), ("N",))),
        ]

    return Op(
        name=name,
        doc=doc,
        equation=equation,
        reference=reference,
        dims=lambda x, y: broadcast(name, x, y),
        rule="names unify from the right, sizes broadcast",
        dtype=dtype,
        forward=forward,
        vjp=gradient if isinstance(gradient, Absent) else vjp,
        saves=saves,
        quantized=quantized,
        contribution=contribution,
        samples=samples,
        bad=bad,
        small=small,
        into=into,
        sparse=sparse,
        properties=frozenset(properties) | {"elementwise"},
    )


def comparison(
    name: str, doc: str, equation: str, forward: Callable[[Any, Any], Any], small: str | None = None
) -> Op:
    """Declare a comparison: as `binary`, with a bool output and no gradient."""
    return binary(
        name, doc, equation, forward, NOT_DIFFERENTIABLE, dtype=PREDICATE, small=small, quantized=COMPARED
    )
