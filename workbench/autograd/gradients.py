"""`grad` as people call it: with gradients of a whole batch of directions, and zeros for what was not used."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from workbench.autograd import engine
from workbench.autograd.vmap import vmap
from workbench.base.errors import AutogradError
from workbench.tensor import Tensor
from workbench.tensor.factories import zeros_like

__all__ = ["grad"]


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """Return the gradients of `outputs` (summed) with respect to `inputs`, one an input, and leave ``.grad`` alone.

    Gradients carry the names of their inputs. With `is_grads_batched` the first dim of each of `grad_outputs` counts
    directions, and so does that of the results. An input that the outputs do not depend on is an `AutogradError`,
    unless `allow_unused`, which gives None there, or `materialize_grads`, which gives zeros. `only_inputs` is an older
    word: it is always so that gradients gather nowhere else.

    >>> import workbench as wb
    >>> x = wb.tensor([1.0, 2.0], names=("C",), requires_grad=True)
    >>> wb.autograd.grad((x * x).sum(), x)
    (tensor([2., 4.], names=('C',)),)
    >>> wb.autograd.grad(x * x, x, wb.eye(2), is_grads_batched=True)
    (tensor([[2., 0.],
            [0., 4.]], names=(None, 'C')),)
    """
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
            "other parts of the graph, please use backward.",
            FutureWarning,
            stacklevel=2,
        )
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    unused = bool(allow_unused) or materialize_grads
    starts = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)

    def once(*seeds: Tensor | None) -> tuple[Tensor | None, ...]:
        given = seeds if seeds else grad_outputs
        found = engine.grad(outputs, starts, given, retain_graph, create_graph, unused)
        if not materialize_grads:
            return found
        return tuple(
            zeros_like(start) if one is None else one for one, start in zip(found, starts, strict=True)
        )

    if not is_grads_batched:
        return once()
    directions = (grad_outputs,) if isinstance(grad_outputs, Tensor) else tuple(grad_outputs or ())
    if not directions or any(one is None for one in directions):
        raise AutogradError(
            "is_grads_batched=True takes the directions from grad_outputs: give one tensor an output, with a first dim "
            "that counts them"
        )
    return vmap(once)(*directions)  # type: ignore[no-any-return]
