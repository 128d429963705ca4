"""The value that ops take and return, as far as dispatch knows it.

A `Value` is a `payload` with names and a place on the tape. The payload is a NumPy array, or
anything that has ``shape`` and ``dtype``: a quantized array, a value of a graph being traced, an abstract
value without numbers. `workbench.tensor.Tensor` derives from it and adds everything a person types.

Its fields are those of `bases.ValueBase`, which is compiled where it can be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from workbench.base.dims import MAXIMUM_DIMS, Dims, LabelledDims, Names
from workbench.base.seams import Seam
from workbench.core.bases import ValueBase, eager
from workbench.core.typing import Tensor

if TYPE_CHECKING:
    from workbench.core.tape import Node

__all__ = ["Abstract", "Value", "dims_of", "labelled", "new", "use_type"]


class Value(ValueBase):
    """A payload with names and a place on the tape."""

    payload: Any
    """The numbers, or what stands for them. Who writes into an array here raises `_version` afterwards."""
    _names: Names | None
    _labels: Names | None
    """What the dims of a parameter are called: for pictures, and beside values that have names. See `dims_of`."""
    _requires_grad: bool
    _grad_fn: Node | None
    _output: int
    """Which output of `_grad_fn` this is."""
    _changes: int
    """How often the memory was changed in place; kept by the value that owns it, see `_version`."""
    _owner: Value | None
    """The value whose memory this one shares, and whose count of changes is also this one's; None if it owns it."""
    _view: tuple[Value, Any, dict[str, Any], bool] | None
    """For the output of a view op: what it views, the op and its parameters, and whether calls were being recorded. A
    change in place travels back by it."""
    _since: int
    """For a leaf that came to ask for a gradient by ``requires_grad_()``: the number of the next call. Those before did
    not know it so."""
    _seen: int
    """For a view: the version at which its place on the tape was right."""
    _leaf: Value | None
    """For another name of a leaf: the leaf itself, where gradients go."""
    _borrowed: bool
    """True for a view that requires a gradient only since what it views does: gradients end there."""
    _inference: bool
    """True for results of `inference_mode`: never kept for a gradient."""
    _past: list[tuple[int, Node | None, int, bool, Any]] | None
    """Former places on the tape, for a value that was changed in place: up to which serial, then the place, and the
    payload where that was another."""
    _mirrors: Any
    """For the owner of memory that views mirror: what keeps these equal, see `core.mirrors`."""
    _turned: int = 0
    """The version at which its own dims were last changed in place; views made before know it by other dims."""
    _former: list[tuple[int, Value]] | None = None
    """The same memory under the dims it had up to such a version."""
    _told: tuple[int, int] = (0, 0)
    """Which memory was last changed, and how many of the former places were told of that."""
    _lending: Any = None
    """For the owner of memory that others may write into without `_version` telling: see `core.lending`."""
    _origin: tuple[str, int] | str | None = None
    """File and line where it was made or named, or who named it; set by factories and by who gives names."""

    @property
    def _version(self) -> int:
        """Raised by every in-place change, so that the tape notices that a saved value was overwritten."""
        return (self if self._owner is None else self._owner)._changes

    @_version.setter
    def _version(self, version: int) -> None:
        owner = self if self._owner is None else self._owner
        owner._changes = version
        if owner._mirrors is not None:
            owner._mirrors.changed(self.payload)
        node = owner._grad_fn
        if node is not None and node.saved is not None:
            node.notice(owner.payload)
        past = owner._past
        if past:
            # A call needs to be told once: what it has kept shares this memory or never will.
            memory, count = owner._told
            for _, former, *_ in past[count if memory == id(owner.payload) else 0 :]:
                if former is not None and former is not node and former.saved is not None:
                    former.notice(owner.payload)
            owner._told = (id(owner.payload), len(past))


class Abstract:
    """A payload without numbers: a shape and a type. Ops on it follow their rules and compute nothing."""

    __slots__ = ("dtype", "shape")
    # NumPy's operators give up beside this at once; without it they would take it for an object array of one.
    __array_ufunc__ = None
    nbytes = 0
    """It takes no memory to speak of."""
    called = "without numbers"
    """What its printed form says in place of numbers, or beside those it does have."""
    why: str | None = None
    """Why there are no numbers, where the usual words do not fit."""

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = shape
        self.dtype = dtype

    @property
    def ndim(self) -> int:
        """Number of dims."""
        return len(self.shape)

    def numbers(self, value: Any) -> Any:
        """Return the numbers of `value`, whose payload this is; None where there are none."""
        return None

    def beneath(self) -> Any:
        """Return the value to compute with where no interpreter of this payload is in force; None if there is none."""
        return None

    def replaces(self, target: Any) -> bool:
        """Say whether a value with numbers may come to stand for this payload, by a change in place."""
        return False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shape}, {self.dtype})"


TYPE = Seam("the type of what ops return", "workbench.tensor.tensor")
"""The class of values: `workbench.tensor.Tensor`."""


def use_type(cls: type[Value]) -> None:
    """Make `cls` the type of the values that ops return. Called once, by the tensor room."""
    TYPE.give(cls)
    if eager is not None:
        eager.use_value_type(cls)


def _new(array: Any, names: Names | None = None) -> Tensor:
    """Return a value of the type in use around `array`."""
    # Past __init__, which takes what people type.
    value = TYPE.call.__new__(TYPE.call)
    value.payload = array
    if names is not None:
        value._names = names
    return value  # type: ignore[no-any-return]


new: Callable[..., Tensor] = _new if eager is None else eager.new_value


def dims_of(value: Any) -> Dims:
    """Return the dims of a value; those of a Python scalar are empty, those of a parameter are `LabelledDims`."""
    if not isinstance(value, Value):
        return _SCALAR
    shape = value.payload.shape
    names = value._names
    if names is None:
        names = UNNAMED[len(shape)]
        labels = value._labels
        if labels is not None and len(labels) == len(shape):
            return LabelledDims.of(names, shape, labels)
    # The plain tuple constructor: this runs at every op.
    return _tuple(Dims, (names, shape))


def labelled(value: Any, labels: Names | None) -> Any:
    """Say what the dims of `value` are called, where it has no names; return it."""
    value._labels = labels
    return value


_tuple = tuple.__new__
_SCALAR = Dims((), ())
UNNAMED: tuple[Names, ...] = tuple((None,) * ndim for ndim in range(MAXIMUM_DIMS + 1))
"""Names of tensors without names, by number of dims."""
