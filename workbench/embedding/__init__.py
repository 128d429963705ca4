"""Points of high-dimensional spaces: projected, searched for neighbours, and selected from.

>>> import workbench as wb
>>> vectors = wb.tensor([[0.0, 1.0, 0.0], [0.0, 2.0, 0.0], [3.0, 0.0, 0.0]], names=("N", "features"))
>>> embedding = wb.embedding.Embedding(vectors, labels=["up", "up", "right"]).project(dims=2)
>>> embedding.neighbours(0, k=1).indices.tolist()
[1]
"""

from __future__ import annotations

import sys

from workbench import nn
from workbench.base.module_types import CallableModule
from workbench.base.public import words
from workbench.embedding.activations import activations, mistakes, weights
from workbench.embedding.aligned import aligned, procrustes
from workbench.embedding.all_neighbours import all_neighbours
from workbench.embedding.clusters import Clusters
from workbench.embedding.columns import Column
from workbench.embedding.density import Density, density
from workbench.embedding.embedding import Embedding
from workbench.embedding.neighbours import Near, neighbours
from workbench.embedding.pca import PCA
from workbench.embedding.projection import Projection
from workbench.embedding.quality import Change, Quality, compare, quality
from workbench.embedding.texts import sentence_embeddings, word_vectors
from workbench.tensor import Tensor

__all__ = [
    "PCA", "Change", "Clusters", "Column", "Density", "Embedding", "Near", "Projection", "Quality", "activations",
    "aligned", "all_neighbours", "compare", "density", "mistakes", "neighbours", "procrustes", "quality",
    "sentence_embeddings", "weights", "word_vectors",
]  # fmt: skip


def __call__(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Return the rows of `weight` [n, embedding_dim] at `indices`: PyTorch's function of this room's name.

    >>> import workbench as wb
    >>> wb.embedding(wb.eye(3), wb.tensor([2]))
    tensor([[0., 0., 1.]])
    """
    return nn.functional.embedding(
        indices,
        weight,
        None if padding_idx == -1 else padding_idx,
        scale_grad_by_freq=scale_grad_by_freq,
        sparse=sparse,
    )


sys.modules[__name__].__class__ = CallableModule

__getattr__, __dir__ = words(__name__, __all__)
