"""Functions of functions: gradients, and products with Jacobians from either side. Offered as `workbench.func`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from workbench.autograd import engine
from workbench.autograd.differentiable_inputs import (
    Starts,
    fresh,
    on_tape,
    on_tape_any,
    or_zeros,
    others_ask,
    settled,
    settled_all,
    split,
    tensors_of,
)
from workbench.autograd.forward import Forward
from workbench.autograd.forward_ad import check_direction
from workbench.autograd.pytree import flatten, structure
from workbench.base.errors import AutogradError
from workbench.core.dispatch import enable_grad, grad_enabled, interpreting
from workbench.tensor import Tensor

__all__ = ["grad", "grad_and_value", "jvp", "linearize", "primals_of", "pulled", "vjp"]

Function = Callable[..., Any]


def grad_and_value(func: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Function:
    """Return a function that gives the gradient of `func`, and its value: ``(gradient, value)``.

    With `has_aux` the function returns (output, aux), and the new one (gradient, (value, aux)). See `grad`.
    """

    # With `updated=()` a module given as the function keeps its attributes to itself.
    @functools.wraps(func, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        # Asked before recording is switched on.
        outside = grad_enabled()
        starts = Starts(args, argnums, fresh)
        with enable_grad():
            result = func(*starts.args, **kwargs)
            output, aux = split("grad_and_value(f)(*args)", result, has_aux)
            _check_scalar(output)
            keep = outside and others_ask([output], starts.values)
            gradients: Sequence[Any] = (None,) * len(starts.values)
            if output._requires_grad:
                gradients = engine.grad(output, starts.values, create_graph=keep, allow_unused=True)
        found = starts.shaped(or_zeros([settled(one, keep) for one in gradients], starts.values))
        value = settled(output, keep)
        return (found, (value, settled_all(aux, keep))) if has_aux else (found, value)

    return wrapper


def grad(func: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Function:
    """Return a function that gives the gradient of `func`, a function with one number as its result.

    `argnums` says with respect to which arguments, each a tensor or a nest of tensors; gradients carry their names.
    With `has_aux` the function returns (output, aux), and the new one (gradient, aux). Nests: grad(grad(f)).

    >>> import workbench as wb
    >>> from workbench.autograd.transforms import grad
    >>> grad(grad(lambda x: x * x * x))(wb.tensor(2.0))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapper


def _check_scalar(output: Any) -> None:
    if not isinstance(output, Tensor):
        raise AutogradError(
            f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}"
        )
    if output.ndim:
        raise AutogradError(
            f"grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with {output.ndim} "
            "dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
        )


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:
    """Return ``func(*primals)`` and the function that multiplies a cotangent with its Jacobian from the left: v ↦ vᵀJ.

    With `has_aux` the function returns (output, aux), and this (output, vjp_fn, aux).

    >>> import workbench as wb
    >>> from workbench.autograd.transforms import vjp
    >>> y, pull = vjp(lambda x: x * x, wb.tensor([1.0, 2.0]))
    >>> pull(wb.tensor([1.0, 1.0]))
    (tensor([2., 4.]),)
    """
    outside = grad_enabled()
    starts = Starts(primals, range(len(primals)), fresh)
    with enable_grad():
        result, aux = split("vjp(f, *primals)", func(*starts.args), has_aux)
        outputs, rebuild = tensors_of("vjp(f, *primals)", result)
    keep = outside and others_ask(outputs, starts.values)

    def pull(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        """Return one gradient a primal."""
        seeds, _ = flatten(cotangents)
        if structure(cotangents) != structure(result):
            raise AutogradError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {structure(cotangents)}, primal output: {structure(result)}"
            )
        differentiable = grad_enabled() and (keep or any(on_tape(seed) for seed in seeds))
        create = differentiable if create_graph is None else create_graph
        found = pulled(outputs, starts.values, seeds, create, retain_graph)
        return starts.shaped(or_zeros([settled(one, create) for one in found], starts.values))

    output = rebuild([settled(one, keep) for one in outputs])
    return (output, pull, settled_all(aux, keep)) if has_aux else (output, pull)


