"""What an attribution is asked: inputs, baselines, target and the model's other arguments, checked and in one form."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.attribution.precision import is_floating
from workbench.attribution.target import Target, parse_target
from workbench.base.dims import near_miss, unify_names
from workbench.base.errors import DimensionError, DTypeError
from workbench.base.foreign import told
from workbench.core.value import dims_of, new
from workbench.tensor import Tensor
from workbench.tensor.interchange import plain

__all__ = ["Over", "Question", "ask", "summed"]

Array = np.ndarray[Any, Any]
Over = str | tuple[str, ...] | list[str] | None
"""Names of dims to sum attributions over."""


@dataclass(frozen=True)
class Question:
    """One question to a model."""

    method: str
    inputs: tuple[Tensor, ...]
    """Off the tape; samples along dim 0. Floating point, unless the method takes any numbers."""
    baselines: tuple[Array, ...]
    """One for each input, of its type and number of dims; each size that of the input, or 1. Where the method draws
    from a distribution of baselines, dim 0 is any number of them."""
    target: Target
    extra: tuple[Any, ...]
    """Further arguments of the model, which are not explained."""
    single: bool
    """True if the inputs came as one tensor, not as a tuple."""

    @property
    def samples(self) -> int:
        """Number of samples."""
        return self.inputs[0].shape[0]

    def arguments(self, rows: Array) -> tuple[Any, ...]:
        """Return the further arguments for `rows`, each the number of a sample.

        Tensors that have as many entries along dim 0 as there are samples go along with them.
        """
        return tuple(
            new(one.payload[rows], one._names)
            if isinstance(one, Tensor) and one.ndim > 0 and one.shape[0] == self.samples
            else one
            for one in self.extra
        )

    def tensors(self, values: Sequence[Array]) -> list[Tensor]:
        """Return arrays, one an input, as tensors with the inputs' names."""
        return [new(array, value._names) for array, value in zip(values, self.inputs, strict=True)]

    def part(self, start: int, stop: int) -> tuple[list[Array], Array]:
        """Return the inputs from `start` to `stop` as rows: one array an input, and the numbers of the samples."""
        return [value.payload[start:stop] for value in self.inputs], np.arange(start, stop)

    def baseline_part(self, start: int, stop: int) -> tuple[list[Array], Array]:
        """Return the baselines of the samples from `start` to `stop`, as `part` does."""
        shapes = [(stop - start, *value.shape[1:]) for value in self.inputs]
        own = [one[start:stop] if len(one) == self.samples else one for one in self.baselines]
        # Written out: a broadcast is read-only, and its entries share memory.
        whole = [np.ascontiguousarray(np.broadcast_to(*both)) for both in zip(own, shapes, strict=True)]
        return whole, np.arange(start, stop)

    def full_baselines(self) -> list[Array]:
        """Return the baselines broadcast to the inputs' shapes, without memory of their own."""
        return [
            np.broadcast_to(one, value.shape) for one, value in zip(self.baselines, self.inputs, strict=True)
        ]

    def named(self, arrays: Sequence[Array], over: Over = None) -> Any:
        """Return one array an input as tensors with the inputs' names, in the form in which the inputs came.

        `over` names dims to sum over; an input that has none of them stays as it is.

        Raises:
            DimensionError: no input has such a dim.
        """
        tensors = summed(self.tensors(arrays), over, self.method)
        return tensors[0] if self.single else tensors


def summed(tensors: Sequence[Tensor], over: Over, method: str) -> tuple[Tensor, ...]:
    """Return tensors summed over those dims that have one of the names `over`.

    Raises:
        DimensionError: none of the tensors has such a dim.

    >>> import workbench as wb
    >>> summed([wb.ones(N=2, C=3)], "C", "Saliency")[0].tolist()
    [3.0, 3.0]
    """
    if over is None:
        return tuple(tensors)
    names: tuple[Any, ...] = tuple(over) if isinstance(over, tuple | list) else (over,)
    known = {name for one in tensors for name in one.names if name}
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{method}: over= is the name of a dim, or a tuple of names, got {name!r}")
        if name not in known:
            near = near_miss(name, known)
            has = ", ".join(sorted(known)) or "none: give names, inputs.rename('N', 'C', …)"
            raise DimensionError(
                f"there is no dim {name!r} to sum over"
                + (f"; did you mean {near!r}?" if near else f"; names are {has}"),
                op=method,
                operands=tuple(dims_of(one).operand("attributions") for one in tensors),
            )
    return tuple(
        one.sum(tuple(name for name in names if name in one.names)) if set(names) & set(one.names) else one
        for one in tensors
    )


