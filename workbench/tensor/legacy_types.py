"""PyTorch's older types of tensors: ``FloatTensor``, ``LongTensor``, … A type of values in a class's clothes.

There is one class of tensors, `Tensor`, and no tensor is made *of* these: they say of which type one is.
"""

from __future__ import annotations

import warnings
from typing import Any

from workbench.base.dtypes import TYPE_WORDS, DType, as_dtype, set_default_dtype
from workbench.base.errors import DTypeError
from workbench.core.value import Value
from workbench.tensor.factories import finish
from workbench.tensor.legacy_values import check_device, values_of

__all__ = ["LEGACY_TYPES", "LegacyType", "set_default_tensor_type"]


class LegacyType(type):
    """The type of ``FloatTensor`` and its relatives: instances are the CPU's tensors of one data type.

    >>> import workbench as wb
    >>> isinstance(wb.zeros(2), wb.FloatTensor), isinstance(wb.zeros(2), wb.LongTensor)
    (True, False)
    """

    dtype: DType
    """The data type of its tensors."""
    is_cuda = False
    is_sparse = False

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Value) and instance.dtype is cls.dtype and instance.device == "cpu"  # type: ignore[attr-defined]

    def __call__(cls, *data: Any, device: Any = None) -> Any:
        """Make a tensor: of the sizes given, with memory as it is, or with the values given.

        A tensor must be of this type already, and is shared. Raises TypeError for one of another.

        >>> import workbench as wb
        >>> wb.LongTensor([1.7, 2]), wb.FloatTensor(2, 3).shape
        (tensor([1, 2]), (2, 3))
        """
        check_device(cls.__name__, device)
        if len(data) == 1 and isinstance(data[0], Value):
            own = data[0].dtype  # type: ignore[attr-defined]
            if own is not cls.dtype:
                raise TypeError(
                    f"{cls.__name__}(): expected a tensor of type {cls.dtype.name}, got one of {own.name}: write "
                    f"x.to(wb.{cls.dtype.name})"
                )
            return data[0][...]  # type: ignore[index]
        return finish(values_of(cls.__name__, data, cls.dtype.numpy), None, False)

    def __repr__(cls) -> str:
        return f"<class 'workbench.{cls.__name__}'>"


def _made(name: str) -> LegacyType:
    word = f"{TYPE_WORDS[name]}Tensor"
    kind = LegacyType(word, (), {"__module__": "workbench", "__doc__": f"Tensors of {name}, on the CPU."})
    kind.dtype = as_dtype(name)
    return kind


LEGACY_TYPES: dict[str, LegacyType] = {
    one.__name__: one for one in (_made(name) for name in TYPE_WORDS if not name.startswith("q"))
}
"""By their names: ``FloatTensor``, ``DoubleTensor``, …"""


def set_default_tensor_type(t: Any) -> None:
    """Set the type that Python floats become, by an older type or its name: `set_default_dtype` is today's word.

    Raises TypeError for what is no such type.

    >>> import workbench as wb
    >>> wb.set_default_tensor_type("Double")
    Traceback (most recent call last):
    ...
    TypeError: invalid type object: a type such as workbench.FloatTensor or its name, got 'Double'
    """
    word = t.rpartition(".")[2] if isinstance(t, str) else getattr(t, "__name__", None)
    kind = LEGACY_TYPES.get(word) if isinstance(word, str) else None
    if kind is None or (isinstance(t, str) and t.rpartition(".")[0] not in ("torch", "workbench")):
        raise TypeError(f"invalid type object: a type such as workbench.FloatTensor or its name, got {t!r}")
    if not kind.dtype.is_floating_point:
        raise DTypeError(
            f"only floating-point types are supported as the default type, got {kind.dtype.name}"
        )
    warnings.warn(
        "set_default_tensor_type() is deprecated, please use set_default_dtype() instead", stacklevel=2
    )
    set_default_dtype(kind.dtype)
