"""Having calls of functions looked at while something is traced, at no price when nothing is.

The functions that people call are Python functions, and a program holds them in many ways: `F.relu`, a name that was
imported, ``self.activation``. To see each call, whoever holds the function, the function itself has to look; and a look
in every call is what eager programs would pay for. So for as long as somebody traces, the functions have other code: it
asks whether a proxy is among the operands, and else calls the function as it was. Functions in other threads do what
they always do, a little slower.
"""

from __future__ import annotations

import contextlib
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from workbench.core.dispatch import apply
from workbench.fx.proxies import proxy_in
from workbench.graph.vocabulary import MAKERS
from workbench.nn import Module, functional
from workbench.ops import FFT, FUNCTIONS, LINALG, NN, SPARSE, SPECIAL, offers
from workbench.tensor import Tensor

__all__ = ["TRACING", "intercept_for", "intercepted", "is_fx_tracing", "patched", "reading"]


class _Tracing(threading.local):
    """Who traces in this thread."""

    tracer: Any = None


TRACING = _Tracing()


def is_fx_tracing() -> bool:
    """Say whether a function is being traced in this thread.

    >>> is_fx_tracing()
    False
    """
    return TRACING.tracer is not None


Handler = Callable[[tuple[Any, ...], dict[str, Any]], Any]


_HANDLER = 0.125
"""Stands in the template for the handler: a constant that is found again."""


def _template(*args: Any, **kwargs: Any) -> Any:
    handler: Any = 0.125
    return handler(args, kwargs)


class _Swap:
    """A function, its own code, and code that gives each call to a handler."""

    __slots__ = ("function", "original", "other")

    def __init__(self, function: types.FunctionType, make: Callable[[types.FunctionType], Handler]) -> None:
        self.function = function
        self.original = function.__code__
        # What the handler calls where no proxy is among the operands.
        twin = types.FunctionType(
            self.original,
            function.__globals__,
            function.__name__,
            function.__defaults__,
            function.__closure__,
        )
        twin.__kwdefaults__ = function.__kwdefaults__
        handler = make(twin)
        code = _template.__code__
        # The handler is a constant of the code: a function of any module can have it, whatever names are there. A
        # function takes code of as many free variables as it has cells, and these it does not read.
        self.other = code.replace(
            co_consts=tuple(handler if one == _HANDLER else one for one in code.co_consts),
            co_freevars=self.original.co_freevars,
            co_name=self.original.co_name,
            co_qualname=self.original.co_qualname,
        )


