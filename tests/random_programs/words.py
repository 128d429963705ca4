"""The words of random programs: what one step does, written once for both libraries, which share a vocabulary.

A word is a line ``name operands; parameters: expression``: operands are tensors, parameters what JSON can hold. The
expression is Python, so that a program prints as one that can be run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["WORDS", "Word", "key", "leaf", "total"]

_LINES = """
view x; sizes: x.view(sizes)
reshape x; sizes: x.reshape(sizes)
flatten x; a b: x.flatten(a, b)
ravel x: x.ravel()
unflatten x; d sizes: x.unflatten(d, sizes)
squeeze x: x.squeeze()
squeeze_dim x; d: x.squeeze(d)
unsqueeze x; d: x.unsqueeze(d)
transpose x; a b: x.transpose(a, b)
movedim x; a b: x.movedim(a, b)
permute x; order: x.permute(order)
t x: x.t()
T x: x.T
mT x: x.mT
H x: x.H
mH x: x.mH
adjoint x: x.adjoint()
expand x; sizes: x.expand(sizes)
expand_as x y: x.expand_as(y)
broadcast_to x; sizes: lib.broadcast_to(x, sizes)
view_as x: x.view_as(x)
reshape_as x: x.reshape_as(x)
contiguous x: x.contiguous()
narrow x; d a n: x.narrow(d, a, n)
select x; d i: x.select(d, i)
diagonal x; k: x.diagonal(k)
unfold x; d n s: x.unfold(d, n, s)
as_strided x; sizes strides o: x.as_strided(sizes, strides, o)
get x; k: x[key(lib, k)]
split x; n d: split(lib, x, n, d)
chunk x; n d: chunk(lib, x, n, d)
unbind x; d: unbind(lib, x, d)
atleast_2d x: lib.atleast_2d(x)
positive x: x.positive()
real x: x.real
imag x: x.imag
conj x: x.conj()
resolve_conj x: x.resolve_conj()
view_as_real x: lib.view_as_real(x)
view_as_complex x: lib.view_as_complex(x)
detach x: x.detach()
data x: x.data
to x; t: x.to(getattr(lib, t))
type_as x y: x.type_as(y)
swapaxes x; a b: x.swapaxes(a, b)
identity_add x: x + 0
add x y: x + y
sub x y: x - y
mul x y: x * y
rsub x; c: c - x
scale x; c: x * c
shift x; c: x + c
divide x; c: x / c
square x: x.square()
pow x; n: x ** n
neg x: -x
sin x: x.sin()
tanh x: x.tanh()
sigmoid x: x.sigmoid()
relu x: x.relu()
abs x: x.abs()
clamp x; a b: x.clamp(a, b)
sum x: x.sum()
sum_dim x; d keep: x.sum(d, keepdim=keep)
mean x: x.mean()
amax x; d: x.amax(d)
max_dim x; d: x.max(d)
cumsum x; d: x.cumsum(d)
prod x; d: x.prod(d)
sort x; d: x.sort(d)
logsumexp x; d: x.logsumexp(d)
softmax x; d: x.softmax(d)
matmul x y: x @ y
cat x y; d: lib.cat([x, y], d)
stack x y; d: lib.stack([x, y], d)
where x y; m: lib.where(mask(lib, x, m), x, y)
addcmul x y z; c: lib.addcmul(x, y, z, value=c)
lerp x y; c: lib.lerp(x, y, c)
clone x: x.clone()
flip x; d: x.flip(d)
roll x; n d: x.roll(n, d)
pad x; n: lib.nn.functional.pad(x, (n, 1))
repeat x; counts: x.repeat(counts)
tril x: x.tril()
gather x; d i: x.gather(d, lib.tensor(i))
index_select x; d i: x.index_select(d, lib.tensor(i))
take x; i: x.take(lib.tensor(i))
masked_select x; m: x.masked_select(mask(lib, x, m))
index_add x y; d i: x.index_add(d, lib.tensor(i), y)
index_put x y; k acc: x.index_put(parts(lib, k), y, accumulate=acc)
select_scatter x y; d i: x.select_scatter(y, d, i)
slice_scatter x y; d a b: x.slice_scatter(y, d, a, b)
diagonal_scatter x y; k: x.diagonal_scatter(y, k)
masked_fill x; m c: x.masked_fill(mask(lib, x, m), c)
to_complex x y: lib.complex(x, y)
zeros_like x: lib.zeros_like(x)
new_zeros x; sizes: x.new_zeros(sizes)
add_ x y: x.add_(y)
add_alpha_ x y; c: x.add_(y, alpha=c)
sub_ x y: x.sub_(y)
mul_ x y: x.mul_(y)
iadd x y: iadd(x, y)
imul x; c: imul(x, c)
scale_ x; c: x.mul_(c)
shift_ x; c: x.add_(c)
sin_ x: x.sin_()
tanh_ x: x.tanh_()
neg_ x: x.neg_()
relu_ x: x.relu_()
clamp_ x; a b: x.clamp_(a, b)
pow_ x; n: x.pow_(n)
square_ x: x.square_()
sigmoid_ x: x.sigmoid_()
zero_ x: x.zero_()
fill_ x; c: x.fill_(c)
fill_tensor_ x y: x.fill_(y)
copy_ x y: x.copy_(y)
set x y; k: assign(x, key(lib, k), y)
set_number x; k c: assign(x, key(lib, k), c)
augment x; k c: augment(x, key(lib, k), c)
masked_fill_ x; m c: x.masked_fill_(mask(lib, x, m), c)
masked_scatter_ x y; m: x.masked_scatter_(mask(lib, x, m), y)
index_add_ x y; d i: x.index_add_(d, lib.tensor(i), y)
index_copy_ x y; d i: x.index_copy_(d, lib.tensor(i), y)
index_fill_ x; d i c: x.index_fill_(d, lib.tensor(i), c)
index_put_ x y; k acc: x.index_put_(parts(lib, k), y, accumulate=acc)
scatter_ x y; d i: x.scatter_(d, lib.tensor(i), y)
scatter_add_ x y; d i: x.scatter_add_(d, lib.tensor(i), y)
addcmul_ x y z; c: x.addcmul_(y, z, value=c)
lerp_ x y; c: x.lerp_(y, c)
cumsum_ x; d: x.cumsum_(d)
tril_ x: x.tril_()
t_ x: x.t_()
transpose_ x; a b: x.transpose_(a, b)
squeeze_ x: x.squeeze_()
unsqueeze_ x; d: x.unsqueeze_(d)
detach_ x: x.detach_()
requires_grad_ x: x.requires_grad_()
set_data x y: setattr(x, "data", y)
conj_physical_ x: x.conj_physical_()
add_out x y z: lib.add(x, y, out=z)
mul_out x y z: lib.mul(x, y, out=z)
sin_out x z: lib.sin(x, out=z)
sum_out x z; d: lib.sum(x, d, out=z)
matmul_out x y z: lib.matmul(x, y, out=z)
cat_out x y z; d: lib.cat([x, y], d, out=z)
grad_of x: x.grad
drop_grad x: setattr(x, "grad", None)
set_grad x y: setattr(x, "grad", y)
retain_grad x: x.retain_grad()
is_leaf x: x.is_leaf
"""


@dataclass(frozen=True)
class Word:
    """One word: how many tensors and parameters it takes, what it says, and what it does."""

    name: str
    operands: tuple[str, ...]
    params: tuple[str, ...]
    source: str
    run: Callable[..., Any]

    def says(self, operands: list[str], params: list[Any]) -> str:
        """Return the expression with its operands and parameters put in."""
        given = dict(zip((*self.operands, *self.params), (*operands, *map(repr, params)), strict=True))
        return re.sub(
            r"(?<![\w.\"])([a-z]\w*)\b(?![\"=(])", lambda found: given.get(found[1], found[1]), self.source
        )


def key(lib: Any, parts: list[Any]) -> Any:
    """Return an index from what a program says of it: numbers, None, "...", slices, lists of places, masks."""
    several = tuple([_part(lib, part) for part in parts])
    return several[0] if len(several) == 1 else several


def _part(lib: Any, part: Any) -> Any:
    if part == "...":
        return ...
    if not isinstance(part, list | tuple):
        return part
    kind, *rest = part
    if kind == "slice":
        return slice(*rest)
    return lib.tensor(rest[0], dtype=lib.bool if kind == "mask" else lib.int64)


def parts(lib: Any, several: list[Any]) -> Any:
    """Return the tensors of an index."""
    return tuple([_part(lib, part) for part in several])


def mask(lib: Any, x: Any, bits: int) -> Any:
    """Return a mask of the sizes of `x`, the bits of a number over and over."""
    count = int(np.prod(x.shape))
    return lib.tensor([bool(bits >> (i % 6) & 1) for i in range(count)], dtype=lib.bool).reshape(
        tuple(x.shape)
    )


def assign(x: Any, k: Any, value: Any) -> None:
    """``x[k] = value``."""
    x[k] = value


def augment(x: Any, k: Any, value: Any) -> None:
    """``x[k] *= value``: taken, changed in place and assigned."""
    x[k] *= value


def iadd(x: Any, y: Any) -> Any:
    """``x += y``."""
    x += y
    return x


def imul(x: Any, y: Any) -> Any:
    """``x *= y``."""
    x *= y
    return x


def split(lib: Any, x: Any, size: int, dim: int) -> Any:
    """``x.split``; in PyTorch as views of their own, since it refuses changes in place of what ``split`` gives."""
    if lib.__name__ != "torch":
        return x.split(size, dim)
    return [x.narrow(dim, at, min(size, x.shape[dim] - at)) for at in range(0, max(x.shape[dim], 1), size)]


def chunk(lib: Any, x: Any, count: int, dim: int) -> Any:
    """``x.chunk``, as `split`."""
    if lib.__name__ == "torch" and not x.shape[dim]:
        return [x.narrow(dim, 0, 0) for _ in range(count)]
    return (
        split(lib, x, max(1, -(-x.shape[dim] // count)), dim)
        if lib.__name__ == "torch"
        else x.chunk(count, dim)
    )


def unbind(lib: Any, x: Any, dim: int) -> Any:
    """``x.unbind``, as `split`."""
    return [x.select(dim, i) for i in range(x.shape[dim])] if lib.__name__ == "torch" else x.unbind(dim)


def leaf(lib: Any, sizes: list[int], dtype: str, requires_grad: bool, seed: int) -> Any:
    """Return a leaf with small numbers that are never 0."""
    stream = np.random.RandomState(seed)
    values = stream.randint(1, 9, tuple(sizes)) * stream.choice([-1, 1], tuple(sizes)) / 8
    if dtype.startswith("complex"):
        values = values + 1j * stream.randint(1, 9, tuple(sizes)) / 8
    if dtype == "int64":
        values = values * 8
    made = lib.tensor(values.tolist(), dtype=getattr(lib, dtype))
    return made.requires_grad_() if requires_grad else made


def total(lib: Any, x: Any) -> Any:
    """Return a number that depends on each value of `x` with a weight of its own."""
    if x.is_complex():
        x = lib.view_as_real(x.resolve_conj())
    count = int(np.prod(x.shape))
    weights = lib.tensor([(7 * i % 5 + 1) / 4 for i in range(count)], dtype=lib.float64)
    return (x.double() * weights.reshape(tuple(x.shape))).sum()


_SCOPE = {
    "split": split,
    "chunk": chunk,
    "unbind": unbind,
    "key": key,
    "parts": parts,
    "mask": mask,
    "assign": assign,
    "augment": augment,
    "iadd": iadd,
    "imul": imul,
}


def _read(line: str) -> Word:
    head, _, source = line.partition(": ")
    names, _, given = head.partition(";")
    name, *operands = names.split()
    params = given.split()
    arguments = ", ".join(["lib", *operands, *params])
    return Word(name, tuple(operands), tuple(params), source, eval(f"lambda {arguments}: {source}", _SCOPE))


WORDS = {word.name: word for word in map(_read, _LINES.strip().splitlines())}
