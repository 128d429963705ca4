"""Forward mode: derivatives along a direction, computed beside the values.

A value with a direction has the payload `Dual`: it hides its primal value and its tangent, the derivative of the value
along the direction. The interpreter `Forward` runs each call on the primals below itself, and makes the tangents of
the results from those of the inputs. The rule comes from the op's record: its own `jvp`; the op itself where it is
linear; its gradient rule where it acts on each value alone; else the transpose of the gradient rule, which is linear
in the gradient: run on a gradient without numbers and differentiated along it, it gives the derivative forwards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.autograd.engine import grad
from workbench.autograd.standard_basis import basis, together
from workbench.base.dims import Names
from workbench.core.batching import Batching, is_elementwise
from workbench.core.dispatch import apply, enable_grad, grad_enabled, interpreting, without_numbers
from workbench.core.op import Op, ops
from workbench.core.tape import Call, alias
from workbench.core.value import Abstract, Value, new

__all__ = ["Dual", "Forward", "derivation", "elementwise", "linear", "transposed", "zeros_of"]

_DIFFERENTIABLE = "fcV"


class Dual(Abstract):
    """The payload of a value with a direction: its primal value, its tangent (None for zero), and whose it is."""

    __slots__ = ("owner", "primal", "tangent")

    called = "with a tangent"

    def __init__(self, primal: Any, tangent: Any, owner: Forward) -> None:
        super().__init__(primal.payload.shape, primal.payload.dtype)
        self.primal = primal
        self.tangent = tangent
        self.owner = owner

    @property
    def nbytes(self) -> int:  # type: ignore[override]
        """Bytes of the primal value."""
        return int(self.primal.payload.nbytes)

    def numbers(self, value: Any) -> Any:
        """Return the numbers of the primal value: a direction takes none away."""
        payload = self.primal.payload
        return payload.numbers(self.primal) if isinstance(payload, Abstract) else payload

    def beneath(self) -> Any:
        """Return the primal value, which is all that is left where the level is over."""
        return self.primal


class Forward:
    """The interpreter of one level of forward mode."""

    def make(self, primal: Any, tangent: Any, names: Names | None = None) -> Any:
        """Return a value that moves along `tangent`."""
        return new(Dual(_bare(primal), None if tangent is None else _bare(tangent), self), names)

    def hold(self, value: Any) -> Any:
        """Return a payload for a value that does not move, and that the levels below see as it is."""
        return value.payload if self.owns(value) else Dual(_bare(value), None, self)

    def owns(self, value: Any) -> bool:
        """Say whether `value` has a direction at this level."""
        if not isinstance(value, Value):
            return False
        payload = value.payload
        return type(payload) is Dual and payload.owner is self

    def parts(self, value: Any) -> tuple[Any, Any]:
        """Return primal and tangent of a value, named as it is; the tangent of a value without direction is None."""
        if not self.owns(value):
            return value, None
        payload = value.payload
        tangent = payload.tangent
        return _named(payload.primal, value._names), None if tangent is None else _named(
            tangent, value._names
        )

    def process(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Run the call on the primals; the results move along the tangents that the op's rule gives."""
        owned = [self.owns(value) for value in inputs]
        if True not in owned:
            return apply(op, *inputs, **params)
        primals = tuple(
            [
                _named(value.payload.primal, value._names) if mine else value
                for value, mine in zip(inputs, owned, strict=True)
            ]
        )
        results = apply(op, *primals, **params)
        tangents = [
            value.payload.tangent if mine else None for value, mine in zip(inputs, owned, strict=True)
        ]
        several = results if isinstance(results, tuple) else (results,)
        made = []
        for result, tangent in zip(several, directions(op, primals, tangents, params, several), strict=True):
            if result.payload.dtype.kind in _DIFFERENTIABLE:
                made.append(self.make(result, tangent, result._names))
            else:
                made.append(new(result.payload, result._names))
        return tuple(made) if isinstance(results, tuple) else made[0]


