"""Plans: the tensors and parameters that one step takes, drawn so that it can be taken; None where nothing suits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from tests.peers.random_programs.grower import Grower, Plan
from tests.peers.random_programs.relations import floating, has_dims, reaches, same_sizes, shares
from tests.random_programs.words import key

__all__ = [
    "asking", "assigned", "assigned_number", "bits", "constant", "detached", "dim", "gathered",
    "given_data", "indexed", "masked_source", "narrowed", "one", "out", "placed", "put",
    "scattered_diagonal", "scattered_select", "scattered_slice", "selected", "several", "strided",
    "sum_out", "unflattened", "viewed", "windows",
]  # fmt: skip


def one(*params: Callable[[Grower, torch.Tensor], Any], suits: Any = lambda x: True) -> Any:
    """A word of one tensor."""

    def plan(g: Grower) -> Plan | None:
        i = g.pick(suits)
        if i is None:
            return None
        return (i,), tuple([param(g, g.machine.values[i]) for param in params])

    return plan


def several(
    *relations: Callable[[torch.Tensor, torch.Tensor], bool], params: Any = (), suits: Any = lambda x: True
) -> Any:
    """A word of some tensors, each of which goes with the first."""

    def plan(g: Grower) -> Plan | None:
        first = g.pick(suits)
        if first is None:
            return None
        x = g.machine.values[first]
        found = [first]
        for relation in relations:
            i = g.pick(lambda y, relation=relation: relation(x, y))  # type: ignore[misc]
            if i is None:
                return None
            found.append(i)
        return tuple(found), tuple([param(g, x) for param in params])

    return plan


def dim(g: Grower, x: torch.Tensor) -> int:
    """A dim."""
    return g.dim(x)


def constant(g: Grower, x: torch.Tensor) -> float:
    """A number."""
    return g.of(2.0, -1.0, 0.5, 0.0)  # type: ignore[no-any-return]


def bits(g: Grower, x: torch.Tensor) -> int:
    """A mask, see `words.mask`."""
    return 1 + g.choose(62)


def narrowed(g: Grower) -> Plan | None:
    i = g.pick(has_dims)
    if i is None:
        return None
    x = g.machine.values[i]
    d = g.dim(x)
    start = g.choose(x.shape[d] + 1)
    return (i,), (d, start, g.choose(x.shape[d] - start + 1))


def selected(g: Grower) -> Plan | None:
    i = g.pick(lambda x: x.ndim > 0 and x.numel() > 0)
    if i is None:
        return None
    x = g.machine.values[i]
    d = g.dim(x)
    return (i,), (d, g.choose(x.shape[d]))


def unflattened(g: Grower) -> Plan | None:
    i = g.pick(lambda x: x.ndim > 0 and x.numel() > 0)
    if i is None:
        return None
    x = g.machine.values[i]
    d = g.dim(x)
    return (i,), (d, g.sizes(x.shape[d]) or [1])


def windows(g: Grower) -> Plan | None:
    i = g.pick(lambda x: x.ndim > 0 and x.numel() > 0)
    if i is None:
        return None
    x = g.machine.values[i]
    d = g.dim(x)
    return (i,), (d, 1 + g.choose(x.shape[d]), g.of(1, 2))


def strided(g: Grower) -> Plan | None:
    i = g.pick(lambda x: x.numel() > 1 and x.untyped_storage().nbytes() == x.numel() * x.element_size())
    if i is None:
        return None
    x = g.machine.values[i]
    start = g.choose(2)
    rows, columns = g.of((1, 1), (2, 1), (1, 2), (2, 2))
    steps = g.of((1, 1), (2, 1), (0, 1), (1, 0))
    return (i,), ([rows, columns], list(steps), x.storage_offset() + start if g.often(2) else 0)


def placed(word_dims: int, same: bool = False) -> Any:
    """Words that put the entries of a tensor at places along a dim of another."""

    def plan(g: Grower) -> Plan | None:
        first = g.pick(lambda x: x.ndim > 0 and x.numel() > 0)
        if first is None:
            return None
        x = g.machine.values[first]
        d = g.dim(x)

        def goes(y: torch.Tensor) -> bool:
            return (
                y.dtype == x.dtype
                and y.numel() > 0
                and y.ndim == x.ndim
                and all(
                    a == b or (k == d and b <= a)
                    for k, (a, b) in enumerate(zip(x.shape, y.shape, strict=True))
                )
            )

        second = g.pick(goes)
        if second is None:
            return None
        y = g.machine.values[second]
        if word_dims == 1:
            places: Any = g.places(x.shape[d], y.shape[d])
            if same and g.choose(4) != 3:
                places = list(dict.fromkeys(places))
                if len(places) != y.shape[d]:
                    return None
        else:
            # Each place once along the dim: where several values go to one place, which comes last is not defined.
            row = torch.arange(y.shape[d]) + g.choose(x.shape[d] - y.shape[d] + 1)
            places = row.reshape([-1 if k == d else 1 for k in range(y.ndim)]).expand(y.shape).tolist()
        return (first, second), (d, places)

    return plan


def gathered(g: Grower) -> Plan | None:
    i = g.pick(lambda x: x.ndim > 0 and x.numel() > 0)
    if i is None:
        return None
    x = g.machine.values[i]
    d = g.dim(x)
    sizes = [g.of(1, 2) if k == d else size for k, size in enumerate(x.shape)]
    count = math.prod(sizes)
    places = torch.tensor(g.places(x.shape[d], count)).reshape(sizes)
    return (i,), (d, places.tolist())


def indexed(g: Grower, x: torch.Tensor) -> Any:
    return g.index(x)


def assigned(g: Grower) -> Plan | None:
    i = g.pick()
    if i is None:
        return None
    x = g.machine.values[i]
    k = g.index(x)
    try:
        there = x.detach()[key(torch, k)]
    except (IndexError, RuntimeError):
        return None
    lists = [part[1] for part in k if isinstance(part, list) and part[0] == "list"]
    if any(len(set(one)) < len(one) for one in lists):
        return None  # which of several values comes to stand at one place is not defined
    j = g.pick(
        lambda y: (
            y is not x
            and not shares(x, y)
            and reaches(there, y)
            and (y.dtype == x.dtype or not y.is_complex())
        )
    )
    return None if j is None else ((i, j), (k,))


def assigned_number(g: Grower) -> Plan | None:
    i = g.pick()
    if i is None:
        return None
    return (i,), (g.index(g.machine.values[i]), g.of(2.0, 0.0, -1.0))


def put(g: Grower) -> Plan | None:
    i = g.pick(lambda x: x.ndim > 0 and x.numel() > 0)
    if i is None:
        return None
    x = g.machine.values[i]
    places = g.places(x.shape[0], g.of(1, 2))
    accumulate = g.often(2)
    if not accumulate:
        places = list(dict.fromkeys(places))
    there = x.detach()[places]
    j = g.pick(lambda y: y.dtype == x.dtype and reaches(there, y))
    return None if j is None else ((i, j), ([["list", places]], accumulate))


def scattered_select(g: Grower) -> Plan | None:
    i = g.pick(lambda x: not x.is_complex() and x.ndim > 0 and x.numel() > 0)
    if i is None:
        return None
    x = g.machine.values[i]
    d = g.dim(x)
    place = g.choose(x.shape[d])
    j = g.pick(lambda y: y.dtype == x.dtype and y.shape == x.select(d, place).shape)
    return None if j is None else ((i, j), (d, place))


def scattered_slice(g: Grower) -> Plan | None:
    i = g.pick(lambda x: not x.is_complex() and x.ndim > 0 and x.numel() > 0)
    if i is None:
        return None
    x = g.machine.values[i]
    d = g.dim(x)
    start = g.choose(x.shape[d])
    stop = start + 1 + g.choose(x.shape[d] - start)
    j = g.pick(lambda y: y.dtype == x.dtype and y.shape == x.narrow(d, start, stop - start).shape)
    return None if j is None else ((i, j), (d, start, stop))


def scattered_diagonal(g: Grower) -> Plan | None:
    i = g.pick(lambda x: not x.is_complex() and x.ndim == 2 and x.numel() > 0)
    if i is None:
        return None
    x = g.machine.values[i]
    k = g.of(0, 1, -1)
    j = g.pick(lambda y: y.dtype == x.dtype and y.shape == x.diagonal(k).shape)
    return None if j is None else ((i, j), (k,))


def masked_source(g: Grower) -> Plan | None:
    i = g.pick()
    if i is None:
        return None
    x = g.machine.values[i]
    # Out of its own memory it would read what it has written.
    j = g.pick(
        lambda y: (
            y.dtype == x.dtype
            and y.numel() >= x.numel()
            and y.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()
        )
    )
    return None if j is None else ((i, j), (bits(g, x),))


def out(relation: Callable[[torch.Tensor, torch.Tensor], bool], name: str, *params: Any) -> Any:
    """A word with ``out=``, which is of the right sizes: PyTorch deprecates others."""

    def plan(g: Grower) -> Plan | None:
        i = g.pick(floating)
        if i is None:
            return None
        x = g.machine.values[i]
        j = g.pick(lambda y: relation(x, y))
        if j is None:
            return None
        y = g.machine.values[j].detach()
        given = tuple([param(g, x) for param in params])
        try:
            made = (
                torch.cat([x.detach(), y], *given) if name == "cat" else getattr(torch, name)(x.detach(), y)
            )
        except RuntimeError:
            return None
        k = g.pick(
            lambda z: z.dtype == made.dtype and z.shape == made.shape and (not z.requires_grad or g.often(4))
        )
        return None if k is None else ((i, j, k), given)

    return plan


def sum_out(g: Grower) -> Plan | None:
    i = g.pick(lambda x: floating(x) and x.ndim > 0)
    if i is None:
        return None
    x = g.machine.values[i]
    d = g.dim(x)
    made = x.detach().sum(d)
    k = g.pick(lambda z: z.dtype == x.dtype and z.shape == made.shape)
    return None if k is None else ((i, k), (d,))


def viewed(g: Grower, x: torch.Tensor) -> bool:
    """Say whether there is a view of a tensor, or it is one: of these PyTorch says other things than of the base."""
    return x._is_view() or any(one._base is x for one in g.machine.values)


def detached(g: Grower) -> Plan | None:
    i = g.pick(lambda x: not x.is_leaf and not x.retains_grad and not viewed(g, x))
    return None if i is None else ((i,), ())


def asking(g: Grower) -> Plan | None:
    i = g.pick(lambda x: not viewed(g, x))
    return None if i is None else ((i,), ())


def given_data(g: Grower) -> Plan | None:
    if any(g.holds(one, lambda one: one.requires_grad) for one in g.machine.values):
        return None  # what was saved would be read anew, and what that gives depends on the formula
    return several(same_sizes, suits=lambda x: not x._is_view())(g)  # type: ignore[no-any-return]
