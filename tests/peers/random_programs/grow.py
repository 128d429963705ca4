"""Grow a program step by step: PyTorch runs along, so that each step is made for the tensors that are there by then.

All chance comes from ``choose(n)``, a number below n: hypothesis draws it, and shrinks a program by drawing less.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from tests.random_programs.program import Machine, Step
from tests.random_programs.words import key

__all__ = ["grow"]

Choose = Callable[[int], int]
Plan = tuple[tuple[int, ...], tuple[Any, ...]]
LONGEST = 14
TURNS = ("t_", "transpose_", "squeeze_", "unsqueeze_")
ON_REPEATED = (
    "masked_fill_",
    "index_fill_",
    "index_put_",
    "matmul_out",
    "fill_tensor_",
    "set",
    "set_number",
    "augment",
)
"""Changes of memory that entries share which PyTorch lets through and warns that it will not."""
CONJUGATES = ("conj", "H", "mH", "adjoint")
LARGEST = 64
"""Values of more entries than this are not used further."""


class Grower:
    """A program that grows, and the run of it so far."""

    def __init__(self, choose: Choose) -> None:
        self.choose = choose
        self.machine = Machine(torch)
        self.steps: list[Step] = []
        self.turned: set[int] = set()
        """Places of tensors whose own dims were changed in place."""
        self.hooked: set[int] = set()
        """Places of results with a hook."""

    # ------------------------------------------------------------------------------------- what there is

    def pick(self, suits: Callable[[torch.Tensor], bool] = lambda x: True) -> int | None:
        """Return the place of one of the tensors that suit, the latest first; None where there is none."""
        values = self.machine.values
        found = [
            i
            for i in reversed(range(len(values)))
            if values[i].numel() <= LARGEST and self._is(values[i], suits)
        ]
        return found[self.choose(len(found))] if found else None

    def _is(self, value: torch.Tensor, suits: Callable[[torch.Tensor], bool]) -> bool:
        return self.machine.facts(value) != "lost" and suits(value)

    def of(self, *kinds: Any) -> Any:
        """Return one of several."""
        return kinds[self.choose(len(kinds))]

    def often(self, chances: int) -> bool:
        """Return False, but for one of `chances` times."""
        return self.choose(chances) == chances - 1

    def add(
        self, word: str, operands: tuple[int, ...], params: tuple[Any, ...] = (), no_grad: bool = False
    ) -> None:
        """Take a step."""
        step = Step(word, operands, params, no_grad)
        self.steps.append(step)
        self.machine.do(step)

    def dim(self, x: torch.Tensor, more: int = 0) -> int:
        """Return a dim of a tensor."""
        return self.choose(max(x.ndim + more, 1))

    def sizes(self, count: int) -> list[int]:
        """Return sizes that hold `count` entries."""
        sizes: list[int] = []
        while count > 1 and len(sizes) < 3 and not self.often(3):
            found = [n for n in range(1, count + 1) if count % n == 0]
            sizes.append(self.of(*found))
            count //= sizes[-1]
        return [*sizes, count] if count != 1 or self.often(2) else sizes

    def stretched(self, x: torch.Tensor) -> list[int]:
        """Return sizes that `x` can be expanded to."""
        sizes = [self.of(1, 2, 3) if size == 1 else size for size in x.shape]
        return [2, *sizes] if self.often(4) else sizes

    def places(self, size: int, count: int) -> list[int]:
        """Return places in a dim, of which some may come twice."""
        return [self.choose(max(size, 1)) for _ in range(count)]

    def index(self, x: torch.Tensor) -> list[Any]:
        """Return an index, see `words.key`."""
        if x.ndim == 0:
            return [self.of("...", None)]
        parts: list[Any] = []
        advanced = False
        for size in x.shape:
            kind = self.choose(9)
            if kind <= 2 or size == 0:
                start = self.choose(size + 1)
                parts.append(
                    ["slice", start, start + self.choose(size - start + 1) if self.often(3) else None, None]
                )
            elif kind == 3:
                parts.append(self.choose(size))
            elif kind == 4:
                parts.append(["slice", None, None, self.of(1, 2)])
            elif kind == 5:
                parts += [None, ["slice", None, None, None]]
            elif kind == 6:
                parts.append(-1)
            elif kind == 7 and not advanced:
                advanced = True
                parts.append(["list", self.places(size, self.of(1, 2, 3))])
            elif kind == 8 and not advanced:
                advanced = True
                parts.append(["mask", [bool(self.choose(2)) for _ in range(size)]])
            else:
                break
            if self.often(3):
                break
        if self.often(8) and len(parts) < x.ndim:
            parts.append("...")
        return parts or ["..."]

    # ------------------------------------------------------------------------------------------ steps

    def leaf(self) -> None:
        """A new leaf."""
        kind = self.choose(8)
        sizes = [[2], [2, 2], [3], [2, 3], [], [1, 2], [2, 1, 2], [0], [4]][self.choose(9)]
        dtype = "float64" if kind < 5 else "complex128" if kind < 6 else "float32" if kind < 7 else "int64"
        self.add("leaf", (), (sizes, dtype, dtype != "int64" and self.choose(4) != 3, self.choose(100)))

    def step(self) -> None:
        """One step more, if one suits."""
        kind = self.choose(24)
        if kind < 8:
            self.word(VIEWS)
        elif kind < 14:
            self.word(CHANGES)
        elif kind < 18:
            self.word(RESULTS)
        elif kind == 18:
            self.leaf()
        elif kind == 19:
            self.hook()
        elif kind == 20:
            self.backward()
        elif kind == 21:
            self.grad()
        elif kind == 22:
            self.word(RARE)
        else:
            self.word(CHANGES)

    def word(self, words: dict[str, Callable[[Grower], Plan | None]]) -> None:
        """A word of a table."""
        names = list(words)
        name = names[self.choose(len(names))]
        plan = words[name](self)
        if plan is None or not self.defined(name, plan[0]):
            return
        self.add(
            name, *plan, no_grad=self.often(10) and not (name in TURNS and self.value(plan).requires_grad)
        )
        if name in TURNS:
            self.turned.add(plan[0][0])

    def value(self, plan: Plan) -> torch.Tensor:
        """Return the first operand of a plan."""
        return self.machine.values[plan[0][0]]

    def defined(self, name: str, operands: tuple[int, ...]) -> bool:
        """Say whether it is defined what a step does to a tensor, or what PyTorch says of it."""
        values = self.machine.values
        if name in TURNS:
            x = values[operands[0]]
            if any(_shares(one, x) and _complex(one) for one in values):
                return False  # PyTorch makes a turned view of complex numbers again without the turn
            return not x.retains_grad and not any(
                self._is(one, lambda one: one.is_leaf and one.grad is x) for one in values
            )
        if name in ("addcmul", "lerp") and any(self._is(values[i], _borrows) for i in operands):
            return False  # several ops here: what they save is looked at although no gradient goes on
        if not name.endswith(("_", "_out")) and name not in ("set", "set_number", "augment", "iadd", "imul"):
            return True
        several = [values[i] for i in operands]
        target = several.pop(-1 if name.endswith("_out") else 0)
        if not spread(target) or self.unseen(target):
            return False
        if name == "cat_out" and not target.numel():
            return False
        repeated = any(
            step == 0 and size > 1 for step, size in zip(target.stride(), target.shape, strict=True)
        )
        if repeated and (name in ON_REPEATED or target.is_conj()):
            return False
        return all(self.readable(name, one, target, several) for one in several)

    def unseen(self, target: torch.Tensor) -> bool:
        """Say whether a change of this memory goes past the tape: what is read of it later depends on the formula."""
        values = self.machine.values
        around = any(
            step.word == "set_data" or (step.word == "data" and _shares(values[step.operands[0]], target))
            for step in self.steps
        )
        return around and any(
            _shares(one, target) and self._is(one, lambda one: one.requires_grad) for one in values
        )

    def readable(
        self, name: str, one: torch.Tensor, target: torch.Tensor, several: list[torch.Tensor]
    ) -> bool:
        """Say whether `one` can be read while `target` is written."""
        if _borrows(one) and any(x is target for x in several):
            return False
        if not _shares(one, target):
            return True
        if name in ("sum_out", "matmul_out") or any(step.word in CONJUGATES for step in self.steps):
            return False
        if target.shape == one.shape and target.stride() != one.stride():
            return False
        return one is target or (dense(one) and dense(target))

    def hook(self) -> None:
        """Something that watches a gradient."""
        word = self.of("hook", "hook", "retain_grad", "gathered_hook")
        i = self.pick(lambda x: x.requires_grad)
        if word == "retain_grad" and i is not None and self.machine.values[i]._is_view():
            return  # which gradient is kept depends on when PyTorch last looked where the view is on the tape
        if i is not None and i not in self.turned:
            if word == "hook" and not self.machine.values[i].is_leaf:
                if any(
                    step.word in ("grad", "seeded_grad", "backward") and step.params[-1]
                    for step in self.steps
                ):
                    return  # whether a gradient's own gradient goes by the result or by its operands is the formula's
                self.hooked.add(i)
            self.add(word, (i,), (self.of(None, 2.0),) if word == "hook" else ())

    def ends(self) -> tuple[int, ...]:
        """Tensors to differentiate."""
        first = self.pick(lambda x: x.requires_grad)
        if first is None:
            return ()
        second = self.pick(lambda x: x.requires_grad) if self.often(2) else None
        return (first,) if second is None else (first, second)

    def backward(self) -> None:
        """A backward."""
        ends = self.ends()
        if ends:
            self.add("backward", ends, (bool(self.choose(3) != 2), self.often(5) and not self.hooked))

    def grad(self) -> None:
        """Gradients of some tensors, which may be differentiated again."""
        ends = self.ends()
        starts = [self.pick(lambda x: x.requires_grad and x.numel() > 0) for _ in range(self.of(1, 1, 2))]
        values = self.machine.values
        # Hooks of what is itself an output PyTorch calls although it leads to nothing that is asked for.
        if any(values[i].retains_grad or i in self.hooked for i in ends):
            return
        if (
            ends
            and not {None, *self.turned} & {*starts}
            and not any(values[i].is_leaf and i not in starts for i in ends)
        ):
            word = self.of("grad", "grad", "seeded_grad")
            several = (*ends, *dict.fromkeys(starts))
            self.add(
                word,
                several,
                (len(ends), bool(self.choose(3) != 2), bool(self.choose(2)) and not self.hooked),
            )


def dense(x: torch.Tensor) -> bool:
    """Say whether the entries of a tensor lie without gaps, each at a place of its own."""
    return x.is_contiguous() or x.t().is_contiguous() if x.ndim == 2 else x.is_contiguous()


def spread(x: torch.Tensor) -> bool:
    """Say whether entries have places of their own, or share them so that PyTorch sees it, as after ``expand``."""
    if any(stride == 0 and size > 1 for stride, size in zip(x.stride(), x.shape, strict=True)):
        return True
    places = {0}
    for stride, size in zip(x.stride(), x.shape, strict=True):
        places = {place + stride * i for place in places for i in range(size)}
    return len(places) == x.numel() or not x.numel()


# --------------------------------------------------------------------------------- what each word is used on


def one(*params: Callable[[Grower, torch.Tensor], Any], suits: Any = lambda x: True) -> Any:
    """A word of one tensor."""

    def plan(g: Grower) -> Plan | None:
        i = g.pick(suits)
        if i is None:
            return None
        return (i,), tuple([param(g, g.machine.values[i]) for param in params])

    return plan


def broadcasts(x: torch.Tensor, y: torch.Tensor) -> bool:
    """Say whether two tensors have sizes that go together."""
    return all(a == b or a == 1 or b == 1 for a, b in zip(reversed(x.shape), reversed(y.shape), strict=False))


def reaches(x: torch.Tensor, y: torch.Tensor) -> bool:
    """Say whether y can be expanded to the sizes of x."""
    return y.ndim <= x.ndim and all(
        a == b or b == 1 for a, b in zip(reversed(x.shape), reversed(y.shape), strict=False)
    )


def kin(x: torch.Tensor, y: torch.Tensor) -> bool:
    """Say whether two tensors are of one type."""
    return x.dtype == y.dtype


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


def floating(x: torch.Tensor) -> bool:
    """Say whether a tensor has real numbers."""
    return x.is_floating_point()


def differentiable(x: torch.Tensor) -> bool:
    """Say whether a tensor can have a gradient."""
    return x.is_floating_point() or x.is_complex()


def has_dims(x: torch.Tensor) -> bool:
    """Say whether a tensor has dims."""
    return x.ndim > 0


def matrix(x: torch.Tensor) -> bool:
    """Say whether a tensor is a matrix."""
    return x.ndim == 2


def _narrowed(g: Grower) -> Plan | None:
    i = g.pick(has_dims)
    if i is None:
        return None
    x = g.machine.values[i]
    d = g.dim(x)
    start = g.choose(x.shape[d] + 1)
    return (i,), (d, start, g.choose(x.shape[d] - start + 1))


def _selected(g: Grower) -> Plan | None:
    i = g.pick(lambda x: x.ndim > 0 and x.numel() > 0)
    if i is None:
        return None
    x = g.machine.values[i]
    d = g.dim(x)
    return (i,), (d, g.choose(x.shape[d]))


def _unflattened(g: Grower) -> Plan | None:
    i = g.pick(lambda x: x.ndim > 0 and x.numel() > 0)
    if i is None:
        return None
    x = g.machine.values[i]
    d = g.dim(x)
    return (i,), (d, g.sizes(x.shape[d]) or [1])


def _windows(g: Grower) -> Plan | None:
    i = g.pick(lambda x: x.ndim > 0 and x.numel() > 0)
    if i is None:
        return None
    x = g.machine.values[i]
    d = g.dim(x)
    return (i,), (d, 1 + g.choose(x.shape[d]), g.of(1, 2))


def _strided(g: Grower) -> Plan | None:
    i = g.pick(lambda x: x.numel() > 1 and x.untyped_storage().nbytes() == x.numel() * x.element_size())
    if i is None:
        return None
    x = g.machine.values[i]
    start = g.choose(2)
    rows, columns = g.of((1, 1), (2, 1), (1, 2), (2, 2))
    steps = g.of((1, 1), (2, 1), (0, 1), (1, 0))
    return (i,), ([rows, columns], list(steps), x.storage_offset() + start if g.often(2) else 0)


def _placed(word_dims: int, same: bool = False) -> Any:
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


def _gathered(g: Grower) -> Plan | None:
    i = g.pick(lambda x: x.ndim > 0 and x.numel() > 0)
    if i is None:
        return None
    x = g.machine.values[i]
    d = g.dim(x)
    sizes = [g.of(1, 2) if k == d else size for k, size in enumerate(x.shape)]
    count = math.prod(sizes)
    places = torch.tensor(g.places(x.shape[d], count)).reshape(sizes)
    return (i,), (d, places.tolist())


def _indexed(g: Grower, x: torch.Tensor) -> Any:
    return g.index(x)


def _assigned(g: Grower) -> Plan | None:
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
            and not _shares(x, y)
            and reaches(there, y)
            and (y.dtype == x.dtype or not y.is_complex())
        )
    )
    return None if j is None else ((i, j), (k,))


def _assigned_number(g: Grower) -> Plan | None:
    i = g.pick()
    if i is None:
        return None
    return (i,), (g.index(g.machine.values[i]), g.of(2.0, 0.0, -1.0))


def _put(g: Grower) -> Plan | None:
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


def _scattered_select(g: Grower) -> Plan | None:
    i = g.pick(lambda x: not x.is_complex() and x.ndim > 0 and x.numel() > 0)
    if i is None:
        return None
    x = g.machine.values[i]
    d = g.dim(x)
    place = g.choose(x.shape[d])
    j = g.pick(lambda y: y.dtype == x.dtype and y.shape == x.select(d, place).shape)
    return None if j is None else ((i, j), (d, place))


def _scattered_slice(g: Grower) -> Plan | None:
    i = g.pick(lambda x: not x.is_complex() and x.ndim > 0 and x.numel() > 0)
    if i is None:
        return None
    x = g.machine.values[i]
    d = g.dim(x)
    start = g.choose(x.shape[d])
    stop = start + 1 + g.choose(x.shape[d] - start)
    j = g.pick(lambda y: y.dtype == x.dtype and y.shape == x.narrow(d, start, stop - start).shape)
    return None if j is None else ((i, j), (d, start, stop))


def _scattered_diagonal(g: Grower) -> Plan | None:
    i = g.pick(lambda x: not x.is_complex() and x.ndim == 2 and x.numel() > 0)
    if i is None:
        return None
    x = g.machine.values[i]
    k = g.of(0, 1, -1)
    j = g.pick(lambda y: y.dtype == x.dtype and y.shape == x.diagonal(k).shape)
    return None if j is None else ((i, j), (k,))


def _masked_source(g: Grower) -> Plan | None:
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


def _out(relation: Callable[[torch.Tensor, torch.Tensor], bool], name: str, *params: Any) -> Any:
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


def _sum_out(g: Grower) -> Plan | None:
    i = g.pick(lambda x: floating(x) and x.ndim > 0)
    if i is None:
        return None
    x = g.machine.values[i]
    d = g.dim(x)
    made = x.detach().sum(d)
    k = g.pick(lambda z: z.dtype == x.dtype and z.shape == made.shape)
    return None if k is None else ((i, k), (d,))


def _complex(x: torch.Tensor) -> bool:
    return x.is_complex()


def _multiplies(x: torch.Tensor, y: torch.Tensor) -> bool:
    return (
        x.dtype == y.dtype and x.ndim > 0 and y.ndim > 0 and x.shape[-1] == y.shape[-2 if y.ndim > 1 else 0]
    )


def _same_sizes(x: torch.Tensor, y: torch.Tensor) -> bool:
    return x.shape == y.shape and x.dtype == y.dtype


def _alike(x: torch.Tensor, y: torch.Tensor) -> bool:
    return broadcasts(x, y) and x.dtype == y.dtype


def _goes_in(x: torch.Tensor, y: torch.Tensor) -> bool:
    """Say whether y goes into x in place; now and then it is let through although it does not."""
    return reaches(x, y) and (y.dtype == x.dtype or not y.is_complex())


def _shares(x: torch.Tensor, y: torch.Tensor) -> bool:
    return x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()


def _borrows(x: torch.Tensor) -> bool:
    """Say whether a tensor is a view, made where nothing was recorded, of one that requires a gradient."""
    return x._is_view() and x.is_leaf and x.requires_grad


def _inplace(x: torch.Tensor) -> bool:
    return not (x.is_leaf and x.requires_grad)


def _viewed(g: Grower, x: torch.Tensor) -> bool:
    """Say whether there is a view of a tensor, or it is one: of these PyTorch says other things than of the base."""
    return x._is_view() or any(one._base is x for one in g.machine.values)


def _detached(g: Grower) -> Plan | None:
    i = g.pick(lambda x: not x.is_leaf and not x.retains_grad and not _viewed(g, x))
    return None if i is None else ((i,), ())


def _asking(g: Grower) -> Plan | None:
    i = g.pick(lambda x: not _viewed(g, x))
    return None if i is None else ((i,), ())


def _given_data(g: Grower) -> Plan | None:
    if any(g._is(one, lambda one: one.requires_grad) for one in g.machine.values):
        return None  # what was saved would be read anew, and what that gives depends on the formula
    return several(_same_sizes, suits=lambda x: not x._is_view())(g)  # type: ignore[no-any-return]


VIEWS: dict[str, Any] = {
    "get": one(_indexed),
    "view": one(lambda g, x: g.sizes(x.numel())),
    "reshape": one(lambda g, x: g.sizes(x.numel())),
    "select": _selected,
    "transpose": one(dim, dim, suits=has_dims),
    "narrow": _narrowed,
    "expand": one(lambda g, x: g.stretched(x)),
    "detach": one(),
    "data": one(),
    "view_as": one(),
    "squeeze": one(),
    "squeeze_dim": one(dim, suits=has_dims),
    "unsqueeze": one(lambda g, x: g.dim(x, 1)),
    "flatten": one(lambda g, x: 0, lambda g, x: -1),
    "ravel": one(),
    "unflatten": _unflattened,
    "movedim": one(dim, dim, suits=has_dims),
    "permute": one(
        lambda g, x: [(i + 1) % x.ndim for i in range(x.ndim)] if g.often(2) else list(range(x.ndim))
    ),
    "T": one(suits=lambda x: x.ndim in (0, 2)),
    "t": one(suits=lambda x: x.ndim <= 2),
    "mT": one(suits=lambda x: x.ndim > 1),
    "H": one(suits=lambda x: x.ndim in (0, 2)),
    "mH": one(suits=lambda x: x.ndim > 1),
    "adjoint": one(suits=lambda x: x.ndim > 1),
    "expand_as": several(lambda x, y: reaches(y, x)),
    "broadcast_to": one(lambda g, x: g.stretched(x)),
    "reshape_as": one(),
    "contiguous": one(),
    "diagonal": one(lambda g, x: g.of(0, 1, -1), suits=lambda x: x.ndim > 1),
    "unfold": _windows,
    "as_strided": _strided,
    "split": one(lambda g, x: g.of(1, 2), dim, suits=has_dims),
    "chunk": one(lambda g, x: g.of(1, 2), dim, suits=has_dims),
    "unbind": one(dim, suits=has_dims),
    "atleast_2d": one(),
    "positive": one(),
    "real": one(suits=lambda x: x.is_complex() or x.ndim == 1),
    "imag": one(suits=_complex),
    "conj": one(),
    "resolve_conj": one(suits=lambda x: _complex(x) and (x._is_view() or not x.is_conj())),
    "view_as_real": one(suits=lambda x: x.is_complex() and x.numel() > 0),
    "view_as_complex": one(suits=lambda x: floating(x) and x.numel() > 0 and x.ndim > 0 and x.shape[-1] == 2),
    "to": one(
        lambda g, x: (
            str(x.dtype).rpartition(".")[2]
            if g.often(2)
            else "float64"
            if not x.is_complex()
            else "complex128"
        )
    ),
    "type_as": several(kin),
    "swapaxes": one(dim, dim, suits=has_dims),
}

CHANGES: dict[str, Any] = {
    "scale_": one(constant, suits=_inplace),
    "set": _assigned,
    "copy_": several(lambda x, y: y is not x and _goes_in(x, y), suits=_inplace),
    "set_number": _assigned_number,
    "mul_": several(_goes_in, suits=_inplace),
    "add_": several(_goes_in),
    "shift_": one(constant),
    "zero_": one(),
    "fill_": one(constant),
    "sub_": several(_goes_in),
    "add_alpha_": several(_goes_in, params=[lambda g, x: g.of(2, 3)]),
    "iadd": several(_goes_in),
    "imul": one(constant),
    "sin_": one(suits=_inplace),
    "tanh_": one(suits=_inplace),
    "neg_": one(),
    "relu_": one(suits=floating),
    "sigmoid_": one(),
    "clamp_": one(lambda g, x: -0.5, lambda g, x: 0.5, suits=floating),
    "pow_": one(lambda g, x: g.of(2, 3)),
    "square_": one(),
    "fill_tensor_": several(lambda x, y: y.ndim == 0 and y.dtype == x.dtype),
    "augment": _assigned_number,
    "masked_fill_": one(bits, constant),
    "masked_scatter_": _masked_source,
    "index_add_": _placed(1),
    "index_copy_": _placed(1, same=True),
    "index_fill_": one(
        lambda g, x: 0,
        lambda g, x: g.places(x.shape[0], g.of(1, 2)),
        constant,
        suits=lambda x: x.ndim > 0 and x.numel() > 0,
    ),
    "index_put_": _put,
    "scatter_": _placed(2),
    "scatter_add_": _placed(2),
    "addcmul_": several(_goes_in, _goes_in, params=[constant], suits=differentiable),
    "lerp_": several(_same_sizes, params=[lambda g, x: 0.25], suits=floating),
    "cumsum_": one(dim),
    "tril_": one(suits=lambda x: x.ndim > 1 and dense(x)),
    "t_": one(suits=lambda x: x.ndim <= 2),
    "transpose_": one(dim, dim, suits=has_dims),
    "squeeze_": one(),
    "unsqueeze_": one(lambda g, x: g.dim(x, 1)),
    "add_out": _out(_alike, "add"),
    "mul_out": _out(_alike, "mul"),
    "matmul_out": _out(_multiplies, "matmul"),
    "sum_out": _sum_out,
    "sin_out": several(_same_sizes, suits=floating),
    "cat_out": _out(lambda x, y: y.shape == x.shape and y.dtype == x.dtype and x.ndim > 0, "cat", dim),
}

RESULTS: dict[str, Any] = {
    "mul": several(_alike),
    "add": several(broadcasts),
    "scale": one(constant),
    "sin": one(),
    "clone": one(),
    "sub": several(broadcasts),
    "square": one(),
    "identity_add": one(),
    "rsub": one(constant),
    "shift": one(constant),
    "divide": one(lambda g, x: g.of(2.0, -4.0)),
    "pow": one(lambda g, x: g.of(2, 3)),
    "neg": one(),
    "tanh": one(),
    "sigmoid": one(),
    "relu": one(suits=floating),
    "abs": one(),
    "clamp": one(lambda g, x: -0.5, lambda g, x: 0.5, suits=floating),
    "sum": one(),
    "sum_dim": one(dim, lambda g, x: g.often(2)),
    "mean": one(suits=floating),
    "amax": one(dim, suits=floating),
    "max_dim": one(dim, suits=floating),
    "cumsum": one(dim),
    "prod": one(dim),
    "sort": one(dim, suits=floating),
    "logsumexp": one(dim, suits=floating),
    "softmax": one(dim, suits=floating),
    "matmul": several(_multiplies),
    "cat": several(lambda x, y: _same_sizes(x, y) and x.ndim > 0, params=[dim], suits=has_dims),
    "stack": several(_same_sizes, params=[lambda g, x: g.dim(x, 1)]),
    "where": several(_alike, params=[bits]),
    "addcmul": several(_alike, _alike, params=[constant], suits=differentiable),
    "lerp": several(_same_sizes, params=[lambda g, x: 0.25], suits=floating),
    "flip": one(lambda g, x: [g.dim(x)], suits=has_dims),
    "roll": one(lambda g, x: 1, dim, suits=has_dims),
    "pad": one(lambda g, x: g.of(0, 1), suits=has_dims),
    "repeat": one(lambda g, x: [g.of(1, 2) for _ in range(x.ndim)]),
    "tril": one(suits=lambda x: x.ndim > 1),
    "gather": _gathered,
    "index_select": one(
        lambda g, x: 0, lambda g, x: g.places(x.shape[0], 2), suits=lambda x: x.ndim > 0 and x.numel() > 0
    ),
    "take": one(lambda g, x: g.places(x.numel(), 2), suits=lambda x: x.numel() > 0),
    "masked_select": one(bits),
    "index_add": _placed(1),
    "index_put": _put,
    "select_scatter": _scattered_select,
    "slice_scatter": _scattered_slice,
    "diagonal_scatter": _scattered_diagonal,
    "masked_fill": one(bits, constant),
    "to_complex": several(_same_sizes, suits=floating),
}

RARE: dict[str, Any] = {
    "new_zeros": one(lambda g, x: g.of([2], [2, 2], [])),
    "zeros_like": one(),
    "grad_of": one(suits=lambda x: x.is_leaf and x.grad is not None),
    "drop_grad": one(suits=lambda x: x.is_leaf),
    "set_grad": several(
        lambda x, y: _same_sizes(x, y) and dense(y) and not _shares(x, y),
        suits=lambda x: x.is_leaf and x.requires_grad,
    ),
    "detach_": _detached,
    "requires_grad_": _asking,
    "set_data": _given_data,
    "is_leaf": one(),
    "conj_physical_": one(suits=lambda x: _inplace(x) and x.is_complex()),
}


def grow(choose: Choose) -> tuple[list[Step], Machine]:
    """Return a program, and PyTorch's run of it."""
    grower = Grower(choose)
    grower.leaf()
    for _ in range(2 + choose(LONGEST)):
        if grower.machine.ended or grower.machine.broken:
            break
        grower.step()
    if not grower.machine.ended:
        values = grower.machine.values
        ends = tuple([i for i in range(len(values)) if grower._is(values[i], lambda x: x.requires_grad)])
        if ends:
            grower.add("backward", ends[-4:], (False, False))
    return grower.steps, grower.machine
