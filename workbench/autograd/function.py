"""Functions with a gradient of their own: PyTorch's `torch.autograd.Function`.

A subclass gives `forward` and `backward`; `apply` runs the one and records the other. Two styles are understood:
``forward(ctx, *args)``, and ``forward(*args)`` with ``setup_context(ctx, inputs, output)``.

The interpreters in force are followed level by level, as for an op (`autograd.custom_function_calls`): under `vmap`
the function runs on entries, or by its own `vmap`; in forward mode its `jvp` is used, or its backward transposed.
While a function is traced, its forward is traced as it goes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from workbench.autograd.context import Context, zeros_for
from workbench.autograd.custom_function_calls import Unit, call_unit, refuse_twice
from workbench.base.dims import Dims, Names, unify_names
from workbench.base.errors import AutogradError
from workbench.core.dispatch import grad_enabled, no_grad
from workbench.core.op import ops
from workbench.core.tape import alias
from workbench.core.value import Value, dims_of
from workbench.core.views import asks
from workbench.tensor import Tensor

__all__ = ["Context", "Function", "FunctionCtx", "once_differentiable"]

FunctionCtx = Context
"""PyTorch's name for it, in annotations."""


class Function:
    """A function of tensors whose gradient is written by hand. Subclass it and call ``Subclass.apply(...)``.

    >>> import workbench as wb
    >>> class Double(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, gradient):
    ...         return gradient * 2
    >>> x = wb.tensor(3.0, requires_grad=True)
    >>> Double.apply(x).backward()
    >>> x.grad
    tensor(2.)
    """

    generate_vmap_rule = False
    """Kept for PyTorch's sake: without a `vmap` method the function always runs on entries."""

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute: ``forward(ctx, *args)``, or ``forward(*args)`` where `setup_context` is given."""
        raise AutogradError(
            "You must implement the forward function for custom autograd.Function: a staticmethod forward(ctx, *args)."
        )

    @staticmethod
    def setup_context(ctx: Context, inputs: tuple[Any, ...], output: Any) -> Any:
        """Keep what `backward` needs, where `forward` takes no context."""
        raise AutogradError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Context, *gradients: Any) -> Any:
        """Return a gradient for each argument of forward (None for what has none), from one for each output."""
        raise AutogradError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    @staticmethod
    def jvp(ctx: Context, *tangents: Any) -> Any:
        """Return a tangent for each output, from one for each argument (None for what has none)."""
        raise AutogradError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        """Return (output, out_dims) for arguments with a batch dim where `in_dims` says; info has batch_size."""
        raise AutogradError("vmap is not implemented.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the function, and record it if an argument requires a gradient."""
        if kwargs:
            raise TypeError(f"{cls.__name__}.apply() takes no keyword arguments")
        if cls.generate_vmap_rule and _overrides(cls, "vmap"):
            raise AutogradError(
                f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overriden vmap "
                "staticmethod. Please set generate_vmap_rule=False or delete the overriden vmap staticmethod."
            )
        return call_unit(_Plain(cls), args)


def _overrides(cls: type[Function], name: str) -> bool:
    return getattr(cls, name) is not getattr(Function, name)


