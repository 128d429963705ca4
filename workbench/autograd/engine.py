"""Backward: walk the tape from an output to the leaves, newest call first, and run each call's gradient rule."""

from __future__ import annotations

import contextvars
import heapq
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.autograd.anomaly import check_results
from workbench.autograd.hooks import replaced, replaced_all
from workbench.base.dims import unify_names
from workbench.base.errors import AutogradError
from workbench.core import dispatch, tape
from workbench.core.backend import device_of, move
from workbench.core.bases import eager
from workbench.core.op import ops
from workbench.core.overlap import repeats
from workbench.core.tape import Call, Keep, Node, alias, leaf_of
from workbench.core.value import Value, dims_of, new
from workbench.core.views import asks
from workbench.tensor import Tensor
from workbench.tensor.tensor import BACKWARD

__all__ = ["backward", "grad"]

_WORTH_TILES = 4096
"""Values that lie across from which a copy is the kernel's: NumPy jumps through memory for each of them."""

Sink = Callable[[Tensor, Tensor], None]


def _seed(output: Tensor, gradient: Tensor | None) -> Tensor:
    """Return the gradient to start from: the one given, checked, or 1 for a single number."""
    if not asks(output) or output._borrowed:
        raise AutogradError(
            "element 0 of tensors does not require grad and does not have a grad_fn: nothing that "
            "made it asked for gradients. "
            "Call requires_grad_() on the inputs before computing."
        )
    if gradient is None:
        array = output.payload
        if math.prod(array.shape) != 1:
            raise AutogradError(
                f"grad can be implicitly created only for scalar outputs, this one has dims {dims_of(output)}. "
                "Reduce it first, e.g. loss.sum().backward(), or pass gradient=."
            )
        if array.dtype.kind == "c":
            raise AutogradError(
                f"grad can be implicitly created only for real scalar outputs but got {output.dtype.name}"
            )
        # An array filled by hand: np.ones is written in Python.
        one = np.empty(array.shape, array.dtype)
        one.fill(1)
        ones: Tensor = new(one if type(array) is np.ndarray else move(one, device_of(array)))
        return ones
    if gradient.shape != output.shape:
        raise AutogradError(
            f"Mismatch in shape: grad_output[0] has a shape of {list(gradient.shape)} and output[0] "
            f"has a shape of {list(output.shape)}."
        )
    if output._names is not None or gradient._names is not None:
        unify_names("backward", dims_of(output), dims_of(gradient))
    bare: Tensor = alias(gradient, None)
    return bare


def _plus(a: Any, b: Any) -> Any:
    return b if a is None else ops.add(a, b)


def _fitting(gradient: Any, value: Any) -> Any:
    """Return a gradient in the type of its value: of a real value only the real part of a gradient counts."""
    wanted, given = value.payload.dtype, gradient.payload.dtype
    if wanted == given:
        return gradient
    if given.kind == "c" and wanted.kind != "c":
        gradient = ops.real(gradient)
    return gradient if gradient.payload.dtype == wanted else ops.to(gradient, dtype=wanted)


current_walk: contextvars.ContextVar[_Walk | None] = contextvars.ContextVar("workbench_walk", default=None)
"""The walk over the tape that is under way."""


