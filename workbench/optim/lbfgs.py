"""L-BFGS: Newton's step with a curvature estimated from the last gradients."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from workbench.base.sparse_array import SparseArray
from workbench.core import dispatch
from workbench.core.value import new
from workbench.optim.line_search import strong_wolfe
from workbench.optim.optimizer import Optimizer
from workbench.optim.settings import check_closure, check_rate, number
from workbench.tensor import Tensor

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """Steps along -H·g, where H is the inverse curvature that the last `history_size` gradients speak of.

    One `step` makes up to `max_iter` of them and calls the closure, which it needs, up to `max_eval` times; it ends
    sooner where the gradient or the change falls below the tolerances. With `line_search_fn="strong_wolfe"` the length
    of a step is searched for, else it is `lr`. There is one group of parameters, and all state is with the first
    one. Liu and Nocedal 1989.

    Raises ValueError for a negative learning rate, for several groups, and for another line search.

    >>> import workbench as wb
    >>> p = wb.tensor([3.0], requires_grad=True)
    >>> optimizer = LBFGS([p], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((p - 1) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure).item(), round(p.item(), 4)
    (4.0, 1.0)
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        settings = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, settings)

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Refuse a negative rate, and a line search that is not there."""
        check_rate(settings)
        search = settings["line_search_fn"]
        if search not in (None, "strong_wolfe"):
            raise ValueError(f"only 'strong_wolfe' is supported, got line_search_fn={search!r}")

    def add_param_group(self, param_group: Any) -> None:
        """Take the one group there is."""
        super().add_param_group(param_group)
        if len(self.param_groups) > 1:
            # Taken out again: the base has added it.
            self.param_groups.pop()
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    # ----------------------------------------------------------------------------- all parameters as one

    def _gradient(self) -> Any:
        parts = []
        for parameter in self.param_groups[0]["params"]:
            gradient = parameter._grad
            # Zeros for what has no gradient: places in the one long vector must stay those of the history.
            array = np.zeros_like(parameter.payload) if gradient is None else gradient.payload
            array = array.dense() if type(array) is SparseArray else array
            parts.append(_flat(array))
        return np.concatenate(parts)

    def _advance(self, length: Any, direction: Any) -> None:
        start = 0
        for parameter in self.param_groups[0]["params"]:
            array = parameter.payload
            count = array.size * (2 if array.dtype.kind == "c" else 1)
            part = direction[start : start + count] * length
            array += part.astype(array.real.dtype).view(array.dtype).reshape(array.shape)
            parameter._version += 1
            start += count

    def _put(self, kept: list[Any]) -> None:
        for parameter, array in zip(self.param_groups[0]["params"], kept, strict=True):
            parameter.payload[...] = array
            parameter._version += 1

    # ---------------------------------------------------------------------------------------------- step

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make up to `max_iter` steps; return the loss that `closure` gave before them.

        What `closure` raises leaves parameters and state as they were.
        """
        if closure is None:
            raise TypeError("LBFGS.step() needs a closure that computes the loss and the gradients anew")
        check_closure(closure)
        group = self.param_groups[0]
        state = self.state[group["params"][0]]
        known, start = dict(state), [parameter.payload.copy() for parameter in group["params"]]
        try:
            return _Search(self, closure, state, group).run()
        # An interrupt, too: a search that is broken off leaves everything as it was.
        except BaseException:
            self._put(start)
            state.clear()
            state.update(known)
            raise

    def _state_keys(self, group: dict[str, Any]) -> tuple[frozenset[str], frozenset[str]]:
        kept = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss", "al")
        return frozenset({"func_evals", "n_iter"}), frozenset({"func_evals", "n_iter", *kept})


