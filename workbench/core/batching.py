"""Batching: a function of one entry runs on a whole batch at once, each of its ops on all entries together.

A value inside the function is one entry as far as it can tell: its payload `Batched` has the shape of an entry and
hides a value with all of them, the batch dim in front. The interpreter `Batching` hands each call to a batching rule,
which runs it on the hidden values. What is not batched (weights, constants) meets the entries as it is.

A rule is ``rule(batch)``, with `Batch` below, and returns the hidden result(s), the batch dim in front. An op has the
rule of its record (`Op.batch`), or that of its family: elementwise ops, ops along a `dim`. An op without any runs
entry by entry, which is correct for every op.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from workbench.base.dims import Names
from workbench.base.errors import DimensionError
from workbench.core.dispatch import apply, common_dtype, infer_dims, without_numbers
from workbench.core.dtype_rules import mixed_types
from workbench.core.op import Op, ops
from workbench.core.tape import alias
from workbench.core.value import UNNAMED, Abstract, Value, dims_of, new

__all__ = ["Batch", "Batched", "Batching", "Rule", "along", "elementwise", "one_by_one", "rule_for"]


class Batched(Abstract):
    """The payload of one entry: it has the shape of an entry, and hides the value that has them all.

    Unless `batched` it hides a value that is the same for all entries: what is done with it inside the function, such
    as asking for gradients, is then not known to the levels below.
    """

    __slots__ = ("batched", "owner", "value")

    called = "one entry of a batch, without numbers"

    why = (
        "inside vmap a value stands for one entry of a batch and has no numbers of its own: .item(), .numpy(), "
        "printing, `if` and indices made of it would mean something else for each entry. Write wb.where(condition, "
        "a, b) in place of a branch, gather in place of such an index, or do it outside vmap."
    )

    def __init__(self, value: Any, owner: Batching, batched: bool = True) -> None:
        array = value.payload
        self.shape = array.shape[1:] if batched else array.shape
        self.batched = batched
        self.dtype = array.dtype
        self.value = value
        self.owner = owner

    @property
    def nbytes(self) -> int:  # type: ignore[override]
        """Bytes that all entries take."""
        return int(self.value.payload.nbytes)

    def beneath(self) -> Any:
        """Raise: the batch that this entry belongs to is over."""
        raise RuntimeError(
            "a value left vmap by another way than being returned (through a global, an attribute, a list): outside it "
            "stands for no entry of any batch. Return it from the function."
        )


class Batch:
    """One call of an op on entries, as a batching rule sees it. All values are unnamed."""

    __slots__ = ("_out", "batched", "entries", "inputs", "op", "params", "size")

    def __init__(
        self,
        op: Op,
        entries: tuple[Any, ...],
        inputs: tuple[Any, ...],
        batched: tuple[bool, ...],
        params: dict[str, Any],
        size: int,
    ) -> None:
        self.op = op
        self.entries = entries
        """The inputs as the function sees them: entries, and what is not batched."""
        self.inputs = inputs
        """Hidden values, the batch dim in front, where `batched` says so; other values and numbers as they are."""
        self.batched = batched
        self.params = params
        self.size = size
        """Number of entries."""
        self._out: Any = None

    @property
    def out(self) -> Any:
        """Dims of the result(s) for one entry."""
        if self._out is None:
            self._out = (
                dims_of(self.entries[0]) if self.op.same else infer_dims(self.op, self.entries, self.params)
            )
        return self._out

    def names(self) -> tuple[Names | None, ...]:
        """Return the names of the results; the op's rule is asked where an entry or a parameter has any."""
        if not self._named():
            return (None,) * self.op.outputs
        several = (self.out,) if self.op.outputs == 1 else self.out
        return tuple([None if one.names == UNNAMED[len(one.names)] else one.names for one in several])

    def _named(self) -> bool:
        """Say whether names can come out: where an input has some, or a parameter gives some."""
        for value in self.entries:
            if isinstance(value, Value) and value._names is not None:
                return True
        return bool(self.params) and any(
            key.startswith("name") and self.params[key] is not None for key in self.params
        )

    def shape(self, i: int) -> tuple[int, ...]:
        """Return the shape of input `i` for one entry."""
        value = self.inputs[i]
        if not isinstance(value, Value):
            return ()
        shape: tuple[int, ...] = value.payload.shape
        return shape[1:] if self.batched[i] else shape

    def whole(self, i: int) -> Any:
        """Return input `i` with a batch dim in any case."""
        value = self.inputs[i]
        if self.batched[i]:
            return value
        if not isinstance(value, Value):
            value = new(np.asarray(value))
        return ops.expand(value, sizes=(self.size, *value.payload.shape))

    def run(self, *inputs: Any, **params: Any) -> Any:
        """Run the op itself on hidden values."""
        return apply(self.op, *inputs, **params)

    def sized(self, value: Any) -> Any:
        """Return a hidden result in the sizes of the entries' result."""
        sizes = (self.size, *self.out.sizes)
        return value if value.payload.shape == sizes else ops.reshape(value, sizes=sizes)


