"""Pickles read as data: an interpreter of their opcodes that imports nothing and calls nothing but its own `Rules`.

What a pickle names that the rules do not know becomes a `Refused`, which nothing can be done with; at the end the
first one is told with the place where it stands. Sizes, depths and counts are bounded.
"""

from __future__ import annotations

import pickletools
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from workbench.base.devices import Device
from workbench.base.dtypes import DType
from workbench.base.errors import WeightsError, short
from workbench.interop.pickled_result import MAXIMUM_VALUES, Refused, Token, check_result

__all__ = [
    "Function",
    "Kind",
    "Rules",
    "Stream",
    "check_keys",
    "is_nothing",
    "read_pickle",
]

MAXIMUM_BYTES = 64 << 20
"""Most bytes of a pickle that are read."""
MAXIMUM_STEPS = MAXIMUM_VALUES
"""Most opcodes of a pickle."""
MAXIMUM_CALLS = 1_000_000
"""Most objects that are made by a call, such as tensors."""
MAXIMUM_MADE = 64 << 20
"""Most bytes that these objects are made of, where the same ones are given again and again; 8 for a value."""
MAXIMUM_LINE = 4096
"""Most bytes of a line, such as the name of a global."""
MAXIMUM_BITS = 1024
"""Most bits of a whole number."""
MAXIMUM_KEY = 16
"""Most parts of a tuple that is a key."""
MAXIMUM_ODD_KEYS = 1 << 16
"""Most keys of a dict, or members of a set, that are no text: their hashes can be made to collide."""


@dataclass(frozen=True)
class Function(Token):
    """A function that a pickle may name, with the numbers of arguments it takes.

    `call` raises `WeightsError` where the arguments are wrong.
    """

    call: Callable[..., Any]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Kind(Token):
    """A class that a pickle may name, and that nothing calls; `value` is what the rules know of it."""

    value: Any


def is_nothing(value: Any) -> bool:
    """Say whether `value` is None or an empty dict."""
    return value is None or (isinstance(value, dict) and not value)


class Rules:
    """What names and persistent references of a pickle mean. These know none."""

    def find(self, name: str) -> Any:
        """Return what the global `name` stands for: a `Function`, a plain value, or a `Refused`."""
        return Refused(f"it names {short(name)[1:-1]}, which is not read")

    def reference(self, key: Any) -> Any:
        """Return the object that lies outside of the pickle under `key`."""
        return Refused("it refers to something outside")

    def build(self, target: Any, state: Any) -> bool:
        """Set the state of an object that `find` made; return False for what has no state that is read."""
        return False

    def attributes(self, value: Any) -> dict[str, Any] | None:
        """Return the attributes of an object that `find` made; None for what has none."""
        return None


