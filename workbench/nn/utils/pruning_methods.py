"""Methods of pruning: how a mask is chosen, and how it is put on a parameter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from workbench.base.dims import dim_index
from workbench.base.errors import DimensionError
from workbench.base.random import default_generator
from workbench.core.dispatch import no_grad
from workbench.core.tape import alias_like
from workbench.core.value import dims_of, labelled, new
from workbench.nn.module import Module
from workbench.nn.utils.weight_hooks import found, parameter_of, put, take_out
from workbench.ops import LINALG
from workbench.ops.linalg.norms import vector_norm
from workbench.tensor import Tensor

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
    "RandomStructured", "RandomUnstructured", "pruning_of",
]  # fmt: skip


class BasePruningMethod(ABC):
    """Base of the methods, which is also the hook: a method has its own `compute_mask`, and `PRUNING_TYPE`."""

    PRUNING_TYPE = "unstructured"
    """What is pruned: ``"unstructured"``, single values; ``"structured"``, positions of `dim`; ``"global"``."""
    name: str = ""
    """The parameter it acts on."""

    @property
    def _tensor_name(self) -> str:
        return self.name

    @_tensor_name.setter
    def _tensor_name(self, name: str) -> None:
        self.name = name

    def __call__(self, module: Module, inputs: Any) -> None:
        """Set the parameter to what is left of it, before each call."""
        # At each call, for the product has to be recorded anew: gradients reach what is learned through it.
        put(module, self.name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return a mask for what has the scores `t`, of which `default_mask` has pruned some already."""

    def apply_mask(self, module: Module) -> Tensor:
        """Return what is left of the parameter; gradients reach what is learned."""
        original, mask = module.__dict__[f"{self.name}_orig"], module.__dict__[f"{self.name}_mask"]
        return labelled(mask.to(original.dtype) * original, original._labels)  # type: ignore[no-any-return]

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prune a parameter by this method, on top of what has pruned it already; return the method in force.

        Raises ValueError for what is no parameter or scores of another size, and what the method raises; nothing is
        changed then.
        """
        method: BasePruningMethod = cls(*args, **kwargs)
        method.name = name
        before = pruning_of(module, name)
        original = parameter_of(module, name if before is None else f"{name}_orig", cls.__name__)
        value = module.__dict__[name]
        if importance_scores is not None and tuple(importance_scores.shape) != tuple(value.shape):
            raise ValueError(
                f"importance_scores should have the same shape as parameter {name} of {type(module).__name__}, got "
                f"{list(importance_scores.shape)} vs {list(value.shape)}"
            )
        scores = (value if importance_scores is None else importance_scores).detach()
        scores = scores if scores._names is not None else alias_like(scores, value)
        with no_grad():
            if before is None:
                mask = method.compute_mask(scores, _ones(scores))
            else:
                earlier = before[1]
                container = PruningContainer(
                    *(earlier if isinstance(earlier, PruningContainer) else [earlier])
                )
                container.add_pruning_method(method)
                method = container
                mask = container.compute_mask(scores, module.__dict__[f"{name}_mask"].detach().clone())
        mask = alias_like(mask.detach(), original)
        if before is None:
            delattr(module, name)
            # The parameter stays the same object under its other name: optimizers know it.
            module.register_parameter(f"{name}_orig", original)
        else:
            take_out(module, before[0])
        module.register_buffer(f"{name}_mask", mask)
        put(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(
        self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None
    ) -> Tensor:
        """Return `t` with zeros where this method prunes it."""
        scores = t if importance_scores is None else importance_scores
        if tuple(scores.shape) != tuple(t.shape):
            raise ValueError(
                f"importance_scores should have the same shape as tensor t, got {list(scores.shape)} vs {list(t.shape)}"
            )
        mask = self.compute_mask(scores.detach(), _ones(t) if default_mask is None else default_mask)
        return t * mask

    def remove(self, module: Module) -> None:
        """Make the pruning permanent, but leave the hook; `prune.remove` takes that away too."""
        value = self.apply_mask(module).detach()
        original: Any = module.__dict__[f"{self.name}_orig"]
        for one in (self.name, f"{self.name}_orig", f"{self.name}_mask"):
            delattr(module, one)
        # Into the parameter itself, which optimizers know.
        original.data = value
        original._version += 1
        module.register_parameter(self.name, original)


class PruningContainer(BasePruningMethod):
    """Methods one after the other on one parameter: each prunes of what the ones before have left."""

    PRUNING_TYPE = "container"

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Add a method at the end. Raises TypeError for what is none, ValueError for one of another parameter."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._pruning_methods and method.name != self.name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self.name}' to PruningContainer {self}. Found '{method.name}'"
            )
        self.name = method.name
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, index: int) -> BasePruningMethod:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return `default_mask` with what the last method prunes of what it leaves."""
        method = self._pruning_methods[-1]
        left = default_mask.payload != 0
        array = t.payload
        mask = np.array(default_mask.payload)
        if method.PRUNING_TYPE == "structured":
            axis = _axis(t, method)  # positions of which something is left
            kept = left.any(axis=tuple([i for i in range(array.ndim) if i != axis]))
            place: Any = tuple([kept if i == axis else slice(None) for i in range(array.ndim)])
        elif method.PRUNING_TYPE in ("unstructured", "global"):
            place = left if method.PRUNING_TYPE == "unstructured" else (slice(None),) * array.ndim
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        # Only there does the method choose, so that its amount is a part of what is left.
        left_over = array[place]
        part = _like(left_over, t) if left_over.ndim == array.ndim else new(left_over)
        mask[place] = method.compute_mask(part, _like(mask[place], part)).payload
        return _like(mask, default_mask)