def pulled(
    outputs: Sequence[Any], starts: Sequence[Any], seeds: Sequence[Any], create: bool, retain: bool = True
) -> Sequence[Any]:
    """Return the gradients at `starts`, None for those that nothing depends on."""
    pairs = []
    for i, (one, seed) in enumerate(zip(outputs, seeds, strict=True)):
        if seed is None:
            continue
        if one.shape != seed.shape:
            raise AutogradError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {list(seed.shape)} and output[{i}] has a shape of "
                f"{list(one.shape)}."
            )
        if one._requires_grad:
            pairs.append((one, seed))
    if not pairs:
        return (None,) * len(starts)
    return engine.grad(
        [one for one, _ in pairs],
        starts,
        [seed for _, seed in pairs],
        retain_graph=retain,
        create_graph=create,
        allow_unused=True,
    )


def jvp(
    func: Function,
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> Any:
    """Return ``func(*primals)`` and its derivative along `tangents`, J·t, by forward mode.

    With `strict` a result that does not depend on the primals is an error; else its derivative is zero.

    >>> import workbench as wb
    >>> from workbench.autograd.transforms import jvp
    >>> jvp(lambda x: x * x, (wb.tensor([1.0, 2.0]),), (wb.tensor([1.0, 0.0]),))
    (tensor([1., 4.]), tensor([2., 0.]))
    """
    if not isinstance(primals, tuple):
        raise AutogradError(
            "jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    if structure(primals) != structure(tangents):
        raise AutogradError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For example, "
            "if primals is a tuple of 3 tensors, tangents also must be. Got primals with structure "
            f"{structure(primals)} and tangents with structure {structure(tangents)}"
        )
    level = Forward()
    moved = _moving(level, primals, flatten(tangents)[0])
    with interpreting(level):
        result = func(*moved)
    result, aux = split("jvp(f, primals, tangents)", result, has_aux)
    outputs, rebuild = tensors_of("jvp(f, primals, tangents)", result)
    values, directions = [], []
    for i, one in enumerate(outputs):
        value, direction = level.parts(one)
        if direction is None:
            if strict:
                raise AutogradError(
                    f"jvp(f, primals, tangents, strict=True): The output of f at index {i} is independent of the "
                    "primals. This is not allowed with strict=True."
                )
            direction = or_zeros([None], [value])[0]
        values.append(value)
        directions.append(direction)
    found = rebuild(values), rebuild(directions)
    return (*found, primals_of(level, aux)) if has_aux else found


def _moving(level: Forward, primals: Any, tangents: Sequence[Any]) -> Any:
    """Return the nest `primals` with each tensor moving along its tangent."""
    leaves, rebuild = flatten(primals)
    made = []
    for primal, tangent in zip(leaves, tangents, strict=True):
        check_direction(primal, tangent)
        made.append(level.make(primal, tangent, primal._names))
    return rebuild(made)


def primals_of(level: Forward, tree: Any) -> Any:
    """Return a nest with each tensor without its direction."""
    leaves, rebuild = flatten(tree)
    return rebuild([level.parts(one)[0] if isinstance(one, Tensor) else one for one in leaves])


def linearize(func: Function, *primals: Any) -> tuple[Any, Function]:
    """Return ``func(*primals)`` and its derivative there as a function of tangents: t ↦ J·t.

    The function runs once: the derivative is the transpose of what was recorded, so that many tangents cost no more
    runs of `func`.

    >>> import workbench as wb
    >>> from workbench.autograd.transforms import linearize
    >>> y, push = linearize(lambda x: x.sin(), wb.tensor([0.0]))
    >>> push(wb.tensor([3.0]))
    tensor([3.])
    """
    output, pull = vjp(func, *primals)
    outputs, rebuild = flatten(output)
    leaves, _ = flatten(primals)

    def push(*tangents: Any) -> Any:
        """Return the derivative along tangents."""
        if structure(tangents) != structure(primals):
            raise AutogradError(
                f"linearize: expected tangents of structure {structure(primals)}, got {structure(tangents)}"
            )
        given, _ = flatten(tangents)
        for primal, tangent in zip(leaves, given, strict=True):
            check_direction(primal, tangent)
        with enable_grad():
            # Zeros do: the gradients are linear in the seed, and only its place on the tape counts.
            seeds = [fresh(or_zeros([None], [one])[0]) for one in outputs]
            gradients, _ = flatten(pull(rebuild(seeds), create_graph=True))
            found = pulled(gradients, seeds, given, on_tape_any(given), True)
        return rebuild([settled(one, False) for one in or_zeros(found, outputs)])

    return output, push
