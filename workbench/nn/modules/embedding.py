"""Tables whose rows are learned, picked by whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.core import dispatch
from workbench.nn import functional, init
from workbench.nn.module import Module
from workbench.nn.parameter import Parameter
from workbench.nn.positional_dims import check_places
from workbench.nn.spatial_names import require_size
from workbench.tensor import Tensor
from workbench.tensor.factories import empty

__all__ = ["Embedding", "EmbeddingBag"]

LABELS = ("num_embeddings", "embedding_dim")
"""Names of the dims of a table."""


class _Table(Module):
    """A table of rows, of which one may stand for padding."""

    weight: Parameter

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        max_norm: float | None,
        norm_type: float,
        scale_grad_by_freq: bool,
        sparse: bool,
        given: Tensor | None,
        learned: bool,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        require_size(0, num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = _row(padding_idx, num_embeddings)
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        if given is None:
            table = empty(num_embeddings, embedding_dim, device=device, dtype=dtype)
            self.weight = Parameter(table, learned, dim_labels=LABELS)
            self.reset_parameters()
        else:
            if given.shape != (num_embeddings, embedding_dim):
                raise AssertionError(
                    "Shape of weight does not match num_embeddings and embedding_dim: "
                    f"{list(given.shape)} is not [{num_embeddings}, {embedding_dim}]"
                )
            # Labels that the rows bring are kept.
            self.weight = Parameter(given, learned, dim_labels=LABELS if given._labels is None else None)

    def reset_parameters(self) -> None:
        """Draw new rows from the normal distribution; that of padding is 0."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            # Nobody may write to a view of a leaf that asks for gradients, unless nothing is recorded.
            with dispatch.no_grad():
                self.weight[self.padding_idx].fill_(0)

    def _settings(self) -> list[str]:
        """Return what the printed forms of both tables have in common."""
        parts = [f"{self.num_embeddings}, {self.embedding_dim}"]
        if self.max_norm is not None:
            parts.append(f"max_norm={self.max_norm}")
        if self.norm_type != 2:
            parts.append(f"norm_type={self.norm_type}")
        if self.scale_grad_by_freq:
            parts.append(f"scale_grad_by_freq={self.scale_grad_by_freq}")
        if self.sparse:
            parts.append("sparse=True")
        return parts


def _row(padding_idx: int | None, count: int) -> int | None:
    """Return the row that stands for padding, counted from the start."""
    if padding_idx is None:
        return None
    if not isinstance(padding_idx, int | np.integer):
        raise TypeError(f"padding_idx is the number of a row, or None, got {padding_idx!r}")
    if not -count <= padding_idx < count:
        raise AssertionError(
            f"Padding_idx must be within num_embeddings: {padding_idx} is not in [{-count}, {count})"
        )
    return padding_idx % count


def _check_table(embeddings: Tensor) -> None:
    if embeddings.ndim != 2:
        raise AssertionError(
            f"Embeddings parameter is expected to be 2-dimensional: [num_embeddings, embedding_dim], got "
            f"{list(embeddings.shape)}"
        )


class Embedding(_Table):
    """A table of `num_embeddings` learned rows, picked by whole numbers: y = weight[input].

    Input […] of whole numbers, output […, embedding_dim]. The row `padding_idx` starts as 0 and gets no gradient.
    With `max_norm`, rows picked whose `norm_type`-norm is above it are scaled down to it, in place. With
    `scale_grad_by_freq`, a row's gradient is divided by how often it is picked. With `sparse` the gradient of the table
    is a sparse tensor of the rows that were picked, which `SGD`, `Adagrad` and `SparseAdam` take. Raises IndexError for
    a number without a row, `DTypeError` for numbers that are not whole.

    >>> import workbench as wb
    >>> Embedding(10, 3, padding_idx=0)(wb.tensor([[0, 4]], names=("N", "T"))).names
    ('N', 'T', 'embedding_dim')
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, _weight,
            not _freeze, device, dtype,
        )  # fmt: skip

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """Return a table of the rows [num_embeddings, embedding_dim] given, whose memory it shares.

        The rows are not learned, unless `freeze` is False.

        >>> import workbench as wb
        >>> Embedding.from_pretrained(wb.tensor([[1.0, 2.0], [3.0, 4.0]]))(wb.tensor([1]))
        tensor([[3., 4.]])
        """
        _check_table(embeddings)
        rows, columns = embeddings.shape
        return cls(
            rows, columns, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, embeddings, freeze
        )

    def forward(self, input: Any) -> Any:
        """Pick rows."""
        return functional.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        """Return the settings."""
        parts = self._settings()
        if self.padding_idx is not None:
            parts.insert(1, f"padding_idx={self.padding_idx}")
        return ", ".join(parts)


class EmbeddingBag(_Table):
    """A table of learned rows, picked by whole numbers and brought together by bags: their sum, mean or max.

    Input [N, n], of which each row is a bag, or one long row with `offsets` [N], where each bag starts (with
    `include_last_offset` also where the last one ends); output [N, embedding_dim]. `per_sample_weights`, in the
    input's shape, weigh a sum. Rows at `padding_idx` do not count; a bag without rows gives zeros.

    >>> import workbench as wb
    >>> table = EmbeddingBag.from_pretrained(wb.tensor([[1.0, 2.0], [3.0, 4.0]]), mode="sum")
    >>> table(wb.tensor([[0, 1], [1, 1]], names=("N", None)))
    tensor([[4., 6.],
            [6., 8.]], names=('N', 'embedding_dim'))
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, _weight,
            True, device, dtype,
        )  # fmt: skip
        self.mode = mode
        self.include_last_offset = include_last_offset

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """Return a table of the rows [num_embeddings, embedding_dim] given, whose memory it shares.

        The rows are not learned, unless `freeze` is False.
        """
        _check_table(embeddings)
        rows, columns = embeddings.shape
        table = cls(
            rows, columns, max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings, include_last_offset,
            padding_idx,
        )  # fmt: skip
        # The constructor cannot be told so: PyTorch gave `_freeze` to `Embedding` alone.
        table.weight.requires_grad_(not freeze)
        return table

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        """Pick rows and bring them together."""
        if len(input.payload.shape) == 2:
            check_places("EmbeddingBag", input, N=0)
        return functional.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset,
            padding_idx=self.padding_idx,
        )

    def extra_repr(self) -> str:
        """Return the settings."""
        parts = [*self._settings(), f"mode={self.mode!r}"]
        if self.padding_idx is not None:
            parts.append(f"padding_idx={self.padding_idx}")
        return ", ".join(parts)
