"""vmap: a function written for one entry, run on a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from workbench.autograd.pytree import flatten, structure
from workbench.base.dims import Dims, Names, dim_index, unify_names
from workbench.base.random import default_generator
from workbench.core.batching import Batching
from workbench.core.dispatch import interpreting
from workbench.core.op import ops
from workbench.core.tape import alias
from workbench.core.value import dims_of
from workbench.tensor import Tensor

__all__ = ["vmap"]

_RANDOMNESS = ("error", "different", "same")


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that runs `func` on all entries of a batch at once.

    y = vmap(f)(x) is y[i] = f(x[i]).

    `in_dims` says which dim of each input the entries lie along, by position or by name; None for inputs that are the
    same for all. It is one for all inputs, or a nest like theirs. `out_dims` says the same of the results. The name
    of the batch dim goes from the inputs to the results.

    `randomness`: what drawing random numbers inside means: "error", "different" for each entry (which then run one by
    one), or the "same" for all. With `chunk_size` no more entries than that are run together.

    Raises `ValueError` for in_dims or out_dims that do not fit, and where entries have different numbers.

    >>> import workbench as wb
    >>> from workbench.autograd.vmap import vmap
    >>> x = wb.tensor([[1.0, 2.0], [3.0, 4.0]], names=("N", "C"))
    >>> vmap(lambda row: (row * row).sum())(x)
    tensor([ 5., 25.], names=('N',))
    """
    if randomness not in _RANDOMNESS:
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
        )
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    called = getattr(func, "__name__", type(func).__name__)

    # With `updated=()` a module given as the function keeps its attributes to itself.
    @functools.wraps(func, updated=())
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, rebuild = flatten(args)
        if not leaves:
            raise ValueError(
                f"vmap({called})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap "
                "over a function with no inputs. The latter is unsupported."
            )
        dims = _in_dims(called, in_dims, args, leaves)
        size, name = _batch(leaves, dims)
        call = _Call(func, called, rebuild, dims, out_dims, name, kwargs)
        if chunk_size is None or size <= chunk_size:
            return call.run(leaves, size, randomness)
        starts = range(0, size, chunk_size)
        parts = [
            call.run(call.cut(leaves, start, min(start + chunk_size, size)), min(chunk_size, size - start), randomness)
            for start in starts
        ]  # fmt: skip
        return call.join(parts)

    return mapped


def _in_dims(called: str, in_dims: Any, args: tuple[Any, ...], leaves: list[Any]) -> list[int | None]:
    """Return the dim of each leaf that the entries lie along, as a position; None where there is none."""
    where = f"vmap({called}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, int | str | tuple | list) or isinstance(in_dims, bool):
        raise ValueError(
            f"{where}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    given = _spread(in_dims, args)
    if given is None:
        raise ValueError(
            f"{where}: in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{structure(in_dims)} but inputs has structure {structure(args)}."
        )
    result: list[int | None] = []
    for dim, leaf in zip(given, leaves, strict=True):
        if dim is None:
            result.append(None)
            continue
        if isinstance(dim, bool) or not isinstance(dim, int | str):
            raise ValueError(
                f"{where}: Got in_dim={dim} for an input but in_dim must be either an integer dimension, a "
                "name or None."
            )
        if not isinstance(leaf, Tensor):
            raise ValueError(
                f"{where}: Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over "
                "non-Tensor arguments, please use None as the respective in_dim"
            )
        ndim = leaf.ndim
        if isinstance(dim, int) and not -ndim <= dim < ndim:
            raise ValueError(
                f"{where}: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {ndim} so "
                f"expected in_dim to satisfy -{ndim} <= in_dim < {ndim}."
            )
        result.append(dim_index(dims_of(leaf), dim, "vmap"))
    if all(dim is None for dim in result):
        raise ValueError(f"{where}: at least one input must have an in_dim that is not None.")
    return result


def _spread(prefix: Any, tree: Any) -> list[Any] | None:
    """Return one entry of `prefix` for each leaf of `tree`, or None where they do not fit."""
    if not isinstance(prefix, tuple | list | dict):
        return [prefix] * len(flatten(tree)[0])
    if isinstance(prefix, dict):
        if not isinstance(tree, dict) or prefix.keys() != tree.keys():
            return None
        pairs = [(prefix[key], tree[key]) for key in tree]
    elif type(tree) not in (tuple, list) or len(prefix) != len(tree):
        return None
    else:
        pairs = list(zip(prefix, tree, strict=True))
    result: list[Any] = []
    for one, part in pairs:
        found = _spread(one, part)
        if found is None:
            return None
        result += found
    return result


def _batch(leaves: Sequence[Any], dims: Sequence[int | None]) -> tuple[int, str | None]:
    """Return the number of entries, and the name that their dim has."""
    sizes, names = [], Dims((None,), (1,))
    for leaf, dim in zip(leaves, dims, strict=True):
        if dim is not None:
            # Names are compared here and sizes below: as sizes of dims 5 and 1 would go together.
            sizes.append(leaf.shape[dim])
            names = Dims(unify_names("vmap", names, Dims((leaf.names[dim],), (1,))), (1,))
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{list(dict.fromkeys(sizes))} for the mapped dimension"
        )
    return sizes[0], names.names[0]


