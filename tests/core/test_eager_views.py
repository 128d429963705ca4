"""What is compiled of views and of changes in place: it does what the whole dispatch does, and refuses as it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.core import direct_writes, dispatch
from workbench.core.bases import eager
from workbench.core.op import ops
from workbench.tensor import subscripts
from workbench.tensor import tensor as tensors

needs_compiled = pytest.mark.skipif(eager is None, reason="the compiled module was not built")
SHAPES = [(), (1,), (5,), (3, 4), (3, 1), (2, 1, 3), (0, 3)]
LAYOUTS = ["rows", "columns", "backwards", "every second", "stretched", "read-only"]
TYPES = ["float32", "float64", "int64", "float16", "bool", "complex64"]


def laid_out(shape: tuple[int, ...], dtype: str, layout: str) -> np.ndarray[Any, Any]:
    """Counted numbers in memory of that order."""
    array = np.arange(1, 1 + int(np.prod(shape)), dtype=np.int64).reshape(shape).astype(dtype)
    if layout == "columns":
        return np.asfortranarray(array)
    if layout == "backwards" and array.ndim:
        return array[::-1]
    if layout == "every second" and array.ndim:
        return np.repeat(array, 2, axis=-1)[..., ::2]
    if layout == "stretched":
        return np.broadcast_to(array, (2, *shape))
    if layout == "read-only":
        array.setflags(write=False)
    return array


@st.composite
def values(draw: Any) -> tuple[np.ndarray[Any, Any], Any, bool, bool]:
    array = laid_out(
        draw(st.sampled_from(SHAPES)), draw(st.sampled_from(TYPES)), draw(st.sampled_from(LAYOUTS))
    )
    names = "ABCD"[: array.ndim] if draw(st.integers(0, 4)) == 0 and array.ndim else None
    return array, names, draw(st.booleans()), draw(st.booleans())


def made(array: np.ndarray[Any, Any], names: Any, asks: bool) -> Any:
    value = wb.zeros(0)
    value.payload = array  # keeps its layout
    value._names = tuple(names) if names else None
    return value.requires_grad_() if asks and array.dtype.kind in "fc" else value


PLACES = st.integers(-5, 5)
EDGES = st.one_of(st.none(), PLACES)
ENTRIES = st.one_of(
    PLACES, st.builds(slice, EDGES, EDGES, st.one_of(st.none(), st.integers(-1, 3))), st.none(), st.just(...)
)
TUPLES = st.lists(st.integers(-2, 6), max_size=4).map(tuple)
VIEWS: dict[str, Any] = {
    "index": st.fixed_dictionaries({"key": st.lists(ENTRIES, max_size=4).map(tuple)}),
    "permute": st.fixed_dictionaries(
        {"dim": st.sampled_from([(), (0,), (1, 0), (2, 0, 1), (0, 2, 1), (0, 0)])}
    ),
    "reshape": st.fixed_dictionaries({"sizes": TUPLES}),
    "expand": st.fixed_dictionaries({"sizes": TUPLES}),
    "squeeze": st.fixed_dictionaries({"dim": st.sampled_from([(), (0,), (1,), (0, 1), (3,), (1, 1)])}),
    "unsqueeze": st.fixed_dictionaries(
        {"dim": st.integers(0, 4), "name": st.sampled_from([None, None, "Z"])}
    ),
    "flatten": st.fixed_dictionaries(
        {"start": st.integers(0, 3), "end": st.integers(0, 3), "name": st.sampled_from([None, None, "Z"])}
    ),
}


def fitting(name: str, shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Sizes that an array of a shape can be given: by stretching or by reading its values anew."""
    if name == "expand":
        wide = tuple(4 if size == 1 else size for size in shape)
        return [shape, wide, (2, *wide), (2, *((-1,) * len(shape))), (0, *shape)]
    return [(-1,), (int(np.prod(shape)),), (1, *shape), (*shape, 1), (-1, *shape[1:]), shape[::-1], shape]


def outcome(function: Callable[[], Any]) -> Any:
    """What a call gives, or the kind and words of its refusal."""
    try:
        return function()
    except Exception as error:
        return type(error), str(error)