class _Plain(Unit):
    """A function as its class wrote it."""

    def __init__(self, cls: type[Function]) -> None:
        self.cls = cls
        self.name = f"{cls.__name__}Backward"
        self.has_jvp = _overrides(cls, "jvp")
        self.has_vmap = _overrides(cls, "vmap")
        self.separate = _overrides(cls, "setup_context")

    def forward(self, args: tuple[Any, ...]) -> tuple[Any, Context]:
        needs = tuple([isinstance(one, Value) and asks(one) and grad_enabled() for one in args])
        context = Context(needs)
        # Ops inside are not recorded: the call is, as a whole.
        with no_grad():
            output = self.cls.forward(*args) if self.separate else self.cls.forward(context, *args)
        self.prepare(context, args, output)
        return output, context

    def prepare(self, context: Context, args: tuple[Any, ...], output: Any) -> None:
        if self.separate:
            with no_grad():
                self.cls.setup_context(context, args, output)
        context.settle(args, output)
        outputs = output if isinstance(output, tuple) else (output,)
        # Kept apart, since the tape hands out values without names.
        context.names = _names_of(args), _names_of(outputs)

    def backward(
        self, context: Context, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> tuple[Any, ...]:
        named_in, named_out = context.names
        context.open(_under(inputs, named_in), _under(outputs, named_out))
        if context.materialize:
            gradients = zeros_for(gradients, outputs)
        results = self.cls.backward(context, *_under(gradients, named_out))
        several = results if isinstance(results, tuple) else (results,)
        count = len(inputs)
        # As in PyTorch, more of them are let pass while they are None.
        if len(several) < count or any(one is not None for one in several[count:]):
            raise AutogradError(
                f"function {self.name} returned an incorrect number of gradients (expected {count}, got {len(several)})"
            )
        return tuple(
            [
                self._checked(i, one, inputs[i], named_in[i] if i < len(named_in) else None)
                for i, one in enumerate(several[:count])
            ]
        )

    def _checked(self, i: int, gradient: Any, value: Any, names: Names | None) -> Any:
        """Return a gradient in the sizes of its input, without names; refuse sizes or names that cannot be."""
        if gradient is None or not isinstance(value, Value):
            if gradient is not None:
                raise AutogradError(
                    f"function {self.name} returned a gradient different from None at position {i + 1}, but the "
                    "corresponding forward input was not a Variable"
                )
            return None
        if not isinstance(gradient, Tensor):
            raise TypeError(
                f"{self.name} returned {type(gradient)} at index {i}: a gradient is a Tensor or None"
            )
        given, wanted = tuple(gradient.shape), tuple(value.payload.shape)
        if gradient._names is not None:
            if names is not None and len(names) == len(wanted):
                unify_names(self.name, Dims(names, wanted), dims_of(gradient))
            gradient = alias(gradient, None)
        if given == wanted:
            return gradient
        extra = len(given) - len(wanted)
        if extra < 0 or any(b not in (1, a) for a, b in zip(given[extra:], wanted, strict=True)):
            raise AutogradError(
                f"Function {self.name} returned an invalid gradient at index {i} - got {list(given)} but expected "
                f"shape compatible with {list(wanted)}"
            )
        # As in PyTorch, a gradient left in the broadcast sizes is summed to those of its input.
        return ops.sum_to(gradient, sizes=wanted)

    def jvp(
        self, context: Context, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[Any, ...]:
        context.open(inputs, outputs, forwards=True)
        if context.materialize:
            tangents = zeros_for(tangents, inputs)
        results = self.cls.jvp(context, *tangents)
        return results if isinstance(results, tuple) else (results,)

    def vmap(self, info: Any, in_dims: tuple[Any, ...], args: tuple[Any, ...]) -> tuple[Any, Any]:
        result = self.cls.vmap(info, in_dims, *args)
        if not (isinstance(result, tuple) and len(result) == 2):
            raise AutogradError(f"{self.cls.__name__}.vmap returns a tuple (output, out_dims)")
        return result


def _names_of(values: Sequence[Any]) -> tuple[Names | None, ...]:
    return tuple([one._names if isinstance(one, Value) else None for one in values])


def _under(values: Sequence[Any], names: Sequence[Names | None]) -> tuple[Any, ...]:
    """Return values, which come without names, under those that the caller gave or forward returned."""
    named = []
    for i, one in enumerate(values):
        own = names[i] if i < len(names) else None
        fits = own is not None and isinstance(one, Value) and len(own) == len(one.payload.shape)
        named.append(alias(one, own) if fits else one)
    return tuple(named)


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a `backward` whose gradients cannot be differentiated again: asking for that is an error, not a zero.

    Decorates ``backward(ctx, *gradients)`` where it computes with something else than ops.
    """

    @functools.wraps(function)
    def wrapper(context: Context, *gradients: Any) -> Any:
        with no_grad():
            results = function(context, *gradients)
        if not grad_enabled():
            return results
        asked = any(
            isinstance(one, Value) and one._requires_grad for one in (*gradients, *context.saved_tensors)
        )
        if not asked:
            return results
        several = results if isinstance(results, tuple) else (results,)
        guarded = tuple([refuse_twice(one) if isinstance(one, Tensor) else one for one in several])
        return guarded if isinstance(results, tuple) else guarded[0]

    return wrapper