class _Walk:
    """One pass over the tape: pending gradients by node and output, newest node first."""

    def __init__(self, retain: bool, sink: Sink, asked: tuple[Tensor, ...] | None) -> None:
        self.retain = retain
        self.sink = sink
        self.asked = asked
        """The values whose gradients are asked for; None if all are."""
        self.stops: dict[tuple[int, int], Tensor] = {}
        self.leading: set[int] | None = None
        """Serials of calls and identities of leaves on a way to what is asked for; None if all are."""
        self.leaves: dict[int, tuple[Any, Any]] = {}
        """Leaves and the sums of the gradients that have reached them, in the order of first arrival."""
        self.shown: dict[int, Any] = {}
        """Payloads that somebody has besides the walk, by identity."""
        self.at_end: list[Callable[[], None]] = []
        """Called once when the walk is over."""
        self.pending: dict[int, list[Any]] = {}
        self.heap: list[tuple[int, Node]] = []

    def limit(self, ends: Sequence[Tensor], asked: Sequence[Tensor]) -> None:
        """Limit the walk to the ways from `ends` to what is asked for."""
        self.stops = {_key(one._grad_fn, one._output): one for one in asked if one._grad_fn is not None}
        self.leading = _leading(ends, asked)

    def arrive(self, value: Any, gradient: Any) -> None:
        """Take a gradient that has reached `value`."""
        # Builtin types of NumPy are one object each; for any other the function looks again.
        if gradient.payload.dtype is not value.payload.dtype:
            gradient = _fitting(gradient, value)
        node = value._grad_fn
        if node is None:
            leaf = leaf_of(value)
            before = self.leaves.get(id(leaf))
            # Summed up to the end of the walk: hooks on a leaf, and what reads `.grad`, see one gradient a walk.
            self.leaves[id(leaf)] = (leaf, gradient if before is None else ops.add(before[1], gradient))
            return
        slots = self.pending.get(node.serial)
        if slots is None:
            slots = self.pending[node.serial] = [None] * node.op.outputs
            # No two calls have the same number, so that calls are never compared themselves.
            heapq.heappush(self.heap, (-node.serial, node))
        slots[value._output] = _plus(slots[value._output], gradient)

    def run(self) -> None:
        """Run every reachable call's rule, newest first, so that its gradient is complete when it runs."""
        heap, pending, leading = self.heap, self.pending, self.leading
        while heap:
            node = heapq.heappop(heap)[1]
            gradients = pending.pop(node.serial)
            ends = leading is not None and not _goes_on(node, leading)
            if ends:
                # Gradients end here, since they were asked for: they are handed out as the hooks leave them.
                if any(_key(node, output) in self.stops for output in range(len(gradients))):
                    if node.hooks:
                        _run_hooks(node, gradients, before=False)
                    self._stop(node, gradients)
                continue
            # As in PyTorch, hooks change what is handed out only where gradients end: where they go on it is handed
            # out as it arrived.
            if self.stops:
                self._stop(node, gradients)
            if node.hooks or node.before:
                _run_hooks(node, gradients)
            call = node.call()
            if leading is not None:
                # Rules leave out what nobody asked for.
                call.needs = tuple(
                    [
                        need and _place(one) in leading
                        for one, need in zip(call.inputs, call.needs, strict=True)
                    ]
                )
            results = node.op.vjp(call, *gradients)  # type: ignore[operator]
            if tape.places:
                check_results(node, results)
            if not self.retain:
                node.release()
            if node.after:
                results = _run_after(node, results, gradients)
            for value, need, gradient in zip(call.inputs, call.needs, results, strict=True):
                if need and gradient is not None:
                    self.arrive(value, gradient)
        for leaf, gradient in self.leaves.values():
            self.sink(leaf, gradient)
        self.end()

    def end(self) -> None:
        """Call what waits for the end of the walk."""
        for function in self.at_end:
            function()

    def _stop(self, node: Node, gradients: list[Any]) -> None:
        """Hand out the gradients of those outputs of a call that were asked for."""
        for output, gradient in enumerate(gradients):
            wanted = self.stops.get(_key(node, output))
            if wanted is not None and gradient is not None:
                self.sink(wanted, gradient)


def _show(*gradients: Any) -> None:
    """Note that somebody besides the walk has seen these gradients, and may keep them."""
    walk = current_walk.get()
    if walk is not None:
        # The payload is held as well: while it lives nobody else gets its identity.
        walk.shown.update((id(one.payload), one.payload) for one in gradients if one is not None)


def _goes_on(node: Node, leading: set[int]) -> bool:
    """Say whether the call that was made leads to what is asked for. Of one that was freed it is not known."""
    return node.inputs is None or any(
        isinstance(one, Value) and one._requires_grad and _place(one) in leading for one in node.sources()
    )


def _run_hooks(node: Node, gradients: list[Any], before: bool = True) -> None:
    """Let hooks on a call's outputs see, and replace, their gradients; then, `before` the rule, those on the call."""
    for output, hook in sorted(node.hooks or (), key=lambda entry: isinstance(entry[1], Keep)):
        if gradients[output] is not None:
            _show(gradients[output])
            changed = replaced(hook, gradients[output], hook(gradients[output]))
            if changed is not gradients[output]:
                gradients[output] = alias(changed, None)
            _show(gradients[output])
    for hook in tuple(node.before or ()) if before else ():
        _show(*gradients)
        gradients[:] = replaced_all(hook, gradients, hook(tuple(gradients)))


def _run_after(node: Node, results: tuple[Any, ...], gradients: list[Any]) -> tuple[Any, ...]:
    for hook in tuple(node.after or ()):
        _show(*results, *gradients)
        results = tuple(replaced_all(hook, results, hook(results, tuple(gradients))))
    return results


def _key(node: Node, output: int) -> tuple[int, int]:
    return node.serial, output


def _place(value: Any) -> int:
    """Return where on the tape a value is: the serial of its call, or the leaf's identity, as a negative number."""
    node = value._grad_fn
    return -id(leaf_of(value)) if node is None else node.serial


