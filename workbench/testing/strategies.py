"""Hypothesis strategies for tensors and what is said of them: shapes, names, types, layouts, keys, equations.

Needs hypothesis, which comes with ``pip install "tensor-workbench[test]"``.

>>> from hypothesis import find
>>> import workbench as wb
>>> from workbench.testing import strategies
>>> find(strategies.tensors(strategies.shapes(min_dims=2)), lambda x: x.ndim == 2).shape
(0, 0)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from workbench.base import dtypes as types
from workbench.core.value import new
from workbench.tensor import Tensor

__all__ = [
    "arrays",
    "broadcastable_shapes",
    "dims_of",
    "dtypes",
    "equations",
    "keys",
    "layouts",
    "names",
    "shapes",
    "tensors",
    "unified_names",
]

NAMES = ("N", "C", "H", "W", "T", "K")
"""What dims are called."""
KINDS = {
    "floating": (types.float32, types.float64),
    "half": (types.float16, types.bfloat16),
    "complex": (types.complex64, types.complex128),
    "integer": (types.int64, types.int32, types.int16, types.int8, types.uint8),
    "bool": (types.bool_,),
}

Shape = tuple[int, ...]


def shapes(
    min_dims: int = 0, max_dims: int = 4, min_side: int = 0, max_side: int = 4
) -> SearchStrategy[Shape]:
    """Shapes, empty ones and ones without dims among them."""
    return st.lists(st.integers(min_side, max_side), min_size=min_dims, max_size=max_dims).map(tuple)


@st.composite
def broadcastable_shapes(
    draw: st.DrawFn, count: int = 2, max_dims: int = 4, max_side: int = 4
) -> tuple[Shape, ...]:
    """Several shapes that broadcast with one another: sizes are 1 here and there, leading dims missing."""
    whole = draw(shapes(max_dims=max_dims, max_side=max_side))
    found = []
    for _ in range(count):
        kept = whole[draw(st.integers(0, len(whole))) :]
        found.append(tuple(1 if draw(st.integers(0, 3)) == 0 else size for size in kept))
    return tuple(found)


def names(ndim: int, *, some: bool = True) -> SearchStrategy[tuple[str | None, ...]]:
    """Names for the dims of a tensor, different from each other; with `some`, None among them."""
    named = st.permutations(NAMES).map(lambda order: tuple(order[:ndim]))
    if not some:
        return named
    missing = st.lists(st.booleans(), min_size=ndim, max_size=ndim)
    return st.tuples(named, missing).map(
        lambda pair: tuple(None if gone else name for name, gone in zip(*pair, strict=True))
    )


@st.composite
def unified_names(draw: st.DrawFn, *ndims: int) -> tuple[tuple[str | None, ...], ...]:
    """Names for several tensors that unify from the right: each dim has one name, or none here and there."""
    whole = draw(names(max(ndims, default=0), some=False))
    return tuple(
        tuple(draw(st.sampled_from((name, None))) for name in whole[len(whole) - ndim :]) for ndim in ndims
    )


def dtypes(*kinds: str) -> SearchStrategy[Any]:
    """Data types of some kinds: floating, half, complex, integer, bool; of all by default."""
    return st.sampled_from([dtype for kind in kinds or KINDS for dtype in KINDS[kind]])


@st.composite
def arrays(
    draw: st.DrawFn, shape: Shape | SearchStrategy[Shape], dtype: Any = np.float64, *, special: bool = False
) -> Any:
    """Arrays of moderate numbers; with `special`, of infinities, NaN and signed zeros too.

    Numbers come of one seed: what matters about them are size, sign and ties, not each of their digits.
    """
    shape = shape if isinstance(shape, tuple) else draw(shape)
    made = np.dtype(dtype)
    generator = np.random.default_rng(draw(st.integers(0, 2**16)))
    # Few different values half of the time, so that equal ones come up.
    ties = draw(st.booleans())
    if made.kind == "b":
        return np.asarray(generator.random(shape) < 0.5)
    if made.kind in "iu":
        return generator.integers(0 if made.kind == "u" else -9, 10, shape).astype(made)
    values = generator.integers(-3, 4, shape) / 2 if ties else generator.uniform(-3, 3, shape)
    if made.kind == "c":
        values = values + 1j * generator.uniform(-3, 3, shape)
    array = np.asarray(values).astype(made)
    if special and array.size:
        for one in draw(st.lists(st.sampled_from([np.inf, -np.inf, np.nan, 0.0, -0.0]), max_size=3)):
            array.reshape(-1)[draw(st.integers(0, array.size - 1))] = one
    return array


@st.composite
def layouts(draw: st.DrawFn, array: Any) -> Any:
    """The same numbers lying otherwise in memory: transposed, with gaps, backwards, within a larger array."""
    kind = draw(st.sampled_from(["plain", "transposed", "gaps", "backwards", "within"]))
    if kind == "plain" or not array.ndim:
        return array
    if kind == "transposed":
        order = draw(st.permutations(range(array.ndim)))
        back = np.argsort(order)
        return np.ascontiguousarray(array.transpose(order)).transpose(back)
    if kind == "backwards":
        flip = (slice(None, None, -1),) * array.ndim
        return np.ascontiguousarray(array[flip])[flip]
    step = 2 if kind == "gaps" else 1
    whole = np.zeros([size * step + 1 for size in array.shape], array.dtype)
    window = tuple(slice(1, 1 + size * step, step) for size in array.shape)
    whole[window] = array
    return whole[window]


@st.composite
def tensors(
    draw: st.DrawFn,
    shape: Shape | SearchStrategy[Shape] | None = None,
    dtype: Any = None,
    *,
    named: bool = False,
    laid_out: bool = True,
    special: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Tensors: of any shape and floating type if nothing else is said; `named` gives names to some of their dims."""
    if isinstance(dtype, SearchStrategy):
        dtype = draw(dtype)
    dtype = dtype or draw(dtypes("floating"))
    array = draw(arrays(shapes() if shape is None else shape, dtype.numpy, special=special))
    if laid_out:
        array = draw(layouts(array))
    given = draw(names(array.ndim)) if named else (None,) * array.ndim
    value: Tensor = new(array, given if any(given) else None)
    return value.requires_grad_() if requires_grad else value


