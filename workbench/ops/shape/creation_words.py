"""Words that every factory takes: ``out=``, ``layout=``, ``pin_memory=``, ``memory_format=``, ``size=``.

They are read here, once, and the factories know nothing of them.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from workbench.base.dtypes import as_dtype, dtype_of
from workbench.base.errors import DTypeError
from workbench.base.memory_formats import check_layout, check_pinned
from workbench.core.inplace import taking_out
from workbench.core.value import Value
from workbench.ops.shape.memory_format import emptied_so

__all__ = ["creating", "like", "said"]

_Factory = TypeVar("_Factory", bound=Callable[..., Any])
_Parameter = inspect.Parameter

_WORDS: dict[str, tuple[Any, str]] = {
    "device": (None, "DeviceLike | None"),
    "requires_grad": (False, "bool"),
    "out": (None, "Tensor | None"),
    "layout": (None, "Layout | None"),
    "pin_memory": (False, "bool"),
    "memory_format": (None, "MemoryFormat | None"),
}
"""What the words are where nobody says them, and their types."""
_ALL = frozenset({"out", "layout", "pin_memory", "memory_format", "size"})
"""The words that no factory has by itself: beside keywords that name dims they are told apart by their values."""


def creating(*, out: bool = True, memory_format: bool = False) -> Callable[[_Factory], _Factory]:
    """Have a factory take the words of all factories beside its own.

    With `out` it writes into a tensor that is there, with `memory_format` it says how the values lie in memory.

    >>> import workbench as wb
    >>> x = wb.empty(0)
    >>> wb.ones(2, out=x, layout=wb.strided) is x, x
    (True, tensor([1., 1.]))
    """

    def declare(factory: _Factory) -> _Factory:
        name = factory.__name__
        signature = inspect.signature(factory)
        own = signature.parameters
        missing = [word for word in _WORDS if word not in own and (out or word != "out")]
        extra = frozenset(word for word in missing if memory_format or word != "memory_format")
        many = any(one.kind is _Parameter.VAR_POSITIONAL for one in own.values())
        names_dims = any(one.kind is _Parameter.VAR_KEYWORD for one in own.values())
        taken = {*extra, "size"} if many else extra
        typed = "dtype" in own
        writing = taking_out(name, factory, factory.__module__, "exact") if out else factory

        @functools.wraps(factory)
        def made(*arguments: Any, **keywords: Any) -> Any:
            # Most calls have none of the words.
            if not keywords:
                return factory(*arguments)
            words = {
                word: keywords.pop(word)
                for word in tuple(keywords)
                if word in taken and not (names_dims and _is_size(keywords[word]))
            }
            if "size" in words:
                arguments = (*arguments, _checked_size(name, words.pop("size")))
            if names_dims and said({word: one for word, one in keywords.items() if word == "memory_format"}):
                raise TypeError(f"{name}() got an unexpected keyword argument 'memory_format'")
            if not words:
                return factory(*arguments, **keywords)
            check_layout(name, words.get("layout"))
            check_pinned(name, words.get("pin_memory"))
            into = words.get("out")
            if into is not None and typed:
                keywords["dtype"] = _type_of(name, into, keywords.get("dtype"))
            result = (
                factory(*arguments, **keywords) if into is None else writing(*arguments, out=into, **keywords)
            )
            return _finished(name, result, words)

        kept = [one for one in own.values() if one.kind is not _Parameter.VAR_KEYWORD]
        rest = [one for one in own.values() if one.kind is _Parameter.VAR_KEYWORD]
        added = [
            _Parameter(word, _Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for word, (default, kind) in _WORDS.items()
            if word in extra
        ]
        made.__signature__ = signature.replace(parameters=[*kept, *added, *rest])  # type: ignore[attr-defined]
        return made  # type: ignore[return-value]

    return declare


def said(keywords: dict[str, Any]) -> bool:
    """Say whether one of the words is among keywords that name dims: ``out=4`` is a dim called so, of size 4.

    >>> said({"out": 4}), said({"out": None, "N": 2}), said({"N": 2})
    (False, True, False)
    """
    return not _ALL.isdisjoint(keywords) and any(
        word in _ALL and not _is_size(value) for word, value in keywords.items()
    )


def _is_size(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _checked_size(name: str, size: Any) -> Any:
    if not isinstance(size, tuple | list):
        raise TypeError(f"{name}(): argument 'size' must be tuple of ints, not {type(size).__name__}")
    return size


def like(factory: _Factory, worded: Any) -> _Factory:
    """Give a factory the signature of what `creating` made of it, which it calls itself where a word is said."""
    factory.__signature__ = worded.__signature__  # type: ignore[attr-defined]
    return factory


def _finished(name: str, result: Any, words: dict[str, Any]) -> Any:
    """Bring what was made to a device and into an order of its dims, and ask for its gradient, as words say."""
    if words.get("memory_format") is not None:
        result = emptied_so(name, result, words["memory_format"])
    if words.get("device") is not None:
        result = result.to(words["device"])
    return result.requires_grad_() if words.get("requires_grad") else result


def _type_of(name: str, out: Any, dtype: Any) -> Any:
    """Return the type of what is written into `out`, which is its own."""
    if not isinstance(out, Value):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    own = dtype_of(out.payload)
    if dtype is not None and as_dtype(dtype) is not own:
        raise DTypeError(
            f"{name}(): dtype {as_dtype(dtype).name} does not match dtype of out parameter ({own.name}): leave one of "
            "them away"
        )
    return own