Rule = Callable[[Batch], Any]


def one_by_one(batch: Batch) -> Any:
    """Run the call for each entry, and put the results together."""
    results = []
    for entry in range(batch.size):
        inputs = [
            ops.index(value, key=(entry,)) if batched else value
            for value, batched in zip(batch.inputs, batch.batched, strict=True)
        ]
        results.append(batch.run(*inputs, **batch.params))
    if not results:
        return _empty(batch)
    if batch.op.outputs == 1:
        return _stack(results)
    return tuple(_stack(list(entries)) for entries in zip(*results, strict=True))


def _stack(values: list[Any]) -> Any:
    bare = [_bare(value) for value in values]
    return ops.cat(*[ops.reshape(one, sizes=(1, *one.payload.shape)) for one in bare], dim=0)


def _empty(batch: Batch) -> Any:
    """Return the result for no entries: nothing, in the right shape and type."""
    entry = [
        new(Abstract(batch.shape(i), value.payload.dtype)) if isinstance(value, Value) else value
        for i, value in enumerate(batch.inputs)
    ]
    results = without_numbers(batch.op, tuple(entry), batch.params)
    several = results if isinstance(results, tuple) else (results,)
    made = tuple(new(np.zeros((0, *one.payload.shape), one.payload.dtype)) for one in several)
    return made if isinstance(results, tuple) else made[0]


def elementwise(batch: Batch) -> Any:
    """Let the dims of entries meet from the right, as they do for one entry, behind the batch dim."""
    inputs = batch.inputs
    if len(inputs) > 1:
        ranks = [len(value.payload.shape) if isinstance(value, Value) else 0 for value in batch.entries]
        rank = max(ranks)
        # Where entries have fewer dims than others, theirs are filled up between the batch dim and their own:
        # broadcasting would put the batch dim beside a dim of the others.
        for i, own in enumerate(ranks):
            if own < rank and batch.batched[i]:
                shape = batch.shape(i)
                sizes = (batch.size, *(1,) * (rank - own), *shape)
                inputs = (*inputs[:i], ops.reshape(inputs[i], sizes=sizes), *inputs[i + 1 :])
    return apply(batch.op, *inputs, **batch.params)


def along(batch: Batch) -> Any:
    """Run an op along one or several dims of its input, which are one further to the right."""
    dim = batch.params["dim"]
    value = batch.inputs[0]
    if batch.shape(0) or dim == ():
        return batch.run(value, **{**batch.params, "dim": shifted(dim)})
    # An entry without dims takes dim 0 as if it had one.
    results = batch.run(ops.reshape(value, sizes=(batch.size, 1)), **{**batch.params, "dim": shifted(dim)})
    if batch.op.outputs == 1:
        return batch.sized(results)
    return tuple(
        ops.reshape(one, sizes=(batch.size, *out.sizes)) for one, out in zip(results, batch.out, strict=True)
    )


def shifted(dim: Any) -> Any:
    """Return positions of dims behind a batch dim."""
    return dim + 1 if isinstance(dim, int) else tuple([one + 1 for one in dim])


_SCALAR = (int, float, bool, complex, str, np.dtype, type(None))


def rule_for(op: Op, count: int, params: Mapping[str, Any]) -> Rule:
    """Return the rule of a call of `op` on `count` inputs: its op's own, its family's, or one by one."""
    if op.batch is not None:
        return op.batch
    if is_elementwise(op):
        return elementwise
    dim = params.get("dim")
    # A parameter of any other type may name dims or sizes by position, and would be off by one.
    if (
        count == 1
        and isinstance(dim, int | tuple)
        and all(isinstance(value, _SCALAR) for key, value in params.items() if key != "dim")
    ):
        return along
    return one_by_one


