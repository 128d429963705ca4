"""What people call, and where: a function says so itself, at its definition.

`offered` is the declaration of a function that is written out, `offer` makes one from the record of an elementwise
op. Both enter what they declare in one list, `offers`, from which the modules that people import are filled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, get_args

from workbench.core.direct_writes import computes
from workbench.core.inplace import OutRule
from workbench.core.op import Op
from workbench.core.typing import Operand, Tensor

__all__ = ["Offer", "Place", "offer", "offered", "offers"]

Place = Literal["workbench", "Tensor", "nn.functional", "linalg", "fft", "special", "sparse"]
"""Where something can be offered; ``Tensor`` stands for the methods (and properties) of tensors."""

_PLACES: tuple[Place, ...] = get_args(Place)
_USUAL: tuple[Place, ...] = ("workbench", "Tensor")
_IN_PLACE: tuple[Place, ...] = ("workbench", "Tensor", "nn.functional")
"""Where PyTorch offers ``<name>_``."""
_OUT: tuple[Place, ...] = ("workbench", "linalg", "fft", "special")
"""Where PyTorch's functions take ``out=``."""
_Offered = TypeVar("_Offered", bound=Any)
_Out = bool | OutRule


@dataclass(frozen=True, slots=True)
class Offer:
    """One name at one place, and what is offered there.

    >>> from workbench.ops import offers
    >>> [(one.place, one.out, one.in_place) for one in offers() if one.name == "relu"]
    [('workbench', False, True), ('Tensor', False, True), ('nn.functional', False, True)]
    """

    name: str
    place: Place
    function: Any
    """A function, a property of tensors, or a class."""
    file: str
    """The module that declares it."""
    out: bool | OutRule = False
    """Does it take ``out=``, the tensor to write the result into? Casting where that is safe, or where a rule is named
    as that says."""
    in_place: bool = False
    """Is there a ``<name>_`` beside it, which writes into the first operand's memory?"""
    inplace_view: bool = False
    """Is there a ``<name>_`` beside it, which makes the first operand the view that the function returns?"""
    words: Mapping[str, str] = field(default_factory=dict)
    """Other words for its parameters, beside those that all functions take."""


_OFFERS: dict[tuple[str, str], Offer] = {}


def offers() -> Iterator[Offer]:
    """Yield everything that is offered, in the order of declaration."""
    yield from _OFFERS.values()


def offered(
    *places: Place,
    name: str = "",
    aliases: Sequence[str] = (),
    out: _Out = False,
    in_place: bool | Place = False,
    inplace_view: bool = False,
    words: Mapping[str, str] | None = None,
) -> Callable[[_Offered], _Offered]:
    """Declare that people can call the function below, at `places`: as a function and a method where none is given.

    `name` is what they call it there (its own name by default), and `aliases` are further names. With `out` it takes
    ``out=`` wherever it is a function; its type must be one that the result can be cast to, or with ``out="exact"``
    the result's own, with ``out="exact pair"`` where there are several results. With `in_place` there is a ``<name>_``
    beside it that writes into the first operand's memory, or beside one of them where a place is given. With
    `inplace_view` there is a method ``<name>_`` that makes the operand the view which the function returns. `words`
    are other words for its parameters, as in ``{"split_size": "split_size_or_sections"}``. Declarations can be
    stacked. Two things of one name at one place are refused.

    >>> from workbench.ops import offered
    >>> @offered("nn.functional")
    ... def relu(input): ...
    Traceback (most recent call last):
    ...
    ValueError: nn.functional.relu is offered in workbench.ops.nn.activation.pointwise and in ...
    """

    def declare(function: _Offered) -> _Offered:
        first = name or function.__name__
        for one in (first, *aliases):
            _enter(
                function,
                one,
                places or _USUAL,
                out=out,
                in_place=in_place,
                inplace_view=inplace_view,
                words=words,
            )
        return function

    return declare


def offer(
    op: Op,
    given: str | tuple[str, str],
    result: str,
    *places: Place,
    name: str = "",
    aliases: Sequence[str] = (),
    out: _Out = False,
    in_place: bool | Place = False,
) -> None:
    """Declare that people can call an elementwise op: with its operands and nothing else.

    `given` and `result` are the example of its documentation: the values of one operand or of both, as written in
    Python, and what is printed. The rest is as for `offered`; `name` is the op's own by default. Each name and each
    module gets a function of its own, so that its documentation and pickle find it there.

    >>> import workbench as wb
    >>> wb.sin.__name__, wb.sin.__module__
    ('sin', 'workbench')
    >>> wb.special.expit.__name__, wb.special.expit.__module__
    ('expit', 'workbench.special')
    """
    for one in (name or op.name, *aliases):
        # A dict in place of a set: it keeps the order.
        functions = {
            room: _function(op, given, result, one, room) for room in {_room(p): 0 for p in places or _USUAL}
        }
        for place in places or _USUAL:
            _enter(functions[_room(place)], one, (place,), out=out, in_place=in_place)


def _enter(
    function: Any,
    name: str,
    places: Sequence[Place],
    *,
    out: _Out,
    in_place: bool | Place,
    inplace_view: bool = False,
    words: Mapping[str, str] | None = None,
) -> None:
    file = function.fget.__module__ if isinstance(function, property) else function.__module__
    for place in places:
        if place not in _PLACES:
            raise ValueError(
                f"{name}: {place!r} is no place to offer something; there are {', '.join(_PLACES)}"
            )
        known = _OFFERS.get((place, name))
        if known is not None:
            raise ValueError(
                f"{place}.{name} is offered in {known.file} and in {file}: rename one, or take it away"
            )
        _OFFERS[place, name] = Offer(
            name,
            place,
            function,
            file,
            out=out if place in _OUT else False,
            in_place=place == in_place if isinstance(in_place, str) else in_place and place in _IN_PLACE,
            inplace_view=inplace_view and place == "Tensor",
            words=words or {},
        )


_RULES = {
    "names and sizes pass through": "Names and sizes pass through.",
    "names unify from the right, sizes broadcast": "Names unify from the right, sizes broadcast.",
}


def _room(place: Place) -> str:
    return "workbench" if place in _USUAL else f"workbench.{place}"


def _function(op: Op, given: str | tuple[str, str], result: str, name: str, room: str) -> Callable[..., Any]:
    if isinstance(given, str):

        def function(input: Tensor) -> Tensor:
            return op(input)
    else:

        def function(input: Operand, other: Operand) -> Tensor:  # type: ignore[misc]
            return op(input, other)

    computes(op, 1 if isinstance(given, str) else 2)(function)
    operands = ", ".join(f"wb.tensor({one})" for one in ((given,) if isinstance(given, str) else given))
    function.__name__ = function.__qualname__ = name
    # Pickle and `help` then find it where people do.
    function.__module__ = room
    function.__doc__ = (
        f"{op.doc}\n\nEquation: {op.equation}. {_RULES[op.rule]}\n\n"
        f">>> import workbench as wb\n>>> wb{room.removeprefix('workbench')}.{name}({operands})\n{result}\n"
    )
    return function
