"""What an attribution is asked: inputs, baselines, target and the model's other arguments, checked and in one form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.attribution.target import Target, parse_target
from workbench.base.dims import unify_names
from workbench.base.errors import DimensionError, DTypeError
from workbench.core.value import dims_of, new
from workbench.tensor import Tensor

__all__ = ["Question", "ask"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Question:
    """One question to a model."""

    method: str
    inputs: tuple[Tensor, ...]
    """Floating point, off the tape; samples along dim 0."""
    baselines: tuple[Array, ...]
    """One for each input, of its type and number of dims; each size that of the input, or 1."""
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

    def named(self, arrays: Sequence[Array]) -> Any:
        """Return one array an input as tensors with the inputs' names, in the form in which the inputs came."""
        tensors = tuple(new(array, value._names) for array, value in zip(arrays, self.inputs, strict=True))
        return tensors[0] if self.single else tensors


def ask(
    method: str,
    inputs: Any,
    baselines: Any = None,
    target: Any = None,
    additional_forward_args: Any = None,
) -> Question:
    """Check what was given and bring it into one form.

    Raises:
        TypeError: inputs or baselines are not tensors.
        DTypeError: inputs have no gradients, or targets are not whole numbers.
        DimensionError: numbers of samples, sizes or names do not go together.
    """
    single = not isinstance(inputs, tuple)
    values = (inputs,) if single else inputs
    if not values:
        raise TypeError(f"{method}: there are no inputs; give a tensor, or a tuple of tensors")
    checked = tuple(_check_input(method, value, position) for position, value in enumerate(values))
    _check_samples(method, checked)
    # Captum's convention: a tuple is several arguments, anything else is one.
    extra = () if additional_forward_args is None else additional_forward_args
    return Question(
        method=method,
        inputs=checked,
        baselines=_check_baselines(method, checked, baselines, single),
        target=parse_target(target, checked[0].shape[0], method),
        extra=extra if isinstance(extra, tuple) else (extra,),
        single=single,
    )


def _check_input(method: str, value: Any, position: int) -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{method}: inputs are tensors, input {position} is a {type(value).__name__}; "
            "wb.tensor(...) or wb.from_numpy(...) makes one"
        )
    if value.is_quantized or value.dtype.kind != "f":
        raise DTypeError(
            f"{method}: attributions need floating point inputs, input {position} is {value.dtype.name}. Cast it, "
            "inputs.float(); where it holds indices, explain what is looked up by them instead"
        )
    if value.ndim == 0 or value.numel() == 0:
        raise DimensionError(
            "there is nothing to explain: inputs have samples along dim 0 and values in each",
            op=method,
            operands=(dims_of(value).operand(f"input {position}"),),
        )
    value.numpy(force=True)  # says what is wrong with a value that has no numbers
    return value.detach()


def _check_samples(method: str, inputs: tuple[Tensor, ...]) -> None:
    if any(value.shape[0] != inputs[0].shape[0] for value in inputs):
        raise DimensionError(
            "the inputs have different numbers of samples (dim 0)",
            op=method,
            operands=tuple(dims_of(value).operand(f"input {i}", [0]) for i, value in enumerate(inputs)),
        )


def _check_baselines(
    method: str, inputs: tuple[Tensor, ...], baselines: Any, single: bool
) -> tuple[Array, ...]:
    given = baselines
    if baselines is None:
        given = (None,) * len(inputs)
    elif single:
        given = (baselines,)
    if not isinstance(given, tuple) or len(given) != len(inputs):
        count = len(given) if isinstance(given, tuple) else 1
        raise DimensionError(
            f"{count} baselines for {len(inputs)} inputs: give a tuple with one for each input, or None for zeros",
            op=method,
        )
    return tuple(_baseline(method, value, one) for value, one in zip(inputs, given, strict=True))


def _baseline(method: str, value: Tensor, baseline: Any) -> Array:
    """Return one input's baseline as an array that broadcasts to it."""
    dtype = value.payload.dtype
    if baseline is None:
        baseline = 0.0
    if isinstance(baseline, int | float) and not isinstance(baseline, bool):
        # Broadcast where it is used: a whole array of one number need not be kept.
        return np.full((1,) * value.ndim, baseline, dtype)
    if not isinstance(baseline, Tensor):
        raise TypeError(
            f"{method}: a baseline is a number or a tensor, got {type(baseline).__name__}; wb.from_numpy(...) makes one"
        )
    operands = (dims_of(value).operand("inputs"), dims_of(baseline).operand("baselines"))
    fits = baseline.ndim == value.ndim and all(
        size in (1, wanted) for size, wanted in zip(baseline.shape, value.shape, strict=True)
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
    return np.asarray(baseline.detach().numpy(force=True), dtype)
