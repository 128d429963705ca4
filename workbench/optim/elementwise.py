"""Base of optimizers that move each value of a parameter by its own gradient and state.

A group is moved by one call of the compiled step, which finds gradients and state by itself. What it leaves (without
the kernels: everything) is moved by the same formulas in NumPy, one parameter after the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from workbench.base.dtypes import get_default_dtype
from workbench.base.sparse_array import SparseArray
from workbench.core.sparse_rules import coalesce
from workbench.core.tape import alias_off_tape
from workbench.core.value import new
from workbench.kernels.optimizers import STEP_RULES, optimizer_step
from workbench.optim.optimizer import Group, Optimizer
from workbench.optim.settings import check_dense, number

__all__ = ["Elementwise", "settings_of"]

Arrays = dict[str, Any]


class Elementwise(Optimizer):
    """Base of optimizers that move each value by its own gradient and state.

    An optimizer says which state a group keeps (`_arrays`) and how one parameter moves (`_move`); one that the kernels
    know also has a `rule` and says its settings in the order that they take them (`_numbers`).

    Complex parameters are moved as pairs of real numbers; half precision is computed in float32 and rounded once.
    """

    rule: ClassVar[str] = ""
    """What the compiled step is called, for those that have one."""
    counts: ClassVar[bool] = True
    """Whether the number of steps is kept for each parameter."""
    scalars: ClassVar[Mapping[str, float]] = {}
    """State that is one number a parameter, with what it starts from."""
    known: ClassVar[frozenset[str]]
    """Every array of state that there may be."""

    def _arrays(self, group: Group) -> tuple[str | None, ...]:
        """Return the names of the arrays that the group keeps for each parameter, None in the place of one it lacks."""
        raise TypeError(f"{type(self).__name__} does not say what it keeps")

    def _numbers(self, group: Group) -> tuple[Any, ...]:
        """Return what the compiled step is told: `settings_of`, filled in."""
        raise TypeError(f"{type(self).__name__} has no compiled step")

    def _move(self, parameter: Any, gradient: Any, state: Arrays, group: Group) -> None:
        """Move one parameter in place: the formula in NumPy, of which the compiled step is a faster form."""
        raise TypeError(f"{type(self).__name__} has no rule")

    def _initial(self, key: str, group: Group) -> float:
        """Return what an array of state starts from."""
        return 0.0

    def _decoupled(self, group: Group) -> bool:
        """Say whether weights decay by themselves, outside of the gradient."""
        return False

    # ---------------------------------------------------------------------------------------------- step

    def _step_group(self, group: Group) -> None:
        if optimizer_step is None or self.rule not in STEP_RULES:
            left = [one for one in group["params"] if one._grad is not None]
            fresh = {id(one) for one in left if self._begin(one, group)}
        else:
            arrays = self._arrays(group)
            counter = "step" if self.counts else None
            # The compiled step takes three arrays, a counter and a number, in this order.
            keys = (*arrays, *(None,) * (3 - len(arrays)), counter, next(iter(self.scalars), None))
            numbers = self._numbers(group)
            left = optimizer_step(self.rule, self.state, group["params"], keys, numbers, False)
            if not left:
                return
            begun = [one for one in left if self._begin(one, group)]
            fresh = {id(one) for one in begun}
            # Once more for those that had no state: to some rules the first step is another.
            odd = optimizer_step(self.rule, self.state, begun, keys, numbers, True) if begun else []
            left = [one for one in left if id(one) not in fresh] + odd
        for parameter in left:
            sparse = type(parameter._grad.payload) is SparseArray
            if sparse:
                self._check_sparse(group)
            if sparse and not self._moves_all(group):
                self._step_sparsely(parameter, group)
            else:
                self._step_plainly(parameter, group, id(parameter) in fresh)

    def _step_sparsely(self, parameter: Any, group: Group) -> None:
        """Move what a sparse gradient reaches: the rows that are there, each of which it has once."""
        entry = self.state.get(parameter, {})
        self._check_sizes(parameter, entry)
        found = coalesce(alias_off_tape(parameter._grad)).payload
        if self.counts:
            entry["step"].payload[...] += 1
        rows = tuple(found.index)
        values = [parameter, *(entry[key] for key in self._arrays(group) if key is not None)]
        # Taken out by their places, they are copies: a row of a half is computed in float32, as all is.
        own, *rest = (_to_compute_in(one.payload[rows]) for one in values)
        keys = [key for key in self._arrays(group) if key is not None]
        steps = {"step": float(entry["step"].payload)} if self.counts else {}
        gradient = _to_compute_in(found.values)
        gradient = -gradient if group.get("maximize") else gradient
        self._move(own, gradient, {**dict(zip(keys, rest, strict=True)), **steps, "first": False}, group)
        for value, computed in zip(values, (own, *rest), strict=True):
            array = value.payload
            array[rows] = computed.view(array.dtype) if array.dtype.kind == "c" else computed
            value._version += 1

    def _check_sparse(self, group: Group) -> None:
        """Refuse a step by a sparse gradient, unless the rule leaves alone what has no gradient."""
        check_dense(self, group["params"])

    def _moves_all(self, group: Group) -> bool:
        """Say whether a sparse gradient moves values too that have none."""
        return False

    def _begin(self, parameter: Any, group: Group) -> bool:
        """Make the state that a parameter lacks, and say whether there was any to make."""
        keys = [key for key in self._arrays(group) if key is not None]
        entry = self.state.get(parameter)
        if (
            entry is not None
            and all(entry.get(key) is not None for key in keys)
            and (entry or not self.counts)
        ):
            return False
        if not keys and not self.counts:
            return False
        entry = self.state[parameter]
        # PyTorch counts in float32, or in float64 where that is the default type.
        kind = np.float64 if get_default_dtype().name == "float64" else np.float32
        if self.counts and entry.get("step") is None:
            entry["step"] = new(np.zeros((), kind))
        for key, start in self.scalars.items():
            if entry.get(key) is None:
                entry[key] = new(np.full((), start, kind))
        for key in keys:
            if entry.get(key) is None:
                entry[key] = new(_filled(parameter.payload, self._initial(key, group)), parameter._names)
        return True

    def _step_plainly(self, parameter: Any, group: Group, first: bool) -> None:
        entry = self.state.get(parameter, {})
        # Before anything is counted or moved.
        self._check_sizes(parameter, entry)
        if self.counts:
            entry["step"].payload[...] += 1
        keys = [key for key in self._arrays(group) if key is not None]
        own = _to_compute_in(parameter.payload)
        state: Arrays = {key: _to_compute_in(entry[key].payload) for key in keys}
        # Numbers kept for each parameter are changed in place, and so need no copying back.
        numbers: Arrays = {key: entry[key].payload for key in self.scalars}
        steps = {"step": float(entry["step"].payload)} if self.counts else {}
        given = parameter._grad.payload
        gradient = _to_compute_in(given.dense() if type(given) is SparseArray else given)
        if group.get("maximize"):
            # Not in place: the gradient belongs to the program.
            gradient = -gradient
        decay = number(group.get("weight_decay", 0))
        if decay and self._decoupled(group):
            own *= 1 - number(group["lr"]) * decay
        elif decay:
            # Not in place: the gradient belongs to the program.
            gradient = gradient + decay * own
        self._move(own, gradient, {**state, **numbers, **steps, "first": first}, group)
        _put_back(parameter, own)
        for key in keys:
            _put_back(entry[key], state[key])

    # --------------------------------------------------------------------------------------------- state

    def _check_sizes(self, parameter: Any, entry: Arrays) -> None:
        """Refuse a step of a parameter whose sizes are others than when its state was made."""
        shape = tuple(parameter.payload.shape)
        for key in self.known:
            value = entry.get(key)
            if value is not None and tuple(value.payload.shape) != shape:
                raise ValueError(
                    f"{type(self).__name__} remembers {key!r} of sizes {list(value.payload.shape)} for a parameter "
                    f"that now has {list(shape)}: drop what it remembers, del "
                    "optimizer.state[parameter], or make a new one"
                )

    def _state_keys(self, group: Group) -> tuple[frozenset[str], frozenset[str]]:
        always = (*self.scalars, *(["step"] if self.counts else []))
        needed = frozenset([*always, *(key for key in self._arrays(group) if key is not None)])
        return needed, frozenset([*always, *self.known])

    def _state_shapes(self, parameter: Any) -> dict[str, tuple[int, ...]]:
        return dict.fromkeys(sorted(self.known), tuple(parameter.payload.shape))


def settings_of(
    group: Group,
    *,
    beta1: Any = 0.0,
    beta2: Any = 0.0,
    momentum: Any = 0.0,
    other: Any = 0.0,
    nesterov: bool = False,
    decoupled: bool = False,
    variant: bool = False,
) -> tuple[Any, ...]:
    """Return the settings of a group in the order that the compiled step takes them."""
    return (
        number(group["lr"]),
        number(beta1),
        number(beta2),
        group.get("eps", 0.0),
        number(group["weight_decay"]),
        momentum,
        other,
        nesterov,
        group["maximize"],
        decoupled,
        variant,
    )


def lerp(start: Any, end: Any, weight: float) -> None:
    """Move an array part of the way to another, in place; the part is measured from the nearer end, as in PyTorch."""
    if weight < 0.5:
        start += weight * (end - start)
    else:
        start[...] = end - (end - start) * (1 - weight)


def _filled(array: Any, value: float) -> Any:
    """Return an array of the layout of another with one value; of both parts, where it is complex."""
    if not value:
        return np.zeros_like(array)
    return np.full_like(array, complex(value, value) if array.dtype.kind == "c" else value)


def _to_compute_in(array: Any) -> Any:
    """Return an array as real numbers of single or double precision: the same memory, where that can be."""
    if not isinstance(array, np.ndarray):
        return array  # of a device
    if array.dtype.kind == "c":
        return np.ascontiguousarray(array).view(array.real.dtype)
    return array.astype(np.float32) if array.dtype.itemsize < 4 else array


def _put_back(value: Any, computed: Any) -> None:
    """Write what was computed into the memory of a value, if it does not lie there, and tell the tape."""
    array = value.payload
    if computed is not array:
        given = computed.view(array.dtype).reshape(array.shape) if array.dtype.kind == "c" else computed
        np.copyto(array, given, casting="unsafe")
    value._version += 1