class Stream:
    """The part of a file from here on, as far as a pickle may reach: no read asks for more than there is."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream = stream
        self._end = stream.tell() + min(size, MAXIMUM_BYTES)

    def tell(self) -> int:
        """Return the position in the file."""
        return self._stream.tell()

    def read(self, count: int) -> bytes:
        """Return `count` bytes, or fewer where there are no more."""
        return self._stream.read(max(0, min(count, self._end - self._stream.tell())))

    def readline(self) -> bytes:
        """Return a line, cut where it is longer than any name."""
        return self._stream.readline(max(0, min(MAXIMUM_LINE, self._end - self._stream.tell())))

    def line(self) -> str:
        """Return a line of text without its end."""
        found = self.readline()
        if not found.endswith(b"\n"):
            raise WeightsError("a name has no end")
        return found[:-1].decode()


def read_pickle(stream: Stream, rules: Rules) -> Any:
    """Return the value that a pickle describes; the stream is then behind it.

    Raises `WeightsError` for what is no pickle, what it holds that is refused, with its place, and what is beyond the
    bounds.
    """
    machine = _Machine(rules)
    for _ in range(MAXIMUM_STEPS):
        code = stream.read(1).decode("latin1")
        opcode = _OPCODES.get(code)
        if opcode is None:
            raise WeightsError(f"{short(code)} before {stream.tell()} is no opcode that is read")
        try:
            argument: Any = None
            # Not by `pickletools`, which reads lines of any length.
            if opcode.name == "GLOBAL":
                argument = (stream.line(), stream.line())
            elif opcode.arg is not None:
                argument = opcode.arg.reader(cast(Any, stream))
        except (ValueError, OverflowError) as error:
            raise WeightsError(f"{opcode.name} before {stream.tell()} cannot be read: {error}") from None
        if opcode.name == "STOP":
            return machine.result()
        machine.step(opcode.name, argument)
    raise WeightsError(f"it has more than {MAXIMUM_STEPS} steps")


class _Machine:
    """A stack of values, a stack of marks, and the memo."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
        self._calls = self._made = 0
        self._odd: dict[int, int] = {}
        """Keys that are no text, by the dict or set."""
        self._refused: Refused | None = None

    def step(self, name: str, argument: Any) -> None:
        if name in _PUSHED:
            if isinstance(argument, int) and argument.bit_length() > MAXIMUM_BITS:
                raise WeightsError(f"it has a whole number of {argument.bit_length()} bits")
            self._stack.append(argument)
            return
        try:
            _STEPS[name](self, argument)
        except (IndexError, KeyError):
            raise WeightsError(f"{name} takes what is not there") from None

    def result(self) -> Any:
        if len(self._stack) != 1 or self._marks:
            raise WeightsError("it ends with more or less than one value")
        check_result(self._stack[0], self._rules.attributes)
        # It may have been taken off the stack since; a file that names such things is refused all the same.
        if self._refused is not None:
            raise WeightsError(self._refused.reason)
        return self._stack[0]

    # ------------------------------------------------------------------------------------ the stack

    def _pop(self) -> Any:
        # What lies below the mark belongs to what is made later.
        if self._marks and self._marks[-1] == len(self._stack):
            raise IndexError
        return self._stack.pop()

    def _top(self) -> Any:
        if self._marks and self._marks[-1] == len(self._stack):
            raise IndexError
        return self._stack[-1]

    def _above_mark(self) -> list[Any]:
        mark = self._marks.pop()
        found = self._stack[mark:]
        del self._stack[mark:]
        return found

    def _push(self, value: Any) -> None:
        if isinstance(value, Refused) and self._refused is None:
            self._refused = value
        self._stack.append(value)

    def _put(self, argument: Any) -> None:
        self._memo[len(self._memo) if argument is None else argument] = self._top()

    # ----------------------------------------------------------------------------------- containers

    def _set_items(self, pairs: list[Any]) -> None:
        target = self._top()
        if len(pairs) % 2:
            raise WeightsError("a dict has a key without a value")
        keys, values = pairs[::2], pairs[1::2]
        if isinstance(target, dict):
            self._check_keys(target, keys)
            target.update(zip(keys, values, strict=True))
        elif not isinstance(target, Refused):
            raise WeightsError(f"items are put into a {type(target).__name__}")

    def _append(self, values: list[Any]) -> None:
        target = self._top()
        if isinstance(target, list):
            target.extend(values)
        elif not isinstance(target, Refused):
            raise WeightsError(f"values are appended to a {type(target).__name__}")

    def _add(self, values: list[Any]) -> None:
        target = self._top()
        if isinstance(target, set):
            self._check_keys(target, values)
            target.update(values)
        elif not isinstance(target, Refused):
            raise WeightsError(f"values are added to a {type(target).__name__}")

    def _check_keys(self, target: Any, keys: list[Any]) -> None:
        odd = check_keys(keys)
        if odd:
            self._odd[id(target)] = self._odd.get(id(target), 0) + odd
            if self._odd[id(target)] > MAXIMUM_ODD_KEYS:
                raise WeightsError(f"a dict or set has more than {MAXIMUM_ODD_KEYS} keys that are no text")

    def _make_set(self, make: Callable[[list[Any]], Any]) -> None:
        values = self._above_mark()
        check_keys(values)
        self._stack.append(make(values))

    def _make_dict(self) -> None:
        pairs = self._above_mark()
        self._stack.append({})
        self._set_items(pairs)

    # ---------------------------------------------------------------------------------------- names

    def _find(self, module: Any, name: Any) -> None:
        if not isinstance(module, str) or not isinstance(name, str):
            raise WeightsError("a global's name is no text")
        self._push(self._rules.find(f"{module}.{name}"))

    def _find_by_stack(self) -> None:
        name, module = self._pop(), self._pop()
        self._find(module, name)

    def _call(self, keywords: bool = False) -> None:
        if keywords and not is_nothing(self._pop()):
            raise WeightsError("an object is made with keywords")
        arguments, function = self._pop(), self._pop()
        if isinstance(function, Refused):
            self._stack.append(function)
            return
        if not isinstance(function, Function) or not isinstance(arguments, tuple):
            called = getattr(function, "name", type(function).__name__)
            self._push(Refused(f"it calls {called}, which is not read"))
            return
        self._calls += 1
        if self._calls > MAXIMUM_CALLS:
            raise WeightsError(f"it makes more than {MAXIMUM_CALLS} objects")
        self._made += sum(map(_weight, arguments))
        if self._made > MAXIMUM_MADE:
            raise WeightsError(f"it makes objects of more than {MAXIMUM_MADE} bytes of what it holds")
        if len(arguments) not in function.counts:
            self._push(Refused(f"it calls {function.name} with {len(arguments)} arguments"))
            return
        self._push(self._guarded(function.call, *arguments))

    def _guarded(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call one of our own functions; where it refuses, say so later, when the place is known."""
        found = next((one for one in arguments if isinstance(one, Refused)), None)
        if found is not None:
            return found
        try:
            return function(*arguments)
        except WeightsError as error:
            return Refused(str(error))

    def _build(self) -> None:
        state, target = self._pop(), self._top()
        if isinstance(target, Refused):
            return
        # The one state that PyTorch sets: the versions of modules, on a state_dict.
        if isinstance(target, OrderedDict) and isinstance(state, dict) and list(state) == ["_metadata"]:
            target._metadata = state["_metadata"]  # type: ignore[attr-defined]
            return
        done = self._guarded(self._rules.build, target, state)
        if done is True:
            return
        self._stack.pop()
        of = f"it sets the state of an object of type {type(target).__name__}"
        self._push(done if isinstance(done, Refused) else Refused(of))

    def _refer(self) -> None:
        self._push(self._guarded(self._rules.reference, self._pop()))

    def _protocol(self, version: int) -> None:
        if version > 5:
            raise WeightsError(f"it is of protocol {version}: those up to 5 are known")

    def _make_tuple(self, count: int) -> None:
        values = [self._pop() for _ in range(count)]
        self._stack.append(tuple(reversed(values)))


_PUSHED = frozenset(
    [
        "BINBYTES", "BINBYTES8", "BINFLOAT", "BININT", "BININT1", "BININT2", "BINSTRING", "BINUNICODE",
        "BINUNICODE8", "BYTEARRAY8", "FLOAT", "INT", "LONG", "LONG1", "LONG4", "SHORT_BINBYTES",
        "SHORT_BINSTRING", "SHORT_BINUNICODE",
    ]
)  # fmt: skip
"""Opcodes that push their argument."""

_STEPS: dict[str, Callable[[_Machine, Any], Any]] = {
    "ADDITEMS": lambda m, _: m._add(m._above_mark()),
    "APPEND": lambda m, _: m._append([m._pop()]),
    "APPENDS": lambda m, _: m._append(m._above_mark()),
    "BINGET": lambda m, i: m._stack.append(m._memo[i]),
    "BINPERSID": lambda m, _: m._refer(),
    "BINPUT": lambda m, i: m._put(i),
    "BUILD": lambda m, _: m._build(),
    "DICT": lambda m, _: m._make_dict(),
    "DUP": lambda m, _: m._stack.append(m._top()),
    "EMPTY_DICT": lambda m, _: m._stack.append({}),
    "EMPTY_LIST": lambda m, _: m._stack.append([]),
    "EMPTY_SET": lambda m, _: m._stack.append(set()),
    "EMPTY_TUPLE": lambda m, _: m._stack.append(()),
    "FRAME": lambda m, _: None,
    "FROZENSET": lambda m, _: m._make_set(frozenset),
    "GET": lambda m, i: m._stack.append(m._memo[i]),
    "GLOBAL": lambda m, words: m._find(*words),
    "LIST": lambda m, _: m._stack.append(m._above_mark()),
    "LONG_BINGET": lambda m, i: m._stack.append(m._memo[i]),
    "LONG_BINPUT": lambda m, i: m._put(i),
    "MARK": lambda m, _: m._marks.append(len(m._stack)),
    "MEMOIZE": lambda m, _: m._put(None),
    "NEWFALSE": lambda m, _: m._stack.append(False),
    "NEWOBJ": lambda m, _: m._call(),
    "NEWOBJ_EX": lambda m, _: m._call(keywords=True),
    "NEWTRUE": lambda m, _: m._stack.append(True),
    "NONE": lambda m, _: m._stack.append(None),
    "POP": lambda m, _: m._pop(),
    "POP_MARK": lambda m, _: m._above_mark(),
    "PROTO": lambda m, version: m._protocol(version),
    "PUT": lambda m, i: m._put(i),
    "REDUCE": lambda m, _: m._call(),
    "SETITEM": lambda m, _: m._set_items([m._pop(), m._pop()][::-1]),
    "SETITEMS": lambda m, _: m._set_items(m._above_mark()),
    "STACK_GLOBAL": lambda m, _: m._find_by_stack(),
    "TUPLE": lambda m, _: m._stack.append(tuple(m._above_mark())),
    "TUPLE1": lambda m, _: m._make_tuple(1),
    "TUPLE2": lambda m, _: m._make_tuple(2),
    "TUPLE3": lambda m, _: m._make_tuple(3),
}

_OPCODES = {one.code: one for one in pickletools.opcodes if one.name in {*_PUSHED, *_STEPS, "STOP"}}
"""Opcodes by their byte; `pickletools` knows how their arguments are written."""


def _weight(value: Any) -> int:
    """Return roughly how many bytes an object takes that is made of this one."""
    if isinstance(value, str | bytes | bytearray):
        return len(value)
    return 8 * len(value) if isinstance(value, list | tuple | dict) else 0


_KEYS = (str, bytes, int, float, bool, complex, DType, Device)
"""Types of keys."""


def check_keys(keys: list[Any]) -> int:
    """Raise `WeightsError` unless hashing `keys` is quick: plain values and short tuples of them.

    Returns how many of them are no text.
    """
    odd = 0
    for key in keys:
        if type(key) is str:
            continue
        odd += 1
        parts = key if isinstance(key, tuple) and len(key) <= MAXIMUM_KEY else (key,)
        for one in parts:
            if isinstance(one, Refused):
                raise WeightsError(one.reason)
            if not (one is None or type(one) in _KEYS):
                raise WeightsError(f"a {type(one).__name__} stands as a key of a dict or set")
    if odd > MAXIMUM_ODD_KEYS:
        raise WeightsError(f"a dict or set has more than {MAXIMUM_ODD_KEYS} keys that are no text")
    return odd