def ask(
    method: str,
    inputs: Any,
    baselines: Any = None,
    target: Any = None,
    additional_forward_args: Any = None,
    *,
    any_type: bool = False,
    distribution: bool = False,
) -> Question:
    """Check what was given and bring it into one form.

    Inputs are floating point, unless the method takes `any_type`: it needs no gradients. With `distribution` each
    baseline holds any number of samples to draw from, and may be a function that returns them, of the inputs or of
    nothing.

    Raises:
        TypeError: inputs or baselines are not tensors.
        DTypeError: inputs have no gradients, targets are not whole numbers, or a baseline does not fit into the type
            of its input.
        DimensionError: numbers of samples, sizes or names do not go together.
    """
    single = not isinstance(inputs, tuple)
    values = (inputs,) if single else inputs
    if not values:
        raise TypeError(f"{method}: there are no inputs; give a tensor, or a tuple of tensors")
    checked = tuple(_check_input(method, value, position, any_type) for position, value in enumerate(values))
    _check_samples(method, checked)
    # Captum's convention: a tuple is several arguments, anything else is one.
    extra = () if additional_forward_args is None else additional_forward_args
    return Question(
        method=method,
        inputs=checked,
        baselines=_check_baselines(method, checked, _called(baselines, inputs), single, distribution),
        target=parse_target(target, checked[0].shape[0], method),
        extra=extra if isinstance(extra, tuple) else (extra,),
        single=single,
    )


def _called(baselines: Any, inputs: Any) -> Any:
    """Return what a function of baselines returns."""
    if not callable(baselines):
        return baselines
    return baselines(inputs) if inspect.signature(baselines).parameters else baselines()


def _check_input(method: str, value: Any, position: int, any_type: bool) -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{method}: inputs are tensors, input {position} is a "
            + told(value, "wb.tensor(...) or wb.from_numpy(...) makes one")
        )
    dtype = value.dtype
    if dtype.is_quantized or not (is_floating(dtype.numpy) or (any_type and dtype.kind in "biu")):
        raise DTypeError(
            f"{method}: attributions need floating point inputs, input {position} is {dtype.name}. Cast it, "
            "inputs.float(); where it holds indices, explain what is looked up by them instead"
        )
    shape = value.payload.shape
    if not shape or 0 in shape:
        raise DimensionError(
            "there is nothing to explain: inputs have samples along dim 0 and values in each",
            op=method,
            operands=(dims_of(value).operand(f"input {position}"),),
        )
    plain(value)  # says what is wrong with a value that has no numbers
    return value.detach()


def _check_samples(method: str, inputs: tuple[Tensor, ...]) -> None:
    if any(value.shape[0] != inputs[0].shape[0] for value in inputs[1:]):
        raise DimensionError(
            "the inputs have different numbers of samples (dim 0)",
            op=method,
            operands=tuple(dims_of(value).operand(f"input {i}", [0]) for i, value in enumerate(inputs)),
        )


def _check_baselines(
    method: str, inputs: tuple[Tensor, ...], baselines: Any, single: bool, distribution: bool
) -> tuple[Array, ...]:
    if baselines is None:
        return tuple(np.zeros((1,) * value.ndim, value.payload.dtype) for value in inputs)
    given = (baselines,) if single else baselines
    if not isinstance(given, tuple) or len(given) != len(inputs):
        count = len(given) if isinstance(given, tuple) else 1
        raise DimensionError(
            f"{count} baselines for {len(inputs)} inputs: give a tuple with one for each input, or None for zeros",
            op=method,
        )
    return tuple(
        _baseline(method, value, one, distribution) for value, one in zip(inputs, given, strict=True)
    )


def _baseline(method: str, value: Tensor, baseline: Any, distribution: bool) -> Array:
    """Return one input's baseline as an array that broadcasts to it."""
    dtype = value.payload.dtype
    if baseline is None:
        return np.zeros((1,) * value.ndim, dtype)
    if isinstance(baseline, int | float) and not isinstance(baseline, bool):
        # Broadcast where it is used: a whole array of one number need not be kept.
        return _as_type(method, np.full((1,) * value.ndim, baseline), dtype)
    if not isinstance(baseline, Tensor):
        raise TypeError(
            f"{method}: a baseline is a number or a tensor, got "
            + told(baseline, "wb.from_numpy(...) makes one")
        )
    operands = (dims_of(value).operand("inputs"), dims_of(baseline).operand("baselines"))
    fits = baseline.ndim == value.ndim and all(
        size in (1, wanted) or (distribution and not axis and size)
        for axis, (size, wanted) in enumerate(zip(baseline.shape, value.shape, strict=True))
    )
    if not fits:
        one_sample = baseline.shape == value.shape[1:]
        raise DimensionError(
            f"baselines of shape {list(baseline.shape)} do not go with inputs of shape {list(value.shape)}: each "
            "size must be that of the inputs, or 1",
            op=method,
            operands=operands,
            fix="baselines.unsqueeze(0)" if one_sample else "wb.zeros_like(inputs)",
        )
    # In another order of dims the shape may fit by chance.
    try:
        unify_names(method, dims_of(value), dims_of(baseline))
    except DimensionError as error:
        raise DimensionError(
            f"the names of the baselines do not match those of the inputs: {error.message}",
            op=method,
            operands=operands,
            fix=f"baselines.rename({', '.join(map(repr, value.names))})",
        ) from None
    return _as_type(method, baseline.detach().numpy(force=True), dtype)


def _as_type(method: str, baseline: Array, dtype: Any) -> Array:
    """Return a baseline in the type of its input."""
    with np.errstate(invalid="ignore"):  # of NaN as a whole number, which is refused below
        found = baseline.astype(dtype)
    if not is_floating(dtype) and not np.array_equal(found, baseline):
        raise DTypeError(
            f"{method}: the baseline holds values that {dtype.name}, the type of its input, does not have; give "
            "whole numbers that fit"
        )
    return found
