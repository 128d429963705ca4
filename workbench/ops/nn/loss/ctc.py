"""Connectionist temporal classification: the likelihood of a sequence, whatever its timing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.base.dims import Dims, unify_names
from workbench.base.dtypes import as_places
from workbench.base.errors import DimensionError, DTypeError
from workbench.core.dtype_rules import KEEP
from workbench.core.families import grid
from workbench.core.op import Absent, BadInput, Op, Sample, Saves, ops
from workbench.core.quantization import GRADIENT, LOSS
from workbench.core.tape import Call
from workbench.core.typing import Tensor
from workbench.core.value import Value, dims_of, new
from workbench.ops.nn.loss.cross_entropy import check_reduction, reduce_loss
from workbench.ops.offer import offered


def _padded(targets: Any, lengths: Any) -> Any:
    """Return targets as [N, longest]: they come like that, or one after another in one row."""
    if targets.ndim == 2:
        return targets
    out = np.zeros((len(lengths), int(lengths.max(initial=0))), targets.dtype)
    ends = np.cumsum(lengths)
    for row, (end, length) in enumerate(zip(ends, lengths, strict=True)):
        out[row, :length] = targets[end - length : end]
    return out


def _states(targets: Any, lengths: Any, blank: int) -> tuple[Any, Any, Any]:
    """Return the states [N, S] (a blank around each class), how many each has, and where two steps may be taken."""
    targets = _padded(targets, lengths)[:, : int(lengths.max(initial=0))]
    states = np.full((len(lengths), 2 * targets.shape[1] + 1), blank, np.int64)
    states[:, 1::2] = targets
    skip = np.zeros(states.shape, np.bool_)
    # The blank between two classes may be left out unless they are the same: it is all that tells them apart.
    skip[:, 3::2] = targets[:, 1:] != targets[:, :-1]
    return states, 2 * lengths + 1, skip


def _check_ctc(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any) -> None:
    if log_probs.dtype.kind == "c":
        raise DTypeError("ctc_loss is not defined for complex log-probabilities: take real first")
    time = log_probs.shape[0]
    longest = int(input_lengths.max(initial=0))
    if longest > time or (input_lengths < 0).any():
        raise DimensionError(
            f"Expected input_lengths to have value at most {time}, but got value {longest}", op="ctc_loss"
        )
    if targets.ndim == 1 and int(target_lengths.sum()) != len(targets):
        raise DimensionError(
            f"Expected tensor to have size {int(target_lengths.sum())} at dimension 0, but got size {len(targets)} for "
            "the targets: their lengths add up to that",
            op="ctc_loss",
        )
    if targets.ndim == 2 and int(target_lengths.max(initial=0)) > targets.shape[1]:
        raise DimensionError(
            f"Expected tensor to have size at least {int(target_lengths.max())} at dimension 1, but got size "
            f"{list(targets.shape)} for the targets",
            op="ctc_loss",
        )


def _step(previous: Any, skip: Any) -> Any:
    """One step in time: ln of the sum over staying, going on by one state, and by two where that is allowed."""
    one = np.full_like(previous, -np.inf)
    one[:, 1:] = previous[:, :-1]
    two = np.full_like(previous, -np.inf)
    two[:, 2:] = np.where(skip[:, 2:], previous[:, :-2], -np.inf)
    return np.logaddexp(np.logaddexp(previous, one), two)


def _forwards(log_probs: Any, states: Any, skip: Any) -> Any:
    """Return ln α [T, N, S]: of all ways to have come to a state by a time, that time's class included."""
    time, batch = log_probs.shape[:2]
    emitted = np.take_along_axis(log_probs, np.broadcast_to(states, (time, *states.shape)), 2)
    alpha = np.full((time, batch, states.shape[1]), -np.inf, log_probs.dtype)
    if time:
        alpha[0, :, :2] = emitted[0, :, :2]
    for t in range(1, time):
        alpha[t] = _step(alpha[t - 1], skip) + emitted[t]
    return alpha


def _likelihood(log_probs: Any, alpha: Any, counts: Any, input_lengths: Any) -> Any:
    """Return -ln of all ways that end where they should."""
    rows = np.arange(len(counts))
    at = np.maximum(input_lengths - 1, 0)
    if not len(alpha):
        last = np.full(len(counts), -np.inf, log_probs.dtype)
    else:
        # It ends in the blank behind the last class, or in that class.
        last = alpha[at, rows, counts - 1]
        before = alpha[at, rows, np.maximum(counts - 2, 0)]
        last = np.where(counts > 1, np.logaddexp(last, before), last)
    # In no time there is one way to say nothing, and none to say anything.
    none = input_lengths == 0
    return -np.where(none, np.where(counts == 1, 0, -np.inf), last).astype(log_probs.dtype, copy=False)