def told(result: Any) -> Any:
    """All that there is to know of a view."""
    if isinstance(result, tuple):
        return result
    array = result.payload
    node, view = result._grad_fn, result._view
    return (
        array.shape,
        array.dtype,
        array.tolist(),
        array.flags.writeable,
        array.__array_interface__["data"][0] if array.size and view is not None else None,
        result._names,
        result._owner is None,
        None if view is None else (view[0]._seen, view[1], view[2], view[3]),
        result._seen,
        result._requires_grad,
        None if node is None else (node.op, node.params, len(node.inputs), node.versions, node.saved),
    )


def close_to_whole(name: str, value: Any, params: dict[str, Any], grad: bool) -> None:
    op = getattr(ops, name)
    with wb.set_grad_enabled(grad):
        quick = outcome(lambda: op(value, **params))
        whole = outcome(lambda: dispatch.apply(op, value, **params))
    # What a dims rule lets pass NumPy may refuse, in its own words.
    assert told(quick) == told(whole), (name, params)


@needs_compiled
@settings(max_examples=600, deadline=None, derandomize=True)
@given(st.data(), values(), st.sampled_from(sorted(VIEWS)))
def test_compiled_views_are_those_of_the_whole_dispatch(
    data: Any, value: tuple[Any, Any, bool, bool], name: str
) -> None:
    array, names, asks, grad = value
    params = data.draw(VIEWS[name])
    if "sizes" in params and data.draw(st.booleans()):
        params["sizes"] = data.draw(st.sampled_from(fitting(name, array.shape)))
    close_to_whole(name, made(array, names, asks), params, grad)


@needs_compiled
@settings(max_examples=400, deadline=None, derandomize=True)
@given(values(), st.one_of(ENTRIES, st.lists(ENTRIES, max_size=4).map(tuple)))
def test_compiled_keys_are_read_as_others_are(value: tuple[Any, Any, bool, bool], key: Any) -> None:
    array, names, asks, grad = value
    one = made(array, names, asks)
    with wb.set_grad_enabled(grad):
        assert told(outcome(lambda: one[key])) == told(outcome(lambda: subscripts.getitem(one, key)))


# ------------------------------------------------------------------------------------- changes in place


def targets(array: np.ndarray[Any, Any], kind: str) -> tuple[Any, Any]:
    """A value to be changed, and the one that owns its memory."""
    owner = made(np.array(array, order="K") if array.flags.writeable else array, None, False)
    if kind == "a leaf":
        return (owner.requires_grad_() if owner.payload.dtype.kind in "fc" else owner), owner
    if kind == "a result":
        result = owner * 1
        return result, result
    if kind == "a view":
        return (owner[:1] if owner.ndim else owner.view(1)), owner
    if kind == "transposed":
        return owner.transpose(0, -1), owner
    if kind == "a view of a leaf":
        view = owner[:1] if owner.ndim else owner.view(1)
        if owner.payload.dtype.kind in "fc":
            owner.requires_grad_()
        return view, owner
    if kind == "detached":
        return owner.detach(), owner
    if kind == "recorded":
        leaf = wb.ones(()).requires_grad_()
        result = owner * leaf if owner.payload.dtype.kind in "fc" else owner
        return result, result
    return owner, owner


KINDS = [
    "plain",
    "a leaf",
    "a result",
    "a view",
    "transposed",
    "a view of a leaf",
    "detached",
    "recorded",
]
CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "add_": lambda x, y: x.add_(y),
    "add_ with alpha": lambda x, y: x.add_(y, alpha=-0.5),
    "sub_": lambda x, y: x.sub_(y),
    "mul_": lambda x, y: x.mul_(y),
    "div_": lambda x, y: x.div_(y),
    "fill_": lambda x, y: x.fill_(y),
    "copy_": lambda x, y: x.copy_(y),
    "zero_": lambda x, y: x.zero_(),
    "first": lambda x, y: x.__setitem__(0, y),
    "all but one": lambda x, y: x.__setitem__(slice(1, None), y),
    "last of all": lambda x, y: x.__setitem__((..., -1), y),
    "new dim": lambda x, y: x.__setitem__((None, 0), y),
}
OPERANDS = [2, -1.5, 1e300, 1 << 40, True, float("nan"), "itself", "alike", "a row", "asks", "other type"]


def operand(name: Any, target: Any) -> Any:
    if not isinstance(name, str):
        return name
    array = target.payload
    if name == "itself":
        return target
    if name == "a row":
        return wb.tensor(np.ones(array.shape[1:], array.dtype))
    other = wb.tensor(np.full(array.shape, 3, np.float64 if name == "other type" else array.dtype))
    return other.requires_grad_() if name == "asks" and array.dtype.kind in "fc" else other


