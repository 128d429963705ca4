"""The parametrizations of one tensor: a list of modules, and what it starts from."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from workbench.base.dims import Names
from workbench.core.dispatch import no_grad
from workbench.core.tape import alias
from workbench.core.value import labelled
from workbench.nn.module import Module
from workbench.nn.modules.container import ModuleList
from workbench.nn.parameter import Parameter
from workbench.tensor import Tensor

__all__ = ["ParametrizationList", "check_same", "plain", "register", "seen", "take"]


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and what they start from: ``original``, or ``original0``, ``original1``, …

    `register_parametrization` makes it.
    """

    original: Tensor

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        self.dims: Names = original.dim_labels
        self.named: bool = original._names is not None
        with no_grad():
            new: Any = plain(original.detach())
            # From the last to the first: what is learned lies at the end of the way back.
            for module in reversed(list(self)):
                with suppress(NotImplementedError):  # an inverse that says there is none: the tensor itself
                    if hasattr(module, "right_inverse"):
                        new = module.right_inverse(seen(module, new, self.dims))
        if not isinstance(new, Tensor | Sequence):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if not unsafe:
            self._check_start(original, new)
        if isinstance(new, Tensor):
            if new.dtype is not original.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {new.dtype}"
                )
            take(original, new)
            register(self, "original", original)
            return
        for i, one in enumerate(new):
            if not isinstance(one, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                    f"Got element {i} of the sequence with type {type(one).__name__}."
                )
            register(self, f"original{i}", _like(original, one))

    def _check_start(self, original: Tensor, new: Any) -> None:
        """Refuse parametrizations that do not give back what they started from, before anything is changed."""
        with no_grad():
            result = self._through(tuple([new] if isinstance(new, Tensor) else new))
        check_same(result, original, "unparametrized", "parametrized")

    def _through(self, tensors: tuple[Any, ...]) -> Any:
        value: Any = None
        for i, module in enumerate(self):
            given = tensors if i == 0 else (value,)
            value = module(*[seen(module, one, self.dims) for one in given])
            if isinstance(value, Tensor):
                value = plain(value)
        return value

    def forward(self) -> Tensor:
        """Return the parametrized tensor, under the names or labels of the one that it stands for."""
        if self.is_tensor:
            tensors: tuple[Any, ...] = (self.original,)
        else:
            tensors = tuple([getattr(self, f"original{i}") for i in range(self.ntensors)])
        value = self._through(tuple([plain(one) for one in tensors]))
        return under(value, self.dims) if self.named else called(value, self.dims)  # type: ignore[no-any-return]

    def right_inverse(self, value: Tensor) -> None:
        """Set what is learned so that the parametrized tensor is `value`; every parametrization must have an inverse.

        Raises RuntimeError for one that has none, ValueError where an inverse returns something that does not fit.
        """
        with no_grad():
            new: Any = plain(value.detach())
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                new = module.right_inverse(seen(module, new, self.dims))
        if self.is_tensor:
            if not isinstance(new, Tensor):
                raise ValueError(f"`right_inverse` should return a tensor. Got {type(new).__name__}")
            if new.dtype is not self.original.dtype:
                raise ValueError(
                    f"The tensor returned by `right_inverse` has dtype {new.dtype} while `original` has dtype "
                    f"{self.original.dtype}"
                )
            take(self.original, new)
            return
        if not isinstance(new, Sequence) or len(new) != self.ntensors:
            got = f"a sequence of length {len(new)}" if isinstance(new, Sequence) else type(new).__name__
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got {got}."
            )
        here = [getattr(self, f"original{i}") for i in range(self.ntensors)]
        for i, (own, one) in enumerate(zip(here, new, strict=True)):
            if not isinstance(one, Tensor) or one.dtype is not own.dtype:
                got = f"dtype {one.dtype}" if isinstance(one, Tensor) else f"type {type(one).__name__}"
                raise ValueError(
                    f"Tensor {i} returned by `right_inverse` has {got} while `original{i}` has dtype {own.dtype}"
                )
        # Only now that all of them fit: a refusal changes nothing.
        for own, one in zip(here, new, strict=True):
            take(own, one)


def plain(value: Tensor) -> Tensor:
    """Return a tensor without names, at the same place of the tape."""
    return value if value._names is None else alias(value, None)


def under(value: Any, dims: Names) -> Any:
    """Return a tensor without names under these, where they are as many as its dims."""
    fits = isinstance(value, Tensor) and value._names is None and value.ndim == len(dims) and any(dims)
    return alias(value, dims) if fits else value


def called(value: Any, dims: Names) -> Any:
    """Return a tensor with these labels, where they are as many as its dims."""
    fits = isinstance(value, Tensor) and value.ndim == len(dims) and any(dims)
    return labelled(alias(value, value._names), dims) if fits else value


def seen(module: Module, value: Any, dims: Names) -> Any:
    """Return a tensor as a parametrization asks to see it."""
    return under(value, dims) if getattr(module, "named", False) else value


def take(target: Tensor, source: Tensor) -> None:
    """Give `target`, which optimizers know, other numbers, of whatever size."""
    array = source.payload
    target._version += 1
    # A gradient of another size belongs to numbers that are gone.
    target._grad = None if tuple(array.shape) != tuple(target.payload.shape) else target._grad
    if target._names is not None and len(target._names) != len(array.shape):
        target._names = None
    if target._labels is not None and len(target._labels) != len(array.shape):
        target._labels = None
    # A copy: an inverse that returns its input would otherwise share memory with what the caller assigned.
    target.payload = array.copy() if array is not target.payload and hasattr(array, "copy") else array


def _like(original: Tensor, value: Tensor) -> Tensor:
    """Return one of several tensors to start from, learned if the original was."""
    own = alias(value.detach().clone(), None)
    own = under(own, original.names) if original._names is not None else called(own, original.dim_labels)
    if isinstance(original, Parameter):
        return Parameter(own, original.requires_grad)
    return own.requires_grad_(original.requires_grad)  # type: ignore[no-any-return]


def register(module: Module, name: str, value: Tensor) -> None:
    """Register a tensor as what it is: a parameter, or a buffer."""
    if isinstance(value, Parameter):
        module.register_parameter(name, value)
    else:
        module.register_buffer(name, value)


def check_same(result: Any, wanted: Tensor, before: str, after: str) -> None:
    """Refuse a result of another size or type. Raises ValueError."""
    if not isinstance(result, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
    for what, own, other in (
        ("dtype", wanted.dtype, result.dtype),
        ("shape", tuple(wanted.shape), tuple(result.shape)),
    ):
        if own != other:
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless the `unsafe` flag is "
                f"enabled.\n{before} {what}: {own}\n{after} {what}: {other}"
            )