class _Search:
    """One call of `step`."""

    def __init__(
        self, optimizer: LBFGS, closure: Callable[[], Any], state: dict[str, Any], group: dict[str, Any]
    ) -> None:
        self.optimizer = optimizer
        self.closure = closure
        self.state = state
        self.group = group
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        self.calls = 0
        self.loss = 0.0
        self.gradient: Any = None
        # Under PyTorch's keys: a state goes from one to the other.
        self.direction = _array(state.get("d"))
        self.length = _number(state.get("t"))
        self.changes = [_array(one) for one in state.get("old_dirs") or []]
        self.steps = [_array(one) for one in state.get("old_stps") or []]
        self.weights = [_number(one) for one in state.get("ro") or []]
        self.scale = _number(state.get("H_diag"))
        self.last_gradient = _array(state.get("prev_flat_grad"))

    def _evaluate(self) -> Any:
        with dispatch.enable_grad():
            loss = self.closure()
        if loss is None:
            raise TypeError(
                "the closure of LBFGS.step() returns the loss, got None: end it with `return loss`"
            )
        self.calls += 1
        self.state["func_evals"] += 1
        self.loss = float(loss)
        self.gradient = self.optimizer._gradient()
        return loss

    def _flat_enough(self) -> bool:
        return bool(np.abs(self.gradient).max(initial=0.0) <= self.group["tolerance_grad"])

    def run(self) -> Any:
        first = self._evaluate()
        if self._flat_enough():
            return first
        last_loss = self.loss
        for turn in itertools.count(1):
            if turn > self.group["max_iter"]:
                break
            self.state["n_iter"] += 1
            self._turn()
            self.last_gradient, last_loss = self.gradient.copy(), self.loss
            rate = number(self.group["lr"])
            begun = self.state["n_iter"] == 1
            # Nothing is known of the curvature yet, so the first step is one of at most 1 in all.
            self.length = min(1.0, 1.0 / np.abs(self.gradient).sum()) * rate if begun else rate
            slope = self.gradient.dot(self.direction)
            if slope > -self.group["tolerance_change"]:
                break
            self._go(slope, last=turn == self.group["max_iter"])
            if turn == self.group["max_iter"] or self.calls >= self.group["max_eval"] or self._flat_enough():
                break
            if np.abs(self.direction * self.length).max() <= self.group["tolerance_change"]:
                break
            if abs(self.loss - last_loss) < self.group["tolerance_change"]:
                break
        self._keep(last_loss)
        return first

    def _turn(self) -> None:
        """Set the direction: down the gradient at first, then by two loops over what was seen."""
        if self.state["n_iter"] == 1:
            self.direction, self.scale = -self.gradient, 1
            self.changes, self.steps, self.weights = [], [], []
            return
        change, step = self.gradient - self.last_gradient, self.direction * self.length
        curvature = change.dot(step)
        # Anything else would make H indefinite, and the direction point uphill.
        if curvature > 1e-10:
            if len(self.changes) == self.group["history_size"]:
                for kept in (self.changes, self.steps, self.weights):
                    kept.pop(0)
            self.changes.append(change)
            self.steps.append(step)
            self.weights.append(1.0 / curvature)
            self.scale = curvature / change.dot(change)
        # The two loops of L-BFGS, which multiply with the inverse of the Hessian without having it.
        seen = list(zip(self.changes, self.steps, self.weights, strict=True))
        direction, parts = -self.gradient, []
        for change, step, weight in reversed(seen):
            parts.append(step.dot(direction) * weight)
            direction = direction - parts[-1] * change
        direction = direction * self.scale
        for (change, step, weight), part in zip(seen, reversed(parts), strict=True):
            direction = direction + step * (part - change.dot(direction) * weight)
        self.direction = direction.astype(self.gradient.dtype, copy=False)

    def _go(self, slope: Any, last: bool) -> None:
        """Make the step, of the searched length or of the rate, and look at the gradient there."""
        optimizer = self.optimizer
        if self.group["line_search_fn"] is None:
            optimizer._advance(self.length, self.direction)
            if not last:  # in a stochastic setting there is no use in evaluating what is not gone on from
                self._evaluate()
            return
        start = [parameter.payload.copy() for parameter in self.group["params"]]

        def at(length: Any) -> tuple[float, Any]:
            optimizer._advance(length, self.direction)
            self._evaluate()
            # Back to where the line begins: lengths are measured from there.
            optimizer._put(start)
            return self.loss, self.gradient

        most = self.group["max_eval"] - self.calls
        here = (self.loss, self.gradient, slope)
        self.loss, self.gradient, self.length = strong_wolfe(at, self.length, self.direction, here, most)
        optimizer._advance(self.length, self.direction)

    def _keep(self, last_loss: float) -> None:
        self.state.update(
            d=new(self.direction),
            t=self.length,
            old_dirs=[new(one) for one in self.changes],
            old_stps=[new(one) for one in self.steps],
            ro=[new(np.asarray(one)) for one in self.weights],
            # A plain 1 as long as nothing is known, as PyTorch saves it.
            H_diag=self.scale if self.scale == 1 else new(np.asarray(self.scale)),
            prev_flat_grad=None if self.last_gradient is None else new(self.last_gradient),
            prev_loss=last_loss,
        )


def _flat(array: Any) -> Any:
    """Return an array as one row of real numbers."""
    row = np.ascontiguousarray(array).reshape(-1)
    return row.view(array.real.dtype) if array.dtype.kind == "c" else row.copy()


def _array(value: Any) -> Any:
    return value.payload if isinstance(value, Tensor) else value


def _number(value: Any) -> Any:
    """Return a number of the type that it was kept in."""
    return value.payload[()] if isinstance(value, Tensor) else value
