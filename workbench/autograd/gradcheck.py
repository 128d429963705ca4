"""Checking gradients of a function against finite differences: PyTorch's `torch.autograd.gradcheck`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.autograd.differentiable_inputs import or_zeros
from workbench.autograd.forward import Forward
from workbench.autograd.pytree import flatten
from workbench.autograd.standard_basis import together
from workbench.autograd.transforms import pulled
from workbench.core.dispatch import enable_grad, interpreting, no_grad
from workbench.core.value import new
from workbench.tensor import Tensor

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

Array = np.ndarray[Any, Any]


class GradcheckError(RuntimeError):
    """A gradient that is not what finite differences say."""


@dataclass(frozen=True)
class _Options:
    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_undefined_grad: bool
    check_grad_dtypes: bool
    check_batched_grad: bool
    check_batched_forward_grad: bool
    check_forward_ad: bool
    check_backward_ad: bool
    fast_mode: bool


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
) -> bool:
    """Compare the gradients of `func` at `inputs` with central differences of width `eps`; return True if they agree.

    Inputs that require a gradient are checked; they should be float64 or complex128. Real and imaginary parts of
    complex inputs and outputs are moved and compared each. Values agree within ``atol + rtol·|numerical|``.

    With `fast_mode` one random combination of the Jacobian is compared in place of every entry. The `check_…` switches
    add: gradients where only some outputs are used, types, backward under vmap, forward mode (and it under vmap).

    Raises `GradcheckError` (or returns False without `raise_exception`) where they do not agree, `ValueError` where no
    input requires a gradient.

    >>> import workbench as wb
    >>> from workbench.autograd.gradcheck import gradcheck
    >>> gradcheck(lambda x: x * x, wb.tensor([1.0, 2.0], dtype="float64", requires_grad=True))
    True
    """
    options = _Options(
        eps,
        atol,
        rtol,
        nondet_tol,
        check_undefined_grad,
        check_grad_dtypes,
        check_batched_grad,
        check_batched_forward_grad,
        check_forward_ad,
        check_backward_ad,
        fast_mode,
    )
    if not (check_backward_ad or check_forward_ad):
        raise ValueError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise ValueError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise ValueError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    several = inputs if isinstance(inputs, tuple | list) else (inputs,)
    check = _Check(func, tuple(several), options)
    try:
        check.run()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
) -> bool:
    """Check second derivatives: `gradcheck` of the gradients of `func`, functions of its inputs and `grad_outputs`.

    `grad_outputs` are random numbers if not given. `check_fwd_over_rev` differentiates the gradients forwards too.

    >>> import workbench as wb
    >>> from workbench.autograd.gradcheck import gradgradcheck
    >>> gradgradcheck(lambda x: x * x * x, wb.tensor([1.0, 2.0], dtype="float64", requires_grad=True))
    True
    """
    several = tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)
    count = len(several)
    outputs = _differentiable(func(*several))
    if grad_outputs is None:
        # Drawn from a fixed seed, here and below: a check that fails once fails always.
        draw = np.random.default_rng(1)
        seeds = tuple([_random(draw, one).requires_grad_() for one in outputs])
    else:
        seeds = tuple(grad_outputs) if isinstance(grad_outputs, tuple | list) else (grad_outputs,)

    def gradients(*args: Any) -> tuple[Any, ...]:
        points, vectors = args[:count], args[count:]
        with enable_grad():
            # Finite differences and forward mode hand in values that are off the tape.
            points = tuple(
                [
                    one.requires_grad_() if _wanted(given) and not one._requires_grad else one
                    for one, given in zip(points, several, strict=True)
                ]
            )
            starts = [one for one, given in zip(points, several, strict=True) if _wanted(given)]
            found = pulled(_differentiable(func(*points)), starts, vectors, True)
        return tuple([one for one in found if one is not None])

    return gradcheck(
        gradients,
        (*several, *seeds),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
    )


def _wanted(value: Any) -> bool:
    return isinstance(value, Tensor) and value._requires_grad


def _differentiable(result: Any) -> list[Any]:
    """Return the outputs that have derivatives."""
    leaves, _ = flatten(result)
    return [one for one in leaves if isinstance(one, Tensor) and one.payload.dtype.kind in "fcV"]


def _random(draw: np.random.Generator, like: Any) -> Any:
    array = draw.uniform(-1, 1, like.shape)
    if like.payload.dtype.kind == "c":
        array = array + 1j * draw.uniform(-1, 1, like.shape)
    return new(np.asarray(array, like.payload.dtype))


def _real(array: Array) -> Array:
    """Return values as one row of real numbers: complex ones as real part, then imaginary part, of each."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.dtype.kind == "c":
        return np.stack([flat.real, flat.imag], axis=1).reshape(-1).astype(np.float64)
    return flat.astype(np.float64)


def _shaped(flat: Array, like: Array) -> Array:
    """Undo `_real`."""
    if like.dtype.kind == "c":
        pairs = flat.reshape(-1, 2)
        return (pairs[:, 0] + 1j * pairs[:, 1]).reshape(like.shape).astype(like.dtype)
    return flat.reshape(like.shape).astype(like.dtype)


