"""Points of high-dimensional spaces: projected, searched for neighbours, and selected from.

>>> import workbench as wb
>>> vectors = wb.tensor([[0.0, 1.0, 0.0], [0.0, 2.0, 0.0], [3.0, 0.0, 0.0]], names=("N", "features"))
>>> embedding = wb.embedding.Embedding(vectors, labels=["up", "up", "right"]).project(dims=2)
>>> embedding.neighbours(0, k=1).indices.tolist()
[1]
"""

from __future__ import annotations

from workbench.embedding.embedding import Embedding, Projection
from workbench.embedding.neighbours import Near, neighbours
from workbench.embedding.pca import PCA

__all__ = ["PCA", "Embedding", "Near", "Projection", "neighbours"]