def is_elementwise(op: Op) -> bool:
    """Say whether each value that comes out of `op` depends on the values at its own place only."""
    return "elementwise" in op.properties or op.batch is elementwise


class Batching:
    """The interpreter of one `vmap`: it runs calls that touch its entries on all entries together."""

    def __init__(self, size: int) -> None:
        self.size = size

    def wrap(self, value: Any, names: Names | None = None) -> Any:
        """Return an entry that stands for all those of `value`, whose first dim is the batch."""
        return new(Batched(_bare(value), self), names)

    def hold(self, value: Any) -> Any:
        """Return a payload for a value that is the same for all entries, and that the levels below see as it is."""
        return value.payload if self.owns(value) else Batched(_bare(value), self, batched=False)

    def owns(self, value: Any) -> bool:
        """Say whether `value` has a payload of this batch."""
        if not isinstance(value, Value):
            return False
        payload = value.payload
        return type(payload) is Batched and payload.owner is self

    def hidden(self, value: Any) -> tuple[Any, bool]:
        """Return what the levels below see of a value, unnamed, and whether it has the batch dim in front."""
        if not isinstance(value, Value):
            return value, False
        payload = value.payload
        if type(payload) is Batched and payload.owner is self:
            return payload.value, payload.batched
        return _bare(value), False

    def process(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Run the call on all entries by its batching rule; the results are entries."""
        hidden: list[Any] = []
        batched: list[bool] = []
        mine = False
        for value in inputs:
            several = False
            if isinstance(value, Value):
                payload = value.payload
                if type(payload) is Batched and payload.owner is self:
                    value, several, mine = payload.value, payload.batched, True
                elif value._names is not None:
                    # Rules count dims by position and the batch dim has no name: names are worked out apart, by the
                    # dims rule.
                    value = alias(value, None)
            hidden.append(value)
            batched.append(several)
        if not mine:
            return apply(op, *inputs, **params)
        if True not in batched:
            return self._same_for_all(op, inputs, params)
        if len(inputs) > 1 and op.dtype.common is not None:
            hidden = _cast(op, inputs, hidden)
        batch = Batch(op, inputs, tuple(hidden), tuple(batched), params, self.size)
        try:
            results = (op.batch or rule_for(op, len(inputs), params))(batch)
        except DimensionError:
            # The same refusal in terms of one entry, which is what the function deals with.
            infer_dims(op, inputs, params)
            raise
        names = batch.names()
        if type(results) is not tuple:
            return self.wrap(results, names[0])
        return tuple([self.wrap(one, own) for one, own in zip(results, names, strict=True)])

    def _same_for_all(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Run a call once that no entry takes part in."""
        plain = [alias(value.payload.value, value._names) if self.owns(value) else value for value in inputs]
        results = apply(op, *plain, **params)
        if type(results) is not tuple:
            return new(self.hold(results), results._names)
        return tuple([new(self.hold(one), one._names) for one in results])


def _bare(value: Any) -> Any:
    return value if value._names is None else alias(value, None)


def _cast(op: Op, inputs: tuple[Any, ...], hidden: list[Any]) -> list[Any]:
    """Bring inputs of several types together as for one entry: a 0-dim entry is weaker than its batch would be."""
    skip = op.dtype.skip
    first = None
    for value in inputs[skip:]:
        if isinstance(value, Value):
            if first is None:
                first = value.payload.dtype
            elif value.payload.dtype != first:
                break
    else:
        return hidden
    payloads = [value.payload if isinstance(value, Value) else value for value in inputs]
    if mixed_types(op, payloads) is not None:
        return hidden
    target = common_dtype(op, payloads)
    return hidden[:skip] + [
        ops.to(value, dtype=target) if isinstance(value, Value) and value.payload.dtype != target else value
        for value in hidden[skip:]
    ]


def folded(value: Any, dims: int) -> Any:
    """Return a hidden value with its first `dims` dims laid out as one."""
    shape = value.payload.shape
    return ops.reshape(value, sizes=(math.prod(shape[:dims]), *shape[dims:]))
