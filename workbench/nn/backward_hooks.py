"""Backward hooks of modules: two places on the tape, one before and one after a call, that tell what passes them.

All tensors that go into a call pass one recorded function, all that come out another; both return what they got. So
the gradients of all inputs arrive together, as they do in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.autograd.function import Function
from workbench.core.dispatch import grad_enabled
from workbench.tensor import Tensor

__all__ = ["Watch"]

Passed = tuple[Any, ...]


class _Pass(Function):
    """Return the tensors; hand their gradients to ``told`` on the way back."""

    @staticmethod
    def forward(ctx: Any, told: Callable[[Passed], Passed], *tensors: Any) -> Any:
        """Return what came in."""
        ctx.told = told
        # A hook is told None where no gradient came. Zeros would claim that one did.
        ctx.set_materialize_grads(False)
        return tensors

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Return the gradients, or what takes their place."""
        return (None, *ctx.told(gradients))


class Watch:
    """One call of a module with backward hooks."""

    def __init__(
        self, module: Any, before: Sequence[Callable[..., Any]], hooks: Sequence[Callable[..., Any]]
    ) -> None:
        self._module = module
        self._before = before
        self._hooks = hooks
        self._places: list[int] = []
        self._count = 0
        self._out_places: list[int] = []
        self._out_count = 0
        self._out_is_tuple = False
        self._grad_output: Passed | None = None

    def inputs(self, inputs: Passed) -> Passed:
        """Return what goes into the call."""
        self._count = len(inputs)
        self._places, passed = _through(inputs, self._know_inputs)
        return passed

    def outputs(self, output: Any) -> Any:
        """Return what comes out of it."""
        self._out_is_tuple = isinstance(output, tuple)
        several = output if self._out_is_tuple else (output,)
        self._out_count = len(several)
        self._out_places, passed = _through(several, self._know_outputs)
        if not self._out_is_tuple:
            return passed[0]
        # A named tuple stays one.
        return type(output)(*passed) if hasattr(output, "_fields") else passed

    def _know_outputs(self, gradients: Passed) -> Passed:
        grad_output = _spread(gradients, self._out_places, self._out_count)
        for hook in self._before:
            changed = hook(self._module, grad_output)
            if changed is not None:
                grad_output = _same_count(changed, self._out_count, "Backward pre hook", "grad_output")
        self._grad_output = grad_output
        if not self._places:  # no input wants a gradient: this is as far back as it goes
            self._tell((None,) * self._count, final=True)
        return tuple([grad_output[place] for place in self._out_places])

    def _know_inputs(self, gradients: Passed) -> Passed:
        changed = self._tell(_spread(gradients, self._places, self._count), final=False)
        return tuple([changed[place] for place in self._places])

    def _tell(self, grad_input: Passed, final: bool) -> Passed:
        if self._grad_output is None:
            return grad_input  # not by way of the outputs: gradients of gradients
        for hook in self._hooks:
            changed = hook(self._module, grad_input, self._grad_output)
            if changed is None:
                continue
            if final:
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None "
                    "for all gradients."
                )
            grad_input = _same_count(changed, self._count, "Backward hook", "grad_input")
        # The next pass brings its own; until then a gradient that arrives has not come by way of the outputs.
        self._grad_output = None
        return grad_input


def _through(values: Passed, told: Callable[[Passed], Passed]) -> tuple[list[int], Passed]:
    """Lead the tensors among `values` through a recorded function, if one of them wants a gradient."""
    places = [i for i, one in enumerate(values) if isinstance(one, Tensor)]
    if not grad_enabled() or not any(values[i]._requires_grad for i in places):
        return [], values
    # Also those that want no gradient, since hooks are told a place for each tensor. They stay out of the
    # result, where they would begin to want one.
    passed = _Pass.apply(told, *[values[i] for i in places])
    changed = list(values)
    for place, one in zip(places, passed, strict=True):
        if values[place]._requires_grad:
            changed[place] = one
    return places, tuple(changed)


def _spread(gradients: Passed, places: list[int], count: int) -> Passed:
    spread: list[Any] = [None] * count
    for place, gradient in zip(places, gradients, strict=True):
        spread[place] = gradient
    return tuple(spread)


def _same_count(changed: Any, count: int, who: str, what: str) -> Passed:
    several = changed if isinstance(changed, tuple) else (changed,)
    if len(several) != count:
        raise RuntimeError(
            f"{who} returned an invalid number of {what}, got {len(several)}, but expected {count}"
        )
    return several