class Identity(BasePruningMethod):
    """Prune nothing."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask there is."""
        return default_mask


class CustomFromMask(BasePruningMethod):
    """Prune by a mask that is given."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return what both masks leave. Raises ValueError for a mask of another size."""
        if tuple(self.mask.shape) != tuple(t.shape):
            raise ValueError(f"the mask has shape {list(self.mask.shape)}, what it prunes {list(t.shape)}")
        return new(default_mask.payload * self.mask.payload.astype(default_mask.payload.dtype))


class _Counted(BasePruningMethod):
    """A method that prunes an amount: a count, or a fraction."""

    def __init__(self, amount: Any) -> None:
        if isinstance(amount, bool) or not isinstance(amount, int | float):
            raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        if amount < 0 or (isinstance(amount, float) and amount > 1.0):
            raise ValueError(
                f"amount={amount} should either be a float in the range [0.0, 1.0] or a non-negative integer"
            )
        self.amount = amount

    def count(self, size: int) -> int:
        """Return how many of `size` are pruned. Raises ValueError where they are fewer."""
        if isinstance(self.amount, float):
            return round(self.amount * size)
        if self.amount > size:
            raise ValueError(
                f"amount={self.amount} should be smaller than the number of parameters to prune={size}"
            )
        return int(self.amount)


class RandomUnstructured(_Counted):
    """Prune values that chance chooses."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask with as many zeros more."""
        return _without(
            default_mask, default_generator.numpy.random(t.payload.size), self.count(t.payload.size)
        )


class L1Unstructured(_Counted):
    """Prune the values of the smallest size."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask with as many zeros more."""
        return _without(default_mask, np.abs(t.payload).ravel(), self.count(t.payload.size))


def pruning_of(module: Module, name: str) -> tuple[int, BasePruningMethod] | None:
    """Return the hook that prunes a parameter, with its number; None where there is none."""
    kind: Any = BasePruningMethod
    return found(module, kind, name)


def _without(mask: Tensor, scores: Any, count: int) -> Tensor:
    """Return a mask with zeros at the `count` smallest scores."""
    flat = np.array(mask.payload).ravel()
    if count:
        # The smallest, in no order: a full sort is not needed.
        flat[np.argpartition(scores, count - 1)[:count]] = 0
    return _like(flat.reshape(mask.payload.shape), mask)


class RandomStructured(_Counted):
    """Prune positions of a dim that chance chooses."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int | str = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask with zeros at as many positions more."""
        axis = _axis(t, self)
        size = t.payload.shape[axis]
        return _without_positions(default_mask, axis, default_generator.numpy.random(size), self.count(size))


class LnStructured(_Counted):
    """Prune the positions of a dim whose values have the smallest norm of order `n`."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, n: Any, dim: int | str = -1) -> None:
        super().__init__(amount)
        self.n = n
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask with zeros at as many positions more."""
        axis = _axis(t, self)
        plain = t.detach().rename(None)
        others = [i for i in range(plain.ndim) if i != axis]
        if self.n == "nuc":
            norms = LINALG["matrix_norm"](plain.movedim(axis, 0), "nuc")
        else:
            norms = vector_norm(plain, 2.0 if self.n == "fro" else float(self.n), dim=others)
        return _without_positions(default_mask, axis, norms.payload, self.count(plain.shape[axis]))


def _without_positions(mask: Tensor, axis: int, scores: Any, count: int) -> Tensor:
    """Return a mask with zeros at the `count` positions of a dim that have the smallest scores."""
    array = np.array(mask.payload)
    if count:
        np.moveaxis(array, axis, 0)[np.argpartition(scores, count - 1)[:count]] = 0
    return _like(array, mask)


def _axis(t: Tensor, method: Any) -> int:
    """Return the dim whose positions a method prunes. Raises `DimensionError` for a tensor without several dims."""
    if t.ndim <= 1:
        raise DimensionError(
            "Structured pruning can only be applied to a multidimensional tensors. Found tensor of shape "
            f"{list(t.shape)} with {t.ndim} dims",
            op=type(method).__name__,
        )
    return dim_index(dims_of(t), method.dim, type(method).__name__)


def _ones(t: Tensor) -> Tensor:
    return _like(np.ones(tuple(t.payload.shape), t.payload.dtype), t)


def _like(array: Any, t: Tensor) -> Tensor:
    """Return a tensor under the names and labels of another."""
    return labelled(new(array, t._names), t._labels)  # type: ignore[no-any-return]
