"""Parameters, the tensors that a module learns, and buffers, those that it keeps beside them."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.devices import Device
from workbench.base.dims import Names, check_names
from workbench.base.dtypes import get_default_dtype, is_dtype, plain_dtype
from workbench.base.errors import UninitializedError
from workbench.core.lending import share
from workbench.core.value import Abstract
from workbench.tensor import Tensor
from workbench.tensor.factories import empty

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]


class Parameter(Tensor):
    """A tensor that a module registers when it is assigned to an attribute, and that optimizers change.

    It shares the memory of `data`, and has its names unless `names` says others. `dim_labels` says what the dims are
    called without naming them: pictures and graphs show it, and a program that names nothing may compute with the
    parameter as it likes; an op that gets values with names beside it takes the labels for names.

    >>> import workbench as wb
    >>> weight = Parameter(wb.zeros(2, 3), dim_labels=("out_features", "in_features"))
    >>> weight.requires_grad, weight.names, weight.dim_labels
    (True, (None, None), ('out_features', 'in_features'))
    >>> (weight @ weight.T).shape
    (2, 2)
    >>> wb.nn.functional.linear(wb.ones(N=4, E=3), weight).names
    ('N', 'out_features')
    """

    __slots__ = ()

    def __new__(
        cls, data: Any = None, requires_grad: bool = True, *, names: Any = None, dim_labels: Any = None
    ) -> Parameter:
        """Make a parameter of a tensor, or an empty one."""
        if data is not None and not isinstance(data, Tensor):
            raise TypeError(
                f"a Parameter is made of a tensor, got {type(data).__name__}: use wb.tensor(...) first"
            )
        parameter = super().__new__(cls)
        parameter.payload = np.empty(0, np.float32) if data is None else data.payload
        own = None
        if data is not None:
            own = data._names
            share(data, parameter)
        parameter._names = check_names(names, len(parameter.payload.shape)) if names is not None else own
        if dim_labels is not None:
            parameter.dim_labels = dim_labels
        elif data is not None:
            parameter._labels = data._labels
        if requires_grad:
            parameter.requires_grad_()
        return parameter

    def __init__(
        self, data: Any = None, requires_grad: bool = True, *, names: Any = None, dim_labels: Any = None
    ) -> None:
        """Nothing is left to do: `__new__` has made it."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        """Return a parameter with memory of its own, without gradient."""
        # Without the gradient, as in PyTorch.
        copied = type(self).__new__(type(self), None, False)
        copied.payload = self.payload.copy()
        copied._names = self._names
        copied._labels = self._labels
        copied._requires_grad = self._requires_grad
        memo[id(self)] = copied
        return copied

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


class Buffer(Tensor):
    """A tensor that a module registers as a buffer when it is assigned to an attribute; it is not learned.

    It shares the memory, the names and the labels of `data`, and is part of the state of the module if `persistent`.

    >>> import workbench as wb
    >>> module = wb.nn.Module()
    >>> module.seen = Buffer(wb.zeros(2))
    >>> list(module.state_dict())
    ['seen']
    """

    __slots__ = ()
    persistent: bool = True

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Buffer:
        """Make a buffer of a tensor, or an empty one."""
        if data is not None and not isinstance(data, Tensor):
            raise TypeError(
                f"a Buffer is made of a tensor, got {type(data).__name__}: use wb.tensor(...) first"
            )
        buffer = super().__new__(cls)
        buffer.payload = np.empty(0, np.float32) if data is None else data.payload
        if data is not None:
            buffer._names, buffer._labels = data._names, data._labels
            share(data, buffer)
        buffer.persistent = persistent
        return buffer

    def __init__(self, data: Any = None, *, persistent: bool = True) -> None:
        """Nothing is left to do: `__new__` has made it."""


class _Unknown(Abstract):
    """Stands where an array will be: its type and device are known, its sizes are not."""

    __slots__ = ("device",)
    called = "uninitialized"

    def __init__(self, dtype: Any, device: Any) -> None:
        self.dtype = dtype
        self.device = device

    @property
    def shape(self) -> Any:  # type: ignore[override]  # nobody may set it, or know it
        """Refuse to say sizes."""
        raise _unknown("shape")

    def numbers(self, value: Any) -> Any:
        """Refuse to give numbers."""
        raise _unknown("numbers")

    def beneath(self) -> Any:
        """Refuse to be computed with."""
        raise _unknown("numbers")

    def __getattr__(self, name: str) -> Any:
        # Python and NumPy look for protocols that a value may lack (`__array__`, `__len__`), and take only
        # this for no.
        if name.startswith("__"):
            raise AttributeError(name)
        raise _unknown(name)


def _unknown(what: str) -> UninitializedError:
    return UninitializedError(
        f"Can't access the {what} of an uninitialized parameter or buffer: its sizes are not known yet. Call the "
        "module once with an input, which says them, or load a state that has it"
    )


class _Uninitialized(Tensor):
    """What parameters and buffers without sizes can do: change their type and device, and get sizes."""

    __slots__ = ()
    payload: Any

    @property
    def device(self) -> Device:
        """Where the values will be."""
        return Device("cpu" if self.payload.device is None else self.payload.device)

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Take sizes, and memory as it is: from now on a parameter or buffer like any other."""
        unknown = self.payload
        made = empty(
            tuple(shape),
            dtype=unknown.dtype if dtype is None else dtype,
            device=unknown.device if device is None else device,
        )
        # Both are looked at before anything changes: sizes that do not fit leave it without sizes.
        ndim = len(made.payload.shape)
        names = None if self._names is None else check_names(self._names, ndim)
        labels = None if self._labels is None else check_names(self._labels, ndim)
        self.payload = made.payload
        self._names, self.dim_labels = names, labels
        self.__class__ = _BECOMES[type(self)]

    def to(self, *words: Any, dtype: Any = None, device: Any = None, **options: Any) -> Any:
        """Return one of another type, or on another device."""
        # As PyTorch takes them, in any order; a bool among them is `non_blocking` or `copy`.
        for word in words:
            if isinstance(word, Device) or (isinstance(word, str) and not is_dtype(word)):
                device = word
            elif word is not None and not isinstance(word, bool):
                dtype = word
        unknown = self.payload
        return _uninitialized(
            type(self),
            self._requires_grad,
            unknown.device if device is None else Device(device),
            unknown.dtype if dtype is None else dtype,
            self._names,
            self._labels,
        )

    def cpu(self, memory_format: Any = None) -> Any:
        """Return one on the CPU."""
        return self.to(device="cpu")

    def numpy(self, *, force: bool = False) -> Any:
        """Raise `UninitializedError`."""
        raise _unknown("numbers")

    def detach(self) -> Any:
        """Return the same: there are no numbers yet that a gradient could reach."""
        # There is nothing yet that could be recorded.
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        copied = self.to()
        memo[id(self)] = copied
        return copied

    def __reduce_ex__(self, protocol: Any) -> Any:
        unknown = self.payload
        kept = (type(self), self._requires_grad, unknown.device, unknown.dtype, self._names, self._labels)
        return _uninitialized, kept

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