def _given(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return a proxy among the operands; None where there is none."""
    found = proxy_in(args)
    # Not by `or`: a proxy is neither true nor false.
    return proxy_in(kwargs.values()) if found is None and kwargs else found


def _recording(kind: str, target: Any) -> Callable[[types.FunctionType], Handler]:
    def make(twin: types.FunctionType) -> Handler:
        def handler(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            found = _given(args, kwargs)
            if found is None:
                return twin(*args, **kwargs)
            return found.tracer.create_proxy(kind, target, args, kwargs)

        return handler

    return make


def _calling(twin: types.FunctionType) -> Handler:
    """Give calls of modules to the tracer of this thread."""

    def handler(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tracer = TRACING.tracer
        if tracer is None:
            return twin(*args, **kwargs)
        module, *inputs = args
        return tracer.called(module, lambda *a, **k: twin(module, *a, **k), tuple(inputs), kwargs)

    return handler


def _applying(twin: types.FunctionType) -> Handler:
    """Record ops that layers call past the functions that people call."""

    def handler(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        op, *inputs = args
        found = _given(tuple(inputs), kwargs)
        if found is None:
            return twin(*args, **kwargs)
        return found.tracer.create_proxy("call_function", op, tuple(inputs), kwargs)

    return handler


def _read(self: Any, name: str) -> Any:
    """Read an attribute of a module: a parameter of what is traced is a proxy."""
    found = object.__getattribute__(self, name)
    if isinstance(found, Tensor) and TRACING.tracer is not None:
        return TRACING.tracer.read(name, found)
    return found


@cache
def _offered() -> tuple[_Swap, ...]:
    """Return all that people call, and calls of modules. Made once, when something is traced first."""
    swaps = {id(Module.__call__): _Swap(Module.__call__, _calling), id(apply): _Swap(apply, _applying)}  # type: ignore[arg-type]

    def add(function: Any, kind: str, target: Any) -> None:
        if isinstance(function, types.FunctionType) and id(function) not in swaps:
            swaps[id(function)] = _Swap(function, _recording(kind, target))

    rooms = ({**FUNCTIONS, **MAKERS}, {**NN, "flatten": functional.flatten}, LINALG, FFT, SPECIAL, SPARSE)
    for room in rooms:
        for function in room.values():
            add(function, "call_function", function)
    # What has `out=`, or other words for its parameters, is a function around the one that our own layers call.
    places = dict(
        zip(("workbench", "nn.functional", "linalg", "fft", "special", "sparse"), rooms, strict=True)
    )
    for one in offers():
        if one.place in places:
            add(one.function, "call_function", places[one.place].get(one.name, one.function))
    for kind in (Tensor, Tensor.__mro__[1]):
        for name, method in vars(kind).items():
            # A method of a tensor that is given a proxy, ``weight.add(x)``; an operator has its method's name.
            word = name.strip("_") if name in _OPERATORS else name
            if name in _OPERATORS or not name.startswith("_"):
                add(method, "call_method", word)
    return tuple(swaps.values())


@cache
def _offered_ids() -> frozenset[int]:
    return frozenset(id(one.function) for one in _offered())


_OPERATORS = frozenset(
    f"__{name}__"
    for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift",
        "lt", "le", "gt", "ge", "eq", "ne",
    )
)  # fmt: skip

_lock = threading.Lock()
_depth: dict[int, int] = {}
"""How many traces have functions of the program's own, by the function, and all that is offered, by 0."""


def _put(swaps: tuple[_Swap, ...], key: int) -> None:
    with _lock:
        _depth[key] = _depth.get(key, 0) + 1
        if _depth[key] == 1:
            for one in swaps:
                one.function.__code__ = one.other


def _take_back(swaps: tuple[_Swap, ...], key: int) -> None:
    with _lock:
        _depth[key] -= 1
        if not _depth[key]:
            del _depth[key]
            for one in swaps:
                one.function.__code__ = one.original


_reading: dict[type, int] = {}


@contextlib.contextmanager
def reading(kind: type) -> Iterator[None]:
    """Have attributes of modules of a class read by `_read`, until the end."""
    own: Any = kind.__getattribute__
    # A class that reads attributes in a way of its own goes on doing so.
    if own not in (object.__getattribute__, _read):
        yield
        return
    with _lock:
        _reading[kind] = _reading.get(kind, 0) + 1
        if _reading[kind] == 1:
            kind.__getattribute__ = _read  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        with _lock:
            _reading[kind] -= 1
            if not _reading[kind]:
                del _reading[kind], kind.__getattribute__


@contextlib.contextmanager
def intercepted(functions: tuple[Any, ...] = ()) -> Iterator[None]:
    """Record calls with proxies, of all that is offered and of `functions` of the program's own, until the end."""
    # A function that two traces have at once has the code of the first of them, which does the same.
    own = [
        _own(one)
        for one in functions
        if isinstance(one, types.FunctionType) and id(one) not in _offered_ids()
    ]
    _put(_offered(), 0)
    for one in own:
        _put((one,), id(one.function))
    try:
        yield
    finally:
        for one in own:
            _take_back((one,), id(one.function))
        _take_back(_offered(), 0)


def intercept_for(owner: Any) -> None:
    """Record calls with proxies, of all that is offered, for as long as `owner` is alive."""
    _put(_offered(), 0)
    weakref.finalize(owner, _take_back, _offered(), 0).atexit = False


_swaps: weakref.WeakKeyDictionary[types.FunctionType, _Swap] = weakref.WeakKeyDictionary()


def _own(function: types.FunctionType) -> _Swap:
    """Return the swap of a function of the program's: one for all traces that run at a time."""
    with _lock:
        found = _swaps.get(function)
        # The program may have given it other code since.
        if found is None or function.__code__ not in (found.original, found.other):
            found = _swaps[function] = _Swap(function, _recording("call_function", function))
        return found


@contextlib.contextmanager
def patched(rooms: list[tuple[dict[str, Any], str, Any]]) -> Iterator[None]:
    """Record calls of functions that have no Python code, under the names by which modules know them, until the end."""
    before: list[tuple[dict[str, Any], str, Any]] = []
    try:
        for room, name, function in rooms:
            before.append((room, name, room.get(name, _NOT_THERE)))
            room[name] = recording(function)
        yield
    finally:
        for room, name, was in reversed(before):
            if was is _NOT_THERE:
                del room[name]
            else:
                room[name] = was


_NOT_THERE = object()


@cache
def recording(function: Any) -> Any:
    """Return a function that records its calls with proxies, and else is `function`."""

    def call(*args: Any, **kwargs: Any) -> Any:
        found = _given(args, kwargs)
        return (
            function(*args, **kwargs)
            if found is None
            else found.tracer.create_proxy("call_function", function, args, kwargs)
        )

    call.__name__ = getattr(function, "__name__", "call")
    return call