def change(array: Any, kind: str, name: str, other: Any, grad: bool) -> Any:
    target, owner = targets(array, kind)
    with wb.set_grad_enabled(grad):
        result = outcome(lambda: CHANGES[name](target, operand(other, target)))
    return (
        result if isinstance(result, tuple) else result is target,
        np.array(owner.payload).tobytes(),
        owner._changes,
        target._version,
        target.requires_grad,
        owner.requires_grad,
        owner._grad_fn is None,
    )


@needs_compiled
@settings(max_examples=800, deadline=None, derandomize=True)
@given(
    st.sampled_from(SHAPES),
    st.sampled_from(TYPES),
    st.sampled_from(LAYOUTS),
    st.sampled_from(KINDS),
    st.sampled_from(sorted(CHANGES)),
    st.sampled_from(OPERANDS),
    st.booleans(),
)
def test_compiled_changes_are_those_of_the_whole_way(
    shape: tuple[int, ...], dtype: str, layout: str, kind: str, name: str, other: Any, grad: bool
) -> None:
    array = laid_out(shape, dtype, layout)
    quick = change(array.copy(order="K") if layout != "read-only" else array, kind, name, other, grad)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(direct_writes, "_compiled", None)
        patch.setattr(tensors, "_compiled_fill", None)
        patch.setattr(tensors, "_compiled_copy", None)
        patch.setattr(wb.Tensor, "__setitem__", subscripts.setitem, raising=False)
        whole = change(array.copy(order="K") if layout != "read-only" else array, kind, name, other, grad)
    assert quick == whole


def test_a_saved_value_that_is_overwritten_is_noticed_whatever_writes() -> None:
    for write in (
        lambda y: y.zero_(),
        lambda y: y.fill_(2.0),
        lambda y: y.copy_(wb.ones(3)),
        lambda y: y.__setitem__(0, 1.0),
        lambda y: y.__setitem__(slice(0, 2), wb.ones(2)),
        lambda y: y.add_(1.0),
        lambda y: y.add_(wb.ones(3), alpha=0.5),
        lambda y: y[1:].zero_(),
    ):
        x, factor = wb.ones(3, requires_grad=True), wb.ones(3)
        product = (x * factor).sum()
        with wb.no_grad():
            write(factor)
        with pytest.raises(wb.AutogradError, match="modified by an inplace operation"):
            product.backward()
        output = x.exp()
        with wb.no_grad():
            write(output.detach())
        with pytest.raises(wb.AutogradError, match="modified by an inplace operation"):
            output.sum().backward()


def test_entries_have_no_deletion_and_shape_cannot_be_set() -> None:
    x = wb.zeros(3)
    with pytest.raises(TypeError, match="item deletion"):
        del x[0]
    with pytest.raises(AttributeError):
        x.shape = (3, 1)  # type: ignore[misc]


def test_a_class_below_has_its_own_keys() -> None:
    class Counted(wb.Tensor):
        asked = 0

        def __getitem__(self, key: Any) -> wb.Tensor:
            Counted.asked += 1
            return super().__getitem__(key)

        def __setitem__(self, key: Any, value: Any) -> None:
            Counted.asked += 1
            super().__setitem__(key, value)

    x = Counted([1.0, 2.0])
    assert x[0].item() == 1.0
    x[1] = 5.0
    assert x.tolist() == [1.0, 5.0]
    assert Counted.asked == 2


def test_values_of_a_trace_are_cut_and_written_as_before() -> None:
    def function(x: wb.Tensor) -> wb.Tensor:
        y = x[1:] * 2.0
        z = y.clone()
        z[0] = 0.0
        return z + x.shape[0]

    x = wb.arange(4.0)
    assert wb.vmap(function)(wb.stack([x, x]))[1].tolist() == function(x).tolist()
    traced = wb.graph.trace(function, x)
    assert traced(x).tolist() == function(x).tolist()


def test_what_is_stretched_is_not_to_be_written_to() -> None:
    x = wb.tensor([[1.0], [2.0]])
    view = x.expand(2, 3).payload
    assert not view.flags.writeable
    assert view.strides == np.broadcast_to(x.payload, (2, 3)).strides