def _ctc(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int) -> Any:
    _check_ctc(log_probs, targets, input_lengths, target_lengths)
    states, counts, skip = _states(targets, target_lengths, blank)
    wide = log_probs.astype(np.float64, copy=False)  # sums over time lose digits
    alpha = _forwards(wide, states, skip)
    return _likelihood(wide, alpha, counts, input_lengths).astype(log_probs.dtype, copy=False)


def _ctc_dims(x: Dims, targets: Dims, input_lengths: Dims, target_lengths: Dims, blank: int) -> Dims:
    if len(x.sizes) != 3:
        raise DimensionError(
            f"log_probs are [T, N, C], got {list(x.sizes)}", op="ctc_loss", operands=(x.operand("log_probs"),)
        )
    if not 0 <= blank < x.sizes[2]:
        raise DimensionError(
            f"blank must be in label range [0, {x.sizes[2]}), got {blank}",
            op="ctc_loss",
            operands=(x.operand("log_probs", [2]),),
        )
    for label, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if lengths.sizes != (x.sizes[1],):
            raise DimensionError(
                f"{label} must be of size batch_size: [{x.sizes[1]}], got {list(lengths.sizes)}",
                op="ctc_loss",
                operands=(x.operand("log_probs", [1]),),
            )
    if len(targets.sizes) == 2 and targets.sizes[0] != x.sizes[1]:
        raise DimensionError(
            f"targets are [N, S] with N={x.sizes[1]}, as log_probs have it, or all in one row; got "
            f"{list(targets.sizes)}",
            op="ctc_loss",
            operands=(x.operand("log_probs", [1]), targets.operand("targets", [0])),
        )
    batch = Dims(x.names[1:2], x.sizes[1:2])
    for one in (targets if len(targets.sizes) == 2 else None, input_lengths, target_lengths):
        if one is not None:
            batch = Dims(unify_names("ctc_loss", batch, Dims(one.names[:1], one.sizes[:1])), batch.sizes)
    return batch


def _ctc_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    gradient = ops.ctc_loss_gradient(g, *c.inputs, **c.params) if c.needs[0] else None
    return gradient, None, None, None


def _ctc_sample(inner: Any) -> Sample:
    x = grid(5, 2, 4)
    log_probs = x - np.log(np.exp(x).sum(2, keepdims=True))
    targets, times, lengths = np.array([[1, 1], [2, 3]]), np.array([5, 4]), np.array([2, 1])
    return Sample((*inner, log_probs, targets, times, lengths), {"blank": 0})


CTC_LOSS = Op(
    name="ctc_loss",
    doc="Negative log-likelihood of sequences over all their timings, with a blank between classes.",
    equation="y_n = -ln Σ over alignments π of target_n of Π_t p[t, n, π_t]",
    reference="Graves et al. 2006",
    dims=_ctc_dims,
    rule="[T, N, C], [N, S], [N], [N] -> [N]",
    dtype=KEEP,
    forward=_ctc,
    vjp=_ctc_vjp,
    saves=Saves(None, output=False),
    cost=lambda dims, out, **params: 6.0 * dims[0].sizes[0] * dims[1].numel,
    samples=lambda: [_ctc_sample(())],
    bad=lambda: [
        BadInput(
            (grid(5, 2, 4), np.array([[1], [2]]), np.array([6, 4]), np.array([1, 1])),
            {"blank": 0},
            DimensionError,
            "input_lengths to have value at most 5",
        ),
        BadInput(
            (grid(5, 2, 4), np.array([[1], [2]]), np.array([5]), np.array([1, 1])),
            {"blank": 0},
            DimensionError,
            "must be of size batch_size",
        ),
        BadInput(
            (grid(5, 2, 4), np.array([[1], [2]]), np.array([5, 4]), np.array([1, 1])),
            {"blank": 4},
            DimensionError,
            "blank must be in label range",
        ),
    ],
    # The gradient is that of log-probabilities that stay normalised, as PyTorch has it: what a log_softmax before
    # them would take away is taken away already.
    properties=frozenset({"estimate", "wide"}),
    quantized=LOSS,
)