class _Call:
    """One call of a function under vmap: what is the same for all chunks of its batch."""

    def __init__(
        self,
        func: Callable[..., Any],
        called: str,
        rebuild: Callable[[Sequence[Any]], Any],
        dims: list[int | None],
        out_dims: Any,
        name: str | None,
        kwargs: dict[str, Any],
    ) -> None:
        self.func = func
        self.called = called
        self.rebuild = rebuild
        self.dims = dims
        self.out_dims = out_dims
        self.name = name
        self.kwargs = kwargs

    def run(self, leaves: list[Any], size: int, randomness: str) -> Any:
        """Run the function on one batch."""
        if randomness == "same":
            return self.together(leaves, size)
        # Whether something was drawn is seen by the generator's state.
        state = default_generator.get_state()
        result = self.together(leaves, size)
        if default_generator.get_state() == state:
            return result
        if randomness == "error":
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
                "'different' randomness flags on vmap or perform the randomness operation out of vmap"
            )
        default_generator.set_state(state)
        # From the same state: the first entry draws what it would draw alone.
        parts = [self.together(self.cut(leaves, i, i + 1), 1) for i in range(size)]
        return self.join(parts)

    def together(self, leaves: list[Any], size: int) -> Any:
        """Run all entries at once."""
        batching = Batching(size)
        entries = [
            leaf if dim is None else batching.wrap(*_front(leaf, dim))
            for leaf, dim in zip(leaves, self.dims, strict=True)
        ]
        with interpreting(batching):
            result = self.func(*self.rebuild(entries), **self.kwargs)
        outputs, rebuild = flatten(result)
        out_dims = self._out_dims(result)
        return rebuild([self._output(batching, one, dim) for one, dim in zip(outputs, out_dims, strict=True)])

    def _out_dims(self, result: Any) -> list[Any]:
        found = _spread(self.out_dims, result)
        if found is None:
            raise ValueError(
                f"vmap({self.called}, ..., out_dims={self.out_dims})(<inputs>): out_dims is not compatible with the "
                f"structure of `outputs`. out_dims has structure {structure(self.out_dims)} but outputs has structure "
                f"{structure(result)}."
            )
        return found

    def _output(self, batching: Batching, one: Any, dim: int | None) -> Any:
        """Return one result with the batch dim where it is wanted."""
        if not isinstance(one, Tensor):
            if dim is None:
                return one
            raise ValueError(
                f"vmap({self.called}, ...): `{self.called}` must only return Tensors, got type {type(one)}. Did you "
                "mean to set out_dims= to None for output?"
            )
        value, batched = batching.hidden(one)
        if batched:
            if dim is None:
                raise ValueError(
                    f"vmap({self.called}, ...): `{self.called}` can not return a batched tensor when out_dim is None"
                )
        elif dim is None:
            return alias(value, one._names) if batching.owns(one) else one
        else:
            value = ops.expand(value, sizes=(batching.size, *one.shape))
        names = one.names
        # The function may give a dim of its own the batch's name, and a name stands once.
        name = None if self.name in names else self.name
        value = alias(value, _some((name, *names)))
        if not dim:
            return value
        at = dim_index(dims_of(value), dim, "vmap")
        order = list(range(1, value.ndim))
        order.insert(at, 0)
        return ops.permute(value, dim=tuple(order))

    def cut(self, leaves: list[Any], start: int, end: int) -> list[Any]:
        """Return the inputs for the entries from `start` to `end`."""
        return [
            leaf if dim is None else ops.index(leaf, key=(*(slice(None),) * dim, slice(start, end)))
            for leaf, dim in zip(leaves, self.dims, strict=True)
        ]

    def join(self, parts: list[Any]) -> Any:
        """Put the results of several chunks together."""
        rows = [flatten(part)[0] for part in parts]
        joined = []
        for dim, values in zip(self._out_dims(parts[0]), zip(*rows, strict=True), strict=True):
            if dim is None:
                # Not batched: the same in every chunk.
                joined.append(values[0])
            else:
                joined.append(ops.cat(*values, dim=dim_index(dims_of(values[0]), dim, "vmap")))
        return flatten(parts[0])[1](joined)


def _front(value: Tensor, dim: int) -> tuple[Tensor, Names | None]:
    """Return `value` with the entries along its first dim, unnamed, and the names of an entry."""
    names = value._names
    rest = None if names is None else _some((*names[:dim], *names[dim + 1 :]))
    bare = value if names is None else alias(value, None)
    if dim:
        order = (dim, *(i for i in range(value.ndim) if i != dim))
        bare = ops.permute(bare, dim=order)
    return bare, rest


def _some(names: Names) -> Names | None:
    return None if all(name is None for name in names) else names
