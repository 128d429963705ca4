"""Writing through a view, as a function: the tensor that comes of it, with gradients for both."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from workbench.base.dims import Dims, broadcast
from workbench.base.errors import DimensionError
from workbench.core.batching import Rule
from workbench.core.families import unbroadcast
from workbench.core.op import Absent, BadInput, Op, Sample
from workbench.core.quantization import WRITTEN
from workbench.core.tape import Call
from workbench.ops.shape.movement import MOVES, move

__all__ = ["fits", "writer"]


def fits(op: str, x: Dims, target: Dims, value: Dims) -> Dims:
    """Return the dims of `x` after `value` was written to a part of it with the dims `target`; refuse a misfit."""
    together = broadcast(op, target, value)
    if together.sizes != target.sizes:
        raise DimensionError(
            f"shape mismatch: value of shape {list(value.sizes)} cannot be broadcast to the part of shape "
            f"{list(target.sizes)} that it is written to",
            op=op,
            operands=(x.operand("input"), value.operand("value")),
        )
    return x


def writer(
    name: str,
    view: Op,
    samples: Callable[[], Iterable[Sample]],
    bad: Callable[[], Iterable[BadInput]] = list,
    forward: Callable[..., Any] | None = None,
    vjp: Callable[[Call, Any], tuple[Any, ...]] | None = None,
    batch: Rule | None = None,
) -> Op:
    """Declare the op that returns its first operand with the part that `view` shows replaced by the second.

    `forward` and `vjp` are for a part that the view of an array does not show: one that is found by memory.
    """

    def dims(x: Dims, value: Dims, **params: Any) -> Dims:
        part = view.dims(x, **params)
        assert isinstance(part, Dims)
        return fits(name, x, part, value)

    def written(x: Any, value: Any, **params: Any) -> Any:
        out = x.copy()
        view.forward(out, **params)[...] = value
        return out

    def of_parts(c: Call, g: Any) -> tuple[Any, ...]:
        return (
            op(g, 0.0, **c.params) if c.needs[0] else None,
            unbroadcast(view(g, **c.params), c.inputs[1]) if c.needs[1] else None,
        )

    op = move(
        name,
        f"A tensor with the part that {view.name} shows replaced.",
        "y = x; view(y) = value",
        dims=dims,
        rule="as the input; the value's names unify with those of the part, its sizes broadcast",
        forward=forward or written,
        vjp=vjp or of_parts,
        samples=samples,
        bad=bad,
        properties=MOVES,
        batch=batch,
        quantized=WRITTEN,
        sparse=Absent("Cannot assign to a sparse tensor: another takes its place, or add_() adds one to it"),
    )
    return op
