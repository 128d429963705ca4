"""Names as a subject: checking what a function is given, and bringing tensors together by name.

>>> import workbench as wb
>>> from workbench import Tensor
>>> @wb.names.check
... def scores(images: Tensor["N C"], weight: Tensor["K C"]) -> Tensor["N K"]:
...     return images @ weight.t()
>>> scores(wb.ones(N=2, C=3), wb.ones(K=4, C=3)).shape
(2, 4)
>>> scores(wb.ones(N=2, C=3), wb.ones(C=3, K=4))
Traceback (most recent call last):
workbench.base.errors.DimensionError: scores: argument 'weight' must be a Tensor["K C"]: dim 0 is called 'C', ...
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeVar, overload

from workbench.base.annotations import annotations_of
from workbench.base.dims import Dims, Names, check_names, misspelling, near_miss, unify_names
from workbench.base.errors import DimensionError
from workbench.base.public import words
from workbench.core.value import dims_of
from workbench.ops.shape.align import align_tensors
from workbench.tensor.annotations import Sizes, Spec
from workbench.tensor.tensor import Tensor

__all__ = ["Spec", "align", "align_tensors", "check", "near_miss", "unify"]

Function = TypeVar("Function", bound=Callable[..., Any])


@overload
def check(function: Tensor, words: str, dtype: Any = None, *, strict: bool = False) -> Tensor: ...
@overload
def check(function: Function) -> Function: ...
@overload
def check(*, strict: bool = False) -> Callable[[Function], Function]: ...
def check(function: Any = None, words: str | None = None, dtype: Any = None, *, strict: bool = False) -> Any:
    """Check tensors against annotations: all arguments and the result of a function, or one tensor now.

    As a decorator, of functions, methods and `forward` of modules: parameters annotated ``Tensor["N C H W"]`` are
    checked at every call, names, sizes and type. An annotation is words in a string, one a dim: a name (``N``), a name
    with its size (``C=3``), a size (``3``), ``_`` for any dim, one ``...`` for any number of dims; a type may follow,
    as in ``Tensor["N C", wb.float32]``. A name that stands in several annotations has one size in a call. For type
    checkers, which know nothing of such words, write ``Annotated[Tensor, "N C H W"]``: it means the same. Annotations
    inside of ``list[…]``, ``tuple[…]``, ``dict[…]`` and ``… | None`` are followed.

    A dim without a name goes with any, as everywhere; ``check(strict=True)`` refuses it.

    As a function, ``check(x, "N C")`` returns `x` if it is so.

    Raises `DimensionError` (names, sizes), `DTypeError` (types) or TypeError (no tensor at all).

    >>> import workbench as wb
    >>> wb.names.check(wb.ones(N=2, C=3), "N _").names
    ('N', 'C')
    """
    if words is not None:
        Spec.read(words, dtype).match(function, strict=strict)
        return function
    if function is None:
        return functools.partial(_checked, strict=strict, around=_around())
    return _checked(function, strict=strict, around=_around())


def _around() -> dict[str, Any]:
    """Return the local names where `check` was written: annotations may use them."""
    frame = inspect.currentframe()
    # Two frames up is who wrote `check`.
    for _ in range(2):
        frame = frame.f_back if frame is not None else None
    return dict(frame.f_locals) if frame is not None else {}


def _checked(function: Any, strict: bool, around: Mapping[str, Any]) -> Any:
    if isinstance(function, staticmethod | classmethod):
        return type(function)(_checked(function.__func__, strict, around))
    if isinstance(function, Tensor):
        raise TypeError('check: say what the tensor must be, as check(x, "N C")')
    if not inspect.isfunction(function):
        raise TypeError(
            f"check goes around a function or a method, not {type(function).__name__} {function!r:.60}"
        )
    signature = inspect.signature(function)
    hints = _hints(function, around)
    asked: dict[str, Any] | None = _asked(hints) if not _open(hints) else None
    name = function.__name__

    @functools.wraps(function)
    def checked(*arguments: Any, **keywords: Any) -> Any:
        nonlocal asked
        if asked is None:  # an annotation that names what is defined further down
            asked = _asked(_hints(function, {}, final=True))
        sizes: Sizes = {}
        given = signature.bind(*arguments, **keywords)
        for parameter, value in given.arguments.items():
            if parameter not in asked:
                continue
            kind = signature.parameters[parameter].kind
            if kind is inspect.Parameter.VAR_POSITIONAL:
                for i, one in enumerate(value):
                    _match(asked[parameter], one, f"{parameter}[{i}]", name, sizes, strict)
            elif kind is inspect.Parameter.VAR_KEYWORD:
                for key, one in value.items():
                    _match(asked[parameter], one, key, name, sizes, strict)
            elif value is not None or signature.parameters[parameter].default is not None:
                # A default of None says that nothing may be given, whatever the annotation asks for.
                _match(asked[parameter], value, parameter, name, sizes, strict)
        result = function(*arguments, **keywords)
        if "return" in asked:
            _match(asked["return"], result, "return", name, sizes, strict)
        return result

    return checked


_LATER = object()
"""Stands for an annotation that cannot be read yet."""


def _hints(function: Any, local: Mapping[str, Any], final: bool = False) -> dict[str, Any]:
    """Return the annotations of a function; those written as text (`from __future__ import annotations`) are read."""
    space = {**inspect.getclosurevars(function).nonlocals, **local}
    found: dict[str, Any] = {}
    for name, hint in annotations_of(function).items():
        if not isinstance(hint, str):
            found[name] = hint
            continue
        try:
            # The user's own words, read in the user's own names, as typing.get_type_hints does.
            found[name] = eval(hint, function.__globals__, space)
        except NameError as error:
            if not final:
                found[name] = _LATER
            elif "Tensor" in hint:
                raise TypeError(
                    f"{function.__name__}: the annotation {hint} of {name!r} cannot be read: {error}. Import it where "
                    "the function is defined, and not for type checkers only."
                ) from None
    return found


def _open(hints: Mapping[str, Any]) -> bool:
    return any(hint is _LATER for hint in hints.values())


def _asked(hints: Mapping[str, Any]) -> dict[str, Any]:
    """Return the annotations with tensors in them, read."""
    read = {name: _read(hint) for name, hint in hints.items()}
    return {name: one for name, one in read.items() if one is not None}


class _Inside(typing.NamedTuple):
    """An annotation with others inside: what holds them (Union, list, tuple, dict …), and they."""

    origin: Any
    parts: tuple[Any, ...]
    """None where anything goes."""
    hints: tuple[Any, ...]


def _read(hint: Any) -> Any:
    """Return what an annotation asks for: a `Spec`, others inside of something, or None for what is not ours."""
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        if isinstance(inside[0], type) and issubclass(inside[0], Tensor):
            for one in inside[1:]:
                if isinstance(one, Spec):
                    return one
                if isinstance(one, str):
                    return Spec.read(one)
        return _read(inside[0])
    if origin is None:
        return None
    parts = tuple(_read(one) for one in inside)
    return _Inside(origin, parts, inside) if any(part is not None for part in parts) else None


def _match(asked: Any, value: Any, path: str, op: str, sizes: Sizes, strict: bool) -> None:
    """Check a value against what `_read` returned; `path` is the parameter, with the place inside of it, or return."""
    if isinstance(asked, Spec):
        returned = path.partition("[")[0] == "return"  # no parameter can be called so
        label = "the result" + path.removeprefix("return") if returned else f"argument {path!r}"
        asked.match(value, label, op, sizes, strict)
    elif asked.origin in (typing.Union, types.UnionType):
        _match_one_of(asked, value, path, op, sizes, strict)
    else:
        for part, one, place in _entries(asked, value):
            if part is not None:
                _match(part, one, path + place, op, sizes, strict)


def _entries(asked: _Inside, value: Any) -> Iterable[tuple[Any, Any, str]]:
    """Yield what a container holds, each with what is asked of it and its place."""
    if isinstance(value, Mapping):
        return [(asked.parts[-1], one, f"[{key!r}]") for key, one in value.items()]
    if not isinstance(value, Sequence) or isinstance(value, str):
        return []
    same = asked.origin is not tuple or asked.hints[-1] is ...
    if not same and len(value) != len(asked.parts):
        raise TypeError(f"expected a tuple of {len(asked.parts)}, got {len(value)}")
    parts = [asked.parts[0]] * len(value) if same else asked.parts
    return [(part, one, f"[{i}]") for i, (part, one) in enumerate(zip(parts, value, strict=True))]


def _match_one_of(asked: _Inside, value: Any, path: str, op: str, sizes: Sizes, strict: bool) -> None:
    refusal: Exception | None = None
    for part, hint in zip(asked.parts, asked.hints, strict=True):
        if part is None:
            fits = hint is Any or (isinstance(hint, type) and isinstance(value, hint))
            if fits or typing.get_origin(hint) is not None:
                return
            continue
        # What an alternative says of sizes counts only if it fits.
        known = dict(sizes)
        try:
            _match(part, value, path, op, known, strict)
        except (DimensionError, TypeError) as error:
            refusal = refusal or error
        else:
            sizes.update(known)
            return
    if refusal is not None:
        raise refusal


def unify(*values: Tensor | Sequence[str | None]) -> Names:
    """Return the names that tensors (or lists of names) have together, matched from the right as in arithmetic.

    Raises `DimensionError` where they clash, with what would mend it.

    >>> import workbench as wb
    >>> wb.names.unify(wb.ones(N=2, C=3), wb.ones(3), ("N", None))
    ('N', 'C')
    """
    together = Dims((), ())
    for value in values:
        if isinstance(value, Tensor):
            names: Names = dims_of(value).names
        else:
            names = tuple(value)
            check_names(names, len(names))
        names = unify_names("unify", together, Dims(names, (1,) * len(names)))
        together = Dims(names, (1,) * len(names))
    return together.names


def align(*tensors: Tensor, order: Sequence[str] | None = None) -> tuple[Tensor, ...]:
    """Return the tensors with all of their dims in one order, of size 1 where one lacks a dim: ready for arithmetic.

    Unlike `align_tensors` this puts names into `order`, by default that of their first appearance, so no tensor need
    have all of them. Views, no copies.

    Raises `DimensionError` for dims without a name, and for names that `order` lacks.

    >>> import workbench as wb
    >>> rows, columns = wb.names.align(wb.ones(N=2), wb.ones(C=3))
    >>> (rows + columns).names, (rows + columns).shape
    (('N', 'C'), (2, 3))
    """
    found: list[str] = []
    for tensor in tensors:
        for i, name in enumerate(tensor.names):
            if name is None:
                raise DimensionError(
                    f"align: dim {i} of Tensor{list(tensor.names)} has no name to be aligned by.",
                    op="align",
                    operands=(dims_of(tensor).operand("tensor", [i]),),
                    fix="tensor.refine_names(...)",
                )
            if name not in found:
                if order is None:
                    _check_near(name, found, tensor)
                found.append(name)
    wanted = found if order is None else list(order)
    return tuple(tensor.align_to(*wanted) for tensor in tensors)


def _check_near(name: str, found: Sequence[str], tensor: Tensor) -> None:
    """Refuse a name that is nearly one of another tensor, which this one lacks."""
    near = misspelling(name, [one for one in found if one not in tensor.names])
    if near is not None:
        raise DimensionError(
            f"align: is {name!r} a misspelling of {near!r}? Names so alike are two dims only where order= has both.",
            op="align",
            operands=(dims_of(tensor).operand("tensor", [tensor.names.index(name)]),),
            fix=f"tensor.rename({name}={near!r})",
        )


__getattr__, __dir__ = words(__name__, __all__)