def directions(
    op: Op, primals: tuple[Any, ...], tangents: list[Any], params: dict[str, Any], outs: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Return the tangents of the results of a call, None for zero. Tangents and what is returned are unnamed."""
    nothing = (None,) * len(outs)
    if not any(tangent is not None for tangent in tangents):
        return nothing
    if not any(out.payload.dtype.kind in _DIFFERENTIABLE for out in outs):
        return nothing
    bare = tuple([_bare(value) if isinstance(value, Value) else value for value in primals])
    bare_outs = tuple([_bare(out) for out in outs])
    # Rules leave out gradients that nobody asks for: those of inputs that do not move.
    needs = tuple([tangent is not None for tangent in tangents])
    call = Call(op, bare, params, bare_outs, needs)
    if op.jvp is not None:
        found = op.jvp(call, *tangents)
    else:
        derive = derivation(op, _real(bare) and _real(bare_outs))
        if derive is None:
            return nothing
        found = derive(call, tangents)
    several = found if isinstance(found, tuple) else (found,)
    return tuple([_fitting(one, out) for one, out in zip(several, bare_outs, strict=True)])


def derivation(op: Op, real: bool = True) -> Callable[[Call, list[Any]], Any] | None:
    """Return how tangents come from an op's other rules on real (or complex) values; None where they are all zero."""
    if not op.vjp:
        return None
    if "linear" in op.properties:
        return linear
    # The gradient of complex numbers is the conjugate of the derivative: only on real ones are the two rules the
    # same.
    return elementwise if real and is_elementwise(op) else transposed


def linear(call: Call, tangents: list[Any]) -> Any:
    """Apply the op itself: it is linear in all its inputs together."""
    inputs = [
        tangent if tangent is not None else zeros_of(value) if isinstance(value, Value) else 0
        for value, tangent in zip(call.inputs, tangents, strict=True)
    ]
    results = apply(call.op, *inputs, **call.params)
    return tuple([_bare(one) for one in results]) if isinstance(results, tuple) else _bare(results)


def elementwise(call: Call, tangents: list[Any]) -> Any:
    """Run the gradient rule on the tangents: where each value stands alone, it is its own transpose."""
    # Stretched operands are spread out first: the rule would sum their gradients back to their own sizes.
    sizes = call.out.payload.shape
    inputs = tuple(
        ops.expand(value, sizes=sizes) if isinstance(value, Value) and value.payload.shape != sizes else value
        for value in call.inputs
    )
    total: Any = None
    for i, tangent in enumerate(tangents):
        if tangent is None:
            continue
        if tangent.payload.shape != sizes:
            tangent = ops.expand(tangent, sizes=sizes)
        tangent = _fitting(tangent, call.out)
        # Once for each tangent: it stands in the gradient's place, and every input has another.
        needs = tuple([j == i for j in range(len(tangents))])
        part = call.op.vjp(Call(call.op, inputs, call.params, call.outs, needs), tangent)[i]  # type: ignore[operator]
        if part is not None:
            total = part if total is None else ops.add(total, part)
    return total


class _Unnumbered:
    """The interpreter under which what is made of a value without numbers has none either, and all else is computed."""

    def process(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        # By `type`: traced values and entries of batches derive from Abstract, and can be computed with.
        if any(isinstance(value, Value) and type(value.payload) is Abstract for value in inputs):
            return without_numbers(op, inputs, params)
        return apply(op, *inputs, **params)


def transposed(call: Call, tangents: list[Any]) -> tuple[Any, ...]:
    """Transpose the gradient rule, which is linear in the gradient that it is given."""
    found = _through(call, tangents, lambda out: new(Abstract(out.payload.shape, out.payload.dtype)))
    if found is None:
        return _by_rows(call, tangents)
    if any(one is not None and type(one.payload) is Abstract for one in found):
        # A rule that reads the gradient's own numbers, in terms that cancel: give it some.
        found = _through(call, tangents, zeros_of)
    return found or (None,) * len(call.outs)


def _by_rows(call: Call, tangents: list[Any]) -> tuple[Any, ...]:
    """Multiply with the whole Jacobian: for a gradient rule that is not differentiable itself."""
    kept = [k for k, out in enumerate(call.outs) if out.payload.dtype.kind in _DIFFERENTIABLE]
    outs = [call.outs[k] for k in kept]
    real = _rows(call, tangents, outs, kept, 1)
    if not _real(tuple(outs)):
        imaginary = _rows(call, tangents, outs, kept, 1j)
        real = [
            ops.complex(a, b) if out.payload.dtype.kind == "c" else a
            for a, b, out in zip(real, imaginary, outs, strict=True)
        ]
    found = iter(real)
    return tuple([next(found) if k in kept else None for k in range(len(call.outs))])


def _rows(call: Call, tangents: list[Any], outs: list[Any], kept: list[int], unit: complex) -> list[Any]:
    """Return the real part of each output's tangent over `unit`, from the gradients of all numbers of the outputs."""
    seeds = basis(outs)

    def products(batching: Batching) -> list[Any]:
        given: list[Any] = [None] * len(call.outs)
        for k, seed in zip(kept, seeds, strict=True):
            given[k] = batching.wrap(
                new(seed if unit == 1 or seed.dtype.kind != "c" else seed * seed.dtype.type(unit))
            )
        total: Any = None
        for gradient, tangent in zip(call.op.vjp(call, *given), tangents, strict=True):  # type: ignore[operator]
            if gradient is None or tangent is None:
                continue
            # PyTorch's gradient of a complex number is the conjugate of the derivative.
            product = ops.mul(ops.conj(gradient), tangent)
            product = ops.real(product) if product.payload.dtype.kind == "c" else product
            axes = tuple(range(len(product.payload.shape)))
            part = ops.sum(product, dim=axes, keepdim=False)
            total = part if total is None else ops.add(total, part)
        return [total]

    (column,) = together(sum(seed[0].size for seed in seeds), products)
    found, at = [], 0
    for out, seed in zip(outs, seeds, strict=True):
        count = seed[0].size
        found.append(ops.reshape(ops.index(column, key=(slice(at, at + count),)), sizes=out.payload.shape))
        at += count
    return found


def _through(call: Call, tangents: list[Any], start: Any) -> tuple[Any, ...] | None:
    """Differentiate the gradients of the inputs by that of the output(s), along the tangents.

    Returns None where the rule computes a gradient from that of the output by something that has no gradient itself.
    """
    keep = grad_enabled()
    starts = [
        start(out).requires_grad_() if out.payload.dtype.kind in _DIFFERENTIABLE else None
        for out in call.outs
    ]
    wanted = [one for one in starts if one is not None]
    # Recorded whatever is in force outside: it is differentiated right away.
    with interpreting(_Unnumbered()), enable_grad():
        gradients = call.op.vjp(call, *starts)  # type: ignore[operator]
        ends, seeds = [], []
        for gradient, tangent, value in zip(gradients, tangents, call.inputs, strict=True):
            if tangent is None or gradient is None:
                continue
            if not gradient._requires_grad:
                if type(gradient.payload) is Abstract:
                    return None  # it was made of the output's gradient
                continue
            fitted = _fitting(gradient, value)
            ends.append(fitted)
            seeds.append(_fitting(tangent, fitted))
        if not ends:
            return (None,) * len(starts)
        found = iter(grad(ends, wanted, seeds, create_graph=keep, allow_unused=True))
    return tuple([None if one is None else next(found) for one in starts])


def _fitting(one: Any, like: Any) -> Any:
    """Return a tangent or gradient in the type of a value; of a real value only the real part counts."""
    if one is None:
        return None
    given, wanted = one.payload.dtype, like.payload.dtype
    if given == wanted:
        return one
    if given.kind == "c" and wanted.kind != "c":
        one = ops.real(one)
    return one if one.payload.dtype == wanted else ops.to(one, dtype=wanted)


def zeros_of(value: Any) -> Any:
    """Return unnamed zeros in the shape and type of a value."""
    array = value.payload
    return new(np.zeros(array.shape, array.dtype))


def _real(values: tuple[Any, ...]) -> bool:
    return not any(isinstance(value, Value) and value.payload.dtype.kind == "c" for value in values)


def _bare(value: Any) -> Any:
    return value if value._names is None else alias(value, None)


def _named(value: Any, names: Names | None) -> Any:
    return value if value._names == names else alias(value, names)