def _leading(ends: Sequence[Tensor], starts: Sequence[Tensor]) -> set[int]:
    """Return the places on the tape on some way from `ends` to `starts`: no other gradient need be computed."""
    wanted = {_place(value) for value in starts}
    # What is older than all that is asked for does not lead to it; of leaves the age is not known.
    # Leaves are negative, and no call's number.
    oldest = min(wanted) if min(wanted, default=-1) > 0 else -1
    found: dict[int, list[int] | None] = {}
    pending = [value._grad_fn for value in ends if value._grad_fn is not None]
    while pending:
        node = pending.pop()
        if node.serial in found:
            continue
        if node.inputs is None:
            found[node.serial] = None
            continue
        places = found[node.serial] = []
        for value in node.sources():
            if isinstance(value, Value) and value._requires_grad:
                before = value._grad_fn
                if before is None:
                    places.append(-id(leaf_of(value)))
                elif before.serial >= oldest:
                    places.append(before.serial)
                    pending.append(before)
    for serial in sorted(found):  # what a call was given is older than the call
        places_of = found[serial]
        # Of a call that was freed nothing is known; it is walked to, and says so.
        if places_of is None or not wanted.isdisjoint(places_of):
            wanted.add(serial)
    return wanted


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Tensor | Sequence[Tensor | None] | None = None,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Accumulate the gradients of one tensor, or of several (summed), into ``.grad`` of the leaves they were made from.

    `grad_tensors` are the gradients to start from, None for that of a single number. With `inputs` gradients gather in
    these tensors alone, whether they are leaves or not. With `create_graph` the gradients themselves can be
    differentiated again. `grad_variables` is an older word for `grad_tensors`. Raises `AutogradError` as
    `Tensor.backward` does.

    >>> import workbench as wb
    >>> x = wb.tensor(3.0, requires_grad=True)
    >>> wb.autograd.backward([x * 2, x * x])
    >>> x.grad
    tensor(8.)
    """
    if grad_variables is not None:
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only "
                "use `grad_tensors`."
            )
        grad_tensors = grad_variables
    ends = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)
    given = _each(grad_tensors, len(ends))
    seeds = [(end, _seed(end, one)) for end, one in zip(ends, given, strict=True)]
    starts = None if inputs is None else _starts(inputs)

    def accumulate(leaf: Tensor, gradient: Tensor) -> None:
        if leaf._borrowed or (asked is not None and id(leaf) not in asked):
            return
        if leaf._grad_fn is None:  # hooks on what was computed have run with its call
            gradient = _hooked(leaf, gradient)
        before = leaf.grad
        if before is None:
            # The rule may have handed out its input, or memory that others see: a leaf owns its gradient.
            # The base of what a kernel made is no array, but its place in the pool.
            array = gradient.payload
            if create_graph and type(array) is np.ndarray and repeats(array):
                gradient = ops.clone(gradient)  # into its memory others will be added
            if create_graph:
                leaf._grad = alias(gradient, leaf._names)
            elif type(array) is np.ndarray and (
                isinstance(array.base, np.ndarray) or id(array) in shown or not array.flags.writeable
            ):
                # What lies across is copied in tiles where there is much of it.
                across = array.size >= _WORTH_TILES and not array.flags.c_contiguous
                own = ops.clone(new(array, None)).payload if across else array.copy()
                leaf._grad = new(own, leaf._names)
            else:
                # The same array may have reached another leaf too, which then copies it.
                shown[id(array)] = array
                leaf._grad = new(array, leaf._names)
        elif create_graph or not _added(leaf, before, gradient):
            # With create_graph the sum has to be on the tape, and the old gradient may be on it already.
            leaf._grad = alias(ops.add(alias(before, None), gradient), leaf._names)
        for hook in leaf._after_gathering or ():
            hook(leaf)

    retain = create_graph if retain_graph is None else retain_graph
    if starts is None:
        asked = None
    else:
        asked = {id(one if one._grad_fn is not None else leaf_of(one)) for one in starts}
    walk = _Walk(retain, accumulate, starts)
    shown = walk.shown
    # The caller has the seeds: no leaf may take one for its own memory.
    shown.update((id(seed.payload), seed.payload) for _, seed in seeds)
    _walk(seeds, walk, create_graph)


def _each(given: Any, count: int) -> tuple[Any, ...]:
    """Return one gradient to start from for each of `count` outputs, None where none is given."""
    several = (given,) if isinstance(given, Tensor) else (None,) * count if given is None else tuple(given)
    if len(several) != count:
        raise RuntimeError(f"got {count} tensors and {len(several)} gradients")
    return several


def _starts(inputs: Any) -> tuple[Tensor, ...]:
    """Return in what gradients are to gather; refuse what asks for none."""
    starts = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    if not starts:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    _check_asking(starts)
    return starts


def _check_asking(starts: Sequence[Tensor]) -> None:
    for i, value in enumerate(starts):
        if not asks(value):
            raise AutogradError(
                f"One of the differentiated Tensors (input {i}) does not require grad: call requires_grad_() on it"
            )


def _hooked(leaf: Tensor, gradient: Any) -> Any:
    """Return the gradient of a leaf as the hooks on it leave it."""
    for hook in tuple(leaf._hooks or ()):
        _show(gradient)
        changed = replaced(hook, gradient, hook(alias(gradient, leaf._names)))
        gradient = gradient if changed is gradient else alias(changed, None)
        _show(gradient)
    return gradient


def _added(leaf: Tensor, before: Tensor, gradient: Tensor) -> bool:
    """Add a gradient to what has gathered, in its memory; return False where that cannot be done."""
    here, there = before.payload, gradient.payload
    if (
        type(here) is not np.ndarray
        or type(there) is not np.ndarray
        or (here.dtype, here.shape) != (there.dtype, there.shape)
        or before._inference
        or repeats(here)
    ):
        return False
    if not here.flags.writeable:
        if not _owner_of(here).flags.writeable:
            return False
        here = here.view()
        here.setflags(write=True)  # a view that was stretched to the sizes it had
    np.add(here, there, out=here)
    before._version += 1
    before._names = leaf._names
    return True


def _owner_of(array: Any) -> Any:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _walk(starts: Sequence[tuple[Any, Any]], walk: _Walk, record: bool) -> None:
    """Send the gradients of some outputs down the tape, all at once."""
    token = current_walk.set(walk)
    before = dispatch.enter(record)
    try:
        # The compiled walk checks nothing that rules give: where places are kept for that, Python walks.
        if eager is not None and not tape.places:
            helpers = (Call, ops.add, _fitting, _run_hooks, _run_after)
            eager.walk(list(starts), walk.retain, *helpers, walk.sink, walk.asked)
            walk.end()
        else:
            if walk.asked is not None:
                walk.limit([output for output, _ in starts], walk.asked)
            for output, seed in starts:
                walk.arrive(output, seed)
            walk.run()
    finally:
        dispatch.leave(before)
        current_walk.reset(token)


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Tensor | None, ...]:
    """Return the gradients of `outputs` (summed) with respect to `inputs`, one an input, and leave ``.grad`` alone.

    Gradients carry the names of their inputs. Raises `AutogradError` for an input that the outputs do not depend
    on, unless `allow_unused`, which gives None there.

    >>> import workbench as wb
    >>> x = wb.tensor([1.0, 2.0], names=("C",), requires_grad=True)
    >>> grad((x * x).sum(), x)
    (tensor([2., 4.], names=('C',)),)
    """
    ends = (outputs,) if isinstance(outputs, Tensor) else tuple(outputs)
    starts = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    seeds = (
        (grad_outputs,) if isinstance(grad_outputs, Tensor) or grad_outputs is None else tuple(grad_outputs)
    )
    seeds = seeds + (None,) * (len(ends) - len(seeds))
    _check_asking(starts)
    found: dict[int | tuple[int, int], Any] = {}
    leaves = {id(leaf_of(value)) for value in starts if value._grad_fn is None}

    def collect(value: Tensor, gradient: Tensor) -> None:
        if value._grad_fn is not None:
            key = _key(value._grad_fn, value._output)
            found[key] = _plus(found.get(key), gradient)
        elif id(value) in leaves and not value._borrowed:
            found[id(value)] = _plus(found.get(id(value)), _hooked(value, gradient))

    keep = create_graph if retain_graph is None else retain_graph
    seeded = [(end, _seed(end, seed)) for end, seed in zip(ends, seeds, strict=True)]
    _walk(seeded, _Walk(keep, collect, starts), create_graph)
    results = []
    for i, value in enumerate(starts):
        key = id(leaf_of(value)) if value._grad_fn is None else _key(value._grad_fn, value._output)
        gradient = found.get(key)
        if gradient is None and not allow_unused:
            raise AutogradError(
                f"One of the differentiated Tensors (input {i}) appears to not have been used in the graph. "
                "Set allow_unused=True if this is the desired behavior."
            )
        results.append(None if gradient is None else alias(gradient, value._names))
    return tuple(results)


BACKWARD.give(backward)
