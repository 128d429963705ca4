"""Softmax over very many classes: the frequent ones at once, the rare ones in clusters looked at when needed."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from workbench.base.errors import DimensionError, DimensionIndexError
from workbench.core.value import dims_of
from workbench.nn import functional
from workbench.nn.module import Module
from workbench.nn.modules.container import ModuleList, Sequential
from workbench.nn.modules.linear import Linear
from workbench.ops.shape.join import cat
from workbench.tensor import Tensor
from workbench.tensor.factories import zeros

__all__ = ["ASMoutput", "AdaptiveLogSoftmaxWithLoss"]


class ASMoutput(NamedTuple):
    """What `AdaptiveLogSoftmaxWithLoss` returns: log-probabilities of the targets, and the loss."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Logarithm of softmax over `n_classes` classes, sorted by how frequent they are, and its loss. Grave et al. 2017.

    Classes below ``cutoffs[0]`` are in the head, those between two cutoffs in one cluster each, whose own input is
    smaller by `div_value` from cluster to cluster. Input [N, in_features] or [in_features], target [N] or []; returns
    the log-probability of each target, [N] or [], and the mean of their negatives. Raises ValueError for cutoffs that
    are not increasing whole numbers between 1 and n_classes - 1, RuntimeError for targets that are no classes.

    >>> import workbench as wb
    >>> layer = AdaptiveLogSoftmaxWithLoss(8, 100, cutoffs=[10, 50])
    >>> output, loss = layer(wb.zeros(N=3, features=8), wb.tensor([0, 20, 99]))
    >>> output.names, loss.shape
    (('N',), ())
    """

    head: Linear
    tail: ModuleList

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        _check_cutoffs(cutoffs, n_classes)
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = cutoffs[0]
        self.n_clusters = len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, device=device, dtype=dtype)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(itertools.pairwise(self.cutoffs)):
            # Rare classes have few examples, so they get fewer features to learn from.
            hidden = int(in_features // div_value ** (i + 1))
            self.tail.append(
                Sequential(
                    Linear(in_features, hidden, bias=False, device=device, dtype=dtype),
                    Linear(hidden, high - low, bias=False, device=device, dtype=dtype),
                )
            )

    def reset_parameters(self) -> None:
        """Draw new weights for all linear maps."""
        for module in self.modules():
            if isinstance(module, Linear):
                module.reset_parameters()

    def forward(self, input_: Any, target_: Any) -> ASMoutput:
        """Return the log-probability of each target, and the loss."""
        name = _check_batch(input_, target_)
        batched = target_.ndim == 1
        # Without names: rows are picked by cluster, and put together again.
        rows, classes = input_.rename(None), target_.rename(None)
        if not batched:
            rows, classes = rows.unsqueeze(0), classes.unsqueeze(0)
        self._check_target(classes)
        output = zeros(len(classes), dtype=rows.dtype, device=rows.device)
        places = classes
        for i, (low, high) in enumerate(itertools.pairwise(self.cutoffs)):
            mine = (classes >= low) & (classes < high)
            members = mine.nonzero().squeeze(1)
            # This is what saves time: a cluster that no target lies in is not computed.
            if members.numel() == 0:
                continue
            scores = functional.log_softmax(self.tail[i](rows.index_select(0, members)).rename(None), 1)
            own = scores.gather(1, (classes.index_select(0, members) - low).unsqueeze(1)).squeeze(1)
            output = output.index_add(0, members, own)
            # To the head, a cluster is one class more.
            places = places.masked_fill(mine, self.shortlist_size + i)
        head = functional.log_softmax(self.head(rows).rename(None), 1)
        output = output + head.gather(1, places.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return ASMoutput(output.rename(name) if batched else output.squeeze(0), loss)

    def _check_target(self, classes: Any) -> None:
        if classes.numel() and (classes.min().item() < 0 or classes.max().item() >= self.n_classes):
            raise DimensionIndexError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{classes.min().item()}, {classes.max().item()}] were found.",
                op="AdaptiveLogSoftmaxWithLoss",
            )

    def log_prob(self, input: Any) -> Any:
        """Return the log-probabilities of all classes, [N, n_classes], of input [N, in_features]."""
        name = input._names[0] if input._names is not None else None
        rows = input.rename(None)
        head = functional.log_softmax(self.head(rows).rename(None), 1)
        parts = [head[:, : self.shortlist_size]]
        for i, projection in enumerate(self.tail):
            scores = functional.log_softmax(projection(rows).rename(None), 1)
            at = self.shortlist_size + i
            # P(class) = P(cluster)·P(class | cluster).
            parts.append(scores + head[:, at : at + 1])
        return cat(parts, 1).rename(name, "out_features")

    def predict(self, input: Any) -> Any:
        """Return the most likely class of each row, [N], of input [N, in_features]."""
        name = input._names[0] if input._names is not None else None
        rows = input.rename(None)
        best = self.head(rows).rename(None).argmax(1)
        # The best of the head is the best of all, unless it is a cluster: only those rows are worked out.
        beyond = (best >= self.shortlist_size).nonzero().squeeze(1)
        if beyond.numel():
            found = self.log_prob(rows.index_select(0, beyond)).rename(None).argmax(1)
            best = best.index_copy(0, beyond, found)
        return best.rename(name)


def _check_cutoffs(cutoffs: list[int], n_classes: int) -> None:
    if not cutoffs:
        raise ValueError("cutoffs should be a sequence of length larger than 0")
    if (
        cutoffs != sorted(set(cutoffs))
        or cutoffs[0] <= 0
        or cutoffs[-1] > n_classes - 1
        or any(int(one) != one for one in cutoffs)
    ):
        raise ValueError(
            "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
            f"value is between 1 and n_classes-1, got {cutoffs} for {n_classes} classes"
        )


def _check_batch(input: Any, target: Any) -> str | None:
    """Refuse sizes that do not go together; return the name of the batch."""
    x, t = dims_of(input), dims_of(target)
    operands, fix = (x.operand("input"), t.operand("target")), ""
    if len(t.sizes) > 1:
        message = "0D or 1D target tensor expected, multi-target not supported"
    elif len(x.sizes) != len(t.sizes) + 1:
        message = (
            f"{len(t.sizes)}D target tensor expects {len(t.sizes) + 1}D input tensors, but found inputs with size "
            f"{list(x.sizes)}"
        )
    elif x.sizes[:-1] != t.sizes:
        message = "Input and target should have the same size in the batch dimension."
    else:
        names = {one for one in (*x.names[:-1], *t.names) if one is not None}
        if len(names) < 2:
            return names.pop() if names else None
        message = f"the batch is called {x.names[0]!r} in the input and {t.names[0]!r} in the target"
        fix = f"target.rename({t.names[0]}={x.names[0]!r})  # if they mean the same"
    raise DimensionError(message, op="AdaptiveLogSoftmaxWithLoss", operands=operands, fix=fix)