def dims_of(ndim: int, *, least: int = 0) -> SearchStrategy[tuple[int, ...]]:
    """Some dims of a tensor of `ndim`, each once, from either end."""
    chosen = st.lists(st.integers(0, max(ndim - 1, 0)), unique=True, min_size=min(least, ndim), max_size=ndim)
    signs = st.lists(st.booleans(), min_size=ndim, max_size=ndim)
    return st.tuples(chosen, signs).map(
        lambda pair: tuple(dim - ndim if end else dim for dim, end in zip(pair[0], pair[1], strict=False))
    )


@st.composite
def keys(draw: st.DrawFn, shape: Sequence[int], *, tensors_of_indices: bool = True) -> Any:
    """Keys that index a tensor of a shape: numbers, slices, None, an ellipsis, lists of indices, masks."""
    key: list[Any] = []
    lists = draw(st.integers(1, 3))
    dim, end = 0, draw(st.integers(0, len(shape)))
    several = draw(st.integers(0, 3)) == 0 and tensors_of_indices
    while dim < end:
        size = shape[dim]
        kinds = ["slice", "all", "none"]
        kinds += ["number"] if size else []
        kinds += ["list", "mask"] if several and size else []
        kind = draw(st.sampled_from(kinds))
        if kind == "number":
            key.append(draw(st.integers(-size, size - 1)))
        elif kind == "slice":
            bound = st.none() | st.integers(-size - 1, size + 1)
            key.append(slice(draw(bound), draw(bound), draw(st.sampled_from([None, 1, 2, 3]))))
        elif kind == "all":
            key.append(slice(None))
        elif kind == "list":
            key.append([draw(st.integers(-size, size - 1)) for _ in range(lists)])
        elif kind == "mask":
            # As many true as the lists are long, so that they go together; else the dim is left whole.
            mask = np.zeros(size, np.bool_)
            mask[[draw(st.integers(0, size - 1)) for _ in range(lists)]] = True
            chosen = int(mask.sum())
            alone = not any(isinstance(one, list | np.ndarray) for one in key)
            key.append(mask if alone or chosen == lists else slice(None))
            lists = chosen if alone else lists
        if kind == "none":
            key.append(None)
        else:
            dim += 1
    if draw(st.integers(0, 3)) == 0:
        key.append(Ellipsis)
    return tuple(key) if len(key) != 1 or draw(st.booleans()) else key[0]


@st.composite
def equations(draw: st.DrawFn, operands: int = 2, max_side: int = 3) -> tuple[str, tuple[Shape, ...]]:
    """Equations for einsum, and shapes of operands for them; letters repeat within an operand and between them."""
    letters = "ijkl"
    sizes = {letter: draw(st.integers(0, max_side)) for letter in letters}
    terms = [
        "".join(draw(st.lists(st.sampled_from(letters), max_size=3)))
        for _ in range(draw(st.integers(1, operands)))
    ]
    used = sorted(set("".join(terms)))
    out = "".join(draw(st.lists(st.sampled_from(used), unique=True, max_size=len(used)))) if used else ""
    arrow = f"->{out}" if draw(st.booleans()) else ""
    return ",".join(terms) + arrow, tuple(tuple(sizes[letter] for letter in term) for term in terms)