def _ctc_gradient(
    g: Any, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int
) -> Any:
    dtype = log_probs.dtype
    log_probs = log_probs.astype(np.float64, copy=False)
    states, counts, skip = _states(targets, target_lengths, blank)
    alpha = _forwards(log_probs, states, skip)
    loss = _likelihood(log_probs, alpha, counts, input_lengths)
    time, batch, classes = log_probs.shape
    rows, width = np.arange(batch), states.shape[1]
    emitted = np.take_along_axis(log_probs, np.broadcast_to(states, (time, *states.shape)), 2)
    within = np.arange(width) < counts[:, None]
    # What may be skipped to, seen from where the skip starts.
    ahead = np.zeros_like(skip)
    ahead[:, :-2] = skip[:, 2:]
    beta = np.full((batch, width), -np.inf, log_probs.dtype)
    out = np.zeros_like(log_probs)
    with np.errstate(invalid="ignore"):
        for t in range(time - 1, -1, -1):
            one, two = np.full_like(beta, -np.inf), np.full_like(beta, -np.inf)
            one[:, :-1] = beta[:, 1:]
            two[:, :-2] = np.where(ahead[:, :-2], beta[:, 2:], -np.inf)
            beta = np.logaddexp(np.logaddexp(beta, one), two)
            # Sequences that end at this time come in here.
            ending = np.flatnonzero(input_lengths - 1 == t)
            beta[ending] = -np.inf
            beta[ending, counts[ending] - 1] = 0
            beta[ending, np.maximum(counts[ending] - 2, 0)] = 0
            beta = np.where(within, beta, -np.inf)
            beta += emitted[t]
            # α and β both count this time's class, so it is taken out once.
            share = np.exp(alpha[t] + beta - emitted[t] + loss[:, None])
            share = np.where(np.isfinite(beta) & np.isfinite(alpha[t]), share, 0)
            posterior = np.zeros((batch, classes), log_probs.dtype)
            np.add.at(posterior, (rows[:, None], states), share)
            out[t] = (np.exp(log_probs[t]) - posterior) * (t < input_lengths)[:, None]
        impossible = np.isinf(loss)
        out[:, impossible] = np.where(
            (np.arange(time)[:, None] < input_lengths[impossible])[..., None], np.nan, 0
        )
        # An infinite loss that was set to 0 has no gradient, rather than 0·NaN.
        return np.where(g[None, :, None] == 0, 0, out * g[None, :, None]).astype(dtype, copy=False)


CTC_LOSS_GRADIENT = Op(
    name="ctc_loss_gradient",
    doc="Gradient of ctc_loss for log-probabilities that come out of log_softmax.",
    equation="y[t, n, c] = g_n·(p[t, n, c] - P(class c at t | target_n))",
    reference="Graves et al. 2006, equation 16",
    dims=lambda g, x, *others, blank: Dims((None,) * 3, x.sizes),
    rule="an unnamed tensor of the sizes of the log-probabilities",
    dtype=KEEP,
    forward=_ctc_gradient,
    vjp=Absent(
        "the gradient of ctc_loss holds for normalised log-probabilities only, so that it has none itself"
    ),
    saves=Saves((), output=False),
    cost=lambda dims, out, **params: 12.0 * dims[1].sizes[0] * dims[2].numel,
    samples=lambda: [_ctc_sample((grid(2, seed=3),))],
    quantized=GRADIENT,
)

# ---------------------------------------------------------------------------------- the words people use


def _lengths(lengths: Any, label: str) -> Any:
    value: Any = lengths if isinstance(lengths, Value) else new(np.asarray(lengths, np.int64))
    if value.payload.dtype.kind not in "iu":
        raise DTypeError(f"{label} must be integral, got {value.dtype.name}")
    return value if len(value.payload.shape) else ops.reshape(value, sizes=(1,))


@offered("workbench", "nn.functional")
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Negative log-likelihood of sequences of classes over all their timings. Graves et al. 2006.

    Shapes: log_probs [T, N, C] (or [T, C]) out of log_softmax; targets [N, S], or all of them in one row; how much of
    each counts in input_lengths and target_lengths [N]. The mean divides each loss by its target's length first. A
    target that does not fit into its time has an infinite loss, or with `zero_infinity` none.

    >>> import workbench as wb
    >>> scores = wb.log_softmax(wb.zeros(2, 1, 2), 2)
    >>> round(wb.nn.functional.ctc_loss(scores, wb.tensor([[1]]), (2,), (1,), reduction="sum").item(), 4)
    0.2877
    """
    check_reduction(reduction)
    if targets.payload.dtype.kind not in "iu":
        raise DTypeError(
            f"targets must be integral, got {targets.dtype.name}. Cast them: {as_places('targets', targets.dtype)}"
        )
    batched = len(dims_of(log_probs).sizes) != 2
    if not batched:
        log_probs = ops.unsqueeze(log_probs, dim=1, name=None)
        if len(dims_of(targets).sizes) == 1:
            targets = ops.unsqueeze(targets, dim=0, name=None)
    times, lengths = _lengths(input_lengths, "input_lengths"), _lengths(target_lengths, "target_lengths")
    loss = ops.ctc_loss(log_probs, targets, times, lengths, blank=blank)
    if zero_infinity:
        loss = ops.where(ops.eq(loss, np.inf), 0.0, loss)
    if reduction == "mean":
        counted = ops.to(ops.clamp(lengths, low=1, high=None), dtype=loss.payload.dtype)
        return reduce_loss(ops.div(loss, counted), "mean")
    if reduction == "none" and not batched:
        return ops.squeeze(loss, dim=(0,))
    return reduce_loss(loss, reduction)