def _uninitialized(
    kind: Any, requires_grad: bool, device: Any, dtype: Any, names: Names | None, labels: Names | None = None
) -> Any:
    made = Tensor.__new__(kind)
    target = (get_default_dtype() if dtype is None else plain_dtype(dtype)).numpy
    made.payload = _Unknown(target, device)
    made._names = names
    made._labels = labels
    if requires_grad:
        made.requires_grad_()
    return made


class UninitializedParameter(_Uninitialized, Parameter):
    """A parameter of which the sizes are not known yet; `materialize` makes it a `Parameter`.

    Raises `UninitializedError` where its sizes or numbers are asked for.

    >>> weight = UninitializedParameter(dim_labels=("out_features", "in_features"))
    >>> weight
    <UninitializedParameter>
    >>> weight.materialize((2, 3))
    >>> type(weight).__name__, weight.shape, weight.dim_labels
    ('Parameter', (2, 3), ('out_features', 'in_features'))
    """

    __slots__ = ()

    def __new__(
        cls,
        requires_grad: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        names: Any = None,
        dim_labels: Any = None,
    ) -> UninitializedParameter:
        """Make one of a type, on a device."""
        return _uninitialized(cls, requires_grad, device, dtype, names, dim_labels)  # type: ignore[no-any-return]

    def __init__(
        self,
        requires_grad: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        names: Any = None,
        dim_labels: Any = None,
    ) -> None:
        """Nothing is left to do: `__new__` has made it."""


class UninitializedBuffer(_Uninitialized, Buffer):
    """A buffer of which the sizes are not known yet; `materialize` makes it a `Buffer`.

    >>> seen = UninitializedBuffer()
    >>> seen.materialize((3,))
    >>> seen.shape
    (3,)
    """

    __slots__ = ()

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
        *,
        names: Any = None,
        dim_labels: Any = None,
    ) -> UninitializedBuffer:
        """Make one of a type, on a device."""
        made = _uninitialized(cls, requires_grad, device, dtype, names, dim_labels)
        made.persistent = persistent
        return made  # type: ignore[no-any-return]

    def __init__(
        self,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
        *,
        names: Any = None,
        dim_labels: Any = None,
    ) -> None:
        """Nothing is left to do: `__new__` has made it."""


_BECOMES: dict[type, type] = {UninitializedParameter: Parameter, UninitializedBuffer: Buffer}


def is_lazy(param: Any) -> bool:
    """Say whether the sizes of a parameter or buffer are not known yet.

    >>> is_lazy(UninitializedParameter()), is_lazy(Parameter())
    (True, False)
    """
    return isinstance(param, _Uninitialized)