def _numbers(one: Any) -> Array:
    array: Array = one.detach().numpy(force=True)
    return array


class _Check:
    """One check of one function at one point."""

    def __init__(self, func: Callable[..., Any], inputs: tuple[Any, ...], options: _Options) -> None:
        self.func = func
        self.inputs = inputs
        self.options = options
        self.wanted = [i for i, one in enumerate(inputs) if _wanted(one)]
        if not self.wanted:
            raise ValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of the them have "
                "requires_grad=True."
            )
        for i in self.wanted:
            if inputs[i].payload.dtype not in (np.float64, np.complex128):
                warnings.warn(
                    f"Input #{i} requires gradient and is not a double precision floating point or complex. This check "
                    "will likely fail if all the inputs are not of double precision floating point or complex. ",
                    stacklevel=4,
                )

    def run(self) -> None:
        """Raise `GradcheckError` where something does not agree."""
        outputs = _differentiable(self.func(*self.inputs))
        if not any(one._requires_grad for one in outputs):
            self._check_constant(outputs)
            return
        draw = np.random.default_rng(0)
        for i in self.wanted:
            size = _real(_numbers(self.inputs[i])).size
            # In fast mode one direction of the input and one combination of the output, else each of its own.
            moves = draw.uniform(-1, 1, (1, size)) if self.options.fast_mode else np.eye(size)
            numerical = self._numerical(i, moves)
            for k, output in enumerate(outputs):
                count = _real(_numbers(output)).size
                rows = draw.uniform(-1, 1, (1, count)) if self.options.fast_mode else np.eye(count)
                expected = numerical[k] @ rows.T
                if self.options.check_backward_ad:
                    analytical = self._backwards(i, k, rows) @ moves.T
                    self._compare(i, k, expected, analytical.T, "")
                if self.options.check_forward_ad:
                    forwards = self._forwards(i, k, moves)
                    self._compare(i, k, expected, forwards @ rows.T, "computed with forward mode ")
        if self.options.check_backward_ad:
            self._check_repeated(outputs)
            if self.options.check_undefined_grad and len(outputs) > 1:
                self._check_undefined(outputs)
            if self.options.check_batched_grad:
                self._check_batched(outputs)
        if self.options.check_batched_forward_grad:
            self._check_batched_forward()

    def _check_constant(self, outputs: Sequence[Any]) -> None:
        """Nothing depends on the inputs for the tape: finite differences must say so too."""
        for i in self.wanted:
            size = _real(_numbers(self.inputs[i])).size
            for k, moved in enumerate(self._numerical(i, np.eye(size))):
                if np.abs(moved).max(initial=0.0) > self.options.atol:
                    raise GradcheckError(
                        f"Numerical gradient for function expected to be zero (output {k}, input {i}), as the output "
                        "does not require grad"
                    )

    def _values(self, i: int, array: Array) -> list[Array]:
        args = [
            new(array, one._names)
            if j == i
            else new(one.payload, one._names)
            if isinstance(one, Tensor)
            else one
            for j, one in enumerate(self.inputs)
        ]
        with no_grad():
            return [_real(_numbers(one)) for one in _differentiable(self.func(*args))]

    def _numerical(self, i: int, moves: Array) -> list[Array]:
        """Return, for each output, its change [moves, numbers of the output] along each move of input `i`."""
        like = _numbers(self.inputs[i])
        base = _real(like)
        rows = []
        for move in moves:
            up = self._values(i, _shaped(base + self.options.eps * move, like))
            down = self._values(i, _shaped(base - self.options.eps * move, like))
            # From both sides: the error is then of the order of eps².
            rows.append([(a - b) / (2 * self.options.eps) for a, b in zip(up, down, strict=True)])
        # An input without values cannot be moved.
        if not rows:
            return [np.zeros((0, one.size)) for one in self._values(i, like)]
        return [np.stack(column) for column in zip(*rows, strict=True)]

    def _outputs(self) -> list[Any]:
        return _differentiable(self.func(*self.inputs))

    def _gradient(self, outputs: Sequence[Any], seeds: Sequence[Any]) -> list[Any]:
        starts = [self.inputs[i] for i in self.wanted]
        return list(pulled(outputs, starts, seeds, False))

    def _backwards(self, i: int, k: int, rows: Array) -> Array:
        """Return the gradients [rows, numbers of input `i`] of combinations of output `k`."""
        output = self._outputs()[k]
        at = self.wanted.index(i)
        like = _numbers(self.inputs[i])
        found = []
        for row in rows:
            gradient = self._gradient([output], [new(_shaped(row, _numbers(output)))])[at]
            if gradient is None:
                found.append(np.zeros(_real(like).size))
                continue
            if self.options.check_grad_dtypes and gradient.payload.dtype != like.dtype:
                raise GradcheckError(
                    f"Expected gradient of input {i} to have type {like.dtype}, got {gradient.payload.dtype}"
                )
            found.append(_real(_numbers(gradient)))
        return np.stack(found) if found else np.zeros((0, _real(like).size))

    def _moved(self, i: int, tangent: Any) -> list[Any]:
        """Return the derivative of each output along a tangent of input `i`."""
        level = Forward()
        args = [
            level.make(one.detach(), tangent, one._names)
            if j == i
            else one.detach()
            if isinstance(one, Tensor)
            else one
            for j, one in enumerate(self.inputs)
        ]
        with interpreting(level):
            outputs = _differentiable(self.func(*args))
        parts = [level.parts(one) for one in outputs]
        return or_zeros([direction for _, direction in parts], [value for value, _ in parts])

    def _forwards(self, i: int, k: int, moves: Array) -> Array:
        like = _numbers(self.inputs[i])
        found = [_real(_numbers(self._moved(i, new(_shaped(move, like)))[k])) for move in moves]
        return np.stack(found) if found else np.zeros((0, _real(_numbers(self._outputs()[k])).size))

    def _agree(self, a: Array, b: Array) -> bool:
        return bool(np.allclose(a, b, rtol=self.options.rtol, atol=self.options.atol, equal_nan=True))

    def _compare(self, i: int, k: int, numerical: Array, analytical: Array, how: str) -> None:
        """Compare two arrays [moves of the input, combinations of the output]."""
        if self._agree(analytical, numerical):
            return
        fast = (
            "\nThe above quantities are one random combination of the Jacobian's entries (fast_mode=True); run with "
            "fast_mode=False to see it whole."
            if self.options.fast_mode
            else ""
        )
        raise GradcheckError(
            f"Jacobian {how}mismatch for output {k} with respect to input {i},\nnumerical:{numerical}\n"
            f"analytical:{analytical}\n{fast}"
        )

    def _seeds(self, outputs: Sequence[Any], seed: int) -> list[Any]:
        draw = np.random.default_rng(seed)
        return [_random(draw, one) for one in outputs]

    def _check_repeated(self, outputs: Sequence[Any]) -> None:
        seeds = self._seeds(outputs, 2)
        first, second = (or_zeros(self._gradient(self._outputs(), seeds), self._starts()) for _ in range(2))
        for a, b in zip(first, second, strict=True):
            if np.abs(_numbers(a) - _numbers(b)).max(initial=0.0) > self.options.nondet_tol:
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                    "gives different values, although analytical gradient matches numerical gradient. The tolerance "
                    f"for nondeterminism was {self.options.nondet_tol}."
                )

    def _starts(self) -> list[Any]:
        return [self.inputs[i] for i in self.wanted]

    def _check_undefined(self, outputs: Sequence[Any]) -> None:
        """A gradient of an output that nobody used may be missing: it then counts as zero."""
        seeds = self._seeds(outputs, 3)
        for k in range(len(outputs)):
            zeros = [
                seed if j == k else new(np.zeros(seed.shape, seed.payload.dtype))
                for j, seed in enumerate(seeds)
            ]
            missing: list[Any] = [seed if j == k else None for j, seed in enumerate(seeds)]
            full = or_zeros(self._gradient(self._outputs(), zeros), self._starts())
            part = or_zeros(self._gradient(self._outputs(), missing), self._starts())
            for a, b in zip(full, part, strict=True):
                if not self._agree(_numbers(a), _numbers(b)):
                    raise GradcheckError(
                        "Expected backward function to handle undefined output grads: a gradient that is None counts "
                        f"as zero, but gives something else for output {k}."
                    )

    def _check_batched(self, outputs: Sequence[Any]) -> None:
        # Two entries are enough to see whether a rule mixes them up.
        draws = [self._seeds(outputs, 4 + i) for i in range(2)]
        stacked = [np.stack([_numbers(draw[k]) for draw in draws]) for k in range(len(outputs))]
        made = self._outputs()
        found = together(
            2, lambda batching: self._gradient(made, [batching.wrap(new(one)) for one in stacked])
        )
        for row, draw in enumerate(draws):
            alone = or_zeros(self._gradient(made, draw), self._starts())
            for i, a, b in zip(self.wanted, found, alone, strict=True):
                value = np.zeros(b.shape) if a is None else _numbers(a)[row]
                if not self._agree(value, _numbers(b)):
                    raise GradcheckError(
                        "gradcheck or gradgradcheck failed while testing batched gradient computation: for input "
                        f"{i} vmap gives\n{value}\nand one by one it is\n{_numbers(b)}"
                    )

    def _check_batched_forward(self) -> None:
        for i in self.wanted:
            draw = np.random.default_rng(6)
            tangents = [_random(draw, self.inputs[i]) for _ in range(2)]
            both = np.stack([_numbers(one) for one in tangents])
            found = together(2, lambda batching, i=i, both=both: self._moved(i, batching.wrap(new(both))))  # type: ignore[misc]
            for row, tangent in enumerate(tangents):
                for a, b in zip(found, self._moved(i, tangent), strict=True):
                    if not self._agree(_numbers(a)[row], _numbers(b)):
                        raise GradcheckError(
                            "gradcheck failed while testing batched forward mode: for input "
                            f"{i} vmap gives\n{_numbers(a)[row]}\nand one by one it is\n{_numbers(b)}"
                        )
